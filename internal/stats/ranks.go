package stats

import (
	"math"
	"slices"
)

// mostExact is up to how many values on each side the rank test is exact:
// beyond, a count of the orders would not fit 64 bits.
const mostExact = 30

// Ranks are the levels of significance at which a rank test says that one of
// two samples tends to be the larger: how often chance alone would order the
// values at least so one-sidedly, if both were drawn from the same.
type Ranks struct {
	Less    float64 // a is the smaller one
	Greater float64 // a is the larger one
	Differ  float64 // either: twice the smaller of the two
}

// RankTest compares two samples by the order of their values alone (Mann and
// Whitney, "On a test of whether one of two random variables is stochastically
// larger than the other", Annals of Mathematical Statistics 18 (1947) 50-60).
//
// Up to 30 values on each side, the levels are exact: of all ways to deal the
// values out to two samples of these sizes, the share is counted in which a's
// sum of ranks is as small, or as large, as it is. Equal values share the mean
// of their ranks. Beyond that, the normal approximation is taken, with its
// corrections for continuity and for equal values.
func RankTest(a, b []float64) Ranks {
	if len(a) == 0 || len(b) == 0 {
		return Ranks{1, 1, 1}
	}
	ranks, sum := doubledRanks(a, b)
	r := chances(ranks, len(a))(sum)
	r.Differ = min(1, 2*min(r.Less, r.Greater))
	return r
}

// chances returns what the chance is that n of the ranks, doubled as they are,
// add up to a sum or less, and to a sum or more.
func chances(ranks []int, n int) func(sum int) Ranks {
	if n <= mostExact && len(ranks)-n <= mostExact {
		return exact(ranks, n)
	}
	return approximate(ranks, n)
}

// doubledRanks are twice the ranks of all values, which are whole numbers even
// where equal values share a mean, and the sum of a's.
func doubledRanks(a, b []float64) (ranks []int, sum int) {
	all := slices.Sorted(slices.Values(slices.Concat(a, b)))
	of := make(map[float64]int, len(all))
	for from := 0; from < len(all); {
		to := from
		for to < len(all) && all[to] == all[from] {
			to++
		}
		rank := from + 1 + to // the mean of from+1 .. to, doubled
		of[all[from]] = rank
		for range to - from {
			ranks = append(ranks, rank)
		}
		from = to
	}
	for _, v := range a {
		sum += of[v]
	}
	return ranks, sum
}

// exact counts in how many ways n of the ranks add up to each sum.
func exact(ranks []int, n int) func(sum int) Ranks {
	most := 0
	for _, r := range ranks {
		most += r
	}
	ways := make([][]uint64, n+1) // [how many][their sum]
	for k := range ways {
		ways[k] = make([]uint64, most+1)
	}
	ways[0][0] = 1
	reached := 0 // the largest sum so far
	for i, r := range ranks {
		reached += r
		for k := min(i+1, n); k > 0; k-- {
			for s := reached; s >= r; s-- {
				ways[k][s] += ways[k-1][s-r]
			}
		}
	}
	upTo := make([]uint64, most+2) // ways to stay below a sum
	for s, w := range ways[n] {
		upTo[s+1] = upTo[s] + w
	}
	all := upTo[most+1]
	return func(sum int) Ranks {
		return Ranks{Less: float64(upTo[sum+1]) / float64(all), Greater: float64(all-upTo[sum]) / float64(all)}
	}
}

// approximate takes the sum of n of the ranks for normal.
func approximate(ranks []int, n int) func(sum int) Ranks {
	total := len(ranks)
	mean := float64(total+1) / 2
	variance := 0.0 // of the ranks
	for _, r := range ranks {
		d := float64(r)/2 - mean
		variance += d * d / float64(total-1)
	}
	deviation := math.Sqrt(variance * float64(n) * (1 - float64(n)/float64(total)))
	// below is the share of a normal distribution below a value.
	below := func(v float64) float64 { return math.Erfc(-v/math.Sqrt2) / 2 }
	return func(sum int) Ranks {
		if deviation == 0 { // all values are equal
			return Ranks{Less: 1, Greater: 1}
		}
		above := float64(sum)/2 - float64(n)*mean
		return Ranks{
			Less:    below((above + 0.5) / deviation),
			Greater: below((0.5 - above) / deviation),
		}
	}
}
