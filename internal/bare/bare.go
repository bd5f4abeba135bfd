// Package bare is the smallest guest there is: a few hundred lines of C in src,
// without an operating system, that keep a virtio-net device sending and do
// nothing else. What arrives of it is what an attachment and a wire can take
// when the guest costs next to nothing.
package bare

import (
	"path/filepath"

	"sweep/internal/guest"
	"sweep/internal/qemu"
)

// Name is the guest's name.
const Name = "bare"

// New returns the guest, whose kernel prepare.sh puts into the build folder.
func New(build string) guest.Guest {
	return guest.Lines{Machine: qemu.Config{
		VCPUs:     1,
		MemoryMiB: guest.MemoryMiB,
		Kernel:    filepath.Join(build, Name, "bare.elf"),
	}}
}
