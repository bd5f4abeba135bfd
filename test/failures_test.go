//go:build real

package test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweep/client"
	"sweep/internal/agent"
	"sweep/internal/diagnose"
	"sweep/internal/linux"
	"sweep/internal/qemu"
	"sweep/internal/run"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/vhost"
)

// rig is an agent and a folder, for tests that bring single parts up.
type rig struct {
	t   *testing.T
	ctx context.Context
	a   *agent.Local
	dir string
}

func newRig(t *testing.T) *rig {
	t.Helper()
	j, err := agent.OpenJournal(filepath.Join(t.TempDir(), "sweep-state"), "")
	if err != nil {
		t.Fatal(err)
	}
	a := agent.NewLocal(j)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	t.Cleanup(func() {
		cancel()
		if err := a.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	dir, err := a.TempDir(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{t, ctx, a, dir}
}

// wire is an end that needs no other.
var wire = testpmd.Device{Name: "net_null0"}

// host gives each testpmd runtime files of its own.
func (r *rig) host(name string) testpmd.Host {
	dir := filepath.Join(r.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		r.t.Fatal(err)
	}
	return testpmd.Host{Dir: dir}
}

func (r *rig) server(name, socket string) (*server.Server, error) {
	return server.Launch(r.ctx, r.a, server.Config{Port: vhost.User{Socket: socket}, Wire: wire}, r.host(name), &bytes.Buffer{})
}

func (r *rig) vm(change func([]string) []string, socket string) (*qemu.VM, error) {
	c := linux.Guest{Dir: filepath.Dir(binary(r.t))}.VM()
	c.Accel, c.CPU = "tcg", qemu.CPUModel("tcg")
	c.Net = append(vhost.User{Socket: socket}.Netdev("net0"), vhost.NIC{MAC: "02:00:00:00:00:01", Queue: 1024}.Device("net0")...)
	spec := agent.Spec{Name: "guest", Argv: c.Argv()}
	if change != nil {
		spec.Argv = change(spec.Argv)
	}
	return qemu.Start(r.ctx, r.a, spec, &bytes.Buffer{})
}

// reads checks what the user would read of a failure.
func reads(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error; want %q", want)
	}
	sentence, last := run.Explain(err)
	t.Logf("%s\n  | %s", sentence, strings.Join(last, "\n  | "))
	for _, w := range want {
		if !strings.Contains(sentence, w) {
			t.Errorf("the user reads %q; want %q in it", sentence, w)
		}
	}
	if strings.Contains(sentence, "\n") {
		t.Errorf("more than one line: %q", sentence)
	}
}

// A socket that a testpmd which lives listens on.
func TestTakenSocket(t *testing.T) {
	r := newRig(t)
	socket := r.dir + "/vhost.sock"
	first, err := r.server("first", socket)
	if err != nil {
		t.Fatal(err)
	}
	// Found before anything is started,
	_, err = r.server("second", socket)
	reads(t, err, socket, "listens")
	// and recognised where the check came too early.
	_, err = testpmd.Launch(r.ctx, r.a, server.Config{Port: vhost.User{Socket: socket}, Wire: wire}.Testpmd(), r.host("third"), &bytes.Buffer{})
	reads(t, err, socket, "rm ")
	if first.Console().Ended() {
		t.Error("the one that was there first is gone")
	}
}

// A socket that a killed testpmd left.
func TestStaleSocket(t *testing.T) {
	r := newRig(t)
	socket := r.dir + "/vhost.sock"
	s, err := r.server("first", socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Identity().Kill(syscall.SIGKILL); err != nil || !s.Identity().WaitGone(5*time.Second) {
		t.Fatal("it does not end", err)
	}
	if _, err := os.Stat(socket); err != nil {
		t.Fatalf("no stale socket: %v", err)
	}
	_, err = r.server("second", socket)
	reads(t, err, socket, "rm "+socket)
	// QEMU, which finds a file that nobody listens on.
	vm, err := r.vm(nil, socket)
	if err != nil {
		t.Fatal(err)
	}
	_, err = linux.Guest{}.Attach(r.ctx, vm.Console)
	reads(t, err, socket, "nobody listens")
}

func unshared(argv []string) []string {
	return slices.Collect(func(yield func(string) bool) {
		for _, a := range argv {
			if !yield(strings.Replace(a, ",share=on", ",share=off", 1)) {
				return
			}
		}
	})
}

// Memory that the forwarder can't see: found in the command line, since
// nothing that runs says a word.
func TestUnsharedMemory(t *testing.T) {
	r := newRig(t)
	socket := r.dir + "/vhost.sock"
	if _, err := r.server("server", socket); err != nil {
		t.Fatal(err)
	}
	_, err := r.vm(unshared, socket)
	reads(t, err, "share=on", "vhost-user")
}

// A size that testpmd refuses in a line and goes on with the old one.
func TestWrongSize(t *testing.T) {
	r := newRig(t)
	p, err := testpmd.Launch(r.ctx, r.a, testpmd.Config{
		Name: "sender", Ports: []testpmd.Device{wire}, MemoryMiB: 128, Mbufs: 4096, Forward: "txonly",
	}, r.host("sender"), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []string{"10", "5000"} {
		_, err := p.Do(r.ctx, "set txpkts "+size)
		reads(t, err, "set txpkts "+size, "give up")
	}
	// The session goes on, with the old length.
	if length, err := p.Start(r.ctx); err != nil || length != 64 {
		t.Errorf("Start = %d, %v", length, err)
	}
	_, err = p.Do(r.ctx, "start")
	reads(t, err, "already started")
	if f, err := p.Stop(r.ctx); err != nil || f.Total == nil || f.Total.TxPackets == 0 {
		t.Errorf("Stop = %+v, %v", f, err)
	}
	_, err = p.Stop(r.ctx)
	reads(t, err, "not started")
	for command, want := range map[string]string{
		"show port stats 7": "Invalid port 7", "show port stats foo": "Bad arguments", "no such command": "refused",
	} {
		_, err := p.Do(r.ctx, command)
		reads(t, err, command, want)
	}
}

// A testpmd whose input ends, which it takes for a wish to end, with exit code
// 0.
func TestStdinEOF(t *testing.T) {
	r := newRig(t)
	s, err := r.server("server", r.dir+"/vhost.sock")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Console().Type(r.ctx, "\x04"); err != nil {
		t.Fatal(err)
	}
	if !s.Identity().WaitGone(10 * time.Second) {
		t.Fatal("it lives on")
	}
	_, err = s.Do(r.ctx, "show port stats 0")
	reads(t, err, "server", "ended")

	// And as everybody meets it first: started by a script without a terminal.
	cmd := exec.Command("dpdk-testpmd", "--no-huge", "-m", "64", "--no-pci", "--no-shconf", "--no-telemetry",
		"--file-prefix", "eof", "--vdev", "net_null0", "--", "--total-num-mbufs=2048")
	out, err := cmd.CombinedOutput() // its standard input is /dev/null
	if err != nil {
		t.Fatalf("exit code %d: the point is that it is 0", cmd.ProcessState.ExitCode())
	}
	findings := diagnose.Explain(out)
	if !slices.ContainsFunc(findings, func(f diagnose.Finding) bool { return f.Fatal && strings.Contains(f.String(), "stdin") }) {
		t.Errorf("findings %v in\n%s", findings, out)
	}
}

// A process of the bench is killed in the middle of a trial: that trial and
// those that needed it fail, with the reason; what was measured before is kept.
func TestKilledInTheMiddle(t *testing.T) {
	for _, name := range []string{"server", "client", "guest"} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t)
			s := k.start("--systems", "bare/vhost-user", "--sizes", "64,128,256", "--duration", "2s", "--results", "r")
			k.waitFor(s, " B: ")
			time.Sleep(1500 * time.Millisecond)
			killed := false
			for pid, cmdline := range k.marked() {
				if strings.Contains(cmdline, "sweep-"+name) {
					syscall.Kill(pid, syscall.SIGKILL)
					killed = true
				}
			}
			if !killed {
				t.Fatalf("there is no %s among %v:\n%s%s", name, k.marked(), s.out, s.errs)
			}
			<-s.ended
			if code := s.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			table := s.out.String()
			t.Logf("\n%s", table)
			for _, want := range []string{"failed", "the " + name + " ended in the middle of the trial (killed by SIGKILL)"} {
				if !strings.Contains(table, want) {
					t.Errorf("%q is not in the table", want)
				}
			}
			trials := k.load("r")
			if len(trials) != 3 || trials[0].RxPps <= 0 && !trials[0].Unsteady() || trials[1].Error == "" || trials[2].Error == "" {
				t.Errorf("the record: %+v", trials)
			}
			k.nothingLeft()
		})
	}
}

// The disk that the results go to fills up: the run ends with a clear word,
// and what was written before is whole.
func TestFullDisk(t *testing.T) {
	k := newKit(t)
	inner := `mount -t tmpfs -o size=250k none disk && "$0" --systems bare/vhost-user --sizes 64-1500:64 --duration 1s --results disk/r; code=$?; cp -r disk/r kept; exit $code`
	unshare := []string{"--mount"}
	if os.Getuid() != 0 {
		unshare = append(unshare, "--user", "--map-root-user")
	}
	if err := os.Mkdir(filepath.Join(k.dir, "disk"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("unshare", append(unshare, "sh", "-c", inner, binary(t))...)
	cmd.Dir, cmd.Env = k.dir, k.env
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("exit code %d", cmd.ProcessState.ExitCode())
	}
	t.Logf("\n%s", out)
	for _, want := range []string{"no space left on device: free some", "what was measured until then is kept"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in what the user reads", want)
		}
	}
	if len(k.load("kept")) == 0 {
		t.Error("nothing is kept")
	}
	k.checkTrials("kept")
	k.nothingLeft()
}

// A forwarder whose client is not there, or leaves, must not bring it down:
// forwarding starts last and stops first.
func TestClientCounts(t *testing.T) {
	r := newRig(t)
	c, err := client.Launch(r.ctx, r.a, client.Config{Wire: wire}, r.host("client"), &bytes.Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Receive(r.ctx); err != nil {
		t.Fatal(err)
	}
	// net_null receives all by itself: both observers see it.
	before, _, err := c.ReadStats(r.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	counters, version, _, err := c.Telemetry(r.ctx, 0)
	if err != nil || !strings.HasPrefix(version, "DPDK ") {
		t.Fatalf("telemetry: %q, %v", version, err)
	}
	after, reply, err := c.ReadStats(r.ctx, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !(*before.RxPackets <= counters.Ipackets && counters.Ipackets <= *after.RxPackets) {
		t.Errorf("telemetry saw %d packets between testpmd's %d and %d", counters.Ipackets, *before.RxPackets, *after.RxPackets)
	}
	if reply.Before <= 0 || reply.After < reply.Before {
		t.Errorf("reply between %d and %d", reply.Before, reply.After)
	}
	if _, _, _, err := c.Telemetry(r.ctx, 9); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a port that isn't there: %v", err)
	}
	if err := c.Quit(r.ctx); err != nil {
		t.Error(err)
	}
}
