package linux

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Manifest says what an image is and what it was made of. It holds no time and
// no host name: the same inputs give the same manifest.
type Manifest struct {
	Image   string `json:"image"`
	Builder int    `json:"builder"` // version of the code that built it
	Go      string `json:"go"`      // version of Go that code was built with

	Kernel  Kernel `json:"kernel"`
	Testpmd string `json:"testpmd"` // DPDK's version

	Files    []File    `json:"files"`    // what was made
	Packages []Package `json:"packages"` // what it was made of
	Inputs   []Input   `json:"inputs"`   // in detail, but for the kernel's packages
}

// Kernel is the guest's kernel.
type Kernel struct {
	Package string `json:"package"` // the package asked for
	Release string `json:"release"` // as uname -r says in the guest
	Packed  string `json:"packed"`  // how it was packed: lz4, xz, zstd, gzip; none where it still is
}

// File is one that was made. Path is relative to the build folder.
type File struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Size   int64  `json:"size"`
}

// Package is a package of the distribution. SHA256 is the one of its .deb in
// the package lists; empty where they don't have that version any more.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256,omitempty"`
}

// Input is a file of the image that isn't the kernel's: where it lies there, and
// the hash of what it holds.
type Input struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
}

func manifestPath(dir string) string { return filepath.Join(dir, "manifest.json") }

// Load reads the manifest in a build folder. It doesn't look at the files: see
// [Manifest.Verify].
func Load(dir string) (Manifest, error) {
	b, err := os.ReadFile(manifestPath(dir))
	if errors.Is(err, os.ErrNotExist) {
		return Manifest{}, fmt.Errorf("no image of the guest %s in %s (run ./prepare.sh, or sweep image): %w", Name, dir, os.ErrNotExist)
	}
	if err != nil {
		return Manifest{}, err
	}
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return Manifest{}, fmt.Errorf("%s: %w", manifestPath(dir), err)
	}
	return m, nil
}

// KernelFile is the path of the kernel to give to QEMU, in the build folder dir.
func (m Manifest) KernelFile(dir string) string {
	for _, f := range m.Files {
		if filepath.Base(f.Path) != "initramfs.cpio" {
			return filepath.Join(dir, f.Path)
		}
	}
	return ""
}

// InitramfsFile is the path of the initramfs, in the build folder dir.
func (m Manifest) InitramfsFile(dir string) string {
	return filepath.Join(dir, Name, "initramfs.cpio")
}

// Verify reads the files that were made and says which of them isn't what the
// manifest says.
func (m Manifest) Verify(dir string) error {
	if len(m.Files) != 2 {
		return fmt.Errorf("%s names %d files, want 2", manifestPath(dir), len(m.Files))
	}
	for _, f := range m.Files {
		got, err := hashFile(filepath.Join(dir, f.Path))
		if err != nil {
			return err
		}
		if got != f.SHA256 {
			return fmt.Errorf("%s has changed since it was made", filepath.Join(dir, f.Path))
		}
	}
	return nil
}

// stale says why an image with this manifest isn't the one that would be built
// from the inputs now; nil where it is.
func (m Manifest) stale(inputs []Input) error {
	if m.Builder != builder {
		return fmt.Errorf("it was made by version %d of the builder, this is %d", m.Builder, builder)
	}
	was := map[string]string{}
	for _, in := range m.Inputs {
		was[in.Path] = in.SHA256
	}
	for _, in := range inputs {
		old, ok := was[in.Path]
		if !ok {
			return fmt.Errorf("/%s is new", in.Path)
		}
		if old != in.SHA256 {
			return fmt.Errorf("/%s has changed", in.Path)
		}
		delete(was, in.Path)
	}
	for path := range was {
		return fmt.Errorf("/%s is no longer needed", path)
	}
	return nil
}

func (m Manifest) write(dir string) error {
	slices.SortFunc(m.Packages, func(a, b Package) int {
		return bytes.Compare([]byte(a.Name), []byte(b.Name))
	})
	b, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	_, err = writeFile(dir, "manifest.json", func(w io.Writer) error {
		_, err := w.Write(append(b, '\n'))
		return err
	})
	return err
}

// hashInputs hashes what goes into the image, but for the kernel's part.
func hashInputs(files []file) ([]Input, error) {
	var inputs []Input
	for _, f := range files {
		in := Input{Path: f.name}
		switch {
		case f.link != "":
			in.SHA256 = hashBytes([]byte(f.link))
		case f.source != "":
			sum, err := hashFile(f.source)
			if err != nil {
				return nil, err
			}
			in.SHA256 = sum
		default:
			in.SHA256 = hashBytes(f.data)
		}
		inputs = append(inputs, in)
	}
	return inputs, nil
}

// digest is a SHA-256 that counts what it was given.
type digest struct {
	hash.Hash
	size int64
}

func newDigest() *digest { return &digest{Hash: sha256.New()} }

func (d *digest) Write(p []byte) (int, error) {
	d.size += int64(len(p))
	return d.Hash.Write(p)
}

func (d *digest) String() string { return hex.EncodeToString(d.Sum(nil)) }

func hashBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	d := newDigest()
	if _, err := io.Copy(d, f); err != nil {
		return "", fmt.Errorf("reading %s: %w", path, err)
	}
	return d.String(), nil
}
