package stats

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/perf/benchmath"
)

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{7}, 7}, {[]float64{3, 1}, 2}, {[]float64{9, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := Median(tt.v); got != tt.want {
			t.Errorf("Median(%v) = %v; want %v", tt.v, got, tt.want)
		}
	}
}

// The published confidences of intervals between order statistics (a usual
// table of textbooks, in per cent).
func TestCovered(t *testing.T) {
	for _, tt := range []struct {
		n, d int
		want float64
	}{
		{2, 1, 50}, {3, 1, 75}, {4, 1, 87.5}, {5, 1, 93.8}, {6, 1, 96.9}, {6, 2, 78.1}, {7, 1, 98.4}, {7, 2, 87.5},
		{8, 2, 93.0}, {9, 2, 96.1}, {10, 2, 97.9}, {10, 3, 89.1}, {12, 3, 96.1}, {15, 4, 96.5}, {16, 5, 92.3}, {20, 6, 95.9},
	} {
		near(t, "covered, in per cent", 100*covered(tt.n, tt.d), tt.want, 0.051)
	}
}

func TestMedianInterval(t *testing.T) {
	seven := []float64{7, 1, 5, 2, 6, 3, 4}
	for _, tt := range []struct {
		name       string
		v          []float64
		confidence float64
		low, high  float64
	}{
		// By hand, for n = 7: outer 126/128, inner 112/128, so that
		// I = (126/128 - 0.95)/(14/128) = 0.314286; the ends move by
		// 6 I / (1 + 5 I) = 0.733333 of a step.
		{"7 values", seven, 0.95, 1 + 0.7333333333, 7 - 0.7333333333},
		// Scaled steps: only the outer two on each side count.
		{"7 values, uneven", []float64{0, 10, 20, 20, 20, 50, 90}, 0.95, 7.333333333, 90 - 0.7333333333*40},
		// n = 6: outer 62/64, inner 50/64; I = 0.1; 5 I / (1 + 4 I) = 0.357143.
		{"6 values", []float64{1, 2, 3, 4, 5, 6}, 0.95, 1.357142857, 5.642857143},
		// n = 10, d = 2: outer 1002/1024, inner 912/1024; I = 0.324444;
		// 8 I / (2 + 6 I) = 0.657658.
		{"10 values", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 0.95, 2.657658, 8.342342},
		// At a confidence that is possible exactly nothing is interpolated.
		{"exact", seven, 126. / 128, 1, 7},
		{"exact, the second", seven, 112. / 128, 2, 6},
		{"equal", []float64{3, 3, 3, 3, 3, 3}, 0.95, 3, 3},
	} {
		got, why := MedianInterval(tt.v, tt.confidence)
		if got == nil || got.Confidence != tt.confidence {
			t.Errorf("%s: %v, %q", tt.name, got, why)
			continue
		}
		near(t, tt.name+": low", got.Low, tt.low, 1e-6)
		near(t, tt.name+": high", got.High, tt.high, 1e-6)
	}
	if seven[0] != 7 {
		t.Error("the values were sorted in place")
	}
}

func TestNoMedianInterval(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want []string
	}{
		{nil, []string{"no value"}},
		{[]float64{1}, []string{"one value"}},
		{[]float64{1, 2, 3, 4, 5}, []string{"5 values", "93.75 %", "95 % take 6 values"}},
	} {
		got, why := MedianInterval(tt.v, 0.95)
		for _, w := range tt.want {
			if got != nil || !strings.Contains(why, w) {
				t.Errorf("MedianInterval(%v) = %v, %q; want %q in it", tt.v, got, why, w)
			}
		}
	}
}

// The interval lies within that of benchstat, which takes the next possible
// confidence above 95 %, and has the ends that Hettmansperger and Sheather
// prove right for the Laplace distribution: there it covers 95 % to the digit.
func TestMedianIntervalCovers(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	const samples = 40000
	for _, n := range []int{6, 7, 12} {
		held := 0
		for i := range samples {
			v := make([]float64, n)
			for i := range v {
				v[i] = 100 + r.ExpFloat64() - r.ExpFloat64()
			}
			got, _ := MedianInterval(v, 0.95)
			if got.Low <= 100 && 100 <= got.High {
				held++
			}
			if i >= 100 {
				continue
			}
			wide := benchmath.AssumeNothing.Summary(sample(v), 0.95)
			if got.Low < wide.Lo || got.High > wide.Hi || math.Abs(wide.Center-Median(v)) > 1e-12 {
				t.Errorf("%v: %+v is not within %v to %v", v, *got, wide.Lo, wide.Hi)
			}
		}
		// Four standard errors of 40000 samples are 0.44 %.
		near(t, "coverage", float64(held)/samples, 0.95, 0.0044)
	}
}
