package results

import (
	"reflect"
	"testing"

	"sweep/internal/plan"
)

func TestDifferences(t *testing.T) {
	uk, dp := plan.System{Guest: "unikraft", Attachment: "vhost-user"}, linuxUser
	same := Settings{Accel: "kvm", CPUModel: "host", VCPUs: 1, MemoryMiB: 256, GuestCPU: 2, Queue: 1024,
		Features: []string{"MAC"}, Guest: "x=1 descriptors_a_packet=1 packets_a_call=32"}
	other := same
	other.MemoryMiB = 1024
	other.Features = []string{"CSUM", "MAC"}
	other.Guest = "descriptors_a_packet=2"
	trials := []Trial{
		{Trial: plan.Trial{System: uk}, Error: "it never came up"},
		{Trial: plan.Trial{System: dp}, Settings: same},
		{Trial: plan.Trial{System: uk}, Settings: other},
		{Trial: plan.Trial{System: dp}, Settings: other}, // the first counts
	}
	values := func(a, b string) []Value { return []Value{{dp, a}, {uk, b}} }
	want := []Difference{
		{"memory, MiB", values("256", "1024")},
		{"descriptors a packet", values("1", "2")},
		{"packets handed to the driver at a time", values("32", "?")},
		{"negotiated features, offloads among them", values("MAC", "CSUM MAC")},
	}
	if got := Differences(trials); !reflect.DeepEqual(got, want) {
		t.Errorf("Differences = %+v\nwant %+v", got, want)
	}
	if got := Differences(trials[:2]); got != nil {
		t.Errorf("of one system: %+v", got)
	}
}

func TestNotRun(t *testing.T) {
	s := func(guest, why string) Skipped {
		return Skipped{plan.System{Guest: guest, Attachment: "vhost-net"}, why}
	}
	got := NotRun([]Skipped{s("a", "x"), s("b", "y"), s("c", "x")})
	if want := []string{"a/vhost-net, c/vhost-net: x", "b/vhost-net: y"}; !reflect.DeepEqual(got, want) {
		t.Errorf("NotRun = %q; want %q", got, want)
	}
}
