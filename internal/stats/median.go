package stats

import (
	"fmt"
	"math"
	"slices"
)

// MedianInterval is where the median of what the values were drawn from lies,
// or why that can't be said. It assumes that the values are independent and
// nothing about how they scatter.
//
// Between the d-th value from below and the d-th from above the median lies
// with a confidence that is known exactly, of few possible ones: with 7 values
// 98.4 % for the first and the last, 87.5 % for the second and the last but
// one. For a confidence between, the ends are interpolated as in Hettmansperger
// and Sheather, "Confidence intervals based on interpolated order statistics",
// Statistics & Probability Letters 4 (1986) 75-79. That depends only slightly on
// how the values scatter (docs/statistics.md has figures).
func MedianInterval(values []float64, confidence float64) (*Interval, string) {
	n := len(values)
	if most := covered(n, 1); n < 2 || most < confidence {
		return nil, tooFew(n, most, confidence)
	}
	d := 1
	for covered(n, d+1) >= confidence {
		d++
	}
	outer, inner := covered(n, d), covered(n, d+1)
	// share is how far the ends move from the d-th towards the d+1-th value.
	i := (outer - confidence) / (outer - inner)
	share := float64(n-d) * i / (float64(d) + float64(n-2*d)*i)
	sorted := slices.Sorted(slices.Values(values))
	between := func(from, to float64) float64 { return from + share*(to-from) }
	return &Interval{
		Low:        between(sorted[d-1], sorted[d]),
		High:       between(sorted[n-d], sorted[n-d-1]),
		Confidence: confidence,
	}, ""
}

// covered is the confidence that the median lies between the d-th of n values
// and the d-th from above: that of n throws of a coin neither fewer than d show
// heads nor fewer than d tails.
func covered(n, d int) float64 {
	tail, choose := 0.0, 1.0
	for k := range d {
		tail += choose
		choose *= float64(n-k) / float64(k+1)
	}
	return 1 - 2*tail/math.Pow(2, float64(n))
}

func tooFew(n int, most, confidence float64) string {
	switch {
	case n == 0:
		return "no value: no interval"
	case n == 1:
		return "one value: no interval"
	}
	need := n
	for covered(need, 1) < confidence {
		need++
	}
	return fmt.Sprintf("%d values: the median lies between the least and the most of them at %.4g %% only; %g %% take %d values",
		n, 100*most, 100*confidence, need)
}
