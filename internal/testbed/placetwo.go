package testbed

import (
	"fmt"
	"slices"
)

// PlaceTwo places the pollers on two machines, each near its NIC, whose NUMA node
// is given (-1: the machine doesn't say): frames that cross to another node cross
// twice. What the user chose stands.
func PlaceTwo(sender, receiver Topology, s, r CPUs, senderNode, receiverNode int) (Placement, error) {
	if len(sender) == 0 || len(receiver) == 0 {
		return Placement{}, fmt.Errorf("no CPU to run on")
	}
	var p Placement
	near := sender.coresNear(senderNode)
	switch {
	case len(near) >= 3: // the first is the rest's
		p.Forwarder, p.Guest = near[1][0], near[2][0]
	case len(near) == 2:
		p.Forwarder, p.Guest = near[0][0], near[1][0]
	default:
		p.Forwarder, p.Guest = near[0][0], near[0][len(near[0])-1]
	}
	choose(&p.Forwarder, s.Forwarder)
	choose(&p.Guest, s.Guest)
	last := receiver.coresNear(receiverNode)
	if len(last) > 1 {
		p.Client = last[1][0]
	} else {
		p.Client = last[0][len(last[0])-1]
	}
	choose(&p.Client, r.Client)
	for _, c := range []struct {
		what, where string
		cpu         int
		on          Topology
	}{{"forwarder", "sender", p.Forwarder, sender}, {"guest", "sender", p.Guest, sender}, {"client", "receiver", p.Client, receiver}} {
		if !slices.ContainsFunc(c.on, func(t CPU) bool { return t.ID == c.cpu }) {
			return p, fmt.Errorf("the %s has no CPU %d for the %s; it has %v", c.where, c.cpu, c.what, c.on.ids())
		}
	}
	p.House = sender.rest(s.House, p.Forwarder, p.Guest)
	p.ClientHouse = receiver.rest(r.House, p.Client)
	switch {
	case p.Forwarder == p.Guest:
		p.Share = "cpu"
	case sender.core(p.Forwarder) == sender.core(p.Guest):
		p.Share = "core"
	}
	return p, nil
}

func choose(cpu, chosen *int) {
	if chosen != nil {
		*cpu = *chosen
	}
}

// coresNear are the CPUs of each core on a NUMA node, or of any where it has
// fewer than two.
func (t Topology) coresNear(node int) [][]int {
	cores := map[int][]int{}
	for _, c := range t {
		if node < 0 || c.Node == node {
			cores[c.Core] = append(cores[c.Core], c.ID)
		}
	}
	if node >= 0 && len(cores) < 2 {
		return t.coresNear(-1)
	}
	var out [][]int
	for _, core := range sortedKeys(cores) {
		out = append(out, cores[core])
	}
	return out
}

func (t Topology) ids() []int {
	ids := make([]int, len(t))
	for i, c := range t {
		ids[i] = c.ID
	}
	return ids
}

// core is that of a CPU.
func (t Topology) core(cpu int) int {
	for _, c := range t {
		if c.ID == cpu {
			return c.Core
		}
	}
	return cpu
}

// rest are the CPUs for everything that doesn't poll: those that were chosen, or
// all but the pollers' and their siblings, or all but the pollers', or all.
func (t Topology) rest(chosen []int, pollers ...int) []int {
	if len(chosen) > 0 {
		return chosen
	}
	var far, other []int
	for _, c := range t {
		if slices.Contains(pollers, c.ID) {
			continue
		}
		other = append(other, c.ID)
		if !slices.ContainsFunc(pollers, func(p int) bool { return t.core(p) == c.Core }) {
			far = append(far, c.ID)
		}
	}
	switch {
	case len(far) > 0:
		return far
	case len(other) > 0:
		return other
	}
	return t.ids()
}
