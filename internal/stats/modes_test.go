package stats

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		name string
		v    []float64
		want []Mode
	}{
		{"as was seen", []float64{0.83, 1.86, 0.82, 0.84, 1.88, 0.835, 0.83}, []Mode{{0.83, 5}, {1.87, 2}}},
		{"one of seven", []float64{0.83, 0.82, 0.84, 1.87, 0.835, 0.83, 0.825}, []Mode{{0.83, 6}, {1.87, 1}}},
		{"three", []float64{1, 2, 1.01, 2.02, 4, 1.005, 4.01, 2.01}, []Mode{{1.005, 3}, {2.01, 3}, {4.005, 2}}},
		{"noise alone", []float64{1, 1.02, 0.98, 1.01, 0.99, 1.03, 0.97}, nil},
		{"a tail", []float64{1, 1.02, 0.98, 1.01, 0.99, 1.03, 0.93}, nil},
		// Nine that scatter by 1 %, and one 7 % below them: seven times as
		// far as they scatter is a tail.
		{"a slow boot", []float64{1, 1.01, 0.99, 1.01, 0.99, 1, 1.01, 0.99, 1, 0.92}, nil},
		{"equal", []float64{1, 1, 1, 1, 1, 1, 1}, nil},
		{"two values", []float64{1, 1, 1, 2, 2, 2}, []Mode{{1, 3}, {2, 3}}},
		// Far apart for their noise, but by half a per cent only.
		{"near", []float64{1, 1, 1, 1.005, 1.005, 1.005, 1}, nil},
		{"too few", []float64{1, 1, 2, 2}, nil},
		{"none", nil, nil},
	} {
		if got := Modes(tt.v); !slices.Equal(got, tt.want) {
			t.Errorf("%s: Modes(%v) = %v; want %v", tt.name, tt.v, got, tt.want)
		}
	}
}

// Bimodal values are seen for what they are wherever both modes are among
// them, and normal ones next to never: bench/intervals has the figures.
func TestModesSeen(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for _, share := range []float64{0.8, 0.9} {
		for _, noise := range []float64{0.01, 0.03} {
			both, seen := 0, 0
			for range 1000 {
				v := make([]float64, 7)
				slow := 0
				for i := range v {
					mode := 1.86
					if r.Float64() < share {
						mode = 0.83
						slow++
					}
					v[i] = mode * (1 + noise*r.NormFloat64())
				}
				if slow == 0 || slow == len(v) {
					continue
				}
				both++
				if m := Modes(v); len(m) == 2 && m[0].Count == slow {
					seen++
				}
			}
			if seen < both*99/100 {
				t.Errorf("weight %g, noise %g: seen in %d of %d", share, noise, seen, both)
			}
		}
	}
}
