package diagnose

import "strings"

// vfioRules are what keeps a NIC from DPDK: VFIO, UIO, IOMMU groups and
// dpdk-devbind.py. The texts are those of lib/eal/linux/eal_vfio.c,
// drivers/bus/pci and usertools/dpdk-devbind.py from 16.07 to 25.11, and of
// Linux's drivers/vfio.
func vfioRules() []rule {
	return []rule{
		{
			kind: "vfio-group", rank: cause,
			match: `(?P<dev>` + pci + `)\s+VFIO group is not viable`,
			what:  "{dev} can't be used through VFIO",
			why:   "another device of its IOMMU group is still with a kernel driver",
			mend:  "ls /sys/bus/pci/devices/{dev}/iommu_group/devices names the group: bind all of it with dpdk-devbind.py -b vfio-pci, use another NIC, or dpdk-devbind.py -b uio_pci_generic {dev}",
		},
		{
			// Linux until 6.8, and since.
			kind: "no-iommu", rank: cause,
			match: `(?:vfio-pci: probe of (?P<dev>` + pci + `)|vfio-pci (?P<dev2>` + pci + `): probe with driver vfio-pci) failed with error -(?:22|19)\b`,
			what:  "vfio-pci refuses {dev}",
			why:   "the kernel has no IOMMU on, so the device is in no group",
			mend:  "boot with intel_iommu=on (or amd_iommu=on) and VT-d on in the BIOS, or without protection echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode",
		},
		{
			kind: "no-iommu", rank: cause,
			match: `bind failed for (?P<dev>\S+) - Cannot bind to driver vfio-pci(?:: \[Errno (?:22|19)\] .*)?$`,
			what:  "{dev} can't be bound to vfio-pci",
			why:   "the kernel has no IOMMU on, so the device is in no group",
			mend:  "boot with intel_iommu=on (or amd_iommu=on) and VT-d on in the BIOS, or without protection echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode and bind again",
		},
		{
			kind: "no-iommu", rank: cause,
			match: `IOMMU support is disabled, use --noiommu-mode for binding in noiommu mode|failed to enable unsafe noiommu mode - (?P<err>.+)`,
			what:  "dpdk-devbind binds nothing to vfio-pci{err|}",
			why:   "the kernel has no IOMMU on",
			mend:  "boot with intel_iommu=on (or amd_iommu=on), or without protection dpdk-devbind.py --noiommu-mode -b vfio-pci DEVICE",
			more: func(_ *console, _ int, v values) bool {
				if v["err"] != "" {
					v["err"] = " (" + v["err"] + ")"
				}
				return true
			},
		},
		{
			kind: "bind-failed", rank: cause,
			match: `bind failed for (?P<dev>\S+) - (?P<err>Cannot open (?P<path>/sys/bus/pci/drivers/(?P<driver>[^/]*)/\S+?)(?::.*)?$)`,
			not:   `unbind failed`,
			what:  "{dev} can't be bound to {driver}",
			why:   "the kernel has loaded no driver of that name, or one must be root",
			mend:  "sudo modprobe {driver} and bind again as root; the name is written with a hyphen in vfio-pci",
		},
		{
			kind: "bind-failed", rank: effect,
			match: `(?P<un>un)?bind failed for (?P<dev>\S+) - (?P<err>.+)`,
			what:  "dpdk-devbind couldn't {un|}bind {dev} ({err})",
			why:   "the kernel refused it",
			mend:  "look at dmesg | tail, and at the device with dpdk-devbind.py --status-dev net, as root",
		},
		{
			kind: "driver-not-loaded", rank: cause,
			match: `Error: Driver '(?P<driver>[^']+)' is not loaded`,
			what:  "the kernel driver {driver} isn't loaded",
			why:   "dpdk-devbind loads none itself",
			mend:  "sudo modprobe {driver}",
		},
		{
			kind: "driver-not-loaded", rank: note, once: true,
			match: `no supported (?:DPDK kernel )?modules(?: ?\(DPDK driver\))? are loaded`,
			what:  "no kernel driver that DPDK can use is loaded",
			why:   "a NIC must be bound to one",
			mend:  "sudo modprobe vfio-pci",
		},
		{
			kind: "nic-active", rank: cause,
			match: `routing table indicates that interface (?P<dev>\S+) is active\. (?P<did>Not modifying|Skipping unbind)`,
			what:  "{dev} stays with the kernel and was not bound",
			why:   "it has an address and routes, and may carry your own SSH session",
			mend:  "see ip -br addr and ip route; unless it carries the default route or your session, ip addr flush dev IFNAME and ip link set IFNAME down, then bind again",
		},
		{
			kind: "device-absent", rank: cause,
			match: `Unknown device: (?P<dev>\S+?)\. Please specify device`,
			what:  "there is no device {dev}",
			why:   "the address is wrong, or the interface is already with DPDK and has no name any more",
			mend:  "find it with dpdk-devbind.py --status-dev net, or lspci -D -d ::0200",
		},
		{
			kind: "vfio-device-permission", rank: cause,
			match: `Cannot open (?P<path>/dev/(?:vfio/\S+|uio\S+|vfio)): (?P<err>Permission denied|Operation not permitted)`,
			what:  "{path} can't be opened ({err})",
			why:   "it belongs to root",
			mend:  "run testpmd as root, or sudo chown $USER {path} after each bind, and raise the limit on locked memory (ulimit -l unlimited)",
		},
		{
			kind: "vfio-device-busy", rank: cause,
			match: `(?:[Cc]annot open|failed to open|error opening) '?(?P<path>/dev/(?:vfio/\S+?|uio\S+?))'?: (?P<err>Device or resource busy)`,
			what:  "{path} is in use",
			why:   "another process, a testpmd or a virtual machine, holds the device's IOMMU group",
			mend:  "fuser -v {path} names it: end it, or use another NIC",
		},
		{
			kind: "vfio-absent", rank: cause,
			match: `Cannot open (?:VFIO container )?(?P<path>/dev/vfio/[^,:\s]+)(?:, error \d+ \(|: )(?P<err>[^)]+)`,
			what:  "{path} can't be opened ({err})",
			why:   "the vfio modules aren't loaded, or the container wasn't given the device",
			mend:  "sudo modprobe vfio-pci, and in a container pass --device /dev/vfio",
		},
		{
			kind: "memlock", rank: cause,
			match: `(?:Cannot set up DMA remapping|DMA remapping failed|[Cc]annot map vaddr for IOMMU|Cannot register vaddr for IOMMU), error 12 \(|RLIMIT_MEMLOCK \((?P<limit>\d+)\) exceeded`,
			what:  "the NIC can't be given DPDK's memory",
			why:   "the process may lock too little of it{limit|}, and VFIO locks all",
			mend:  "ulimit -l unlimited before testpmd, LimitMEMLOCK=infinity in a unit, --ulimit memlock=-1 for a container",
			more: func(_ *console, _ int, v values) bool {
				if v["limit"] != "" {
					v["limit"] = " (" + v["limit"] + " bytes)"
				}
				return true
			},
		},
		{
			kind: "dma-map", rank: cause,
			match: `(?P<err>(?:Cannot set up DMA remapping|DMA remapping failed|[Cc]annot map vaddr for IOMMU), error \d+ \([^)]*\))`,
			what:  "the NIC can't be given DPDK's memory ({err})",
			why:   "the IOMMU can't map where that memory lies",
			mend:  "try --iova-mode=pa, or --legacy-mem with larger pages, and look at dmesg | grep -i -e dmar -e iommu -e vfio",
		},
		{
			kind: "interrupt-remapping", rank: cause,
			match: `cannot add VFIO group to container, error 1 \(|No interrupt remapping (?:support|for this)`,
			what:  "VFIO doesn't hand the NIC out",
			why:   "the platform has no interrupt remapping",
			mend:  "turn it on in the BIOS (VT-d, x2APIC), or where the guest is trusted echo 1 > /sys/module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
		},
		{
			kind: "vfio-container", rank: cause,
			match: `(?P<dev>` + pci + `)\s+(?P<err>cannot add VFIO group to container, error \d+ \([^)]*\)|failed to select IOMMU type|cannot get VFIO group status, error \d+ \([^)]*\)|cannot get IOMMU group)|(?P<err2>No supported IOMMU extensions found)`,
			what:  "{dev|the NIC} can't be used through VFIO ({err})",
			why:   "the module vfio_iommu_type1 isn't loaded, or the group is in another container",
			mend:  "sudo modprobe vfio_iommu_type1, and end other users of /dev/vfio (fuser -v /dev/vfio/*)",
		},
		{
			kind: "iova-mismatch", rank: cause,
			match: `Expecting '(?P<want>PA|VA)' IOVA mode but current mode is '(?P<have>PA|VA)'|(?P<dev>\S+) requires (?P<want2>VA) IOVA mode but current mode is (?P<have2>PA)`,
			what:  "{dev|a device} needs IOVA mode {want} and EAL runs in {have}",
			why:   "{why}",
			mend:  "{mend}",
			more: func(c *console, i int, v values) bool {
				if v["dev"] == "" {
					if m := c.before(i, regexpProbed()); m != nil {
						v["dev"] = m[1]
					}
				}
				if v["want"] == "PA" {
					v["why"] = "it is on a UIO driver or in no-IOMMU mode and sees physical addresses only"
					v["mend"] = "add --iova-mode=pa and run as root, or turn the IOMMU on and bind the device to vfio-pci"
				} else {
					v["why"] = "its driver works on virtual addresses only, and another device or no IOMMU made EAL choose PA"
					v["mend"] = "add --iova-mode=va, with vfio-pci and the IOMMU on"
				}
				return true
			},
		},
		{
			kind: "mlx-kernel-driver", rank: cause,
			match: `No Verbs device matches PCI device (?P<dev>[^,\s]+)|(?P<no>no Verbs device)|Verbs device not found`,
			what:  "DPDK can't drive the NVIDIA (Mellanox) NIC {dev|}",
			why:   "its driver works beside the kernel's, which must keep the device",
			mend:  "sudo modprobe -a mlx5_core mlx5_ib ib_uverbs, and give it back with dpdk-devbind.py -b mlx5_core {dev|DEVICE}",
		},
		{
			kind: "device-not-bound", rank: cause,
			match: `(?P<dev>` + pci + `) not managed by (?P<by>VFIO|UIO) driver`,
			more: func(c *console, i int, v values) bool {
				return c.has(i, "Requested device "+v["dev"]+" cannot be used", "No probed ethernet devices")
			},
			what: "DPDK can't take {dev}",
			why:  "a kernel driver still has it",
			mend: "dpdk-devbind.py --status-dev net shows which, and dpdk-devbind.py -b vfio-pci {dev} takes it over",
		},
		{
			kind: "device-unusable", rank: effect,
			match: `Requested device (?P<dev>` + pci + `) cannot be used|Cannot find device \((?P<dev2>[^)]+)\)|Driver cannot attach the device \((?P<dev3>[^)]+)\)|Cannot find plugged device \((?P<dev4>[^)]+)\)`,
			what:  "DPDK can't use the device {dev}",
			why:   "it isn't bound to vfio-pci or a UIO driver, its address is wrong, or its driver isn't loaded",
			mend:  "look at dpdk-devbind.py --status-dev net, then dpdk-devbind.py -b vfio-pci {dev}",
		},
		{
			kind: "device-unusable", rank: ending,
			match: `Failed to open VFIO group (?P<group>\d+)|Getting a vfio_dev_fd for (?P<dev>\S+) failed|Failed to attach device on primary process`,
			what:  "a device could not be taken over through VFIO",
			why:   "the line before says where it stopped",
			mend:  "look at dpdk-devbind.py --status-dev net and dmesg | grep -i vfio",
		},
		{
			kind: "virtio-pci-init", rank: cause,
			match: `\w*virtio\w*\(\): (?P<err>Failed to (?:init PCI device|remap PCI device|init virtio device))`,
			what:  "DPDK can't drive a virtio NIC ({err})",
			why:   "a legacy device needs I/O ports, which are root's, and a UIO driver or an IOMMU behind it",
			mend:  "in the guest as root, modprobe uio_pci_generic and dpdk-devbind.py -b uio_pci_generic DEVICE, with virtio_pci not loaded",
		},
		{
			kind: "uio-permission", rank: cause,
			match: `insufficient ioport permissions for PCI device (?P<dev>\S+)`,
			what:  "DPDK may not use the I/O ports of {dev|the NIC}",
			why:   "that is root's right (CAP_SYS_RAWIO)",
			mend:  "run testpmd as root",
		},
	}
}

// pci is a PCI address as DPDK and Linux write it.
const pci = `[0-9a-fA-F]{4,}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]`

// Before 20.11 "PCI device ADDR on NUMA socket", since "Probe PCI driver: NAME
// (ID) device: ADDR (socket N)".
var regexpProbed = lazily(`(?:PCI device |device: )(` + pci + `)`)

// probed names the devices that EAL looked at, and with which driver.
func probed(c *console, i int) string {
	return strings.Join(c.all(i, regexpProbed()), ", ")
}
