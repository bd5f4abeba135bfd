package stats

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"golang.org/x/perf/benchmath"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s = %.15g; want %.15g", what, got, want)
	}
}

// Two samples of seven rates, in Mpps.
var (
	left  = []float64{10.12, 10.31, 10.05, 10.44, 10.27, 10.38, 10.19}
	right = []float64{9.98, 10.02, 10.21, 9.87, 10.09, 9.94, 10.15}
)

func TestRankTest(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b []float64
		want Ranks
	}{
		// By hand: of the 6 ways to deal four values out by two, the first is
		// the most one-sided.
		{"apart", []float64{1, 2}, []float64{3, 4}, Ranks{1. / 6, 1, 2. / 6}},
		// By hand: ranks 1, 2.5, 2.5 and 4; two of them add up to 3.5 twice,
		// to 5 twice, to 6.5 twice.
		{"a tie", []float64{1, 2}, []float64{2, 3}, Ranks{2. / 6, 1, 4. / 6}},
		{"all equal", []float64{5, 5, 5}, []float64{5, 5}, Ranks{1, 1, 1}},
		{"none", nil, []float64{1}, Ranks{1, 1, 1}},
		// The least possible of 5 and 5, and of 7 and 7.
		{"5 and 5", []float64{1, 2, 3, 4, 5}, []float64{6, 7, 8, 9, 10}, Ranks{1. / 252, 1, 2. / 252}},
		{"7 and 7", []float64{8, 9, 10, 11, 12, 13, 14}, []float64{1, 2, 3, 4, 5, 6, 7}, Ranks{1, 1. / 3432, 2. / 3432}},
		// R 4.2.2: wilcox.test(a, b), alternative = "l" and "g", on the permeability
		// of the human chorioamnion, Hollander and Wolfe, table 4.1.
		{"Hollander and Wolfe", []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
			[]float64{1.15, 0.88, 0.90, 0.74, 1.21}, Ranks{0.896769896769897, 0.127206127206127, 0.254412254412254}},
		{"rates", left, right, Ranks{0.994463869463869, 0.00874125874125874, 0.0174825174825175}},
	} {
		got := RankTest(tt.a, tt.b)
		near(t, tt.name+": less", got.Less, tt.want.Less, 1e-12)
		near(t, tt.name+": greater", got.Greater, tt.want.Greater, 1e-12)
		near(t, tt.name+": differ", got.Differ, tt.want.Differ, 1e-12)
		back := RankTest(tt.b, tt.a)
		near(t, tt.name+": the other way round", back.Greater, got.Less, 1e-12)
	}
}

// Counted one by one: every way to deal the values out, with many ties and with
// few.
func TestRankTestCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		values := 1 + r.IntN(20)
		all := make([]float64, 2+r.IntN(10))
		for i := range all {
			all[i] = float64(r.IntN(values))
		}
		n := 1 + r.IntN(len(all)-1)
		// pairs is how many pairs have the value in the set above the one
		// outside, equal ones for a half.
		pairs := func(set int) float64 {
			sum := 0.0
			for i, x := range all {
				for j, y := range all {
					switch {
					case set>>i&1 == 0 || set>>j&1 == 1:
					case x > y:
						sum++
					case x == y:
						sum += 0.5
					}
				}
			}
			return sum
		}
		seen := pairs(1<<n - 1)
		ways, less, greater := 0.0, 0.0, 0.0
		for set := range 1 << len(all) {
			if bits.OnesCount(uint(set)) != n {
				continue
			}
			ways++
			if pairs(set) <= seen {
				less++
			}
			if pairs(set) >= seen {
				greater++
			}
		}
		got := RankTest(all[:n], all[n:])
		near(t, "less", got.Less, less/ways, 1e-12)
		near(t, "greater", got.Greater, greater/ways, 1e-12)
		near(t, "differ", got.Differ, min(1, 2*min(less, greater)/ways), 1e-12)
	}
}

// benchstat's test, of a code base of its own, says the same where no values
// are equal. (Where some are, it is off by a step of the distribution now and
// then: the count above decides.)
func TestRankTestAgainstBenchmath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a, b := make([]float64, 1+r.IntN(12)), make([]float64, 1+r.IntN(12))
		for i := range a {
			a[i] = r.Float64()
		}
		for i := range b {
			b[i] = r.Float64() + 0.3
		}
		want := benchmath.AssumeNothing.Compare(sample(a), sample(b))
		if got := RankTest(a, b).Differ; math.Abs(got-want.P) > 1e-9 {
			t.Errorf("RankTest(%v, %v) = %v; benchmath says %v", a, b, got, want.P)
		}
	}
}

func sample(v []float64) *benchmath.Sample {
	return benchmath.NewSample(append([]float64{}, v...), &benchmath.DefaultThresholds)
}

// At 30 and 30 the count of orders is the largest: 1.18e17. They are all of
// them.
func TestRankTestLargestExact(t *testing.T) {
	a, b := make([]float64, 30), make([]float64, 30)
	for i := range a {
		a[i], b[i] = float64(2*i), float64(2*i+1)
	}
	got := RankTest(a, b)
	want := benchmath.AssumeNothing.Compare(sample(a), sample(b)).P
	near(t, "differ", got.Differ, want, 1e-9)
	for i := range a {
		a[i] = -float64(i + 1)
	}
	near(t, "less", RankTest(a, b).Less, 1/118264581564861424.0, 1e-30)
}

// R 4.2.2: wilcox.test(u, v, exact = FALSE) and alternative = "l".
func TestRankTestApproximate(t *testing.T) {
	var u, v, tiedU, tiedV []float64
	for i := 1; i <= 40; i++ {
		u = append(u, float64(i))
		tiedU = append(tiedU, float64((i-1)%8+1))
	}
	for i := 1; i <= 35; i++ {
		v = append(v, float64(i)*1.3+0.25)
		tiedV = append(tiedV, float64((i-1)%7+2))
	}
	got := RankTest(u, v)
	near(t, "differ", got.Differ, 0.305448651038713, 1e-12)
	near(t, "less", got.Less, 0.152724325519356, 1e-12)
	got = RankTest(tiedU, tiedV)
	near(t, "differ, with ties", got.Differ, 0.351466016561725, 1e-12)
	near(t, "less, with ties", got.Less, 0.175733008280863, 1e-12)
	same := make([]float64, 31)
	if got := RankTest(same, same); got != (Ranks{1, 1, 1}) {
		t.Errorf("of equal values: %+v", got)
	}
}
