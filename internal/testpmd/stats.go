// Package testpmd runs DPDK's testpmd and understands what it says: its
// command line, its prompt, its statistics, its telemetry.
package testpmd

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Block is one NIC statistics block, as `show port stats` and --stats-period
// print it (nic_stats_display in DPDK's app/test-pmd/config.c). A counter that
// the block lacks, because it is of an older testpmd or was cut, is nil.
//
// Counters are packets and bytes since the port was started or cleared; bytes
// are without the FCS for most drivers. Rates are over the time since the last
// show of that port: the first one prints 0.
type Block struct {
	Line int `json:"line"` // of its header, from 1
	Port int `json:"port"`

	RxPackets *uint64 `json:"rx_packets"`
	RxMissed  *uint64 `json:"rx_missed"` // since DPDK 1.7
	RxBytes   *uint64 `json:"rx_bytes"`
	RxErrors  *uint64 `json:"rx_errors"`
	RxNombuf  *uint64 `json:"rx_nombuf"` // since DPDK 1.7
	TxPackets *uint64 `json:"tx_packets"`
	TxErrors  *uint64 `json:"tx_errors"`
	TxBytes   *uint64 `json:"tx_bytes"`
	RxPps     *uint64 `json:"rx_pps"` // since DPDK 16.07
	TxPps     *uint64 `json:"tx_pps"`
	RxBps     *uint64 `json:"rx_bps"` // bits a second, since DPDK 19.11
	TxBps     *uint64 `json:"tx_bps"`
}

// field is where a label's value goes; nil for a label that is none of a
// block's counters (RX-badcrc, RX-badlen: DPDK 1.7 to 2.1).
func (b *Block) field(label string) **uint64 {
	switch label {
	case "RX-packets":
		return &b.RxPackets
	case "RX-missed":
		return &b.RxMissed
	case "RX-bytes":
		return &b.RxBytes
	case "RX-errors":
		return &b.RxErrors
	case "RX-nombuf":
		return &b.RxNombuf
	case "TX-packets":
		return &b.TxPackets
	case "TX-errors":
		return &b.TxErrors
	case "TX-bytes":
		return &b.TxBytes
	case "Rx-pps":
		return &b.RxPps
	case "Tx-pps":
		return &b.TxPps
	case "Rx-bps":
		return &b.RxBps
	case "Tx-bps":
		return &b.TxBps
	}
	return nil
}

// Problem is something in a log that can't be right, with its line.
type Problem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Log is what Parse finds in a console's text.
type Log struct {
	Blocks   []Block   `json:"blocks"`
	Problems []Problem `json:"problems"`

	// Notes are about blocks that are right and yet not to be used blindly,
	// such as a first show, whose rates are 0.
	Notes []Problem `json:"-"`
}

// Parse finds the NIC statistics blocks in a console's text, of any testpmd
// from DPDK 1.2 on (and of dpdk-proc-info, which prints the same block). The
// text may be a terminal's raw recording, quoted in a mail, prefixed by a
// logger, or cut anywhere. Forward statistics, extended statistics, and other
// programs' screens are no blocks.
func Parse(text []byte) Log {
	p := parser{
		log:   Log{Blocks: []Block{}, Problems: []Problem{}},
		last:  map[int]Block{},
		asked: noPort,
	}
	for _, l := range screenLines(text) {
		p.line(l)
	}
	p.end("the text ends")
	return p.log
}

const noPort = -1

// parser reads a log line by line.
type parser struct {
	log Log

	open    *Block // the block that is being read
	mixed   bool   // open has a counter twice
	lastRow int    // the line of open's last counter
	rates   bool   // open has the heading of the rates

	number   int    // of the line that is being read
	torn     bool   // open's last row ended with a counter that others follow
	wanting  string // a label at a line's end whose value wrapped to the next
	digits   string // of that value, as far as it came (quoted-printable)
	headless bool   // the header's port number wrapped
	orphans  bool   // counters without a header were reported
	asked    int    // the port of the last command, if that was a show of one
	closed   bool   // a vhost peer left since the last block
	last     map[int]Block
}

func (p *parser) problem(line int, format string, a ...any) {
	p.log.Problems = append(p.log.Problems, Problem{line, fmt.Sprintf(format, a...)})
}

func (p *parser) note(line int, format string, a ...any) {
	p.log.Notes = append(p.log.Notes, Problem{line, fmt.Sprintf(format, a...)})
}

func (p *parser) line(l line) {
	p.number = l.number
	text := unquote(l.text)
	if isComment(text) || strings.Contains(text, "Stats reg ") {
		// The per-queue registers of testpmd before 20.11 have the labels of
		// a block and are none of its counters.
		return
	}
	p.wrapped(text)
	if why, ok := refusalIn(text); ok {
		p.problem(p.number, "testpmd refused a command: %s", why)
	}
	for rest := text; ; {
		t := nextToken(rest)
		if t.kind == tokenNone {
			break
		}
		p.token(t)
		rest = rest[t.end:]
	}
	p.event(text)
}

// unquote takes off what mails and loggers put before a line, as far as it is
// not part of what is looked for.
func unquote(s string) string { return strings.TrimLeft(s, " >|") }

// isComment says whether a line is a shell's comment, or a root shell's prompt:
// nothing of testpmd's begins like that.
func isComment(s string) bool {
	return len(s) > 2 && s[0] == '#' && s[1] == ' ' && (s[2] >= 'a' && s[2] <= 'z' || s[2] >= 'A' && s[2] <= 'Z')
}

// wrapped takes the value of a label, or a header's port, that was wrapped to
// the line's beginning.
func (p *parser) wrapped(text string) {
	n := 0
	for n < len(text) && isDigit(text[n]) {
		n++
	}
	switch {
	case p.headless:
		p.headless = false
		if n > 0 {
			p.header(text[:n], p.number)
		}
	case p.wanting != "":
		p.digits += text[:n]
		p.settle()
	case n > 0 && p.open != nil && p.torn && (n == len(text) || text[n] == ' '):
		p.problem(p.number, "digits without a label: the number on line %d may go on here", p.lastRow)
	}
}

func (p *parser) token(t token) {
	switch t.kind {
	case tokenHeader:
		p.header(t.value, p.number)
	case tokenLabel:
		switch {
		case p.open == nil:
			p.orphan(t.label)
		case t.atEnd && (t.value == "" && t.tail == "" || t.tail == "="):
			p.wanting, p.digits = t.label, t.value
		default:
			p.value(t.label, t.value, t.tail)
			p.torn = t.atEnd && !endsRow(t.label)
		}
	case tokenBorder:
		// A header that was wrapped is followed by the rest of its own #s.
		if p.open != nil && p.lastRow > 0 {
			p.close()
		}
	case tokenPrompt:
		p.end("the prompt comes")
		p.asked = portAsked(t.value)
	case tokenForward:
		p.end("forward statistics begin")
	}
}

// endsRow says whether a counter is the last of its row in some layout.
func endsRow(label string) bool {
	switch label {
	case "RX-packets", "RX-missed", "RX-badcrc", "RX-badlen", "TX-packets", "TX-errors":
		return false
	}
	return true
}

func (p *parser) header(port string, number int) {
	p.end("another block begins")
	p.orphans = false
	if port == "" {
		p.headless = true
		return
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		p.problem(number, "port %s: there are 65536 at most", port)
		p.orphans = true // its counters need no word of their own
		return
	}
	p.open = &Block{Line: number, Port: int(n)}
	p.mixed, p.rates, p.torn, p.lastRow = false, false, false, 0
	if p.asked != noPort && p.asked != p.open.Port {
		p.problem(number, "asked port %d, got port %d", p.asked, p.open.Port)
	}
}

// value puts a counter into the open block.
func (p *parser) value(label, digits, tail string) {
	p.lastRow = p.number
	field := p.open.field(label)
	if field == nil {
		return
	}
	if *field != nil {
		if !p.mixed {
			p.problem(p.number, "%s comes twice in the block of line %d: two blocks are mixed, or a header is missing", label, p.open.Line)
		}
		p.mixed = true
		return
	}
	if digits == "" || tail != "" && tail != "=" {
		p.problem(p.number, "%s is no number: %q", label, printable(digits+tail))
		return
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		p.problem(p.number, "%s is %s, more than 64 bits hold", label, digits)
		return
	}
	if n > math.MaxInt64 {
		p.problem(p.number, "%s is %s: a counter that went below zero", label, digits)
	}
	*field = &n
}

// orphan is a counter outside of any block. Those that forward statistics have
// too say nothing.
func (p *parser) orphan(label string) {
	switch label {
	case "RX-packets", "TX-packets":
		return
	}
	if !p.orphans {
		p.problem(p.number, "%s outside of a block: the header of a NIC statistics block is cut off", label)
	}
	p.orphans = true
}

// end closes a block that has no border at its end.
func (p *parser) end(why string) {
	if p.headless {
		p.headless = false
		p.problem(p.number, "a header without its port number")
	}
	if p.open == nil {
		return
	}
	p.settle()
	p.problem(p.open.Line, "the block of port %d is cut: %s before its border", p.open.Port, why)
	p.keep()
}

// settle takes a value that should have followed on another line for what came
// of it.
func (p *parser) settle() {
	if p.wanting != "" {
		label, digits := p.wanting, p.digits
		p.wanting, p.digits = "", ""
		p.value(label, digits, "")
	}
}

// close closes a block at its border.
func (p *parser) close() {
	p.settle()
	if missing := p.open.missing(p.rates); len(missing) > 0 {
		p.problem(p.open.Line, "the block of port %d is cut: it lacks %s", p.open.Port, strings.Join(missing, ", "))
	}
	p.keep()
}

// missing are the counters that a whole block of its layout has and this one
// hasn't.
func (b *Block) missing(rates bool) []string {
	var out []string
	for _, f := range []struct {
		label string
		must  bool
	}{
		{"RX-packets", true}, {"RX-bytes", true}, {"RX-errors", true},
		{"RX-nombuf", b.RxMissed != nil},
		{"TX-packets", true}, {"TX-errors", true}, {"TX-bytes", true},
		{"Rx-pps", rates || b.TxPps != nil}, {"Tx-pps", rates || b.RxPps != nil},
		{"Rx-bps", b.TxBps != nil}, {"Tx-bps", b.RxBps != nil},
	} {
		if f.must && *b.field(f.label) == nil {
			out = append(out, f.label)
		}
	}
	return out
}

// keep adds the open block to the log, with what is wrong with it.
func (p *parser) keep() {
	b := *p.open
	p.open = nil
	p.log.Blocks = append(p.log.Blocks, b)
	p.pair(b, "RX", b.RxPackets, b.RxBytes)
	p.pair(b, "TX", b.TxPackets, b.TxBytes)
	p.rate(b, "Rx", b.RxPps, b.RxBps)
	p.rate(b, "Tx", b.TxPps, b.TxBps)
	before, again := p.last[b.Port]
	p.last[b.Port] = b
	if again {
		p.since(before, b)
	} else if b.RxPps != nil && *b.RxPps == 0 {
		p.note(b.Line, "the first show of a port prints rates of 0")
	}
	if p.closed {
		p.note(b.Line, "the vhost peer had left: the rates' window covers time in which nothing was sent")
	}
}

// The shortest and the longest that a frame can be: an Ethernet header, and
// what segmentation offload may hand over at once.
const (
	shortest = 14
	longest  = 65536 + 256
)

// pair checks packets against bytes. Some drivers count no bytes.
func (p *parser) pair(b Block, way string, packets, bytes *uint64) {
	if packets == nil || bytes == nil || *bytes == 0 {
		return
	}
	if *packets == 0 {
		p.problem(b.Line, "port %d: %s-packets 0 with %s-bytes %d", b.Port, way, way, *bytes)
		return
	}
	if each := float64(*bytes) / float64(*packets); each < shortest || each > longest {
		p.problem(b.Line, "port %d: %s: %d bytes in %d packets are %.1f each, which no frame has", b.Port, way, *bytes, *packets, each)
	}
}

// rate checks a printed rate. testpmd before 17.11 prints a huge one after a
// reset, before 20.08 a wrong one over a long window.
func (p *parser) rate(b Block, way string, pps, bps *uint64) {
	const most = 3e9 // packets a second; shared memory brings a tenth of that
	if pps != nil && float64(*pps) > most {
		p.problem(b.Line, "port %d: %s-pps %d: no port is that fast; testpmd before 17.11 prints this after its counters were cleared", b.Port, way, *pps)
		return
	}
	if pps == nil || bps == nil || *pps < 1000 || *bps == 0 {
		return
	}
	if each := float64(*bps) / 8 / float64(*pps); each < shortest-1 || each > longest {
		p.problem(b.Line, "port %d: %s-bps %d and %s-pps %d make %.1f bytes a packet", b.Port, way, *bps, way, *pps, each)
	}
}

// since checks a block against the one of the same port before it.
func (p *parser) since(before, b Block) {
	for _, c := range []struct {
		label       string
		before, now *uint64
		pps         *uint64
	}{
		{"RX-packets", before.RxPackets, b.RxPackets, b.RxPps}, {"RX-bytes", before.RxBytes, b.RxBytes, nil},
		{"TX-packets", before.TxPackets, b.TxPackets, b.TxPps}, {"TX-bytes", before.TxBytes, b.TxBytes, nil},
	} {
		switch {
		case c.before == nil || c.now == nil:
		case *c.now < *c.before:
			p.problem(b.Line, "port %d: %s went back from %d to %d, and nothing cleared it in between", b.Port, c.label, *c.before, *c.now)
			return // the others will have, too
		case c.pps != nil && *c.now == *c.before && *c.pps > 0:
			p.problem(b.Line, "port %d: a rate of %d packets a second, but %s is %d as before", b.Port, *c.pps, c.label, *c.now)
		}
	}
}

// event takes note of a line that changes what the next blocks may show.
func (p *parser) event(text string) {
	switch {
	case strings.Contains(text, "Throughput (since last show)"):
		p.rates = true
	case strings.Contains(text, "statistics for port") && strings.Contains(text, "cleared"),
		strings.Contains(text, "clear port stats"), strings.Contains(text, "clear port xstats"),
		strings.Contains(text, "port start "), strings.Contains(text, "port stop "), strings.Contains(text, "port reset "),
		strings.Contains(text, "Configuring Port "), strings.Contains(text, "Stopping ports"),
		strings.Contains(text, "EAL: Detected "), strings.Contains(text, "Interactive-mode selected"), strings.Contains(text, "Bye..."):
		clear(p.last)
		p.closed = false
	case strings.Contains(text, "vhost peer closed"):
		p.closed = true
	case strings.Contains(text, "virtio is now ready"):
		p.closed = false
	}
}

// portAsked is the port of a `show port stats N`, noPort for any other command.
func portAsked(command string) int {
	f := strings.Fields(command)
	if len(f) != 4 || f[0] != "show" || f[1] != "port" || f[2] != "stats" {
		return noPort
	}
	if n, err := strconv.ParseUint(f[3], 10, 16); err == nil {
		return int(n)
	}
	return noPort
}

// printable is a piece of a log without what could upset a terminal, and not
// too much of it.
func printable(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 40 {
		s = string(r[:40]) + "..."
	}
	return s
}
