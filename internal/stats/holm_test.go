package stats

import "testing"

// R 4.2.2: p.adjust(p, "holm").
func TestHolm(t *testing.T) {
	for _, tt := range []struct{ levels, want []float64 }{
		{nil, nil},
		{[]float64{0.04}, []float64{0.04}},
		{[]float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{[]float64{0.3, 0.02, 0.02, 0.9, 0.013}, []float64{0.6, 0.08, 0.08, 0.9, 0.065}},
		{[]float64{0.7, 0.8}, []float64{1, 1}},
	} {
		got := Holm(tt.levels)
		if len(got) != len(tt.want) {
			t.Errorf("Holm(%v) = %v; want %v", tt.levels, got, tt.want)
			continue
		}
		for i := range got {
			near(t, "corrected", got[i], tt.want[i], 1e-12)
		}
	}
}
