package stats

import (
	"cmp"
	"slices"
)

// Holm corrects the levels of significance of a family of tests, so that the
// chance of even one false alarm among all of them is at most the level that a
// corrected one is compared with, however the tests hang together (Holm, "A
// simple sequentially rejective multiple test procedure", Scandinavian Journal
// of Statistics 6 (1979) 65-70). The order is kept.
func Holm(levels []float64) []float64 {
	order := make([]int, len(levels))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(levels[i], levels[j]) })
	out := make([]float64, len(levels))
	least := 0.0 // no corrected level is below that of a smaller one
	for k, i := range order {
		least = min(1, max(least, float64(len(levels)-k)*levels[i]))
		out[i] = least
	}
	return out
}
