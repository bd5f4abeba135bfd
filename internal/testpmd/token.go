package testpmd

import "strings"

// tokenKind is what can stand in a line that matters to a block.
type tokenKind int

const (
	tokenNone tokenKind = iota
	tokenHeader
	tokenLabel
	tokenBorder
	tokenPrompt
	tokenForward
)

// token is one of them, as the scanner finds it.
type token struct {
	kind  tokenKind
	label string
	value string // a label's digits, a header's port, a prompt's command
	tail  string // what sticks to a label's digits and is part of no number
	atEnd bool   // nothing comes after it in the line
	end   int    // where the rest of the line begins
}

// borderLength is how many # in a row are a border. testpmd prints 76, and 24
// on each side of a header; mails cut them.
const borderLength = 10

const (
	headerWords = "NIC statistics for port"
	labelMost   = len("RX-packets:")
)

// labels are a block's counters. Those of forward statistics that are not a
// block's as well (RX-dropped, RX-error, RX-nombufs) are not among them.
var labels = [...]string{
	"RX-packets", "RX-missed", "RX-bytes", "RX-errors", "RX-nombuf", "RX-badcrc", "RX-badlen",
	"TX-packets", "TX-errors", "TX-bytes", "Rx-pps", "Rx-bps", "Tx-pps", "Tx-bps",
}

// nextToken finds the first token of s.
func nextToken(s string) token {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '#':
			n := countRun(s[i:], '#')
			rest := strings.TrimLeft(s[i+n:], " ")
			if strings.HasPrefix(rest, headerWords) {
				return headerAt(s, len(s)-len(rest))
			}
			if n >= borderLength {
				return token{kind: tokenBorder, end: i + n}
			}
			i += n - 1
		case 'N':
			// A header whose first #s are cut off has those behind it.
			if strings.HasPrefix(s[i:], headerWords) && strings.Contains(s[i:], "####") {
				return headerAt(s, i)
			}
		case 'R', 'T':
			if t := labelAt(s, i); t.kind != tokenNone {
				return t
			}
		case 't':
			if strings.HasPrefix(s[i:], Prompt) || s[i:] == strings.TrimSpace(Prompt) {
				from := min(i+len(Prompt), len(s))
				command := s[from:]
				if next := strings.Index(command, Prompt); next >= 0 {
					command = command[:next]
				}
				// Something else can stand behind a prompt: a block, a log
				// line. The command is what it looks like.
				return token{kind: tokenPrompt, value: command, end: from}
			}
		case 'F', 'f':
			if strings.HasPrefix(s[i:], "Forward statistics for port") || strings.HasPrefix(s[i:], "Forward Stats for RX Port") ||
				strings.HasPrefix(s[i:], "forward statistics for all ports") {
				return token{kind: tokenForward, end: len(s)}
			}
		}
	}
	return token{}
}

// headerAt reads a header whose words begin at i.
func headerAt(s string, i int) token {
	rest := s[i+len(headerWords):]
	port := strings.TrimLeft(rest, " ")
	n := 0
	for n < len(port) && isDigit(port[n]) {
		n++
	}
	end := len(s) - len(port) + n
	end += len(s[end:]) - len(strings.TrimLeft(s[end:], " "))
	end += countRun(s[end:], '#')
	return token{kind: tokenHeader, value: port[:n], end: end}
}

// labelAt reads a label and its value where one begins at i.
func labelAt(s string, i int) token {
	// A label's own letters may be the end of another word ("rate-RX-bytes").
	if i > 0 && (isLetter(s[i-1]) || s[i-1] == '-' || s[i-1] == '_') {
		return token{}
	}
	colon := strings.IndexByte(s[i:min(len(s), i+labelMost)], ':')
	if colon < 0 {
		return token{}
	}
	for _, label := range labels {
		if s[i:i+colon] == label {
			t := token{kind: tokenLabel, label: label}
			from := i + colon + 1
			for from < len(s) && (s[from] == ' ' || s[from] == '*') {
				from++
			}
			to := from
			for to < len(s) && isDigit(s[to]) {
				to++
			}
			t.value, t.end = s[from:to], to
			t.tail = tailAt(s, to, t.value == "")
			t.atEnd = strings.TrimSpace(s[to+len(t.tail):]) == ""
			return t
		}
	}
	return token{}
}

// tailAt is what follows a number without a blank and makes it none: letters,
// a sign, a separator before another digit. A label may follow at once, where
// a number overflowed its column, and marks of a mail or a markup may.
func tailAt(s string, i int, empty bool) string {
	to := i
	for to < len(s) && s[to] != ' ' && nextLabel(s[to:]) == "" {
		to++
	}
	tail := s[i:to]
	switch {
	case tail == "":
		return ""
	case empty, tail == "=":
		return tail
	case isLetter(tail[0]), tail[0] == '-', len(tail) > 1 && (tail[0] == '.' || tail[0] == ',') && isDigit(tail[1]):
		return tail
	case tail[0] >= 0x80 || tail[0] < ' ':
		return tail
	}
	return ""
}

// nextLabel is the label that s begins with.
func nextLabel(s string) string {
	for _, label := range labels {
		if strings.HasPrefix(s, label+":") {
			return label
		}
	}
	return ""
}

func countRun(s string, c byte) int {
	n := 0
	for n < len(s) && s[n] == c {
		n++
	}
	return n
}

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
