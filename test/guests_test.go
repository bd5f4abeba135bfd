//go:build real

package test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cavaliergopher/cpio"
)

// foreignImage makes an initramfs of the guest in test/foreign, with the
// modules of the kit's own image.
func foreignImage(t *testing.T) (kernel, initrd string) {
	t.Helper()
	dir := t.TempDir()
	init := filepath.Join(dir, "init")
	build := exec.Command("go", "build", "-o", init, "./foreign")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	initrd = filepath.Join(dir, "initrd")
	f, err := os.Create(initrd)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := cpio.NewWriter(f)
	put := func(name string, mode cpio.FileMode, data []byte) {
		t.Helper()
		if err := out.WriteHeader(&cpio.Header{Name: name, Mode: mode, Size: int64(len(data)), Links: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"dev", "etc", "modules"} {
		put(folder, cpio.TypeDir|0o755, nil)
	}
	program, err := os.ReadFile(init)
	if err != nil {
		t.Fatal(err)
	}
	put("init", cpio.TypeReg|0o755, program)
	images := filepath.Join(filepath.Dir(binary(t)), "linux-dpdk")
	own, err := os.Open(filepath.Join(images, "initramfs.cpio"))
	if err != nil {
		t.Fatal(err)
	}
	defer own.Close()
	for in := cpio.NewReader(own); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(h.Name, "modules/") || h.Name == "etc/virtio-modules" {
			data, err := io.ReadAll(in)
			if err != nil {
				t.Fatal(err)
			}
			put(h.Name, h.Mode, data)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(images, "vmlinux"), initrd
}

// A guest of the user's own, which is none of ours in kind, beside ours.
func TestOwnGuest(t *testing.T) {
	k := newKit(t)
	kernel, initrd := foreignImage(t)
	stdout, stderr, code := k.run("--sizes", "64,1500", "--duration", "1s", "--results", "r",
		"--guest", "foreign="+kernel+","+initrd+",console=ttyS0 quiet panic=-1 ipv6.disable=1",
		"--systems", "foreign/vhost-user,bare/vhost-user")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	trials := k.load("r")
	if len(trials) != 4 {
		t.Errorf("%d trials", len(trials))
	}
	k.checkTrials(trials)
	for _, trial := range trials {
		if trial.System.Guest == "foreign" && trial.Settings.Guest != "guest=foreign packets_a_call=1" {
			t.Errorf("it says of itself %q", trial.Settings.Guest)
		}
	}
	if !strings.Contains(stdout, "foreign/vhost-user *") || !strings.Contains(stdout, "descriptors a packet: foreign/vhost-user ?; bare/vhost-user 1") {
		t.Errorf("the differences are not in\n%s", stdout)
	}
	t.Logf("\n%s", stdout)
	k.nothingLeft()
}
