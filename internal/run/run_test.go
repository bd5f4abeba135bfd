package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/fault"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
)

func TestForeignPollers(t *testing.T) {
	task := func(pid int, comm string, cpu int, used time.Duration) agent.Task {
		return agent.Task{Identity: agent.Identity{PID: pid, Start: uint64(pid)}, Comm: comm, CPU: cpu, Used: used}
	}
	w := &busyWatch{cpus: []int{0, 1}}
	w.ours(agent.Identity{PID: 7, Start: 7})
	first := agent.Snapshot{Time: 0, Task: []agent.Task{task(1, "old", 1, 9*time.Second), task(7, "server", 0, 0), task(8, "lazy", 0, 0), task(9, "away", 5, 0)}}
	last := agent.Snapshot{Time: agent.Time(2 * time.Second), Task: []agent.Task{
		task(1, "old\x1b[2J", 1, 10*time.Second), // half a CPU
		task(7, "server", 0, 2*time.Second),      // ours
		task(8, "lazy", 0, 400*time.Millisecond), // a fifth
		task(9, "away", 5, 2*time.Second),        // on no CPU of ours
		task(10, "new", 0, 2*time.Second),        // started meanwhile
	}}
	got := w.compare(first, last)
	if len(got) != 2 || !strings.HasPrefix(got[0], "old?[2J (pid 1), a process") || !strings.HasPrefix(got[1], "new (pid 10), a process") {
		t.Errorf("%q", got)
	}
}

func TestExplain(t *testing.T) {
	talk := &console.Error{Name: "server", Doing: "start its ports", Err: errors.New("port 0 of 2 is missing"), Output: []byte(
		"VHOST_CONFIG: (/tmp/v.sock) vhost-user server: socket created, fd: 17\r\n" +
			"VHOST_CONFIG: (/tmp/v.sock) failed to bind: Address already in use; remove it and try again\r\n" +
			"Port0 dev_configure = -1\r\nFail to configure port 0\r\nStart ports failed\r\ntestpmd> ")}
	sentence, last := Explain(fmt.Errorf("boot 1: %w", talk))
	if !strings.HasPrefix(sentence, "server: /tmp/v.sock exists already") || !strings.Contains(sentence, "rm /tmp/v.sock") {
		t.Errorf("sentence %q", sentence)
	}
	if len(last) == 0 || !strings.Contains(strings.Join(last, "\n"), "Start ports failed") {
		t.Errorf("last lines %q", last)
	}
	sentence, last = Explain(&testpmd.Refused{Command: "set txpkts 10", Line: "total packet length=10 < 42 - give up"})
	if !strings.HasPrefix(sentence, `testpmd refused "set txpkts 10": total packet length=10 < 42 - give up: `) || last != nil {
		t.Errorf("sentence %q, last lines %q", sentence, last)
	}
	if sentence, _ = Explain(errors.Join(errors.New("one"), errors.New("two"))); sentence != "one; two" {
		t.Errorf("sentence %q", sentence)
	}
}

func TestStolen(t *testing.T) {
	// proc(5): user nice system idle iowait irq softirq steal guest guest_nice
	was := parseCPUTimes("cpu  1 1 1 1 1 1 1 1 1 1\ncpu0 100 0 50 800 0 0 0 50 0 0\ncpu1 0 0 0 1000 0 0 0 0 0 0\nintr 5\n")
	now := parseCPUTimes("cpu  9 9 9 9 9 9 9 9 9 9\ncpu0 150 0 50 820 0 0 0 80 7 7\ncpu1 0 0 0 1100 0 0 0 0 0 0\n")
	// CPU 0: 50 user, 20 idle, 30 stolen of 100; CPU 1: none of 100.
	for _, tt := range []struct {
		cpus []int
		want float64
	}{{[]int{0}, 0.3}, {[]int{1}, 0}, {[]int{0, 1}, 0.15}, {[]int{5}, 0}} {
		if got := now.stolenSince(was, tt.cpus); got != tt.want {
			t.Errorf("stolen of CPUs %v: %v; want %v", tt.cpus, got, tt.want)
		}
	}
}

// A clean-up that fails keeps none of the others from being done.
func TestCleanups(t *testing.T) {
	var order []int
	var c cleanups
	for i := range 3 {
		c.add(func(ctx context.Context) error {
			order = append(order, i)
			if _, ok := ctx.Deadline(); !ok {
				t.Error("no deadline")
			}
			return map[bool]error{true: errors.New("stuck")}[i == 1]
		})
	}
	if err := c.run(); err == nil || err.Error() != "stuck" || fmt.Sprint(order) != "[2 1 0]" {
		t.Errorf("order %v, %v", order, err)
	}
}

// A guest that is a process takes the machine's place, and what stands beside its
// numbers is not what would of a machine's.
func TestProcessInsteadOfMachine(t *testing.T) {
	f, err := fault.Parse("drop=1000")
	if err != nil {
		t.Fatal(err)
	}
	wire, err := testbed.WithFault(testbed.Memif{}, "/b/pktio", f)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{
		Placement: testbed.Placement{Guest: 1, Share: "cpu"}, Wire: wire, Accel: qemu.Accel{Name: "tcg", Why: "there is no KVM"},
		Guests: map[string]guest.Guest{paced.Name: paced.New("/b", 7), linux.Name: linux.Guest{Dir: "/b"}},
	}
	at, joined := dirs{"/d", "/d"}, &testbed.Joined{}
	y := l.lay(paced.System(), at, joined)
	if argv := strings.Join(y.vmSpec.Argv, " "); y.vmSpec.Name != "guest" || y.vmSpec.Slice != l.Placement.Slice() ||
		!strings.HasPrefix(argv, "/b/pktio send ") || !strings.Contains(argv, "path=/d/vhost.sock") || !strings.Contains(argv, "--cpu 1") {
		t.Errorf("the guest is %+v", y.vmSpec)
	}
	if err := l.pin(t.Context(), y, nil); err != nil {
		t.Error(err)
	}
	for _, tt := range []struct{ guest, first string }{{paced.Name, "pollers shared a CPU"}, {linux.Name, "the guest ran in an emulator"}} {
		b := bench{lab: l, settings: results.Settings{Accel: l.lay(plan.System{Guest: tt.guest, Attachment: "vhost-user"}, at, joined).vm.Accel}}
		got := b.caveats()
		if !strings.HasPrefix(got[0], tt.first) || got[len(got)-1] != "a fault was planted: drop=1000" {
			t.Errorf("%s: caveats %q", tt.guest, got)
		}
	}
}

func TestShow(t *testing.T) {
	lx := plan.System{Guest: linux.Name, Attachment: "vhost-user"}
	l := &Lab{
		Placement: testbed.Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1}, Share: "cpu"},
		Wire:      testbed.Veth{Rootless: true},
		Accel:     qemu.Accel{Name: "tcg"},
		Guests:    map[string]guest.Guest{linux.Name: linux.Guest{Dir: "/no/build"}},
	}
	var b bytes.Buffer
	if err := l.Show(&b, plan.Plan{Sizes: []int{64, 1500}, Systems: []plan.System{lx}, Trials: 3, Duration: 5 * time.Second}); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{
		"forwarder 0, guest 1, client 1, the rest [0 1] (pollers share a CPU)",
		"unshare --net --user --map-root-user sh -c",
		`nsenter --target "$HOLDER" --net --user --preserve-credentials dpdk-testpmd`,
		"--vdev net_af_packet0,iface=sweep0", "--vdev net_af_packet0,iface=sweep1",
		"-kernel /no/build/linux-dpdk/vmlinux",
		"#   testpmd> set fwd mac", "#   guest> set txpkts 1500", "#   testpmd> show port stats 0",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	// Three boots of a system run the same.
	if n := strings.Count(got, "qemu-system-x86_64"); n != 1 {
		t.Errorf("QEMU's command line stands there %d times", n)
	}
}
