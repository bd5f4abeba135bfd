package testpmd

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// row writes a block as the tests have it: port, then the counters in the
// JSON's order, - where there is none.
func row(b Block) string {
	out := strconv.Itoa(b.Port) + ":"
	for _, v := range []*uint64{b.RxPackets, b.RxMissed, b.RxBytes, b.RxErrors, b.RxNombuf,
		b.TxPackets, b.TxErrors, b.TxBytes, b.RxPps, b.TxPps, b.RxBps, b.TxBps} {
		if v == nil {
			out += " -"
		} else {
			out += " " + strconv.FormatUint(*v, 10)
		}
	}
	return out
}

func rows(log Log) (out []string) {
	for _, b := range log.Blocks {
		out = append(out, row(b))
	}
	return out
}

func messages(ps []Problem) (out []string) {
	for _, p := range ps {
		out = append(out, fmt.Sprintf("%d: %s", p.Line, p.Message))
	}
	return out
}

// The cases are real logs, from people who do this work. What is expected was
// worked out by hand, from each file's own header.
func TestCases(t *testing.T) {
	for name, want := range map[string]struct {
		blocks   []string
		problems []string
	}{
		"01-A-tty-script-redraw-esc.txt": {blocks: []string{
			"1: 0 0 0 0 0 0 0 0 0 0 - -",
			"1: 1686877 0 229415272 0 0 0 0 0 194459 0 - -",
			"1: 3625903 0 493122944 0 0 0 0 0 305654 0 - -"}},
		"02-A-event-splits-typed-command.txt": {},
		"04-A-two-ports-all-first-show-zero.txt": {blocks: []string{
			"0: 0 0 0 0 0 0 0 0 0 0 - -", "1: 0 0 0 0 0 0 0 0 0 0 - -",
			"0: 0 0 0 0 0 0 0 0 0 0 - -", "1: 3740375 0 1944995520 0 0 0 0 0 160050 0 - -"}},
		"06-A-counters-not-cleared-between-sizes.txt": {blocks: []string{
			"0: 3064735220 0 253701795528 0 0 0 0 0 14204107 0 - -"}},
		"07-A-unikraft-guest-console.txt": {},
		"08-A-dpdk1x-short-block.txt": {blocks: []string{
			"8: 1 - 64 0 - 0 0 0 - - - -", "8: 2 - 128 0 - 0 0 0 - - - -", "8: 3 - 192 0 - 0 0 0 - - - -"}},
		"09-A-badcrc-badlen-2014.txt": {blocks: []string{
			"0: 2347842 0 150261888 0 0 2907072 0 186052608 - - - -", "1: 0 0 0 0 0 0 0 0 - - - -",
			"2: 2907240 0 186063360 0 0 2347986 0 150271104 - - - -", "3: 0 0 0 0 0 0 0 0 - - - -"}},
		"11-A-header-port-differs-from-command.txt": {
			blocks: []string{"8: 0 - 64 0 - 0 0 0 - - - -", "8: 1 - 128 0 - 0 0 0 - - - -", "8: 1 - 128 0 - 0 0 0 - - - -"},
			problems: []string{
				"3: port 8: RX-packets 0 with RX-bytes 64",
				"11: asked port 0, got port 8",
				"20: asked port 0, got port 8",
				"20: the block of port 8 is cut: the text ends before its border"}},
		"13-A-stats-period-glued-header.txt": {blocks: []string{
			"0: 404024960 0 25857597440 0 0 0 0 0 1044345 0 534705080 0"}},
		"14-A-keep-crc-518-vs-514.txt": {blocks: []string{
			"0: 1 0 518 0 0 1 0 514 0 0 0 0", "0: 1 0 514 0 0 1 0 514 0 0 0 0"}},
		"15-A-missed-errors-and-RX-error-label.txt": {blocks: []string{
			"0: 0 0 0 0 0 1947850901 0 241533511724 0 0 0 0",
			"1: 1947852761 33265762 245658696852 2 0 0 0 0 0 0 0 0"}},
		"17-A-per-queue-forward-stats.txt":       {},
		"18-A-csum-engine-extra-lines.txt":       {},
		"21-A-txonly-dropped-more-than-sent.txt": {},
		"23-A-verbose-and-many-link-events.txt":  {},
		"25-A-dpdk-proc-info-look-alike.txt": {
			blocks:   []string{"0: 11595973 - 17231595358 0 0 0 0 22 - - - -"},
			problems: []string{"3: port 0: TX-packets 0 with TX-bytes 22"}},
		"27-A-pktgen-main-page.txt": {},
		"28-A-vhost-log-interleaved-peer-closed.txt": {blocks: []string{
			"0: 23040 0 2949120 0 0 0 0 0 0 0 0 0", "0: 48128 0 6160384 0 0 0 0 0 31284 0 32034896 0",
			"0: 73728 0 9437184 0 0 0 0 0 31923 0 32689632 0", "0: 99872 0 12783616 0 0 0 0 0 28130 0 28805328 0"}},
		"29-A-pipe-echo-before-output.txt": {
			blocks: []string{"0: 0 0 0 0 0 0 0 0 0 0 0 0", "0: 445440 0 0 0 0 8704 0 0 10396998 203159 0 0", "0: 0 0 0 0 0 0 0 0 0 0 0 0"},
			problems: []string{
				"11: testpmd refused a command: Bad arguments",
				"95: testpmd refused a command: Bad arguments",
				"122: testpmd refused a command: Invalid port 7",
				"123: testpmd refused a command: total packet length=10 < 42 - give up",
				"124: testpmd refused a command: length[0]=5000 > mbuf_data_size=2176 - give up",
				"125: testpmd refused a command: Please remove port 0 from forwarding configuration."}},
		"31-A-telemetry-json.txt": {},
	} {
		whole, err := os.ReadFile(filepath.Join("testdata", "cases", name))
		if err != nil {
			t.Fatal(err)
		}
		var body []byte
		for l := range bytes.Lines(whole) {
			if !bytes.HasPrefix(l, []byte("# source:")) && !bytes.HasPrefix(l, []byte("# what is tricky:")) && !bytes.HasPrefix(l, []byte("# expected:")) {
				body = append(body, l...)
			}
		}
		log := Parse(body)
		if d := cmp.Diff(want.blocks, rows(log)); d != "" {
			t.Errorf("%s: blocks (-want +got):\n%s", name, d)
		}
		if d := cmp.Diff(want.problems, messages(log.Problems)); d != "" {
			t.Errorf("%s: problems (-want +got):\n%s", name, d)
		}
		// The header, which talks of blocks and refusals, is none.
		if d := cmp.Diff(rows(log), rows(Parse(whole))); d != "" {
			t.Errorf("%s with its header (-without +with):\n%s", name, d)
		}
		// However it was passed on, it says the same.
		for how, passed := range manners(body) {
			again := Parse(passed)
			if d := cmp.Diff(rows(log), rows(again)); d != "" {
				t.Errorf("%s, %s: blocks (-plain +passed on):\n%s", name, how, d)
			}
			if how != "CR alone" && len(again.Problems) != len(log.Problems) {
				t.Errorf("%s, %s: problems %q; want %q", name, how, messages(again.Problems), messages(log.Problems))
			}
		}
	}
}

// manners are ways in which logs reach somebody else.
func manners(text []byte) map[string][]byte {
	each := func(f func(string) string) []byte {
		var b strings.Builder
		for l := range strings.Lines(string(text)) {
			b.WriteString(f(strings.TrimRight(l, "\r\n")) + "\n")
		}
		return []byte(b.String())
	}
	utf16 := []byte{0xff, 0xfe}
	for _, r := range string(text) {
		if r < 0x10000 {
			utf16 = append(utf16, byte(r), byte(r>>8))
		}
	}
	return map[string][]byte{
		"quoted":        each(func(l string) string { return "> " + l }),
		"quoted twice":  each(func(l string) string { return ">> | " + l }),
		"CRLF":          each(func(l string) string { return l + "\r" }),
		"indented":      each(func(l string) string { return "\t    " + l }),
		"blanks behind": each(func(l string) string { return l + "   " }),
		"BOM":           append([]byte("\ufeff"), text...),
		"UTF-16":        utf16,
		"nbsp":          bytes.ReplaceAll(text, []byte("  "), []byte("\u00a0 ")),
		"entities":      bytes.ReplaceAll(text, []byte(">"), []byte("&gt;")),
	}
}

const whole = "  ######################## NIC statistics for port 3  ########################\n" +
	"  RX-packets: 1000       RX-missed: 7          RX-bytes:  64000\n" +
	"  RX-errors: 0\n" +
	"  RX-nombuf:  0         \n" +
	"  TX-packets: 10         TX-errors: 0          TX-bytes:  640\n" +
	"\n" +
	"  Throughput (since last show)\n" +
	"  Rx-pps:          500          Rx-bps:       256000\n" +
	"  Tx-pps:            5          Tx-bps:         2560\n" +
	"  ############################################################################\n"

const wholeRow = "3: 1000 7 64000 0 0 10 0 640 500 5 256000 2560"

// Each kind of thing that happens to a block, by itself.
func TestKinds(t *testing.T) {
	sub := func(old, new string) string {
		if !strings.Contains(whole, old) {
			t.Fatalf("%q is not in the block", old)
		}
		return strings.Replace(whole, old, new, 1)
	}
	for _, tt := range []struct {
		name     string
		text     string
		blocks   []string
		problems []string // each is in the problem of its place
	}{
		{"a whole block", whole, []string{wholeRow}, nil},
		{"no newline at its end", strings.TrimSuffix(whole, "\n"), []string{wholeRow}, nil},
		{"behind a prompt", "testpmd> " + whole, []string{wholeRow}, nil},
		{"a prompt behind its border", strings.TrimSuffix(whole, "\n") + "testpmd> ", []string{wholeRow}, nil},
		{"in one line", strings.ReplaceAll(whole, "\n", " "), []string{wholeRow}, nil},
		{"a log line inside", sub("  RX-errors: 0\n", "Port 0: link state change event\n  RX-errors: 0\nVHOST_CONFIG: (/tmp/v) set queue enable: 1\n"), []string{wholeRow}, nil},
		{"a logger's prefix", prefix(whole, "2024-05-01T10:00:00.123Z stdout F "), []string{wholeRow}, nil},
		{"seconds before each line", prefix(whole, "1714557600 "), []string{wholeRow}, nil},
		{"a service's prefix", prefix(whole, "pod/dpdk-0 | [testpmd] "), []string{wholeRow}, nil},
		{"Markdown", "```\n" + strings.ReplaceAll(whole, "RX-packets: 1000", "**RX-packets: 1000**") + "```\n", []string{wholeRow}, nil},
		{"a colour", sub("RX-packets: 1000", "\x1b[1;31mRX-packets:\x1b[0m 1000"), []string{wholeRow}, nil},
		{"--stats-period", "\x1b[2J\x1b[1;1H\nPort statistics ====================================" + whole + "\x1b[2J\x1b[1;1H\nPort statistics ====================================" + strings.Replace(sub("1000", "2000"), "10  ", "20  ", 1),
			[]string{wholeRow, "3: 2000 7 64000 0 0 20 0 640 500 5 256000 2560"}, nil},
		{"columns that overflow", sub("1000       RX-missed: 7          RX-bytes:  64000", "12345678901RX-missed: 12345678901RX-bytes:  790123449664"),
			[]string{"3: 12345678901 12345678901 790123449664 0 0 10 0 640 500 5 256000 2560"}, nil},
		{"a value that wrapped", sub("RX-bytes:  64000", "RX-bytes:\n> 64000"), []string{wholeRow}, nil},
		{"a value that quoted-printable broke", sub("RX-bytes:  64000", "RX-bytes:  64=\n000"), []string{wholeRow}, nil},
		{"a header that wrapped", sub("port 3  ####", "port\n> 3  ####"), []string{wholeRow}, nil},
		{"a header whose border wrapped", sub("port 3  ####", "port 3\n> ####"), []string{wholeRow}, nil},

		{"per-queue registers", sub("\n  Throughput", "\n  Stats reg  0 RX-packets: 99          RX-errors: 98         RX-bytes:  97\n  Throughput"), []string{wholeRow}, nil},
		{"cleared", "\n  NIC statistics for port 3 cleared\n", nil, nil},
		{"extended statistics", "###### NIC extended statistics for port 0\nrx_good_packets: 5\n", nil, nil},
		{"forward statistics with RX-error", "  ---- Forward statistics for port 0  ----\n  RX-packets: 0   RX-dropped: 0   RX-total: 0\n  RX-error: 2\n  RX-nombufs: 0\n", nil, nil},
		{"ethtool", "NIC statistics:\n     rx_packets: 12\n     tx_packets: 34\n", nil, nil},
		{"a shell's comment", "# RX-missed: 5 was seen, Bad arguments too\n", nil, nil},

		{"cut at its end", whole[:strings.Index(whole, "  Throughput")], []string{"3: 1000 7 64000 0 0 10 0 640 - - - -"}, []string{"is cut: the text ends before its border"}},
		{"cut in its header", whole[:51] + "\n", nil, []string{"a header without its port number"}},
		{"cut at its beginning", whole[strings.Index(whole, "  RX-errors"):], nil, []string{"RX-errors outside of a block: the header"}},
		{"cut in the middle", sub("  RX-nombuf:  0         \n  TX-packets: 10         TX-errors: 0          TX-bytes:  640\n", ""),
			[]string{"3: 1000 7 64000 0 - - - - 500 5 256000 2560"}, []string{"it lacks RX-nombuf, TX-packets, TX-errors, TX-bytes"}},
		{"cut by a prompt", whole[:200] + "\ntestpmd> show port info 0\n", []string{"3: 1000 7 64000 0 0 - - - - - - -"}[:0], nil},
		{"cut by another block", whole[:strings.Index(whole, "\n\n")] + "\n" + whole, []string{"3: 1000 7 64000 0 0 10 0 640 - - - -", wholeRow}, []string{"another block begins before its border", "as before", "as before"}},

		{"asked for another port", "testpmd> show port stats 0\n" + whole, []string{wholeRow}, []string{"asked port 0, got port 3"}},
		{"asked for all", "testpmd> show port stats all\n" + whole, []string{wholeRow}, nil},
		{"no number", sub("RX-packets: 1000", "RX-packets: N/A "), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`RX-packets is no number: "N/A"`, "it lacks RX-packets"}},
		{"a sign", sub("RX-missed: 7", "RX-missed: -7"), []string{"3: 1000 - 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`RX-missed is no number: "-7"`}},
		{"thousands", sub("RX-packets: 1000", "RX-packets: 1,000"), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`no number: "1,000"`, "lacks"}},
		{"nan", sub("Rx-pps:          500", "Rx-pps:          nan"), []string{"3: 1000 7 64000 0 0 10 0 640 - 5 256000 2560"}, []string{`Rx-pps is no number: "nan"`, "lacks Rx-pps"}},
		{"more than 64 bits", sub("RX-missed: 7", "RX-missed: 99999999999999999999"), []string{"3: 1000 - 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"more than 64 bits hold"}},
		{"below zero", sub("RX-missed: 7", "RX-missed: 18446744073709551609"), []string{"3: 1000 18446744073709551609 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"went below zero"}},
		{"bytes without packets", sub("RX-packets: 1000", "RX-packets: 0   "), []string{"3: 0 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"RX-packets 0 with RX-bytes 64000"}},
		{"frames of 6 bytes", sub("64000", "6000 "), []string{"3: 1000 7 6000 0 0 10 0 640 500 5 256000 2560"}, []string{"6.0 each"}},
		{"frames of a megabyte", sub("RX-bytes:  64000", "RX-bytes:  1000000000"), []string{"3: 1000 7 1000000000 0 0 10 0 640 500 5 256000 2560"}, []string{"1000000.0 each"}},
		{"packets without bytes", sub("64000", "0"), []string{"3: 1000 7 0 0 0 10 0 640 500 5 256000 2560"}, nil},
		{"a rate after a reset", sub("Rx-pps:          500", "Rx-pps: 18446744073700000000"), nil, []string{"below zero", "no port is that fast"}},
		{"backwards", whole + sub("1000  ", "900   "), []string{wholeRow, "3: 900 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"RX-packets went back from 1000 to 900"}},
		{"backwards after a clear", whole + "testpmd> clear port stats all\n\n  NIC statistics for port 3 cleared\n" + sub("1000  ", "1001  "), nil, nil},
		{"backwards after a restart", whole + "EAL: Detected CPU lcores: 2\n" + sub("RX-packets: 1000", "RX-packets: 999 "), nil, nil},
		{"a rate of nothing", whole + whole, nil, []string{"a rate of 500 packets a second, but RX-packets is 1000 as before", "a rate of 5 packets"}},
		{"mixed", sub("  RX-errors: 0\n", "  RX-packets: 5          RX-missed: 0          RX-bytes:  320\n  RX-errors: 0\n"), []string{wholeRow}, []string{"RX-packets comes twice"}},
		{"a number in two lines", sub("RX-packets: 1000       RX", "RX-packets: 10\nPort 0: link state change event\n00       RX"),
			nil, []string{"digits without a label: the number on line 2", "6400.0"}[:1]},
		{"port 99999", sub("port 3", "port 99999"), nil, []string{"port 99999"}},

		{"refused: port", "testpmd> show port stats 9\nInvalid port 9\nThe valid ports array is [ 0 ]\n", nil, []string{"testpmd refused a command: Invalid port 9"}},
		{"refused: stop first", "Port 1 is now not stopped\nPlease stop port 1 first\n", nil, []string{"Port 1 is now", "Please stop port 1"}},
	} {
		log := Parse([]byte(tt.text))
		if tt.blocks != nil {
			if d := cmp.Diff(tt.blocks, rows(log)); d != "" && len(tt.blocks) > 0 {
				t.Errorf("%s: blocks (-want +got):\n%s", tt.name, d)
			}
		}
		got := messages(log.Problems)
		if tt.name == "cut by a prompt" {
			if len(log.Blocks) != 1 || len(got) == 0 || !strings.Contains(got[0], "the prompt comes before its border") {
				t.Errorf("%s: %v, %q", tt.name, rows(log), got)
			}
			continue
		}
		if len(tt.problems) != len(got) {
			t.Errorf("%s: problems %q; want %q", tt.name, got, tt.problems)
			continue
		}
		for i, w := range tt.problems {
			if !strings.Contains(got[i], w) {
				t.Errorf("%s: problem %q; want %q in it", tt.name, got[i], w)
			}
		}
	}
}

func prefix(text, with string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(with + l)
	}
	return b.String()
}

func TestNotes(t *testing.T) {
	first := strings.NewReplacer("500 ", "0   ", "256000", "0", "     5 ", "     0 ", "2560", "0").Replace(whole)
	log := Parse([]byte(first + "VHOST_CONFIG: (/tmp/vh.sock) vhost peer closed\n" + strings.Replace(whole, "1000  ", "1100  ", 1)))
	got := messages(log.Notes)
	if len(got) != 2 || !strings.Contains(got[0], "1: the first show") || !strings.Contains(got[1], "12: the vhost peer had left") {
		t.Errorf("notes %q", got)
	}
}

// The JSON's shape is a promise: every key, in this order, null for what the
// block lacks, and lists that are never null.
func TestJSONShape(t *testing.T) {
	old := "## NIC statistics for port 8  ########################\nRX-packets: 1  RX-errors: 0  RX-bytes: 64\nTX-packets: 0  TX-errors: 0 TX-bytes: 0\n############\n"
	for text, want := range map[string]string{
		"": `{"blocks":[],"problems":[]}`,
		old: `{"blocks":[{"line":1,"port":8,"rx_packets":1,"rx_missed":null,"rx_bytes":64,"rx_errors":0,"rx_nombuf":null,` +
			`"tx_packets":0,"tx_errors":0,"tx_bytes":0,"rx_pps":null,"tx_pps":null,"rx_bps":null,"tx_bps":null}],"problems":[]}`,
		"\n\nBad arguments": `{"blocks":[],"problems":[{"line":3,"message":"testpmd refused a command: Bad arguments"}]}`,
	} {
		got, err := json.Marshal(Parse([]byte(text)))
		if err != nil || string(got) != want {
			t.Errorf("%s\nwant\n%s\n(%v)", got, want, err)
		}
	}
}

func TestParseForward(t *testing.T) {
	read := func(name string) Forward {
		b, err := os.ReadFile(filepath.Join("testdata", "cases", name))
		if err != nil {
			t.Fatal(err)
		}
		return ParseForward(b)
	}
	f := read("21-A-txonly-dropped-more-than-sent.txt")
	if len(f.Streams) != 4 || f.Streams[3] != (ForwardStream{RxQueue: 3, TxQueue: 3, TxPackets: 6999328, TxDropped: 15108448}) {
		t.Errorf("streams %+v", f.Streams)
	}
	total := ForwardPort{TxPackets: 27903808, TxDropped: 60519424, TxTotal: 88423232}
	if len(f.Ports) != 1 || f.Ports[0] != total || f.Total == nil || *f.Total != total {
		t.Errorf("ports %+v, total %+v", f.Ports, f.Total)
	}
	f = read("18-A-csum-engine-extra-lines.txt")
	if len(f.Ports) != 2 || f.Ports[1] != (ForwardPort{Port: 1, RxPackets: 4, RxTotal: 4}) || f.Total.TxPackets != 4 {
		t.Errorf("ports %+v, total %+v", f.Ports, f.Total)
	}
	f = read("17-A-per-queue-forward-stats.txt")
	if len(f.Streams) != 3 || len(f.Ports) != 1 || f.Ports[0].RxPackets != 3 || f.Total != nil {
		t.Errorf("%+v", f)
	}
	// The counters of a NIC statistics block behind them are not theirs.
	f = ParseForward([]byte("  +++ Accumulated forward statistics for all ports+++\n  TX-packets: 5  TX-dropped: 6  TX-total: 11\n" + whole))
	if f.Total == nil || f.Total.TxPackets != 5 || f.Total.RxPackets != 0 {
		t.Errorf("total %+v", f.Total)
	}
}

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
	f.Add([]byte(whole))
	f.Fuzz(func(t *testing.T, text []byte) {
		log := Parse(text)
		lines := 1 + bytes.Count(text, []byte("\n"))
		if lines == 1 {
			lines += bytes.Count(text, []byte("\r"))
		}
		if bytes.HasPrefix(text, []byte{0xff, 0xfe}) || bytes.HasPrefix(text, []byte{0xfe, 0xff}) {
			lines = len(text) // other lines, once it is decoded
		}
		for _, p := range append(log.Problems, log.Notes...) {
			if p.Line < 1 || p.Line > lines || p.Message == "" || strings.Contains(p.Message, "\n") {
				t.Fatalf("problem %+v in %d lines", p, lines)
			}
		}
		shown := decode(text)
		for _, b := range log.Blocks {
			if b.Line < 1 || b.Line > lines {
				t.Fatalf("a block on line %d of %d", b.Line, lines)
			}
			// No number is made up: it stands there, digit by digit, but for
			// what corrected or broke it.
			if strings.ContainsAny(shown, "\b\x1b\r=") || strings.Contains(shown, "&") {
				continue
			}
			for _, v := range []*uint64{b.RxPackets, b.RxMissed, b.RxBytes, b.TxPackets, b.TxBytes, b.RxPps} {
				if v != nil && !strings.Contains(shown, strconv.FormatUint(*v, 10)) {
					t.Fatalf("%d stands nowhere", *v)
				}
			}
		}
		j, err := json.Marshal(log)
		if err != nil {
			t.Fatal(err)
		}
		var back Log
		if err := json.Unmarshal(j, &back); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(rows(log), rows(back)); d != "" {
			t.Fatalf("JSON and back:\n%s", d)
		}
		ParseForward(text)
	})
}
