package testpmd

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf16"
)

// line is a line as a reader of the screen would see it, and its number in the
// text that it came from. Several lines can have the same number: a redrawn
// prompt begins a new one.
type line struct {
	number int
	text   string
}

// screenLines makes lines of a console's recording: escape sequences, carriage
// returns and corrections ("stt\b\x1b[Kats") are carried out as far as a line's
// own text goes. A line ends at LF; at CR only where the text has no LF at all.
func screenLines(text []byte) []line {
	s := decode(text)
	end := "\n"
	if !strings.Contains(s, end) {
		end = "\r"
	}
	var out []line
	for number := 1; s != ""; number++ {
		var raw string
		raw, s, _ = strings.Cut(s, end)
		for _, t := range screenLine(raw) {
			out = append(out, line{number, t})
		}
	}
	return out
}

// decode gives plain text of what logs are mailed and pasted as: UTF-16 with a
// byte-order mark, non-breaking blanks, the entities of a web page.
func decode(text []byte) string {
	switch {
	case bytes.HasPrefix(text, []byte{0xff, 0xfe}):
		text = decode16(text[2:], binary.LittleEndian)
	case bytes.HasPrefix(text, []byte{0xfe, 0xff}):
		text = decode16(text[2:], binary.BigEndian)
	}
	s := strings.TrimPrefix(string(text), "\ufeff")
	return entities().Replace(s)
}

func entities() *strings.Replacer {
	return strings.NewReplacer("\u00a0", " ", "\t", " ", "&nbsp;", " ", "&#160;", " ", "&gt;", ">", "&#35;", "#", "&#x23;", "#", "&amp;", "&")
}

func decode16(b []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// screenLine carries out what a terminal would do with one raw line.
func screenLine(raw string) []string {
	if !strings.ContainsAny(raw, "\x1b\b\r") {
		return []string{raw}
	}
	var done []string
	var now []byte
	flush := func() {
		if strings.TrimSpace(string(now)) != "" {
			done = append(done, string(now))
		}
		now = now[:0]
	}
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '\r':
			flush() // what follows is written over it; both can be worth reading
		case '\b':
			if len(now) > 0 {
				now = now[:len(now)-1]
			}
		case 0x1b:
			n, breaks := escape(raw[i:])
			if breaks {
				flush()
			}
			i += n - 1
		default:
			now = append(now, c)
		}
	}
	flush()
	if done == nil {
		return []string{""}
	}
	return done
}

// escape returns the length of the escape sequence that s begins with, and
// whether it moves the cursor to another line (ECMA-48: CSI, OSC, and the
// two-byte ones).
func escape(s string) (n int, breaks bool) {
	if len(s) < 2 {
		return len(s), false
	}
	switch s[1] {
	case '[':
		for i := 2; i < len(s); i++ {
			if c := s[i]; c >= '@' && c <= '~' {
				// H and f place the cursor, J clears the screen.
				return i + 1, strings.IndexByte("HfJABEF", c) >= 0
			}
		}
		return len(s), false
	case ']':
		if i := strings.IndexByte(s, '\a'); i >= 0 {
			return i + 1, false
		}
		return 2, false
	}
	return 2, strings.IndexByte("EMDc", s[1]) >= 0
}
