// Package tape is everything that was read of a trial, as it was read: the
// counters of every port along the way, and what the processes had of their
// CPUs, each with its time. Every number of a trial follows from its tape (see
// [sweep/internal/audit.Judge]), so that anybody can work them out again
// without the hardware.
package tape

import (
	"time"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/sample"
)

// Phase is what a trial was doing when it was looked at.
type Phase string

// The phases of a trial, in their order.
const (
	Idle   Phase = "idle"    // the guest does not send yet
	WarmUp Phase = "warm-up" // it sends, and the rate settles
	Edge   Phase = "edge"    // tries to read a window's end with a narrower bracket
	Window Phase = "window"  // the rate is measured
	Drain  Phase = "drain"   // the guest has stopped, the pipes empty themselves
	Still  Phase = "still"   // nothing moves any more
)

// Look is what was read at about the same moment.
type Look struct {
	Phase Phase `json:"phase"`

	// The forwarder's port to the guest, its port to the wire, and the
	// client's port.
	Guest  sample.Port `json:"guest"`
	Wire   sample.Port `json:"wire"`
	Client sample.Port `json:"client"`

	// What forwarder, client and the guest's virtual machine had of their
	// CPUs.
	Usage Usage `json:"usage"`
}

// Usage is what the three processes of a bench had of their CPUs.
type Usage struct {
	Forwarder agent.Usage `json:"forwarder"`
	Client    agent.Usage `json:"client"`
	Guest     agent.Usage `json:"guest"`
}

// Counted is what the programs themselves counted of a trial, in packets.
type Counted struct {
	Sent    uint64 `json:"sent"`    // by the guest: handed to its NIC
	NoRoom  uint64 `json:"no_room"` // how often its NIC had no room
	Forward `json:"forward"`
}

// Forward is what the forwarding engine counted of a trial (`show fwd stats
// all`, the forward statistics that `stop` prints).
type Forward struct {
	Received uint64 `json:"received"` // from the guest
	Sent     uint64 `json:"sent"`     // to the wire
	Dropped  uint64 `json:"dropped"`  // for which the wire had no room
}

// Frame is a frame as the forwarder received it.
type Frame struct {
	Source      string `json:"source"` // MAC addresses, as testpmd prints them
	Destination string `json:"destination"`
	EtherType   uint16 `json:"ether_type"`
	Length      int    `json:"length"` // in bytes without FCS
}

// Tape is everything that was read of a trial.
type Tape struct {
	plan.Trial
	Duration time.Duration `json:"duration_ns"` // that the window was to have
	Driver   string        `json:"driver"`      // of the client's port, as DPDK calls it
	Shared   bool          `json:"shared"`      // pollers share a CPU
	// Expect is the Ethernet destination that the guest was told; "" where it
	// can't be known.
	Expect string `json:"expect,omitempty"`

	Looks   []Look           `json:"looks,omitempty"`
	Shows   []sample.Reading `json:"shows,omitempty"` // of the client, by `show port stats`: as the window began and ended
	Frames  []Frame          `json:"frames"`          // some of the boot's first
	Down    []string         `json:"down"`            // ports whose link was down in the window
	Counted *Counted         `json:"counted"`
	// Stolen is the share of the pollers' CPUs that a hypervisor took from the
	// sending's start to its end.
	Stolen float64 `json:"stolen"`
	// Foreign are processes that are none of the run's and used the pollers'
	// CPUs meanwhile, a sentence each.
	Foreign []string `json:"foreign"`
	// Caveats are what a reader must know of every number of the run, Lost is
	// what of the consoles is not on disk.
	Caveats []string `json:"caveats"`
	Lost    []string `json:"lost"`

	// Failure is why the trial ended early, with the last lines of the
	// console that it is about; Refusal says that a program refused what it
	// was told.
	Failure string   `json:"failure,omitempty"`
	Console []string `json:"console,omitempty"`
	Refusal bool     `json:"refusal,omitempty"`
}

// In are the looks of a phase.
func (t *Tape) In(p Phase) []Look {
	var out []Look
	for _, l := range t.Looks {
		if l.Phase == p {
			out = append(out, l)
		}
	}
	return out
}

// Times are how long the guest sent before the window, and the window itself;
// 0 where a trial didn't come so far.
func (t *Tape) Times() (warmUp, window time.Duration) {
	idle, w := t.In(Idle), t.In(Window)
	if len(idle) == 0 || len(w) == 0 {
		return 0, 0
	}
	first, last := w[0].Client.At(), w[len(w)-1].Client.At()
	return first.Sub(idle[len(idle)-1].Client.At()), last.Sub(first)
}

// Line is a piece of a tape, as it is written to disk while the trial goes on.
// The first of a trial has Begin; the last has Whole, all but looks and shows.
type Line struct {
	Boot  int             `json:"boot"`
	Size  int             `json:"size"`
	Begin bool            `json:"begin,omitempty"`
	Look  *Look           `json:"look,omitempty"`
	Show  *sample.Reading `json:"show,omitempty"`
	Whole *Tape           `json:"whole,omitempty"`
}

// Deck puts lines together again.
type Deck struct {
	open map[[2]int]*Tape
	// Tapes are those that have ended, in the order of their ends.
	Tapes []*Tape
}

// Add adds the next line. A trial that begins anew, because it was interrupted,
// forgets what was read before.
func (d *Deck) Add(l Line) {
	if d.open == nil {
		d.open = map[[2]int]*Tape{}
	}
	key := [2]int{l.Boot, l.Size}
	t := d.open[key]
	if t == nil || l.Begin {
		t = &Tape{}
		d.open[key] = t
	}
	switch {
	case l.Look != nil:
		t.Looks = append(t.Looks, *l.Look)
	case l.Show != nil:
		t.Shows = append(t.Shows, *l.Show)
	case l.Whole != nil:
		looks, shows := t.Looks, t.Shows
		*t = *l.Whole
		t.Looks, t.Shows = looks, shows
		d.Tapes = append(d.Tapes, t)
		delete(d.open, key)
	}
}
