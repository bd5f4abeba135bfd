//go:build rehearsal

// The kit on two machines: emulated, and reached over real sshd. With
// SWEEP_SOAK=N what interrupts a run does so N times; with -short nothing does.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/doctor"
	"sweep/internal/results"
	"sweep/rehearsal/machine"
)

// state is the folder of the machines; its disks stay for the next time.
const state = "../build/rehearsal"

var pair *machine.Pair

func TestMain(m *testing.M) { os.Exit(withMachines(m)) }

func withMachines(m *testing.M) (code int) {
	say := func(format string, a ...any) { fmt.Printf("   "+format+"\n", a...) }
	var err error
	if pair, err = machine.Open(state, say); err == nil {
		// Fresh disks: what an older run left is none of this one's.
		if err = pair.Down(context.Background(), true); err == nil {
			err = pair.Up(context.Background())
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rehearsal:", err)
		return 1
	}
	defer func() {
		if err := pair.Down(context.Background(), false); err != nil {
			fmt.Fprintln(os.Stderr, "rehearsal:", err)
			code = 1
		}
	}()
	return m.Run()
}

// look prints what a run may change on a machine.
const look = `
for d in /sys/bus/pci/devices/*; do
	echo "$d driver=$(basename "$(readlink "$d/driver")") override=$(cat "$d/driver_override")"
done
echo "hugepages $(cat /proc/sys/vm/nr_hugepages)"
for l in /sys/class/net/*; do
	echo "$l $(cat "$l/flags") $(cat "$l/mtu") $(cat "/proc/sys/net/ipv6/conf/$(basename "$l")/disable_ipv6")"
done
cut -d ' ' -f 1 /proc/modules | sort
for p in /proc/[0-9]*; do
	if [ -n "$(readlink "$p/exe")" ]; then cat "$p/comm"; fi
done | sort | grep -v '^\(sh\|bash\|sort\|cat\|grep\|readlink\|sshd\)$'
find /root /tmp /var /home /etc /opt /srv /usr/local /dev -xdev ! -path '/dev/pts/*' ! -path '/dev/char/*' | sort
`

func looked(t *testing.T, name string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := pair.SSH(ctx, name, "sh")
	cmd.Stdin = strings.NewReader(look)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("look at %s: %v", name, err)
	}
	return string(out)
}

// both are what both machines are like.
func both(t *testing.T) map[string]string {
	t.Helper()
	return map[string]string{"a": looked(t, "a"), "b": looked(t, "b")}
}

// given compares what the machines are like with what they were like.
func given(t *testing.T, before map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, both(t)); diff != "" {
		t.Errorf("the machines are not as they were (-before +after):\n%s", diff)
	}
}

// sweep is the program, with a journal of the test's own.
type sweep struct {
	*exec.Cmd
	out     bytes.Buffer
	results string
}

func newSweep(t *testing.T, stateDir string, args ...string) *sweep {
	t.Helper()
	s := &sweep{Cmd: exec.CommandContext(t.Context(), "../build/sweep", args...)}
	s.Env = append(os.Environ(), "SWEEP_STATE_DIR="+stateDir)
	s.Stdout, s.Stderr = &s.out, &s.out
	s.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return s
}

// run is a run of some systems.
func run(t *testing.T, stateDir string, systems string, more ...string) *sweep {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "results")
	s := newSweep(t, stateDir, append([]string{"--testbed", state + "/testbed.yaml", "--systems", systems, "--duration", "2s", "--results", folder, "--quiet"}, more...)...)
	s.results = folder
	return s
}

// clean has everything undone, twice: the second time there is nothing.
func clean(t *testing.T, stateDir string) string {
	t.Helper()
	s := newSweep(t, stateDir, "clean")
	if err := s.Run(); err != nil {
		t.Fatalf("sweep clean: %v\n%s", err, s.out.String())
	}
	again := newSweep(t, stateDir, "clean")
	if err := again.Run(); err != nil || !strings.Contains(again.out.String(), "Nothing to undo.") {
		t.Errorf("sweep clean, again: %v\n%s", err, again.out.String())
	}
	return s.out.String()
}

// unikraftImage is where prepare.sh --unikraft puts it.
const unikraftImage = "../build/unikraft/sweep_qemu-x86_64"

// The whole: bare behind both attachments, unikraft where there is an image, and
// everything as it was afterwards.
func TestSweep(t *testing.T) {
	systems := "bare/vhost-user,bare/vhost-net"
	if _, err := os.Stat(unikraftImage); err == nil && !testing.Short() {
		systems += ",unikraft/vhost-net"
	}
	if soak() > 1 {
		systems += ",linux-dpdk/vhost-net"
	}
	before := both(t)
	dir := filepath.Join(t.TempDir(), "sweep-state")
	const trials = 3
	s := run(t, dir, systems, "--sizes", "64,1500", "--trials", strconv.Itoa(trials))
	// Its exit code says that some trial was void; which, and why, follows.
	err := s.Run()
	t.Logf("%v\n%s", err, s.out.String())
	record, all, problems, err := results.Load(s.results)
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	points := map[string]float64{}
	for _, trial := range all {
		point := fmt.Sprintf("%s %d B", trial.System, trial.Size)
		switch {
		case trial.Error == "":
			points[point] = max(points[point], trial.RxPps)
		// Two machines and all that runs on them share two CPUs: at times one
		// of them stands still, and the audit finds that.
		case trial.Unsteady(), strings.Contains(trial.Error, "stood still"):
		default:
			t.Errorf("%s: %s", point, trial.Error)
		}
	}
	if want := 2 * (1 + strings.Count(systems, ",")); len(all) != want*trials || len(points) != want {
		t.Errorf("%d trials, of which are good those of %v; want %d, and one good at least of each of %d points", len(all), points, want*trials, want)
	}
	for point, pps := range points {
		if !(pps > 0) {
			t.Errorf("%s: %v frames a second", point, pps)
		}
	}
	if record.Receiver == nil || record.Testbed == nil || record.Testbed.Receiver.PCI != "0000:00:03.0" || record.Testbed.Sender.KernelDriver != "e1000e" {
		t.Errorf("the record's testbed: %+v, receiver %v", record.Testbed, record.Receiver)
	}
	if left := clean(t, dir); !strings.Contains(left, "Nothing to undo.") {
		t.Errorf("a run that ended left something to undo:\n%s", left)
	}
	given(t, before)
}

// The doctor looks at both machines, finds no error, and leaves nothing.
func TestDoctor(t *testing.T) {
	before := both(t)
	dir := filepath.Join(t.TempDir(), "sweep-state")
	s := newSweep(t, dir, "doctor", "--testbed", state+"/testbed.yaml", "--format", "json")
	var out bytes.Buffer
	s.Stdout = &out
	if err := s.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, s.out.String(), out.String())
	}
	var found []doctor.Finding
	if err := json.Unmarshal(out.Bytes(), &found); err != nil {
		t.Fatal(err)
	}
	said := map[string]bool{}
	for _, f := range found {
		t.Log(f.Machine, f)
		said[f.Machine+" "+f.Check] = true
	}
	// What is so on these machines: an emulated CPU, nothing set aside.
	for _, want := range []string{"sender rehearsal-a kvm-absent", "sender rehearsal-a isolcpus", "receiver rehearsal-b nohz_full"} {
		if !said[want] {
			t.Errorf("%s is not found", want)
		}
	}
	clean(t, dir)
	given(t, before)
}

// The NIC that ssh comes by is refused before anything is touched.
func TestOwnNICIsRefused(t *testing.T) {
	before := both(t)
	text, err := os.ReadFile(state + "/testbed.yaml")
	if err != nil {
		t.Fatal(err)
	}
	config, err := filepath.Abs(state + "/ssh_config")
	if err != nil {
		t.Fatal(err)
	}
	own := strings.Replace(string(text), "0000:00:03.0", "0000:00:02.0", 1)
	own = strings.Replace(own, "ssh_config: ssh_config", "ssh_config: "+strconv.Quote(config), 1)
	file := filepath.Join(t.TempDir(), "own.yaml")
	if err := os.WriteFile(file, []byte(own), 0o644); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "sweep-state")
	s := newSweep(t, dir, "--testbed", file, "--systems", "bare/vhost-net", "--sizes", "64", "--results", filepath.Join(t.TempDir(), "results"))
	err = s.Run()
	for _, want := range []string{"0000:00:02.0 is not taken: ", "carries the default route (via 10.0.2.2)", "carries this ssh connection (10.0.2.15/24)", "nic_again"} {
		if err == nil || !strings.Contains(s.out.String(), want) {
			t.Errorf("%v; want %q in\n%s", err, want, s.out.String())
		}
	}
	clean(t, dir)
	given(t, before)
}

// soak is how many times a run is interrupted.
func soak() int {
	n, err := strconv.Atoi(os.Getenv("SWEEP_SOAK"))
	if err != nil {
		return 1
	}
	return n
}

// interrupted starts a run, has it interrupted at a random moment of the time
// that it takes, and cleans.
func interrupted(t *testing.T, interrupt func(t *testing.T, s *sweep)) {
	if testing.Short() {
		t.Skip("short")
	}
	before := both(t)
	for i := range soak() {
		dir := filepath.Join(t.TempDir(), "sweep-state")
		s := run(t, dir, "bare/vhost-net,bare/vhost-user", "--sizes", "64")
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- s.Wait() }()
		after := time.Duration(float64(2*time.Second) + rand.Float64()*float64(60*time.Second))
		select {
		case <-time.After(after):
		case err := <-ended:
			t.Fatalf("it ended before %v: %v\n%s", after, err, s.out.String())
		}
		interrupt(t, s)
		select {
		case err := <-ended:
			t.Logf("%d: interrupted after %.1f s; it ended with %v", i+1, after.Seconds(), err)
		case <-time.After(3 * time.Minute):
			t.Fatalf("it does not end, 3 minutes after it was interrupted\n%s", s.out.String())
		}
		t.Logf("clean: %s", clean(t, dir))
		given(t, before)
	}
}

func TestKilled(t *testing.T) {
	interrupted(t, func(t *testing.T, s *sweep) {
		if err := s.Process.Kill(); err != nil {
			t.Fatal(err)
		}
	})
}

// A cut of the connection: ssh is killed, as a link that goes down would have
// it end.
func TestConnectionCut(t *testing.T) {
	interrupted(t, func(t *testing.T, s *sweep) {
		out, err := exec.CommandContext(t.Context(), "pgrep", "-x", "-P", strconv.Itoa(s.Process.Pid), "ssh").Output()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			t.Fatal(err)
		}
		for _, word := range strings.Fields(string(out)) {
			pid, err := strconv.Atoi(word)
			if err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
	})
}

// A reset of the machine that sends, once its journal has something in it that
// outlives one.
func TestReset(t *testing.T) {
	interrupted(t, func(t *testing.T, s *sweep) {
		const brought = "ls -d /var/tmp/sweep-* /root/.local/state/sweep/*.journal"
		for end := time.Now().Add(time.Minute); ; time.Sleep(200 * time.Millisecond) {
			if out, err := pair.SSH(t.Context(), "a", "sync; "+brought).Output(); err == nil {
				t.Logf("there: %s", bytes.ReplaceAll(bytes.TrimSpace(out), []byte("\n"), []byte(", ")))
				break
			}
			if time.Now().After(end) {
				t.Fatalf("no journalled folder on a\n%s", s.out.String())
			}
		}
		if err := pair.Reset(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		if out, err := pair.SSH(t.Context(), "a", brought).CombinedOutput(); err != nil {
			t.Errorf("nothing outlived the reset: %v\n%s", err, out)
		}
	})
}
