package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// R 4.2.2: exp() of the estimate and of the interval of
// wilcox.test(log(a), log(b), conf.int = TRUE).
func TestRatio(t *testing.T) {
	for _, tt := range []struct {
		name             string
		a, b             []float64
		ratio, low, high float64
	}{
		{"7 and 7", left, right, 1.02180376611, 1.00394088670, 1.04008016032},
		{"5 and 5", left[:5], right[:5], 1.02180376611, 0.99603567889, 1.04457953394},
		{"10 and 5", []float64{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46},
			[]float64{1.15, 0.88, 0.90, 0.74, 1.21}, 1.31176713708, 0.859504132231, 1.959459459459},
	} {
		ratio, interval := Ratio(tt.a, tt.b, 0.95)
		near(t, tt.name, ratio, tt.ratio, 1e-10)
		if interval == nil || interval.Confidence != 0.95 {
			t.Errorf("%s: interval %+v", tt.name, interval)
			continue
		}
		near(t, tt.name+": low", interval.Low, tt.low, 1e-10)
		near(t, tt.name+": high", interval.High, tt.high, 1e-10)
	}
	// Of 3 and 3 even the widest interval covers 90 % only: 1 - 2/20.
	if ratio, interval := Ratio([]float64{2, 2, 2}, []float64{1, 1, 1}, 0.95); ratio != 2 || interval != nil {
		t.Errorf("of 3 and 3: %v, %v; want 2 and no interval", ratio, interval)
	}
	if ratio, interval := Ratio(nil, left, 0.95); ratio != 0 || interval != nil {
		t.Errorf("of none: %v, %v", ratio, interval)
	}
}

// R 4.2.2: qwilcox(0.025, n, m), which is what its wilcox.test takes. It says 516
// of 40 and 35: there the normal approximation makes the interval wider by a
// step.
func TestRefuted(t *testing.T) {
	for _, tt := range []struct{ n, m, want int }{{7, 7, 9}, {5, 5, 3}, {30, 30, 318}, {10, 20, 56}, {4, 4, 1}, {12, 7, 19}, {3, 3, 0}, {40, 35, 515}} {
		if got := refuted(tt.n, tt.m, 0.025); got != tt.want {
			t.Errorf("refuted(%d, %d) = %d; want %d", tt.n, tt.m, got, tt.want)
		}
	}
}

// The interval holds exactly the ratios that the test does not refute.
func TestRatioIsTheTestInverted(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 50 {
		a, b := make([]float64, 5+r.IntN(5)), make([]float64, 5+r.IntN(5))
		for i := range a {
			a[i] = math.Exp(0.1 * r.NormFloat64())
		}
		for i := range b {
			b[i] = math.Exp(0.1 * r.NormFloat64())
		}
		_, interval := Ratio(a, b, 0.95)
		refutes := func(ratio float64) bool {
			scaled := make([]float64, len(b))
			for i, v := range b {
				scaled[i] = ratio * v
			}
			return RankTest(a, scaled).Differ <= 0.05
		}
		for _, tt := range []struct {
			ratio float64
			want  bool
		}{
			{interval.Low * (1 - 1e-9), true}, {interval.Low * (1 + 1e-9), false},
			{interval.High * (1 - 1e-9), false}, {interval.High * (1 + 1e-9), true},
		} {
			if got := refutes(tt.ratio); got != tt.want {
				t.Errorf("%v against %v: ratio %v refuted: %v; the interval is %+v", a, b, tt.ratio, got, *interval)
			}
		}
	}
}

// R 4.2.2: wilcox.test(a, 0.99 * b, alternative = "g") and
// wilcox.test(a, b / 0.99, alternative = "l"), the larger of the two.
func TestEquivalent(t *testing.T) {
	near(t, "two per cent apart", Equivalent(left, right, 0.01), 0.917540792541, 1e-10)
	nearly := make([]float64, len(right))
	for i, v := range right {
		nearly[i] = 1.002 * v
	}
	near(t, "0.2 % apart, 1 % noise", Equivalent(nearly, right, 0.01), 0.104312354312, 1e-10)
	// All of a lie between all of 0.99 b and all of b / 0.99: 1 in 3432.
	a := []float64{1, 1.001, 1.002, 0.999, 0.998, 1.0005, 0.9995}
	near(t, "certain", Equivalent(a, a, 0.01), 1./3432, 1e-12)
	// Symmetric: the margin's ends are 0.99 and 1/0.99.
	near(t, "the other way round", Equivalent(right, nearly, 0.01), Equivalent(nearly, right, 0.01), 1e-12)
}
