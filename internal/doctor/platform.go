package doctor

import (
	"fmt"
	"slices"
	"strings"
)

const devices = "/sys/bus/pci/devices/"

// vfio says whether the NIC is to be driven by way of vfio.
func (e *examination) vfio() bool { return e.m.NIC != "" && e.m.DPDKDriver == "vfio-pci" }

func (e *examination) booted(option string) bool {
	return slices.Contains(strings.Fields(e.f.Text["/proc/cmdline"]), option)
}

// intel says whether the processor is one of Intel's; AMD's IOMMU is on unless it
// is told otherwise (the kernel's Documentation/admin-guide/kernel-parameters.txt).
func (e *examination) intel() bool {
	return strings.Contains(e.f.Text["/proc/cpuinfo"], "GenuineIntel")
}

// virtual says whether the machine is a virtual one itself.
func (e *examination) virtual() bool {
	for line := range strings.Lines(e.f.Text["/proc/cpuinfo"]) {
		if strings.HasPrefix(line, "flags") {
			return slices.Contains(strings.Fields(line), "hypervisor")
		}
	}
	return false
}

// iommu looks whether the NIC can be given to a process (the kernel's
// Documentation/driver-api/vfio.rst).
func iommu(e *examination) {
	if !e.vfio() || !e.f.Names[devices+e.m.NIC] {
		return
	}
	_, grouped := e.f.Link[devices+e.m.NIC+"/iommu_group"]
	const why = "vfio-pci, by which DPDK gets the NIC, takes none without an IOMMU"
	switch {
	case grouped && e.m.NoIOMMU:
		e.warn("iommu-unused", "the testbed says no_iommu, but this machine's IOMMU is on",
			"vfio's mode without an IOMMU lets the NIC write to any memory, and here it need not", "leave no_iommu out of the testbed's file")
	case grouped || e.m.NoIOMMU:
	case e.intel() && !e.booted("intel_iommu=on"):
		e.error("iommu-cmdline", "the IOMMU is off: intel_iommu=on is not on the kernel's command line", why,
			`add intel_iommu=on iommu=pt to GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot (in a cloud without an IOMMU: no_iommu: true in the testbed's file)`)
	case e.booted("amd_iommu=off") || e.booted("iommu=off"):
		e.error("iommu-cmdline", "the IOMMU is off: the kernel's command line says so", why,
			`take iommu=off and amd_iommu=off out of GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot`)
	default:
		e.error("iommu-firmware", "the kernel found no IOMMU", why,
			"turn on VT-d (Intel) or AMD-Vi/IOMMU in the firmware's set-up; where there is none: no_iommu: true in the testbed's file")
	}
}

// turbo looks whether the CPUs' clock depends on how warm they are (the kernel's
// Documentation/admin-guide/pm/intel_pstate.rst and cpufreq.rst).
func turbo(e *examination) {
	const pstate, boost = "/sys/devices/system/cpu/intel_pstate/no_turbo", "/sys/devices/system/cpu/cpufreq/boost"
	const why = "the clock then depends on how warm the machine is and on what the other cores do, and so does the rate"
	switch {
	case e.f.Text[pstate] == "0":
		e.warn("turbo", "turbo is on", why, "echo 1 | sudo tee "+pstate)
	case e.f.Text[boost] == "1":
		e.warn("turbo", "turbo is on", why, "echo 0 | sudo tee "+boost)
	}
}

// isolation looks whether the scheduler and its tick leave the pollers alone. A
// lab is a look; there nobody would give CPUs away for it.
func isolation(e *examination) {
	if e.m.NIC == "" {
		return
	}
	for _, way := range []struct{ option, file, why string }{
		{"isolcpus", "/sys/devices/system/cpu/isolated", "the scheduler may put other processes there, and the poller then waits while frames are lost"},
		{"nohz_full", "/sys/devices/system/cpu/nohz_full", "the kernel's tick interrupts them hundreds of times a second"},
	} {
		var not []int
		have := list(e.f.Text[way.file])
		for _, cpu := range e.m.Pollers {
			if !slices.Contains(have, cpu) {
				not = append(not, cpu)
			}
		}
		if len(not) > 0 {
			e.warn(way.option, fmt.Sprintf("%s that the experiment polls on %s not in %s", cpuWords(not), isAre(not), way.option), way.why,
				fmt.Sprintf("add %s=%s to GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot", way.option, commas(e.m.Pollers)))
		}
	}
}

func mitigations(e *examination) {
	if e.booted("mitigations=off") {
		e.warn("mitigations", "the kernel's answers to the processor's flaws are off (mitigations=off)",
			"vhost-net and every system call are faster than on a machine that can be used, so numbers compare only with others of that kind",
			"take mitigations=off out of GRUB_CMDLINE_LINUX in /etc/default/grub, then: sudo update-grub && sudo reboot")
	}
}
