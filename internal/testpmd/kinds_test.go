package testpmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// whole is a block as testpmd prints it since DPDK 19.11, wholeRow what is in
// it.
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

// later is the next block of the same port, a second on.
const later = "  ######################## NIC statistics for port 3  ########################\n" +
	"  RX-packets: 6000       RX-missed: 7          RX-bytes:  384000\n" +
	"  RX-errors: 0\n" +
	"  RX-nombuf:  0         \n" +
	"  TX-packets: 2010       TX-errors: 0          TX-bytes:  128640\n" +
	"\n" +
	"  Throughput (since last show)\n" +
	"  Rx-pps:         5000          Rx-bps:      2560000\n" +
	"  Tx-pps:         2000          Tx-bps:      1024000\n" +
	"  ############################################################################\n"

const laterRow = "3: 6000 7 384000 0 0 2010 0 128640 5000 2000 2560000 1024000"

// kind is a text, the blocks that are in it, and the problems: LINE: and words
// of the message.
type kind struct {
	name     string
	text     string
	blocks   []string
	problems []string
}

func (k kind) check(t *testing.T) {
	t.Helper()
	log := Parse([]byte(k.text))
	if d := cmp.Diff(k.blocks, rows(log)); d != "" {
		t.Errorf("%s: blocks (-want +got):\n%s", k.name, d)
	}
	got := messages(log.Problems)
	if len(got) != len(k.problems) {
		t.Errorf("%s: problems %q; want %q", k.name, got, k.problems)
		return
	}
	for i, w := range k.problems {
		line, words, _ := strings.Cut(w, ": ")
		if !strings.HasPrefix(got[i], line+": ") || !strings.Contains(got[i], words) {
			t.Errorf("%s: problem %q; want %q", k.name, got[i], w)
		}
	}
}

// edit replaces old in whole, which must be there.
func edit(t *testing.T, pairs ...string) string {
	t.Helper()
	out := whole
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(out, pairs[i]) {
			t.Fatalf("%q is not in the block", pairs[i])
		}
		out = strings.Replace(out, pairs[i], pairs[i+1], 1)
	}
	return out
}

func prefix(text, with string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		b.WriteString(with + l)
	}
	return b.String()
}

// What becomes of a block on its way to a reader changes nothing.
func TestPassedOn(t *testing.T) {
	one := []string{wholeRow}
	event := "\nPort 0: link state change event\n"
	json := strings.NewReplacer("\n", `\r\n`).Replace(whole)
	for _, k := range []kind{
		{"as it was printed", whole, one, nil},
		{"no newline at its end", strings.TrimSuffix(whole, "\n"), one, nil},
		{"behind a prompt", "testpmd> " + whole, one, nil},
		{"a prompt behind its border", strings.TrimSuffix(whole, "\n") + "testpmd> ", one, nil},
		{"in one line", strings.ReplaceAll(whole, "\n", " "), one, nil},
		{"shortened borders", strings.ReplaceAll(whole, "##########", "##"), one, nil},
		{"columns that lost their blanks", strings.Join(strings.Fields(whole), " "), one, nil},
		{"blank lines between", strings.ReplaceAll(whole, "\n", "   \n\n"), one, nil},
		{"a Mac's CR", strings.ReplaceAll(whole, "\n", "\r"), []string{"3: 1000 7 64000 0 0 10 0 640 500 5 256000 2560"}, nil},
		{"CR CR LF", strings.ReplaceAll(whole, "\n", "\r\r\n"), one, nil},

		// Loggers.
		{"a time", prefix(whole, "2024-05-01T10:00:00.123Z stdout F "), one, nil},
		{"seconds", prefix(whole, "1714557600 "), one, nil},
		{"a service", prefix(whole, "pod/dpdk-0 | [testpmd] "), one, nil},
		{"journald", prefix(whole, "May 01 10:00:00 host7 testpmd[4711]: "), one, nil},
		{"a level", prefix(whole, "INFO: "), one, nil},
		{"line numbers", prefix(whole, "12\t"), one, nil},
		{"grep's names", prefix(whole, "client.log:12:"), one, nil},
		{"docker's JSON", prefix(strings.ReplaceAll(whole, "\n", `\r\n","stream":"stdout","time":"2024-05-01T10:00:00Z"}`+"\n"), `{"log":"`), one, nil},
		{"JSON in one line", `{"stdout": "` + json + `", "rc": 0}`, one, nil},
		{"ansible's lists", prefix(strings.ReplaceAll(whole, "\n", "\",\n"), `            "`), one, nil},

		// Mails.
		{"quoted unequally", "> > " + strings.Replace(strings.ReplaceAll(whole, "\n", "\n>> "), ">> ", "> ", 3), one, nil},
		{"a value that wrapped", edit(t, "RX-bytes:  64000", "RX-bytes:\n64000"), one, nil},
		{"a value that wrapped in a quote", prefix(edit(t, "RX-bytes:  64000", "RX-bytes:\n64000"), "> "), one, nil},
		{"a value that wrapped behind a prefix", strings.Replace(prefix(whole, "INFO: "), "RX-bytes:  64000", "RX-bytes:\n64000", 1), one, nil},
		{"a flowed line", edit(t, "RX-missed: 7", "RX-missed: \n7"), one, nil},
		{"a label that wrapped at its hyphen", edit(t, "RX-bytes", "RX-\nbytes"), one, nil},
		{"a number that a narrow screen wrapped", edit(t, "64000", "640\n00"), one, nil},
		{"quoted-printable", edit(t, "RX-bytes:  64000", "RX-bytes:  64=\n000", "RX-nombuf:  0         ", "RX-nombuf:  0        =20", "RX-errors: 0", "RX-errors: 0=20"), one, nil},
		{"quoted-printable in a header", edit(t, "NIC statistics", "NIC stati=\nstics"), one, nil},
		{"quoted-printable in borders", "> " + edit(t, "3  ########", "3  ########=\n", "###\n", "#=\n##\n"), one, nil},
		{"a header that wrapped", edit(t, "port 3  ####", "port\n> 3  ####"), one, nil},
		{"a header whose border wrapped", edit(t, "port 3  ####", "port 3\n> ####"), one, nil},

		// Web pages and word processors.
		{"Markdown", "```\n" + edit(t, "RX-packets: 1000", "**RX-packets: 1000**", "RX-errors: 0", "**RX-errors:** `0`") + "```\n", one, nil},
		{"Markdown that is escaped", strings.NewReplacer("#", `\#`, "-", `\-`).Replace(whole), one, nil},
		{"a table", edit(t, "RX-packets: 1000       RX-missed: 7 ", "| RX-packets: 1000 | RX-missed: | 7 |"), one, nil},
		{"HTML", strings.NewReplacer(" ", "&nbsp;", "\n", "<br/>\n").Replace(whole), one, nil},
		{"HTML in one line", strings.ReplaceAll("<pre><b>"+whole, "\n", "<BR>"), one, nil},
		{"entities", strings.NewReplacer("#", "&#35;", ":", "&#x3a;").Replace(whole), one, nil},
		{"Latin-1", strings.ReplaceAll(whole, "  ", " \xa0"), one, nil},
		{"typography", strings.NewReplacer("-", "\u2011", ":", "\uff1a", " ", "\u2009").Replace(whole), one, nil},
		{"no width", edit(t, "RX-packets", "\u200bRX-\u200bpackets"), one, nil},
		{"tabs", strings.ReplaceAll(whole, "  ", "\t"), one, nil},

		// Terminals.
		{"a colour", edit(t, "RX-packets: 1000", "\x1b[1;31mRX-packets:\x1b[0m\x1b[K 1000"), one, nil},
		{"blanks by moving the cursor", strings.NewReplacer(": ", ":\x1b[C", "        ", "\x1b[8C").Replace(whole), one, nil},
		{"lines by placing the cursor", "\x1b[2J" + strings.ReplaceAll(whole, "\n", "\x1b[5;1H"), one, nil},
		{"a window's title", "\x1b]0;root@host\x07" + whole, one, nil},
		{"cat -v", strings.ReplaceAll("testpmd> ^[M^[Etestpmd> show port stats 3^[[0K^M^M\n"+whole, "\n", "^M\n"), one, nil},
		{"recorded by script", "Script started on 2024-05-01 10:00:00+00:00\n" + strings.ReplaceAll(whole, "\n", "\r\n"), one, nil},
		{"drawn again", edit(t, "  RX-errors: 0", "  RX-errors: 0\r  RX-errors: 0"), one, nil},

		// Other output in the midst of it.
		{"log lines between", edit(t, "  RX-errors: 0\n", "Port 0: link state change event\n  RX-errors: 0\nVHOST_CONFIG: (/tmp/v) set queue enable: 1\n"), one, nil},
		{"an event in a number", edit(t, "1000       RX", "10"+event+"00       RX"), one, nil},
		{"an event in a label, quoted", prefix(edit(t, "RX-missed", "RX-mis"+event+"sed"), "> "), one, nil},
		{"an event in a label", edit(t, "RX-missed", "RX-mis"+event+"sed"), one, nil},
		{"two events in a label", edit(t, "TX-errors", "TX"+event+event+"-errors"), one, nil},
		{"events in a number and a label", edit(t, "1000       RX-missed", "10"+event+"00       RX-mis"+event+"sed"), one, nil},
		{"a log line in a label", edit(t, "RX-missed", "RX-misVHOST_CONFIG: (/tmp/v) vhost peer closed\nsed"), one, nil},
		{"another part's log line in a label", edit(t, "RX-missed", "RX-misVIRTIO_NET: reset\nsed"), one, nil},
		{"a log line behind a capital", edit(t, "RX-packets", "RVHOST_CONFIG: (/tmp/v) vhost peer closed\nX-packets"), one, nil},
		{"a log line behind capitals", edit(t, "TX-errors", "TXVHOST_CONFIG: (/tmp/v) vhost peer closed\n-errors"), one, nil},
		{"an event in a header", edit(t, "NIC statistics", "NIC sta"+event+"tistics"), one, nil},
		{"an event in a port", edit(t, "port 3 ", "port 1"+event+"2"), []string{"12" + wholeRow[1:]}, nil},
		{"an event that lost its line", edit(t, "64000", "640Port 0: queue state event\n00"), one, nil},
		{"a log line in a number", edit(t, "1000 ", "10VHOST_CONFIG: (/tmp/v) vhost peer closed\n00 "), one, nil},
		{"a driver in a rate", edit(t, "Rx-pps:          500", "Rx-pps:          5hns3_update_link_status(): Link status change to up!\n00"), one, nil},
		{"a log line behind a number", edit(t, "64000", "64000EAL: Error reading from file descriptor 33\n"), one, nil},
		{"a prompt inside", edit(t, "  RX-nombuf", "testpmd> show port info 0\n  RX-nombuf"), one, nil},
		{"a refusal inside", edit(t, "  RX-nombuf", "Bad arguments\n  RX-nombuf"), one, []string{"4: Bad arguments"}},
		{"extended statistics inside", edit(t, "  ######################################", "\n                               Value            Rate (since last show)\n  rx_good_packets         1000             500\n  ######################################"), one, nil},
	} {
		k.check(t)
	}
}

// The layouts of nic_stats_display over the versions.
func TestVersions(t *testing.T) {
	frame := func(s string) string {
		return "  ######################## NIC statistics for port 0  ########################\n" + s +
			"  ############################################################################\n"
	}
	for _, k := range []kind{
		{"1.2", frame("  RX-packets: 9          RX-errors: 1         RX-bytes: 576\n  TX-packets: 0          TX-errors: 0         TX-bytes: 0\n"),
			[]string{"0: 9 - 576 1 - 0 0 0 - - - -"}, nil},
		{"1.2, columns that overflow", frame("  RX-packets: 12345678901 RX-errors: 1234567890RX-bytes: 790123449664\n  TX-packets: 0          TX-errors: 12345678901TX-bytes: 0\n"),
			[]string{"0: 12345678901 - 790123449664 1234567890 - 0 12345678901 0 - - - -"}, nil},
		{"1.3, flow director", frame("  RX-packets: 9          RX-errors: 1         RX-bytes: 576\n  TX-packets: 0          TX-errors: 0         TX-bytes: 0\n  Fdirmiss:   5          Fdirmatch: 4         \n  RX-XOFF:    1          RX-XON:    2         \n"),
			[]string{"0: 9 - 576 1 - 0 0 0 - - - -"}, nil},
		{"1.7", frame("  RX-packets: 9          RX-missed: 2          RX-bytes:  576\n  RX-badcrc:  3          RX-badlen: 4          RX-errors: 7\n  RX-nombuf:  5         \n  TX-packets: 0          TX-errors: 0          TX-bytes:  0\n"),
			[]string{"0: 9 2 576 7 5 0 0 0 - - - -"}, nil},
		{"2.2, mapped queues", frame("  RX-packets:                       9    RX-errors:          1    RX-bytes:        576\n  RX-errors:           1\n  RX-nombuf:                        0\n  TX-packets:                       0    TX-errors:          0    TX-bytes:          0\n\n" +
			"  Stats reg  0 RX-packets:          8    RX-errors:          3    RX-bytes:        512\n  Stats reg 15 RX-packets:          1    RX-errors:          0    RX-bytes:         64\n\n  Stats reg  0 TX-packets:          7                             TX-bytes:        448\n"),
			[]string{"0: 9 - 576 1 0 0 0 0 - - - -"}, nil},
		{"16.07", frame("  RX-packets: 9          RX-missed: 0          RX-bytes:  576\n  RX-errors: 0\n  RX-nombuf:  0         \n  TX-packets: 0          TX-errors: 0          TX-bytes:  0\n\n  Throughput (since last show)\n  Rx-pps:            3\n  Tx-pps:            0\n"),
			[]string{"0: 9 0 576 0 0 0 0 0 3 0 - -"}, nil},
		{"19.11, columns that overflow", edit(t, "1000       RX-missed: 7          RX-bytes:  64000", "12345678901RX-missed: 12345678901RX-bytes:  790123449664"),
			[]string{"3: 12345678901 12345678901 790123449664 0 0 10 0 640 500 5 256000 2560"}, nil},
		{"dpdk-proc-info", frame("  RX-packets: 9           RX-errors:  1           RX-bytes:  576\n  RX-nombuf:  0         \n  TX-packets: 0           TX-errors:  0           TX-bytes:  0         \n\n  Stats reg  0 RX-packets: 5           RX-errors: 0           RX-bytes: 320\n\n  Stats reg  0 TX-packets: 5           TX-bytes: 320\n"),
			[]string{"0: 9 - 576 1 0 0 0 0 - - - -"}, nil},
		{"--stats-period", "\x1b[2J\x1b[1;1H\nPort statistics ====================================\n" + whole + "\x1b[2J\x1b[1;1H\nPort statistics ====================================" + later,
			[]string{wholeRow, laterRow}, nil},
		{"a shorter title", strings.NewReplacer("########################", "######").Replace(whole), []string{wholeRow}, nil},
	} {
		k.check(t)
	}
}

// What has a block's words and is none.
func TestLookAlikes(t *testing.T) {
	for _, k := range []kind{
		{"cleared", "\n  NIC statistics for port 3 cleared\n", nil, nil},
		{"extended statistics", "###### NIC extended statistics for port 0\nrx_good_packets: 5\n", nil, nil},
		{"dpdk-proc-info's extended statistics", "###### NIC extended statistics for port 0  #########\n####################################################\nrx_good_packets: 5\n####################################################\n", nil, nil},
		{"forward statistics with RX-error", "  ---- Forward statistics for port 0  ----\n  RX-packets: 0   RX-dropped: 0   RX-total: 0\n  RX-error: 2\n  RX-nombufs: 0\n  TX-packets: 1   TX-dropped: 0   TX-total: 1\n", nil, nil},
		{"forward statistics without a title", "  RX-packets: 5   RX-dropped: 0   RX-total: 5\n  TX-packets: 1   TX-dropped: 0   TX-total: 1\n", nil, nil},
		{"mapped queues in forward statistics", "  ---------------------- Forward statistics for port 0  ----------------------\n  RX-packets:                          9    RX-dropped:             0    RX-total:             9\n  Stats reg  0 RX-packets:             9     RX-errors:             0    RX-bytes:           576\n", nil, nil},
		{"forward statistics behind a block", whole + "  ------- Forward Stats for RX Port= 0/Queue= 0 -> TX Port= 1/Queue= 0 -------\n  RX-packets: 5              TX-packets: 5              TX-dropped: 0             \n", []string{wholeRow}, nil},
		{"ethtool", "NIC statistics:\n     rx_packets: 12\n     tx_packets: 34\n", nil, nil},
		{"dpdk-proc-info's extended statistics, cut", "statistics for port 0  #########\n####################################################\nrx_good_packets: 5\n", nil, nil},
		{"another program's block", "  ######################## NIC statistics: rpmpf-0 ########################\n  Link-Status: Up         RX-packets: 0           RX-missed: 0\n  RX-bytes: 0             RX-errors: 0            RX-nombuf:  0\n", nil, nil},
		{"l2fwd", "\x1b[2J\x1b[1;1H\nPort statistics ====================================\nStatistics for port 0 ------------------------------\nPackets sent:                  6784279\nPackets received:              6784279\n", nil, nil},
		{"a comment", "# RX-missed: 5 was seen in the \"NIC statistics for port 0\", Bad arguments\n", nil, nil},
		{"a sentence", "Look at the NIC statistics for port 0: RX-missed should be small.\n", nil, nil},
		{"thousands in Pktgen", "Pkts/s Rx           :                     0           27,540,096\n", nil, nil},
		{"a sentence about a rate", `It shows "Rx-pps:     10775697", so it is at 100 %.`, nil, nil},
		{"a verbose dump", "testpmd> port 0/queue 1: received 1 packets\n  src=02:00:00:00:00:02 - dst=02:00:00:00:00:01 - type=0x0800 - length=534 - nb_segs=1\n", nil, nil},
		{"a source", "\tprintf(\"  RX-packets: %-10\"PRIu64\" RX-missed: %-10\"PRIu64\" RX-bytes:  \"\n", nil, nil},
	} {
		k.check(t)
	}
}

func TestImpossible(t *testing.T) {
	one := []string{wholeRow}
	second := func(pairs ...string) string {
		out := later
		for i := 0; i < len(pairs); i += 2 {
			if !strings.Contains(out, pairs[i]) {
				t.Fatalf("%q is not in the block", pairs[i])
			}
			out = strings.Replace(out, pairs[i], pairs[i+1], 1)
		}
		return out
	}
	for _, k := range []kind{
		{"bytes without packets", edit(t, "RX-packets: 1000", "RX-packets: 0   ", "Rx-pps:          500", "Rx-pps:            0"),
			[]string{"3: 0 7 64000 0 0 10 0 640 0 5 256000 2560"}, []string{"2: RX-packets 0 with RX-bytes 64000"}},
		{"frames of 6 bytes", edit(t, "64000", "6000 "), []string{"3: 1000 7 6000 0 0 10 0 640 500 5 256000 2560"}, []string{"2: 6.0 each"}},
		{"frames of a megabyte", edit(t, "RX-bytes:  64000", "RX-bytes:  1000000000"), []string{"3: 1000 7 1000000000 0 0 10 0 640 500 5 256000 2560"}, []string{"2: 1000000.0 each"}},
		{"packets without bytes", edit(t, "64000", "0", "256000", "     0"), []string{"3: 1000 7 0 0 0 10 0 640 500 5 0 2560"}, nil},
		{"the FCS kept", edit(t, "64000", "68000"), []string{"3: 1000 7 68000 0 0 10 0 640 500 5 256000 2560"}, nil},

		{"words", edit(t, "RX-packets: 1000", "RX-packets: N/A "), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "N/A" is no number`}},
		{"nothing, behind seconds", prefix(edit(t, "RX-errors: 0", "RX-errors:"), "1714557600 "), []string{"3: 1000 7 64000 - 0 10 0 640 500 5 256000 2560"}, []string{`3: RX-errors: "" is missing`}},
		{"nothing", edit(t, "RX-packets: 1000", "RX-packets:     "), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "" is missing`}},
		{"a sign", edit(t, "RX-missed: 7", "RX-missed: -7"), []string{"3: 1000 - 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-missed: "-7" is no number`}},
		{"a letter", edit(t, "1000 ", "1O00 "), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "1O00" is no number`}},
		{"hexadecimal", edit(t, "1000 ", "0x3e8"), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "0x3e8" is no number`}},
		{"zeros before it", edit(t, "1000 ", "0001 "), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "0001" is no number`}},
		{"a unit", edit(t, "64000", "64kB"), []string{"3: 1000 7 - 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-bytes: "64kB" is no number`}},
		{"a fraction", edit(t, "Rx-pps:          500", "Rx-pps:        499.5"), []string{"3: 1000 7 64000 0 0 10 0 640 - 5 256000 2560"}, []string{`8: Rx-pps: "499.5" is no number`}},
		{"thousands", edit(t, "1000 ", "1,000"), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "1,000" is no number`}},
		{"thousands set apart", edit(t, "1000 ", "1 000"), []string{"3: - 7 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "1" is no number`}},
		{"left out", edit(t, "64000", "640..."), []string{"3: 1000 7 - 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-bytes: "640..." is no number`}},
		{"nan", edit(t, "Rx-pps:          500", "Rx-pps:          nan"), []string{"3: 1000 7 64000 0 0 10 0 640 - 5 256000 2560"}, []string{`8: Rx-pps: "nan" is no number`}},
		{"more than 64 bits", edit(t, "RX-missed: 7", "RX-missed: 18446744073709551616"), []string{"3: 1000 - 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"2: more than 64 bits hold"}},
		{"below zero", edit(t, "RX-missed: 7", "RX-missed: 18446744073709551609"), []string{"3: 1000 18446744073709551609 64000 0 0 10 0 640 500 5 256000 2560"}, []string{"2: went below zero"}},

		{"port 99999", edit(t, "port 3", "port 99999"), nil, []string{`1: "99999" is no port`}},
		{"port x", edit(t, "port 3", "port x"), nil, []string{`1: "x" is no number`}},
		{"asked for another port", "testpmd> show port stats 0\n" + whole, one, []string{"2: asked port 0, got port 3"}},
		{"asked in two pieces", "testpmd> show port sta\nPort 1: link state change event\nts 0\n" + whole, one, []string{"4: asked port 0, got port 3"}},
		{"asked with a correction", "testpmd> show port stats 3\b\x1b[0K0\r\r\n" + whole, one, []string{"2: asked port 0, got port 3"}},
		{"asked again", "testpmd> show port stats 0\b\x1b[0K\x1bM\x1bEtestpmd> show port stats 3\x1b[0K\r\r\n" + whole, one, nil},
		{"asked, and a number in the next line", "testpmd> show port stats 3\n0\n" + whole, one, nil},
		{"asked for all", "testpmd> show port stats all\n" + whole, one, nil},
		{"asked through a pipe", "testpmd> show port stats 3\ntestpmd> show port stats 1\n" + whole, one, nil},
		{"asked and refused", "testpmd> show port stats 1\nThe valid ports array is [ 3 ]\n" + whole, one, nil},
		{"asked, in a manual", "    show port stats 1\n" + whole, one, []string{"2: asked port 1, got port 3"}},

		{"a counter twice", edit(t, "  RX-errors: 0\n", "  RX-errors: 0\n  RX-missed: 5\n"), one, []string{"4: RX-missed comes twice"}},
		{"a header in between is missing", edit(t, "  RX-errors: 0\n", "  RX-packets: 5          RX-missed: 0          RX-bytes:  320\n  RX-errors: 0\n"),
			[]string{"3: 1000 7 64000 - - - - - - - - -"}, []string{"2: the counters of a block without a header begin before its border"}},

		{"a rate of everything", edit(t, "Rx-pps:          500", "Rx-pps:    990000000"), []string{"3: 1000 7 64000 0 0 10 0 640 990000000 5 256000 2560"},
			[]string{"8: Rx-pps 990000000, but RX-packets is 1000", "8: make 0.0 bytes a packet"}},
		{"a rate without packets", edit(t, "TX-packets: 10", "TX-packets: 0 ", "TX-bytes:  640", "TX-bytes:  0"), []string{"3: 1000 7 64000 0 0 0 0 0 500 5 256000 2560"}, []string{"9: Tx-pps 5, but TX-packets is 0"}},
		{"a rate after a reset", edit(t, "Rx-pps:          500", "Rx-pps: 18446744073700000000"), []string{"3: 1000 7 64000 0 0 10 0 640 18446744073700000000 5 256000 2560"}, []string{"8: below zero", "8: no port is that fast"}},
		{"a rate of before 19.11", edit(t, "500          Rx-bps:       256000", "768000000", "5          Tx-bps:         2560", "5", "1000  ", "1000000", "64000", "64000000"),
			[]string{"3: 1000000 7 64000000 0 0 10 0 640 768000000 5 - -"}, []string{"8: no port is that fast"}},
		{"bps that overflowed", edit(t, "Rx-pps:          500          Rx-bps:       256000", "Rx-pps:      5000000          Rx-bps:       256000", "1000  ", "1000000", "64000", "64000000"),
			[]string{"3: 1000000 7 64000000 0 0 10 0 640 5000000 5 256000 2560"}, []string{"8: make 0.0 bytes a packet"}},
		{"bps without pps", edit(t, "Rx-pps:          500          Rx-bps:       256000", "Rx-pps:            0          Rx-bps:    256000000"),
			[]string{"3: 1000 7 64000 0 0 10 0 640 0 5 256000000 2560"}, []string{"8: Rx-bps 256000000 at Rx-pps 0"}},

		{"a later show", whole + later, []string{wholeRow, laterRow}, nil},
		{"backwards", whole + second("RX-packets: 6000", "RX-packets: 900 "), []string{wholeRow, "3: 900 7 384000 0 0 2010 0 128640 5000 2000 2560000 1024000"}, []string{"12: RX-packets went back from 1000 to 900"}},
		{"missed, backwards", whole + second("RX-missed: 7", "RX-missed: 6"), []string{wholeRow, "3: 6000 6 384000 0 0 2010 0 128640 5000 2000 2560000 1024000"}, []string{"12: RX-missed went back from 7 to 6"}},
		{"backwards after a clear", later + "testpmd> clear port stats all\n\n  NIC statistics for port 3 cleared\ntestpmd> show port stats 3\n" + whole, []string{laterRow, wholeRow}, nil},
		{"backwards after a clear without an answer", later + "    clear port stats all\n" + whole, []string{laterRow, wholeRow}, nil},
		{"backwards after another port's clear", later + "\n  NIC statistics for port 1 cleared\n" + whole, []string{laterRow, wholeRow}, []string{"14: RX-packets went back"}},
		{"backwards after a restart", later + "EAL: Detected CPU lcores: 2\n" + whole, []string{laterRow, wholeRow}, nil},
		{"backwards after the port's restart", later + "testpmd> port stop 3\nStopping ports...\nDone\ntestpmd> port start 3\n" + whole, []string{laterRow, wholeRow}, nil},
		{"backwards after a reset without an answer", later + "testpmd> port reset 3\ntestpmd> show port stats 3\n" + whole, []string{laterRow, wholeRow}, nil},
		{"problems in their order", edit(t, "RX-packets: 1000", "RX-packets: 0   ", "Rx-pps:          500", "Rx-pps:          nan"),
			[]string{"3: 0 7 64000 0 0 10 0 640 - 5 256000 2560"}, []string{"2: RX-packets 0 with", "8: nan"}},
		{"backwards over stop and start", later + "testpmd> stop\nTelling cores to stop...\nWaiting for lcores to finish...\n\nDone.\ntestpmd> start\nrxonly packet forwarding - ports=1 - cores=1 - streams=1\n  port 0: RX queue number: 1 Tx queue number: 1\n    RX queue: 0\ntestpmd> show port stats 3\n" + whole,
			[]string{laterRow, wholeRow}, []string{"22: RX-packets went back"}},
		{"another machine's", "### virtio PMD\ntestpmd> show port stats all\n" + later + "\n### AF_XDP PMD\n\ntestpmd> show port stats all\n" + whole, []string{laterRow, wholeRow}, nil},
		{"a rate of nothing", whole + whole, []string{wholeRow, wholeRow}, []string{"18: Rx-pps 500, but RX-packets is 1000 as before", "19: Tx-pps 5, but TX-packets is 10 as before"}},
		{"a rate of too little", whole + second("6000", "1001", "384000", "64064", "Rx-pps:         5000", "Rx-pps:       500000", "2560000", "256000000"),
			[]string{wholeRow, "3: 1001 7 64064 0 0 2010 0 128640 500000 2000 256000000 1024000"}, []string{"18: Rx-pps 500000, but RX-packets grew by 1"}},
		{"bytes without more packets", whole + second("6000", "1000", "Rx-pps:         5000          Rx-bps:      2560000", "Rx-pps:            0          Rx-bps:            0"),
			[]string{wholeRow, "3: 1000 7 384000 0 0 2010 0 128640 0 2000 0 1024000"}, []string{"12: RX-bytes grew by 320000, but RX-packets is 1000 as before"}},
		{"bps that are not the counters'", whole + second("2560000", "1280000"), []string{wholeRow, "3: 6000 7 384000 0 0 2010 0 128640 5000 2000 1280000 1024000"}, []string{"18: make 32.0 bytes a packet, the counters 64.0"}},
		{"two windows", whole + second("Rx-pps:         5000          Rx-bps:      2560000", "Rx-pps:         1000          Rx-bps:       512000"),
			[]string{wholeRow, "3: 6000 7 384000 0 0 2010 0 128640 1000 2000 512000 1024000"}, []string{"18: by Rx-pps 5 s went by since the block before, by Tx-pps 1 s"}},
	} {
		k.check(t)
	}
}

func TestCut(t *testing.T) {
	for _, k := range []kind{
		{"at its end", whole[:strings.Index(whole, "  Throughput")], []string{"3: 1000 7 64000 0 0 10 0 640 - - - -"}, []string{"5: is cut: the text ends before its border"}},
		{"in its rates", whole[:strings.Index(whole, "  Tx-pps")], []string{"3: 1000 7 64000 0 0 10 0 640 500 - 256000 -"}, []string{"8: is cut: the text ends before its border, and it lacks Tx-pps, Tx-bps"}},
		{"in a number", whole[:strings.Index(whole, "000\n")+1], []string{"3: 1000 7 - - - - - - - - - -"}, []string{`2: RX-bytes: "640" may be cut`, "2: it lacks RX-errors"}},
		{"in a number, by an event", edit(t, "1000       RX-missed", "10\nPort 0: link state change event\n00x"), []string{"3: - - 64000 0 0 10 0 640 500 5 256000 2560"}, []string{`2: RX-packets: "10" may be cut`}},
		{"behind a CR", strings.ReplaceAll(whole[:strings.Index(whole, "000\n")+3], "\n", "\r\n") + "\r", []string{"3: 1000 7 64000 - - - - - - - - -"}, []string{"2: it lacks RX-errors"}},
		{"behind a zero", strings.TrimSuffix(whole[:strings.Index(whole, "  RX-nombuf")], "\n"), []string{"3: 1000 7 64000 0 - - - - - - - -"}, []string{"3: it lacks RX-nombuf, TX-packets"}},
		{"in its header", whole[:48], nil, []string{"1: a header that is cut"}},
		{"in its header's words", whole[:35], nil, []string{"1: a header that is cut"}},
		{"in its port", whole[:strings.Index(whole, "3 ")+1], nil, []string{"1: a header that is cut"}},
		{"behind its port", whole[:strings.Index(whole, "3 ")+2], []string{"3: - - - - - - - - - - - -"}, []string{"1: it lacks RX-packets"}},
		{"a header without a port", whole[:51] + "\n", nil, []string{"1: a header without a port"}},
		{"at its beginning", whole[strings.Index(whole, "  RX-errors"):], nil, []string{"1: RX-errors outside of a block: the header"}},
		{"at its beginning, before another", whole[strings.Index(whole, "  RX-errors"):] + later, []string{laterRow}, []string{"1: RX-errors outside of a block: the header"}},
		{"in the words before its port", whole[strings.Index(whole, "for port"):], []string{wholeRow}, []string{"1: the header of port 3's block is cut at its beginning"}},
		{"before its port's digits", whole[strings.Index(whole, "3 "):], nil, []string{"2: RX-packets outside of a block"}},
		{"in the left border", whole[20:], []string{wholeRow}, nil},
		{"in the middle", edit(t, "  RX-nombuf:  0         \n  TX-packets: 10         TX-errors: 0          TX-bytes:  640\n", ""),
			[]string{"3: 1000 7 64000 0 - - - - 500 5 256000 2560"}, []string{"7: it lacks RX-nombuf, TX-packets, TX-errors, TX-bytes"}},
		{"a rate is missing", edit(t, "  Tx-pps:            5          Tx-bps:         2560\n", ""), []string{"3: 1000 7 64000 0 0 10 0 640 500 - 256000 -"}, []string{"8: it lacks Tx-pps, Tx-bps"}},
		{"both rates are missing", edit(t, "  Rx-pps:          500          Rx-bps:       256000\n  Tx-pps:            5          Tx-bps:         2560\n", ""), []string{"3: 1000 7 64000 0 0 10 0 640 - - - -"}, []string{"5: it lacks Rx-pps, Tx-pps"}},
		{"by another block", whole[:strings.Index(whole, "\n\n")] + "\n" + later, []string{"3: 1000 7 64000 0 0 10 0 640 - - - -", laterRow}, []string{"5: another block begins before its border"}},
		{"by forward statistics", whole[:strings.Index(whole, "  RX-errors")] + "  ---------------------- Forward statistics for port 0  ----------------------\n  RX-packets: 5              RX-dropped: 0             RX-total: 5\n",
			[]string{"3: 1000 7 64000 - - - - - - - - -"}, []string{"2: other statistics begin before its border"}},
		{"by forward statistics whose title is cut, too", whole[:strings.Index(whole, "  RX-errors")] + "  RX-packets: 5              RX-dropped: 0             RX-total: 5\n",
			[]string{"3: 1000 7 64000 - - - - - - - - -"}, []string{"2: other statistics begin before its border"}},
		{"what grep leaves", "  RX-packets: 404024960  RX-missed: 0          RX-bytes:  25857597440\n", nil, []string{"1: RX-packets outside of a block"}},
	} {
		k.check(t)
	}
}

// Wherever a log is cut, no number is made up, and the cut is noticed.
func TestCutAnywhere(t *testing.T) {
	text := "testpmd> show port stats 3\r\r\n\r\n" + strings.ReplaceAll(edit(t, "port 3", "port 13"), "\n", "\r\n") + "testpmd> "
	full := Parse([]byte(text)).Blocks[0]
	border, header := strings.LastIndex(text, "  ####"), strings.Index(text, "  ####")
	for i := range len(text) {
		for side, part := range map[string]string{"start": text[i:], "end": text[:i]} {
			log := Parse([]byte(part))
			for _, b := range log.Blocks {
				if b.Port != 13 {
					t.Fatalf("%s cut at %d: port %d", side, i, b.Port)
				}
				for l := range blockLabels {
					if v := *b.field(l); v != nil && *v != **full.field(l) {
						t.Fatalf("%s cut at %d: %s %d", side, i, l, *v)
					}
				}
			}
			if len(log.Problems) > 0 {
				continue
			}
			switch side {
			case "end":
				// Up to the 10 # that make a border, and before more # than
				// a border would have at the header.
				if i > header+2+25 && i < border+12 {
					t.Errorf("end cut at %d: nobody noticed", i)
				}
			case "start":
				if i > header+2+24 && i <= strings.Index(text, "Tx-bps") {
					if len(log.Blocks) != 1 || log.Blocks[0].RxPackets == nil {
						t.Errorf("start cut at %d: nobody noticed", i)
					}
				}
			}
		}
	}
}

func TestRefusalIn(t *testing.T) {
	for line, refused := range map[string]bool{
		"Bad arguments":                                                       true,
		"testpmd> Bad arguments":                                              true,
		"testpmd> testpmd> Invalid port 7":                                    true,
		"Command not found":                                                   true,
		"Ambiguous command":                                                   true,
		"Invalid port 7":                                                      true,
		"Invalid port, range is [0, 1]":                                       true,
		"Please stop port 1 first":                                            true,
		"Please stop all ports first":                                         true,
		"Please remove port 0 from forwarding configuration.":                 true,
		"Please remove port 1 from bonded device.":                            true,
		"Port 1 is now not stopped":                                           true,
		"Packet forwarding not started":                                       true,
		"Packet forwarding already started":                                   true,
		"total packet length=10 < 42 - give up":                               true,
		"length[0]=5000 > mbuf_data_size=2176 - give up":                      true,
		"Invalid foo packet forwarding mode":                                  true,
		"Fail to start port 0: Device or resource busy":                       true,
		"nic_stats_display: Error: failed to get stats (port 0): -95":         true,
		"2024-05-01T10:00:00.123Z stdout F Bad arguments":                     true,
		"May 01 10:00:00 host testpmd[12]: Packet forwarding not started":     true,
		"testpmd-1  | Command not found":                                      true,
		`{"log":"Bad arguments`:                                               true,
		`        "Bad arguments",`:                                            true,
		"> Bad arguments":                                                     true,
		`you get "Bad arguments" when you mistype`:                            false,
		"testpmd says Bad arguments":                                          false,
		"# note: Bad arguments":                                               false,
		`# errors: 2x "Bad arguments", 1x "Invalid port 7"`:                   false,
		"The valid ports array is [ 0 ]":                                      false,
		"iavf_execute_vf_cmd(): Return failure -5 for cmd 45":                 false,
		"iavf_add_del_rss_cfg(): Failed to execute command of OP_ADD_RSS_CFG": false,
		"Please remove port N from forwarding configuration":                  false,
		"Invalid ports are refused":                                           false,
	} {
		if _, ok := refusalIn(line); ok != refused {
			t.Errorf("%q: refused %v", line, ok)
		}
	}
}

func TestFrames(t *testing.T) {
	log := Parse([]byte(whole + later + "testpmd> clear port stats all\n" + later + strings.Replace(whole, "RX-bytes:  64000", "RX-bytes:  384000", 1)))
	for i, want := range [][2]float64{{0, 0}, {64, 64}, {0, 0}, {0, 0}} {
		if rx, tx := log.Frames(i); log.Prior[i] != []int{-1, 0, -1, -1}[i] || rx != want[0] || tx != want[1] {
			t.Errorf("block %d: frames of %v and %v bytes; want %v", i, rx, tx, want)
		}
	}
}

func TestNotes(t *testing.T) {
	first := edit(t, "500 ", "0   ", "256000", "0", "     5 ", "     0 ", "2560", "0")
	for _, tt := range []struct {
		name, text string
		notes      []string
	}{
		{"a first show", first, []string{"1: rates of 0: the first show"}},
		{"the traffic begins", edit(t, "1000", "0   ", "64000", "0", "  500 ", "    0 ", "256000", "0") + later,
			[]string{"11: the traffic began"}},
		{"the peer left", whole + "VHOST_CONFIG: (/tmp/vh.sock) vhost peer closed\n" + later, []string{"12: the vhost peer had left"}},
		{"the link changed", whole + "\nPort 3: link state change event\n\nPort 1: link state change event\n" + later, []string{"15: a link or queue event"}},
		{"cleared", later + "\n  NIC statistics for port 3 cleared\n" + whole, []string{"13: the counters were cleared"}},
		{"mixed sizes", edit(t, "64000", "82780"), []string{"1: the totals hold frames of several sizes"}},
		{"another size", whole + later + strings.NewReplacer("6000 ", "11000", "384000", "1024000", "2560000", "5120000", "2010", "4010", "128640", "256640").Replace(later),
			[]string{"21: another size", "21: the totals hold"}},
		{"another size after a clear", whole + later + "\n  NIC statistics for port 3 cleared\n" + edit(t, "64000", "128000", "256000", "512000") + strings.NewReplacer("384000", "768000", "2560000", "5120000").Replace(later),
			[]string{"23: the counters were cleared", "33: another size"}},
		{"no bytes", edit(t, "64000", "0", "256000", "0"), []string{"1: the driver counts no bytes"}},
	} {
		got := messages(Parse([]byte(tt.text)).Notes)
		if len(got) != len(tt.notes) {
			t.Errorf("%s: notes %q; want %q", tt.name, got, tt.notes)
			continue
		}
		for i, w := range tt.notes {
			if !strings.HasPrefix(got[i], w) {
				t.Errorf("%s: note %q; want %q", tt.name, got[i], w)
			}
		}
	}
}
