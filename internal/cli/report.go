package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"sweep/internal/bundle"
	"sweep/internal/report"
	"sweep/internal/results"
)

func newReportCommand() *cobra.Command {
	var format, out string
	c := &cobra.Command{
		Use:   "report DIR... [--format FORMAT] [-o FILE]",
		Short: "Print a run's table again, or its figure or page, from its folder alone",
		Long: `Print what runs measured and what that means, from their folders alone, or
from the archives of them that 'sweep bundle' made.

  table, markdown  rates with their intervals, what limited them, the verdicts
  csv, json        the same for programs
  benchfmt         a line a boot in the Go benchmark format, for benchstat
  tsv              the published figure's format; with -o FOLDER a file a system,
                   named as the published data is
  svg, png         the figure: throughput over packet size
  html             one page with all of it, which needs nothing from outside

Several runs come one after the other; the figure has them side by side.`,
		Example: `  sweep report results/DIR
  sweep report results/DIR -o page.html
  sweep report results/DIR results/OTHER -o figure.svg
  sweep report results/DIR --format tsv -o rawdata
  sweep report theirs.tar.gz`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, err := reportFormat(format, out, cmd.OutOrStdout())
			if err != nil {
				return err
			}
			return reportOn(cmd, args, format, out)
		},
	}
	c.Flags().StringVar(&format, "format", "", "one of "+strings.Join(report.Formats(), ", ")+` (default by the ending of -o, else table)`)
	c.Flags().StringVarP(&out, "output", "o", "", "file to write instead of standard output; for tsv a folder, or a file that ends in .tsv")
	return c
}

// reportFormat is the format that is asked for, by its name or by a file's.
func reportFormat(format, out string, stdout io.Writer) (string, error) {
	if format == "" {
		format = "table"
		if out != "" {
			if format = report.FormatOf(out); format == "" {
				return "", usageError("-o %s: its ending names no format; say which with --format: %s", out, strings.Join(report.Formats(), ", "))
			}
		}
	}
	if !slices.Contains(report.Formats(), format) {
		return "", usageError("--format %q is unknown; there are %s", format, strings.Join(report.Formats(), ", "))
	}
	if out == "" && !slices.Contains(report.Printable(), format) && isTerminal(stdout) {
		return "", usageError("%s is not for a terminal: name a file with -o", format)
	}
	return format, nil
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// reportOn writes what folders, or archives of them, hold.
func reportOn(cmd *cobra.Command, paths []string, format, out string) (err error) {
	var runs []report.Shown
	problems := 0
	for _, path := range paths {
		dir, done, notOpened := bundle.Open(path)
		if errors.Is(notOpened, os.ErrNotExist) {
			notOpened = fmt.Errorf("%s holds no run: %w", path, notOpened)
		}
		if notOpened != nil {
			return runError(notOpened)
		}
		defer func() {
			if left := done(); left != nil {
				err = errors.Join(err, withExit(exitFailed, left))
			}
		}()
		costs, err := results.LoadCosts(dir)
		if !errors.Is(err, os.ErrNotExist) {
			if len(paths) > 1 {
				return usageError("%s holds counts of `sweep cost`, which are reported one folder a time", path)
			}
			return reportCosts(cmd, path, dir, format, out, costs, err)
		}
		s, err := report.Open(dir)
		if err != nil {
			return runError(err)
		}
		for _, p := range s.Problems {
			fmt.Fprintln(cmd.ErrOrStderr(), "sweep:", p)
			problems++
		}
		runs = append(runs, s)
	}
	nameApart(runs, paths)
	if err := writeReport(cmd, format, out, runs); err != nil {
		return err
	}
	if problems > 0 {
		return withExit(exitFailed, nil)
	}
	return nil
}

// nameApart gives runs whose folders have the same name the names that were
// typed.
func nameApart(runs []report.Shown, paths []string) {
	seen := map[string]int{}
	for _, r := range runs {
		seen[r.Name]++
	}
	for i := range runs {
		if seen[runs[i].Name] > 1 {
			runs[i].Name = paths[i]
		}
	}
}

// writeReport writes runs where they are to go: standard output, a file, or for
// the published format a folder of files.
func writeReport(cmd *cobra.Command, format, out string, runs []report.Shown) error {
	if format == "tsv" && len(runs) > 1 {
		return usageError("tsv holds one run, not %d: name one folder a time", len(runs))
	}
	if format == "tsv" && out != "" && report.FormatOf(out) != "tsv" {
		files, err := report.WriteTSVFiles(out, runs[0])
		if err != nil {
			return withExit(exitFailed, err)
		}
		for _, f := range files {
			fmt.Fprintln(cmd.ErrOrStderr(), "sweep: wrote", f)
		}
		for _, s := range report.Published() {
			if !slices.Contains(files, filepath.Join(out, s.FileName()+".csv")) {
				fmt.Fprintf(cmd.ErrOrStderr(), "sweep: the published figure also has %s, which this run has no rate of\n", s)
			}
		}
		return nil
	}
	return deliver(cmd.OutOrStdout(), out, func(w io.Writer) error { return report.Write(w, format, runs) })
}

// deliver writes to standard output, or to a file that is whole or not there.
func deliver(stdout io.Writer, out string, write func(io.Writer) error) error {
	if out == "" {
		if err := write(stdout); err != nil {
			return withExit(exitFailed, err)
		}
		return nil
	}
	var b bytes.Buffer
	err := write(&b)
	if err == nil {
		err = renameio.WriteFile(out, b.Bytes(), 0o644)
	}
	if err != nil {
		return withExit(exitFailed, fmt.Errorf("write %s: %w", out, err))
	}
	return nil
}

// reportCosts prints what a folder of `sweep cost` holds, which is given as
// path. damage is what could not be read of it.
func reportCosts(cmd *cobra.Command, path, dir, format, out string, costs []results.Cost, damage error) error {
	if !slices.Contains(report.CostFormats(), format) {
		return usageError("%s holds counts of `sweep cost`, which can be printed as %s", path, strings.Join(report.CostFormats(), " or "))
	}
	run, _, problems, err := results.Load(dir)
	if err != nil {
		return runError(err)
	}
	for _, p := range problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "sweep:", p)
	}
	counters, err := results.LoadCounters(dir)
	if err != nil {
		return withExit(exitFailed, err)
	}
	if err := deliver(cmd.OutOrStdout(), out, func(w io.Writer) error { return report.WriteCosts(w, format, run, costs, counters) }); err != nil {
		return err
	}
	if damage != nil || len(problems) > 0 {
		return withExit(exitFailed, damage)
	}
	return nil
}

// addFormat adds the flag of the commands that measure.
func addFormat(c *cobra.Command, format *string) {
	c.Flags().StringVar(format, "format", "table", "how results are printed: "+strings.Join(report.Printable(), ", "))
}

func checkFormat(format string) error {
	if !slices.Contains(report.Printable(), format) {
		return usageError("--format %q is unknown; there are %s", format, strings.Join(report.Printable(), ", "))
	}
	return nil
}
