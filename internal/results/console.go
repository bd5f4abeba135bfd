package results

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sweep/internal/agent"
)

// transcript is what a process prints, in NAME.log, and when, in NAME.times: a
// line a piece, with the length that the log then had in bytes and the
// nanoseconds of the machine's monotonic clock.
type transcript struct {
	log, times *os.File
	size       int64
}

// Console opens a transcript for what a process prints. The folder closes it.
// Where a run is resumed in the middle of a boot there is one of that name
// already, and the new one gets a number.
func (f *Folder) Console(name string) (io.Writer, error) {
	base := filepath.Join(f.path, consoleDir, name)
	log, err := os.OpenFile(base+".log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	for again := 2; errors.Is(err, os.ErrExist); again++ {
		base = filepath.Join(f.path, consoleDir, fmt.Sprintf("%s.%d", name, again))
		log, err = os.OpenFile(base+".log", os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	}
	if err != nil {
		return nil, err
	}
	times, err := os.Create(base + ".times")
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	t := &transcript{log: log, times: times}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.consoles = append(f.consoles, t)
	return t, nil
}

// Write adds bytes whose time is not known.
func (t *transcript) Write(p []byte) (int, error) {
	n, err := t.log.Write(p)
	t.size += int64(n)
	return n, err
}

// Record adds a piece. It implements the console's Recorder.
func (t *transcript) Record(c agent.Chunk) error {
	if _, err := t.Write(c.Data); err != nil {
		return err
	}
	_, err := fmt.Fprintf(t.times, "%d %d\n", t.size, c.Time)
	return err
}

func (t *transcript) close() error { return errors.Join(t.log.Close(), t.times.Close()) }
