package stats

import (
	"math"
	"slices"
	"sort"
)

// Ratio is how many times b's rates a's are: the median of the ratios of each
// of a's to each of b's (Hodges and Lehmann, "Estimates of location based on
// rank tests", Annals of Mathematical Statistics 34 (1963) 598-611). Its
// interval holds all ratios that the rank test doesn't refute, so that it covers
// the true one at least as often as the confidence says if the two scatter
// alike; it is nil where there are too few values for that.
func Ratio(a, b []float64, confidence float64) (float64, *Interval) {
	if len(a) == 0 || len(b) == 0 {
		return 0, nil
	}
	var all []float64 // logarithms of the ratios
	la, lb := logs(a), logs(b)
	for _, x := range la {
		for _, y := range lb {
			all = append(all, x-y)
		}
	}
	slices.Sort(all)
	ratio := math.Exp(middle(all))
	outside := refuted(len(a), len(b), (1-confidence)/2)
	if outside == 0 {
		return ratio, nil
	}
	return ratio, &Interval{
		Low:        math.Exp(all[outside-1]),
		High:       math.Exp(all[len(all)-outside]),
		Confidence: confidence,
	}
}

// refuted is which of the n*m sorted ratios, from either end, is the interval's
// end: the number k such that fewer than k of the pairs being the other way
// round has at most this share of all orders of n and m different values. It is
// 0 where even all pairs the same way are no such rarity.
func refuted(n, m int, share float64) int {
	ranks := make([]int, n+m) // doubled
	for i := range ranks {
		ranks[i] = 2 * (i + 1)
	}
	least := n * (n + 1) // the sum of the first n; a pair the other way round adds a rank
	chance := chances(ranks, n)
	return sort.Search(n*m, func(k int) bool { return chance(least+2*k).Less > share })
}

// Equivalent is the level of significance at which two one-sided rank tests
// show that a's rates are between 1-margin and 1/(1-margin) times b's
// (Schuirmann, "A comparison of the two one-sided tests procedure and the power
// approach for assessing the equivalence of average bioavailability", Journal of
// Pharmacokinetics and Biopharmaceutics 15 (1987) 657-680): the larger of the
// two. That the two samples don't differ significantly shows no equivalence;
// this does.
func Equivalent(a, b []float64, margin float64) float64 {
	times := func(factor float64) []float64 {
		out := make([]float64, len(b))
		for i, v := range b {
			out[i] = factor * v
		}
		return out
	}
	return max(RankTest(a, times(1-margin)).Greater, RankTest(a, times(1/(1-margin))).Less)
}
