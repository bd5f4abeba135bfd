package cli

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/testbed"
	"sweep/sizes"
)

// costFlags are the command's flags as they are typed.
type costFlags struct {
	guests  guestFlags
	sizes   string
	boots   int
	results string
	format  string
}

func newCostCommand(version string, args []string) *cobra.Command {
	var f costFlags
	c := &cobra.Command{
		Use:   "cost [flags]",
		Short: "Count the guest's instructions a packet",
		Long: `Count how many instructions a packet costs each guest, from the start of sending
it to the reclaiming of its buffer. They are counted, not timed, in a virtual
machine under QEMU's icount: neither KVM nor a NIC nor a quiet machine is needed,
and two boots agree to a thousandth (linux-dpdk: a hundredth; linux-kernel: its
spread is given). Where they don't, there is no figure, and the reason instead.`,
		Example: `  sweep cost                                       every system, 64 B
  sweep cost --systems bare/vhost-user --sizes 64,1500
  sweep cost --unikraft-image FILE --format json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(version, args)
			if err != nil {
				return err
			}
			return cost(cmd, o, f.format)
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.sizes, "sizes", "64", "packet lengths in bytes, without the 4 of the FCS; FIRST-LAST:STEP is a range")
	f.guests.add(c)
	fl.IntVar(&f.boots, "boots", 2, "boots of each system, which must agree")
	fl.StringVar(&f.results, "results", "", "folder for the record (default results/TIME)")
	fl.StringVar(&f.format, "format", "table", "how results are printed: "+strings.Join(report.CostFormats(), ", "))
	return c
}

// options are the flags as typed values. All that is wrong is said at once.
func (f costFlags) options(version string, args []string) (run.Options, error) {
	o := run.Options{
		Version: version,
		Command: append([]string{"sweep"}, args...),
		Plan:    plan.Plan{Trials: f.boots, Seed: rand.Uint64N(1<<32) + 1},
		Wire:    testbed.Memif{},
		Results: f.results,
	}
	var wrong complaints
	var err error
	o.Plan.Sizes, err = sizes.Parse(f.sizes, o.Wire.Path())
	wrong.add(err)
	if f.boots < 2 || f.boots > 100 {
		wrong.add(fmt.Errorf("--boots %d: 2 to 100 boots can be asked for; a figure is what two agree on", f.boots))
	}
	if err := f.guests.options(&o, nil, nil, &wrong); err != nil {
		return o, err
	}
	if !slices.Contains(report.CostFormats(), f.format) {
		wrong.add(fmt.Errorf("--format %q is unknown; there are %s", f.format, strings.Join(report.CostFormats(), ", ")))
	}
	return o, wrong.err()
}

// cost counts and prints what the folder then holds.
func cost(cmd *cobra.Command, o run.Options, format string) error {
	ctx := cmd.Context()
	runErr := run.Cost(ctx, o, onTerminal(cmd, false))
	record, _, _, err := results.Load(o.Results)
	if err != nil {
		if runErr != nil {
			err = runErr // it ended before there was a folder
		}
		return withExit(codeOf(ctx, err), err)
	}
	costs, err := results.LoadCosts(o.Results)
	if err != nil && runErr == nil {
		runErr = err
	}
	counters, err := results.LoadCounters(o.Results)
	if err != nil && runErr == nil {
		runErr = err
	}
	if err := report.WriteCosts(cmd.OutOrStdout(), format, record, costs, counters); err != nil {
		runErr = errors.Join(runErr, err)
	}
	if runErr != nil {
		return withExit(codeOf(ctx, runErr), runErr)
	}
	for _, p := range results.CostPoints(costs) {
		if p.Instructions == 0 {
			return withExit(exitFailed, fmt.Errorf("some counts were refused; the consoles are in %s", filepath.Join(o.Results, "console")))
		}
	}
	return nil
}

// counting says how far a cost is, in lines: a boot takes some seconds.
type counting struct {
	w     io.Writer
	boots int
}

func (c *counting) Booting(b plan.Boot) {
	fmt.Fprintf(c.w, "boot %d of %d: %s comes up\n", b.Number, c.boots, b.System)
}

func (c *counting) Counted(r results.Cost) {
	if r.Error != "" {
		fmt.Fprintf(c.w, "  %s %d B: %s\n", r.System, r.Size, r.Error)
		return
	}
	fmt.Fprintf(c.w, "  %s %d B: %.3f instructions a packet (%d packets)\n", r.System, r.Size, r.Each(), r.Packets)
}
