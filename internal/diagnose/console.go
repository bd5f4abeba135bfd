package diagnose

import "strings"

// prompt is testpmd's. Log lines come glued to it, for it ends no line.
const prompt = "testpmd> "

// longest is how much of a line is looked at: real lines are shorter, and a
// megabyte without a newline is no reason to take long.
const longest = 4096

// console is a text as lines that can be matched.
type console struct{ lines []line }

// line is a piece of the text that was printed in one go: a line, or the part
// of one before or after a prompt.
type line struct {
	n     int    // its 1-based line in the text
	text  string // without terminal codes, date, prompt and blanks around
	typed bool   // it came after a prompt: a command, or output glued to it
	run   int    // the process that printed it, by number
	guest bool   // a machine was seen to boot before, on the same console
}

// A process starts anew where DPDK says what it found ("Detected 2 lcore(s)",
// since 21.02 "Detected CPU lcores: 2"; lib/eal/linux/eal.c).
const detected = "EAL: Detected "

// boots are what a machine prints on its serial line before its own programs
// do: firmware and kernels. QEMU's monitor and testpmd don't.
var boots = []string{"SeaBIOS (version", "Booting from ROM", "Linux version ", "Run /init as init process", "Powered by Unikraft"}

func newConsole(text []byte) *console {
	c := &console{}
	n, run, guest := 0, 0, false
	for raw := range strings.Lines(string(text)) {
		n++
		for seg := range strings.SplitSeq(strings.TrimRight(clean(raw), "\r\n"), "\r") {
			if comment(seg) {
				seg = ""
			}
			for i, part := range strings.Split(undated(seg), prompt) {
				part = strings.Trim(part, " \t>")
				if len(part) > longest {
					part = part[:longest]
				}
				if strings.Contains(part, detected) && strings.Contains(part, "lcore") {
					run++
				}
				for _, b := range boots {
					guest = guest || strings.Contains(part, b)
				}
				c.lines = append(c.lines, line{n: n, text: part, typed: i > 0, run: run, guest: guest})
			}
		}
	}
	return c
}

// readable is the text as lines without terminal codes.
func readable(text []byte) []string {
	var lines []string
	for raw := range strings.Lines(string(text)) {
		for seg := range strings.SplitSeq(strings.TrimRight(clean(raw), "\r\n"), "\r") {
			lines = append(lines, strings.TrimRight(seg, " \t"))
		}
	}
	return lines
}

// comment says whether a line is no output but was put above it by whoever
// kept it, such as "# source: https://...".
func comment(s string) bool {
	key, _, ok := strings.Cut(s, ":")
	key, hash := strings.CutPrefix(key, "# ")
	return ok && hash && key != "" && strings.Trim(key, "abcdefghijklmnopqrstuvwxyz ") == ""
}

// undated takes away what journald, containers and QEMU's -msg timestamp=on
// put before a line.
func undated(s string) string {
	if s == "" || (s[0] < '0' || s[0] > '9') && (s[0] < 'A' || s[0] > 'Z') {
		return s
	}
	if m := regexpDated().find(s); m != nil {
		return s[len(m[0]):]
	}
	return s
}

var regexpDated = lazily(`^(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* (?:std(?:out|err) [FP] )?|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ [\w./-]+(?:\[\d+\])?: )`)

// clean takes the terminal's codes out of a line. A backspace takes back what
// was typed before it; a carriage return stays, for it divides.
func clean(raw string) string {
	raw = strings.ToValidUTF8(raw, "?")
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case b == 0x1b:
			i += escape(raw[i+1:])
		case b == '\b':
			if len(out) > 0 {
				out = out[:len(out)-1]
			}
		case b < ' ' && b != '\t' && b != '\r' && b != '\n', b == 0x7f:
		default:
			out = append(out, b)
		}
	}
	return strings.ToValidUTF8(string(out), "?")
}

// escape is how many bytes an escape sequence has after its ESC (ECMA-48):
// ESC [ parameters letter, ESC ] text BEL or ESC \, ESC ( charset, ESC letter.
func escape(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '[':
		for i := 1; i < len(s); i++ {
			if s[i] >= '@' && s[i] <= '~' {
				return i + 1
			}
			if s[i] < ' ' { // cut off
				return i
			}
		}
		return len(s)
	case ']':
		for i := 1; i < len(s); i++ {
			switch s[i] {
			case '\a':
				return i + 1
			case 0x1b:
				return i
			case '\n':
				return i
			}
		}
		return len(s)
	case '(', ')':
		return min(2, len(s))
	case '\n', '\r':
		return 0
	}
	return 1
}

// around are the indices of the lines of the process that printed line i.
func (c *console) around(i int) (from, to int) {
	run := c.lines[i].run
	for from = i; from > 0 && c.lines[from-1].run == run && i-from < far; from-- {
	}
	for to = i + 1; to < len(c.lines) && c.lines[to].run == run && to-i < far; to++ {
	}
	return from, to
}

// far bounds how many lines are looked at around one, so that a text of many
// alike lines takes no square of the time.
const far = 200

// has says whether one of the pieces of text is in a line near i, printed by
// the same process.
func (c *console) has(i int, pieces ...string) bool {
	from, to := c.around(i)
	for _, l := range c.lines[from:to] {
		for _, p := range pieces {
			if strings.Contains(l.text, p) {
				return true
			}
		}
	}
	return false
}

// before is the nearest line before i, of the same process, that re matches;
// its groups, or nil.
func (c *console) before(i int, re *pattern) []string {
	from, _ := c.around(i)
	for j := i - 1; j >= from; j-- {
		if m := re.find(c.lines[j].text); m != nil {
			return m
		}
	}
	return nil
}

// after is the same after i.
func (c *console) after(i int, re *pattern) []string {
	_, to := c.around(i)
	for j := i + 1; j < to; j++ {
		if m := re.find(c.lines[j].text); m != nil {
			return m
		}
	}
	return nil
}

// all are the first groups of re in every line near i, each once, in order.
func (c *console) all(i int, re *pattern) []string {
	from, to := c.around(i)
	var got []string
	seen := map[string]bool{}
	for _, l := range c.lines[from:to] {
		if m := re.find(l.text); m != nil && !seen[m[1]] {
			seen[m[1]] = true
			got = append(got, m[1])
		}
	}
	return got
}

// command is what was last typed at the prompt before line i, if that is what
// the line answers.
func (c *console) command(i int) string {
	const near = 12
	for j := i - 1; j >= 0 && i-j <= near; j-- {
		if l := c.lines[j]; l.typed && isCommand(l.text) {
			return l.text
		}
	}
	return ""
}

// isCommand tells a typed command from output glued to a prompt: testpmd's
// commands begin with a word in lower case.
func isCommand(s string) bool {
	word, _, _ := strings.Cut(s, " ")
	if word == "" || strings.HasSuffix(s, ":") {
		return false
	}
	for i := range len(word) {
		if b := word[i]; (b < 'a' || b > 'z') && b != '_' {
			return false
		}
	}
	return true
}
