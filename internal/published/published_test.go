package published

import (
	"math"
	"testing"

	"sweep/internal/plan"
)

func TestPoints(t *testing.T) {
	points := Points()
	if len(points) != 24 {
		t.Fatalf("%d points; the figure has 24", len(points))
	}
	// The sum of the 24 in Mpps, added up with decimals elsewhere, so that a digit that is
	// mistyped above shows here.
	sum := 0.0
	for _, p := range points {
		sum += p.RxPps
	}
	if want := 78_786_571.0; sum != want {
		t.Errorf("the points add up to %.0f; want %.0f", sum, want)
	}
	p, ok := Find(plan.System{Guest: "linux-dpdk", Attachment: "vhost-net"}, 256)
	if !ok || p.RxPps != 1_504_359 {
		t.Errorf("Find = %+v, %v", p, ok)
	}
	if p, ok := Find(plan.System{Guest: "bare", Attachment: "vhost-user"}, 64); ok {
		t.Errorf("the figure has %+v", p)
	}
}

// 10GbE carries 14.2045 Mpps of 64 bytes: 10^9 * 10 / 8 / (64 + 24).
func TestAtLineRate(t *testing.T) {
	cable := map[plan.System]int{}
	for _, p := range Points() {
		if p.AtLineRate() {
			cable[p.System]++
		}
	}
	// All of vhost-user, and vhost-net at 1024 and 1500.
	for i, want := range []int{6, 6, 2, 2} {
		if s := Systems()[i]; cable[s] != want {
			t.Errorf("%s: %d points at line rate; want %d", s, cable[s], want)
		}
	}
	if got := Points()[0].OfLineRate(); math.Abs(got-14.19142/14.204545) > 1e-7 {
		t.Errorf("OfLineRate = %v", got)
	}
}
