package testbed

import (
	"fmt"
	"slices"
	"time"
)

// Placement says which CPU does what. Three threads of an experiment poll,
// each for a whole CPU: the forwarder's, the guest's virtual CPU and the
// client's.
type Placement struct {
	Forwarder int   `json:"forwarder"`
	Guest     int   `json:"guest"`
	Client    int   `json:"client"`
	House     []int `json:"house"` // consoles, QEMU's other threads, the kit itself

	// ClientHouse are the CPUs for the rest on the machine with the client,
	// where that is another one.
	ClientHouse []int `json:"client_house,omitempty"`

	// Share is what pollers have to share: "" nothing, "core" the two
	// hardware threads of a core, "cpu" a CPU.
	Share string `json:"share"`
}

// Place places the pollers of a lab on one machine.
//
// Each gets a physical core of its own, in one package, with the first core
// left to the rest where there are four. Where there are fewer than three
// cores, the client goes beside the guest: the forwarder, which handles each
// packet twice, then has a CPU to itself, and twice the rate was seen of that
// of the client beside the forwarder.
func Place(t Topology) (Placement, error) {
	if len(t) == 0 {
		return Placement{}, fmt.Errorf("no CPU to run on")
	}
	all := make([]int, len(t))
	for i, c := range t {
		all[i] = c.ID
	}
	cores := coresOfLargestPackage(t)
	switch {
	case len(cores) >= 4:
		p := Placement{Forwarder: cores[1][0], Guest: cores[2][0], Client: cores[3][0]}
		p.House = without(all, cores[1], cores[2], cores[3])
		return p, nil
	case len(cores) == 3:
		p := Placement{Forwarder: cores[0][0], Guest: cores[1][0], Client: cores[2][0]}
		p.House = without(all, []int{p.Forwarder, p.Guest, p.Client})
		if len(p.House) == 0 {
			p.House = all
		}
		return p, nil
	case len(cores) == 2 && len(cores[1]) >= 2:
		// Siblings: not shared as a CPU is, but not independent either.
		p := Placement{Forwarder: cores[0][0], Guest: cores[1][0], Client: cores[1][1], Share: "core"}
		p.House = without(all, []int{p.Forwarder, p.Guest, p.Client})
		if len(p.House) == 0 {
			p.House = all
		}
		return p, nil
	case len(all) >= 2:
		return Placement{Forwarder: all[0], Guest: all[1], Client: all[1], House: all, Share: "cpu"}, nil
	default:
		return Placement{Forwarder: all[0], Guest: all[0], Client: all[0], House: all, Share: "cpu"}, nil
	}
}

// coresOfLargestPackage returns the CPUs of each core, of the package that has
// the most cores.
func coresOfLargestPackage(t Topology) [][]int {
	best := [][]int{}
	packages := map[int]map[int][]int{}
	for _, c := range t {
		if packages[c.Package] == nil {
			packages[c.Package] = map[int][]int{}
		}
		packages[c.Package][c.Core] = append(packages[c.Package][c.Core], c.ID)
	}
	for _, id := range sortedKeys(packages) {
		var cores [][]int
		for _, core := range sortedKeys(packages[id]) {
			cores = append(cores, packages[id][core])
		}
		if len(cores) > len(best) {
			best = cores
		}
	}
	return best
}

func sortedKeys[V any](m map[int]V) []int {
	keys := make([]int, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

func without(all []int, taken ...[]int) []int {
	var out []int
	for _, c := range all {
		if !slices.ContainsFunc(taken, func(t []int) bool { return slices.Contains(t, c) }) {
			out = append(out, c)
		}
	}
	return out
}

// Pollers are the CPUs that poll, each once, by number.
func (p Placement) Pollers() []int {
	cpus := []int{p.Forwarder, p.Guest, p.Client}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

// Slice is the scheduler slice that the pollers should ask for, and the time
// after which something should wake up beside them: zero where each has a CPU
// of its own.
//
// Where they share one, what a ring holds is what passes in a turn: with the
// kernel's own turns of 4 ms the rate is the ring's length times 125 a second,
// whatever the programs could do. Measured with 16384 slots at 64 B: 0.1 ms
// 2.6 Mpps, 0.2 5.0, 0.3 6.3, 0.5 5.4 to 5.9, 1 6.1, none 2.0.
func (p Placement) Slice() time.Duration {
	if p.Share != "cpu" {
		return 0
	}
	return 300 * time.Microsecond
}
