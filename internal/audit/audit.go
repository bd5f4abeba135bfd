// Package audit says whether a trial's numbers can be right. What can't be is
// an error, and the trial makes no row; what makes them doubtful is a warning
// that stands beside them.
package audit

import (
	"fmt"
	"math"

	"sweep/internal/sample"
)

// Ledger is what each hop counted of a trial, from before its first packet to
// after its last.
type Ledger struct {
	// GuestSent and GuestDropped are the guest's own count of what it handed
	// to its NIC, and of what the NIC had no room for.
	GuestSent    uint64 `json:"guest_sent"`
	GuestDropped uint64 `json:"guest_dropped"`

	ServerReceived uint64 `json:"server_received"` // from the guest
	ServerSent     uint64 `json:"server_sent"`     // to the wire

	ClientReceived uint64 `json:"client_received"`
	ClientBytes    uint64 `json:"client_bytes"`
	ClientLost     uint64 `json:"client_lost"` // missed, errors, no buffer
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
