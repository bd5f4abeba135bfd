package audit

import (
	"fmt"
	"math"
	"strings"

	"sweep/internal/sample"
	"sweep/internal/tape"
)

// Outcome is what a tape says.
type Outcome struct {
	// RxPps is the result: packets a second that arrived, from the client's
	// counters at the two ends of the window; 0 where Error says why there is
	// none. RxDoubt is how far off it can be, as a share, because the moments
	// at which counters were read are known to some microseconds only. RxError
	// is the standard error over parts of the window, in packets a second: it
	// says nothing about another boot.
	RxPps   float64 `json:"rx_pps,omitempty"`
	RxDoubt float64 `json:"rx_doubt,omitempty"`
	RxError float64 `json:"rx_error,omitempty"`
	// ShownPps is what testpmd printed as Rx-pps over the window.
	ShownPps float64 `json:"shown_pps,omitempty"`

	Ledger   *Ledger   `json:"ledger,omitempty"`
	Residual *Residual `json:"residual,omitempty"`
	Lengths  *Lengths  `json:"lengths,omitempty"`

	Findings []Finding `json:"findings,omitempty"`
	Error    string    `json:"error,omitempty"` // why there is no rate
}

// tolerance of the rates that two observers see: their windows differ by the
// time that it takes to ask.
const tolerance = 0.03

// Judge works out all numbers of a trial, and audits them. It is a function of
// the tape alone: what it says of a recorded tape it said when that was made.
func Judge(t *tape.Tape) Outcome {
	j := judge{tape: t}
	for _, c := range t.Caveats {
		j.note(Caveat, "%s", c)
	}
	if t.Failure != "" {
		if t.Refusal {
			j.void(Refused, "%s", t.Failure)
		} else {
			j.out.Error = t.Failure
		}
	} else {
		j.measured()
	}
	for _, l := range t.Lost {
		j.note(Record, "%s", l)
	}
	for _, f := range t.Foreign {
		j.note(Foreign, "%s", f)
	}
	if j.out.Error != "" {
		j.out.RxPps, j.out.RxDoubt, j.out.RxError = 0, 0, 0
	}
	return j.out
}

type judge struct {
	tape *tape.Tape
	out  Outcome
}

func (j *judge) note(kind Kind, format string, a ...any) {
	j.out.Findings = append(j.out.Findings, Finding{Kind: kind, Text: fmt.Sprintf(format, a...)})
}

// void adds a finding that makes the rate no result.
func (j *judge) void(kind Kind, format string, a ...any) {
	f := Finding{Kind: kind, Text: fmt.Sprintf(format, a...), Void: true}
	j.out.Findings = append(j.out.Findings, f)
	if j.out.Error != "" {
		j.out.Error += "; "
	}
	j.out.Error += f.Text
}

// measured judges a trial that went to its end.
func (j *judge) measured() {
	window, idle, still := j.tape.In(tape.Window), j.tape.In(tape.Idle), j.tape.In(tape.Still)
	if len(window) < 2 || len(idle) == 0 || j.tape.Counted == nil {
		j.void(Impossible, "the counters were read %d times in the window", len(window))
		return
	}
	for _, name := range j.tape.Down {
		j.void(Link, "the link of %s is down", name)
	}
	if j.stoodStill(idle[len(idle)-1]); len(still) == 0 {
		j.void(Impossible, "the pipes were not empty two seconds after the guest had stopped: packets still moved, or forwarder or client did not poll")
		still = j.tape.Looks[len(j.tape.Looks)-1:]
	}
	if !j.backwards() {
		return
	}
	j.ledger(idle[len(idle)-1], still[len(still)-1])
	if j.tapped() {
		j.served(window)
	}
	j.frames()
	j.rate(window)
	j.machine(window)
}

// backwards looks for a counter that went down: then nothing can be said. It
// returns whether all is well.
func (j *judge) backwards() bool {
	looks := j.tape.Looks
	for i := 1; i < len(looks); i++ {
		for _, p := range []struct {
			name     string
			was, now sample.Port
		}{
			{j.hops().guestPort, looks[i-1].Guest, looks[i].Guest},
			{j.hops().wirePort, looks[i-1].Wire, looks[i].Wire},
			{"the client's port", looks[i-1].Client, looks[i].Client},
		} {
			if p.now.RxPackets < p.was.RxPackets || p.now.RxBytes < p.was.RxBytes || p.now.TxPackets < p.was.TxPackets {
				j.void(Impossible, "the counters of %s went down, from %d to %d packets received: it was restarted or cleared",
					p.name, p.was.RxPackets, p.now.RxPackets)
				return false
			}
		}
	}
	return true
}

// ledger adds up what each hop counted from before the guest's first packet
// until nothing moved any more.
func (j *judge) ledger(first, last tape.Look) {
	c := j.tape.Counted
	l := Ledger{
		GuestSent: c.Sent, GuestDropped: c.NoRoom,
		ServerReceived: last.Guest.RxPackets - first.Guest.RxPackets,
		ServerSent:     last.Wire.TxPackets - first.Wire.TxPackets,
		ServerDropped:  c.Dropped,
		ClientReceived: last.Client.RxPackets - first.Client.RxPackets,
		ClientBytes:    last.Client.RxBytes - first.Client.RxBytes,
		ClientMissed:   last.Client.RxMissed - first.Client.RxMissed,
		ClientErrors:   last.Client.RxErrors - first.Client.RxErrors,
		ClientNombuf:   last.Client.RxNombuf - first.Client.RxNombuf,
	}
	if j.tapped() {
		l.tap(first, last)
	}
	r := l.Residual()
	j.out.Ledger, j.out.Residual = &l, &r
	if l.ClientReceived == 0 {
		j.nothing(l)
		return
	}
	lengths, err := newLengths(j.tape.Size, j.tape.Driver, l.ClientReceived, l.ClientBytes)
	j.out.Lengths = &lengths
	if err != nil {
		j.void(WrongSize, "%v", err)
	}
	j.conserved(l, r)
}

// nothing says where the packets of a trial ended of which none arrived.
func (j *judge) nothing(l Ledger) {
	switch {
	case l.GuestSent == 0:
		j.void(Still, "no packet arrived: the guest says that it sent none")
	case l.ServerReceived == 0:
		j.void(Still, "no packet arrived: %s never saw one of the %d that the guest says it sent", j.hops().between, l.GuestSent)
	case l.ServerSent == 0:
		j.void(Still, "no packet arrived: %s received %d and sent none (it dropped %d)", j.hops().between, l.ServerReceived, l.ServerDropped)
	default:
		j.void(Still, "no packet arrived: the client's counter does not move, although %s sent %d", j.hops().sender, l.ServerSent)
	}
}

// conserved wants every packet accounted for, at each hop.
func (j *judge) conserved(l Ledger, r Residual) {
	h := j.hops()
	for _, hop := range []struct {
		between        string
		residual       int64
		of             uint64
		gave, received string
		uncounted      bool
	}{
		{h.fromGuest, r.Attachment, l.GuestSent, "the guest sent", h.received, false},
		{h.inside, r.Forwarder, l.ServerReceived, h.got, h.passed, false},
		{h.toClient, r.Wire, l.ServerSent, h.sender + " sent", "the client received, missed and refused", uncounted(j.tape.Driver)},
	} {
		switch {
		case hop.residual == 0:
		case hop.residual < 0:
			j.void(Impossible, "%d packets came from nowhere %s: %s %d, %s %d", -hop.residual, hop.between,
				hop.gave, hop.of, hop.received, uint64(int64(hop.of)-hop.residual))
		case hop.uncounted:
			j.note(Lost, "packets were lost %s without a counter: %s does not count what its socket drops", hop.between, j.tape.Driver)
		default:
			j.void(Lost, "%d packets were lost %s, %s, without a counter: %s %d, %s %d", hop.residual, hop.between,
				oneIn(hop.residual, hop.of), hop.gave, hop.of, hop.received, uint64(int64(hop.of)-hop.residual))
		}
	}
}

// uncounted says of a DPDK driver that it has no counter for what it has no
// room for: net_af_packet's kernel socket drops, and only the socket's owner
// can ask how much (PACKET_STATISTICS in packet(7)), which the driver doesn't.
func uncounted(driver string) bool { return driver == "net_af_packet" }

// oneIn says which share of packets something is.
func oneIn(some int64, of uint64) string {
	if n := float64(of) / float64(some); n >= 2 {
		return fmt.Sprintf("1 in %.0f", n)
	}
	return fmt.Sprintf("%.0f %%", 100*float64(some)/float64(of))
}

// frames looks at what a few of the guest's frames were.
func (j *judge) frames() {
	if j.tape.Expect == "" {
		return
	}
	if len(j.tape.Frames) == 0 {
		j.note(Address, "none of the boot's first frames was seen: where they go is not known")
	}
	for _, f := range j.tape.Frames {
		if !strings.EqualFold(f.Destination, j.tape.Expect) {
			j.note(Address, "the guest sends to %s, not to %s as it was told: a NIC or a switch on the way would drop its frames", f.Destination, j.tape.Expect)
			return
		}
	}
}

// rate makes the rate of the window.
func (j *judge) rate(window []tape.Look) {
	first, last := window[0].Client, window[len(window)-1].Client
	pps, doubt, err := sample.RxRate(first, last)
	if err != nil {
		j.void(Impossible, "%v", err)
		return
	}
	j.out.RxPps, j.out.RxDoubt = pps, doubt
	rates := rates(window)
	j.out.RxError = sample.StandardError(parts(window))
	least := moved
	if j.tape.Shared {
		least = movedShared
	}
	if c, ok := sample.Moved(rates); ok && c.Size() >= least && j.out.Error == "" {
		at := window[c.At].Client.At().Sub(first.At()).Seconds()
		j.void(Unsteady, "unsteady: %s Mpps, then from %.1f s on %s: two rates have no mean", mpps(c.Before), at, mpps(c.After))
	}
	j.observers()
}

// By how much a rate may change its level within a window: by more, and the mean
// of the two would be the rate of nothing. Pollers that share a CPU with each
// other share it with everything else on the machine, too, and what they show
// is that the kit works: that a rate halves, because a neighbour came, is no
// reason to show nothing, and nothing is compared there anyway. So there it is
// a factor of three.
const (
	moved       = 0.10
	movedShared = 1.00
)

func mpps(pps float64) string { return fmt.Sprintf("%.3g", pps/1e6) }

// rates are the client's between each look and the next.
func rates(looks []tape.Look) []float64 {
	var out []float64
	for i := 1; i < len(looks); i++ {
		if pps, _, err := sample.RxRate(looks[i-1].Client, looks[i].Client); err == nil {
			out = append(out, pps)
		}
	}
	return out
}

// windowParts is how many parts a window has for its standard error: longer
// than what one look says of the next.
const windowParts = 5

// parts are the rates of equal parts of a window.
func parts(window []tape.Look) []float64 {
	var ends []tape.Look
	for i := range windowParts + 1 {
		ends = append(ends, window[i*(len(window)-1)/windowParts])
	}
	return rates(ends)
}

// observers compares the rate with what testpmd printed of it.
func (j *judge) observers() {
	shows := j.tape.Shows
	if len(shows) < 2 || shows[len(shows)-1].ShownPps == nil {
		return
	}
	j.out.ShownPps = float64(*shows[len(shows)-1].ShownPps)
	if j.out.RxPps > 0 && math.Abs(j.out.ShownPps/j.out.RxPps-1) > tolerance {
		j.note(Disagree, "observers disagree: %.0f packets/s by the counters, %.0f by the Rx-pps that testpmd printed", j.out.RxPps, j.out.ShownPps)
	}
}
