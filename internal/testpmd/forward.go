package testpmd

import (
	"fmt"
	"strconv"
	"strings"
)

// Forward are the forward statistics that `stop` and `show fwd stats all`
// print (fwd_stats_display in app/test-pmd/testpmd.c): what the forwarding
// engine itself counted since it was started, in packets.
type Forward struct {
	Ports   []ForwardPort
	Streams []ForwardStream // a queue each, where there are several; parts of Ports
	Total   *ForwardPort    // over all ports; nil where it was not printed
}

// ForwardPort is what the engine counted at one port. Dropped on RX is what the
// port itself missed, on TX what it had no room for.
type ForwardPort struct {
	Port                          int
	RxPackets, RxDropped, RxTotal uint64
	TxPackets, TxDropped, TxTotal uint64
}

// ForwardStream is what the engine counted between two queues.
type ForwardStream struct {
	RxPort, RxQueue, TxPort, TxQueue int
	RxPackets, TxPackets, TxDropped  uint64
}

// ParseForward finds the forward statistics in what testpmd printed. Where
// there are several, the last counts.
func ParseForward(text []byte) Forward {
	var f Forward
	set := func(string, uint64) {}
	for _, l := range screenLines(text) {
		var port ForwardPort
		var s ForwardStream
		switch {
		case isComment(unquote(l.text)):
			continue
		case strings.Contains(l.text, "Forward statistics for port"):
			_, after, _ := strings.Cut(l.text, "Forward statistics for port")
			if _, err := fmt.Sscanf(after, "%d", &port.Port); err != nil {
				continue
			}
			f.Ports = append(f.Ports, port)
			set = f.Ports[len(f.Ports)-1].set
			continue
		case strings.Contains(l.text, "Forward Stats for RX Port="):
			_, after, _ := strings.Cut(l.text, "Forward Stats for ")
			if _, err := fmt.Sscanf(after, "RX Port=%d/Queue=%d -> TX Port=%d/Queue=%d",
				&s.RxPort, &s.RxQueue, &s.TxPort, &s.TxQueue); err != nil {
				continue
			}
			f.Streams = append(f.Streams, s)
			set = f.Streams[len(f.Streams)-1].set
			continue
		case strings.Contains(l.text, "Accumulated forward statistics"):
			f.Total = &ForwardPort{}
			set = f.Total.set
			continue
		case strings.Contains(l.text, "NIC statistics for port"):
			set = func(string, uint64) {} // another block's counters
			continue
		}
		words := strings.Fields(l.text)
		for i := 0; i+1 < len(words); i++ {
			if n, err := strconv.ParseUint(words[i+1], 10, 64); err == nil {
				set(words[i], n)
			}
		}
	}
	return f
}

func (p *ForwardPort) set(label string, n uint64) {
	switch label {
	case "RX-packets:":
		p.RxPackets = n
	case "RX-dropped:":
		p.RxDropped = n
	case "RX-total:":
		p.RxTotal = n
	case "TX-packets:":
		p.TxPackets = n
	case "TX-dropped:":
		p.TxDropped = n
	case "TX-total:":
		p.TxTotal = n
	}
}

func (s *ForwardStream) set(label string, n uint64) {
	switch label {
	case "RX-packets:":
		s.RxPackets = n
	case "TX-packets:":
		s.TxPackets = n
	case "TX-dropped:":
		s.TxDropped = n
	}
}
