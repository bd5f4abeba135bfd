package results

import (
	"math"
	"strings"
	"testing"

	"sweep/internal/guest"
	"sweep/internal/plan"
)

func counted(s plan.System, size, boot int, packets, ticks uint64, agreement float64, failure string) Cost {
	return Cost{Trial: plan.Trial{System: s, Size: size, Boot: boot}, Count: guest.Count{Packets: packets, Ticks: ticks}, Agreement: agreement, Error: failure}
}

func TestCostPoints(t *testing.T) {
	bare := plan.System{Guest: "bare", Attachment: "vhost-user"}
	kernel := plan.System{Guest: "linux-kernel", Attachment: "vhost-user"}
	stretched := counted(kernel, 128, 4, 100, 600_000, 0, "")
	stretched.Least, stretched.Most = 5000, 8000
	points := CostPoints([]Cost{
		counted(bare, 1500, 1, 1000, 12_500, 0.001, ""),
		counted(bare, 64, 1, 1000, 12_000, 0.001, ""),
		counted(bare, 128, 1, 1000, 10_000, 0.001, ""),
		counted(bare, 256, 1, 0, 0, 0.001, "the ring ran full"),
		counted(bare, 512, 1, 1000, 12_000, 0.001, ""),
		counted(kernel, 64, 2, 100, 600_000, 0, ""),
		counted(bare, 64, 3, 2000, 24_020, 0.001, ""),  // 12.01: 0.083 % more
		counted(bare, 128, 3, 1000, 10_011, 0.001, ""), // 10.011: 0.11 % more
		counted(bare, 256, 3, 1000, 12_000, 0.001, ""),
		counted(bare, 1500, 3, 1000, 12_500, 0.001, ""),
		counted(kernel, 64, 4, 100, 700_000, 0, ""), // as much as it likes
		counted(kernel, 128, 2, 100, 600_000, 0, ""),
		stretched,
	})
	want := []struct {
		system plan.System
		size   int
		each   float64
		spread float64
		why    string
	}{
		{bare, 64, 12.005, 0.01 / 12.005, ""},
		{bare, 128, 0, 0.011 / 10.0055, "the boots disagree, 10.000 against 10.011: more than 0.1 %"},
		{bare, 256, 0, 0, "the ring ran full"},
		{bare, 512, 0, 0, "one boot is no figure"},
		{bare, 1500, 12.5, 0, ""},
		{kernel, 64, 6500, 1000.0 / 6500, ""},
		{kernel, 128, 6000, 0.5, ""},
	}
	if len(points) != len(want) {
		t.Fatalf("%d points: %+v", len(points), points)
	}
	for i, w := range want {
		p := points[i]
		if p.System != w.system || p.Size != w.size || math.Abs(p.Instructions-w.each) > 1e-9 || math.Abs(p.Spread-w.spread) > 1e-9 ||
			!strings.HasPrefix(p.Why, w.why) || (w.why == "") != (p.Why == "") {
			t.Errorf("%+v; want %+v", p, w)
		}
	}
}

func TestCostsAreKept(t *testing.T) {
	f := create(t)
	want := counted(linuxUser, 64, 1, 7, 77, 0.01, "")
	for range 2 {
		if err := f.AppendCost(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := LoadCosts(f.Path())
	if err != nil || len(got) != 2 || got[1].Each() != 11 || got[1].System != linuxUser || got[1].Agreement != 0.01 {
		t.Errorf("LoadCosts = %+v, %v", got, err)
	}
}
