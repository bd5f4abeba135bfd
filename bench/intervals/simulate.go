package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sweep/internal/bare"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
	"sweep/sizes"
)

const (
	blocks    = 7    // of a run with --full
	precision = 0.01 // of a run with --precision 1%
)

// rule says when a run ends: with the number of blocks where it has a precision
// at the latest, after 7 blocks where that is 0.
type rule int

const (
	full    rule = 0
	precise rule = plan.DefaultMaxTrials // --precision 1%
	patient rule = 60                    // --precision 1% --max-trials 60
)

func (r rule) String() string {
	switch r {
	case full:
		return fmt.Sprintf("%d blocks", blocks)
	case precise:
		return "--precision 1%"
	}
	return fmt.Sprintf("--precision 1%% --max-trials %d", int(r))
}

// source is what the rate of a boot is drawn from.
type source struct {
	name   string
	draw   func(*rand.Rand) float64
	median float64 // the truth
}

// normal is a rate of 1 that scatters normally.
func normal(noise float64) source {
	return source{
		name:   fmt.Sprintf("normal, noise %g %%", 100*noise),
		draw:   func(r *rand.Rand) float64 { return 1 + noise*r.NormFloat64() },
		median: 1,
	}
}

// Other ways to scatter, each with the standard deviation noise.

func uniform(noise float64) source {
	return source{
		name:   fmt.Sprintf("uniform, noise %g %%", 100*noise),
		draw:   func(r *rand.Rand) float64 { return 1 + noise*math.Sqrt(12)*(r.Float64()-0.5) },
		median: 1,
	}
}

func laplace(noise float64) source {
	return source{
		name:   fmt.Sprintf("Laplace (long tails), noise %g %%", 100*noise),
		draw:   func(r *rand.Rand) float64 { return 1 + noise/math.Sqrt2*(r.ExpFloat64()-r.ExpFloat64()) },
		median: 1,
	}
}

func skewed(noise float64) source {
	return source{
		name:   fmt.Sprintf("exponential (slow boots), noise %g %%", 100*noise),
		draw:   func(r *rand.Rand) float64 { return 1 - noise*r.ExpFloat64() },
		median: 1 - noise*math.Ln2,
	}
}

// bimodal is a guest that boots into one of two states, as was seen: 0.83 Mpps
// in this share of its boots, 1.86 Mpps in the others.
func bimodal(share, noise float64) source {
	const slow, fast = 0.83, 1.86
	return source{
		name: fmt.Sprintf("modes %g and %g in %.0f and %.0f %%, noise %g %%", slow, fast, 100*share, 100*(1-share), 100*noise),
		draw: func(r *rand.Rand) float64 {
			mode := fast
			if r.Float64() < share {
				mode = slow
			}
			return mode * (1 + noise*r.NormFloat64())
		},
		// The modes don't overlap: half of all lies below where 0.5/share of
		// the slow mode do.
		median: slow * (1 + noise*math.Sqrt2*math.Erfinv(2*0.5/share-1)),
	}
}

// The two guests that a run compares, and what both are measured against.
const (
	guestA  = "a"
	guestB  = "b"
	ceiling = bare.Name
)

// simulated is a run that is being made up.
type simulated struct {
	run    results.Run
	trials []results.Trial
}

// newRun is a run that has no block yet.
func newRun(stop rule, sizes ...int) *simulated {
	s := &simulated{run: results.Run{Plan: plan.Plan{Sizes: sizes, Trials: blocks}}}
	if stop != full {
		s.run.Plan.Precision, s.run.Plan.MaxTrials = precision, int(stop)
	}
	return s
}

// add adds a trial.
func (s *simulated) add(guest string, size, round int, rate float64) {
	s.trials = append(s.trials, results.Trial{
		Trial: plan.Trial{System: plan.System{Guest: guest, Attachment: "vhost-user"}, Boot: round, Round: round, Size: size},
		RxPps: rate * 1e6,
	})
}

func (s *simulated) judge() verdict.Verdict { return verdict.Judge(s.run, s.trials, verdict.Rules{}) }

// block adds a boot of each system. b's rates are 1/ratio times what they are
// drawn from at each size; drift is common to all of a block.
func (s *simulated) block(r *rand.Rand, round int, from source, ratios map[int]float64, drift float64) {
	common := 1 + drift*r.NormFloat64()
	for _, size := range s.run.Plan.Sizes {
		ratio := 1.0
		if v, ok := ratios[size]; ok {
			ratio = v
		}
		s.add(guestA, size, round, common*from.draw(r))
		s.add(guestB, size, round, common*from.draw(r)/ratio)
		s.add(ceiling, size, round, common*4)
	}
}

// ends says whether the run ends after this many blocks.
func (s *simulated) ends(n int) bool {
	if s.run.Plan.Precision == 0 || n >= s.run.Plan.MostBlocks() {
		return n >= blocks
	}
	rates := map[plan.Trial][]float64{}
	for _, t := range s.trials {
		if t.System.Guest != ceiling {
			k := plan.Trial{System: t.System, Size: t.Size}
			rates[k] = append(rates[k], t.RxPps)
		}
	}
	for _, v := range rates {
		if !(verdict.Point{Rates: v}).Narrow(precision) {
			return false
		}
	}
	return true
}

// coverage is in which share of the experiments the interval of a point holds
// the truth, in which there is none because modes differ, and of how many boots
// it was on average.
func coverage(r *rand.Rand, experiments int, from source, stop rule) (covered, modes, boots float64) {
	for range experiments {
		s := newRun(stop, 64)
		for n := 1; n == 1 || !s.ends(n-1); n++ {
			s.add(guestA, 64, n, from.draw(r))
		}
		p := s.judge().Points[0]
		switch {
		case p.Modes != nil:
			modes++
		case p.Interval.Low <= from.median*1e6 && from.median*1e6 <= p.Interval.High:
			covered++
		}
		boots += float64(len(p.Rates))
	}
	n := float64(experiments)
	return covered / n, modes / n, boots / n
}

// verdicts are the shares of the experiments in which an outcome was said of any
// of the points that are counted, and of these points over all experiments.
type verdicts struct {
	any  map[verdict.Outcome]float64
	each map[verdict.Outcome]float64
}

// compared simulates runs of two systems at six sizes. ratios is how many times
// b's rate a's is; of is which sizes are counted.
func compared(r *rand.Rand, experiments int, from source, ratios map[int]float64, drift float64, stop rule, of ...int) verdicts {
	v := verdicts{map[verdict.Outcome]float64{}, map[verdict.Outcome]float64{}}
	counted := map[int]bool{}
	for _, size := range of {
		counted[size] = true
	}
	for range experiments {
		s := newRun(stop, sizes.Default()...)
		for n := 1; n == 1 || !s.ends(n-1); n++ {
			s.block(r, n, from, ratios, drift)
		}
		said := map[verdict.Outcome]bool{}
		for _, c := range s.judge().Comparisons {
			if !counted[c.Size] {
				continue
			}
			said[c.Outcome] = true
			if c.Outcome == verdict.Faster || c.Outcome == verdict.Slower {
				said[differs] = true
				v.each[differs] += 1 / float64(experiments*len(of))
			}
			v.each[c.Outcome] += 1 / float64(experiments*len(of))
		}
		for o := range said {
			v.any[o] += 1 / float64(experiments)
		}
	}
	return v
}

// differs stands for faster or slower.
const differs verdict.Outcome = "faster or slower"

// called is how often modes are seen in n values.
func called(r *rand.Rand, experiments int, from source, n int) float64 {
	seen := 0
	v := make([]float64, n)
	for range experiments {
		for i := range v {
			v[i] = from.draw(r)
		}
		if stats.Modes(v) != nil {
			seen++
		}
	}
	return float64(seen) / float64(experiments)
}

// figures simulates all. Each has random numbers of its own, so that a new one
// changes no other.
func figures(experiments int, seed uint64) []figure {
	var out []figure
	add := func(share, least, most float64, format string, args ...any) {
		out = append(out, figure{fmt.Sprintf(format, args...), share, least, most})
	}
	random := func() *rand.Rand { return rand.New(rand.NewPCG(seed, uint64(len(out)))) }

	// Intervals.
	for _, from := range []source{normal(0.02), laplace(0.02), uniform(0.02), skewed(0.02)} {
		covered, modes, _ := coverage(random(), experiments, from, full)
		add(covered/(1-modes), 0.93, 0.97, "95 %% interval holds the median, %s: %s", full, from.name)
	}
	for _, noise := range []float64{0.002, 0.005, 0.01, 0.015, 0.02, 0.03} {
		from, stop := normal(noise), precise
		if noise == 0.03 {
			stop = patient // what 30 blocks seldom make narrow
		}
		covered, modes, boots := coverage(random(), experiments, from, stop)
		add(covered/(1-modes), 0.93, 0.97, "the same, %s: %s (%.0f blocks)", stop, from.name, boots)
	}
	for _, from := range []source{laplace(0.02), uniform(0.02), skewed(0.02)} {
		covered, modes, boots := coverage(random(), experiments, from, precise)
		add(covered/(1-modes), 0, 1, "the same, %s: %s (%.0f blocks)", precise, from.name, boots)
	}
	for _, share := range []float64{0.8, 0.9} {
		for _, noise := range []float64{0.01, 0.03} {
			from := bimodal(share, noise)
			for _, stop := range []rule{full, precise} {
				covered, modes, _ := coverage(random(), experiments, from, stop)
				add(covered+modes, 0.93, 1, "it holds it, or \"modes differ\" (%.0f %%), %s: %s", 100*modes, stop, from.name)
				add(covered/max(1-modes, 1/float64(experiments)), 0, 1, "where there is one, it holds it")
			}
		}
	}

	// Modes.
	for _, n := range []int{5, 6, 7, 10, 20, 30} {
		add(called(random(), 10*experiments, normal(0.02), n), 0, 0.01, "modes called, wrongly, in %d values: %s", n, normal(0.02).name)
	}
	for _, from := range []source{laplace(0.02), skewed(0.02)} {
		add(called(random(), 10*experiments, from, 7), 0, 1, "modes called, wrongly, in 7 values: %s", from.name)
	}

	// Verdicts: two systems at six sizes.
	all := sizes.Default()
	for _, from := range []source{normal(0.01), bimodal(0.8, 0.02), bimodal(0.9, 0.02)} {
		v := compared(random(), experiments, from, nil, 0, full, all...)
		add(v.any[differs], 0, 0.05, "A/A, \"faster\" or \"slower\" at any of 6 sizes, 7 blocks: %s", from.name)
	}
	v := compared(random(), experiments, normal(0.01), nil, 0.03, full, all...)
	add(v.any[differs], 0, 0.05, "the same, blocks that differ by 3 %%: %s", normal(0.01).name)
	// So slow that it is done less often: too few to hold it to a bound that it
	// comes near to. 6000 gave 5.0 %.
	v = compared(random(), experiments/4, normal(0.01), nil, 0, precise, all...)
	add(v.any[differs], 0, 1, "the same, --precision 1%%, a quarter of the experiments: %s", normal(0.01).name)

	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.03}, 0, full, 64)
	add(v.each[verdict.Faster], 0.9, 1, "3 %% faster at one of 6 sizes, found there, 7 blocks: %s", normal(0.01).name)
	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.03}, 0.03, full, 64)
	add(v.each[verdict.Faster], 0, 1, "the same, blocks that differ by 3 %%: %s", normal(0.01).name)
	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.01}, 0, full, 64)
	add(v.each[verdict.Faster], 0, 1, "1 %% faster at one of 6 sizes, found there, 7 blocks: %s", normal(0.01).name)

	for _, noise := range []float64{0.002, 0.005, 0.01} {
		v = compared(random(), experiments, normal(noise), nil, 0, full, all...)
		add(v.each[verdict.Equivalent], 0, 1, "A/A, \"equivalent\", of all sizes, 7 blocks: %s", normal(noise).name)
	}
	edge := map[int]float64{}
	for _, size := range all {
		edge[size] = 0.99
	}
	v = compared(random(), experiments, normal(0.002), edge, 0, full, all...)
	add(v.any[verdict.Equivalent], 0, 0.05, "1 %% slower at all, \"equivalent\" at any, 7 blocks: %s", normal(0.002).name)
	return out
}
