// Package audit says whether a trial's numbers can be right. What can't be is
// an error, and the trial makes no row; what makes them doubtful is a warning
// that stands beside them.
package audit

import (
	"fmt"
	"math"

	"sweep/internal/sample"
)

// Ledger is what each hop counted of a trial, in packets, from before its first
// packet to after its last: read before, and once more when the guest has
// stopped and the pipes have drained.
type Ledger struct {
	// GuestSent is the guest's own count of what it handed to its NIC,
	// GuestDropped how often it found no room there.
	GuestSent    uint64 `json:"guest_sent"`
	GuestDropped uint64 `json:"guest_dropped"`

	ServerReceived uint64 `json:"server_received"` // from the guest, by the vhost port
	ServerSent     uint64 `json:"server_sent"`     // to the wire
	ServerDropped  uint64 `json:"server_dropped"`  // by the forwarder: the wire had no room

	ClientReceived uint64 `json:"client_received"`
	ClientBytes    uint64 `json:"client_bytes"` // of ClientReceived
	ClientMissed   uint64 `json:"client_missed"`
	ClientErrors   uint64 `json:"client_errors"`
	ClientNombuf   uint64 `json:"client_nombuf"` // found no packet buffer
}

// Residual is what a hop can't account for, in packets: lost without a counter
// where it is above 0, come from nowhere below.
type Residual struct {
	Attachment int64 `json:"attachment"` // guest's sent - vhost port's received
	Forwarder  int64 `json:"forwarder"`  // received - sent - dropped
	Wire       int64 `json:"wire"`       // forwarder's sent - client's received, missed, errors and no-buffer
}

// Residual adds the ledger up, hop by hop.
func (l Ledger) Residual() Residual {
	return Residual{
		Attachment: int64(l.GuestSent - l.ServerReceived),
		Forwarder:  int64(l.ServerReceived - l.ServerSent - l.ServerDropped),
		Wire:       int64(l.ServerSent - l.ClientReceived - l.ClientMissed - l.ClientErrors - l.ClientNombuf),
	}
}

// Kind is what sort of thing a finding is.
type Kind string

// The kinds of findings.
const (
	Caveat      Kind = "caveat"      // how the machine is set up: an emulator, shared CPUs
	Unsteady    Kind = "unsteady"    // the rate was not one rate
	Lost        Kind = "lost"        // packets that no counter has
	WrongSize   Kind = "size"        // frames of another length
	Still       Kind = "still"       // a counter that does not move
	Impossible  Kind = "impossible"  // a value that can't be
	Paused      Kind = "paused"      // the client, the forwarder or the guest stood still for a time
	Refused     Kind = "refused"     // a program refused what it was told
	Address     Kind = "address"     // frames to another address than they should go to
	Foreign     Kind = "foreign"     // a process that is none of the run's used a poller's CPU
	Descheduled Kind = "descheduled" // a poller was taken off its CPU
	Stolen      Kind = "stolen"      // a hypervisor took a poller's CPU
	Link        Kind = "link"        // a link that is down
	Disagree    Kind = "observers"   // two observers saw different rates
	Record      Kind = "record"      // of what happened, something is not on disk
)

// Finding is something that an audit found out about a trial.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"` // a sentence without its stop, the same for the same thing in every trial
	Void bool   `json:"void"` // it makes the trial's rate no result
}

// tolerance of the rates that two observers see: their windows differ by the
// time it takes to ask.
const tolerance = 0.03

// Watched checks what was read while the guest sent.
func Watched(size int, rs []sample.Reading) error {
	if len(rs) < 2 {
		return fmt.Errorf("the counters were read %d times", len(rs))
	}
	first, last := rs[0], rs[len(rs)-1]
	for i := 1; i < len(rs); i++ {
		if rs[i].Packets < rs[i-1].Packets || rs[i].Bytes < rs[i-1].Bytes {
			return fmt.Errorf("the client's counters went down, from %d to %d packets: it was restarted or cleared",
				rs[i-1].Packets, rs[i].Packets)
		}
		if rs[i].Packets == rs[i-1].Packets {
			return fmt.Errorf("no packet arrived for %v", rs[i].At().Sub(rs[i-1].At()))
		}
	}
	packets, bytes := last.Packets-first.Packets, last.Bytes-first.Bytes
	// The two counters are read one after the other while both grow: to the
	// byte they agree only after the guest has stopped (see Drained).
	if each := float64(bytes) / float64(packets); math.Abs(each-float64(size)) > 0.5 {
		return wrongSize(each, size)
	}
	return nil
}

func wrongSize(each float64, size int) error {
	return fmt.Errorf("frames of %.2f B arrived, not of %d", each, size)
}

// Drained checks the ledger of a trial whose guest has stopped and whose pipes
// are empty.
func Drained(size int, l Ledger) error {
	if l.ClientReceived == 0 {
		return fmt.Errorf("no packet arrived: the guest sent %d, the forwarder received %d and sent %d",
			l.GuestSent, l.ServerReceived, l.ServerSent)
	}
	if l.ClientBytes != l.ClientReceived*uint64(size) {
		return wrongSize(float64(l.ClientBytes)/float64(l.ClientReceived), size)
	}
	if l.ServerReceived > l.GuestSent {
		return fmt.Errorf("the forwarder received %d packets of the %d that the guest sent", l.ServerReceived, l.GuestSent)
	}
	if l.ClientReceived > l.ServerReceived {
		return fmt.Errorf("%d packets arrived of the %d that the forwarder received", l.ClientReceived, l.ServerReceived)
	}
	return nil
}

// Observers compares the rate that a trial reports, from counter differences,
// with what others saw of it: telemetry's counters on the same clock, and the
// mean of the rates that testpmd printed. It returns warnings.
func Observers(pps, telemetry, shown float64) []string {
	var out []string
	for _, o := range []struct {
		name string
		pps  float64
	}{{"telemetry", telemetry}, {"the printed Rx-pps", shown}} {
		if o.pps > 0 && math.Abs(o.pps/pps-1) > tolerance {
			out = append(out, fmt.Sprintf("observers disagree: %.0f packets/s from `show port stats`, %.0f from %s", pps, o.pps, o.name))
		}
	}
	return out
}
