// Package linux makes the guest "linux-dpdk": a small Linux virtual machine
// that runs testpmd in txonly mode on its serial line. The same image is the
// guest "linux-kernel", where the kernel's own driver sends.
//
// [Build] makes the image from packages that the distribution ships, and
// installs nothing: a kernel (Debian's cloud kernel, where there is one), and
// an initramfs with busybox, testpmd, the libraries testpmd is linked to, the
// program in sender/ and the one script in image/. The same inputs give the same
// bytes, and the manifest says what the inputs were, so that two people can tell
// whether they measured the same guest.
package linux

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
)

// Name is the guest's name, and the folder of its image in the build folder.
const Name = "linux-dpdk"

// builder is the version of the code here that decides what an image holds. A
// change that should make every old image stale adds one.
const builder = 2

//go:embed image/init
var initScript []byte

// BuildConfig says what to build and where.
type BuildConfig struct {
	// Dir is the build folder. The image goes to Dir/linux-dpdk, the manifest
	// to Dir/manifest.json, the downloaded packages to Dir/cache.
	Dir string

	// Kernel is the package to take the kernel from: a meta-package that
	// depends on the newest, or a kernel's own. Where empty, the first of
	// [kernelPackages] that the distribution has.
	Kernel string

	// Sender is the program of the guest linux-kernel, made of sender/. Where
	// empty, Dir/linux-kernel/sender.
	Sender string

	// Update asks the package lists for a newer kernel. Without it an image
	// keeps the kernel it has, so that numbers from before and after an
	// update of the lists stay comparable.
	Update bool

	// Log is told what is being done, a line a call without its newline. May
	// be nil.
	Log func(line string)
}

// sender is the path of the guest linux-kernel's program.
func (c BuildConfig) sender() string {
	if c.Sender != "" {
		return c.Sender
	}
	return filepath.Join(c.Dir, KernelName, "sender")
}

func (c BuildConfig) logf(format string, args ...any) {
	if c.Log != nil {
		c.Log(fmt.Sprintf(format, args...))
	}
}

// Build makes the image, unless it is there and made of the same inputs, and
// returns what it is made of. Files appear whole or not at all, and a build
// that was interrupted is made good by the next.
func Build(ctx context.Context, cfg BuildConfig) (Manifest, error) {
	m, err := build(ctx, cfg)
	if err != nil {
		return Manifest{}, fmt.Errorf("building the image of the guest %s: %w", Name, err)
	}
	return m, nil
}

func build(ctx context.Context, cfg BuildConfig) (Manifest, error) {
	if runtime.GOARCH != "amd64" {
		return Manifest{}, fmt.Errorf("this machine is %s: the guest is made for amd64 only", runtime.GOARCH)
	}
	image := filepath.Join(cfg.Dir, Name)
	if err := os.MkdirAll(image, 0o777); err != nil {
		return Manifest{}, fmt.Errorf("%w: give a build folder that can be written", err)
	}
	unlock, err := lock(filepath.Join(cfg.Dir, ".lock"))
	if err != nil {
		return Manifest{}, err
	}
	defer unlock()
	if err := removeTemps(image, cfg.Dir, filepath.Join(cfg.Dir, "cache")); err != nil {
		return Manifest{}, err
	}

	old, err := Load(cfg.Dir)
	have := err == nil
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		cfg.logf("%v: building anew", err)
	}
	user, err := findUserland(ctx, cfg, old)
	if err != nil {
		return Manifest{}, err
	}
	inputs, err := hashInputs(user.files)
	if err != nil {
		return Manifest{}, err
	}
	if have && !cfg.Update && (cfg.Kernel == "" || cfg.Kernel == old.Kernel.Package) {
		why := old.stale(inputs)
		if why == nil {
			why = old.Verify(cfg.Dir)
		}
		if why == nil {
			return old, nil
		}
		cfg.logf("the image of %s is stale: %v", Name, why)
	}

	kernel, err := fetchKernel(ctx, cfg, old)
	if err != nil {
		return Manifest{}, err
	}
	m := Manifest{
		Image:   Name,
		Builder: builder,
		Go:      runtime.Version(),
		Kernel:  kernel.about,
		Testpmd: user.testpmd,
		Inputs:  inputs,
	}
	if m.Packages, err = owners(ctx, user.files); err != nil {
		return Manifest{}, err
	}
	m.Packages = slices.Concat(m.Packages, user.packages, kernel.packages)

	// The manifest goes first and comes last: in between, what the folder
	// holds is nobody's word.
	if err := os.Remove(manifestPath(cfg.Dir)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Manifest{}, err
	}
	for _, stale := range []string{"vmlinux", "kernel"} {
		if err := os.Remove(filepath.Join(image, stale)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return Manifest{}, err
		}
	}
	made, err := writeFile(cfg.Dir, filepath.Join(Name, kernel.file), func(w io.Writer) error {
		_, err := w.Write(kernel.image)
		return err
	})
	if err != nil {
		return Manifest{}, err
	}
	m.Files = append(m.Files, made)
	cfg.logf("made %s: %s, %d MiB", filepath.Join(cfg.Dir, made.Path), kernel.about.Release, made.Size>>20)

	root := slices.Concat(user.files, kernel.modules)
	made, err = writeFile(cfg.Dir, filepath.Join(Name, "initramfs.cpio"), func(w io.Writer) error {
		return writeArchive(w, root)
	})
	if err != nil {
		return Manifest{}, err
	}
	m.Files = append(m.Files, made)
	cfg.logf("made %s: testpmd %s, %d MiB", filepath.Join(cfg.Dir, made.Path), user.testpmd, made.Size>>20)
	return m, m.write(cfg.Dir)
}

// lock keeps a second build in the same folder waiting until the first is
// done. The lock goes with the process, however it ends.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o666)
	if err != nil {
		return nil, err
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("locking %s: %w", path, err)
		}
	}
}

// tempPrefix starts the name of whatever isn't finished yet.
const tempPrefix = ".tmp-"

// removeTemps removes what an interrupted build left. The caller holds the
// lock, so none of it is in use.
func removeTemps(dirs ...string) error {
	for _, dir := range dirs {
		left, err := filepath.Glob(filepath.Join(dir, tempPrefix+"*"))
		if err != nil {
			return err
		}
		for _, path := range left {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeFile writes dir/path whole or not at all, and returns its entry in the
// manifest.
func writeFile(dir, path string, fill func(io.Writer) error) (File, error) {
	dst := filepath.Join(dir, path)
	f, err := os.CreateTemp(filepath.Dir(dst), tempPrefix)
	if err != nil {
		return File{}, err
	}
	defer os.Remove(f.Name()) // after the rename there is none
	defer f.Close()
	d := newDigest()
	if err := fill(io.MultiWriter(f, d)); err != nil {
		return File{}, fmt.Errorf("writing %s: %w", dst, err)
	}
	if err := errors.Join(f.Chmod(0o644), f.Sync(), f.Close(), os.Rename(f.Name(), dst)); err != nil {
		return File{}, fmt.Errorf("writing %s: %w", dst, err)
	}
	return File{Path: path, SHA256: d.String(), Size: d.size}, nil
}

// trimmed is the last line of what a command printed on its standard error,
// which is where commands say why.
func trimmed(stderr []byte) string {
	lines := bytes.Split(bytes.TrimSpace(stderr), []byte("\n"))
	return string(lines[len(lines)-1])
}
