package sample

import (
	"math"
	"slices"
)

// Change is a place at which a series of rates goes over to another level.
type Change struct {
	At            int     // the first value of the new level
	Before, After float64 // the means of the values on either side
}

// Size is how far the levels are apart, as a share of the mean of both.
func (c Change) Size() float64 {
	if c.Before+c.After == 0 {
		return 0
	}
	return math.Abs(c.After-c.Before) / ((c.Before + c.After) / 2)
}

// How sure a change must be: the largest excursion of the cumulated sums, in
// units of the noise times the root of the number of values, goes to the
// supremum of a Brownian bridge, which is above 1.36 in 5 % and above 1.95 in
// 0.1 % of the series that have no change (the Kolmogorov distribution).
const (
	likely  = 1.36
	certain = 1.95
)

// findChange looks for the one place where a series most likely changes its
// level (Page's cumulated sums: E. S. Page, "A test for a change in a parameter
// occurring at an unknown point", Biometrika 42, 1955). ok says whether it is
// as sure as it must be.
//
// The noise is taken from the differences of neighbours, which a change of
// level hardly touches: their median, so that a few wild ones don't hide it.
func findChange(rates []float64, sure float64) (c Change, ok bool) {
	n := len(rates)
	if n < 4 {
		return Change{}, false
	}
	mean := 0.0
	for _, r := range rates {
		mean += r / float64(n)
	}
	var sum, most float64
	for i, r := range rates[:n-1] {
		sum += r - mean
		if math.Abs(sum) > most {
			most, c.At = math.Abs(sum), i+1
		}
	}
	if most <= 1e-9*math.Abs(mean) {
		return Change{}, false // all the same, but for how sums are rounded
	}
	for _, r := range rates[:c.At] {
		c.Before += r / float64(c.At)
	}
	for _, r := range rates[c.At:] {
		c.After += r / float64(n-c.At)
	}
	steps := make([]float64, n-1)
	for i := range steps {
		steps[i] = math.Abs(rates[i+1] - rates[i])
	}
	slices.Sort(steps)
	// The median of |x| of a normal distribution is 0.6745 of its deviation,
	// and a difference of two values has the root of 2 times theirs.
	noise := steps[len(steps)/2] / 0.6745 / math.Sqrt2
	return c, most > sure*noise*math.Sqrt(float64(n))
}

const (
	settled      = 0.05 // a level that moves by less does not matter to a warm-up
	leastSettled = 6    // rates without a change, for a warm-up to be over
)

// Settled says whether a rate has come to rest: whether enough of the last
// rates of a warm-up, since its last change of level, show no further one. Each
// rate is over the same time.
func Settled(rates []float64) bool {
	for len(rates) >= leastSettled {
		c, ok := findChange(rates, likely)
		if !ok || c.Size() < settled {
			return true
		}
		rates = rates[c.At:]
	}
	return false
}

// Moved finds where the rate within a window changed its level, if it did for
// certain.
func Moved(rates []float64) (Change, bool) { return findChange(rates, certain) }
