// Package testpmd runs DPDK's testpmd and understands what it says: its
// command line, its prompt, its statistics, its telemetry.
package testpmd

import (
	"fmt"
	"slices"
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

// field is where a label's value goes.
func (b *Block) field(l label) **uint64 {
	return [...]**uint64{
		rxPackets: &b.RxPackets, rxMissed: &b.RxMissed, rxBytes: &b.RxBytes, rxErrors: &b.RxErrors, rxNombuf: &b.RxNombuf,
		txPackets: &b.TxPackets, txErrors: &b.TxErrors, txBytes: &b.TxBytes,
		rxPps: &b.RxPps, txPps: &b.TxPps, rxBps: &b.RxBps, txBps: &b.TxBps,
	}[l]
}

// Problem is something in a log that can't be right, with its line.
type Problem struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}

// Log is what Parse finds in a console's text.
type Log struct {
	Blocks   []Block   `json:"blocks"`
	Problems []Problem `json:"problems"` // in the order of their lines

	// Notes are about blocks that are right and yet not to be used blindly,
	// such as a first show, whose rates are 0. Their lines are the blocks'.
	Notes []Problem `json:"-"`

	// Prior has, for each block, the index of the one of its port that its
	// counters can be compared with; -1 where there is none, or where they
	// were cleared, or may be another machine's, in between.
	Prior []int `json:"-"`
}

// Frames are the mean sizes, in bytes, of the frames that a port received and
// sent between the block before and this one; 0 where that can't be told. The
// totals of a block would mix the sizes of a sweep.
func (l Log) Frames(block int) (rx, tx float64) {
	if l.Prior[block] < 0 {
		return 0, 0
	}
	before, now := l.Blocks[l.Prior[block]], l.Blocks[block]
	size := func(way direction) float64 {
		packets, ok := growth(way.packets(&before), way.packets(&now))
		bytes, ok2 := growth(way.bytes(&before), way.bytes(&now))
		if !ok || !ok2 || packets == 0 {
			return 0
		}
		return float64(bytes) / float64(packets)
	}
	return size(rxWay), size(txWay)
}

// Parse finds the NIC statistics blocks in a console's text, of any testpmd
// from DPDK 1.2 on (and of dpdk-proc-info, which prints the same block). The
// text may be a terminal's raw recording, quoted in a mail, prefixed by a
// logger, or cut anywhere. Forward statistics, extended statistics, and other
// programs' screens are no blocks.
//
// Of a block that is cut, what is there is kept, as long as its port is known:
// also where just the first words of its header are gone, but not where the
// header is missing, even if a command before it names the port. A number that
// the end of the text cuts is not kept.
func Parse(text []byte) Log {
	p := parser{
		log:   Log{Blocks: []Block{}, Problems: []Problem{}},
		ports: map[int]*history{},
		asked: noPort,
	}
	var tokens []token
	for l := range joinedLines(text) {
		tokens = scan(tokens[:0], l)
		if p.number == 0 {
			tokens = beheaded(tokens, l)
		}
		p.line(l, tokens)
	}
	p.end("the text ends")
	byLine := func(a, b Problem) int { return a.Line - b.Line }
	slices.SortStableFunc(p.log.Problems, byLine)
	slices.SortStableFunc(p.log.Notes, byLine)
	return p.log
}

// Ports that are none.
const (
	noPort   = -1
	allPorts = -2
)

// parser reads a log line by line.
type parser struct {
	log    Log
	number int // of the line that is being read

	open *openBlock // the block that is being read

	foreign bool // what comes are other statistics' counters
	orphans bool // counters without a header were reported

	asked    int  // the port of a show that no block has answered, or allPorts
	unpaired bool // answers come apart from their commands, as from a pipe

	ports  map[int]*history
	spread int // counts the lines after which blocks may be another machine's
	closed int // counts the vhost peers that left
}

// openBlock is a block of which the border hasn't come.
type openBlock struct {
	Block
	lines [blockLabels]int // where its counters stand; 0: not seen
	last  int              // line of the last one; 0 before
	rates bool             // it has the heading of the rates
}

// history is what is known of a port's blocks before.
type history struct {
	block   int // index of the last; -1 where it can't be compared with
	cleared bool
	event   bool // a link or queue event came since
	spread  int
	closed  int
	frame   float64 // size of what was received before it
}

func (p *parser) problem(line int, format string, a ...any) {
	p.log.Problems = append(p.log.Problems, Problem{line, fmt.Sprintf(format, a...)})
}

func (p *parser) note(line int, format string, a ...any) {
	p.log.Notes = append(p.log.Notes, Problem{line, fmt.Sprintf(format, a...)})
}

// beheaded finds a header at a text's very beginning of which the first words
// are cut off. Only a NIC statistics block has that many # behind a port.
func beheaded(tokens []token, l line) []token {
	if len(tokens) > 0 && tokens[0].kind == tokenHeader {
		return tokens
	}
	text := unquote(l.text)
	for i := 1; i < len(headerWords); i++ {
		rest, ok := strings.CutPrefix(text, headerWords[i:])
		n := countDigits(rest)
		if !ok || n == 0 || countRun(strings.TrimLeft(rest[n:], " "), '#') < 20 {
			continue
		}
		if port, err := strconv.ParseUint(rest[:n], 10, 16); err == nil && i < len(headerWords)-1 {
			return []token{{kind: tokenHeader, port: int(port)}}
		}
	}
	return tokens
}

func (p *parser) line(l line, tokens []token) {
	p.number = l.number
	if isComment(l.text) && p.open == nil && !slices.ContainsFunc(tokens, func(t token) bool { return t.kind == tokenHeader }) {
		return
	}
	forward := slices.ContainsFunc(tokens, func(t token) bool { return t.kind == tokenLabel && t.label >= blockLabels })
	counters := false
	for _, t := range tokens {
		counters = counters || t.kind == tokenLabel || t.kind == tokenHeader
		p.token(t, l.text, forward)
	}
	if !counters {
		p.words(l.text, len(tokens) > 0)
	}
}

// token takes a token of a line. forward: the line has counters of forward
// statistics.
func (p *parser) token(t token, text string, forward bool) {
	switch t.kind {
	case tokenHeader:
		p.header(t)
	case tokenCutHeader:
		p.end("another header begins")
		p.problem(p.number, "a header that is cut before its port number is whole")
		p.orphans = true // its counters need no word of their own
	case tokenCleared:
		p.forget(t.port)
	case tokenOther, tokenPort, tokenStream, tokenAccumulated:
		p.end("other statistics begin")
		p.foreign = true
	case tokenLabel:
		switch {
		case forward:
			p.end("other statistics begin")
		case p.open != nil:
			p.counter(t)
		case !p.foreign && !p.orphans && t.bad == "" && behindPrefix(text[:t.at]):
			// Other words before it would make it words about a counter.
			p.problem(p.number, "%s outside of a block: the header of a NIC statistics block is cut off", t.label)
			p.orphans = true
		}
	case tokenRates:
		if p.open != nil {
			p.open.rates = true
		}
	case tokenBorder:
		if p.open != nil && p.open.last > 0 {
			// Not the right side of a header that was wrapped.
			p.keep("")
		}
		p.foreign, p.orphans = false, false
	case tokenPrompt:
		p.command(t.text)
	case tokenEvent:
		p.port(t.port).event = true
	}
}

// header begins a block.
func (p *parser) header(t token) {
	p.end("another block begins")
	asked := p.asked
	p.asked, p.foreign, p.orphans = noPort, false, false
	if t.bad != "" {
		p.problem(p.number, "a header without a port: %q %s", clip(t.text), t.bad)
		p.orphans = true
		return
	}
	if t.text == "" {
		p.problem(p.number, "the header of port %d's block is cut at its beginning", t.port)
	}
	if asked >= 0 && asked != t.port && !p.unpaired {
		p.problem(p.number, "asked port %d, got port %d", asked, t.port)
	}
	p.open = &openBlock{Block: Block{Line: p.number, Port: t.port}}
}

// counter puts a counter into the open block.
func (p *parser) counter(t token) {
	o := p.open
	field := o.field(t.label)
	switch before := o.lines[t.label]; {
	case before == 0:
	case t.label == rxPackets && before != p.number:
		// Every block begins with it.
		p.end("the counters of a block without a header begin")
		p.orphans = true
		return
	case *field != nil && t.bad == "" && **field == t.value && (t.label == rxErrors || before == p.number):
		// Where queues are mapped to registers the errors are printed twice,
		// and a line may have been drawn twice.
		return
	default:
		p.problem(p.number, "%s comes twice in the block of line %d: two blocks are mixed, or a header is missing", t.label, o.Line)
		return
	}
	o.lines[t.label], o.last = p.number, p.number
	if t.bad != "" {
		p.problem(p.number, "%s: %q %s", t.label, clip(t.text), t.bad)
		return
	}
	*field = &t.value
}

// end closes a block that has no border at its end.
func (p *parser) end(why string) {
	if p.open != nil {
		p.keep(why)
	}
}

// keep adds the open block to the log, with what is wrong with it. why says
// what came instead of its border.
func (p *parser) keep(why string) {
	o := p.open
	p.open = nil
	lacks, last := "", max(o.Line, o.last)
	if missing := o.missing(); len(missing) > 0 {
		lacks = "it lacks " + strings.Join(missing, ", ")
	}
	switch {
	case why != "" && lacks != "":
		p.problem(last, "the block of port %d is cut: %s before its border, and %s", o.Port, why, lacks)
	case why != "":
		p.problem(last, "the block of port %d is cut: %s before its border", o.Port, why)
	case lacks != "":
		p.problem(last, "the block of port %d is cut: %s", o.Port, lacks)
	}
	p.log.Blocks = append(p.log.Blocks, o.Block)
	p.check(o)
}

// missing are the counters that a whole block of its layout has and this one
// hasn't. The layouts are those of DPDK 1.2 (packets, errors, bytes), 1.7
// (missed, nombuf), 16.07 (pps), 19.11 (bps), of mapped queues (no missed) and
// of dpdk-proc-info (no missed, no rates).
func (o *openBlock) missing() []string {
	has := func(l label) bool { return o.lines[l] > 0 }
	var out []string
	need := func(must bool, ls ...label) {
		for _, l := range ls {
			if must && !has(l) {
				out = append(out, l.String())
			}
		}
	}
	need(true, rxPackets, rxBytes, rxErrors)
	need(has(rxMissed), rxNombuf)
	need(true, txPackets, txErrors, txBytes)
	need(o.rates || has(rxPps) || has(txPps), rxPps, txPps)
	need(has(rxBps) || has(txBps), rxBps, txBps)
	return out
}

// command is what was typed at the prompt.
func (p *parser) command(text string) {
	if text == "" || isLog(text) {
		return
	}
	if p.asked != noPort {
		// A terminal shows a command's answer before the next command. Where
		// testpmd writes to a pipe, all commands come first.
		p.unpaired = true
	}
	p.asked = noPort
	switch verb, port := commandOf(text); {
	case verb == "show":
		p.asked = port
	case verb == "clear":
		p.forget(port)
	case strings.HasPrefix(text, "port "), text == "quit":
		p.forget(allPorts)
	}
}

// commandOf reads a `show port stats` or `clear port stats` and its port.
func commandOf(text string) (verb string, port int) {
	f := strings.Fields(text)
	if len(f) < 3 || f[1] != "port" || f[2] != "stats" && f[2] != "xstats" || f[0] != "clear" && f[0]+f[2] != "showstats" {
		return "", noPort
	}
	if len(f) != 4 {
		return f[0], noPort
	}
	if f[3] == "all" {
		return f[0], allPorts
	}
	if n, err := strconv.ParseUint(f[3], 10, 16); err == nil {
		return f[0], int(n)
	}
	return f[0], noPort
}

// words reads a line without counters: what changes how the next blocks can be
// compared with those before, and refused commands.
func (p *parser) words(text string, tokens bool) {
	if why, ok := refusalIn(text); ok {
		p.problem(p.number, "testpmd refused a command: %s", clip(why))
		p.asked = noPort
		return
	}
	switch {
	case strings.Contains(text, "alid ports array"), strings.Contains(text, "Valid port range"):
		p.asked = noPort // the rest of such an answer
	case strings.Contains(text, "vhost peer closed"):
		p.closed++
	case strings.Contains(text, "Configuring Port "), strings.Contains(text, "Stopping ports"),
		strings.Contains(text, "EAL: Detected "), strings.Contains(text, "Interactive-mode selected"),
		strings.Contains(text, "Bye..."), strings.Contains(text, "Script started on"):
		p.forget(allPorts)
	case tokens, p.open != nil, isLog(text), isQuiet(unquote(text)):
	default:
		// A heading, a sentence, a shell's prompt: the next block may be of
		// another testpmd.
		p.spread++
	}
}

// isQuiet says whether a line is of what testpmd prints at `start`, `stop` and
// between: the next block is of the same testpmd.
func isQuiet(text string) bool {
	if text == "" || strings.Contains(text, "=") {
		return true
	}
	for _, s := range []string{
		"Telling cores", "Waiting for lcores", "Done", "Set ", "Change ", "Logical Core", "RX queue", "TX queue",
		"port ", "Checking link statuses", "----", "++++", "RX-bursts", "TX-bursts", "Bad-",
	} {
		if strings.HasPrefix(text, s) {
			return true
		}
	}
	return false
}

// forget marks a port's counters, or those of all ports, as begun anew.
func (p *parser) forget(port int) {
	if port >= 0 {
		p.port(port).cleared = true
		return
	}
	if port == allPorts {
		for _, h := range p.ports {
			h.cleared = true
		}
	}
}

func (p *parser) port(n int) *history {
	h := p.ports[n]
	if h == nil {
		h = &history{block: -1}
		p.ports[n] = h
	}
	return h
}

// isComment says whether a line is a comment, which may well be about counters
// and refusals, or a root shell's prompt.
func isComment(text string) bool { return strings.HasPrefix(text, "# ") }

// clip is a piece of a log, not too much of it.
func clip(s string) string {
	if len(s) > 60 {
		s = s[:60] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
