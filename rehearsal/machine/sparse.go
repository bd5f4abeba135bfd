package machine

import (
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// copySparse copies a file without its holes (lseek(2), SEEK_DATA): a disk of 4
// GiB that is mostly empty takes what is in it. A copy that was cut short never
// has the name to.
func copySparse(to, from string) (err error) {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	info, err := src.Stat()
	if err != nil {
		return err
	}
	part := to + ".part"
	dst, err := os.Create(part)
	if err != nil {
		return err
	}
	defer func() {
		dst.Close()
		if err != nil {
			os.Remove(part)
		}
	}()
	if err := dst.Truncate(info.Size()); err != nil {
		return err
	}
	for at := int64(0); ; {
		start, err := unix.Seek(int(src.Fd()), at, unix.SEEK_DATA)
		if errors.Is(err, unix.ENXIO) {
			break // only a hole is left
		}
		if err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if at, err = unix.Seek(int(src.Fd()), start, unix.SEEK_HOLE); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
		if _, err := io.Copy(io.NewOffsetWriter(dst, start), io.NewSectionReader(src, start, at-start)); err != nil {
			return fmt.Errorf("%s to %s: %w", from, part, err)
		}
	}
	if err := dst.Close(); err != nil {
		return err
	}
	return os.Rename(part, to)
}
