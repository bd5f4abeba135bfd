package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// lines is a file of JSON values, a line each, that grows and stays readable
// whatever happens: a line that the disk has no room for, or in whose middle
// the kit was killed, is taken back whole.
type lines struct {
	file *os.File
	size int64 // of the lines written whole
}

// openLines opens a file to add to, and makes it where it isn't there. An end
// without a newline is taken off.
func openLines(path string) (*lines, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	l := &lines{file: file}
	st, err := file.Stat()
	if err == nil {
		l.size, err = wholeLines(file, st.Size())
	}
	if err == nil && l.size < st.Size() {
		err = file.Truncate(l.size)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// wholeLines is where the last whole line of a file ends.
func wholeLines(r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, 64<<10)
	for end := size; end > 0; {
		n := min(end, int64(len(buf)))
		if _, err := r.ReadAt(buf[:n], end-n); err != nil {
			return 0, err
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
}

// add adds a value as a line, and syncs the file to disk if it is told to.
func (l *lines) add(v any, sync bool) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	n, err := l.file.Write(append(b, '\n'))
	if err == nil && sync {
		err = l.file.Sync()
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", l.file.Name(), err), l.file.Truncate(l.size))
	}
	l.size += int64(n)
	return nil
}
