// Package audit makes a trial's numbers of its tape, and says whether they can
// be right. What can't be voids the trial, which then makes no row; what makes
// them doubtful stands beside them.
package audit

// Ledger is what each hop counted of a trial, in packets, from before its first
// packet to after its last: read before, and once more when the guest has
// stopped and the pipes have drained.
type Ledger struct {
	// GuestSent is the guest's own count of what it handed to its NIC,
	// GuestDropped how often it found no room there.
	GuestSent    uint64 `json:"guest_sent"`
	GuestDropped uint64 `json:"guest_dropped"`

	// Over vhost-net there is no forwarder: then these are the tap's and the
	// interface's under it, see [sweep/server.Tap].
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
	Fallback    Kind = "fallback"    // something else than vhost-net moved the packets
	Disagree    Kind = "observers"   // two observers saw different rates
	Record      Kind = "record"      // of what happened, something is not on disk
)

// Finding is something that an audit found out about a trial.
type Finding struct {
	Kind Kind   `json:"kind"`
	Text string `json:"text"` // a sentence without its stop, the same for the same thing in every trial
	Void bool   `json:"void"` // it makes the trial's rate no result
}
