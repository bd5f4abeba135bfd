package linux

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
)

func TestParseControl(t *testing.T) {
	// From apt-cache show linux-image-generic, Ubuntu 24.04, shortened.
	out := []byte(`Package: linux-image-generic
Architecture: amd64
Version: 6.8.0-60.63
Depends: linux-image-6.8.0-60-generic, linux-modules-extra-6.8.0-60-generic, linux-firmware, intel-microcode | amd64-microcode
Description-en: Generic Linux kernel image
 This package will always depend on the latest generic kernel image.
SHA256: 00ff

Package: another
Version: 1
`)
	want := deb{
		Package: Package{Name: "linux-image-generic", Version: "6.8.0-60.63", SHA256: "00ff"},
		depends: []string{"linux-image-6.8.0-60-generic", "linux-modules-extra-6.8.0-60-generic", "linux-firmware", "intel-microcode"},
	}
	if diff := cmp.Diff(want, parseControl(out), cmp.AllowUnexported(deb{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestKernelPart(t *testing.T) {
	for name, want := range map[string]bool{
		"linux-image-6.1.0-57-cloud-amd64":     true,
		"linux-modules-6.8.0-60-generic":       true,
		"linux-modules-extra-6.8.0-60-generic": true,
		"linux-base":                           false,
		"linux-firmware":                       false,
		"linux-headers-generic":                false,
	} {
		if got := kernelPart.MatchString(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestFound(t *testing.T) {
	// As ldd prints them, for one file and for several.
	for line, want := range map[string][]string{
		"\tlinux-vdso.so.1 (0x00007f33028d1000)":                                nil,
		"\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f3302658000)":   {"libm.so.6", "/lib/x86_64-linux-gnu/libm.so.6"},
		"\t/lib64/ld-linux-x86-64.so.2 (0x00007f33028d3000)":                    {"", "/lib64/ld-linux-x86-64.so.2"},
		"\tlibnuma.so.1 => not found":                                           {"libnuma.so.1", "not found"},
		"/usr/lib/x86_64-linux-gnu/dpdk/pmds-23.0/librte_bus_pci.so.23.0:":      nil,
		"\tstatically linked":                                                   nil,
		"\tlibc.so.6 => /usr/local/x y/libc.so.6 (0x00007f3302658000)":          nil,
		"\tnot a dynamic executable":                                            nil,
		"ldd: warning: you do not have execution permission for `./libx.so.23'": nil,
	} {
		var got []string
		if m := found.FindStringSubmatch(line); m != nil {
			got = m[1:]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}

// TestClosure wants the names and the links that lead to a file kept, and the
// file once.
func TestClosure(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"usr/lib/pmds"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "usr/lib/pmds/libx.so.23.0"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{ // link to target
		"lib":                     "usr/lib",
		"usr/lib/libx.so.23":      "pmds/libx.so.23",
		"usr/lib/pmds/libx.so.23": "libx.so.23.0",
		"usr/lib/liby.so":         filepath.Join(dir, "lib/pmds/libx.so.23"),
	}
	for link, target := range links {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	c := closure{}
	for _, path := range []string{"lib/libx.so.23", "usr/lib/liby.so", "usr/lib/pmds/libx.so.23.0"} {
		if err := c.add(filepath.Join(dir, path)); err != nil {
			t.Fatal(err)
		}
	}
	base := dir[1:] + "/"
	want := closure{
		base + "usr/lib/pmds/libx.so.23.0": {name: base + "usr/lib/pmds/libx.so.23.0", mode: 0o755, source: "/" + base + "usr/lib/pmds/libx.so.23.0"},
	}
	for link, target := range links {
		want[base+link] = file{name: base + link, link: target}
	}
	if diff := cmp.Diff(want, c, cmp.AllowUnexported(file{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := c.add(filepath.Join(dir, "none")); err == nil {
		t.Error("a missing file is no error")
	}
	if err := c.add(filepath.Join(dir, "usr")); err == nil {
		t.Error("a folder is no error")
	}
}

func TestArchiveRefuses(t *testing.T) {
	twice := []file{{name: "a", data: []byte("1")}, {name: "a", data: []byte("2")}}
	if err := writeArchive(io.Discard, twice); err == nil {
		t.Error("a file that is there twice is no error")
	}
	through := []file{{name: "a", link: "b"}, {name: "a/c", data: []byte("1")}}
	if err := writeArchive(io.Discard, through); err == nil {
		t.Error("a file below a link is no error")
	}
}

// TestArchive wants what was put in, in the same bytes whatever the order was.
func TestArchive(t *testing.T) {
	src := filepath.Join(t.TempDir(), "src")
	if err := os.WriteFile(src, []byte("from a file"), 0o600); err != nil {
		t.Fatal(err)
	}
	files := []file{
		{name: "usr/bin/x", mode: 0o755, source: src},
		{name: "bin/x", link: "../usr/bin/x"},
		{name: "init", mode: 0o755, data: []byte("#!/bin/sh\n")},
	}
	var a, b bytes.Buffer
	if err := writeArchive(&a, files); err != nil {
		t.Fatal(err)
	}
	if err := writeArchive(&b, []file{files[2], files[0], files[1]}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("another order gives other bytes")
	}
	got := map[string]string{}
	for r := cpio.NewReader(&a); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if h.Linkname != "" {
			content = []byte("-> " + h.Linkname)
		}
		if h.Mode.IsDir() {
			content = []byte("folder")
		}
		got[h.Name] = string(content)
	}
	for name, want := range map[string]string{
		".": "folder", "usr": "folder", "usr/bin": "folder", "proc": "folder",
		"usr/bin/x": "from a file", "bin/x": "-> ../usr/bin/x", "init": "#!/bin/sh\n",
	} {
		if got[name] != want {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

func TestReadTar(t *testing.T) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range []tar.Header{
		{Name: "./boot/", Typeflag: tar.TypeDir},
		{Name: "./boot/vmlinuz-6.1", Typeflag: tar.TypeReg, Size: 1},
		{Name: "./lib/x", Typeflag: tar.TypeSymlink, Linkname: "y"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		_, _ = w.Write(make([]byte, h.Size))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := readTar(tar.NewReader(&b), func(name string, _ io.Reader) error {
		got = append(got, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"boot/vmlinuz-6.1"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestTruncatedDeb wants a package that was cut short to be an error, and not
// a kernel that lacks its end.
func TestTruncatedDeb(t *testing.T) {
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	pkg := filepath.Join(dir, "pkg")
	if err := os.MkdirAll(filepath.Join(pkg, "DEBIAN"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "DEBIAN/control"),
		[]byte("Package: x\nVersion: 1\nArchitecture: all\nMaintainer: x <x@example.com>\nDescription: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(pkg, "a"), bytes.Repeat([]byte("0123456789"), 10000), 0o644); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(dir, "x.deb")
	if out, err := exec.Command("dpkg-deb", "--root-owner-group", "--build", pkg, whole).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none := func(string, io.Reader) error { return nil }
	if err := readDeb(t.Context(), whole, none); err != nil {
		t.Error(err)
	}
	b, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(whole, b[:len(b)-100], 0o644); err != nil {
		t.Fatal(err)
	}
	if err := readDeb(t.Context(), whole, none); err == nil {
		t.Error("a package that is cut short is no error")
	}
}
