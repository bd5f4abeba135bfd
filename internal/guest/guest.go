// Package guest says what a program that transmits in a virtual machine must
// be able to do to take part. Each guest is a package of its own.
package guest

import (
	"context"
	"errors"

	"sweep/internal/console"
	"sweep/internal/qemu"
)

// MemoryMiB is what every guest gets, unless it is told otherwise: what the one
// that needs the most has room in. Those that need less are not given less, for
// then they would differ in that, too.
const MemoryMiB = 256

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
	// Few sends some packets of this size and stops: no more than the NIC's
	// ring has room for, because nobody need take them.
	Few(ctx context.Context, size int) error
	// Halt stops sending and returns the guest's own count of the packets
	// since Send: handed to its NIC, and refused for want of room there.
	Halt(ctx context.Context) (sent, dropped uint64, err error)
	// About is what the guest says it is.
	About() string
}

// Counter is a [Sender] that can say what a packet costs it, where its virtual
// machine counts instructions (QEMU's icount): a tick of its time-stamp
// counter is then one of its instructions.
type Counter interface {
	// Count sends packets of this size, in bytes without FCS, and counts.
	// ErrUncounted says that there was no stretch that can be counted.
	Count(ctx context.Context, size int) (Count, error)
	// Agreement is how near the counts of two boots come, as a share of
	// them; a difference that is greater is a mistake. 0 where there is no
	// such bound, and the difference is the count's own spread.
	Agreement() float64
}

// Count is how many ticks the guest took for so many packets: those of
// stretches in which its ring was never full, start-up and clock left out.
type Count struct {
	Packets uint64 `json:"packets"`
	Ticks   uint64 `json:"ticks"`
	// Least and Most are ticks a packet of the stretch that took the fewest and
	// of the one that took the most; 0 where that isn't known.
	Least float64 `json:"least,omitempty"`
	Most  float64 `json:"most,omitempty"`
}

// Each is ticks a packet.
func (c Count) Each() float64 { return float64(c.Ticks) / float64(c.Packets) }

// ErrUncounted says that there were too few stretches that could be counted: the
// ring ran full, or was not emptied in time, again and again, as it happens where
// what empties it gets too little of a CPU. Any number would count the waiting.
var ErrUncounted = errors.New("no count: again and again the guest's ring was full or not emptied in time, because what empties it got too little of a CPU")
