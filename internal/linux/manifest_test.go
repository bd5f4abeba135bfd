package linux

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStale(t *testing.T) {
	inputs := []Input{{"init", "1"}, {"bin/busybox", "2"}}
	tests := []struct {
		name string
		m    Manifest
		now  []Input
		want string // part of why; empty: not stale
	}{
		{"same", Manifest{Builder: builder, Inputs: inputs}, inputs, ""},
		{"another order", Manifest{Builder: builder, Inputs: inputs}, []Input{inputs[1], inputs[0]}, ""},
		{"older builder", Manifest{Builder: builder - 1, Inputs: inputs}, inputs, "version"},
		{"changed", Manifest{Builder: builder, Inputs: inputs}, []Input{{"init", "1"}, {"bin/busybox", "3"}}, "/bin/busybox has changed"},
		{"new", Manifest{Builder: builder, Inputs: inputs[:1]}, inputs, "/bin/busybox is new"},
		{"gone", Manifest{Builder: builder, Inputs: inputs}, inputs[:1], "/bin/busybox is no longer needed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := tt.m.stale(tt.now); err != nil {
				got = err.Error()
			}
			if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
				t.Errorf("stale says %q, want %q", got, tt.want)
			}
		})
	}
}

func TestManifest(t *testing.T) {
	dir := t.TempDir()
	_, err := Load(dir)
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "prepare.sh") {
		t.Errorf("with no manifest: %v, want os.ErrNotExist and what to do", err)
	}

	if err := os.Mkdir(filepath.Join(dir, Name), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"vmlinux", "initramfs.cpio"} {
		if err := os.WriteFile(filepath.Join(dir, Name, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	m := Manifest{
		Image:   Name,
		Builder: builder,
		Kernel:  Kernel{Package: "linux-image-cloud-amd64", Release: "6.1.0-1-cloud-amd64", Packed: "lz4"},
		Files: []File{
			{Path: Name + "/vmlinux", SHA256: hashBytes([]byte("vmlinux")), Size: 7},
			{Path: Name + "/initramfs.cpio", SHA256: hashBytes([]byte("initramfs.cpio")), Size: 14},
		},
		Packages: []Package{{Name: "a", Version: "1"}},
		Inputs:   []Input{{Path: "init", SHA256: "00"}},
	}
	if err := m.write(dir); err != nil {
		t.Fatal(err)
	}
	got, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	if err := got.Verify(dir); err != nil {
		t.Error(err)
	}
	if want := filepath.Join(dir, Name, "vmlinux"); got.KernelFile(dir) != want {
		t.Errorf("kernel %s, want %s", got.KernelFile(dir), want)
	}
	if err := os.WriteFile(got.KernelFile(dir), []byte("vmlinus"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := got.Verify(dir); err == nil {
		t.Error("a changed kernel isn't noticed")
	}

	if err := os.WriteFile(manifestPath(dir), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(dir); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a manifest: %v", err)
	}
}
