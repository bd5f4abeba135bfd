package progress

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"sweep/internal/plan"
	"sweep/internal/run"
)

var update = flag.Bool("update", false, "write the golden files anew, to be read before they are committed")

// golden compares with a file in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", path, d)
	}
}

// ticking is a clock that a test sets.
type ticking struct{ now time.Time }

func (c *ticking) after(d time.Duration) { c.now = c.now.Add(d) }

// play carries a plan out: a boot comes up in 3 s, a trial takes 7 s and gives
// a million packets a second for each of its block's number; linux-kernel's
// second boot never comes up. wide are the points that are too wide after each
// block.
func play(prog run.Progress, c *ticking, p plan.Plan, wide [][]string) {
	for i, points := range wide {
		for _, b := range p.Block(i + 1) {
			prog.Booting(b)
			c.after(3 * time.Second)
			for _, t := range b.Trials {
				if b.System == kernel && b.Round == 2 {
					prog.Ended(failed(t, "the guest is not ready after 3m0s"))
					continue
				}
				prog.Measuring(t)
				c.after(7 * time.Second)
				prog.Rate(t, 1e6)
				prog.Ended(ended(t, float64(i+1)*1e6))
			}
		}
		prog.Block(i+1, points)
	}
}

func TestLines(t *testing.T) {
	precise := twoByTwo(7)
	precise.Precision, precise.MaxTrials = 0.01, 9
	narrow := []string(nil)
	both := []string{"bare/vhost-user 64 B", "linux-kernel/vhost-user 1500 B"}
	for name, tt := range map[string]struct {
		plan  plan.Plan
		wide  [][]string
		quiet bool
	}{
		"one":     {twoByTwo(1), make([][]string, 1), false},
		"two":     {twoByTwo(2), make([][]string, 2), false},
		"quiet":   {twoByTwo(2), make([][]string, 2), true},
		"reached": {precise, [][]string{both, both, both, narrow, both, both, both, narrow}, false},
		"missed":  {precise, [][]string{both, both, both, narrow, both, both, both, both[:1], both}, true},
	} {
		var out bytes.Buffer
		c := &ticking{began}
		screen := &Screen{out: &out, now: func() time.Time { return c.now }}
		prog, done := screen.Begin(tt.plan, tt.quiet)
		play(prog, c, tt.plan, tt.wide)
		done()
		golden(t, name+".txt", out.String())
	}
}

// A run that is resumed: what the earlier one measured is in the table, and in
// none of the lines on what this one took.
func TestResumedLines(t *testing.T) {
	p := twoByTwo(2)
	for name, quiet := range map[string]bool{"resumed": false, "resumed-quiet": true} {
		var out bytes.Buffer
		c := &ticking{began}
		screen := &Screen{out: &out, now: func() time.Time { return c.now }}
		prog, done := screen.Begin(p, quiet)
		blocks := [][]plan.Boot{p.Block(1), p.Block(2)}
		for _, b := range blocks[0] {
			prog.Ended(ended(b.Trials[0], 1e6))
			prog.Ended(failed(b.Trials[1], "the guest is not ready after 3m0s"))
		}
		first := &blocks[1][0]
		prog.Ended(ended(first.Trials[0], 1e6))
		first.Trials = first.Trials[1:]
		prog.Block(1, nil)
		for _, b := range blocks[1] {
			prog.Booting(b)
			c.after(3 * time.Second)
			for _, t := range b.Trials {
				prog.Measuring(t)
				c.after(7 * time.Second)
				prog.Ended(ended(t, 2e6))
			}
		}
		prog.Block(2, nil)
		done()
		golden(t, name+".txt", out.String())
	}
}

// Where all of a run is there already nothing takes any time. What its precision
// came to is said once.
func TestNothingLeft(t *testing.T) {
	p := twoByTwo(2)
	p.Precision, p.MaxTrials = 0.01, 3
	var out bytes.Buffer
	screen := &Screen{out: &out, now: func() time.Time { return began }}
	prog, done := screen.Begin(p, false)
	for round := 1; round <= 3; round++ {
		for _, b := range p.Block(round) {
			for _, trial := range b.Trials {
				prog.Ended(ended(trial, 1e6))
			}
		}
	}
	for round := 1; round <= 3; round++ {
		prog.Block(round, []string{"bare/vhost-user 64 B"})
	}
	done()
	want := "sweep: warning: after 3 blocks, the most that were allowed, not within 1%: 1 of 4 points (bare/vhost-user 64 B)\n" +
		"sweep: nothing was left to measure: 12 trials there already\n"
	if got := out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}
