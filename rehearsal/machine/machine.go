// Package machine makes the rehearsal's two emulated machines: what they start
// from, out of Debian's packages; QEMU, that runs them; and the files by which
// they are reached from outside as two servers would be, over ssh.
package machine

import (
	"fmt"
	"strconv"
)

// The PCI addresses of a machine's two NICs.
const (
	sshNIC   = "02.0" // rc, in image, has it too
	cableNIC = "03.0"
)

// Machine is one of the two.
type Machine struct {
	Name string // "a", who sends, or "b", who receives
	Port int    // of 127.0.0.1, that leads to its sshd
}

// names are the machines', in the order in which they are started.
func names() []string { return []string{"a", "b"} }

// Host is the machine's name, its own and that in ssh_config.
func (m Machine) Host() string { return "rehearsal-" + m.Name }

// memoryMiB holds 256 hugepages of 2 MiB, a virtual machine inside, and the
// rest. Not all of it is ever touched.
const memoryMiB = 2048

// Argv is QEMU's command line. All its paths are relative to the folder of the
// state, in which it is started: a socket's path may have 107 bytes only
// (unix(7)).
//
// The machine is a q35 with an IOMMU, which vfio-pci needs (QEMU's docs and
// Linux's Documentation/driver-api/vfio.rst), and two NICs. That of the
// experiment is an e1000e: DPDK has a driver for it and so has the kernel. The
// cable is a stream between the two QEMUs, so that nothing is lost on it: who
// sends faster than the other reads has to wait. That for ssh comes by way of
// QEMU's own network stack and leads nowhere else (restrict=on).
func (m Machine) Argv() []string {
	cable := "stream,id=cable,addr.type=unix,addr.path=cable,server="
	if m.Name == names()[0] {
		cable += "on"
	} else {
		cable += "off"
	}
	return []string{
		"qemu-system-x86_64",
		"-name", m.Host() + ",debug-threads=on",
		"-nodefaults", "-no-user-config", "-display", "none",
		"-machine", "q35",
		"-accel", "tcg,thread=multi",
		"-cpu", "max",
		"-smp", "2",
		"-m", strconv.Itoa(memoryMiB) + "M",
		"-device", "intel-iommu,intremap=on",
		"-kernel", "base/vmlinux",
		"-initrd", "base/initrd",
		"-append", "root=/dev/vda rw console=ttyS0 intel_iommu=on rehearsal.name=" + m.Host(),
		"-drive", "if=none,id=disk,format=raw,file=" + m.disk(),
		"-device", "virtio-blk-pci,drive=disk",
		"-netdev", fmt.Sprintf("user,id=ssh,restrict=on,ipv6=off,hostfwd=tcp:127.0.0.1:%d-:22", m.Port),
		"-device", "virtio-net-pci,netdev=ssh,mac=" + m.mac(1) + ",romfile=,addr=" + sshNIC,
		"-netdev", cable,
		"-device", "e1000e,netdev=cable,mac=" + m.mac(2) + ",romfile=,addr=" + cableNIC,
		"-object", "rng-random,id=random,filename=/dev/urandom",
		"-device", "virtio-rng-pci,rng=random",
		"-chardev", "file,id=console,append=on,path=" + m.console(),
		"-serial", "chardev:console",
		"-qmp", "unix:" + m.qmp() + ",server=on,wait=off",
	}
}

// mac is the address of one of its NICs.
func (m Machine) mac(nic int) string { return fmt.Sprintf("52:54:00:5e:%02x:%02x", m.Name[0], nic) }

// The files of a machine, in the folder of the state.
func (m Machine) disk() string    { return m.Name + ".ext4" }
func (m Machine) console() string { return m.Name + ".console" }
func (m Machine) qmp() string     { return m.Name + ".qmp" }
func (m Machine) words() string   { return m.Name + ".qemu" } // what QEMU itself says
func (m Machine) running() string { return m.Name + ".json" }
