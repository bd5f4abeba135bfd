package doctor

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// bases are machines on which nothing is wrong: their facts are in testdata.
func bases() map[string]Machine {
	return map[string]Machine{
		"x520": {Name: "server1", Role: Sender, NIC: "0000:3b:00.0", KernelDriver: "ixgbe", DPDKDriver: "vfio-pci", LinkBps: 10e9, VhostNet: true,
			PageKiB: 1 << 20, PageCount: 4, Pollers: []int{2, 4}, House: []int{0, 1}, Results: "results"},
		"ena": {Name: "ec2", Role: Receiver, NIC: "0000:00:06.0", KernelDriver: "ena", DPDKDriver: "vfio-pci", NoIOMMU: true,
			PageKiB: 2048, PageCount: 1024, Pollers: []int{2}, House: []int{0, 1}, Results: "results"},
		"lab": {Name: "here", Role: Lab, Pollers: []int{1, 2, 3}, House: []int{0}, Results: "results"},
	}
}

// facts are those of a file in testdata.
func facts(t *testing.T, base string) Facts {
	t.Helper()
	text, err := os.ReadFile("testdata/" + base + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	f := newFacts()
	for _, file := range txtar.Parse(text).Files {
		text := strings.TrimSpace(string(file.Data))
		switch file.Name {
		case "names":
			for _, name := range strings.Fields(text) {
				f.Names[name] = true
			}
		case "links":
			for line := range strings.Lines(text) {
				path, target, _ := strings.Cut(strings.TrimSpace(line), " ")
				f.Link[path] = target
			}
		case "output":
			for line := range strings.Lines(text) {
				command, out, _ := strings.Cut(strings.TrimSpace(line), " = ")
				f.Output[command] = out
			}
		default:
			f.Text[file.Name], f.Names[file.Name] = text, true
		}
	}
	return f
}

func TestHealthy(t *testing.T) {
	for base, m := range bases() {
		if found := Examine(facts(t, base), m); len(found) > 0 {
			t.Errorf("%s: %v", base, found)
		}
	}
}

func TestFindings(t *testing.T) {
	const x520, ena, lab = "x520", "ena", "lab"
	set := func(path, text string) func(*Facts, *Machine) {
		return func(f *Facts, _ *Machine) { f.Text[path] = text }
	}
	lose := func(paths ...string) func(*Facts, *Machine) {
		return func(f *Facts, _ *Machine) {
			for _, p := range paths {
				delete(f.Text, p)
				delete(f.Names, p)
				delete(f.Link, p)
			}
		}
	}
	swap := func(path, old, now string) func(*Facts, *Machine) {
		return func(f *Facts, _ *Machine) {
			if !strings.Contains(f.Text[path], old) {
				t.Errorf("%s has no %q", path, old)
			}
			f.Text[path] = strings.ReplaceAll(f.Text[path], old, now)
		}
	}
	want := func(m func(*Machine)) func(*Facts, *Machine) { return func(_ *Facts, machine *Machine) { m(machine) } }
	busy := func(b Busy) func(*Facts, *Machine) { return func(f *Facts, _ *Machine) { f.Busy = append(f.Busy, b) } }
	all := func(edits ...func(*Facts, *Machine)) func(*Facts, *Machine) {
		return func(f *Facts, m *Machine) {
			for _, e := range edits {
				e(f, m)
			}
		}
	}
	const nic = devices + "0000:3b:00.0"
	for _, tt := range []struct {
		check, base string
		edit        func(*Facts, *Machine)
		want        string // what is said first
	}{
		{"iommu-cmdline", x520, all(swap("/proc/cmdline", "intel_iommu=on", ""), lose(nic+"/iommu_group")),
			"error: the IOMMU is off: intel_iommu=on is not on the kernel's command line. vfio-pci, by which DPDK gets the NIC, takes none without an IOMMU. add intel_iommu=on iommu=pt to GRUB_CMDLINE_LINUX"},
		{"iommu-firmware", x520, lose(nic + "/iommu_group"),
			"error: the kernel found no IOMMU. vfio-pci, by which DPDK gets the NIC, takes none without an IOMMU. turn on VT-d (Intel) or AMD-Vi/IOMMU in the firmware's set-up"},
		{"iommu-cmdline", x520, all(swap("/proc/cpuinfo", "GenuineIntel", "AuthenticAMD"), swap("/proc/cmdline", "intel_iommu=on", "amd_iommu=off"), lose(nic+"/iommu_group")),
			"error: the IOMMU is off: the kernel's command line says so. "},
		{"iommu-unused", x520, want(func(m *Machine) { m.NoIOMMU = true }),
			"warning: the testbed says no_iommu, but this machine's IOMMU is on. "},
		{"turbo", x520, set("/sys/devices/system/cpu/intel_pstate/no_turbo", "0"),
			"warning: turbo is on. the clock then depends on how warm the machine is and on what the other cores do, and so does the rate. echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"},
		{"turbo", lab, set("/sys/devices/system/cpu/cpufreq/boost", "1"), "warning: turbo is on. "},
		{"isolcpus", x520, set("/sys/devices/system/cpu/isolated", "2-3"),
			"warning: CPU 4 that the experiment polls on is not in isolcpus. the scheduler may put other processes there, and the poller then waits while frames are lost. add isolcpus=2,4 to GRUB_CMDLINE_LINUX"},
		{"nohz_full", x520, set("/sys/devices/system/cpu/nohz_full", ""),
			"warning: CPUs 2,4 that the experiment polls on are not in nohz_full. the kernel's tick interrupts them hundreds of times a second. add nohz_full=2,4"},
		{"mitigations", lab, swap("/proc/cmdline", "quiet", "quiet mitigations=off"), "warning: the kernel's answers to the processor's flaws are off (mitigations=off). "},
		{"package-dpdk-dev", lab, func(f *Facts, _ *Machine) { f.Absent["dpdk-testpmd"] = true; delete(f.Output, testpmdVersion) },
			"error: dpdk-testpmd is not installed. it forwards and counts, so nothing can run. sudo apt-get install dpdk-dev"},
		{"package-qemu-system-x86", x520, func(f *Facts, _ *Machine) { f.Absent["qemu-system-x86_64"] = true; delete(f.Output, qemuVersion) },
			"error: qemu-system-x86_64 is not installed. the guests run in it, so nothing can run. sudo apt-get install qemu-system-x86"},
		{"dpdk-old", ena, func(f *Facts, _ *Machine) { f.Output[testpmdVersion] = "EAL: RTE Version: 'DPDK 19.11.14'" }, "warning: DPDK is 19.11. "},
		{"qemu-old", lab, func(f *Facts, _ *Machine) { f.Output[qemuVersion] = "QEMU emulator version 3.1.0" }, "error: QEMU is 3.01. "},
		{"module-vfio-pci", ena, set("/lib/modules/6.1.0-18-cloud-amd64/modules.dep", "kernel/drivers/net/ethernet/amazon/ena/ena.ko:"),
			"error: the kernel has no module vfio-pci. DPDK drives the NIC by way of it. install the kernel's modules"},
		{"module-vhost_net", x520, swap("/lib/modules/6.1.0-18-amd64/modules.dep", "vhost_net.ko", "gone.ko"),
			"error: the kernel has no module vhost_net. vhost-net is that module; without it QEMU would serve the guest itself, which is another experiment. "},
		{"module-macvtap", x520, swap("/lib/modules/6.1.0-18-amd64/modules.dep", "macvtap.ko", "gone.ko"), "error: the kernel has no module macvtap. "},
		{"nic-absent", ena, want(func(m *Machine) { m.NIC = "0000:00:07.0" }),
			"error: there is no PCI device 0000:00:07.0. it is the experiment's NIC. look for its address with: lspci -D | grep -i ethernet"},
		{"driver-unknown", ena, want(func(m *Machine) { m.KernelDriver = "enb" }),
			"error: the kernel has no driver enb. the NIC could not be given back to it. correct kernel_driver in the testbed's file: lspci -k -s 0000:00:06.0 names it"},
		{"iommu-group", x520, func(f *Facts, _ *Machine) {
			f.Link["/sys/kernel/iommu_groups/30/devices/0000:3b:00.1"] = "0000:3b:00.1"
			f.Link[devices+"0000:3b:00.1/driver"] = "ixgbe"
		}, "error: 0000:3b:00.0 is in one IOMMU group with 0000:3b:00.1, which the driver ixgbe has. vfio gives away a group whole or not at all. "},
		{"hugepages-none", ena, want(func(m *Machine) { m.PageCount = 0 }),
			"error: no hugepage is free, and the testbed asks for none. testpmd has its packets in hugepages where it drives a NIC. "},
		{"hugepages-size", ena, want(func(m *Machine) { m.PageKiB = 1 << 20 }), "error: the kernel has no hugepages of 1G. "},
		{"hugepages-1g", x520, set("/sys/kernel/mm/hugepages/hugepages-1048576kB/free_hugepages", "3"),
			"error: 3 hugepages of 1G are free, of 4. pages of that size can seldom be had once a machine has run for a while. add hugepagesz=1G hugepages=4"},
		{"hugepages-memory", ena, swap("/proc/meminfo", "95420416", "2000000"),
			"error: 0 hugepages of 2M are free, of 1024, and for the others 1953 MiB of memory are left. "},
		{"hugepages-node", x520, set("/sys/devices/system/node/node0/hugepages/hugepages-1048576kB/free_hugepages", "3"),
			"warning: 3 of 4 hugepages of 1G are free on NUMA node 0, which has the NIC. frames in another node's memory cross between the processors twice. echo 4 | sudo tee /sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages"},
		{"link-down", x520, set("/sys/class/net/enp59s0f0/carrier", "0"), "error: enp59s0f0 has no link. no frame can cross the cable. "},
		{"link-slow", x520, set("/sys/class/net/enp59s0f0/speed", "1000"),
			"error: enp59s0f0 has agreed on 1000 Mb/s, and the testbed's link is of 10000. "},
		{"link-half", ena, set("/sys/class/net/ens6/duplex", "half"), "error: ens6 is half duplex. "},
		{"pcie-width", x520, set(nic+"/current_link_width", "4"), "warning: the NIC has 4 PCIe lanes of 8. the bus may carry less than the cable. "},
		{"pcie-speed", x520, set(nic+"/current_link_speed", "2.5 GT/s PCIe"), "warning: the NIC's PCIe runs at 2.5 GT/s PCIe of 5.0 GT/s PCIe. "},
		{"kvm-absent", lab, lose("/dev/kvm"),
			"warning: there is no /dev/kvm. guests then run in an emulator, and their rate is the emulator's. turn on virtualisation in the firmware's set-up, then: sudo modprobe kvm_intel (or kvm_amd)"},
		{"kvm-absent", lab, all(lose("/dev/kvm"), swap("/proc/cpuinfo", "constant_tsc", "constant_tsc hypervisor")),
			"warning: there is no /dev/kvm. guests then run in an emulator, and their rate is the emulator's. use a machine that is no virtual one"},
		{"kvm-permission", lab, func(f *Facts, _ *Machine) { f.Errno["/dev/kvm"] = 13 },
			"warning: /dev/kvm may not be opened. guests then run in an emulator, and their rate is the emulator's. sudo usermod -aG kvm $USER, then log in again"},
		{"kvm-boot", lab, func(f *Facts, _ *Machine) { f.KVM = "/dev/kvm is there, but a guest does not boot with it within 10s" },
			"warning: /dev/kvm is there, but a guest does not boot with it within 10s. guests then run in an emulator"},
		{"cpu-offline", lab, set("/sys/devices/system/cpu/online", "0-2"), "error: CPU 3, which the experiment polls on, is not online (0-2 are). "},
		{"cpus-few", lab, all(set("/sys/devices/system/cpu/online", "0-1"), want(func(m *Machine) { m.Pollers, m.Share = []int{0, 1}, "cpu" })),
			"warning: pollers share a CPU, because there are 2. "},
		{"cpu-node", x520, set("/sys/devices/system/node/node0/cpulist", "0-3"),
			"warning: CPU 4 that the experiment polls on is not on NUMA node 0, which has the NIC. each frame then crosses between the processors. choose of 0-3 in the testbed's file"},
		{"smt", x520, set("/sys/devices/system/cpu/cpu2/topology/thread_siblings_list", "2,4"), "warning: CPU 2 polls, and CPU 4 of the same core polls, too. "},
		{"smt", x520, set("/sys/devices/system/cpu/cpu4/topology/thread_siblings_list", "0,4"), "warning: CPU 4 polls, and CPU 0 of the same core has everything else to do. "},
		{"governor", x520, set("/sys/devices/system/cpu/cpu4/cpufreq/scaling_governor", "powersave"),
			"warning: the frequency of CPU 4 follows the load (governor powersave). the clock is then no constant, and neither is the rate. write governor: performance into the testbed's file"},
		{"governor", lab, set("/sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "schedutil"),
			"warning: the frequency of CPU 1 follows the load (governor schedutil). the clock is then no constant, and neither is the rate. sudo cpupower -c 1 frequency-set -g performance"},
		{"clocksource", x520, set("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet"), "warning: the kernel's clock is hpet. "},
		{"irqs", x520, set("/proc/irq/31/effective_affinity_list", "4"),
			"warning: interrupts arrive on CPUs that the experiment polls on (IRQ 31). each takes the poller off its CPU for some microseconds. "},
		{"testpmd", x520, busy(Busy{"dpdk-testpmd", 4711, 7, 1}),
			"warning: another testpmd (pid 4711) runs on CPU 7. it polls for a whole CPU, and may hold the NIC or the hugepages that this experiment wants. see what it is (ps -fp 4711), and end it with: sudo kill 4711"},
		{"busy", lab, busy(Busy{"cc1", 99, 2, 0.98}), "warning: cc1 (pid 99) uses 98 % of CPU 2, which the experiment polls on. "},
		{"irqbalance", x520, busy(Busy{"irqbalance", 640, 0, 0.01}), "warning: irqbalance (pid 640) runs. "},
		{"disk", lab, func(f *Facts, _ *Machine) { f.Output[dfCommand] = "/dev/sda1 10255636 9731336 524300 95% /" },
			"error: 512 MiB are free where results go. "},
	} {
		m := bases()[tt.base]
		f := facts(t, tt.base)
		tt.edit(&f, &m)
		found := Examine(f, m)
		if len(found) != 1 || found[0].Check != tt.check || found[0].Machine != m.Name || !strings.HasPrefix(found[0].String(), tt.want) {
			t.Errorf("%s on %s: %v\nwant %s", tt.check, tt.base, found, tt.want)
		}
		for _, f := range found {
			if f.What == "" || f.Why == "" || f.Mend == "" {
				t.Errorf("%s: it lacks a part: %+v", tt.check, f)
			}
		}
	}
}

// What is mended first comes first: the firmware before the cable before the rest.
func TestOrder(t *testing.T) {
	m, f := bases()["x520"], facts(t, "x520")
	f.Text["/sys/devices/system/clocksource/clocksource0/current_clocksource"] = "hpet"
	f.Text["/sys/class/net/enp59s0f0/carrier"] = "0"
	f.Text["/sys/devices/system/cpu/isolated"] = ""
	delete(f.Link, devices+m.NIC+"/iommu_group")
	var got []string
	for _, found := range Examine(f, m) {
		got = append(got, found.Check)
	}
	if want := "iommu-firmware isolcpus link-down clocksource"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
