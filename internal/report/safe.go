package report

import (
	"strings"
	"unicode"
)

// Visible maps the runes of what is to be printed, whole, with [bytes.Map] or
// [strings.Map]. It keeps a terminal, and a reader of XML, from what a process
// may have printed and a record from elsewhere may hold: control characters,
// and those that turn the direction of what follows (Unicode's Bidi_Control),
// become U+FFFD. Line ends and tabs stay.
func Visible(r rune) rune {
	if r == '\n' || r == '\t' || !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) {
		return r
	}
	return unicode.ReplacementChar
}

// EscapeMarkdown keeps a text that may be anybody's from being HTML, a link or
// an image in Markdown (CommonMark 0.31.2, sections 2.4, 6.3 to 6.6), and lets
// the rest be, such as code in backticks. In a cell of a table the caller
// escapes the bar, too.
func EscapeMarkdown(s string) string {
	return strings.NewReplacer(`\`, `\\`, `<`, `\<`, `](`, `]\(`).Replace(s)
}
