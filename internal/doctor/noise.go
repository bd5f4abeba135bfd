package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// dfCommand is the command that says how much room there is; Look has it look at
// the results' folder.
const dfCommand = "df -Pk"

// clock looks at what the time is read from (the kernel's Documentation/
// timers/timekeeping.rst). A virtual machine has its hypervisor's.
func clock(e *examination) {
	const file = "/sys/devices/system/clocksource/clocksource0/current_clocksource"
	switch source := e.f.Text[file]; source {
	case "", "tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "xen":
	default:
		e.warn("clocksource", "the kernel's clock is "+source, "each reading of the time then takes a microsecond instead of twenty nanoseconds, or drifts",
			"dmesg | grep -i tsc says why the TSC is not trusted; the firmware is the usual reason")
	}
}

// interrupts looks at who interrupts the pollers (the kernel's Documentation/core-api/irq/
// irq-affinity.rst), where CPUs are set aside. The NIC's own interrupts end when
// DPDK takes it.
func interrupts(e *examination) {
	if e.m.NIC == "" {
		return
	}
	var at []string
	for path, text := range e.f.Text {
		irq, ok := strings.CutPrefix(path, "/proc/irq/")
		if !ok || !strings.HasSuffix(irq, "/effective_affinity_list") {
			continue
		}
		irq = strings.TrimSuffix(irq, "/effective_affinity_list")
		if e.f.Names[devices+e.m.NIC+"/msi_irqs/"+irq] || !busyIRQ(e.f.Text["/proc/interrupts"], irq) {
			continue
		}
		if slices.ContainsFunc(list(text), func(c int) bool { return slices.Contains(e.m.Pollers, c) }) {
			at = append(at, irq)
		}
	}
	if len(at) > 0 {
		slices.Sort(at)
		e.warn("irqs", fmt.Sprintf("interrupts arrive on CPUs that the experiment polls on (IRQ %s)", strings.Join(at, ", ")), "each takes the poller off its CPU for some microseconds",
			"stop irqbalance, then for each: echo "+commas(e.m.House)+" | sudo tee /proc/irq/N/smp_affinity_list")
	}
}

// busyIRQ says whether an interrupt ever came: most of a server's lines are
// assigned and silent.
func busyIRQ(table, irq string) bool {
	for line := range strings.Lines(table) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || name != irq {
			continue
		}
		for _, word := range strings.Fields(rest) {
			if strings.Trim(word, "0123456789") != "" {
				return false // the columns of the CPUs are over
			}
			if strings.Trim(word, "0") != "" {
				return true
			}
		}
	}
	return false
}

// pollingShare is the share of a CPU from which on a process counts as polling.
const pollingShare = 0.25

// others looks for processes that use the pollers' CPUs, or that poll a NIC
// elsewhere.
func others(e *examination) {
	for _, b := range e.f.Busy {
		kill := fmt.Sprintf("see what it is (ps -fp %d), and end it with: sudo kill %d", b.PID, b.PID)
		switch {
		case b.Comm == "dpdk-testpmd" || b.Comm == "testpmd":
			e.warn("testpmd", fmt.Sprintf("another testpmd (pid %d) runs on CPU %d", b.PID, b.CPU), "it polls for a whole CPU, and may hold the NIC or the hugepages that this experiment wants", kill)
		case b.Share >= pollingShare && slices.Contains(e.m.Pollers, b.CPU):
			e.warn("busy", fmt.Sprintf("%s (pid %d) uses %.0f %% of CPU %d, which the experiment polls on", b.Comm, b.PID, b.Share*100, b.CPU), "the two take turns, and the rate shows it", kill)
		case b.Comm == "irqbalance" && e.m.NIC != "":
			e.warn("irqbalance", fmt.Sprintf("irqbalance (pid %d) runs", b.PID), "it moves interrupts to the pollers' CPUs in the middle of a run", "sudo systemctl stop irqbalance")
		}
	}
}
