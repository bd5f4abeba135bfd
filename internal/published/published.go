// Package published holds the data of Figure 19 of the EuroSys'21 paper on
// Unikraft, as its artifact published them (experiments/fig_19_compare-dpdk):
// what this kit reproduces.
package published

import (
	"math"

	"sweep/internal/plan"
	"sweep/sizes"
)

// LinkRate is that of the figure's cable, in bits a second: 10GbE.
const LinkRate = 10e9

// Near is how close to line rate a point lies that says more of the cable than
// of the guest, as a share.
const Near = 0.005

// Point is one of the figure's: one number, without spread.
type Point struct {
	System plan.System `json:"system"`
	Size   int         `json:"size"`   // bytes without FCS
	RxPps  float64     `json:"rx_pps"` // packets a second that testpmd counted in rxonly mode
}

// OfLineRate is the point's share of what a 10GbE cable carries.
func (p Point) OfLineRate() float64 { return p.RxPps / sizes.LineRate(p.Size, LinkRate) }

// AtLineRate says whether the point shows the cable, within [Near].
func (p Point) AtLineRate() bool { return math.Abs(p.OfLineRate()-1) <= Near }

// Systems are the figure's four, in the order of its data.
func Systems() []plan.System {
	return []plan.System{
		{Guest: "unikraft", Attachment: "vhost-user"},
		{Guest: "linux-dpdk", Attachment: "vhost-user"},
		{Guest: "unikraft", Attachment: "vhost-net"},
		{Guest: "linux-dpdk", Attachment: "vhost-net"},
	}
}

// Points are the figure's 24: system by system, from the smallest size to the
// largest.
func Points() []Point {
	rows := []struct {
		size int
		mpps [4]float64 // in the order of Systems, to the digits that were published
	}{
		{64, [4]float64{14.19142, 14.15583, 1.658948, 1.651603}},
		{128, [4]float64{8.214138, 8.220263, 1.569004, 1.579300}},
		{256, [4]float64{4.445678, 4.446257, 1.485561, 1.504359}},
		{512, [4]float64{2.329066, 2.331321, 1.479291, 1.481836}},
		{1024, [4]float64{1.190099, 1.192632, 1.189664, 1.192736}},
		{1500, [4]float64{0.818558, 0.820041, 0.818891, 0.820075}},
	}
	var out []Point
	for i, s := range Systems() {
		for _, r := range rows {
			// Rounded, because 14.19142 times a million is no whole number in
			// binary.
			out = append(out, Point{System: s, Size: r.size, RxPps: math.Round(r.mpps[i] * 1e6)})
		}
	}
	return out
}

// Find is the figure's point of a system at a size.
func Find(s plan.System, size int) (Point, bool) {
	for _, p := range Points() {
		if p.System == s && p.Size == size {
			return p, true
		}
	}
	return Point{}, false
}

// About is what a reader of the figure must know, a sentence each, without its
// stop.
func About() []string {
	return []string{
		"the figure has one number a point: nothing says how far another boot would have been from it",
		"16 of the figure's 24 points lie within 0.5 % of what a 10GbE cable carries and show the cable; vhost-net at 64 to 512 B alone can tell its guests apart",
		"the figure's Unikraft was 0.4 with a transmit function that upstream never took: one descriptor a packet, one notification a burst",
		"the figure's arms differed: the Linux machine had two virtual CPUs, bound to CPUs 4 and 5, and 6 GB; the Unikraft machine one, bound to none, and 1 GB",
	}
}
