//go:build real

package test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cavaliergopher/cpio"

	"sweep/internal/audit"
	"sweep/internal/bare"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/unikraft"
	"sweep/vhost"
)

// ownGuests are the kit's guests that are there: unikraft where an image was
// built beside them.
func ownGuests(t *testing.T) map[string]guest.Guest {
	t.Helper()
	build := filepath.Dir(binary(t))
	all := map[string]guest.Guest{
		bare.Name:        bare.New(build),
		linux.Name:       linux.Guest{Dir: build},
		linux.KernelName: linux.KernelGuest(build, linux.Senders()[0]),
	}
	image := unikraft.DefaultImage(build)
	if _, err := os.Stat(image); err != nil {
		t.Logf("without unikraft: %v", err)
		return all
	}
	all[unikraft.Name] = unikraft.New(image)
	return all
}

// withoutUnikraft is the kit in a folder that has all but the guest unikraft.
func (k *kit) withoutUnikraft() *kit {
	k.t.Helper()
	build := filepath.Dir(binary(k.t))
	dir := k.t.TempDir()
	for _, name := range []string{bare.Name, linux.Name, "manifest.json"} {
		if err := os.Symlink(filepath.Join(build, name), filepath.Join(dir, name)); err != nil {
			k.t.Fatal(err)
		}
	}
	for _, name := range []string{"sweep", "accel.json"} {
		data, err := os.ReadFile(filepath.Join(build, name))
		if errors.Is(err, os.ErrNotExist) {
			continue // how virtual machines run isn't known yet
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), data, 0o755)
		}
		if err != nil {
			k.t.Fatal(err)
		}
	}
	other := *k
	other.program = filepath.Join(dir, "sweep")
	return &other
}

// Every system in one run: three columns and how to get the fourth without a
// Unikraft image, four with one.
func TestAllSystems(t *testing.T) {
	k := newKit(t)
	stdout, stderr, code := k.withoutUnikraft().run("--sizes", "64,1500", "--duration", "1s", "--results", "three")
	if code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	k.checkColumns(stdout, "three", "linux-dpdk", "linux-kernel", "bare")
	if want := "not run: unikraft/vhost-user: there is no Unikraft image; ./prepare.sh --unikraft DIR builds one"; strings.Count(stderr, want) != 1 {
		t.Errorf("%q is not there once:\n%s", want, stderr)
	}
	if _, ok := ownGuests(t)[unikraft.Name]; ok {
		stdout, stderr, code := k.run("--sizes", "64,1500", "--duration", "1s", "--results", "four")
		if code != 0 {
			t.Errorf("exit code %d\n%s", code, stderr)
		}
		k.checkColumns(stdout, "four", "unikraft", "linux-dpdk", "linux-kernel", "bare")
	}
	k.nothingLeft()
}

// checkColumns checks that a run has these guests' columns, that each boot saw
// its sizes in the order that its seed gives, and what holds of every trial.
func (k *kit) checkColumns(table, dir string, guests ...string) {
	k.t.Helper()
	// A heading that would make the table too wide is broken behind the slash.
	header := strings.Split(table, "\n")[1]
	var names []string
	for _, cell := range regexp.MustCompile(`(\S+)/`).FindAllStringSubmatch(header, -1) {
		names = append(names, cell[1])
	}
	if !slices.Equal(names, guests) {
		k.t.Errorf("columns %q; want %q\n%s", names, guests, table)
	}
	trials := k.load(dir)
	if len(trials) != 2*len(guests) {
		k.t.Errorf("%d trials", len(trials))
	}
	k.checkTrials(dir)
	k.replays(dir)
	record, _, _, err := results.Load(filepath.Join(k.dir, dir))
	if err != nil {
		k.t.Fatal(err)
	}
	var order []plan.Trial
	for _, b := range record.Plan.Boots() {
		order = append(order, b.Trials...)
	}
	for i, trial := range trials {
		if trial.Trial != order[i] {
			k.t.Errorf("trial %d is %+v; the plan's seed gives %+v", i, trial.Trial, order[i])
		}
		image := record.Images[trial.System.Guest]
		sum, err := exec.Command("sha256sum", image.Kernel).Output()
		if err != nil || !strings.HasPrefix(string(sum), image.KernelSHA256+" ") || len(trial.Settings.Features) == 0 {
			k.t.Errorf("%s: image %+v, %s, %v; features %q", trial.System, image, sum, err, trial.Settings.Features)
		}
	}
	k.t.Logf("\n%s", table)
}

// What a guest can't do it says in one line, and powers its machine off.
func TestGuestsThatCannot(t *testing.T) {
	nic := append([]string{"-netdev", "hubport,hubid=0,id=n0"}, vhost.NIC{MAC: "02:00:00:00:00:01", Queue: 256, NoMSIX: true}.Device("n0")...)
	for name, g := range ownGuests(t) {
		for _, tt := range []struct {
			what, parameter string
			net             []string
			want            string
		}{
			{"a parameter that there isn't", "sweep.nosuch=1", nic, "sweep.nosuch=1"},
			{"no NIC", "", nil, "network device|virtio-net device"},
		} {
			vm := g.VM()
			vm.Accel, vm.CPU, vm.Net = "tcg", qemu.CPUModel("tcg"), tt.net
			vm.Append += " " + tt.parameter
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			argv := vm.Argv()
			cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
			out, err := cmd.Output()
			cancel()
			if err != nil {
				t.Errorf("%s, %s: it doesn't power off: %v\n%s", name, tt.what, err, out)
				continue
			}
			said := regexp.MustCompile(`sweep-guest: error (.+)`).FindAllStringSubmatch(string(out), -1)
			if len(said) != 1 || !regexp.MustCompile(tt.want).MatchString(said[0][1]) {
				t.Errorf("%s, %s: it says %q; want one line with %s\n%s", name, tt.what, said, tt.want, out)
				continue
			}
			t.Logf("%s, %s: %s", name, tt.what, strings.TrimSpace(said[0][1]))
		}
	}
}

// With 8 MiB each system has its one line, and the run goes on with the next.
// bare has room enough there, and none with 3.
func TestTooLittleMemory(t *testing.T) {
	k := newKit(t)
	stdout, stderr, code := k.run("--memory", "8", "--sizes", "64", "--duration", "1s", "--results", "r")
	if code != 1 {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	trials := k.load("r")
	if len(trials) < 3 {
		t.Fatalf("%d trials\n%s", len(trials), stderr)
	}
	for _, trial := range trials {
		t.Logf("%s: %.0f packets/s %s", trial.System, trial.RxPps, trial.Error)
		if trial.System.Guest == bare.Name {
			if trial.RxPps <= 0 {
				t.Errorf("bare: %s", trial.Error)
			}
			continue
		}
		if !strings.Contains(trial.Error, "memory") || !strings.Contains(trial.Error, "--memory 256") || strings.Contains(trial.Error, "\n") {
			t.Errorf("%s: %q", trial.System, trial.Error)
		}
	}
	_, stderr, code = k.run("--memory", "3", "--sizes", "64", "--systems", "bare/vhost-user", "--results", "s")
	if code != 1 || !strings.Contains(stderr, "the guest can't go on (not enough memory for") {
		t.Errorf("bare with 3 MiB: exit code %d\n%s", code, stderr)
	}
	k.nothingLeft()
}

// A guest that refuses a size is measured at the others.
func TestRefusedSize(t *testing.T) {
	k := newKit(t)
	// This seed has 42 come first.
	stdout, stderr, code := k.run("--systems", "linux-kernel/vhost-user", "--kernel-sender", "pktgen",
		"--sizes", "42,64", "--duration", "1s", "--seed", "4", "--results", "r")
	if code != 1 || !strings.Contains(stdout, "pktgen writes 16 bytes of its own into each packet") {
		t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
	}
	trials := k.load("r")
	if len(trials) != 2 || trials[0].Size != 42 || trials[0].Error == "" || trials[1].Size != 64 {
		t.Fatalf("%+v", trials)
	}
	if trials[0].Findings[len(trials[0].Findings)-1].Kind != audit.Refused {
		t.Errorf("findings %+v", trials[0].Findings)
	}
	if trials[1].RxPps <= 0 && !trials[1].Unsteady() {
		t.Errorf("64 B failed: %s", trials[1].Error)
	}
	k.replays("r")
	k.nothingLeft()
}

// What a packet costs is the same each time, or there is no figure.
func TestCost(t *testing.T) {
	k := newKit(t)
	systems := "bare/vhost-user"
	if _, ok := ownGuests(t)[unikraft.Name]; ok {
		systems += ",unikraft/vhost-user"
	}
	first := map[string]float64{}
	for i, busy := range []bool{false, true} {
		sizes := "64,1500"
		if busy {
			sizes = "64"
			burn(t)
		}
		stdout, stderr, code := k.run("cost", "--systems", systems, "--sizes", sizes, "--format", "json", "--results", fmt.Sprint("r", i))
		var got struct {
			Points []struct {
				System       string   `json:"system"`
				Size         int      `json:"size"`
				Instructions *float64 `json:"instructions_per_packet"`
				Boots        int      `json:"boots"`
				Why          string   `json:"why"`
			} `json:"points"`
		}
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatalf("exit code %d, %v\n%s%s", code, err, stdout, stderr)
		}
		if again, _, code := k.run("report", fmt.Sprint("r", i), "--format", "json"); code != 0 || again != stdout {
			t.Errorf("report: exit code %d, %s", code, again)
		}
		if len(got.Points) != (1+strings.Count(sizes, ","))*(1+strings.Count(systems, ",")) {
			t.Errorf("%d points: %s", len(got.Points), stdout)
		}
		for _, p := range got.Points {
			key := fmt.Sprint(p.System, p.Size)
			if p.Instructions == nil {
				// On a busy machine it may be refused, with a reason.
				if !busy || p.Why == "" || code != 1 {
					t.Errorf("%s: no figure: %q, exit code %d", key, p.Why, code)
				}
				continue
			}
			t.Logf("%s busy %v: %v instructions", key, busy, *p.Instructions)
			if p.Boots != 2 {
				t.Errorf("%s: %d boots", key, p.Boots)
			}
			if p.System == "bare/vhost-user" && (*p.Instructions <= 5 || *p.Instructions >= 30) {
				t.Errorf("%s: %v instructions", key, *p.Instructions)
			}
			if was, ok := first[key]; ok && math.Abs(*p.Instructions/was-1) > 0.001 {
				t.Errorf("%s: %v instructions, on a busy machine %v", key, was, *p.Instructions)
			}
			first[key] = *p.Instructions
		}
	}
	k.nothingLeft()
}

// burn keeps every CPU busy until the test ends.
func burn(t *testing.T) {
	t.Helper()
	for cpu := range runtime.NumCPU() {
		c := exec.Command("taskset", "-c", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	}
}

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
	k.checkTrials("r")
	k.replays("r")
	for _, trial := range trials {
		if trial.System.Guest == "foreign" && trial.Settings.Guest != "guest=foreign packets_a_call=1" {
			t.Errorf("it says of itself %q", trial.Settings.Guest)
		}
	}
	if !strings.Contains(stdout, "foreign/vhost-user *") || !regexp.MustCompile(`descriptors a packet: (foreign/vhost-user \?; bare/vhost-user 1|bare/vhost-user 1; foreign/vhost-user \?)\n`).MatchString(stdout) {
		t.Errorf("the differences are not in\n%s", stdout)
	}
	t.Logf("\n%s", stdout)
	k.nothingLeft()
}
