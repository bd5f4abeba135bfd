package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"sweep/internal/plan"
	"sweep/internal/tape"
)

// The files of a run's folder.
const (
	runFile      = "run.json"
	trialsFile   = "trials.jsonl"
	tapeFile     = "tape.jsonl"
	costsFile    = "costs.jsonl"
	countersFile = "counters.jsonl"
	commandsFile = "commands.sh"
	consoleDir   = "console"
)

// Folder is a run's folder that is being written.
type Folder struct {
	path string

	mu       sync.Mutex
	trials   *lines
	tape     *lines
	commands *os.File
	consoles []*transcript
	done     []Trial
}

// Create makes a run's folder and takes its record. A folder that holds a run
// already is refused: nothing measured is overwritten.
func Create(path string, run Run) (_ *Folder, err error) {
	defer func() {
		switch {
		case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
			err = fmt.Errorf("results: %w; name a folder that you can write with --results", err)
		case err != nil:
			err = fmt.Errorf("results: %w", err)
		}
	}()
	if _, err := os.Stat(filepath.Join(path, trialsFile)); err == nil {
		return nil, fmt.Errorf("%s holds a run already; name another folder with --results", path)
	}
	if err := os.MkdirAll(filepath.Join(path, consoleDir), 0o755); err != nil {
		return nil, err
	}
	f := &Folder{path: path}
	if err := f.open(); err != nil {
		return nil, err
	}
	if err := f.Update(run); err != nil {
		return nil, err
	}
	return f, nil
}

// open opens the files that grow.
func (f *Folder) open() (err error) {
	if f.trials, err = openLines(filepath.Join(f.path, trialsFile)); err != nil {
		return err
	}
	if f.tape, err = openLines(filepath.Join(f.path, tapeFile)); err != nil {
		return err
	}
	f.commands, err = os.OpenFile(filepath.Join(f.path, commandsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	return err
}

// Path is the folder's.
func (f *Folder) Path() string { return f.path }

// Update writes run.json anew.
func (f *Folder) Update(run Run) error {
	b, err := json.MarshalIndent(run, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(filepath.Join(f.path, runFile), append(b, '\n'))
}

// Command adds a command line, quoted, with what it is, to commands.sh.
func (f *Folder) Command(what, line string) error {
	_, err := fmt.Fprintf(f.commands, "# %s\n%s\n", what, line)
	return err
}

// Append adds a trial that has ended and syncs it to disk.
func (f *Folder) Append(t Trial) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.trials.add(t, true); err != nil {
		return err
	}
	f.done = append(f.done, t)
	return f.writeCSV(t.System)
}

// Record adds a line to the tape. The last line of a trial is synced to disk,
// and all before it.
func (f *Folder) Record(l tape.Line) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tape.add(l, l.Whole != nil)
}

// Trials are those that have ended, the ones from before a resumption first.
func (f *Folder) Trials() []Trial {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}

// Close closes the files.
func (f *Folder) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	errs := []error{f.trials.file.Close(), f.tape.file.Close(), f.commands.Close()}
	for _, c := range f.consoles {
		errs = append(errs, c.close())
	}
	return errors.Join(errs...)
}

// writeCSV writes a system's file in the published format. The caller holds
// mu.
func (f *Folder) writeCSV(s plan.System) error {
	return writeFile(filepath.Join(f.path, s.FileName()+".csv"), []byte(Published(f.done, s)))
}

// writeCSVs writes the files of all systems anew.
func (f *Folder) writeCSVs() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	written := map[plan.System]bool{}
	for _, t := range f.done {
		if written[t.System] {
			continue
		}
		written[t.System] = true
		if err := f.writeCSV(t.System); err != nil {
			return err
		}
	}
	return nil
}

// Published is what the trials say of a system, in the published format: a
// header, then a line a size, the size and the median rate in Mpps.
func Published(trials []Trial, s plan.System) string {
	var b strings.Builder
	b.WriteString("packetsize\trx\n")
	for _, p := range Points(trials) {
		if p.System == s && p.Trials > 0 {
			fmt.Fprintf(&b, "%d\t%.6f\n", p.Size, p.RxPps/1e6)
		}
	}
	return b.String()
}

// writeFile writes a file so that a reader, or a crash, finds either the old
// one or the new one.
func writeFile(path string, data []byte) error {
	tmp := path + ".tmp"
	f, err := os.Create(tmp)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		os.Remove(tmp)
	}
	return err
}
