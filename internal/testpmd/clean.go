package testpmd

import (
	"bytes"
	"encoding/binary"
	"html"
	"iter"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// line is a line of a log as a terminal would have shown it, and its number in
// the input. Several have the same number where one was drawn again.
type line struct {
	number int    // from 1
	text   string // without control characters
	open   bool   // the input ends in it, and may be cut there
}

// screenLines are a log's lines in one piece.
func screenLines(text []byte) []line { return slices.Collect(lines(text)) }

// lines cleans a log: recordings of a terminal, mails, web pages and files from
// Windows give the text that testpmd printed. Empty lines are left out.
//
// A line ends at LF; at CR only where the text has no LF at all. Any other CR
// (a terminal's CR CR LF, a line that is drawn again) begins a new line of the
// same number.
func lines(text []byte) iter.Seq[line] {
	return func(yield func(line) bool) {
		text := decode(text)
		end := byte('\n')
		if bytes.IndexByte(text, end) < 0 {
			end = '\r'
		}
		for n := 1; len(text) > 0; n++ {
			raw, rest, ended := bytes.Cut(text, []byte{end})
			text = rest
			if !render(raw, n, !ended, yield) {
				return
			}
		}
	}
}

// decode turns UTF-16 with its mark into UTF-8. Without the mark it is ASCII
// with NULs, which are dropped anyway.
func decode(text []byte) []byte {
	var order binary.ByteOrder
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		order = binary.LittleEndian
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return text
	}
	units := make([]uint16, len(text)/2)
	for i := range units {
		units[i] = order.Uint16(text[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// screen is the line of a terminal that is being drawn.
type screen struct {
	number  int
	yield   func(line) bool
	cells   []byte
	col     int
	reverse bool // ESC M was the last thing that came
	stopped bool // yield wants no more
}

// Bounds that keep hostile input linear. A terminal is narrower.
const (
	maxMove = 1000 // columns that a cursor movement goes to the right
	maxEdit = 4096 // length of a row whose middle can be moved
)

// render draws one line of the input and yields what could be read on it.
func render(raw []byte, n int, open bool, yield func(line) bool) bool {
	if plain(raw) {
		return len(raw) == 0 || yield(line{n, string(raw), open})
	}
	if bytes.IndexByte(raw, '&') >= 0 {
		raw = []byte(html.UnescapeString(string(raw)))
	}
	// "^[[0K" and "^M" are how cat -v and some pagers write ESC and CR.
	caret := bytes.Contains(raw, []byte("^["))
	for bytes.HasSuffix(raw, []byte("^M")) {
		raw, open = raw[:len(raw)-2], false
	}

	s := screen{number: n, yield: yield}
	for i := 0; i < len(raw) && !s.stopped; {
		switch c := raw[i]; {
		case c == 0x1b:
			i = s.escape(raw, i+1)
		case c == '^' && caret && i+1 < len(raw) && raw[i+1] == '[':
			i = s.escape(raw, i+2)
		case c == '^' && caret && i+1 < len(raw) && raw[i+1] == 'H':
			s.left(1)
			i += 2
		case c == '^' && caret && i+1 < len(raw) && raw[i+1] == 'M':
			s.flush(false)
			i += 2
		case c == '\b':
			s.left(1)
			i++
		case c == '\r' || c == '\n' || c == '\f' || c == '\v':
			s.flush(false)
			i++
		case c == '\t':
			s.put(' ')
			i++
		case c < ' ' || c == 0x7f:
			i++
		case c == '\\':
			i = s.backslash(raw, i)
		case c == '<':
			i = s.tag(raw, i)
		case c == '=' && bytes.Equal(raw[i:], []byte("=20")):
			i += 3 // quoted-printable for a blank at the end of a line
		case c == '=' && bytes.HasPrefix(raw[i:], []byte("=C2=A0")):
			s.put(' ')
			i += 6
		case c >= utf8.RuneSelf:
			i = s.rune(raw, i)
		default:
			s.put(c)
			i++
		}
	}
	s.flush(open)
	return !s.stopped
}

// plain says that a line needs no drawing.
func plain(raw []byte) bool {
	for _, c := range raw {
		switch {
		case c < ' ', c >= 0x7f:
			return false
		case c == '&', c == '<', c == '\\', c == '^', c == '=':
			return false
		}
	}
	return true
}

// flush ends a line.
func (s *screen) flush(open bool) {
	if len(s.cells) > 0 && !s.stopped {
		s.stopped = !s.yield(line{s.number, string(s.cells), open})
	}
	s.cells, s.col = s.cells[:0], 0
}

func (s *screen) put(c byte) {
	s.reverse = false
	for len(s.cells) < s.col {
		s.cells = append(s.cells, ' ')
	}
	if s.col < len(s.cells) {
		s.cells[s.col] = c
	} else {
		s.cells = append(s.cells, c)
	}
	s.col++
}

func (s *screen) left(n int) { s.col = max(0, s.col-n) }

// moveTo puts the cursor into a column, from 0.
func (s *screen) moveTo(col int) { s.col = min(col, max(len(s.cells), maxMove)) }

// redraw is what DPDK's command line does for a line from its history: ESC M
// (up) and ESC E (down, to the left), then the prompt and the line again. What
// stood before the prompt stays; what was typed is gone.
func (s *screen) redraw() {
	if i := bytes.LastIndex(s.cells, []byte(barePrompt)); i >= 0 {
		s.cells, s.col = s.cells[:i], i
	} else {
		s.flush(false)
	}
}

// escape obeys the escape sequence whose ESC ends before i and returns where
// it ends.
func (s *screen) escape(raw []byte, i int) int {
	if i >= len(raw) {
		return i
	}
	reverse := s.reverse
	s.reverse = false
	switch raw[i] {
	case '[':
		return s.control(raw, i+1, reverse)
	case 'M':
		s.reverse = true
	case 'E':
		if reverse {
			s.redraw()
		} else {
			s.flush(false)
		}
	case ']', 'P', 'X', '^', '_': // a string, such as a window's title
		rest := raw[i+1:]
		if end := bytes.IndexByte(rest, 0x07); end >= 0 {
			return i + 1 + end + 1
		}
		if end := bytes.Index(rest, []byte("\x1b\\")); end >= 0 {
			return i + 1 + end + 2
		}
	case '(', ')', '*', '+', '#', '%': // a character set
		return min(i+2, len(raw))
	}
	return i + 1
}

// control obeys ESC [ parameters final (ECMA-48).
func (s *screen) control(raw []byte, i int, reverse bool) int {
	n, digits := 0, true
	for ; i < len(raw) && raw[i] < 0x40; i++ {
		if c := raw[i]; digits && '0' <= c && c <= '9' {
			n = min(10*n+int(c-'0'), maxMove)
		} else {
			digits = false
		}
	}
	if i >= len(raw) {
		return i
	}
	count := max(n, 1)
	switch raw[i] {
	case 'C':
		s.moveTo(s.col + count)
	case 'D':
		s.left(count)
	case 'G', '`':
		s.moveTo(count - 1)
	case 'K':
		s.erase(n)
	case 'P', '@':
		s.shift(raw[i], count)
	case 'X':
		for j := s.col; j < min(s.col+count, len(s.cells)); j++ {
			s.cells[j] = ' '
		}
	case 'E':
		if reverse {
			s.redraw()
		} else {
			s.flush(false)
		}
	case 'A', 'B', 'F', 'H', 'J', 'd', 'f':
		s.flush(false) // to another line
	}
	return i + 1
}

// erase is ESC [ K: to the end of the raw, to its start, or all of it.
func (s *screen) erase(what int) {
	switch {
	case what == 0:
		s.cells = s.cells[:min(s.col, len(s.cells))]
	case what == 2:
		s.cells = s.cells[:0]
	case len(s.cells) <= maxEdit:
		for j := range min(s.col+1, len(s.cells)) {
			s.cells[j] = ' '
		}
	}
}

// shift is ESC [ P (delete characters) and ESC [ @ (insert blanks).
func (s *screen) shift(what byte, n int) {
	if s.col >= len(s.cells) || len(s.cells) > maxEdit {
		return
	}
	if what == 'P' {
		s.cells = append(s.cells[:s.col], s.cells[min(s.col+n, len(s.cells)):]...)
		return
	}
	tail := append(bytes.Repeat([]byte{' '}, n), s.cells[s.col:]...)
	s.cells = append(s.cells[:s.col], tail...)
}

// backslash reads \n and its like, as in a log that was wrapped in JSON, and
// the backslash that Markdown has before punctuation.
func (s *screen) backslash(raw []byte, i int) int {
	if i+1 >= len(raw) {
		s.put('\\')
		return i + 1
	}
	switch c := raw[i+1]; {
	case c == 'n' || c == 'r':
		s.flush(false)
	case c == 't':
		s.put(' ')
	case bytes.IndexByte([]byte("#*-_|>:"), c) >= 0:
		return i + 1
	default:
		s.put('\\')
		return i + 1
	}
	return i + 2
}

// tag drops an HTML tag; one that starts a line ends this one.
func (s *screen) tag(raw []byte, i int) int {
	name := bytes.TrimPrefix(raw[i+1:min(i+256, len(raw))], []byte("/"))
	end := bytes.IndexByte(name, '>')
	if end <= 0 || bytes.IndexByte(name[:end], '<') >= 0 || !isLetter(name[0]) {
		s.put('<')
		return i + 1
	}
	word := name[:end]
	if j := bytes.IndexAny(word, " /"); j > 0 {
		word = word[:j]
	}
	switch string(bytes.ToLower(word)) {
	case "br", "p", "div", "li", "tr", "pre":
		s.flush(false)
	case "td", "th":
		s.put(' ')
	}
	return i + 1 + bytes.IndexByte(raw[i+1:], '>') + 1
}

// rune draws a character that isn't ASCII: what typography made of a blank, a
// hyphen or a colon becomes what testpmd printed.
func (s *screen) rune(raw []byte, i int) int {
	c, size := utf8.DecodeRune(raw[i:])
	switch {
	case c == utf8.RuneError && size == 1:
		if raw[i] == 0xa0 { // Latin-1's no-break space
			s.put(' ')
		} else {
			s.put('?')
		}
	case c == 0xa0 || 0x2000 <= c && c <= 0x200a || c == 0x202f || c == 0x205f || c == 0x3000:
		s.put(' ')
	case c == 0xad || 0x200b <= c && c <= 0x200f || c == 0x2060 || c == 0xfeff:
		// No width.
	case c == 0x85 || c == 0x2028 || c == 0x2029:
		s.flush(false)
	case 0x2010 <= c && c <= 0x2015 || c == 0x2212:
		s.put('-')
	case 0xff01 <= c && c <= 0xff5e: // the wide forms of East Asian text
		s.put(byte(c - 0xff01 + '!'))
	default:
		for _, b := range raw[i : i+size] {
			s.put(b)
		}
	}
	return i + size
}
