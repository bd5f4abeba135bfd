package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/report"
	"sweep/internal/testpmd"
)

func newParseCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "parse FILE|-",
		Short: "Read the NIC statistics out of a testpmd's log",
		Long: `Read the NIC statistics blocks that testpmd printed, of any version, out of a
console's log: a raw recording of a terminal, a mail, a CI's log, cut anywhere.
What can't be right in it is a problem, with its line. The exit code is 1 where
there are problems or no block.`,
		Example: "  sweep parse client.log\n  kubectl logs dpdk | sweep parse - --format json",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("parse takes one FILE, or - for standard input; %d were given", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "table" && format != "json" {
				return usageError("--format %q is unknown; there are table, json", format)
			}
			name, text, err := readInput(cmd, args[0])
			if err != nil {
				return err
			}
			log := testpmd.Parse(text)
			if format == "json" {
				err = json.NewEncoder(cmd.OutOrStdout()).Encode(log)
			} else {
				err = writeLog(cmd.OutOrStdout(), cmd.ErrOrStderr(), name, log)
			}
			switch {
			case err != nil:
				return withExit(exitFailed, err)
			case len(log.Blocks) == 0:
				return withExit(exitFailed, fmt.Errorf("no NIC statistics block in %s: %s", name, resembles(text)))
			case len(log.Problems) > 0:
				return withExit(exitFailed, nil)
			}
			return nil
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%v", err) })
	c.Flags().StringVar(&format, "format", "table", "how the blocks are printed: table, json")
	return c
}

// readInput reads a file, or standard input for "-", and says what to call it.
func readInput(cmd *cobra.Command, path string) (name string, text []byte, err error) {
	if path == "-" {
		name = "standard input"
		text, err = io.ReadAll(cmd.InOrStdin())
	} else {
		name = path
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return name, nil, withExit(exitUsage, err)
	}
	return name, text, nil
}

// resembles says what a text without a block looks like.
func resembles(text []byte) string {
	if len(bytes.TrimSpace(text)) == 0 {
		return "it is empty"
	}
	for _, k := range []struct{ is, words string }{
		{"this looks like Pktgen's screen", "Pkts/s"},
		{"this looks like the statistics of one of DPDK's examples", "Packets sent:"},
		{"this looks like telemetry's JSON", `"/ethdev/`},
		{"this holds extended statistics only; `show port stats` prints what is read here", "NIC extended statistics"},
		{"this holds extended statistics only; `show port stats` prints what is read here", "rx_good_packets"},
		{"this holds forward statistics only; `show port stats` prints what is read here", "orward statistics for"},
		{"this holds forward statistics only; `show port stats` prints what is read here", "Forward Stats for"},
		{"this looks like the output of ethtool -S", "NIC statistics:"},
		{"this looks like a guest's console", "SeaBIOS"},
		{"this looks like a guest's console", "Linux version "},
		{"this looks like a guest's console", "Booting from "},
		{"this looks like a guest's console", "Welcome to  _ __"},
		{"this is a testpmd's console, on which no `show port stats` was answered", "testpmd>"},
		{"this is a testpmd's console, on which no `show port stats` was answered", "Interactive-mode selected"},
		{"this looks like a switch's or the kernel's statistics", "rx_packets"},
		{"this looks like a switch's or the kernel's statistics", "RX packets"},
		{"this looks like the kernel's statistics", "RX:  bytes"},
	} {
		if bytes.Contains(text, []byte(k.words)) {
			return k.is
		}
	}
	return "nothing in it looks like testpmd"
}

// writeLog prints a table of the blocks, and the problems as FILE:LINE: what.
func writeLog(out, errs io.Writer, name string, log testpmd.Log) error {
	for _, p := range log.Problems {
		fmt.Fprintf(errs, "%s:%d: %s\n", name, p.Line, p.Message)
	}
	if len(log.Blocks) == 0 {
		return nil
	}
	table := report.NewTable(out, false)
	table.Header([]string{"line", "port",
		"rx packets", "missed", "errors", "nombuf", "rx bytes", "B/packet", "frame", "Rx-pps",
		"tx packets", "errors", "tx bytes", "B/packet", "frame", "Tx-pps", "marks"})
	var marks legend
	for i, b := range log.Blocks {
		rx, tx := log.Frames(i)
		if err := table.Append([]string{strconv.Itoa(b.Line), strconv.Itoa(b.Port),
			counter(b.RxPackets), counter(b.RxMissed), counter(b.RxErrors), counter(b.RxNombuf), counter(b.RxBytes),
			each(b.RxPackets, b.RxBytes), size(rx), counter(b.RxPps),
			counter(b.TxPackets), counter(b.TxErrors), counter(b.TxBytes),
			each(b.TxPackets, b.TxBytes), size(tx), counter(b.TxPps),
			marks.of(b.Line, log.Notes)}); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	fmt.Fprint(out, `- is what the block lacks or can't tell. B/packet is of the totals, frame of what came
since the port's block before, in bytes, without the FCS for most drivers. Rates are
testpmd's own.
`)
	for i, text := range marks {
		fmt.Fprintf(out, "%s  %s\n", mark(i), text)
	}
	return nil
}

// legend are the notes that the marks in a table stand for.
type legend []string

// of are the marks of the notes on a line, separated by blanks.
func (l *legend) of(line int, notes []testpmd.Problem) string {
	var out []string
	first, _ := slices.BinarySearchFunc(notes, line, func(n testpmd.Problem, line int) int { return n.Line - line })
	for _, n := range notes[first:] {
		if n.Line != line {
			break
		}
		i := slices.Index(*l, n.Message)
		if i < 0 {
			i = len(*l)
			*l = append(*l, n.Message)
		}
		out = append(out, mark(i))
	}
	return strings.Join(out, " ")
}

// mark is a, b, ..., z; there are fewer notes than that.
func mark(i int) string { return string(rune('a' + i)) }

func counter(v *uint64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatUint(*v, 10)
}

// each is a mean size, of totals.
func each(packets, bytes *uint64) string {
	if packets == nil || bytes == nil || *packets == 0 {
		return "-"
	}
	return size(float64(*bytes) / float64(*packets))
}

func size(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return strconv.FormatFloat(bytes, 'f', 2, 64)
}
