package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
	"github.com/spf13/cobra"

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
		Args:    cobra.ExactArgs(1),
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
				if err := json.NewEncoder(cmd.OutOrStdout()).Encode(log); err != nil {
					return withExit(exitFailed, err)
				}
			} else if err := writeLog(cmd.OutOrStdout(), cmd.ErrOrStderr(), name, log); err != nil {
				return withExit(exitFailed, err)
			}
			switch {
			case len(log.Blocks) == 0:
				return withExit(exitFailed, fmt.Errorf("no NIC statistics block in %s%s", name, resembles(text)))
			case len(log.Problems) > 0:
				return withExit(exitFailed, nil)
			}
			return nil
		},
	}
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
	s := string(text)
	switch {
	case strings.Contains(s, "Pktgen") || strings.Contains(s, "Pkts/s"):
		return ": it looks like Pktgen's screen"
	case strings.Contains(s, "orward statistics") || strings.Contains(s, "Forward Stats"):
		return ": it holds forward statistics only; `show port stats` prints what is read here"
	case strings.Contains(s, "NIC extended statistics"):
		return ": it holds extended statistics only; `show port stats` prints what is read here"
	case strings.Contains(s, "/ethdev/stats"):
		return ": it looks like telemetry's JSON"
	}
	return ""
}

// writeLog prints a table of the blocks, and the problems as FILE:LINE: what.
func writeLog(out, errs io.Writer, name string, log testpmd.Log) error {
	for _, p := range log.Problems {
		fmt.Fprintf(errs, "%s:%d: %s\n", name, p.Line, p.Message)
	}
	if len(log.Blocks) == 0 {
		return nil
	}
	table := tablewriter.NewTable(out,
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignment(tw.AlignRight), tablewriter.WithRowAlignment(tw.AlignRight))
	table.Header([]string{"line", "port", "rx packets", "missed", "errors", "nombuf", "rx bytes", "B/packet", "Rx-pps", "tx packets", "errors", "tx bytes", "Tx-pps"})
	last := map[int]testpmd.Block{}
	for _, b := range log.Blocks {
		row := []string{strconv.Itoa(b.Line), strconv.Itoa(b.Port),
			counter(b.RxPackets), counter(b.RxMissed), counter(b.RxErrors), counter(b.RxNombuf), counter(b.RxBytes),
			frame(last[b.Port], b), counter(b.RxPps), counter(b.TxPackets), counter(b.TxErrors), counter(b.TxBytes), counter(b.TxPps)}
		if err := table.Append(row); err != nil {
			return err
		}
		last[b.Port] = b
	}
	if err := table.Render(); err != nil {
		return err
	}
	fmt.Fprintln(out, "- is a counter that the block lacks. B/packet is of what arrived since the port's block before, without FCS for most drivers.")
	for _, n := range log.Notes {
		fmt.Fprintf(out, "line %d: %s\n", n.Line, n.Message)
	}
	return nil
}

func counter(v *uint64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatUint(*v, 10)
}

// frame is the mean size of what was received between two blocks of a port:
// totals would mix the sizes of a sweep.
func frame(before, b testpmd.Block) string {
	if b.RxPackets == nil || b.RxBytes == nil {
		return "-"
	}
	packets, bytes := *b.RxPackets, *b.RxBytes
	if before.RxPackets != nil && before.RxBytes != nil && *before.RxPackets <= packets && *before.RxBytes <= bytes {
		packets -= *before.RxPackets
		bytes -= *before.RxBytes
	}
	if packets == 0 || bytes == 0 {
		return "-"
	}
	return strconv.FormatFloat(float64(bytes)/float64(packets), 'f', 2, 64)
}
