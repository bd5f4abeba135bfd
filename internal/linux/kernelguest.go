package linux

import (
	"fmt"
	"slices"
	"strings"

	"sweep/internal/guest"
	"sweep/internal/qemu"
)

// KernelName is the guest that sends through the kernel's own driver and UDP
// sockets, on the image of the guest linux-dpdk.
const KernelName = "linux-kernel"

// Senders are what can send in it: a program with sendmmsg, which is the
// default, and the kernel's own packet generator.
func Senders() []string { return []string{"sendmmsg", "pktgen"} }

// CheckSender says why there is no such sender.
func CheckSender(name string) error {
	if !slices.Contains(Senders(), name) {
		return fmt.Errorf("no sender is called %q; there are %s", name, strings.Join(Senders(), " and "))
	}
	return nil
}

// KernelGuest returns the guest with one of the Senders, on an image that Build
// made in dir.
func KernelGuest(dir, sender string) guest.Guest {
	vm := Guest{Dir: dir}.VM()
	return guest.Lines{
		Machine: qemu.Config{
			VCPUs: vm.VCPUs, MemoryMiB: vm.MemoryMiB, Kernel: vm.Kernel, Initrd: vm.Initrd,
			Append: kernelArguments + " sweep.guest=" + KernelName + " sweep.sender=" + sender,
		},
		Varies: true, // interrupts come when they come
	}
}
