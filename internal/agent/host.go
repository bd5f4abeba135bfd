package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// host is the machine under changes: its /sys and /proc below a folder, "/" but
// in tests, and what is done to it.
type host struct {
	root     string
	write    func(path, value string) error
	modprobe func(ctx context.Context, args ...string) error
}

// thisHost is the machine that this program runs on.
func thisHost() host {
	return host{root: "/", write: writeValue, modprobe: modprobe}
}

func (h host) path(elem ...string) string {
	return filepath.Join(append([]string{h.root}, elem...)...)
}

// value is the content of a file without the blanks around it.
func (h host) value(path string) (string, error) {
	b, err := os.ReadFile(h.path(path))
	return strings.TrimSpace(string(b)), err
}

func (h host) exists(path string) bool {
	_, err := os.Lstat(h.path(path))
	return err == nil
}

// linked is the last part of where a symbolic link points; empty where there is
// none, as a device without a driver has no link of that name.
func (h host) linked(path string) (string, error) {
	target, err := os.Readlink(h.path(path))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return filepath.Base(target), err
}

// writeValue writes to a file of /proc or /sys, in one call, as they want it.
func writeValue(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

// modprobe runs modprobe(8).
func modprobe(ctx context.Context, args ...string) error {
	path, err := lookPath("modprobe")
	if err != nil {
		return fmt.Errorf("%w (the package kmod)", err)
	}
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("modprobe: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// until asks again and again whether something is so, for d at most.
func until(ctx context.Context, d time.Duration, so func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	for !so() {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return so()
		}
	}
	return true
}

// fileChange is a value in /proc or /sys.
type fileChange struct{}

func (fileChange) look(_ context.Context, h host, c *Change) (bool, error) {
	clean := filepath.Clean(c.Path)
	if clean != c.Path || !strings.HasPrefix(clean, "/sys/") && !strings.HasPrefix(clean, "/proc/sys/") {
		return false, fmt.Errorf("%s is no file of /sys or /proc/sys", c.Path)
	}
	was, err := h.value(c.Path)
	if err != nil {
		return false, err
	}
	c.Was = was
	return was != c.Now, nil
}

func (fileChange) make(_ context.Context, h host, c Change) error { return h.set(c.Path, c.Now) }

func (fileChange) undo(_ context.Context, h host, c Change) (bool, error) {
	is, err := h.value(c.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it went with the module that it was of
	}
	if err != nil || is == c.Was {
		return false, err
	}
	return true, h.set(c.Path, c.Was)
}

// set writes a value and looks whether the kernel took it: it may do a part of
// what it is told, as with hugepages, and say nothing.
func (h host) set(path, value string) error {
	if err := h.write(h.path(path), value); err != nil {
		return fmt.Errorf("write %s: %w", value, err)
	}
	is, err := h.value(path)
	if err != nil {
		return err
	}
	if is != value {
		return fmt.Errorf("the kernel made it %s of the %s that was written to %s", is, value, path)
	}
	return nil
}

// moduleChange is a module of the kernel's.
type moduleChange struct{}

var moduleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// loaded says whether the kernel has a module, loaded or built in.
func (h host) loaded(name string) bool {
	if h.exists("/sys/module/" + moduleOf(name)) {
		return true
	}
	// What is built in and has no parameters is in a list alone (modprobe(8)).
	release, err := h.value("/proc/sys/kernel/osrelease")
	if err != nil {
		return false
	}
	list, err := h.value("/lib/modules/" + release + "/modules.builtin")
	if err != nil {
		return false
	}
	for line := range strings.Lines(list) {
		if moduleOf(line) == moduleOf(name) {
			return true
		}
	}
	return false
}

func (moduleChange) look(_ context.Context, h host, c *Change) (bool, error) {
	if !moduleName.MatchString(c.Name) {
		return false, fmt.Errorf("%q is no name of a kernel module", c.Name)
	}
	if h.loaded(c.Name) {
		return false, nil
	}
	for _, name := range h.needs(c.Name) {
		if !h.loaded(name) {
			c.With = append(c.With, name)
		}
	}
	return true, nil
}

// needs are the modules that a module needs, those first that nothing else of
// them needs (modules.dep(5)).
func (h host) needs(name string) []string {
	release, err := h.value("/proc/sys/kernel/osrelease")
	if err != nil {
		return nil
	}
	deps, err := h.value("/lib/modules/" + release + "/modules.dep")
	if err != nil {
		return nil // then modprobe will say that there is none
	}
	for line := range strings.Lines(deps) {
		path, list, _ := strings.Cut(line, ":")
		if moduleOf(path) != moduleOf(name) {
			continue
		}
		var out []string
		for _, need := range strings.Fields(list) {
			out = append(out, moduleOf(need))
		}
		return out
	}
	return nil
}

// moduleOf is the module's name as the kernel has it, of a file or of a name in
// which - and _ are the same.
func moduleOf(path string) string {
	name, _, _ := strings.Cut(filepath.Base(strings.TrimSpace(path)), ".ko") // .ko.xz, too
	return strings.ReplaceAll(name, "-", "_")
}

func (moduleChange) make(ctx context.Context, h host, c Change) error {
	if err := h.modprobe(ctx, "--", c.Name); err != nil {
		return fmt.Errorf("load the module %s: %w", c.Name, err)
	}
	return nil
}

func (moduleChange) undo(ctx context.Context, h host, c Change) (bool, error) {
	did := false
	for i, name := range append([]string{c.Name}, c.With...) {
		dir := "/sys/module/" + moduleOf(name)
		if !h.exists(dir) {
			continue
		}
		// What came with it may be another's by now.
		if users, err := h.value(dir + "/refcnt"); i > 0 && (err != nil || users != "0") {
			continue
		}
		did = true
		if err := h.modprobe(ctx, "-r", "--", name); err != nil {
			return true, err
		}
	}
	return did, nil
}
