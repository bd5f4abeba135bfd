package linux

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// kernelPackages are the packages that a kernel is taken from, the best first:
// Debian's and Ubuntu's kernels for virtual machines, then those for any
// machine. Ubuntu's linux-image-generic stands before its linux-image-virtual
// because the latter leaves uio_pci_generic out.
var kernelPackages = []string{
	"linux-image-cloud-amd64", // Debian
	"linux-image-generic",     // Ubuntu
	"linux-image-virtual",     // Ubuntu
	"linux-image-kvm",         // Ubuntu
	"linux-image-amd64",       // Debian
}

// deb is a package in apt's lists.
type deb struct {
	Package
	depends []string // the first of each alternative, no versions
}

// errUnknown says that apt's lists don't have a package.
var errUnknown = errors.New("apt's lists don't have it")

// show looks a package up in apt's lists: the version that would be installed,
// where spec is a name, another where it is name=version.
func show(ctx context.Context, spec string) (deb, error) {
	out, err := run(ctx, "apt-cache", "show", "--no-all-versions", "--", spec)
	if errors.Is(err, exec.ErrNotFound) {
		return deb{}, fmt.Errorf("%w: the guest's kernel comes from the packages of a Debian or an Ubuntu", err)
	}
	d := parseControl(out)
	if err != nil || d.Name == "" {
		return deb{}, fmt.Errorf("package %s: %w", spec, errUnknown)
	}
	return d, nil
}

// parseControl reads the first paragraph of what apt-cache show prints (the
// format is in deb-control(5)).
func parseControl(out []byte) deb {
	var d deb
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		if sc.Text() == "" {
			break
		}
		key, value, _ := strings.Cut(sc.Text(), ": ")
		switch key {
		case "Package":
			d.Name = value
		case "Version":
			d.Version = value
		case "SHA256":
			d.SHA256 = value
		case "Depends":
			for dep := range strings.SplitSeq(value, ",") {
				if name := strings.FieldsFunc(dep, func(r rune) bool { return strings.ContainsRune(" (|:", r) }); len(name) > 0 {
					d.depends = append(d.depends, name[0])
				}
			}
		}
	}
	return d
}

// kernelPart is the name of a package that holds a kernel or its modules.
var kernelPart = regexp.MustCompile(`^linux-(image|modules|modules-extra)-`)

// resolveKernel follows a package's dependencies to all that hold a part of
// its kernel, itself included.
func resolveKernel(ctx context.Context, name string) ([]deb, error) {
	var parts []deb
	seen := map[string]bool{name: true}
	for queue := []string{name}; len(queue) > 0; queue = queue[1:] {
		d, err := show(ctx, queue[0])
		if err != nil {
			return nil, err
		}
		parts = append(parts, d)
		for _, dep := range d.depends {
			if kernelPart.MatchString(dep) && !seen[dep] {
				seen[dep] = true
				queue = append(queue, dep)
			}
		}
	}
	return parts, nil
}

// findKernel chooses the package to take the kernel from.
func findKernel(ctx context.Context, wanted string) (name string, parts []deb, err error) {
	names := kernelPackages
	if wanted != "" {
		names = []string{wanted}
	}
	for _, name := range names {
		parts, err := resolveKernel(ctx, name)
		if err == nil {
			return name, parts, nil
		}
		if !errors.Is(err, errUnknown) {
			return "", nil, err
		}
	}
	return "", nil, fmt.Errorf("no kernel for the guest (%s): %w; run sudo apt-get update once, then ./prepare.sh",
		strings.Join(names, ", "), errUnknown)
}

// download fetches a package into the folder cache, unless it lies there whole,
// and returns its path. What comes is checked against apt's lists, which are
// signed.
func download(ctx context.Context, cfg BuildConfig, cache string, p Package) (string, error) {
	dst := filepath.Join(cache, p.Name+"_"+p.Version+".deb")
	if p.SHA256 == "" {
		return "", fmt.Errorf("apt's lists have no SHA-256 of %s %s, so it can't be checked", p.Name, p.Version)
	}
	if got, err := hashFile(dst); err == nil && got == p.SHA256 {
		return dst, nil
	}
	cfg.logf("downloading %s %s", p.Name, p.Version)
	tmp, err := os.MkdirTemp(cache, tempPrefix)
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	// apt names the file itself, so it gets a folder to do it in.
	cmd := exec.CommandContext(ctx, "apt-get", "-q", "-o", "Acquire::Retries=2", "-o", "Dpkg::Use-Pty=0",
		"download", p.Name+"="+p.Version)
	if os.Geteuid() == 0 {
		// As root, apt fetches as the user _apt, who may not be able to
		// write here; it then warns and fetches as root all the same.
		cmd.Args = slices.Insert(cmd.Args, 1, "-o", "APT::Sandbox::User=root")
	}
	cmd.Dir = tmp
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("can't download %s: apt-get: %w: %s (is the network there? are the lists old? then run sudo apt-get update)",
			p.Name, err, trimmed(stderr.Bytes()))
	}
	got, err := filepath.Glob(filepath.Join(tmp, "*.deb"))
	if err != nil {
		return "", err
	}
	if len(got) != 1 {
		return "", fmt.Errorf("apt-get download %s left %d files, want 1", p.Name, len(got))
	}
	sum, err := hashFile(got[0])
	if err != nil {
		return "", err
	}
	if sum != p.SHA256 {
		return "", fmt.Errorf("%s %s came with SHA-256 %s, apt's lists say %s", p.Name, p.Version, sum, p.SHA256)
	}
	return dst, os.Rename(got[0], dst)
}

// readDeb calls visit for each regular file in a package, with its path
// without the leading slash. dpkg-deb checks what it reads, so a package that
// is cut short is an error here.
func readDeb(ctx context.Context, deb string, visit func(name string, content io.Reader) error) error {
	cmd := exec.CommandContext(ctx, "dpkg-deb", "--fsys-tarfile", deb)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := readTar(tar.NewReader(out), visit)
	// The rest, or dpkg-deb would die of a closed pipe.
	_, drainErr := io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("unpacking %s: %w: %s", deb, err, trimmed(stderr.Bytes()))
	}
	if err := errors.Join(readErr, drainErr); err != nil {
		return fmt.Errorf("unpacking %s: %w", deb, err)
	}
	return nil
}

func readTar(t *tar.Reader, visit func(name string, content io.Reader) error) error {
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if h.Typeflag == tar.TypeReg {
			if err := visit(path.Clean(h.Name), t); err != nil {
				return err
			}
		}
	}
}

// packageVersion is the upstream version of the package that a file belongs
// to, such as 22.11.11; "unknown" where it belongs to none.
func packageVersion(ctx context.Context, path string) (string, error) {
	of, err := fileOwners(ctx, []string{path})
	if err != nil || of[path] == "" {
		return "unknown", err
	}
	versions, err := installed(ctx, []string{of[path]})
	if err != nil {
		return "", err
	}
	v := versions[of[path]]
	if _, after, epoch := strings.Cut(v, ":"); epoch {
		v = after
	}
	if i := strings.LastIndexByte(v, '-'); i >= 0 {
		v = v[:i]
	}
	return v, nil
}

// owners lists the installed packages that files come from. A file that no
// package owns is in the manifest's inputs all the same.
func owners(ctx context.Context, files []file) ([]Package, error) {
	var paths []string
	for _, f := range files {
		if f.source != "" {
			paths = append(paths, f.source)
		}
	}
	of, err := fileOwners(ctx, paths)
	if err != nil {
		return nil, err
	}
	set := map[string]bool{}
	for _, name := range of {
		set[name] = true
	}
	names := slices.Sorted(maps.Keys(set))
	versions, err := installed(ctx, names)
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	specs := []string{"show", "--"}
	for _, name := range names {
		specs = append(specs, name+"="+versions[name])
	}
	// An error only says that the lists lack one of them.
	out, _ := run(ctx, "apt-cache", specs...)
	for paragraph := range bytes.SplitSeq(out, []byte("\n\n")) {
		d := parseControl(paragraph)
		sums[d.Name+"="+d.Version] = d.SHA256
	}
	var list []Package
	for _, name := range names {
		bare, _, _ := strings.Cut(name, ":") // libc6:amd64
		list = append(list, Package{Name: bare, Version: versions[name], SHA256: sums[bare+"="+versions[name]]})
	}
	return list, nil
}

// fileOwners maps files to the installed packages they belong to.
func fileOwners(ctx context.Context, paths []string) (map[string]string, error) {
	// On a system whose /lib is a link to /usr/lib, dpkg still knows many
	// files by the shorter name only.
	ask := []string{"-S", "--"}
	for _, path := range paths {
		ask = append(ask, path)
		if short, ok := strings.CutPrefix(path, "/usr"); ok {
			ask = append(ask, short)
		}
	}
	out, err := run(ctx, "dpkg-query", ask...)
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: one of them is nobody's
		return nil, err
	}
	of := map[string]string{}
	for sc := bufio.NewScanner(bytes.NewReader(out)); sc.Scan(); {
		// "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6", or several
		// packages before a folder, which isn't asked for.
		name, path, ok := strings.Cut(sc.Text(), ": ")
		if !ok || strings.HasPrefix(name, "diversion ") {
			continue
		}
		of[path] = name
		of["/usr"+path] = name
	}
	for path := range of {
		if !slices.Contains(paths, path) {
			delete(of, path)
		}
	}
	return of, nil
}

// installed gives the versions of installed packages.
func installed(ctx context.Context, names []string) (map[string]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	out, err := run(ctx, "dpkg-query", append([]string{"-W", "-f", `${binary:Package} ${Package} ${Version}\n`, "--"}, names...)...)
	if err != nil {
		return nil, err
	}
	versions := map[string]string{}
	for line := range strings.Lines(string(out)) {
		if w := strings.Fields(line); len(w) == 3 {
			versions[w[0]] = w[2]
			versions[w[1]] = w[2]
		}
	}
	return versions, nil
}
