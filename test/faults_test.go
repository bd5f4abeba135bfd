//go:build real

package test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sweep/internal/audit"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/systems"
	"sweep/internal/testbed"
)

// found checks that the only trial of a folder has a finding of a kind, in these
// words, and whether that voids it.
func (k *kit) found(kind audit.Kind, void bool, words ...string) {
	k.t.Helper()
	trials := k.load("r")
	if len(trials) != 1 {
		k.t.Fatalf("%d trials", len(trials))
	}
	t := trials[0]
	k.t.Logf("%s %d B: %.0f packets/s %s", t.System, t.Size, t.RxPps, t.Error)
	i := slices.IndexFunc(t.Findings, func(f audit.Finding) bool { return f.Kind == kind })
	if i < 0 {
		k.t.Fatalf("no finding is %s: %+v", kind, t.Findings)
	}
	if f := t.Findings[i]; f.Void != void {
		k.t.Errorf("%+v; void is to be %v", f, void)
	}
	for _, w := range words {
		if !strings.Contains(t.Findings[i].Text, w) {
			k.t.Errorf("%q is not in %q", w, t.Findings[i].Text)
		}
	}
	if void && t.RxPps != 0 {
		k.t.Errorf("a trial that is void has a rate, %v", t.RxPps)
	}
	// No luck: of what makes a trial void nothing else was found, but for what
	// the same fault does to the rate.
	for _, f := range t.Findings {
		same := f.Kind == kind || f.Kind == audit.Unsteady ||
			kind == audit.Still && f.Kind == audit.Lost // what never arrived is missing, too
		if f.Void && !same {
			k.t.Errorf("found besides: %+v", f)
		}
	}
	k.replays("r")
	k.nothingLeft()
}

// What goes wrong with a process in the middle of a window.
func TestPlantedInTheMiddle(t *testing.T) {
	const pause = 300 * time.Millisecond
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, k *kit)
		kind audit.Kind
		void bool
		says []string
	}{
		{"a client that is paused", func(t *testing.T, k *kit) { k.pause("sweep-client", pause) }, audit.Paused, true, []string{"the client stood still for", "it neither ran nor waited for a CPU"}},
		{"a machine that is paused", func(t *testing.T, k *kit) { k.pause("sweep-guest", pause) }, audit.Paused, true, []string{"the guest stood still for", "because a signal had stopped it"}},
		{"a foreign load", func(t *testing.T, k *kit) { burn(t) }, audit.Foreign, false, []string{"a process that is none of this run's, was busy on a CPU that this run polls on"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k := newKit(t)
			s := k.start("--systems", "bare/vhost-user", "--sizes", "64", "--duration", "5s", "--results", "r")
			k.inWindow()
			tt.do(t, k)
			<-s.ended
			k.found(tt.kind, tt.void, tt.says...)
		})
	}
}

// inWindow waits until the first trial's window has been open for a second.
func (k *kit) inWindow() {
	k.t.Helper()
	tape := filepath.Join(k.dir, "r", "tape.jsonl")
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if b, err := os.ReadFile(tape); err == nil && strings.Count(string(b), `"phase":"window"`) > 10 {
			return
		}
	}
	k.t.Fatal("there was no window")
}

// pause stops a process of the kit's for some time.
func (k *kit) pause(name string, d time.Duration) {
	k.t.Helper()
	for pid, cmdline := range k.marked() {
		if strings.Contains(cmdline, name) {
			syscall.Kill(pid, syscall.SIGSTOP)
			time.Sleep(d)
			syscall.Kill(pid, syscall.SIGCONT)
			return
		}
	}
	k.t.Fatalf("there is no %s among %v", name, k.marked())
}

// A guest that sends elsewhere.
func TestPlantedAddress(t *testing.T) {
	k := newKit(t)
	if _, stderr, code := k.run("--guest", "astray="+filepath.Join(filepath.Dir(binary(t)), "bare/bare.elf")+",,sweep.peer=02:00:00:00:00:99",
		"--systems", "astray/vhost-user", "--sizes", "64", "--duration", "1s", "--results", "r"); code != 0 {
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	k.found(audit.Address, false, "the guest sends to 02:00:00:00:00:99, not to 02:00:00:00:00:00")
}

// quiet is a run's user interface for which nobody looks.
type quiet struct{ t *testing.T }

func (q quiet) Warn(line string)                          { q.t.Log(line) }
func (q quiet) Say(line string)                           { q.t.Log(line) }
func (q quiet) Progress(plan.Plan) (run.Progress, func()) { return q, func() {} }
func (quiet) Counting(plan.Plan) run.CostProgress         { return nil }
func (quiet) Booting(plan.Boot)                           {}
func (quiet) Measuring(plan.Trial)                        {}
func (quiet) Rate(plan.Trial, float64)                    {}
func (quiet) Ended(results.Trial)                         {}
func (quiet) Block(int, []string)                         {}

// A size that testpmd refuses: the command line would have refused it before.
func TestPlantedSize(t *testing.T) {
	k := newKit(t)
	t.Setenv("SWEEP_STATE_DIR", filepath.Join(k.dir, "sweep-state"))
	wire, err := testbed.NewWire("memif", os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	_, err = run.Run(context.Background(), run.Options{
		Version: "test", Command: []string{"test"}, Wire: wire, Results: filepath.Join(k.dir, "r"),
		Catalog: systems.Catalog{Build: filepath.Dir(binary(t)), KernelSender: linux.Senders()[0], MemoryMiB: guest.MemoryMiB},
		Plan: plan.Plan{
			Sizes: []int{3000}, Systems: []plan.System{{Guest: linux.Name, Attachment: "vhost-user"}},
			Trials: 1, Duration: time.Second, Wire: "memif", Seed: 1,
		},
	}, quiet{t})
	if err != nil {
		t.Fatal(err)
	}
	k.found(audit.Refused, true, `testpmd refused "set txpkts 3000"`)
}
