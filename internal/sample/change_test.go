package sample

import (
	"math/rand/v2"
	"testing"

	"sweep/internal/agent"
)

// series is values around levels, each for so many, with some noise.
func series(rng *rand.Rand, noise float64, levels ...float64) []float64 {
	var out []float64
	for _, l := range levels {
		for range 25 {
			out = append(out, l*(1+noise*rng.NormFloat64()))
		}
	}
	return out
}

func TestMoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var found, falsely int
	const n = 1000
	for range n {
		c, ok := Moved(series(rng, 0.03, 1, 1.3))
		if ok && c.At >= 23 && c.At <= 27 && c.Before > 0.95 && c.Before < 1.05 && c.After > 1.22 && c.After < 1.38 {
			found++
		}
		if _, ok := Moved(series(rng, 0.03, 1, 1)); ok {
			falsely++
		}
	}
	if found < n*99/100 {
		t.Errorf("a step of 30 %% at 3 %% noise was found in %d of %d", found, n)
	}
	if falsely > n/100 { // 0.1 % is meant; the noise's estimate has its own
		t.Errorf("in %d of %d series without a step one was found", falsely, n)
	}
	if c, ok := Moved(series(rng, 0.001, 1, 1.05)); !ok || c.Size() < 0.047 || c.Size() > 0.051 {
		t.Errorf("a step of 5 %% of the lower level: %+v, %v", c, ok)
	}
	for _, flat := range [][]float64{nil, {1}, {1, 1, 1, 1, 1, 1}, {0, 0, 0, 0, 0}} {
		if c, ok := Moved(flat); ok {
			t.Errorf("Moved(%v) = %+v", flat, c)
		}
	}
}

func TestSettled(t *testing.T) {
	for _, tt := range []struct {
		name  string
		rates []float64
		want  bool
	}{
		{"too few", []float64{5, 5, 5, 5, 5}, false},
		{"flat", []float64{5, 5, 5, 5, 5, 5}, true},
		{"rising", []float64{1, 2, 3, 4, 5, 6, 7, 8}, false},
		{"just risen", []float64{1, 1, 1, 1, 5, 5.1, 5, 4.9, 5}, false},
		{"risen a while ago", []float64{0, 1, 5, 5.1, 5, 4.9, 5, 5.05, 5, 4.95}, true},
	} {
		if got := Settled(tt.rates); got != tt.want {
			t.Errorf("%s: Settled = %v", tt.name, got)
		}
	}
}

func TestRxRate(t *testing.T) {
	first := Port{Before: 0, After: 2e6, RxPackets: 500}
	last := Port{Before: 2_500_000_000, After: 2_504_000_000, RxPackets: 2_501_500}
	// 2 501 000 packets in the 2.501 s between the middles; known to 3 ms.
	pps, doubt, err := RxRate(first, last)
	if err != nil || pps != 1_000_000 || doubt != 0.003/2.501 {
		t.Errorf("RxRate = %v ± %v, %v", pps, doubt, err)
	}
	if _, _, err := RxRate(last, first); err == nil {
		t.Error("a clock that goes back makes a rate")
	}
	last.RxPackets = 1
	if _, _, err := RxRate(first, last); err == nil {
		t.Error("a counter that falls makes a rate")
	}
	if !first.Same(Port{Before: agent.Time(9), RxPackets: 500}) || first.Same(last) {
		t.Error("Same looks at more, or less, than the counters")
	}
}
