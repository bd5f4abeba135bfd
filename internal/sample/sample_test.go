package sample

import (
	"math"
	"testing"
)

func TestStandardError(t *testing.T) {
	// Deviation of 2, 4, 4, 4, 5, 5, 7, 9 from their mean 5: sqrt(32/7); over
	// sqrt(8).
	got := StandardError([]float64{2, 4, 4, 4, 5, 5, 7, 9})
	if want := math.Sqrt(32.0/7) / math.Sqrt(8); math.Abs(got-want) > 1e-12 {
		t.Errorf("StandardError = %v; want %v", got, want)
	}
	if got := StandardError([]float64{5}); got != 0 {
		t.Errorf("StandardError of one value = %v; want 0", got)
	}
}
