package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
	"sweep/sizes"
)

const (
	blocks    = 7    // of a run with --full
	precision = 0.01 // of a run with --precision 1%
	mostBlock = 60   // where that run ends at the latest
)

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

// The two systems that a run compares, and what both are measured against.
var (
	systemA = plan.System{Guest: "a", Attachment: "vhost-user"}
	systemB = plan.System{Guest: "b", Attachment: "vhost-user"}
	ceiling = plan.System{Guest: "bare", Attachment: "vhost-user"}
)

// simulated is a run that is being made up.
type simulated struct {
	run    results.Run
	trials []results.Trial
}

func newRun(sizes []int, precision float64) *simulated {
	return &simulated{run: results.Run{Plan: plan.Plan{
		Systems: []plan.System{systemA, systemB, ceiling}, Sizes: sizes, Precision: precision,
	}}}
}

// add adds a trial.
func (s *simulated) add(system plan.System, size, round int, rate float64) {
	s.trials = append(s.trials, results.Trial{
		Trial: plan.Trial{System: system, Boot: round, Round: round, Size: size},
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
		s.add(systemA, size, round, common*from.draw(r))
		s.add(systemB, size, round, common*from.draw(r)/ratio)
		s.add(ceiling, size, round, common*4)
	}
}

// narrow says whether the run may stop.
func (s *simulated) narrow() bool {
	rates := map[plan.Trial][]float64{}
	for _, t := range s.trials {
		if t.System != ceiling {
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
// it was on average. stop goes on until it is narrow.
func coverage(r *rand.Rand, experiments int, from source, stop bool) (covered, modes, boots float64) {
	for range experiments {
		var s *simulated
		if stop {
			s = newRun(nil, precision)
		} else {
			s = newRun(nil, 0)
		}
		for n := 1; n <= mostBlock; n++ {
			s.add(systemA, 64, n, from.draw(r))
			if n >= blocks && (!stop || s.narrow()) {
				break
			}
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

// verdicts is how often an outcome was said of any point of an experiment, and
// of which share of the points that may have it.
type verdicts struct {
	any  map[verdict.Outcome]float64
	each map[verdict.Outcome]float64
}

// compared simulates runs of two systems at six sizes. ratios is how many times
// b's rate a's is; of is which sizes are counted.
func compared(r *rand.Rand, experiments int, from source, ratios map[int]float64, drift float64, stop bool, of ...int) verdicts {
	v := verdicts{map[verdict.Outcome]float64{}, map[verdict.Outcome]float64{}}
	counted := map[int]bool{}
	for _, size := range of {
		counted[size] = true
	}
	for range experiments {
		s := newRun(sizes.Default(), 0)
		if stop {
			s.run.Plan.Precision = precision
		}
		for n := 1; n <= mostBlock; n++ {
			s.block(r, n, from, ratios, drift)
			if n >= blocks && (!stop || s.narrow()) {
				break
			}
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
		covered, modes, _ := coverage(random(), experiments, from, false)
		add(covered/(1-modes), 0.93, 0.97, "95 %% interval holds the median, 7 blocks: %s", from.name)
	}
	for _, noise := range []float64{0.002, 0.005, 0.01, 0.015, 0.02, 0.03} {
		from := normal(noise)
		covered, modes, boots := coverage(random(), experiments, from, true)
		add(covered/(1-modes), 0.93, 0.97, "the same, --precision 1%%: %s (%.0f blocks)", from.name, boots)
	}
	for _, from := range []source{laplace(0.02), uniform(0.02), skewed(0.02)} {
		covered, modes, boots := coverage(random(), experiments, from, true)
		add(covered/(1-modes), 0, 1, "the same, --precision 1%%: %s (%.0f blocks)", from.name, boots)
	}
	for _, share := range []float64{0.8, 0.9} {
		for _, noise := range []float64{0.01, 0.03} {
			from := bimodal(share, noise)
			covered, modes, _ := coverage(random(), experiments, from, false)
			add(covered+modes, 0.93, 1, "it holds it, or \"modes differ\" (%.0f %%), 7 blocks: %s", 100*modes, from.name)
			covered, modes, _ = coverage(random(), experiments, from, true)
			add(covered+modes, 0.93, 1, "the same (%.0f %%), --precision 1%%: %s", 100*modes, from.name)
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
		v := compared(random(), experiments, from, nil, 0, false, all...)
		add(v.any[differs], 0, 0.05, "A/A, \"faster\" or \"slower\" at any of 6 sizes, 7 blocks: %s", from.name)
	}
	v := compared(random(), experiments, normal(0.01), nil, 0.03, false, all...)
	add(v.any[differs], 0, 0.05, "the same, blocks that differ by 3 %%: %s", normal(0.01).name)
	v = compared(random(), experiments/4, normal(0.01), nil, 0, true, all...)
	add(v.any[differs], 0, 0.05, "the same, --precision 1%%, a quarter of the experiments: %s", normal(0.01).name)

	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.03}, 0, false, 64)
	add(v.each[verdict.Faster], 0.9, 1, "3 %% faster at one of 6 sizes, found there, 7 blocks: %s", normal(0.01).name)
	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.03}, 0.03, false, 64)
	add(v.each[verdict.Faster], 0, 1, "the same, blocks that differ by 3 %%: %s", normal(0.01).name)
	v = compared(random(), experiments, normal(0.01), map[int]float64{64: 1.01}, 0, false, 64)
	add(v.each[verdict.Faster], 0, 1, "1 %% faster at one of 6 sizes, found there, 7 blocks: %s", normal(0.01).name)

	for _, noise := range []float64{0.002, 0.005, 0.01} {
		v = compared(random(), experiments, normal(noise), nil, 0, false, all...)
		add(v.each[verdict.Equivalent], 0, 1, "A/A, \"equivalent\", of all sizes, 7 blocks: %s", normal(noise).name)
	}
	edge := map[int]float64{}
	for _, size := range all {
		edge[size] = 0.99
	}
	v = compared(random(), experiments, normal(0.002), edge, 0, false, all...)
	add(v.any[verdict.Equivalent], 0, 0.05, "1 %% slower at all, \"equivalent\" at any, 7 blocks: %s", normal(0.002).name)
	return out
}
