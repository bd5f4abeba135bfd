package testpmd

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func FuzzParse(f *testing.F) {
	cases, err := filepath.Glob("testdata/cases/*")
	if err != nil || len(cases) == 0 {
		f.Fatal("no cases", err)
	}
	for _, c := range cases {
		b, err := os.ReadFile(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte("testpmd> show port stats 3\n" + whole + "\nPort 3: queue state event\n" + later))
	f.Add([]byte("> " + strings.Replace(whole, "64000", "640=\n00", 1) + "Bad arguments\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		log := Parse(text)
		if log.Blocks == nil || log.Problems == nil {
			t.Fatal("a list is nil")
		}
		if len(log.Prior) != len(log.Blocks) {
			t.Fatalf("%d priors of %d blocks", len(log.Prior), len(log.Blocks))
		}
		inInput(t, text, log)
		standThere(t, text, log)
		roundTrip(t, log)
		for i := range log.Blocks {
			if k := log.Prior[i]; k >= i || k < -1 || k >= 0 && log.Blocks[k].Port != log.Blocks[i].Port {
				t.Fatalf("block %d follows block %d", i, k)
			}
			log.Frames(i)
		}
		ParseForward(text)

		// Quotes and Windows change nothing, as far as no terminal control or
		// encoding is at work.
		if !utf8.Valid(text) || bytes.ContainsAny(text, "\x00\r\b\x1b\x0b\x0c\u0085\u2028\u2029&<\\^=") || !bytes.Contains(text, []byte("\n")) {
			return
		}
		for how, passed := range map[string][]byte{
			"quoted": []byte(prefix(string(text), "> ")),
			"CRLF":   bytes.ReplaceAll(text, []byte("\n"), []byte("\r\n")),
		} {
			if d := cmp.Diff(log.Blocks, Parse(passed).Blocks); d != "" {
				t.Fatalf("%s (-plain +%s):\n%s", how, how, d)
			}
		}
	})
}

// inInput checks that every line that is named is one.
func inInput(t *testing.T, text []byte, log Log) {
	text = decode(text)
	lines := 1 + bytes.Count(text, []byte("\n"))
	if lines == 1 {
		lines += bytes.Count(text, []byte("\r"))
	}
	for _, p := range append(append([]Problem(nil), log.Problems...), log.Notes...) {
		if p.Line < 1 || p.Line > lines || p.Message == "" || strings.ContainsAny(p.Message, "\n\r\x1b") {
			t.Fatalf("problem %+v in %d lines", p, lines)
		}
	}
	for _, b := range log.Blocks {
		if b.Line < 1 || b.Line > lines || b.Port < 0 || b.Port > 65535 {
			t.Fatalf("a block of port %d on line %d of %d", b.Port, b.Line, lines)
		}
	}
}

// standThere checks that no number is made up: each stands in a line as the
// parser read it, digit by digit.
func standThere(t *testing.T, text []byte, log Log) {
	if len(log.Blocks) == 0 {
		return
	}
	var read strings.Builder
	for l := range joinedLines(text) {
		read.WriteString(l.text + "\n")
	}
	shown := read.String()
	for _, b := range log.Blocks {
		for l := range blockLabels {
			if v := *b.field(l); v != nil && !strings.Contains(shown, strconv.FormatUint(*v, 10)) {
				t.Fatalf("%s %d stands nowhere", l, *v)
			}
		}
	}
}

// roundTrip checks that JSON holds what was found.
func roundTrip(t *testing.T, log Log) {
	j, err := json.Marshal(log)
	if err != nil {
		t.Fatal(err)
	}
	back := Log{Notes: log.Notes, Prior: log.Prior}
	if err := json.Unmarshal(j, &back); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(log, back); d != "" {
		t.Fatalf("JSON and back:\n%s", d)
	}
}
