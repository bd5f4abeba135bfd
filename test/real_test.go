//go:build real

// Package test tries the kit with the real programs: testpmd, QEMU, the guest.
// ./test.sh makes them ready and runs it; go test ./... alone leaves it out.
package test

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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/replay"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/tape"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.ChildCommand {
		agent.RunChild()
	}
	os.Exit(m.Run())
}

// kit is a sweep that is run in a folder of its own, and all that it starts is
// marked.
type kit struct {
	t    *testing.T
	dir  string // where it is run
	mark string // NAME=value, in the environment of all that it starts
	env  []string

	program string   // the binary to run
	foreign []string // folders that were there before: another kit's, or left by a killed test
}

func newKit(t *testing.T) *kit {
	t.Helper()
	dir := t.TempDir()
	k := &kit{t: t, dir: dir, program: binary(t), foreign: runFolders(), mark: fmt.Sprintf("SWEEP_TEST_MARK=%s-%d", t.Name(), os.Getpid())}
	k.env = append(os.Environ(), k.mark, "SWEEP_STATE_DIR="+filepath.Join(dir, "sweep-state"))
	return k
}

// binary is the program that prepare.sh built.
func binary(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs("../build/sweep")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("%v: run ./test.sh, or ./prepare.sh first", err)
	}
	return path
}

func (k *kit) command(args ...string) *exec.Cmd {
	cmd := exec.Command(k.program, args...)
	cmd.Dir, cmd.Env = k.dir, k.env
	return cmd
}

// run runs the kit to its end.
func (k *kit) run(args ...string) (stdout, stderr string, code int) {
	k.t.Helper()
	var out, errs bytes.Buffer
	cmd := k.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		k.t.Fatal(err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// started is a run of the kit that goes on.
type started struct {
	*exec.Cmd
	out, errs *lockedBuffer
	ended     chan struct{}
}

func (k *kit) start(args ...string) *started {
	k.t.Helper()
	s := &started{Cmd: k.command(args...), out: &lockedBuffer{}, errs: &lockedBuffer{}, ended: make(chan struct{})}
	s.Stdout, s.Stderr = s.out, s.errs
	if err := s.Start(); err != nil {
		k.t.Fatal(err)
	}
	go func() { s.Wait(); close(s.ended) }()
	k.t.Cleanup(func() { s.Process.Kill(); <-s.ended })
	return s
}

// waitFor waits until the kit has said something.
func (k *kit) waitFor(s *started, text string) {
	k.t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Contains(s.errs.String(), text) {
			return
		}
		select {
		case <-s.ended:
			k.t.Fatalf("it ended before it said %q:\n%s%s", text, s.out, s.errs)
		default:
		}
	}
	k.t.Fatalf("it never said %q:\n%s", text, s.errs)
}

// marked are the processes of this kit, by what they run.
func (k *kit) marked() map[int]string {
	found := map[int]string{}
	paths, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil || !slices.Contains(strings.Split(string(b), "\x00"), k.mark) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(p), "cmdline"))
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
		if len(cmdline) > 0 { // a zombie has none
			found[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
		}
	}
	return found
}

// nothingLeft checks that no process, socket, folder or journal of the kit's
// is left.
func (k *kit) nothingLeft() {
	k.t.Helper()
	for pid, cmd := range k.marked() {
		k.t.Errorf("pid %d is left: %s", pid, cmd)
	}
	for _, dir := range runFolders() {
		if !slices.Contains(k.foreign, dir) {
			k.t.Errorf("left: %v", dir)
		}
	}
	if _, err := os.Stat(filepath.Join(k.dir, "sweep-state")); !errors.Is(err, os.ErrNotExist) {
		k.t.Errorf("a journal is left: %v", err)
	}
	unix, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		k.t.Fatal(err)
	}
	for _, line := range strings.Split(string(unix), "\n") {
		if strings.Contains(line, "@sweep-run") ||
			regexp.MustCompile(`/tmp/sweep-[0-9a-f]`).MatchString(line) &&
				!slices.ContainsFunc(k.foreign, func(dir string) bool { return strings.Contains(line, dir+"/") }) {
			k.t.Errorf("a socket is left: %s", line)
		}
	}
}

// runFolders are the folders of runs on this machine, whoever made them.
func runFolders() []string {
	dirs, _ := filepath.Glob("/tmp/sweep-[0-9a-f]*")
	return dirs
}

type output struct {
	Points []struct {
		System   string   `json:"system"`
		Size     int      `json:"size"`
		RxPps    *float64 `json:"rx_pps"`
		Trials   int      `json:"trials"`
		Warnings []string `json:"warnings"`
	} `json:"points"`
}

func (k *kit) load(dir string) []results.Trial {
	k.t.Helper()
	_, trials, problems, err := results.Load(filepath.Join(k.dir, dir))
	if err != nil || len(problems) > 0 {
		k.t.Fatalf("the record: %v, %v", problems, err)
	}
	return trials
}

// dpdk is the system that most tests run: its guest takes the longest to boot
// and has the most to say.
const dpdk = "linux-dpdk/vhost-user"

// checkTrials checks what must hold of every trial of a folder that gave a rate,
// and wants all of them to have given one, but for those that were unsteady: on a
// machine that others use, too, some are.
func (k *kit) checkTrials(dir string) {
	k.t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(k.dir, dir)
	}
	_, trials, _, err := results.Load(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	tapes, _, err := results.LoadTapes(dir)
	if err != nil {
		k.t.Fatal(err)
	}
	for _, t := range trials {
		if t.Unsteady() {
			k.t.Logf("%s %d B: %s", t.System, t.Size, t.Error)
			continue
		}
		if t.Error != "" {
			k.t.Errorf("%s %d B failed: %s\n%s", t.System, t.Size, t.Error, strings.Join(t.Console, "\n"))
			continue
		}
		l := t.Ledger
		if t.RxPps <= 0 || t.BytesPerPacket != float64(t.Size) || l.ClientBytes != l.ClientReceived*uint64(t.Size) {
			k.t.Errorf("%s %d B: %v packets/s of %v B", t.System, t.Size, t.RxPps, t.BytesPerPacket)
		}
		again := rate(tapes, t.Trial)
		if again != t.RxPps {
			k.t.Errorf("%s %d B: the record's counters make %v packets/s, it says %v", t.System, t.Size, again, t.RxPps)
		}
		k.t.Logf("%s %d B: %.0f packets/s; guest sent %d, server received %d, sent %d and dropped %d, client received %d",
			t.System, t.Size, t.RxPps, l.GuestSent, l.ServerReceived, l.ServerSent, l.ServerDropped, l.ClientReceived)
	}
}

// replays checks that every number of a folder follows from its tape.
func (k *kit) replays(dir string) {
	k.t.Helper()
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(k.dir, dir)
	}
	if o, err := replay.Run(dir); err != nil || len(o.Differences) > 0 || o.Trials == 0 {
		k.t.Errorf("replay: %+v, %v", o, err)
	}
}

// rate works a trial's rate out from the client's counters at the two ends of
// the window.
func rate(tapes []*tape.Tape, t plan.Trial) float64 {
	for _, recorded := range tapes {
		if recorded.Trial != t {
			continue
		}
		var ends []sample.Port
		for _, l := range recorded.Looks {
			if l.Phase == "window" {
				ends = append(ends, l.Client)
			}
		}
		first, last := ends[0], ends[len(ends)-1]
		middle := func(p sample.Port) int64 { return int64(p.Before) + int64(p.After-p.Before)/2 }
		return float64(last.RxPackets-first.RxPackets) / (float64(middle(last)-middle(first)) / 1e9)
	}
	return 0
}

// runSteady runs the kit with results in r, again where a rate was unsteady: on a
// machine that others use, too, that happens.
func (k *kit) runSteady(args ...string) (stdout, stderr string, code int) {
	k.t.Helper()
	for range 4 {
		stdout, stderr, code = k.run(append(args, "--results", "r")...)
		unsteady := false
		for _, t := range k.load("r") {
			unsteady = unsteady || t.Unsteady()
		}
		if !unsteady {
			break
		}
		k.t.Logf("once more:\n%s", stderr)
		if err := os.RemoveAll(filepath.Join(k.dir, "r")); err != nil {
			k.t.Fatal(err)
		}
	}
	return stdout, stderr, code
}

func TestSweep(t *testing.T) {
	k := newKit(t)
	stdout, stderr, code := k.runSteady("--systems", dpdk, "--sizes", "64,1500", "--duration", "2s", "--format", "json")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	var got output
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v in %s", err, stdout)
	}
	if len(got.Points) != 2 {
		t.Fatalf("%d points: %s", len(got.Points), stdout)
	}
	for i, size := range []int{64, 1500} {
		p := got.Points[i]
		if p.System != "linux-dpdk/vhost-user" || p.Size != size || p.RxPps == nil || *p.RxPps <= 0 || p.Trials != 1 {
			t.Errorf("point %+v", p)
		}
	}
	if trials := k.load("r"); len(trials) != 2 {
		t.Fatalf("%d trials in the record", len(trials))
	}
	k.checkTrials("r")
	k.replays("r")
	for _, file := range []string{"run.json", "commands.sh", "console/001-linux-dpdk-vhost-user-server.log",
		"console/001-linux-dpdk-vhost-user-client.log", "console/001-linux-dpdk-vhost-user-guest.log"} {
		if st, err := os.Stat(filepath.Join(k.dir, "r", file)); err != nil || st.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	csv, err := os.ReadFile(filepath.Join(k.dir, "r", "linux-dpdk-vhost-user.csv"))
	if err != nil || !regexp.MustCompile(`^packetsize\trx\n64\t\d+\.\d{6}\n1500\t\d+\.\d{6}\n$`).Match(csv) {
		t.Errorf("the published format: %q, %v", csv, err)
	}
	// The report, from the files alone, in another place.
	if err := os.Rename(filepath.Join(k.dir, "r"), filepath.Join(k.dir, "moved")); err != nil {
		t.Fatal(err)
	}
	again, _, code := k.run("report", "moved", "--format", "json")
	if code != 0 || again != stdout {
		t.Errorf("report: exit code %d, %s", code, again)
	}
	table, _, code := k.run("report", "moved")
	if code != 0 || !strings.Contains(table, "linux-dpdk/vhost-user") || !strings.Contains(table, "One boot: no verdict") {
		t.Errorf("report: exit code %d\n%s", code, table)
	}
	t.Logf("\n%s", table)
	if out, err := exec.Command("sh", "-n", filepath.Join(k.dir, "moved", "commands.sh")).CombinedOutput(); err != nil {
		t.Errorf("commands.sh is no shell script: %s", out)
	}
	k.nothingLeft()
}

func TestVeth(t *testing.T) {
	k := newKit(t)
	stdout, stderr, code := k.run("--systems", dpdk, "--sizes", "64,1514", "--duration", "2s", "--results", "r", "--wire", "veth")
	if code != 0 {
		t.Fatalf("exit code %d\n%s%s", code, stdout, stderr)
	}
	k.checkTrials("r")
	k.replays("r")
	k.nothingLeft()
}

// As somebody who is not root, without a home.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Log("this is an ordinary user: the other tests show it")
		return
	}
	k := newKit(t)
	// The test's folders are root's: the user gets one, and a copy of the kit.
	dir, err := os.MkdirTemp("/tmp", "kit-user-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, args := range [][]string{
		{"cp", "-r", filepath.Dir(binary(t)) + "/sweep", filepath.Dir(binary(t)) + "/linux-dpdk", dir},
		{"chown", "-R", "nobody:nogroup", dir}, {"chmod", "755", dir},
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", args, out)
		}
	}
	for _, wire := range []string{"memif", "veth"} {
		cmd := exec.Command("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
			dir+"/sweep", "--systems", dpdk, "--sizes", "64", "--duration", "1s", "--results", dir+"/"+wire, "--wire", wire)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", k.mark}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", wire, err, out)
			continue
		}
		k.checkTrials(dir + "/" + wire)
		k.replays(dir + "/" + wire)
	}
	k.nothingLeft()
}

func TestCtrlC(t *testing.T) {
	k := newKit(t)
	s := k.start("--systems", dpdk, "--sizes", "64,128,256", "--duration", "2s", "--results", "r")
	k.waitFor(s, " B: ")
	time.Sleep(700 * time.Millisecond) // into the second size
	if err := s.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	<-s.ended
	if code := s.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d\n%s%s", code, s.out, s.errs)
	}
	if !strings.HasSuffix(strings.TrimSpace(s.errs.String()), "sweep: interrupted") {
		t.Errorf("its last word is not that it was interrupted:\n%s", s.errs)
	}
	trials := k.load("r")
	if len(trials) == 0 || trials[0].RxPps <= 0 {
		t.Errorf("the trial that had ended is not kept: %+v", trials)
	}
	if !strings.Contains(s.out.String(), "linux-dpdk/vhost-user") {
		t.Errorf("no table of what was measured:\n%s", s.out)
	}
	k.nothingLeft()
}

// While it boots, too, and while it tries KVM.
func TestCtrlCEarly(t *testing.T) {
	for _, wait := range []time.Duration{0, 300 * time.Millisecond, 2 * time.Second} {
		k := newKit(t)
		s := k.start("--systems", dpdk, "--results", "r")
		k.waitFor(s, "results go to")
		time.Sleep(wait)
		if err := s.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		<-s.ended
		if code := s.ProcessState.ExitCode(); code != 130 {
			t.Errorf("after %v: exit code %d\n%s%s", wait, code, s.out, s.errs)
		}
		k.nothingLeft()
	}
}

func TestSecondSweepIsRefused(t *testing.T) {
	k := newKit(t)
	s := k.start("--systems", dpdk, "--sizes", "64", "--results", "r")
	k.waitFor(s, "comes up")
	stdout, stderr, code := k.run("--systems", dpdk, "--sizes", "64", "--results", "second")
	want := fmt.Sprintf("another sweep is running on this machine (pid %d)", s.Process.Pid)
	if code != 3 || !strings.Contains(stderr, want) || stdout != "" {
		t.Errorf("exit code %d, %q; want 3 and %q", code, stderr, want)
	}
	if _, err := os.Stat(filepath.Join(k.dir, "second")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the run that was refused made a folder")
	}
	// clean leaves the one that lives alone.
	if out, _, code := k.run("clean"); code != 0 || !strings.Contains(out, "left alone") {
		t.Errorf("clean beside a run: exit code %d, %q", code, out)
	}
	s.Process.Signal(os.Interrupt)
	<-s.ended
	k.nothingLeft()
}

func TestForeignPollerIsNamed(t *testing.T) {
	k := newKit(t)
	var pollers []*exec.Cmd
	for cpu := range 2 {
		c := exec.Command("taskset", "-c", strconv.Itoa(cpu), "sh", "-c", "while :; do :; done")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		pollers = append(pollers, c)
		defer func() { c.Process.Kill(); c.Wait() }()
	}
	_, stderr, code := k.run("--systems", dpdk, "--sizes", "64", "--duration", "1s", "--results", "r")
	if code != 0 {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, c := range pollers {
		want := fmt.Sprintf("sh (pid %d), a process that is none of this run's", c.Process.Pid)
		if !strings.Contains(stderr, want) {
			t.Errorf("%q is not in\n%s", want, stderr)
		}
		table, _, _ := k.run("report", "r")
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
}

func TestWrongUsage(t *testing.T) {
	k := newKit(t)
	for _, tt := range []struct {
		args string
		code int
		want []string
	}{
		{"--sizes 41,1515", 2, []string{"41 is too short", "1515 is too long"}},
		{"--sizes 64-1500", 2, []string{"without a step"}},
		{"--systems freebsd/vhost-user --unikraft-image no/such --guest x --kernel-sender y --memory 1", 2,
			[]string{"no/such", "NAME=KERNEL", `"y"`, "--memory 1"}},
		{"cost --sizes 41 --boots 1 --format xml", 2, []string{"41 is too short", "--boots 1", `"xml"`}},
		{"--systems freebsd/vhost-user", 2, []string{`"freebsd/vhost-user" is unknown`, "linux-dpdk/vhost-user"}},
		{"--sizes x --trials 0 --duration 1ms --format xml --wire string", 2, []string{`"x"`, "--trials 0", "--duration 1ms", `"xml"`, `"string"`}},
		{"--no-such-flag", 2, []string{"--no-such-flag", "--help"}},
		{"no-such-command", 2, []string{"no-such-command", "--help"}},
		{"--duration soon", 2, []string{"soon"}},
		{"report", 2, []string{"arg"}},
		{"report no/such/folder", 2, []string{"no/such/folder", "holds no run"}},
		{"--systems unikraft/vhost-net", 3, []string{"nothing can run", "unikraft/vhost-net"}},
		{"--systems linux-dpdk/vhost-user,linux-dpdk/vhost-net", 3, []string{"linux-dpdk/vhost-net"}},
	} {
		stdout, stderr, code := k.run(strings.Fields(tt.args)...)
		if code != tt.code || stdout != "" {
			t.Errorf("sweep %s: exit code %d, want %d; it printed %q", tt.args, code, tt.code, stdout)
		}
		for _, w := range tt.want {
			if !strings.Contains(stderr, w) {
				t.Errorf("sweep %s: %q; want %q in it", tt.args, stderr, w)
			}
		}
	}
	if left, _ := os.ReadDir(k.dir); len(left) > 0 {
		t.Errorf("wrong usage left %v", left)
	}
	k.nothingLeft()
}

// A part that is missing is named, with the way to get it.
func TestMissingParts(t *testing.T) {
	k := newKit(t)
	// A PATH with all but testpmd.
	bin := t.TempDir()
	for _, program := range []string{"qemu-system-x86_64", "sh"} {
		path, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(path, filepath.Join(bin, program)); err != nil {
			t.Fatal(err)
		}
	}
	k.env = append(k.env, "PATH="+bin)
	_, stderr, code := k.run("--sizes", "64")
	if code != 3 || !strings.Contains(stderr, "linux-dpdk/vhost-user: dpdk-testpmd is not installed; ./prepare.sh installs it") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
	k.nothingLeft()
}

// What --dry-run prints is what runs.
func TestDryRun(t *testing.T) {
	k := newKit(t)
	stdout, stderr, code := k.run("--sizes", "64,128", "--dry-run")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	for _, want := range []string{"dpdk-testpmd", "qemu-system-x86_64", "set txpkts 128", "mkdir -m 700 "} {
		if !strings.Contains(stdout, want) {
			t.Errorf("%q is not in\n%s", want, stdout)
		}
	}
	check := exec.Command("sh", "-n")
	check.Stdin = strings.NewReader(stdout)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("a shell can't read it: %s", out)
	}
	k.nothingLeft()
	if left, _ := os.ReadDir(k.dir); len(left) > 0 {
		t.Errorf("a dry run left %v", left)
	}
}

// kill -9 of the kit and all that it started, at a random moment: clean gives
// everything back, what isn't the kit's lives on, and what was measured is
// kept. SWEEP_SOAK is how often.
func TestKill9(t *testing.T) {
	times := 1
	if s := os.Getenv("SWEEP_SOAK"); s != "" {
		var err error
		if times, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	foreign := foreigners(t)
	for i := range times {
		k := newKit(t)
		wire := []string{"memif", "veth"}[i%2]
		s := k.start("--systems", dpdk, "--sizes", "64,1500", "--duration", "1s", "--trials", "2", "--results", "r", "--wire", wire)
		k.waitFor(s, "results go to")
		moment := time.Duration(rand.Int64N(int64(20 * time.Second)))
		select {
		case <-time.After(moment):
		case <-s.ended:
		}
		told := strings.Count(s.errs.String(), " Mpps")
		// The kit first: whatever dies after it must not be told by it.
		s.Process.Kill()
		<-s.ended
		for pid := range k.marked() {
			syscall.Kill(pid, syscall.SIGKILL)
		}
		out, errs, code := k.run("clean")
		if code != 0 {
			t.Errorf("clean: exit code %d\n%s%s", code, out, errs)
		}
		k.nothingLeft()
		for _, f := range foreign {
			if !f.Alive() {
				t.Fatalf("a process that is none of the kit's was killed")
			}
		}
		if kept := len(k.load("r")); kept < told {
			t.Errorf("%d trials had ended, %d are in the record", told, kept)
		} else {
			t.Logf("killed after %v over %s: %d trials had ended, %d are in the record; clean: %s", moment.Round(time.Millisecond), wire, told, kept, strings.TrimSpace(out))
		}
		if again, _, code := k.run("clean"); code != 0 || !strings.Contains(again, "Nothing to undo") {
			t.Errorf("clean again: exit code %d, %s", code, again)
		}
		k.resumes("r", 4)
	}
}

// resumes goes on with a run that ended early, and checks that no trial was lost
// and none is there twice.
func (k *kit) resumes(dir string, planned int) {
	k.t.Helper()
	before := k.load(dir)
	out, errs, code := k.run("--resume", dir)
	if code != 0 {
		k.t.Errorf("resume: exit code %d\n%s%s", code, out, errs)
	}
	after := k.load(dir)
	seen := map[plan.Trial]bool{}
	for _, t := range after {
		if seen[t.Trial] {
			k.t.Errorf("twice: %+v", t.Trial)
		}
		seen[t.Trial] = true
	}
	if len(seen) != planned {
		k.t.Errorf("%d of %d trials after it was resumed", len(seen), planned)
	}
	if d := cmp.Diff(before, after[:len(before)], cmpopts.EquateEmpty()); d != "" {
		k.t.Errorf("what had been measured is not the same after (-before +after):\n%s", d)
	}
	k.replays(dir)
	k.nothingLeft()
	k.t.Logf("resumed: %d trials were there, %d are there now", len(before), len(after))
}

// A run is resumed only as the run that it was.
func TestResumeRefused(t *testing.T) {
	k := newKit(t)
	s := k.start("--systems", "bare/vhost-user", "--sizes", "64,1500", "--duration", "1s", "--results", "r")
	k.waitFor(s, " B: ")
	s.Process.Signal(os.Interrupt)
	<-s.ended
	record := filepath.Join(k.dir, "r", "run.json")
	was, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs, code := k.run("--resume", "r", "--sizes", "64"); code != 2 || !strings.Contains(errs, "--sizes beside --resume") {
		t.Errorf("with another plan: exit code %d, %s", code, errs)
	}
	for _, change := range [][2]string{{`"cpus": `, `"cpus": 1`}, {`"duration_ns": 1000000000`, `"duration_ns": 2000000000`}} {
		other := strings.Replace(string(was), change[0], change[1], 1)
		if other == string(was) {
			t.Fatalf("%s is not in %s", change[0], was)
		}
		if err := os.WriteFile(record, []byte(other), 0o644); err != nil {
			t.Fatal(err)
		}
		_, errs, code := k.run("--resume", "r")
		if code != 2 || !strings.Contains(errs, "can't be resumed") || !strings.Contains(errs, strings.Trim(strings.Split(change[0], ":")[0], `" `)) {
			t.Errorf("%s: exit code %d, %s", change[1], code, errs)
		}
	}
	if err := os.WriteFile(record, was, 0o644); err != nil {
		t.Fatal(err)
	}
	k.resumes("r", 2)
}

// kill -9 of the kit alone: its processes must not poll on until somebody
// cleans.
func TestKill9OfTheKitAlone(t *testing.T) {
	k := newKit(t)
	s := k.start("--systems", dpdk, "--sizes", "64", "--results", "r")
	k.waitFor(s, "comes up")
	time.Sleep(8 * time.Second)
	s.Process.Kill()
	<-s.ended
	for end := time.Now().Add(3 * time.Second); len(k.marked()) > 0 && time.Now().Before(end); {
		time.Sleep(20 * time.Millisecond)
	}
	if left := k.marked(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if out, _, code := k.run("clean"); code != 0 {
		t.Errorf("clean: exit code %d, %s", code, out)
	}
	k.nothingLeft()
}

// foreigners are a testpmd and a QEMU that run beside and are none of the
// kit's.
func foreigners(t *testing.T) []agent.Identity {
	t.Helper()
	j, err := agent.OpenJournal(filepath.Join(t.TempDir(), "foreign"), "")
	if err != nil {
		t.Fatal(err)
	}
	a := agent.NewLocal(j)
	t.Cleanup(func() { a.Close(context.Background()) })
	dir := t.TempDir()
	var ids []agent.Identity
	for _, argv := range [][]string{
		{"dpdk-testpmd", "--lcores", "0@(0,1),1@(0,1)", "--no-huge", "-m", "64", "--no-pci", "--no-shconf", "--file-prefix", "foreign",
			"--vdev", "net_null0", "--", "--interactive", "--total-num-mbufs=2048"},
		{"qemu-system-x86_64", "-name", "sweep-guest", "-S", "-nodefaults", "-display", "none", "-m", "64M"},
	} {
		p, err := a.Start(context.Background(), agent.Spec{Name: "foreign", Argv: argv, Env: []string{"RUNTIME_DIRECTORY=" + dir}})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			for range p.Output() {
			}
		}()
		ids = append(ids, p.Identity())
	}
	time.Sleep(time.Second)
	for _, id := range ids {
		if !id.Alive() {
			t.Fatal("a foreign process did not start")
		}
	}
	return ids
}
