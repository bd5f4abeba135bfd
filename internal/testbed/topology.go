// Package testbed knows the machines of an experiment: their CPUs and which of
// them does what, and the wires between the machine that sends and the one
// that counts.
package testbed

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/agent"
)

// CPU is a logical CPU as the kernel numbers it.
type CPU struct {
	ID      int
	Core    int // its physical core: the lowest CPU number among its siblings
	Package int
	Node    int // its NUMA node
}

// Topology are the CPUs that a process of this user may run on, by number.
type Topology []CPU

// ReadTopology reads the topology from sysfs (Documentation/admin-guide/
// cputopology.rst in the kernel) and the agent's own affinity.
func ReadTopology(ctx context.Context, a agent.Agent) (Topology, error) {
	r, err := a.Read(ctx, "/proc/self/status")
	if err != nil {
		return nil, err
	}
	if r[0].Err != "" {
		return nil, fmt.Errorf("which CPUs there are: %s", r[0].Err)
	}
	_, list, _ := strings.Cut(string(r[0].Data), "Cpus_allowed_list:")
	list, _, _ = strings.Cut(list, "\n")
	ids, err := ParseCPUs(strings.TrimSpace(list))
	if err != nil {
		return nil, fmt.Errorf("which CPUs there are: %w", err)
	}
	paths := make([]string, 0, 2*len(ids))
	for _, id := range ids {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/", id)
		paths = append(paths, dir+"thread_siblings_list", dir+"physical_package_id")
	}
	r, err = a.Read(ctx, paths...)
	if err != nil {
		return nil, err
	}
	nodes, err := readNodes(ctx, a)
	if err != nil {
		return nil, err
	}
	var t Topology
	for i, id := range ids {
		c := CPU{ID: id, Core: id}
		// Machines that don't say (some containers) have no siblings.
		if sib, err := ParseCPUs(strings.TrimSpace(string(r[2*i].Data))); err == nil && len(sib) > 0 {
			c.Core = slices.Min(sib)
		}
		if n, err := strconv.Atoi(strings.TrimSpace(string(r[2*i+1].Data))); err == nil {
			c.Package = n
		}
		c.Node = nodes[id]
		t = append(t, c)
	}
	return t, nil
}

// readNodes is the NUMA node of each CPU (the kernel's Documentation/ABI/stable/
// sysfs-devices-node). A machine without them is node 0.
func readNodes(ctx context.Context, a agent.Agent) (map[int]int, error) {
	lists, err := a.List(ctx, "/sys/devices/system/node/node[0-9]*/cpulist")
	if err != nil {
		return nil, fmt.Errorf("which NUMA nodes there are: %w", err)
	}
	of := map[int]int{}
	for _, l := range lists {
		node, err := strconv.Atoi(strings.TrimPrefix(filepath.Base(filepath.Dir(l.Path)), "node"))
		if err != nil {
			continue
		}
		r, err := a.Read(ctx, l.Path)
		if err != nil {
			return nil, fmt.Errorf("which NUMA nodes there are: %w", err)
		}
		// A node of memory alone has an empty list.
		cpus, err := ParseCPUs(strings.TrimSpace(string(r[0].Data)))
		if err != nil {
			continue
		}
		for _, cpu := range cpus {
			of[cpu] = node
		}
	}
	return of, nil
}

// ParseCPUs reads the kernel's list format: "0-3,8".
func ParseCPUs(list string) ([]int, error) {
	var out []int
	for part := range strings.SplitSeq(list, ",") {
		first, last, ranged := strings.Cut(part, "-")
		from, err := strconv.Atoi(first)
		if err != nil {
			return nil, fmt.Errorf("CPU list %q: %w", list, err)
		}
		to := from
		if ranged {
			if to, err = strconv.Atoi(last); err != nil {
				return nil, fmt.Errorf("CPU list %q: %w", list, err)
			}
		}
		for c := from; c <= to; c++ {
			out = append(out, c)
		}
	}
	return out, nil
}
