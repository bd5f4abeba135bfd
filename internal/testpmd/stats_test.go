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
				"4: port 8: RX-packets 0 with RX-bytes 64",
				"11: asked port 0, got port 8",
				"20: asked port 0, got port 8",
				"22: the block of port 8 is cut: the text ends before its border"}},
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
			problems: []string{"6: port 0: TX-packets 0 with TX-bytes 22"}},
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
