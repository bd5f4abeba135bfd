package main

import "testing"

// With fewer experiments than the figures in docs/statistics.md are of, and with
// as much slack: three standard errors of a share of 95 %.
func TestFigures(t *testing.T) {
	for _, f := range figures(400, 1) {
		if !f.holds(0.033) {
			t.Errorf("%s: %.2f %%, %s", f.what, 100*f.share, f.bounds())
		}
	}
}

func TestBounds(t *testing.T) {
	for _, tt := range []struct {
		f     figure
		words string
		holds bool
	}{
		{figure{share: 0.93, least: 0.93, most: 0.97}, "must be 93 to 97 %", true},
		{figure{share: 0.98, least: 0.93, most: 0.97}, "must be 93 to 97 %", false},
		{figure{share: 0.89, least: 0.9, most: 1}, "must be 90 % at least", false},
		{figure{share: 0.051, least: 0, most: 0.05}, "must be 5 % at most", false},
		{figure{share: 0.5, least: 0, most: 1}, "", true},
	} {
		if got := tt.f.bounds(); got != tt.words || tt.f.holds(0) != tt.holds {
			t.Errorf("%+v: %q, holds %v", tt.f, got, tt.f.holds(0))
		}
	}
}
