package testbed

import (
	"reflect"
	"testing"
)

// cpus makes a topology: cores of each package, with so many threads each,
// numbered as Linux numbers Intel machines (first threads first).
func cpus(packages, cores, threads int) Topology {
	var t Topology
	for thread := range threads {
		for pkg := range packages {
			for core := range cores {
				first := pkg*cores + core
				t = append(t, CPU{ID: thread*packages*cores + first, Core: first, Package: pkg})
			}
		}
	}
	return t
}

func TestPlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		on   Topology
		want Placement
	}{
		{"one CPU", cpus(1, 1, 1), Placement{Forwarder: 0, Guest: 0, Client: 0, House: []int{0}, Share: "cpu"}},
		// The client beside the guest: twice the rate of beside the server.
		{"two CPUs", cpus(1, 2, 1), Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1}, Share: "cpu"}},
		{"one core, two threads", cpus(1, 1, 2), Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1}, Share: "cpu"}},
		{"two cores, two threads", cpus(1, 2, 2), Placement{Forwarder: 0, Guest: 1, Client: 3, House: []int{2}, Share: "core"}},
		{"three CPUs", cpus(1, 3, 1), Placement{Forwarder: 0, Guest: 1, Client: 2, House: []int{0, 1, 2}}},
		{"four CPUs", cpus(1, 4, 1), Placement{Forwarder: 1, Guest: 2, Client: 3, House: []int{0}}},
		// Nothing runs on the pollers' siblings 5, 6 and 7.
		{"four cores, two threads", cpus(1, 4, 2), Placement{Forwarder: 1, Guest: 2, Client: 3, House: []int{0, 4}}},
		{"two packages of two", cpus(2, 2, 1), Placement{Forwarder: 0, Guest: 1, Client: 1, House: []int{0, 1, 2, 3}, Share: "cpu"}},
		{"the package with more cores", Topology{{0, 0, 0, 0}, {1, 1, 1, 0}, {2, 2, 1, 0}, {3, 3, 1, 0}, {4, 4, 1, 0}},
			Placement{Forwarder: 2, Guest: 3, Client: 4, House: []int{0, 1}}},
		{"CPUs 4 and 6 only", Topology{{4, 4, 0, 0}, {6, 6, 0, 0}}, Placement{Forwarder: 4, Guest: 6, Client: 6, House: []int{4, 6}, Share: "cpu"}},
	} {
		got, err := Place(tt.on)
		if err != nil || !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: Place = %+v, %v; want %+v", tt.name, got, err, tt.want)
		}
	}
	if _, err := Place(nil); err == nil {
		t.Error("Place of no CPU is no error")
	}
}

func TestSliceOnlyWherePollersShare(t *testing.T) {
	if s := (Placement{Share: "cpu"}).Slice(); s <= 0 {
		t.Errorf("Slice on a shared CPU = %v", s)
	}
	for _, share := range []string{"", "core"} {
		if s := (Placement{Share: share}).Slice(); s != 0 {
			t.Errorf("Slice with share %q = %v; want 0", share, s)
		}
	}
}

func TestParseCPUs(t *testing.T) {
	for list, want := range map[string][]int{"0": {0}, "0-3,8": {0, 1, 2, 3, 8}, "2,4": {2, 4}} {
		got, err := ParseCPUs(list)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("ParseCPUs(%q) = %v, %v; want %v", list, got, err, want)
		}
	}
	for _, list := range []string{"", "x", "0-", "-1"} {
		if got, err := ParseCPUs(list); err == nil {
			t.Errorf("ParseCPUs(%q) = %v; want an error", list, got)
		}
	}
}
