package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"sweep/internal/plan"
)

// The files of a run's folder.
const (
	runFile      = "run.json"
	trialsFile   = "trials.jsonl"
	costsFile    = "costs.jsonl"
	countersFile = "counters.jsonl"
	commandsFile = "commands.sh"
	consoleDir   = "console"
)

// Folder is a run's folder that is being written.
type Folder struct {
	path string

	mu       sync.Mutex
	trials   *os.File
	size     int64 // of the lines in trials written whole
	commands *os.File
	consoles []*os.File
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
	if f.trials, err = os.OpenFile(filepath.Join(path, trialsFile), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if f.commands, err = os.OpenFile(filepath.Join(path, commandsFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644); err != nil {
		return nil, err
	}
	if err := f.Update(run); err != nil {
		return nil, err
	}
	return f, nil
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

// Console opens a transcript for what a process prints. The folder closes it.
func (f *Folder) Console(name string) (io.Writer, error) {
	file, err := os.Create(filepath.Join(f.path, consoleDir, name+".log"))
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.consoles = append(f.consoles, file)
	return file, nil
}

// Append adds a trial that has ended and syncs it to disk. A line that the
// disk has no room for is taken back whole, so that the file stays readable.
func (f *Folder) Append(t Trial) error {
	b, err := json.Marshal(t)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.trials.Write(append(b, '\n'))
	if err == nil {
		err = f.trials.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", filepath.Join(f.path, trialsFile), err), f.trials.Truncate(f.size))
	}
	f.size += int64(n)
	f.done = append(f.done, t)
	return f.writeCSV(t.System)
}

// Close closes the files.
func (f *Folder) Close() error {
	errs := []error{f.trials.Close(), f.commands.Close()}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.consoles {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// writeCSV writes a system's file in the published format. The caller holds
// mu.
func (f *Folder) writeCSV(s plan.System) error {
	var b strings.Builder
	b.WriteString("packetsize\trx\n")
	for _, p := range Points(f.done) {
		if p.System == s && p.Trials > 0 {
			fmt.Fprintf(&b, "%d\t%.6f\n", p.Size, p.RxPps/1e6)
		}
	}
	return writeFile(filepath.Join(f.path, s.FileName()+".csv"), []byte(b.String()))
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

// Load reads a run's folder. Lines of trials.jsonl that are damaged are
// returned as problems with their number; the others count.
func Load(path string) (run Run, trials []Trial, problems []string, err error) {
	b, err := os.ReadFile(filepath.Join(path, runFile))
	if err != nil {
		return run, nil, nil, fmt.Errorf("%s holds no run: %w", path, err)
	}
	if err := json.Unmarshal(b, &run); err != nil {
		return run, nil, nil, fmt.Errorf("%s: %w", filepath.Join(path, runFile), err)
	}
	f, err := os.Open(filepath.Join(path, trialsFile))
	if err != nil {
		return run, nil, nil, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 64<<20)
	for n := 1; sc.Scan(); n++ {
		var t Trial
		if err := json.Unmarshal(sc.Bytes(), &t); err != nil {
			problems = append(problems, fmt.Sprintf("%s:%d: no trial: %v", filepath.Join(path, trialsFile), n, err))
			continue
		}
		trials = append(trials, t)
	}
	return run, trials, problems, sc.Err()
}
