package machine

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cavaliergopher/cpio"

	"sweep/internal/linux"
)

// packages are what a machine has: what the kit needs of a server, a virtual
// machine's host and a DPDK machine at once, the kernel, and sshd. Debian's
// names.
var packages = []string{
	"busybox-static", "ca-certificates", "dpdk-dev", "ethtool", "iproute2", "kmod", "libc6",
	"linux-image-amd64", "mount", "openssh-server", "passwd", "procps", "qemu-system-x86", "util-linux",
}

// excluded are what of the packages isn't unpacked: it would only take room on
// the disk and time.
var excluded = []string{
	"/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*",
	"/usr/share/bug/*", "/usr/share/iso-codes/*", "/usr/share/alsa/*", "/usr/include/*",
	"/usr/lib/x86_64-linux-gnu/*.a",
	"/lib/modules/*/kernel/drivers/gpu/*", "/lib/modules/*/kernel/drivers/media/*", "/lib/modules/*/kernel/drivers/infiniband/*",
	"/lib/modules/*/kernel/drivers/net/wireless/*", "/lib/modules/*/kernel/drivers/scsi/*", "/lib/modules/*/kernel/drivers/staging/*",
	"/lib/modules/*/kernel/drivers/usb/*", "/lib/modules/*/kernel/drivers/iio/*", "/lib/modules/*/kernel/drivers/hid/*",
	"/lib/modules/*/kernel/drivers/isdn/*", "/lib/modules/*/kernel/drivers/bluetooth/*", "/lib/modules/*/kernel/sound/*",
}

// image are the files of ours in a machine.
//
//go:embed image
var image embed.FS

// initrdModules are the modules that the disk needs; what those need is found in
// modules.dep. It is the list that image/init loads; ext4 asks for crc32c by an
// alias, which stands in another file.
var initrdModules = []string{"crc32c_generic", "virtio_pci", "virtio_blk", "ext4"}

// diskMiB is the size of a machine's disk, of which the file takes what is used.
const diskMiB = 4096

// baseDeadline is for all of Debian's packages; it takes two to three minutes.
const baseDeadline = 20 * time.Minute

// baseKey is a hash of all that a base is made of, but the packages' versions: a
// base isn't made again because Debian has newer ones.
func baseKey() (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, packages, excluded, initrdModules, diskMiB, names())
	entries, err := image.ReadDir("image")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		b, err := image.ReadFile(path.Join("image", e.Name()))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", e.Name(), len(b), b)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// makeBase makes what machines start from, unless it is there: a disk's image, a
// kernel, an initrd and the keys. It reports whether it made it.
func (p *Pair) makeBase(ctx context.Context) (made bool, err error) {
	want, err := baseKey()
	if err != nil {
		return false, err
	}
	base := filepath.Join(p.dir, "base")
	if have, err := os.ReadFile(filepath.Join(base, "key")); err == nil && strings.TrimSpace(string(have)) == want {
		return false, nil
	}
	if os.Geteuid() != 0 {
		return false, errors.New("making the machines' disk needs root, once (mmdebstrap makes files that belong to root): run this with sudo")
	}
	ctx, cancel := context.WithTimeout(ctx, baseDeadline)
	defer cancel()
	fresh := filepath.Join(p.dir, "base.new")
	if err := os.RemoveAll(fresh); err != nil {
		return false, err
	}
	if err := os.MkdirAll(fresh, 0o755); err != nil {
		return false, err
	}
	root := filepath.Join(fresh, "root")
	steps := []struct {
		what string
		do   func() error
	}{
		{"installing Debian's packages for the machines; this takes two to three minutes, once", func() error { return p.debian(ctx, fresh, root) }},
		{"making keys for ssh", func() error { return keys(ctx, fresh, root) }},
		{"putting the machines' own files in", func() error { return settle(root) }},
		{"making the kernel and its initrd", func() error { return kernel(ctx, fresh, root) }},
		{"making the disk", func() error { return disk(ctx, fresh, root) }},
	}
	for _, s := range steps {
		p.say("%s", s.what)
		if err := s.do(); err != nil {
			return false, fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if err := os.RemoveAll(root); err != nil {
		return false, err
	}
	if err := os.WriteFile(filepath.Join(fresh, "key"), []byte(want+"\n"), 0o644); err != nil {
		return false, err
	}
	if err := os.RemoveAll(base); err != nil {
		return false, err
	}
	return true, os.Rename(fresh, base)
}

// debian installs the packages into a folder, from where this machine gets its
// own.
func (p *Pair) debian(ctx context.Context, fresh, root string) error {
	suite, sources, err := debianSources(ctx)
	if err != nil {
		return err
	}
	args := []string{
		"--mode=root", "--variant=essential", "--format=directory",
		"--aptopt=Apt::Install-Recommends \"false\"", "--aptopt=Acquire::Retries \"3\"",
		"--dpkgopt=force-unsafe-io",
		"--include=" + strings.Join(packages, ","),
	}
	for _, e := range excluded {
		args = append(args, "--dpkgopt=path-exclude="+e)
	}
	args = append(append(args, suite, root), sources...)
	log, err := os.Create(filepath.Join(fresh, "mmdebstrap.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, "mmdebstrap", args...)
	// It undoes its mounts when it is asked to end.
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 30 * time.Second
	cmd.Stdout, cmd.Stderr = log, log
	// The kernel's package makes no initrd of its own: ours is smaller.
	cmd.Env = append(os.Environ(), "INITRD=No", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C")
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("mmdebstrap: %w; its last lines (all are in %s):\n%s", err, log.Name(), lastLines(log.Name(), 12))
	}
	return nil
}

// debianSources finds out where apt gets Debian's packages from here: the
// release's name and the files that name its servers (apt-get(8), indextargets).
func debianSources(ctx context.Context) (suite string, files []string, err error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "Created-By: Packages", "Origin: Debian",
		"--format", "$(CODENAME) $(SOURCESENTRY)").Output()
	if err != nil {
		return "", nil, fmt.Errorf("apt-get indextargets: %w", err)
	}
	return parseSources(string(out))
}

func parseSources(out string) (suite string, files []string, err error) {
	for line := range strings.Lines(out) {
		w := strings.Fields(line)
		if len(w) != 2 {
			continue
		}
		// bookworm, not bookworm-updates.
		if suite == "" && !strings.Contains(w[0], "-") {
			suite = w[0]
		}
		file, _, _ := strings.Cut(w[1], ":") // the line comes after it
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if suite == "" || len(files) == 0 {
		return "", nil, errors.New("apt has no lists of Debian's here: the machines are made of Debian's packages, so this works on a Debian; where it is one, run apt-get update")
	}
	return suite, files, nil
}

// keys makes the key that opens the machines, and the key of each machine.
func keys(ctx context.Context, fresh, root string) error {
	make := func(path, comment string) error {
		out, err := exec.CommandContext(ctx, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", comment, "-f", path).CombinedOutput()
		if err != nil {
			return fmt.Errorf("ssh-keygen: %w: %s", err, bytes.TrimSpace(out))
		}
		return nil
	}
	id := filepath.Join(fresh, "id")
	if err := make(id, "rehearsal"); err != nil {
		return err
	}
	public, err := os.ReadFile(id + ".pub")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "root/.ssh"), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, "root/.ssh/authorized_keys"), public, 0o600); err != nil {
		return err
	}
	var known []byte
	for _, n := range names() {
		host := Machine{Name: n}.Host()
		key := filepath.Join(root, "etc/ssh/host_"+host)
		if err := make(key, host); err != nil {
			return err
		}
		public, err := os.ReadFile(key + ".pub")
		if err != nil {
			return err
		}
		known = fmt.Appendf(known, "%s %s", host, public)
	}
	return os.WriteFile(filepath.Join(fresh, "known_hosts"), known, 0o644)
}

// settle puts our files into a machine's root.
func settle(root string) error {
	if err := os.MkdirAll(filepath.Join(root, "etc/rehearsal"), 0o755); err != nil {
		return err
	}
	for _, f := range []struct {
		from, to string
		mode     os.FileMode
	}{
		{"rc", "etc/rehearsal/rc", 0o755},
		{"inittab", "etc/inittab", 0o644},
	} {
		b, err := image.ReadFile("image/" + f.from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, f.to), b, f.mode); err != nil {
			return err
		}
	}
	for _, name := range []string{"init", "reboot", "poweroff"} {
		link := filepath.Join(root, "sbin", name)
		if err := os.Remove(link); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		if err := os.Symlink("/bin/busybox", link); err != nil {
			return err
		}
	}
	// Host keys of the package's making would be the same on both machines; what
	// apt kept is of no use there.
	for _, pattern := range []string{"etc/ssh/ssh_host_*", "var/cache/apt/*", "var/lib/apt/lists/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, f := range found {
			if err := os.RemoveAll(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// kernel takes the kernel out of the root, and makes an initrd with what the
// disk needs.
func kernel(ctx context.Context, fresh, root string) error {
	found, err := filepath.Glob(filepath.Join(root, "boot/vmlinuz-*"))
	if err != nil {
		return err
	}
	if len(found) != 1 {
		return fmt.Errorf("%d kernels are in %s/boot; want 1", len(found), root)
	}
	packed, err := os.ReadFile(found[0])
	if err != nil {
		return err
	}
	vmlinux, _, err := linux.UnpackKernel(ctx, packed)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(fresh, "vmlinux"), vmlinux, 0o644); err != nil {
		return err
	}
	release := strings.TrimPrefix(filepath.Base(found[0]), "vmlinuz-")
	f, err := os.Create(filepath.Join(fresh, "initrd"))
	if err != nil {
		return err
	}
	defer f.Close()
	if err := writeInitrd(f, root, release); err != nil {
		return err
	}
	return f.Close()
}

// writeInitrd writes an initramfs ("newc", the kernel's Documentation/driver-api/
// early-userspace/buffer-format.rst), unpacked: that saves a machine the time to
// unpack it.
func writeInitrd(w io.Writer, root, release string) error {
	dir := path.Join("lib/modules", release)
	dep, err := os.ReadFile(filepath.Join(root, dir, "modules.dep"))
	if err != nil {
		return err
	}
	modules, err := closure(string(dep), initrdModules)
	if err != nil {
		return err
	}
	type entry struct {
		name string
		mode cpio.FileMode
		data []byte
	}
	files := []entry{}
	for _, d := range []string{"bin", "sbin", "dev", "proc", "sys", "disk", "lib", "lib/modules", dir} {
		files = append(files, entry{name: d, mode: cpio.TypeDir | 0o755})
	}
	own, err := image.ReadFile("image/init")
	if err != nil {
		return err
	}
	files = append(files, entry{"init", cpio.TypeReg | 0o755, own}, entry{path.Join(dir, "modules.dep"), cpio.TypeReg | 0o644, dep})
	copies := map[string]string{"bin/busybox": "bin/busybox"}
	made := map[string]bool{}
	for _, m := range modules {
		for d := path.Dir(m); d != "."; d = path.Dir(d) {
			made[path.Join(dir, d)] = true
		}
		copies[path.Join(dir, m)] = path.Join(dir, m)
	}
	dirs := make([]string, 0, len(made))
	for d := range made {
		dirs = append(dirs, d)
	}
	slices.Sort(dirs) // a folder before what lies in it
	for _, d := range dirs {
		files = append(files, entry{name: d, mode: cpio.TypeDir | 0o755})
	}
	for to, from := range copies {
		b, err := os.ReadFile(filepath.Join(root, from))
		if err != nil {
			return err
		}
		files = append(files, entry{to, cpio.TypeReg | 0o755, b})
	}
	out := cpio.NewWriter(w)
	for i, f := range files {
		h := &cpio.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), Inode: int64(i + 1), Links: 1, ModTime: time.Unix(0, 0)}
		if err := out.WriteHeader(h); err != nil {
			return fmt.Errorf("/%s: %w", f.name, err)
		}
		if _, err := out.Write(f.data); err != nil {
			return fmt.Errorf("/%s: %w", f.name, err)
		}
	}
	return out.Close()
}

// closure finds modules and all that they need in a modules.dep (modules.dep(5)),
// which has for each module a line: its path, a colon, the paths of all that it
// needs. A module that isn't in it is built in.
func closure(dep string, wanted []string) (paths []string, err error) {
	for sc := bufio.NewScanner(strings.NewReader(dep)); sc.Scan(); {
		module, needs, ok := strings.Cut(sc.Text(), ":")
		if !ok {
			return nil, fmt.Errorf("modules.dep: %q has no colon", sc.Text())
		}
		name := strings.ReplaceAll(strings.TrimSuffix(path.Base(module), ".ko"), "-", "_")
		if !slices.Contains(wanted, name) {
			continue
		}
		for _, p := range append([]string{module}, strings.Fields(needs)...) {
			if !slices.Contains(paths, p) {
				paths = append(paths, p)
			}
		}
	}
	return paths, nil
}

// disk makes a file system of the root (mke2fs(8), -d).
func disk(ctx context.Context, fresh, root string) error {
	out, err := exec.CommandContext(ctx, "mke2fs", "-q", "-F", "-t", "ext4", "-L", "rehearsal", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,root_owner=0:0",
		"-d", root, filepath.Join(fresh, "disk.ext4"), fmt.Sprintf("%dM", diskMiB)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mke2fs: %w: %s", err, bytes.TrimSpace(out))
	}
	return nil
}

// lastLines are a file's last n lines.
func lastLines(path string, n int) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	for i, l := range lines {
		if len(l) > 300 {
			lines[i] = l[:300] + "..."
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
