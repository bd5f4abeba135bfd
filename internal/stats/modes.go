package stats

import (
	"cmp"
	"math"
	"slices"
)

// Mode is a value around which some of the samples lie.
type Mode struct {
	Center float64 `json:"center"` // their median
	Count  int     `json:"count"`
}

const (
	// leastGap is how far two modes are apart at least, as a ratio's
	// logarithm: what is nearer than the margin of equivalence (1 %) makes no
	// difference to anybody.
	leastGap = 0.01
	mostCuts = 3
	// leastFreedom is from how many degrees of freedom on a standard deviation
	// says anything.
	leastFreedom = 3
)

// wideGap is how many times as wide as the standard deviation within the modes
// the gap between two of them is at least, given the degrees of freedom of that
// deviation: values less modes. The first three are where normal values show
// such a gap in one sample of a thousand; the last is far beyond that, for the
// sake of values that scatter with longer tails.
func wideGap(freedom int) float64 {
	switch freedom {
	case leastFreedom:
		return 32
	case 4:
		return 18
	case 5:
		return 12
	default:
		return 10
	}
}

// Modes tells whether rates lie around several separate values, as those of a
// guest do that boots now into a fast state and now into a slow one; it returns
// nil where they lie around one. A single rate far from all others is a mode,
// too.
//
// The sorted logarithms are cut at their widest gaps, of which each must be
// much wider than what lies together scatters. Five values at least are needed.
// How often it is wrong is in docs/statistics.md.
func Modes(rates []float64) []Mode {
	sorted := slices.Sorted(slices.Values(rates))
	x := logs(sorted)
	byWidth := make([]int, 0, len(x)) // i: the gap before x[i]
	for i := 1; i < len(x); i++ {
		byWidth = append(byWidth, i)
	}
	width := func(i int) float64 { return x[i] - x[i-1] }
	slices.SortStableFunc(byWidth, func(i, j int) int { return cmp.Compare(width(j), width(i)) })
	for cuts := min(mostCuts, len(x)-1-leastFreedom); cuts > 0; cuts-- {
		freedom := len(x) - cuts - 1
		narrowest := width(byWidth[cuts-1])
		at := slices.Sorted(slices.Values(byWidth[:cuts]))
		if narrowest < leastGap || narrowest < wideGap(freedom)*within(x, at, freedom) {
			continue
		}
		var modes []Mode
		for _, group := range split(sorted, at) {
			modes = append(modes, Mode{Center: middle(group), Count: len(group)})
		}
		return modes
	}
	return nil
}

// split cuts values before each of the indices.
func split(v []float64, at []int) [][]float64 {
	var out [][]float64
	from := 0
	for _, to := range append(slices.Clone(at), len(v)) {
		out = append(out, v[from:to])
		from = to
	}
	return out
}

// within is the standard deviation within the groups, pooled.
func within(x []float64, at []int, freedom int) float64 {
	sum := 0.0
	for _, group := range split(x, at) {
		mean := 0.0
		for _, v := range group {
			mean += v / float64(len(group))
		}
		for _, v := range group {
			sum += (v - mean) * (v - mean)
		}
	}
	return math.Sqrt(sum / float64(freedom))
}
