package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

func (e *examination) number(path string) (int, bool) {
	n, err := strconv.Atoi(e.f.Text[path])
	return n, err == nil
}

// hugepages looks whether there are enough, or could be (the kernel's
// Documentation/admin-guide/mm/hugetlbpage.rst). Those that are missing the run
// reserves, where memory is left.
func hugepages(e *examination) {
	if e.m.NIC == "" {
		return
	}
	const why = "testpmd has its packets in hugepages where it drives a NIC"
	if e.m.PageCount == 0 {
		for _, size := range []string{"2048", "1048576"} {
			if n, _ := e.number("/sys/kernel/mm/hugepages/hugepages-" + size + "kB/free_hugepages"); n > 0 {
				return
			}
		}
		e.error("hugepages-none", "no hugepage is free, and the testbed asks for none", why, "write hugepages: {size: 2M, count: 1024} into the testbed's file: the run reserves them and gives them back")
		return
	}
	name := fmt.Sprintf("hugepages of %s", pageSize(e.m.PageKiB))
	dir := fmt.Sprintf("/hugepages/hugepages-%dkB", e.m.PageKiB)
	free, ok := e.number("/sys/kernel/mm" + dir + "/free_hugepages")
	if !ok {
		e.error("hugepages-size", "the kernel has no "+name, why, fmt.Sprintf("write another size into the testbed's file, or boot with hugepagesz=%s", pageSize(e.m.PageKiB)))
		return
	}
	node, _ := e.number(devices + e.m.NIC + "/numa_node")
	local := fmt.Sprintf("/sys/devices/system/node/node%d%s/free_hugepages", node, dir)
	near, numa := e.number(local)
	short := e.m.PageCount - free
	switch {
	case short > 0 && e.m.PageKiB == 1<<20:
		e.error("hugepages-1g", fmt.Sprintf("%d %s are free, of %d", free, name, e.m.PageCount), "pages of that size can seldom be had once a machine has run for a while",
			fmt.Sprintf("add hugepagesz=1G hugepages=%d to GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot; or write size: 2M", e.m.PageCount))
	case short > 0 && e.available() < short*e.m.PageKiB:
		e.error("hugepages-memory", fmt.Sprintf("%d %s are free, of %d, and for the others %d MiB of memory are left", free, name, e.m.PageCount, e.available()>>10),
			why, "write a smaller count into the testbed's file, or end what uses the memory")
	case short <= 0 && numa && near < e.m.PageCount:
		e.warn("hugepages-node", fmt.Sprintf("%d of %d %s are free on NUMA node %d, which has the NIC", near, e.m.PageCount, name, node),
			"frames in another node's memory cross between the processors twice", fmt.Sprintf("echo %d | sudo tee /sys/devices/system/node/node%d%s/nr_hugepages", e.m.PageCount, node, dir))
	}
}

func pageSize(kib int) string {
	if kib == 1<<20 {
		return "1G"
	}
	return "2M"
}

// available is memory that can still be had, in KiB.
func (e *examination) available() int {
	for line := range strings.Lines(e.f.Text["/proc/meminfo"]) {
		if rest, ok := strings.CutPrefix(line, "MemAvailable:"); ok {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")))
			return n
		}
	}
	return 0
}

// disk looks at the room for results, of which df printed a line in KiB (df(1),
// -P).
func disk(e *examination) {
	if e.m.Results == "" {
		return
	}
	fields := strings.Fields(e.f.Output[dfCommand])
	if len(fields) < 4 {
		return
	}
	free, err := strconv.Atoi(fields[3])
	if err != nil || free >= 1<<20 {
		return
	}
	e.error("disk", fmt.Sprintf("%d MiB are free where results go", free>>10), "a record of some hours takes some hundred MiB, and a full disk ends the run",
		"remove what is not needed there, or name another folder with --results")
}
