package audit

import "sweep/internal/tape"

// hops are what stands between guest and client, in words.
type hops struct {
	guestPort, wirePort string // what counts on its two sides
	between             string // what packets come to behind the guest
	sender              string // what sends them on to the client
	worker              string // what moves them, without its article

	fromGuest, inside, toClient string // the three stretches
	received, got, passed       string // what is said at their ends
}

// hops are those of the trial's attachment.
func (j *judge) hops() hops {
	if j.tapped() {
		return hops{
			guestPort: "the tap", wirePort: "the interface under the tap",
			between: "the tap", sender: "the interface under the tap", worker: "vhost thread",
			fromGuest: "between guest and tap", inside: "between the tap and the interface under it", toClient: "between that interface and the client",
			received: "the tap took or dropped", got: "the tap took or dropped", passed: "the interface sent, and they dropped",
		}
	}
	return hops{
		guestPort: "the forwarder's port to the guest", wirePort: "the forwarder's port to the wire",
		between: "the forwarder", sender: "the forwarder", worker: "forwarder",
		fromGuest: "between guest and forwarder", inside: "inside the forwarder", toClient: "between forwarder and client",
		received: "the vhost port received", got: "it received", passed: "it sent and dropped",
	}
}

// tapped says that the guest was on vhost-net, behind which there is a tap and
// no forwarder: see [sweep/server.Tap].
func (j *judge) tapped() bool { return j.tape.System.Attachment == "vhost-net" }

// needNotPoll says of what moves the packets that it sleeps where there are
// none, as the kernel's vhost thread does: that is no pause.
func (j *judge) needNotPoll(_, _ tape.Look) bool { return j.tapped() }

// tap sets what was counted on the way over a tap. It has two counters on each
// side: what the tap took from the guest and gave to the interface under it, and
// what it dropped; what that interface sent, and what it dropped. A drop of the
// interface's is told to the tap by some drivers, which then counts it, too, and
// by others is not: so of those, as many are counted as the tap believes sent
// and were not.
func (l *Ledger) tap(first, last tape.Look) {
	given := last.Guest.RxPackets - first.Guest.RxPackets
	dropped := last.Guest.RxMissed - first.Guest.RxMissed
	under := last.Wire.TxErrors - first.Wire.TxErrors
	l.ServerReceived = given + dropped
	l.ServerDropped = dropped
	if given > l.ServerSent {
		l.ServerDropped += min(under, given-l.ServerSent)
	}
}

// leastServed is how many nanoseconds of the vhost thread's a packet takes at
// the very least: it takes some hundred to copy one and give it to a tap.
const leastServed = 10

// served says whether it was vhost-net that moved the packets of a window. QEMU
// can do so itself, and does where it was not told to insist, at a fraction of
// the rate; then the kernel's thread is there, and sleeps.
func (j *judge) served(window []tape.Look) {
	first, last := window[0], window[len(window)-1]
	packets := last.Guest.RxPackets - first.Guest.RxPackets
	ran := last.Usage.Forwarder.Ran - first.Usage.Forwarder.Ran
	if uint64(ran.Nanoseconds()) < leastServed*packets {
		j.void(Fallback, "vhost-net was not in use: while %d packets passed, the kernel's vhost thread ran for %v: QEMU moved them itself, in user space", packets, ran)
	}
}
