package testpmd

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a terminal, a mail client or a browser makes of a text.
func TestLines(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       []string // number: text, with a + where the line is open
	}{
		{"nothing", "", nil},
		{"lines", "a\n\nb\n", []string{"1: a", "3: b"}},
		{"an open line", "a\nb", []string{"1: a", "2: b+"}},
		{"CR LF", "a\r\nb\r\n", []string{"1: a", "2: b"}},
		{"CR CR LF", "a\r\r\nb\r", []string{"1: a", "2: b"}},
		{"CR alone", "a\r\rb", []string{"1: a", "3: b+"}},
		{"CR within", "a\rb\n", []string{"1: a", "1: b"}},
		{"corrections", "show stt\b\x1b[0Kat \b\x1b[0Ks\b\b\b\b\b\bX\n", []string{"1: showXstats"}},
		{"backspace at the margin", "\b\bab\n", []string{"1: ab"}},
		{"a tab", "a\tb\n", []string{"1: a b"}},
		{"bell and NUL", "a\x07\x00\x7fb\n", []string{"1: ab"}},
		{"history", "x\ntestpmd> por\x1bM\x1bEtestpmd> show\x1b[0K\n", []string{"1: x", "2: testpmd> show"}},
		{"history since DPDK 17", "log testpmd> por\x1bM\x1b[Etestpmd> show\x1b[0K\n", []string{"1: log testpmd> show"}},
		{"history, not at a prompt", "a\x1bM\x1bEb\n", []string{"1: a", "1: b"}},
		{"next line", "a\x1bEb\x1b[Ec\n", []string{"1: a", "1: b", "1: c"}},
		{"editing within a line", "testpmd> sow\x1b[2Dhow\x1b[1D\n", []string{"1: testpmd> show"}},
		{"to the right", "a\x1b[3Cb\x1b[C\n", []string{"1: a   b"}},
		{"to a column", "abc\x1b[2GX\n", []string{"1: aXc"}},
		{"erasing", "abc\x1b[2D\x1b[K\x1b[CX\n", []string{"1: a X"}},
		{"erasing to the left", "abc\x1b[2D\x1b[1K\n", []string{"1:   c"}},
		{"erasing all", "abc\x1b[2K\x1b[1Gd\n", []string{"1: d"}},
		{"deleting and inserting", "abcd\x1b[3D\x1b[2P\x1b[1@X\n", []string{"1: aXd"}},
		{"blanking", "abcd\x1b[3D\x1b[2X\n", []string{"1: a  d"}},
		{"colours and modes", "\x1b[1;31ma\x1b[0m\x1b[?25lb\x1b(Bc\x1b=d\n", []string{"1: abcd"}},
		{"titles", "\x1b]0;t\x07a\x1bPx\x1b\\b\x1b]0;open\n", []string{"1: ab0;open"}},
		{"another place", "a\x1b[2J\x1b[1;1Hb\n", []string{"1: a", "1: b"}},
		{"cut sequences", "a\x1b[12\nb\x1b\n", []string{"1: a", "2: b"}},
		{"cat -v", "ab^H^[[0Kc^M\nd^M^M\n^Me\nf^[[m^Mg\n", []string{"1: ac", "2: d", "3: ^Me", "4: f", "4: g"}},
		{"JSON", `{"log":"a\r\n","b":"c\td\n"}` + "\n", []string{`1: {"log":"a`, `1: ","b":"c d`, `1: "}`}},
		{"Markdown", `\#\#\* a\b\` + "\n", []string{`1: ##* a\b\`}},
		{"HTML", "<pre class=x>a&nbsp;&#35;&gt;<b>b</b><br>c</p><td>d<2 e < f\n", []string{"1: a #>b", "1: c", "1:  d<2 e < f"}},
		{"quoted-printable", "a=20\nb=C2=A0c\nd=20e\nf=\n", []string{"1: a", "2: b c", "3: d=20e", "4: f="}},
		{"blanks", "a\u00a0b\u3000c\u2009d\xa0e\n", []string{"1: a b c d e"}},
		{"no width", "\ufeffa\u200bb\u00adc\n", []string{"1: abc"}},
		{"hyphens and wide forms", "RX\u2011a\uff1a\uff11\n", []string{"1: RX-a:1"}},
		{"Unicode's line ends", "a\u2028b\n", []string{"1: a", "1: b"}},
		{"other scripts", "端口\xff\n", []string{"1: 端口?"}},
		{"UTF-16 LE", "\xff\xfea\x00\n\x00b\x00\r\x00\n\x00", []string{"1: a", "2: b"}},
		{"UTF-16 BE", "\xfe\xff\x00a\x00\n\x00b\x00\n", []string{"1: a", "2: b"}},
		{"UTF-16 without its mark", "a\x00b\x00\n\x00c\x00\n\x00", []string{"1: ab", "2: c"}},
		{"UTF-16 BE without its mark", "\x00a\x00b\x00\n\x00c\x00\n", []string{"1: ab", "2: c"}},
	} {
		var got []string
		for l := range lines([]byte(tt.text)) {
			s := fmt.Sprintf("%d: %s", l.number, l.text)
			if l.open {
				s += "+"
			}
			got = append(got, s)
		}
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
