package testpmd

import (
	"fmt"
	"strconv"
	"strings"
)

// Forward are the forward statistics that `stop` and `show fwd stats all`
// print (fwd_stats_display in app/test-pmd/testpmd.c): what the forwarding
// engine itself counted since it was started, in packets. An entry that lacks
// one of its counters is left out, and is a problem.
type Forward struct {
	Ports    []ForwardPort
	Streams  []ForwardStream // a queue each, where there are several; parts of Ports
	Total    *ForwardPort    // over all ports; nil where it was not printed. The last, where there are several
	Problems []Problem
}

// ForwardPort is what the engine counted at one port. Dropped on RX is what the
// port itself missed, on TX what it had no room for.
type ForwardPort struct {
	Port                          int
	RxPackets, RxDropped, RxTotal uint64
	TxPackets, TxDropped, TxTotal uint64

	// Printed only where one of the two is not 0.
	RxErrors, RxNombufs *uint64

	// Printed only by the csum engine, the outer ones since DPDK 18.11 (L4)
	// and 20.11 (IP).
	BadIPCsum, BadL4Csum, BadOuterL4Csum, BadOuterIPCsum *uint64
}

// ForwardStream is what the engine counted between two queues.
type ForwardStream struct {
	RxPort, RxQueue, TxPort, TxQueue int
	RxPackets, TxPackets, TxDropped  uint64
}

// ParseForward finds the forward statistics in what testpmd printed.
func ParseForward(text []byte) Forward {
	var p forwardParser
	var tokens []token
	for l := range joinedLines(text) {
		if isComment(l.text) {
			continue
		}
		tokens = scan(tokens[:0], l)
		for _, t := range tokens {
			p.token(l.number, t)
		}
	}
	p.end()
	return p.out
}

type forwardParser struct {
	out Forward

	kind  tokenKind // of the title that the counters belong to
	line  int       // of the title
	title token
	seen  [labelCount]*uint64
}

func (p *forwardParser) token(line int, t token) {
	switch t.kind {
	case tokenPort, tokenStream, tokenAccumulated:
		p.end()
		p.kind, p.line, p.title = t.kind, line, t
	case tokenHeader, tokenOther:
		p.end() // another block's counters
	case tokenLabel:
		switch {
		case p.line == 0:
		case t.bad != "":
			p.problem(line, "%s: %q %s", t.label, clip(t.text), t.bad)
		case p.seen[t.label] != nil && *p.seen[t.label] != t.value:
			p.problem(line, "%s comes twice in the forward statistics of line %d", t.label, p.line)
		default:
			p.seen[t.label] = &t.value
			if t.value >= 1<<63 {
				p.problem(line, "%s is %d: a number that went below zero", t.label, t.value)
			}
		}
	}
}

func (p *forwardParser) problem(line int, format string, a ...any) {
	p.out.Problems = append(p.out.Problems, Problem{line, fmt.Sprintf(format, a...)})
}

// end closes the entry that is being read.
func (p *forwardParser) end() {
	if p.line == 0 {
		return
	}
	if p.kind == tokenStream {
		p.stream()
	} else {
		p.counters()
	}
	p.line, p.seen = 0, [labelCount]*uint64{}
}

// take copies counters that an entry must have.
func (p *forwardParser) take(to map[label]*uint64) bool {
	var missing []string
	for l := range labelCount {
		switch at, v := to[l], p.seen[l]; {
		case at == nil:
		case v == nil:
			missing = append(missing, l.String())
		default:
			*at = *v
		}
	}
	if len(missing) > 0 {
		p.problem(p.line, "forward statistics without %s: they are cut", strings.Join(missing, ", "))
	}
	return len(missing) == 0
}

func (p *forwardParser) counters() {
	e := ForwardPort{
		Port: p.title.port, RxErrors: p.seen[rxError], RxNombufs: p.seen[rxNombufs],
		BadIPCsum: p.seen[badIPCsum], BadL4Csum: p.seen[badL4Csum],
		BadOuterL4Csum: p.seen[badOuterL4Csum], BadOuterIPCsum: p.seen[badOuterIPCsum],
	}
	if !p.take(map[label]*uint64{
		rxPackets: &e.RxPackets, rxDropped: &e.RxDropped, rxTotal: &e.RxTotal,
		txPackets: &e.TxPackets, txDropped: &e.TxDropped, txTotal: &e.TxTotal,
	}) {
		return
	}
	if e.RxPackets+e.RxDropped != e.RxTotal || e.TxPackets+e.TxDropped != e.TxTotal {
		p.problem(p.line, "forward statistics whose packets and dropped are not the total")
	}
	switch {
	case p.kind == tokenAccumulated:
		p.out.Total = &e
	case p.title.bad != "":
		p.problem(p.line, "forward statistics without a port: %q %s", clip(p.title.text), p.title.bad)
	default:
		p.out.Ports = append(p.out.Ports, e)
	}
}

func (p *forwardParser) stream() {
	var s ForwardStream
	rest := p.title.text
	for _, f := range []struct {
		before string
		to     *int
	}{{"RX Port=", &s.RxPort}, {"/Queue=", &s.RxQueue}, {" -> TX Port=", &s.TxPort}, {"/Queue=", &s.TxQueue}} {
		after, ok := strings.CutPrefix(rest, f.before)
		after = strings.TrimLeft(after, " ") // the numbers are two columns wide
		n := countDigits(after)
		v, err := strconv.Atoi(after[:n])
		if !ok || err != nil {
			p.problem(p.line, "forward statistics of unknown queues: %q", clip(p.title.text))
			return
		}
		*f.to, rest = v, after[n:]
	}
	if p.take(map[label]*uint64{rxPackets: &s.RxPackets, txPackets: &s.TxPackets, txDropped: &s.TxDropped}) {
		p.out.Streams = append(p.out.Streams, s)
	}
}
