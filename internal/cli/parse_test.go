package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const cases = "../testpmd/testdata/cases/"

// parse runs the command and returns what it printed, its exit code and its
// error's words.
func parse(t *testing.T, stdin string, args ...string) (out, errs string, code int, words string) {
	t.Helper()
	c := newParseCommand()
	c.SilenceErrors, c.SilenceUsage = true, true
	var o, e bytes.Buffer
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&o)
	c.SetErr(&e)
	c.SetArgs(args)
	if err := c.Execute(); err != nil {
		var exit *exitError
		if !errors.As(err, &exit) {
			t.Fatalf("parse %q: no exit code: %v", args, err)
		}
		code, words = exit.Code(), exit.Error()
	}
	return o.String(), e.String(), code, words
}

func TestParseTable(t *testing.T) {
	out, errs, code, words := parse(t, "", cases+"28-A-vhost-log-interleaved-peer-closed.txt")
	if errs != "" || code != 0 || words != "" {
		t.Errorf("exit code %d, %q, %q", code, errs, words)
	}
	want := `
┌──────┬──────┬────────────┬────────┬────────┬────────┬──────────┬──────────┬────────┬────────┬────────────┬────────┬──────────┬──────────┬───────┬────────┬───────┐
│ line │ port │ rx packets │ missed │ errors │ nombuf │ rx bytes │ B/packet │  frame │ Rx-pps │ tx packets │ errors │ tx bytes │ B/packet │ frame │ Tx-pps │ marks │
├──────┼──────┼────────────┼────────┼────────┼────────┼──────────┼──────────┼────────┼────────┼────────────┼────────┼──────────┼──────────┼───────┼────────┼───────┤
│    6 │    0 │      23040 │      0 │      0 │      0 │  2949120 │   128.00 │      - │      0 │          0 │      0 │        0 │        - │     - │      0 │     a │
│   18 │    0 │      48128 │      0 │      0 │      0 │  6160384 │   128.00 │ 128.00 │  31284 │          0 │      0 │        0 │        - │     - │      0 │       │
│   30 │    0 │      73728 │      0 │      0 │      0 │  9437184 │   128.00 │ 128.00 │  31923 │          0 │      0 │        0 │        - │     - │      0 │       │
│   57 │    0 │      99872 │      0 │      0 │      0 │ 12783616 │   128.00 │ 128.00 │  28130 │          0 │      0 │        0 │        - │     - │      0 │   b c │
└──────┴──────┴────────────┴────────┴────────┴────────┴──────────┴──────────┴────────┴────────┴────────────┴────────┴──────────┴──────────┴───────┴────────┴───────┘
- is what the block lacks or can't tell. B/packet is of the totals, frame of what came
since the port's block before, in bytes, without the FCS for most drivers. Rates are
testpmd's own.
a  rates of 0: the first show of a port prints them, whatever went by
b  the vhost peer had left: the rates' window covers time in which nothing was sent
c  a link or queue event came since the block before
`
	if d := cmp.Diff(want[1:], out); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestParseProblems(t *testing.T) {
	file := cases + "11-A-header-port-differs-from-command.txt"
	out, errs, code, words := parse(t, "", file)
	want := file + ":7: port 8: RX-packets 0 with RX-bytes 64\n" +
		file + ":14: asked port 0, got port 8\n" +
		file + ":23: asked port 0, got port 8\n" +
		file + ":25: the block of port 8 is cut: the text ends before its border\n"
	if d := cmp.Diff(want, errs); d != "" || code != 1 || words != "" {
		t.Errorf("exit code %d, %q (-want +got):\n%s", code, words, d)
	}
	if strings.Count(out, "\n│") != 4 {
		t.Errorf("no table of three blocks:\n%s", out)
	}
	// Missed is a counter that this old block lacks; bytes without packets
	// have no size.
	if !strings.Contains(out, "│    6 │    8 │          0 │      - │      0 │      - │       64 │        - │     - │") {
		t.Errorf("an absent counter isn't -:\n%s", out)
	}
}

func TestParseJSON(t *testing.T) {
	text, err := os.ReadFile(cases + "25-A-dpdk-proc-info-look-alike.txt")
	if err != nil {
		t.Fatal(err)
	}
	out, errs, code, words := parse(t, string(text), "-", "--format", "json")
	want := `{"blocks":[{"line":6,"port":0,"rx_packets":11595973,"rx_missed":null,"rx_bytes":17231595358,"rx_errors":0,"rx_nombuf":0,` +
		`"tx_packets":0,"tx_errors":0,"tx_bytes":22,"rx_pps":null,"tx_pps":null,"rx_bps":null,"tx_bps":null}],` +
		`"problems":[{"line":9,"message":"port 0: TX-packets 0 with TX-bytes 22"}]}` + "\n"
	if d := cmp.Diff(want, out); d != "" || errs != "" || code != 1 || words != "" {
		t.Errorf("exit code %d, %q, %q (-want +got):\n%s", code, errs, words, d)
	}
}

func TestParseNoBlock(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for file, why := range map[string]string{
		cases + "02-A-event-splits-typed-command.txt":    "testpmd's console",
		cases + "07-A-unikraft-guest-console.txt":        "a guest's console",
		cases + "17-A-per-queue-forward-stats.txt":       "forward statistics only",
		cases + "21-A-txonly-dropped-more-than-sent.txt": "forward statistics only",
		cases + "27-A-pktgen-main-page.txt":              "Pktgen's screen",
		cases + "31-A-telemetry-json.txt":                "telemetry's JSON",
		empty:                                            "it is empty",
	} {
		for _, format := range []string{"table", "json"} {
			out, errs, code, words := parse(t, "", file, "--format", format)
			if code != 1 || !strings.HasPrefix(words, "no NIC statistics block in "+file+": ") || !strings.Contains(words, why) {
				t.Errorf("%s: exit code %d, %q; want %q", file, code, words, why)
			}
			if want := map[string]string{"table": "", "json": `{"blocks":[],"problems":[]}` + "\n"}[format]; out != want || errs != "" {
				t.Errorf("%s as %s: %q, %q", file, format, out, errs)
			}
		}
	}
	_, _, _, words := parse(t, "nothing of the kind\n", "-")
	if words != "no NIC statistics block in standard input: nothing in it looks like testpmd" {
		t.Error(words)
	}
}

func TestParseUsage(t *testing.T) {
	for _, args := range [][]string{
		{},
		{"a", "b"},
		{cases + "13-A-stats-period-glued-header.txt", "--format", "xml"},
		{cases + "13-A-stats-period-glued-header.txt", "--no-such-flag"},
		{"no-such-file"},
		{t.TempDir()},
	} {
		if out, _, code, words := parse(t, "", args...); code != 2 || out != "" || words == "" {
			t.Errorf("parse %q: exit code %d, %q, %q", args, code, out, words)
		}
	}
}
