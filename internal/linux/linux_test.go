package linux

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
	"github.com/google/go-cmp/cmp"
)

// needPackages skips a test that builds the real image where what ./prepare.sh
// brings isn't there.
func needPackages(t *testing.T) {
	t.Helper()
	for _, program := range []string{"dpdk-testpmd", "apt-get", "dpkg-deb", "ldd", "lz4"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%v: ./prepare.sh installs it", err)
		}
	}
	if testing.Short() {
		t.Skip("builds the real image")
	}
}

// shareCache gives a build folder the packages that another build of this
// checkout downloaded, so that the test needs the network only where there was
// none.
func shareCache(t *testing.T, dir string) {
	t.Helper()
	debs, err := filepath.Glob("../../build/cache/*.deb")
	if err != nil {
		t.Fatal(err)
	}
	cache := filepath.Join(dir, "cache")
	if err := os.MkdirAll(cache, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, deb := range debs {
		b, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(cache, filepath.Base(deb)), b, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// addSender puts something into a build folder that stands for the program of
// the guest linux-kernel.
func addSender(t *testing.T, dir string) {
	t.Helper()
	path := BuildConfig{Dir: dir}.sender()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("a program"), 0o777); err != nil {
		t.Fatal(err)
	}
}

// TestBuild builds the real image in two folders and wants the same bytes. The
// second folder has what a disturbed build leaves; what is whole is left alone.
func TestBuild(t *testing.T) {
	needPackages(t)
	var said []string
	build := func(dir string) Manifest {
		t.Helper()
		said = nil
		m, err := Build(t.Context(), BuildConfig{Dir: dir, Log: func(line string) { said = append(said, line) }})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	first := t.TempDir()
	shareCache(t, first)
	addSender(t, first)
	m := build(first)
	if err := m.Verify(first); err != nil {
		t.Error(err)
	}
	if m.Kernel.Release == "" || m.Testpmd == "" || len(m.Packages) < 3 {
		t.Errorf("the manifest says too little: %+v", m)
	}
	checkArchive(t, m.InitramfsFile(first))
	build(first)
	if len(said) != 0 {
		t.Errorf("with nothing to do it said %q", said)
	}

	second := t.TempDir()
	shareCache(t, second)
	addSender(t, second)
	manifest, err := os.ReadFile(manifestPath(first))
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(second, Name, tempPrefix+"left")
	if err := os.Mkdir(filepath.Dir(left), 0o777); err != nil {
		t.Fatal(err)
	}
	for path, data := range map[string][]byte{
		manifestPath(second):    manifest,
		m.KernelFile(second):    nil,
		m.InitramfsFile(second): []byte("not what was made"),
		left:                    []byte("half"),
	} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(m, build(second)); diff != "" {
		t.Errorf("two builds differ (-first +second):\n%s", diff)
	}
	if len(said) == 0 || !strings.Contains(said[0], "has changed since it was made") {
		t.Errorf("it said %q, want why it builds", said)
	}
	if err := m.Verify(second); err != nil {
		t.Error(err)
	}
	again, err := os.ReadFile(manifestPath(second))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(manifest), string(again)); diff != "" {
		t.Errorf("the manifests differ (-first +second):\n%s", diff)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there", left)
	}
}

// checkArchive wants the order and the sameness that the guest and the
// manifest rely on.
func checkArchive(t *testing.T, path string) {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	modes := map[string]cpio.FileMode{}
	for r := cpio.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Guid != 0 || h.ModTime.Unix() != 0 || h.Inode != int64(len(names)+1) {
			t.Errorf("%s: uid %d, gid %d, time %v, inode %d", h.Name, h.Uid, h.Guid, h.ModTime, h.Inode)
		}
		names = append(names, h.Name)
		modes[h.Name] = h.Mode
	}
	if !slices.IsSorted(names) {
		t.Error("the names aren't sorted")
	}
	for _, name := range []string{".", "init", "bin/busybox", "bin/sender", "usr/bin/dpdk-testpmd", "modules/uio.ko", "modules/uio_pci_generic.ko", "etc/virtio-modules", "dev", "proc", "sys"} {
		if _, ok := modes[name]; !ok {
			t.Errorf("no %s", name)
		}
	}
	if modes["."].Perm() != 0o755 {
		t.Errorf("the root has mode %v: DPDK refuses to load drivers from one that all can write", modes["."])
	}
	driver := false
	for name := range modes {
		driver = driver || strings.Contains(name, "/librte_net_virtio.so.")
	}
	if !driver {
		t.Error("no virtio driver")
	}
}

// TestApplets wants each command of the init script that busybox provides to
// have its link in the image, and each link to be used.
func TestApplets(t *testing.T) {
	var code []string
	for line := range strings.Lines(string(initScript)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			code = append(code, line)
		}
	}
	words := strings.FieldsFunc(strings.Join(code, ""), func(r rune) bool {
		return !(r >= 'a' && r <= 'z')
	})
	for _, a := range applets {
		if !slices.Contains(words, a) {
			t.Errorf("the init script doesn't use %s", a)
		}
	}
	for _, a := range []string{"cat", "cut", "grep", "head", "ls", "mkdir", "nproc", "sed", "sort", "tr", "uname", "wc"} {
		if slices.Contains(words, a) && !slices.Contains(applets, a) {
			t.Errorf("the init script uses %s, which the image doesn't have", a)
		}
	}
}

// TestModules wants the init script to load what the image has.
func TestModules(t *testing.T) {
	for _, m := range modules {
		if !strings.Contains(string(initScript), "insmod /modules/"+m+".ko") {
			t.Errorf("the init script doesn't load %s", m)
		}
	}
	order, err := virtioOrder(nil)
	if err != nil || !strings.Contains(string(initScript), "</"+order.name+" ") {
		t.Errorf("the init script doesn't read %q (%v)", order.name, err)
	}
}

// TestNoSender wants to be told what to do where the program of the guest
// linux-kernel hasn't been compiled.
func TestNoSender(t *testing.T) {
	needPackages(t)
	cfg := BuildConfig{Dir: t.TempDir(), Sender: filepath.Join(t.TempDir(), "none")}
	_, err := Build(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), cfg.Sender) || !strings.Contains(err.Error(), "prepare.sh") {
		t.Errorf("error %v, want which file is missing and what to do", err)
	}
}

// TestInitSyntax has a shell read the init script.
func TestInitSyntax(t *testing.T) {
	sh := []string{"sh", "-n"}
	if _, err := exec.LookPath("busybox"); err == nil {
		sh = []string{"busybox", "sh", "-n"}
	}
	if out, err := exec.Command(sh[0], append(sh[1:], "image/init")...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// TestInterrupted wants no manifest, and so no image, from a build that can't
// write one of its files.
func TestInterrupted(t *testing.T) {
	dir := t.TempDir()
	want := errors.New("no room")
	_, err := writeFile(dir, "x", func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return want
	})
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
	left, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}

func TestReadOnly(t *testing.T) {
	_, err := Build(t.Context(), BuildConfig{Dir: "/proc/sweep"})
	if err == nil || !strings.Contains(err.Error(), "can be written") {
		t.Errorf("error %v, want what to do", err)
	}
}
