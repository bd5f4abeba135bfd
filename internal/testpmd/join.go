package testpmd

import (
	"iter"
	"strings"
)

// Bounds of what belongs together.
const (
	maxBetween = 64 // log lines in the middle of a line
	maxPieces  = 8  // of one line
)

// joinedLines are a log's lines with those put together again that something
// broke: a link event or a log line printed in the middle of one (testpmd's
// threads and its drivers share the terminal), a mail client that wraps or
// encodes as quoted-printable. What was in between comes behind.
//
// Two lines belong together where that gives more counters, headers and
// commands than they hold apart, or where a number goes on in the second.
func joinedLines(text []byte) iter.Seq[line] {
	return func(yield func(line) bool) {
		j := joiner{yield: yield}
		for l := range lines(text) {
			head, log := cutLog(l)
			if head.text != "" {
				j.add(head)
			}
			if log.text != "" {
				j.add(log)
			}
			if j.stopped {
				return
			}
		}
		j.flush()
	}
}

type joiner struct {
	yield   func(line) bool
	stopped bool

	first   line   // it may go on in a later line; none where pieces is 0
	pieces  int    // of first, so far
	upto    int    // the line that first's last piece stood on
	between []line // log lines since
	tokens  []token
}

func (j *joiner) add(l line) {
	if j.pieces > 0 {
		if isLog(l.text) && len(j.between) < maxBetween {
			j.between = append(j.between, l)
			return
		}
		if joined, ok := j.join(l); ok && j.pieces < maxPieces {
			j.first, j.upto = joined, l.number
			j.pieces++
			return
		}
		if len(j.between) > 0 && startsWithDigit(unquote(l.text)) {
			j.first.open = true // its number may go on there
		}
		j.flush()
	}
	if goesOn(l.text) {
		j.first, j.pieces, j.upto = l, 1, l.number
	} else {
		j.emit(l)
	}
}

func (j *joiner) emit(l line) {
	if !j.stopped {
		j.stopped = !j.yield(l)
	}
}

func (j *joiner) flush() {
	if j.pieces > 0 {
		j.emit(j.first)
	}
	for _, l := range j.between {
		j.emit(l)
	}
	j.pieces, j.between = 0, j.between[:0]
}

// goesOn says whether a line is worth a look at the next one.
func goesOn(text string) bool {
	if holdsBlock(text) || strings.Contains(text, barePrompt) || strings.Contains(text, "show ") || strings.Contains(text, "clear ") {
		return true
	}
	end := text[strings.LastIndexByte(text, ' ')+1:]
	switch end {
	case "R", "T", "RX", "TX", "Rx", "Tx":
		return true
	}
	return false
}

// join puts l behind what is held, if it belongs there.
func (j *joiner) join(l line) (line, bool) {
	interrupted := len(j.between) > 0
	if !interrupted && l.number > j.upto+1 {
		return line{}, false
	}
	a, b := j.first.text, unquote(l.text)
	if startsLine(b) || !interrupted && startsWithDigit(b) && startsWithDigit(unquote(a)) {
		// The latter: where each line begins with a number (a time), so does
		// the next.
		return line{}, false
	}
	if soft, ok := strings.CutSuffix(a, "="); ok && !strings.HasSuffix(soft, "=") && !interrupted {
		// A soft line break of quoted-printable: the next line is behind the
		// quotes already.
		joined := line{j.first.number, soft + l.text, l.open}
		if endsInDigit(soft) && startsWithDigit(l.text) || j.score(joined) > j.score(j.first)+j.score(l) {
			return joined, true
		}
	}
	if j.numberAtEnd(interrupted) && continues(b) {
		return line{j.first.number, a + b, l.open}, true
	}
	apart := j.score(j.first) + j.score(line{text: b, open: l.open})
	for _, joined := range []line{
		{j.first.number, a + b, l.open},
		{j.first.number, strings.TrimRight(a, " ") + " " + b, l.open},
	} {
		if j.score(joined) > apart {
			return joined, true
		}
	}
	return line{}, false
}

// startsLine says whether s is the beginning of one of the lines of a block.
func startsLine(s string) bool {
	return startsToken(s) || strings.HasPrefix(s, "#") || strings.HasPrefix(s, "Stats reg") || strings.HasPrefix(s, "Throughput")
}

// score counts what a line holds that is whole.
func (j *joiner) score(l line) int {
	n := 0
	j.tokens = scan(j.tokens[:0], l)
	for _, t := range j.tokens {
		switch t.kind {
		case tokenHeader, tokenLabel, tokenPort:
			if t.bad == "" {
				n++
			}
		case tokenCleared, tokenStream, tokenAccumulated, tokenOther:
			n++
		case tokenPrompt:
			if verb, port := commandOf(t.text); verb != "" && port != noPort {
				n++
			}
		}
	}
	return n
}

// numberAtEnd says whether the held line ends in one of its numbers: a
// counter's, a port's or, if something came in between, a command's.
func (j *joiner) numberAtEnd(interrupted bool) bool {
	if !endsInDigit(j.first.text) {
		return false
	}
	j.tokens = scan(j.tokens[:0], line{text: j.first.text})
	n := len(j.tokens)
	return n > 0 && (interrupted || j.tokens[n-1].kind != tokenPrompt)
}

// continues says whether a line can be the rest of one that broke in a number:
// digits, and then nothing or what can follow a number.
func continues(s string) bool {
	n := countDigits(s)
	if n == 0 {
		return false
	}
	rest := strings.TrimLeft(s[n:], " ")
	if _, l := labelAt(rest); l > 0 {
		return true
	}
	for _, name := range labelNames[:blockLabels] {
		if strings.HasPrefix(name, rest) {
			return true // nothing, or a label that breaks, too
		}
	}
	return rest[0] == '#' && n < len(s) && s[n] == ' '
}

func endsInDigit(s string) bool     { return s != "" && isDigit(s[len(s)-1]) }
func startsWithDigit(s string) bool { return s != "" && isDigit(s[0]) }

// cutLog splits off a log line or an event that begins in the middle of a line.
func cutLog(l line) (head, log line) {
	cut := func(i int) (head, log line) {
		return line{l.number, l.text[:i], false}, line{l.number, l.text[i:], l.open}
	}
	if isLog(l.text) {
		begin := len(l.text) - len(unquote(l.text))
		n := stuck(l.text[begin:])
		if n == 0 {
			return line{}, l
		}
		return cut(begin + n)
	}
	for i := 1; i < len(l.text); i++ {
		// Where one begins, a word does; or it sticks to what it breaks.
		rest := l.text[i:]
		c, before := rest[0], l.text[i-1]
		switch {
		case !isLetter(c):
			continue
		case !isLetter(before) && before != '_', c <= 'Z' && before >= 'a', strings.HasPrefix(rest, "Port "):
		default:
			continue
		}
		if n, _ := eventAt(rest); n > 0 || logAt(rest) {
			return cut(i + stuck(rest))
		}
	}
	return l, line{}
}

// stuck is how many capitals of a label or a header stand before the name that
// a log line begins with: only a name that is known tells that.
func stuck(log string) int {
	for _, name := range []string{"VHOST_", "EAL: "} {
		if n := strings.Index(log[:min(len(log), len(name)+len("NIC"))], name); n > 0 {
			return n
		}
	}
	return 0
}

// isLog says whether a whole line is a log line or an event. What holds a
// counter is no log line, whatever a logger put before it.
func isLog(text string) bool {
	text = unquote(text)
	if n, _ := eventAt(text); n > 0 {
		return true
	}
	return logAt(text) && !holdsBlock(text)
}

// holdsBlock says whether there may be a part of a block in s.
func holdsBlock(s string) bool {
	return strings.Contains(s, "X-") || strings.Contains(s, "x-") || strings.Contains(s, "####")
}

// logAt says whether s begins as DPDK's log lines do: with the name of a part
// of it in capitals (EAL: ...), of a driver (mlx5_net: ...), of a function
// (hns3_update_link_status(): ...) or with a PCI address.
func logAt(s string) bool {
	n, upper, lower, under := 0, false, false, false
	for n < len(s) && n < 64 && (isLetter(s[n]) || isDigit(s[n]) || s[n] == '_') {
		upper = upper || 'A' <= s[n] && s[n] <= 'Z'
		lower = lower || s[n] >= 'a'
		under = under || s[n] == '_'
		n++
	}
	rest := s[n:]
	switch {
	case n == 4 && len(s) >= len("0000:00:00.0 ") && s[4] == ':' && s[7] == ':' && s[10] == '.':
		return true
	case n < 3 || !isLetter(s[0]):
		return false
	case strings.HasPrefix(rest, "(): "):
		return true
	case strings.HasPrefix(rest, ": "):
		return !lower || under && !upper
	}
	return false
}

// eventAt reads a "Port N: ... event" at the beginning of s (eth_event_callback
// in testpmd.c) and returns its length and the port.
func eventAt(s string) (n, port int) {
	rest, ok := strings.CutPrefix(s, "Port ")
	if !ok {
		return 0, 0
	}
	d := countDigits(rest[:min(len(rest), 5)])
	if d == 0 || !strings.HasPrefix(rest[d:], ": ") {
		return 0, 0
	}
	for _, c := range []byte(rest[:d]) {
		port = 10*port + int(c-'0')
	}
	name := rest[d+2 : min(len(rest), d+2+64)]
	end := strings.Index(name, " event")
	if end < 0 || strings.Contains(name[:end], ":") {
		return 0, 0
	}
	return len(s) - len(rest) + d + 2 + end + len(" event"), port
}
