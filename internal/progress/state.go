// Package progress shows how far a run is: what was measured so far, the trial
// that is under way, and the time that is left. What there is to show is in
// State, which knows no terminal and no clock.
package progress

import (
	"slices"
	"time"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/results"
)

// State is what is known of a run that is under way. Its methods are told what
// happens, and when.
type State struct {
	plan  plan.Plan
	sizes []int // from small to large
	began time.Time

	cells map[point]*cell
	costs map[plan.System]*cost

	first    *plan.Boot // nil before it
	boot     *boot      // nil between boots
	lastBoot int        // the number of the last boot that began
	trial    *trial
	round    int      // the last block that ended
	wide     []string // points whose interval is still too wide, after that block

	boots, trials int // that ended
	before        int // trials of an earlier run, which is resumed
}

type point struct {
	system plan.System
	size   int
}

// cell is what the boots so far say of a point.
type cell struct {
	rates    []float64 // packets a second
	failed   int       // trials
	unsteady int       // trials, not among the failed
}

// cost is what a system's boots took so far.
type cost struct {
	boots    int
	overhead time.Duration // of these boots, besides their trials

	trials    int // that ended, also those whose boot failed before them
	measured  int // of these: they were begun
	measuring time.Duration
}

// boot is the one that is under way.
type boot struct {
	plan.Boot
	since     time.Time
	ended     int // trials
	measuring time.Duration
}

// trial is the one that is under way.
type trial struct {
	plan.Trial
	since time.Time
	rates []float64 // packets a second, the last ones
}

// mostRates is how many rates of a trial are kept: a terminal's width.
const mostRates = 200

// NewState begins with nothing measured.
func NewState(p plan.Plan, now time.Time) *State {
	s := &State{
		plan: p, sizes: slices.Sorted(slices.Values(p.Sizes)), began: now,
		cells: map[point]*cell{}, costs: map[plan.System]*cost{},
	}
	for _, system := range p.Systems {
		s.costs[system] = &cost{}
		for _, size := range p.Sizes {
			s.cells[point{system, size}] = &cell{}
		}
	}
	return s
}

// Booting says that a boot begins, and that the one before has ended.
func (s *State) Booting(now time.Time, b plan.Boot) {
	if s.first == nil {
		s.first = &b
	}
	s.endBoot(now)
	s.boot, s.lastBoot = &boot{Boot: b, since: now}, b.Number
}

func (s *State) endBoot(now time.Time) {
	if s.boot == nil {
		return
	}
	if c := s.costs[s.boot.System]; c != nil {
		c.boots++
		c.overhead += now.Sub(s.boot.since) - s.boot.measuring
	}
	s.boots++
	s.boot, s.trial = nil, nil
}

// Measuring says that a trial begins.
func (s *State) Measuring(now time.Time, t plan.Trial) { s.trial = &trial{Trial: t, since: now} }

// Rate is what the trial that is under way receives, in packets a second.
func (s *State) Rate(pps float64) {
	if s.trial == nil {
		return
	}
	s.trial.rates = append(s.trial.rates, pps)
	if over := len(s.trial.rates) - mostRates; over > 0 {
		s.trial.rates = slices.Delete(s.trial.rates, 0, over)
	}
}

// Ended says how a trial ended. Before the first boot it is one of an earlier
// run, which is resumed: it fills the table, and took none of this run's time.
func (s *State) Ended(now time.Time, t results.Trial) {
	if c := s.cells[point{t.System, t.Size}]; c != nil {
		switch {
		case t.Error == "":
			c.rates = append(c.rates, t.RxPps)
		case isUnsteady(t):
			c.unsteady++
		default:
			c.failed++
		}
	}
	if s.first == nil {
		s.before++
		return
	}
	s.trials++
	cost := s.costs[t.System]
	if s.boot == nil || s.boot.Number != t.Boot || cost == nil {
		return
	}
	s.boot.ended++
	cost.trials++
	if s.trial != nil {
		took := now.Sub(s.trial.since)
		cost.measured++
		cost.measuring += took
		s.boot.measuring += took
		s.trial = nil
	}
}

// isUnsteady is whether a trial gave no rate because it was not one rate.
func isUnsteady(t results.Trial) bool {
	return slices.ContainsFunc(t.Findings, func(f audit.Finding) bool { return f.Void && f.Kind == audit.Unsteady })
}

// Block says that a block has ended, and which points' intervals are still
// wider than the plan's precision.
func (s *State) Block(now time.Time, round int, wide []string) {
	s.endBoot(now)
	s.round, s.wide = round, wide
	s.lastBoot = round * len(s.plan.Systems)
}

// last says whether the block that ended was the last.
func (s *State) last() bool {
	return s.round >= s.plan.MostBlocks() || s.plan.Precision > 0 && s.round >= s.plan.Trials && len(s.wide) == 0
}

// Left is how long the rest takes: what each system's boots and trials took so
// far, for those that are to come. Where the plan's precision decides when the
// run ends, it is the most that it can be.
func (s *State) Left(now time.Time) time.Duration {
	if s.last() {
		return 0
	}
	left := s.leftOfBoot(now)
	next := s.lastBoot + 1
	round := (next-1)/max(1, len(s.plan.Systems)) + 1
	if round > s.plan.MostBlocks() {
		return left
	}
	var block time.Duration
	for _, b := range s.plan.Block(round) {
		cost := s.overhead(b.System) + time.Duration(len(b.Trials))*s.each(b.System)
		block += cost
		if b.Number >= next {
			left += cost
		}
	}
	return left + time.Duration(s.plan.MostBlocks()-round)*block
}

// leftOfBoot is how long the boot that is under way still takes.
func (s *State) leftOfBoot(now time.Time) time.Duration {
	if s.boot == nil {
		return 0
	}
	each := s.each(s.boot.System)
	gone := now.Sub(s.boot.since) - s.boot.measuring
	left := time.Duration(len(s.boot.Trials)-s.boot.ended) * each
	if s.trial != nil {
		took := now.Sub(s.trial.since)
		gone -= took
		left -= min(took, each)
	}
	return left + max(0, s.overhead(s.boot.System)-gone)
}

// overhead is what a boot of a system takes besides its trials.
func (s *State) overhead(system plan.System) time.Duration {
	if c := s.costs[system]; c.boots > 0 {
		return c.overhead / time.Duration(c.boots)
	}
	return plan.BootCost(system)
}

// each is what a trial of a system takes.
func (s *State) each(system plan.System) time.Duration {
	if c := s.costs[system]; c.trials > 0 {
		return c.measuring / time.Duration(c.trials)
	}
	// As long as another system's that was measured.
	var measuring time.Duration
	measured := 0
	for _, c := range s.costs {
		measuring += c.measuring
		measured += c.measured
	}
	if measured > 0 {
		return measuring / time.Duration(measured)
	}
	return s.plan.TrialCost()
}

// done is how many trials are behind, in the order of the plan.
func (s *State) done() int {
	if s.boot == nil {
		return s.lastBoot * len(s.sizes)
	}
	// A boot that is resumed has fewer trials than there are sizes.
	return s.boot.Number*len(s.sizes) - len(s.boot.Trials) + s.boot.ended
}
