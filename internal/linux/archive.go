package linux

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/cavaliergopher/cpio"
)

// file is a file of the guest: one of source (a file of this machine), data
// and link (a symbolic link's target) says what it holds.
type file struct {
	name   string // path in the guest, without a leading slash
	mode   cpio.FileMode
	source string
	data   []byte
	link   string
}

// writeArchive writes an initramfs with the files and the folders they lie in:
// the kernel's "newc" format (Documentation/driver-api/early-userspace/
// buffer-format.rst), unpacked, because unpacking it costs the guest more than
// reading it costs QEMU. Everything that could differ between two builds of
// the same files is fixed: order, times, owners, inode numbers.
func writeArchive(w io.Writer, files []file) error {
	byName := map[string]file{}
	for _, f := range files {
		if _, twice := byName[f.name]; twice {
			return fmt.Errorf("/%s would be in the archive twice", f.name)
		}
		byName[f.name] = f
	}
	// The root itself, which would be writable by all (the kernel mounts a
	// tmpfs there, and those are): DPDK refuses to load drivers from below it.
	byName["."] = file{name: ".", mode: cpio.TypeDir | 0o755}
	// Mount points, which no file makes.
	for _, dir := range []string{"dev", "hugepages", "proc", "sys", "tmp", "var/run"} {
		byName[dir] = file{name: dir, mode: cpio.TypeDir | 0o755}
	}
	for name := range byName {
		for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
			if at, ok := byName[dir]; !ok {
				byName[dir] = file{name: dir, mode: cpio.TypeDir | 0o755}
			} else if at.mode&cpio.TypeDir == 0 {
				return fmt.Errorf("/%s would lie in /%s, which is no folder", name, dir)
			}
		}
	}
	// A folder sorts before what lies in it, as the kernel needs it.
	sorted := make([]file, 0, len(byName))
	for _, f := range byName {
		sorted = append(sorted, f)
	}
	slices.SortFunc(sorted, func(a, b file) int { return cmp.Compare(a.name, b.name) })

	out := cpio.NewWriter(w)
	for i, f := range sorted {
		if err := writeEntry(out, f, int64(i+1)); err != nil {
			return fmt.Errorf("/%s: %w", f.name, err)
		}
	}
	return out.Close()
}

func writeEntry(out *cpio.Writer, f file, inode int64) error {
	h := &cpio.Header{Name: f.name, Mode: f.mode, Inode: inode, Links: 1, ModTime: time.Unix(0, 0)}
	var content io.Reader = bytes.NewReader(f.data)
	switch {
	case f.link != "":
		h.Mode = cpio.TypeSymlink | 0o777
		h.Linkname = f.link
		h.Size, content = int64(len(f.link)), strings.NewReader(f.link)
	case f.mode&cpio.TypeDir != 0:
		return out.WriteHeader(h)
	case f.source != "":
		src, err := os.Open(f.source)
		if err != nil {
			return err
		}
		defer src.Close()
		info, err := src.Stat()
		if err != nil {
			return err
		}
		h.Size, content = info.Size(), src
	default:
		h.Size = int64(len(f.data))
	}
	if f.link == "" {
		h.Mode |= cpio.TypeReg
	}
	if err := out.WriteHeader(h); err != nil {
		return err
	}
	n, err := io.Copy(out, content)
	if err == nil && n != h.Size {
		err = fmt.Errorf("%d bytes of %d: it is being changed", n, h.Size)
	}
	return err
}
