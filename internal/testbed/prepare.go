package testbed

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sweep/internal/agent"
)

// Need is what a machine of a testbed must have for its part.
type Need struct {
	Modules []string // of the kernel's
	// NoIOMMU lets vfio work without an IOMMU, as on a cloud's machine that
	// gives its guests none.
	NoIOMMU bool
	// Pages are hugepages of PageKiB each, on NUMA node Node (-1: any).
	Pages, PageKiB, Node int
	// Governor is that of the frequency of the CPUs Pollers; as it is where
	// empty.
	Governor string
	Pollers  []int
}

// Prepare gives a machine what it needs and has not. All of it is given back
// when the agent is closed.
func Prepare(ctx context.Context, a agent.Agent, n Need) error {
	for _, m := range n.Modules {
		if _, err := a.Apply(ctx, agent.LoadModule(m)); err != nil {
			return err
		}
	}
	if n.NoIOMMU {
		if _, err := a.Apply(ctx, agent.WriteFile("/sys/module/vfio/parameters/enable_unsafe_noiommu_mode", "Y")); err != nil {
			return err
		}
	}
	if err := reserve(ctx, a, n); err != nil {
		return err
	}
	if n.Governor == "" {
		return nil
	}
	for _, cpu := range n.Pollers {
		path := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/scaling_governor", cpu)
		if a.Find(ctx, path) != nil {
			continue // a virtual machine has none
		}
		if _, err := a.Apply(ctx, agent.WriteFile(path, n.Governor)); err != nil {
			return err
		}
	}
	return nil
}

// reserve reserves hugepages until as many are free as are needed (the kernel's
// Documentation/admin-guide/mm/hugetlbpage.rst).
func reserve(ctx context.Context, a agent.Agent, n Need) error {
	if n.Pages == 0 {
		return nil
	}
	size := fmt.Sprintf("/hugepages/hugepages-%dkB", n.PageKiB)
	dir := "/sys/kernel/mm" + size
	if node := fmt.Sprintf("/sys/devices/system/node/node%d%s", n.Node, size); n.Node >= 0 && a.Find(ctx, node) == nil {
		dir = node
	}
	r, err := a.Read(ctx, dir+"/nr_hugepages", dir+"/free_hugepages")
	if err != nil {
		return err
	}
	var have [2]int // reserved, free
	for i := range have {
		if r[i].Err != "" {
			return fmt.Errorf("hugepages of %d KiB: the kernel has none of that size: %s", n.PageKiB, r[i].Err)
		}
		if have[i], err = strconv.Atoi(strings.TrimSpace(string(r[i].Data))); err != nil {
			return fmt.Errorf("hugepages of %d KiB: %w", n.PageKiB, err)
		}
	}
	short := n.Pages - have[1]
	if short <= 0 {
		return nil
	}
	_, err = a.Apply(ctx, agent.WriteFile(dir+"/nr_hugepages", strconv.Itoa(have[0]+short)))
	if err != nil {
		return fmt.Errorf("reserve %d hugepages of %d KiB: %w; memory is in pieces after some time: reserve them right after a boot, or on the kernel's command line (hugepages=%d)", short, n.PageKiB, err, have[0]+short)
	}
	return nil
}
