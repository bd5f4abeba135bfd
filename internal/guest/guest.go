// Package guest says what a program that transmits in a virtual machine must
// be able to do to take part. Each guest is a package of its own.
package guest

import (
	"context"

	"sweep/internal/console"
	"sweep/internal/qemu"
)

// Guest is a program that transmits, before it runs.
type Guest interface {
	// VM is its virtual machine, but for the accelerator, the CPU model and
	// the network, which are the same for all guests of a run.
	VM() qemu.Config
	// Attach waits until the guest on this console can be told to send.
	Attach(ctx context.Context, con *console.Console) (Sender, error)
	// Typed are the commands that are typed on its console for a size, to
	// show.
	Typed(size int) []string
}

// Sender is a guest that runs.
type Sender interface {
	// Send starts to send packets of this size, in bytes without FCS, as fast
	// as the guest can, and verifies that it does.
	Send(ctx context.Context, size int) error
	// Halt stops sending and returns the guest's own count of the packets
	// since Send: handed to its NIC, and refused for want of room there.
	Halt(ctx context.Context) (sent, dropped uint64, err error)
	// About is what the guest says it is.
	About() string
}
