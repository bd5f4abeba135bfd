package report

import (
	"strings"
	"testing"
)

// What a record from elsewhere says neither drives a terminal nor turns text
// round.
func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":               "a\tb\nc",
		"\x1b[2Jgone\r\x00\x7f": "\ufffd[2Jgone\ufffd\ufffd\ufffd",
		"\u009b1m":              "\ufffd1m",
		"a\u202eb\u2066c\u200f": "a\ufffdb\ufffdc\ufffd",
		"±0.5 │ é 中":            "±0.5 │ é 中",
	} {
		if got := strings.Map(Visible, in); got != want {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
	}
}

func TestEscapeMarkdown(t *testing.T) {
	for in, want := range map[string]string{
		"1 < 2 <script>":         `1 \< 2 \<script>`,
		`C:\<b>`:                 `C:\\\<b>`,
		"![x](http://192.0.2.1)": `![x]\(http://192.0.2.1)`,
		"[w] and `--full` [1]":   "[w] and `--full` [1]",
	} {
		if got := EscapeMarkdown(in); got != want {
			t.Errorf("%q became %q; want %q", in, got, want)
		}
	}
}
