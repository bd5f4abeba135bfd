package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/report"
	"sweep/internal/results"
)

func newReportCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "report DIR",
		Short: "Print a run's table again, from its folder alone",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			run, trials, problems, err := results.Load(args[0])
			if err != nil {
				code := exitFailed
				if errors.Is(err, os.ErrNotExist) {
					code = exitUsage
				}
				return withExit(code, err)
			}
			for _, p := range problems {
				fmt.Fprintln(cmd.ErrOrStderr(), "sweep:", p)
			}
			if costs, err := results.LoadCosts(args[0]); !errors.Is(err, os.ErrNotExist) {
				if e := reportCosts(cmd.OutOrStdout(), args[0], format, run, costs); e != nil {
					return e
				}
				if err != nil {
					return withExit(exitFailed, err)
				}
				return nil
			}
			if err := report.Write(cmd.OutOrStdout(), format, run, trials); err != nil {
				return withExit(exitFailed, err)
			}
			if len(problems) > 0 {
				return withExit(exitFailed, nil)
			}
			return nil
		},
	}
	addFormat(c, &format)
	return c
}

// reportCosts prints what a folder of `sweep cost` holds.
func reportCosts(w io.Writer, dir, format string, run results.Run, costs []results.Cost) error {
	if !slices.Contains(report.CostFormats(), format) {
		return usageError("%s holds counts of `sweep cost`, which can be printed as %s", dir, strings.Join(report.CostFormats(), " or "))
	}
	counters, err := results.LoadCounters(dir)
	if err == nil {
		err = report.WriteCosts(w, format, run, costs, counters)
	}
	if err != nil {
		return withExit(exitFailed, err)
	}
	return nil
}

func addFormat(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "format", "table", "how results are printed: "+strings.Join(report.Formats(), ", "))
}

func checkFormat(format string) error {
	if !slices.Contains(report.Formats(), format) {
		return usageError("--format %q is unknown; there are %s", format, strings.Join(report.Formats(), ", "))
	}
	return nil
}
