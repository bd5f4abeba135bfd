package linux

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// applets are the commands of busybox that the init script uses.
var applets = []string{"awk", "insmod", "mount", "poweroff", "reboot", "setsid", "sleep", "stty"}

// drivers are those that testpmd needs in the guest and loads by itself: the
// NIC's, the memory pool's, and the buses they are found on. Each is a file
// librte_NAME.so.ABI in DPDK's plugin folder.
var drivers = []string{"net_virtio", "mempool_ring", "bus_pci", "bus_vdev"}

// userland is the guest's files, all but the kernel's.
type userland struct {
	files    []file
	testpmd  string    // its version
	packages []Package // those that were downloaded for it
}

// findUserland finds the guest's files on this machine.
func findUserland(ctx context.Context, cfg BuildConfig, old Manifest) (userland, error) {
	testpmd, err := exec.LookPath("dpdk-testpmd")
	if err != nil {
		return userland{}, fmt.Errorf("%w: install it (Debian's package dpdk-dev), or run ./prepare.sh", err)
	}
	version, err := packageVersion(ctx, testpmd)
	if err != nil {
		return userland{}, err
	}
	u := userland{testpmd: version}

	libs, err := libraries(ctx, testpmd)
	if err != nil {
		return userland{}, err
	}
	plugins, err := findDrivers(libs)
	if err != nil {
		return userland{}, err
	}
	more, err := libraries(ctx, plugins...)
	if err != nil {
		return userland{}, err
	}
	set := closure{}
	for _, path := range slices.Concat([]string{testpmd}, libs, plugins, more) {
		if err := set.add(path); err != nil {
			return userland{}, err
		}
	}
	if _, ok := set["usr/bin/dpdk-testpmd"]; !ok {
		set["usr/bin/dpdk-testpmd"] = file{name: "usr/bin/dpdk-testpmd", link: testpmd}
	}

	busybox, downloaded, err := findBusybox(ctx, cfg, old)
	if err != nil {
		return userland{}, err
	}
	u.packages = downloaded
	set["bin/busybox"] = file{name: "bin/busybox", mode: 0o755, source: busybox}
	for _, a := range applets {
		set["bin/"+a] = file{name: "bin/" + a, link: "busybox"}
	}
	sender, err := filepath.Abs(cfg.sender())
	if err != nil {
		return userland{}, err
	}
	if _, err := os.Stat(sender); err != nil {
		return userland{}, fmt.Errorf("the program of the guest %s: %w: run ./prepare.sh, which compiles it", KernelName, err)
	}
	set["bin/sender"] = file{name: "bin/sender", mode: 0o755, source: sender}
	set["init"] = file{name: "init", mode: 0o755, data: initScript}
	set["etc/testpmd-version"] = file{name: "etc/testpmd-version", mode: 0o644, data: []byte(version + "\n")}

	for _, name := range slices.Sorted(maps.Keys(set)) {
		u.files = append(u.files, set[name])
	}
	return u, nil
}

// closure is a set of files, by their names in the guest, that keeps the names
// they have on this machine, with every symbolic link on the way. One library
// under two names must stay one file: as two, DPDK would load it twice and
// register its drivers twice.
type closure map[string]file

func (c closure) add(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	// Every part in turn: /lib is a link to usr/lib on a merged system.
	rest := strings.Split(strings.TrimPrefix(path, "/"), "/")
	at := ""
	for i, part := range rest {
		name := filepath.Join(at, part)
		info, err := os.Lstat("/" + name)
		if err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			target, err := os.Readlink("/" + name)
			if err != nil {
				return err
			}
			c[name] = file{name: name, link: target}
			if !filepath.IsAbs(target) {
				target = filepath.Join("/", at, target)
			}
			return c.add(filepath.Join(append([]string{target}, rest[i+1:]...)...))
		}
		if i == len(rest)-1 {
			if !info.Mode().IsRegular() {
				return fmt.Errorf("%s is no regular file", path)
			}
			// 0755 whatever it is here: the guest has one user.
			c[name] = file{name: name, mode: 0o755, source: "/" + name}
		}
		at = name
	}
	return nil
}

// found is a line of ldd: "libm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x...)",
// or without a name for the loader itself.
var found = regexp.MustCompile(`^\s+(?:(\S+) => )?(/\S+|not found)(?: \(0x[0-9a-f]+\))?$`)

// libraries lists the shared libraries that programs and libraries are linked
// to, as the loader here finds them, and the loader.
func libraries(ctx context.Context, paths ...string) ([]string, error) {
	out, err := run(ctx, "ldd", paths...)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		m := found.FindStringSubmatch(sc.Text())
		switch {
		case m == nil: // linux-vdso, which is the kernel's, or a heading
		case m[2] == "not found":
			return nil, fmt.Errorf("the library %s, which %s needs, isn't installed", m[1], strings.Join(paths, " or "))
		default:
			set[m[2]] = true
		}
	}
	if len(set) == 0 {
		return nil, fmt.Errorf("ldd names no library of %s: %q", strings.Join(paths, ", "), out)
	}
	return slices.Sorted(maps.Keys(set)), nil
}

// findDrivers finds the files of the drivers. The plugin folder's name has
// DPDK's ABI version in it (pmds-23.0), and each driver has a link with the
// ABI's major version and a file with all of it; DPDK loads what ends in the
// latter. The folder is the one testpmd's own libraries lie in, where there is
// one, so that the drivers are of the same DPDK.
func findDrivers(libs []string) ([]string, error) {
	var dirs []string
	for _, lib := range libs {
		if strings.HasPrefix(filepath.Base(lib), "librte_bus_") {
			real, err := filepath.EvalSymlinks(lib)
			if err != nil {
				return nil, err
			}
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	for _, pattern := range []string{"/usr/local/lib/*/dpdk/pmds-*", "/usr/lib/*/dpdk/pmds-*"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, more...)
	}
	var errs []error
	for _, dir := range dirs {
		files, err := driversIn(dir)
		if err == nil {
			return files, nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		errs = []error{errors.New("no folder dpdk/pmds-* under /usr/lib")}
	}
	return nil, fmt.Errorf("DPDK's drivers aren't installed (Debian's packages dpdk-dev and libdpdk-dev bring them): %w", errors.Join(errs...))
}

func driversIn(dir string) ([]string, error) {
	var files []string
	for _, name := range drivers {
		// .so.* and not .so: the latter is for linking at build time.
		got, err := filepath.Glob(filepath.Join(dir, "librte_"+name+".so.*"))
		if err != nil {
			return nil, err
		}
		if len(got) == 0 {
			return nil, fmt.Errorf("%s has no librte_%s.so.*", dir, name)
		}
		files = append(files, got...)
	}
	return files, nil
}

// busyboxPackage has a busybox that needs no libraries.
const busyboxPackage = "busybox-static"

// findBusybox finds a static busybox: the installed one, or else the one of the
// package, which is downloaded and not installed, because installing it would
// remove the package busybox.
func findBusybox(ctx context.Context, cfg BuildConfig, old Manifest) (path string, downloaded []Package, err error) {
	if path, err := exec.LookPath("busybox"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return "", nil, err
		}
		needs, err := interpreter(path)
		if err == nil && needs == "" {
			return path, nil, nil
		}
	}
	cache := filepath.Join(cfg.Dir, "cache")
	path = filepath.Join(cache, "busybox")
	for _, p := range old.Packages {
		if p.Name != busyboxPackage {
			continue
		}
		if _, err := os.Stat(path); err == nil { // what it holds is among the inputs
			return path, []Package{p}, nil
		}
	}
	d, err := show(ctx, busyboxPackage)
	if err != nil {
		return "", nil, fmt.Errorf("the guest needs a static busybox: %w; run sudo apt-get update once", err)
	}
	deb, err := download(ctx, cfg, cache, d.Package)
	if err != nil {
		return "", nil, err
	}
	done := false
	err = readDeb(ctx, deb, func(name string, content io.Reader) error {
		if name != "bin/busybox" && name != "usr/bin/busybox" {
			return nil
		}
		done = true
		_, err := writeFile(cache, "busybox", func(w io.Writer) error {
			_, err := io.Copy(w, content)
			return err
		})
		return err
	})
	if err == nil && !done {
		err = fmt.Errorf("%s has no busybox in it", deb)
	}
	return path, []Package{d.Package}, err
}

// run runs a command and returns its standard output. Its language is fixed,
// because its output is read.
func run(ctx context.Context, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if why := trimmed(stderr.Bytes()); why != "" {
			err = fmt.Errorf("%w: %s", err, why)
		}
		return out, fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return out, nil
}
