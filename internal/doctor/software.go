package doctor

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// The commands whose first line is read.
const (
	testpmdVersion = "dpdk-testpmd --version"
	qemuVersion    = "qemu-system-x86_64 --version"
)

func packages(e *examination) {
	for _, p := range []struct {
		program, pkg, version, what string
		wanted                      bool
	}{
		{"dpdk-testpmd", "dpdk-dev", testpmdVersion, "it forwards and counts", true},
		{"qemu-system-x86_64", "qemu-system-x86", qemuVersion, "the guests run in it", e.m.guests()},
	} {
		if p.wanted && e.f.Absent[p.program] {
			e.error("package-"+p.pkg, p.program+" is not installed", p.what+", so nothing can run", "sudo apt-get install "+p.pkg)
		}
	}
	if v, ok := version(e.f.Output[testpmdVersion]); ok && v.before(20, 8) {
		e.warn("dpdk-old", "DPDK is "+v.String(), "before 20.08 testpmd's own Rx-pps overflows on long windows; the table's rate is from counters and is right, but the cross-check fails",
			"install DPDK 20.11 or later")
	}
	if v, ok := version(e.f.Output[qemuVersion]); ok && e.m.guests() && v.before(4, 2) {
		e.error("qemu-old", "QEMU is "+v.String(), "vhost-user needs guest memory that is shared with memory-backend-memfd and queues as they are since 4.2",
			"install QEMU 4.2 or later")
	}
}

// number is a version's first two parts.
type number struct{ major, minor int }

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)`)

func version(line string) (number, bool) {
	m := versionNumber.FindStringSubmatch(line)
	if m == nil {
		return number{}, false
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	return number{major, minor}, true
}

func (n number) before(major, minor int) bool {
	return n.major < major || n.major == major && n.minor < minor
}

func (n number) String() string { return fmt.Sprintf("%d.%02d", n.major, n.minor) }

// module says whether the kernel has a module or could load it (modules.dep(5)).
// One that is not loaded is no finding: the run loads it.
func (e *examination) module(name string) bool {
	under := strings.ReplaceAll(name, "-", "_")
	if e.f.Names["/sys/module/"+under] {
		return true
	}
	dir := "/lib/modules/" + e.f.Text["/proc/sys/kernel/osrelease"]
	for _, file := range []string{"/modules.dep", "/modules.builtin"} {
		for line := range strings.Lines(e.f.Text[dir+file]) {
			path, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			base := path[strings.LastIndexByte(path, '/')+1:]
			base, _, _ = strings.Cut(base, ".ko")
			if strings.ReplaceAll(base, "-", "_") == under {
				return true
			}
		}
	}
	return false
}

func modules(e *examination) {
	const mend = "install the kernel's modules (Debian: sudo apt-get install linux-image-amd64 in the place of the cloud kernel; Ubuntu: sudo apt-get install linux-modules-extra-$(uname -r)), then reboot"
	if e.m.NIC != "" {
		if d := e.m.DPDKDriver; d == "vfio-pci" || d == "uio_pci_generic" || d == "igb_uio" {
			if !e.module(d) {
				e.error("module-"+d, "the kernel has no module "+d, "DPDK drives the NIC by way of it", mend)
			}
		}
	}
	if !e.m.VhostNet {
		return
	}
	if !e.module("vhost_net") {
		e.error("module-vhost_net", "the kernel has no module vhost_net", "vhost-net is that module; without it QEMU would serve the guest itself, which is another experiment", mend)
	}
	if e.m.NIC != "" && !e.module("macvtap") {
		e.error("module-macvtap", "the kernel has no module macvtap", "under vhost-net the guest's frames reach the NIC by way of a macvtap", mend)
	}
}

// drivers looks at the NIC and at who has it.
func drivers(e *examination) {
	if e.m.NIC == "" {
		return
	}
	dev := devices + e.m.NIC
	if !e.f.Names[dev] {
		e.error("nic-absent", "there is no PCI device "+e.m.NIC, "it is the experiment's NIC", "look for its address with: lspci -D | grep -i ethernet")
		return
	}
	if d := e.m.KernelDriver; d != "" && !e.f.Names["/sys/bus/pci/drivers/"+d] && !e.module(d) {
		e.error("driver-unknown", "the kernel has no driver "+d, "the NIC could not be given back to it", "correct kernel_driver in the testbed's file: lspci -k -s "+e.m.NIC+" names it")
	}
	if !e.vfio() || e.m.NoIOMMU {
		return
	}
	group := e.f.Link[dev+"/iommu_group"]
	if group == "" {
		return // said by iommu
	}
	// A group is given away whole or not at all; bridges don't count, and neither
	// does who has no driver (Documentation/driver-api/vfio.rst).
	prefix := "/sys/kernel/iommu_groups/" + group + "/devices/"
	for path := range e.f.Link {
		other, ok := strings.CutPrefix(path, prefix)
		if !ok || other == e.m.NIC {
			continue
		}
		if driver := e.f.Link[devices+other+"/driver"]; driver != "" && driver != "vfio-pci" && driver != "pcieport" && driver != "pci-stub" {
			e.error("iommu-group", fmt.Sprintf("%s is in one IOMMU group with %s, which the driver %s has", e.m.NIC, other, driver),
				"vfio gives away a group whole or not at all", "put the NIC into another slot, or turn on ACS in the firmware's set-up; or free the other where you can do without it: echo "+other+" | sudo tee "+devices+other+"/driver/unbind")
			return
		}
	}
}
