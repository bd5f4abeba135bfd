// Package unikraft is the guest of the published experiment: a unikernel that
// transmits through Unikraft's uknetdev API. Its application is in app: C
// against the public API, which Unikraft's own build makes an image of
// (docs/unikraft.md). Nothing of Unikraft's is here.
package unikraft

import (
	"path/filepath"

	"sweep/internal/guest"
	"sweep/internal/qemu"
)

// Name is the guest's name, as published.
const Name = "unikraft"

// DefaultImage is where prepare.sh puts the image that it builds where kraft,
// Unikraft's own tool, is installed.
func DefaultImage(build string) string { return filepath.Join(build, Name, "sweep_qemu-x86_64") }

// New returns the guest with an image.
func New(image string) guest.Guest {
	return guest.Lines{Machine: qemu.Config{
		VCPUs:     1,
		MemoryMiB: guest.MemoryMiB,
		Kernel:    image,
		// Unikraft takes the words before "--" for itself and gives the rest
		// to main.
		Append: Name + " --",
	}}
}
