package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestKernelGuest(t *testing.T) {
	dir := t.TempDir()
	for _, sender := range Senders() {
		if err := CheckSender(sender); err != nil {
			t.Error(err)
		}
		vm := KernelGuest(dir, sender).VM()
		words := strings.Fields(vm.Append)
		for _, want := range []string{"console=ttyS0", "sweep.guest=linux-kernel", "sweep.sender=" + sender} {
			if !slices.Contains(words, want) {
				t.Errorf("%s: the kernel's command line is %q, without %s", sender, vm.Append, want)
			}
		}
		if strings.Contains(vm.Append, "hugepages") {
			t.Errorf("%s: the kernel's command line is %q: only DPDK needs hugepages", sender, vm.Append)
		}
		image := Guest{Dir: dir}.VM()
		if vm.Kernel != image.Kernel || vm.Initrd != image.Initrd || vm.VCPUs != 1 || vm.MemoryMiB == 0 {
			t.Errorf("%s: the machine is %+v", sender, vm)
		}
	}
	if err := CheckSender("netcat"); err == nil {
		t.Error("netcat is a sender")
	}
}

// compileSender compiles the program of the guest linux-kernel as ./prepare.sh
// does.
func compileSender(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip(err)
	}
	path := filepath.Join(t.TempDir(), "sender")
	args := []string{"-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-static", "-o", path}
	for _, pattern := range []string{"sender/*.c", "../guest/c/*.c"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		args = append(args, files...)
	}
	if out, err := exec.Command("gcc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return path
}

// TestSender wants the program to say what it doesn't like in one line, and to
// leave a machine alone that isn't its guest: this one.
func TestSender(t *testing.T) {
	if cmdline, err := os.ReadFile("/proc/cmdline"); err != nil || strings.Contains(string(cmdline), "sweep.guest=") {
		t.Skip("this machine may be the guest")
	}
	sender := compileSender(t)
	tests := []struct {
		name  string
		words []string
		want  string
	}{
		{"another machine", nil, "error this machine wasn't booted as the guest linux-kernel"},
		{"good parameters", []string{"sweep.sender=pktgen", "sweep.size=64", "sweep.ip=10.0.0.1,10.0.0.2"}, "error this machine wasn't booted"},
		{"unknown parameter", []string{"sweep.length=64"}, "error sweep.length=64: there is no such parameter"},
		{"wrong value", []string{"sweep.size=60", "sweep.size=41"}, "error sweep.size=41: a frame has 42 to 1514 bytes"},
		{"unknown sender", []string{"sweep.sender=netcat"}, "error sweep.sender=netcat: it takes sendmmsg or pktgen"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := exec.Command(sender, tt.words...).Output()
			if err == nil {
				t.Error("it ended well")
			}
			lines := strings.Split(string(out), "\n")
			if len(lines) != 3 || !strings.HasPrefix(lines[0], "sweep-guest: boot guest=linux-kernel kernel=") ||
				!strings.HasPrefix(lines[1], "sweep-guest: "+tt.want) {
				t.Errorf("it said %q, want its first line and %q", out, tt.want)
			}
		})
	}
}
