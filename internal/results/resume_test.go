package results

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/plan"
	"sweep/internal/tape"
)

// A kit that is killed in the middle of a line leaves its beginning. The lines
// before it are kept, and the next one begins where that one did.
func TestReopen(t *testing.T) {
	f := create(t)
	for _, x := range []Trial{trial(64, 1, 1e6, ""), trial(1500, 1, 2e6, "")} {
		if err := f.Append(x); err != nil {
			t.Fatal(err)
		}
	}
	f.Close()
	path := filepath.Join(f.Path(), trialsFile)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(whole, []byte(`{"system":"linux-dpdk/vhost-user","boo`)...), 0o644); err != nil {
		t.Fatal(err)
	}
	g, run, err := Reopen(f.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	if run.Kit != "test" || len(g.Trials()) != 2 || g.Trials()[1].Size != 1500 {
		t.Errorf("reopened %+v with %+v", run, g.Trials())
	}
	if err := g.Append(trial(64, 2, 3e6, "")); err != nil {
		t.Fatal(err)
	}
	_, trials, problems, err := Load(f.Path())
	if err != nil || len(problems) > 0 || len(trials) != 3 || trials[2].RxPps != 3e6 {
		t.Errorf("%d trials, %v, %v", len(trials), problems, err)
	}
	csv, err := os.ReadFile(filepath.Join(f.Path(), "linux-dpdk-vhost-user.csv"))
	if err != nil || !strings.Contains(string(csv), "64\t2.000000\n1500\t2.000000\n") {
		t.Errorf("%q, %v", csv, err)
	}

	// Damage in the middle is nothing that a resumption may pass over.
	if err := os.WriteFile(path, []byte("{\n"+string(whole)), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Reopen(f.Path()); err == nil || !strings.Contains(err.Error(), "trials.jsonl:1:") {
		t.Errorf("Reopen of a damaged run: %v", err)
	}
	if _, _, err := Reopen(t.TempDir()); err == nil {
		t.Error("an empty folder can be resumed")
	}
}

func TestChanges(t *testing.T) {
	was := Run{
		Kit: "v1", Plan: plan.Plan{Sizes: []int{64}, Trials: 7, Seed: 3},
		Images:  map[string]Image{"bare": {Kernel: "k", KernelSHA256: "aa"}},
		Machine: Machine{CPU: "x", Kernel: "6.1", Load: "0.1", Mitigations: map[string]string{"mds": "Not affected"}},
	}
	now := was
	now.Machine.Load = "9.0" // no change: it is another each time
	if got := Changes(was, now); got != nil {
		t.Errorf("changes %q", got)
	}
	now.Plan.Sizes = []int{64, 128}
	now.Machine.Kernel = "6.2"
	now.Machine.Mitigations = map[string]string{}
	now.Images = map[string]Image{"bare": {Kernel: "k", KernelSHA256: "bb"}}
	want := []string{
		`images.bare.kernel_sha256: it was "aa", it is "bb"`,
		`machine.kernel: it was "6.1", it is "6.2"`,
		`machine.mitigations.mds: it was "Not affected", it is not there`,
		`plan.sizes: it was [64], it is [64,128]`,
	}
	if got := Changes(was, now); !reflect.DeepEqual(got, want) {
		t.Errorf("changes %q; want %q", got, want)
	}
}

func TestConsoleTimes(t *testing.T) {
	f := create(t)
	for range 2 { // a resumed boot has transcripts of the same names
		w, err := f.Console("001-x")
		if err != nil {
			t.Fatal(err)
		}
		r := w.(console.Recorder)
		for i, text := range []string{"one", "three"} {
			if err := r.Record(agent.Chunk{Time: agent.Time(100 * (i + 1)), Data: []byte(text)}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, name := range []string{"001-x", "001-x.2"} {
		log, err := os.ReadFile(filepath.Join(f.Path(), consoleDir, name+".log"))
		if err != nil || string(log) != "onethree" {
			t.Errorf("%s: %q, %v", name, log, err)
		}
		times, err := os.ReadFile(filepath.Join(f.Path(), consoleDir, name+".times"))
		if err != nil || string(times) != "3 100\n8 200\n" {
			t.Errorf("%s: %q, %v", name, times, err)
		}
	}
}

// The tape of a trial that was interrupted and measured again is the second.
func TestTapes(t *testing.T) {
	f := create(t)
	add := func(l tape.Line) {
		l.Boot, l.Size = 1, 64
		if err := f.Record(l); err != nil {
			t.Fatal(err)
		}
	}
	add(tape.Line{Begin: true})
	add(tape.Line{Look: &tape.Look{Phase: tape.Idle}})
	add(tape.Line{Begin: true})
	add(tape.Line{Look: &tape.Look{Phase: tape.WarmUp}})
	add(tape.Line{Look: &tape.Look{Phase: tape.Window}})
	add(tape.Line{Whole: &tape.Tape{Trial: plan.Trial{Boot: 1, Size: 64}, Driver: "net_memif"}})
	got, problems, err := LoadTapes(f.Path())
	if err != nil || len(problems) > 0 || len(got) != 1 || len(got[0].Looks) != 2 || got[0].Looks[0].Phase != tape.WarmUp || got[0].Driver != "net_memif" {
		t.Errorf("%+v, %q, %v", got, problems, err)
	}
}
