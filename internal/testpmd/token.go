package testpmd

import (
	"strconv"
	"strings"
)

// tokenKind is what can stand in a line and matters.
type tokenKind int

const (
	tokenHeader      tokenKind = iota // of a NIC statistics block; port
	tokenCutHeader                    // one that the end of the input cuts before its port is whole
	tokenCleared                      // "NIC statistics for port N cleared"; port
	tokenOther                        // the title of other statistics, which use the same labels
	tokenLabel                        // a counter
	tokenBorder                       // the end of a block
	tokenRates                        // "Throughput (since last show)"
	tokenPort                         // "Forward statistics for port N"; port
	tokenStream                       // "Forward Stats for RX Port= ..."; text
	tokenAccumulated                  // "Accumulated forward statistics"
	tokenPrompt                       // text is the command
	tokenEvent                        // "Port N: link state change event"; port
)

// token is one of them.
type token struct {
	kind  tokenKind
	at    int    // where it begins in the line
	port  int    // of a title or an event
	label label  // of a counter
	value uint64 // of a counter
	text  string // what value was read from, a command, a stream's queues
	bad   string // why text is no number, or no port; "" where it is one
}

// label is the name of a counter.
type label int

// Those of a NIC statistics block are first, in the order of Block's fields.
const (
	rxPackets label = iota
	rxMissed
	rxBytes
	rxErrors
	rxNombuf
	txPackets
	txErrors
	txBytes
	rxPps
	txPps
	rxBps
	txBps
	rxDropped // from here on of forward statistics only
	rxTotal
	txDropped
	txTotal
	rxError
	rxNombufs
	badIPCsum
	badL4Csum
	badOuterL4Csum
	badOuterIPCsum
	labelCount

	blockLabels = rxDropped
)

func (l label) String() string { return labelNames[l] }

var labelNames = [labelCount]string{
	"RX-packets", "RX-missed", "RX-bytes", "RX-errors", "RX-nombuf",
	"TX-packets", "TX-errors", "TX-bytes", "Rx-pps", "Tx-pps", "Rx-bps", "Tx-bps",
	"RX-dropped", "RX-total", "TX-dropped", "TX-total", "RX-error", "RX-nombufs",
	"Bad-ipcsum", "Bad-l4csum", "Bad-outer-l4csum", "Bad-outer-ipcsum",
}

const (
	barePrompt  = "testpmd>"
	headerWords = "NIC statistics for port "

	// testpmd prints 24 # on each side of a header and 76 as a border. People
	// shorten them, mail clients break them.
	headerRun, borderRun = 8, 10
)

// scan adds a line's tokens to to. Nothing need be at its usual place in the
// line: what a mail client, a logger or another thread's output put around a
// token is passed over.
func scan(to []token, l line) []token {
	s := scanner{text: l.text, open: l.open, to: to}
	start := len(to)
	for s.i < len(s.text) {
		s.step()
	}
	if len(s.to) == start || s.to[start].kind != tokenPrompt {
		// After a log line the prompt is elsewhere, and in a manual there is
		// none.
		if c := unquote(l.text); strings.HasPrefix(c, "show port ") || strings.HasPrefix(c, "clear port ") {
			t := token{kind: tokenPrompt, at: len(l.text) - len(c), text: strings.TrimSpace(c)}
			return append(to, append([]token{t}, s.to[start:]...)...)
		}
	}
	return s.to
}

// unquote takes off what quotes and frames a line.
func unquote(s string) string { return strings.TrimLeft(s, " >|*`") }

type scanner struct {
	text string
	open bool // the input ends in text
	i    int
	run  int // length of the run of # just before i
	to   []token
}

func (s *scanner) emit(t token) { s.to = append(s.to, t) }

func (s *scanner) has(words string) bool { return strings.HasPrefix(s.text[s.i:], words) }

// step reads one token, or passes over one character.
func (s *scanner) step() {
	run := s.run
	s.run = 0
	switch s.text[s.i] {
	case '#':
		s.hashes()
		return
	case 'A', 'F', 'N', 'P', 'S', 't':
		if s.title(run) {
			return
		}
	case 'B', 'R', 'T':
		if s.has("Throughput (since last show)") {
			s.emit(token{kind: tokenRates, at: s.i})
		} else if l, n := labelAt(s.text[s.i:]); n > 0 {
			s.counter(l, n)
			return
		}
	}
	s.i++
}

// hashes reads a run of #: a side of a header, or a border.
func (s *scanner) hashes() {
	at := s.i
	n := countRun(s.text[at:], '#')
	s.i += n
	for s.i < len(s.text) && s.text[s.i] == ' ' {
		s.i++
	}
	switch rest := s.text[s.i:]; {
	case n >= headerRun && s.open && rest != "" && strings.HasPrefix(headerWords, rest):
		s.emit(token{kind: tokenCutHeader, at: at})
		s.i = len(s.text)
	case strings.HasPrefix(rest, "NIC "):
		s.run = n
	case n >= borderRun:
		s.emit(token{kind: tokenBorder, at: at})
	}
}

// title reads what heads statistics, a prompt or an event. run is the length
// of the run of # before it.
func (s *scanner) title(run int) bool {
	at := s.i
	switch {
	case s.has(headerWords):
		s.i += len(headerWords)
		s.header(at, run)
	case s.has("NIC statistics:") && run >= headerRun, s.has("NIC extended statistics for port"):
		s.emit(token{kind: tokenOther, at: at})
		s.i = len(s.text)
	case s.has("Forward statistics for port "):
		s.i += len("Forward statistics for port ")
		digits, bad := s.number(false)
		port, err := strconv.Atoi(digits)
		if bad == "" && err != nil {
			bad = "is no port"
		}
		s.emit(token{kind: tokenPort, at: at, port: port, text: digits, bad: bad})
	case s.has("Forward Stats for RX Port="):
		s.i += len("Forward Stats for ")
		s.emit(token{kind: tokenStream, at: at, text: s.text[s.i:]})
	case s.has("Accumulated forward statistics"):
		s.i += len("Accumulated forward statistics")
		s.emit(token{kind: tokenAccumulated, at: at})
	case s.has("Stats reg"):
		// A queue's counters under the labels of the port's: testpmd from 1.3
		// to 20.08 where queues were mapped to registers, and dpdk-proc-info.
		// The rest of the line is theirs.
		for s.i < len(s.text) && !s.has("####") && !s.has("Throughput") {
			s.i++
		}
	case s.has(barePrompt):
		s.i += len(barePrompt)
		command := s.text[s.i:]
		if n := strings.Index(command, barePrompt); n >= 0 {
			command = command[:n]
		}
		s.emit(token{kind: tokenPrompt, at: at, text: strings.TrimSpace(command)})
	case s.has("Port "):
		n, port := eventAt(s.text[at:])
		if n == 0 {
			return false
		}
		s.emit(token{kind: tokenEvent, at: at, port: port})
		s.i += n
	default:
		return false
	}
	return true
}

// header reads a header from its port on. run is the length of its left side.
func (s *scanner) header(at, run int) {
	digits, bad := s.number(true)
	for s.i < len(s.text) && s.text[s.i] == ' ' {
		s.i++
	}
	right := countRun(s.text[s.i:], '#')
	switch {
	case bad == "" && s.has("cleared"):
		port, _ := strconv.Atoi(digits)
		s.emit(token{kind: tokenCleared, at: at, port: port})
		return
	case run < headerRun && right < headerRun && (run < 2 || right < 2):
		return // words about a block
	}
	s.i += right
	if bad == badCut {
		s.emit(token{kind: tokenCutHeader, at: at})
		return
	}
	port, err := strconv.ParseUint(digits, 10, 16) // what DPDK's port numbers are
	if bad == "" && err != nil {
		bad = "is no port"
	}
	s.emit(token{kind: tokenHeader, at: at, port: int(port), text: digits, bad: bad})
}

// counter reads the value of a label, which n characters hold.
func (s *scanner) counter(l label, n int) {
	t := token{kind: tokenLabel, at: s.i, label: l}
	s.i += n
	for s.i < len(s.text) && strings.IndexByte(" *_`|", s.text[s.i]) >= 0 {
		s.i++
	}
	t.text, t.bad = s.number(true)
	if t.bad == "" {
		var err error
		if t.value, err = strconv.ParseUint(t.text, 10, 64); err != nil {
			t.bad = "is more than 64 bits hold"
		}
	}
	s.emit(t)
}

// What can be wrong with a number, apart from its size.
const (
	badEmpty = "is missing"
	badCut   = "may be cut"
	badText  = "is no number"
)

// number reads a number as testpmd prints it: decimal digits and nothing else.
// What can't be one is passed over as far as the next blank or label.
func (s *scanner) number(strict bool) (digits, bad string) {
	at := s.i
	n := countDigits(s.text[at:])
	s.i += n
	digits = s.text[at:s.i]
	rest := s.text[s.i:]
	switch {
	case n > 0 && rest == "" && s.open && digits != "0":
		return digits, badCut // more digits may have followed; not to a 0
	case n > 1 && digits[0] == '0', n > 0 && strict && partOfNumber(rest), n == 0 && rest != "" && rest[0] != ' ' && !startsToken(rest):
		for s.i < len(s.text) && s.text[s.i] != ' ' && !startsToken(s.text[s.i:]) {
			s.i++
		}
		return s.text[at:s.i], badText
	case n == 0:
		return "", badEmpty
	}
	return digits, ""
}

// partOfNumber says whether what follows digits makes them none, or part of a
// longer one. What a mail, a table or JSON puts behind a number doesn't, nor
// does what testpmd printed without a blank between.
func partOfNumber(rest string) bool {
	if rest == "" {
		return false
	}
	switch c := rest[0]; {
	case isLetter(c) || c == '%' || c >= 0x80:
		return !startsToken(rest)
	case c == '=':
		return rest == "=" || len(rest) > 1 && rest[1] != ' '
	case strings.IndexByte(".,'-+/:_", c) >= 0:
		return len(rest) > 1 && (isDigit(rest[1]) || isLetter(rest[1]) || rest[1] == '-' || rest[1] == '.')
	case c == ' ':
		// Thousands that are set apart by blanks.
		return countDigits(rest[1:]) == 3
	}
	return false
}

// startsToken says whether s begins with something that testpmd prints.
func startsToken(s string) bool {
	if _, n := labelAt(s); n > 0 {
		return true
	}
	if n, _ := eventAt(s); n > 0 {
		return true
	}
	return strings.HasPrefix(s, barePrompt) || logAt(s)
}

// labelAt reads a label and its colon at the beginning of s, and returns their
// length, 0 where there is none.
func labelAt(s string) (label, int) {
	if len(s) < len("Rx-pps:") || s[2] != '-' && s[3] != '-' {
		return 0, 0
	}
	for l, name := range labelNames {
		if strings.HasPrefix(s, name) {
			rest := strings.TrimLeft(s[len(name):min(len(s), len(name)+4)], " *")
			if strings.HasPrefix(rest, ":") {
				return label(l), strings.IndexByte(s, ':') + 1
			}
		}
	}
	return 0, 0
}

func countRun(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func countDigits(s string) int {
	n := 0
	for n < len(s) && isDigit(s[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }
