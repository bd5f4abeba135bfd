package progress

import (
	"testing"
	"time"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
)

var (
	began  = time.Date(2026, 12, 1, 14, 30, 0, 0, time.UTC)
	bare   = plan.System{Guest: "bare", Attachment: "vhost-user"}
	kernel = plan.System{Guest: "linux-kernel", Attachment: "vhost-user"}
)

// at is so many seconds after the beginning.
func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// twoByTwo is two systems at two sizes of 5 s. A trial is expected to take
// 6.5 s, a boot 2 s more for bare and 5 s more for linux-kernel: a block of it
// 33 s.
func twoByTwo(blocks int) plan.Plan {
	return plan.Plan{Sizes: []int{1500, 64}, Systems: []plan.System{bare, kernel}, Trials: blocks, Duration: 5 * time.Second, Seed: 2}
}

func ended(t plan.Trial, pps float64) results.Trial { return results.Trial{Trial: t, RxPps: pps} }

func failed(t plan.Trial, why string) results.Trial { return results.Trial{Trial: t, Error: why} }

func wantLeft(t *testing.T, s *State, seconds, want float64) {
	t.Helper()
	if got := s.Left(at(seconds)); got != time.Duration(want*float64(time.Second)) {
		t.Errorf("after %v s: %v left; want %v s", seconds, got, want)
	}
}

// A run of three blocks in which each boot takes 4 s and each trial 10, as told
// by the clock.
func TestLeft(t *testing.T) {
	p := twoByTwo(3)
	s := NewState(p, began)
	wantLeft(t, s, 0, 99)
	// The order of the block is the seed's: this test is told it.
	first := p.Block(1)
	if first[0].System != kernel {
		t.Fatalf("block 1 begins with %v", first[0].System)
	}
	s.Booting(at(0), first[0])
	wantLeft(t, s, 0, 99)
	wantLeft(t, s, 3, 96)
	wantLeft(t, s, 9, 94) // longer than the 5 s that were expected: what comes after takes what it takes
	s.Measuring(at(4), first[0].Trials[0])
	wantLeft(t, s, 4, 95)    // 99 - 4
	wantLeft(t, s, 6, 93)    // 99 - 4 - 2
	wantLeft(t, s, 30, 88.5) // 95 - 6.5: a trial that hangs
	s.Ended(at(14), ended(first[0].Trials[0], 1e6))
	// A trial takes 10 s, it is now known, so 11 more take 110; what is left of
	// this boot's 5 s is 1 (its other trial still comes), and bare's are 3 x 2,
	// linux-kernel's 2 x 5.
	wantLeft(t, s, 14, 110+1+6+10)
	s.Measuring(at(14), first[0].Trials[1])
	s.Ended(at(24), ended(first[0].Trials[1], 1e6))
	wantLeft(t, s, 24, 100+1+6+10)
	s.Booting(at(24), first[1]) // linux-kernel's boot took 4
	wantLeft(t, s, 24, 100+6+8)
	s.Measuring(at(28), first[1].Trials[0])
	s.Ended(at(38), ended(first[1].Trials[0], 1e6))
	s.Measuring(at(38), first[1].Trials[1])
	s.Ended(at(48), ended(first[1].Trials[1], 1e6))
	s.Block(at(48), 1, nil)
	wantLeft(t, s, 48, 2*2*(4+20)) // two blocks of two boots, all known
	s.Block(at(96), 2, nil)
	wantLeft(t, s, 96, 48)
	s.Block(at(144), 3, nil)
	wantLeft(t, s, 144, 0)
	if s.boots != 2 || s.trials != 4 || s.done() != 12 {
		t.Errorf("%d boots, %d trials, %d behind", s.boots, s.trials, s.done())
	}
}

// A system whose boots fail at once costs that, and not what its trials would
// have.
func TestLeftOfFailing(t *testing.T) {
	p := twoByTwo(2)
	s := NewState(p, began)
	b := p.Block(1)
	s.Booting(at(0), b[0])
	for _, trial := range b[0].Trials {
		s.Ended(at(180), failed(trial, "the guest is not ready after 3m0s"))
	}
	s.Booting(at(180), b[1])
	// linux-kernel once more: 180 s and nothing measured. bare twice, as was
	// expected: 2 x (2 + 2 x 6.5).
	wantLeft(t, s, 180, 180+30)
}

// With a precision the rest is up to the most blocks, until a block says that
// all points are there.
func TestLeftWithPrecision(t *testing.T) {
	p := twoByTwo(7)
	p.Precision, p.MaxTrials = 0.01, 10
	s := NewState(p, began)
	wantLeft(t, s, 0, 330)
	s.Block(at(1), 3, nil) // nothing is wide, but fewer blocks than the plan's
	wantLeft(t, s, 1, 231)
	s.Block(at(2), 7, []string{"bare/vhost-user 64 B"})
	wantLeft(t, s, 2, 99)
	s.Block(at(3), 8, nil)
	wantLeft(t, s, 3, 0)
	s.Block(at(4), 10, []string{"bare/vhost-user 64 B"})
	wantLeft(t, s, 4, 0)
}

// A run that goes on where another ended: its boots' numbers say where.
func TestResumed(t *testing.T) {
	p := twoByTwo(3)
	s := NewState(p, began)
	for _, b := range p.Boots()[:4] {
		for _, trial := range b.Trials {
			s.Ended(at(0), ended(trial, 2e6))
		}
	}
	b := p.Boots()[4]
	b.Trials = b.Trials[1:] // the first is there already
	s.Booting(at(0), b)
	if s.done() != 9 {
		t.Errorf("%d trials are behind; want 9", s.done())
	}
	last := p.Boots()[5]
	want := (plan.BootCost(b.System) + plan.BootCost(last.System)).Seconds() + 3*6.5
	wantLeft(t, s, 0, want)
	if got := s.cell(bare, 64); got != "2.00 (2)" {
		t.Errorf("the cell is %q", got)
	}
}

func TestCells(t *testing.T) {
	s := NewState(twoByTwo(5), began)
	trial := plan.Trial{System: bare, Size: 64}
	for _, tt := range []struct {
		result results.Trial
		want   string
	}{
		{failed(trial, "it ended"), "! failed"},
		{ended(trial, 3e6), "! 3.00 (1)"},
		{ended(trial, 1e6), "! 2.00 (2)"},
		{results.Trial{Trial: trial, Error: "the rate was not steady", Findings: []audit.Finding{{Kind: audit.Unsteady, Void: true}}}, "!~ 2.00 (2)"},
		{results.Trial{Trial: trial, RxPps: 2.5e6, Findings: []audit.Finding{{Kind: audit.Unsteady}}}, "!~ 2.50 (3)"},
	} {
		s.Ended(at(1), tt.result)
		if got := s.cell(bare, 64); got != tt.want {
			t.Errorf("the cell is %q; want %q", got, tt.want)
		}
	}
	s.Measuring(at(2), trial)
	if got := s.cell(bare, 64); got != "!~> 2.50 (3)" {
		t.Errorf("while it is measured the cell is %q", got)
	}
	if got := s.cell(bare, 1500); got != "-" {
		t.Errorf("without a trial the cell is %q", got)
	}
	// What is no point of the plan is passed over.
	s.Ended(at(3), ended(plan.Trial{System: bare, Size: 65}, 1))
	s.Ended(at(3), ended(plan.Trial{Size: 64}, 1))
}
