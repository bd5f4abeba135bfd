package systems

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/qemu"
)

func user(name string) plan.System { return plan.System{Guest: name, Attachment: "vhost-user"} }

// A PATH with programs of these names, which do nothing.
func fakePath(t *testing.T, programs ...string) {
	t.Helper()
	dir := t.TempDir()
	for _, p := range programs {
		if err := os.WriteFile(filepath.Join(dir, p), []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestMissing(t *testing.T) {
	build := t.TempDir()
	image := filepath.Join(build, "bare", "bare.elf")
	if err := os.Mkdir(filepath.Dir(image), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(image, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c := Catalog{Build: build, KernelSender: "sendmmsg", Own: map[string]guest.Guest{
		"mine": guest.Lines{Machine: qemu.Config{Kernel: image}},
		"gone": guest.Lines{Machine: qemu.Config{Kernel: image + ".gone"}},
		"half": guest.Lines{Machine: qemu.Config{Kernel: image, Initrd: image + ".gone"}},
	}}
	a := agent.NewLocal(nil)
	fakePath(t, "dpdk-testpmd", "qemu-system-x86_64")
	for _, tt := range []struct {
		system plan.System
		want   string // in the reason; none where it can run
	}{
		{user("bare"), ""},
		{user("mine"), ""},
		{user("gone"), "bare.elf.gone: no such file"},
		{user("half"), "bare.elf.gone: no such file"},
		{user("linux-dpdk"), "its image is not whole"},
		{user("linux-kernel"), "./prepare.sh builds it"},
		{user("unikraft"), "--unikraft-image FILE"},
		{user("paced"), "./prepare.sh --tests makes it"},
		{user("freebsd"), "there is no guest freebsd"},
		{plan.System{Guest: "bare", Attachment: "vhost-net"}, "vhost-net"},
	} {
		err := c.Missing(t.Context(), OneMachine(a), tt.system)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q", tt.system, err, tt.want)
		}
	}
	// An image that was named and has gone since is no advice to build one.
	c.Unikraft = image + ".gone"
	if err := c.Missing(t.Context(), OneMachine(a), user("unikraft")); err == nil || !strings.Contains(err.Error(), "bare.elf.gone") {
		t.Errorf("a Unikraft image that is gone: %v", err)
	}
	can, skipped := c.Split(t.Context(), OneMachine(a), []plan.System{user("freebsd"), user("bare"), user("gone"), user("mine")})
	if !slices.Equal(can, []plan.System{user("bare"), user("mine")}) || len(skipped) != 2 || skipped[0].System != user("freebsd") {
		t.Errorf("Split = %v, %v", can, skipped)
	}
	fakePath(t, "dpdk-testpmd")
	if err := c.Missing(t.Context(), OneMachine(a), user("bare")); err == nil || !strings.Contains(err.Error(), "qemu-system-x86_64") {
		t.Errorf("without QEMU: %v", err)
	}
}

func TestMemoryIsOfEveryGuest(t *testing.T) {
	c := Catalog{Build: t.TempDir(), Own: map[string]guest.Guest{"mine": guest.Lines{Machine: qemu.Config{MemoryMiB: 9}}}}
	for _, memory := range []int{0, 64} {
		c.MemoryMiB = memory
		for _, s := range c.Known() {
			g, ok := c.Guest(s.Guest)
			want := guest.MemoryMiB
			switch {
			case memory > 0:
				want = memory
			case s.Guest == "mine":
				want = 9
			}
			if !ok || g.VM().MemoryMiB != want {
				t.Errorf("--memory %d: %s: %v, %d MiB; want %d", memory, s, ok, g.VM().MemoryMiB, want)
			}
		}
	}
	if known := c.Known(); known[len(known)-2] != user("mine") || known[len(known)-1] != (plan.System{Guest: "mine", Attachment: "vhost-net"}) {
		t.Errorf("Known = %v", known)
	}
}

// A guest that is a process stays one under a name of the user's own.
func TestOwnProcess(t *testing.T) {
	c := Catalog{Build: "/build", MemoryMiB: 512, Own: map[string]guest.Guest{"p": paced.New("/build", 1)}}
	g, ok := c.Guest("p")
	if _, process := g.(guest.Process); !ok || !process {
		t.Errorf("Guest = %T, %v", g, ok)
	}
}
