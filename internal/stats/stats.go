// Package stats is the arithmetic of doubt: exact tests and intervals for the
// few independent values that a run has of each point, without the assumption
// that they are normal.
//
// All values are rates: positive and finite. What is said of ratios is worked
// out on their logarithms.
package stats

import (
	"math"
	"slices"
)

// Confidence is how often the intervals that the kit shows hold the truth.
const Confidence = 0.95

// Interval is where a value lies.
type Interval struct {
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"` // such as 0.95
}

// Median is the middle value, the mean of the two where their number is even,
// 0 where there is none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return middle(slices.Sorted(slices.Values(values)))
}

// middle is the median of sorted values.
func middle(sorted []float64) float64 {
	mid := len(sorted) / 2
	if len(sorted)%2 == 0 {
		return (sorted[mid-1] + sorted[mid]) / 2
	}
	return sorted[mid]
}

// logs are the logarithms of rates.
func logs(rates []float64) []float64 {
	out := make([]float64, len(rates))
	for i, r := range rates {
		out[i] = math.Log(r)
	}
	return out
}
