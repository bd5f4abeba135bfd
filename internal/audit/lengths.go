package audit

import (
	"fmt"
	"math"
	"strings"

	"sweep/sizes"
)

// Lengths is the ledger of a trial's frame lengths, in bytes.
type Lengths struct {
	Payload  int `json:"payload"`   // of UDP
	Frame    int `json:"frame"`     // without FCS: what a size is
	FrameFCS int `json:"frame_fcs"` // with it
	Wire     int `json:"wire"`      // with preamble and gap

	// Counted is what the client's byte counter says of a frame: its bytes over
	// its packets. WithFCS says that this driver's counter holds the FCS.
	Counted float64 `json:"counted"`
	WithFCS bool    `json:"with_fcs"`
}

// fcs says how a driver's byte counters take the FCS.
type fcs int

const (
	never  fcs = iota // there is none, or it is taken off before they count
	always            // they count it
	either            // it depends on the device
)

// fcsOf says whether the byte counters of a DPDK driver hold the FCS. The
// virtual drivers have no FCS. Those of Intel's e1000 family read the device's
// "good octets received", which hold it, and the driver takes it off again for
// some devices only (eth_em_stats_get and eth_igb_stats_get in drivers/net/e1000).
func fcsOf(driver string) fcs {
	if strings.HasPrefix(driver, "net_e1000") {
		return either
	}
	return never
}

// newLengths holds what a client counted against what was to arrive. err says
// that these were frames of another length.
func newLengths(size int, driver string, packets, bytes uint64) (l Lengths, err error) {
	l = Lengths{
		Payload: size - sizes.Headers, Frame: size, FrameFCS: size + sizes.FCS, Wire: sizes.Wire(size),
		Counted: float64(bytes) / float64(packets),
	}
	rule := fcsOf(driver)
	switch {
	case counts(rule, packets, bytes, size) && rule != always:
		return l, nil
	case counts(rule, packets, bytes, l.FrameFCS) && rule != never:
		l.WithFCS = true
		return l, nil
	}
	return l, fmt.Errorf("frames of %s B arrived, not of %d%s", trim(l.Counted), size, guess(l.Counted-float64(size)))
}

// counts says whether bytes are those of so many packets of a length.
//
// The e1000 family's counter of bytes is two registers, which the driver reads one
// after the other and which the second reading clears (Intel's 8254x manual, GORCL
// and GORCH). The hardware holds the pair meanwhile; QEMU's emulation doesn't, and
// a frame in between is counted as a packet and its bytes are not. So less than
// half a byte a packet may be missing, where a wrong length is a byte or more.
func counts(rule fcs, packets, bytes uint64, length int) bool {
	all := packets * uint64(length)
	return bytes == all || rule == either && bytes < all && all-bytes < (packets+1)/2
}

// guess says what a difference of length usually comes from.
func guess(more float64) string {
	n := math.Abs(more)
	switch {
	case n == sizes.FCS && more > 0:
		return ": 4 bytes more, as if the FCS were counted, which this driver doesn't"
	case n == sizes.FCS:
		return ": 4 bytes short, as if the FCS had been taken off twice"
	case more > 0:
		return fmt.Sprintf(": %s bytes more", trim(n))
	}
	return fmt.Sprintf(": %s bytes short", trim(n))
}

// trim writes a number with two decimals, or none where it is whole.
func trim(v float64) string {
	return strings.TrimSuffix(fmt.Sprintf("%.2f", v), ".00")
}
