package testbed

import (
	"reflect"
	"strings"
	"testing"
)

// numa makes a topology of which every second core is on the other node, as some
// BIOSes number them.
func numa(cores, threads int) Topology {
	t := cpus(1, cores, threads)
	for i := range t {
		t[i].Node = t[i].Core % 2
	}
	return t
}

func TestPlaceTwo(t *testing.T) {
	n := func(cpu int) *int { return &cpu }
	for _, tt := range []struct {
		name             string
		sender, receiver Topology
		s, r             CPUs
		sNode, rNode     int
		want             Placement
	}{
		{"two CPUs each", cpus(1, 2, 1), cpus(1, 2, 1), CPUs{}, CPUs{}, -1, -1,
			Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1}, ClientHouse: []int{0}}},
		{"one CPU each", cpus(1, 1, 1), cpus(1, 1, 1), CPUs{}, CPUs{}, -1, -1,
			Placement{House: []int{0}, ClientHouse: []int{0}, Share: "cpu"}},
		{"a core with two threads each", cpus(1, 1, 2), cpus(1, 1, 2), CPUs{}, CPUs{}, -1, -1,
			Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1}, ClientHouse: []int{0}, Share: "core"}},
		// The siblings 5 and 6 of the pollers are left alone.
		{"four cores with two threads", cpus(1, 4, 2), cpus(1, 4, 2), CPUs{}, CPUs{}, -1, -1,
			Placement{Forwarder: 1, Guest: 2, Client: 1, House: []int{0, 3, 4, 7}, ClientHouse: []int{0, 2, 3, 4, 6, 7}}},
		{"near the NIC", numa(8, 1), numa(8, 1), CPUs{}, CPUs{}, 1, 0,
			Placement{Forwarder: 3, Guest: 5, Client: 2, House: []int{0, 1, 2, 4, 6, 7}, ClientHouse: []int{0, 1, 3, 4, 5, 6, 7}}},
		{"a node without CPUs", cpus(1, 4, 1), cpus(1, 4, 1), CPUs{}, CPUs{}, 3, 3,
			Placement{Forwarder: 1, Guest: 2, Client: 1, House: []int{0, 3}, ClientHouse: []int{0, 2, 3}}},
		{"chosen", cpus(1, 4, 1), cpus(1, 4, 1), CPUs{Forwarder: n(3), Guest: n(0), House: []int{1}}, CPUs{Client: n(2)}, -1, -1,
			Placement{Forwarder: 3, Guest: 0, Client: 2, House: []int{1}, ClientHouse: []int{0, 1, 3}}},
		{"chosen siblings", cpus(1, 2, 2), cpus(1, 2, 2), CPUs{Forwarder: n(1), Guest: n(3)}, CPUs{}, -1, -1,
			Placement{Forwarder: 1, Guest: 3, Client: 1, House: []int{0, 2}, ClientHouse: []int{0, 2}, Share: "core"}},
	} {
		got, err := PlaceTwo(tt.sender, tt.receiver, tt.s, tt.r, tt.sNode, tt.rNode)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	_, err := PlaceTwo(cpus(1, 2, 1), cpus(1, 2, 1), CPUs{}, CPUs{Client: n(9)}, -1, -1)
	if err == nil || !strings.Contains(err.Error(), "the receiver has no CPU 9 for the client; it has [0 1]") {
		t.Error(err)
	}
}
