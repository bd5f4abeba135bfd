package stats

import "testing"

func TestNarrow(t *testing.T) {
	// By hand, for n = 7 at 29/30: outer 126/128, inner 112/128;
	// I = (0.984375 - 0.966667)/0.109375 = 0.161905; the ends move by
	// 6 I / (1 + 5 I) = 0.536842 of a step, so that of 97, 98, ... 103 the
	// interval is 97.536842 to 102.463158: 2.463158 % of the median.
	seven := []float64{97, 98, 99, 100, 101, 102, 103}
	got, _ := StoppedInterval(seven)
	near(t, "low", got.Low, 97.536842, 1e-6)
	near(t, "high", got.High, 102.463158, 1e-6)
	if got.Confidence != 0.95 {
		t.Errorf("it is said to hold the truth in %v", got.Confidence)
	}
	for _, tt := range []struct {
		name      string
		v         []float64
		precision float64
		want      bool
	}{
		{"just", seven, 0.02464, true},
		{"just not", seven, 0.02463, false},
		{"six boots", []float64{100, 100, 100, 100, 100, 100}, 0.01, false},
		{"two modes, however narrow", []float64{100, 100, 100, 100, 100, 100, 100, 102}, 0.5, false},
		{"none", nil, 0.01, false},
	} {
		if got := Narrow(tt.v, tt.precision); got != tt.want {
			t.Errorf("%s: Narrow(%v, %v) = %v", tt.name, tt.v, tt.precision, got)
		}
	}
}
