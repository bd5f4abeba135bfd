package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/testbed"
	"sweep/sizes"
)

// sweepFlags are the main command's flags as they are typed.
type sweepFlags struct {
	guests   guestFlags
	truth    truthFlags
	sizes    string
	trials   int
	duration time.Duration
	wire     string
	results  string
	format   string
	seed     uint64
	dryRun   bool
}

func newSweepCommand(version string, args []string) *cobra.Command {
	var f sweepFlags
	c := &cobra.Command{
		Use:   "sweep [flags]",
		Short: "Measure how many packets a second a guest can transmit",
		Long: `Measure how many packets a second a virtual machine can transmit, for each
packet size, through a virtio NIC on a vhost-user port, as counted by testpmd at
the other end of a wire: the experiment of Figure 19 of the EuroSys'21 paper on
Unikraft, on one machine.

Without flags it measures every system that this machine can run, at the six
sizes of the figure, and takes about a minute a system. It needs no root, no
hugepages and no NIC. A system is GUEST/ATTACHMENT, such as linux-dpdk/vhost-user.`,
		Example: `  sweep                                  the experiment
  sweep --sizes 64,1500 --trials 3       two sizes, three boots each
  sweep --sizes 64-1500:128              64, 192, ..., 1472, 1500
  sweep --dry-run                        what would be run, to paste
  sweep report results/DIR               the table again`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := f.options(version, args)
			if err != nil {
				return err
			}
			if f.dryRun {
				return dryRun(cmd, o)
			}
			return sweep(cmd, o, f.format)
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.sizes, "sizes", join(sizes.Default()), "packet lengths in bytes, without the 4 of the FCS; FIRST-LAST:STEP is a range")
	f.guests.add(c)
	fl.IntVar(&f.trials, "trials", 1, "boots of each system; each is measured at every size")
	fl.DurationVar(&f.duration, "duration", 5*time.Second, "how long the counters are watched at each size")
	fl.StringVar(&f.wire, "wire", "memif", "what joins forwarder and client: "+strings.Join(testbed.Wires(), " or "))
	f.truth.add(c, &f.guests)
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the order of sizes within each boot (default another one each time; it is in the record)")
	fl.StringVar(&f.results, "results", "", "folder for the record (default results/TIME)")
	addFormat(c, &f.format)
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and every command line, and start nothing")
	return c
}

func join(ns []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]")
}

// options are the flags as typed values. All that is wrong is said at once.
func (f sweepFlags) options(version string, args []string) (run.Options, error) {
	o := run.Options{
		Version: version,
		Command: append([]string{"sweep"}, args...),
		Plan:    plan.Plan{Trials: f.trials, Duration: f.duration, Wire: f.wire, Seed: f.seed},
		Results: f.results,
	}
	var wrong complaints
	path := testbed.Memif{}.Path()
	var err error
	if o.Wire, err = testbed.NewWire(f.wire, os.Getuid()); err == nil {
		path = o.Wire.Path()
	}
	wrong.add(err)
	if o.Plan.Sizes, err = sizes.Parse(f.sizes, path); err != nil {
		wrong.add(err)
		o.Plan.Sizes = sizes.Default() // for Check to find what else is wrong
	}
	if err := f.guests.options(&o, &wrong); err != nil {
		return o, err
	}
	f.truth.options(&o, &wrong)
	wrong.add(o.Plan.Check())
	wrong.add(checkFormat(f.format))
	for o.Plan.Seed == 0 {
		o.Plan.Seed = rand.Uint64N(1 << 32) // what every JSON reader takes
	}
	return o, wrong.err()
}

// complaints are all that is wrong with a command line.
type complaints []string

func (c *complaints) add(err error) {
	if err != nil {
		*c = append(*c, err.Error())
	}
}

// err is the usage error that says them all; nil where there are none.
func (c complaints) err() error {
	if len(c) == 0 {
		return nil
	}
	return usageError("%s", strings.Join(c, "\n       "))
}

// buildFolder is where prepare.sh puts what it makes, this program included.
func buildFolder() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find the build folder: %w", err)
	}
	exe, err = filepath.EvalSymlinks(exe)
	if err != nil {
		return "", fmt.Errorf("find the build folder: %w", err)
	}
	return filepath.Dir(exe), nil
}

func dryRun(cmd *cobra.Command, o run.Options) error {
	lab, p, skipped, err := run.DryRun(cmd.Context(), o)
	if err != nil {
		return withExit(codeOf(cmd.Context(), err), err)
	}
	for _, line := range results.NotRun(skipped) {
		fmt.Fprintln(cmd.ErrOrStderr(), "sweep: not run:", line)
	}
	if len(p.Systems) == 0 {
		return withExit(exitNothing, errors.New("nothing can run"))
	}
	if err := lab.Show(cmd.OutOrStdout(), p); err != nil {
		return withExit(exitFailed, err)
	}
	return nil
}

// sweep runs the experiment and prints what the folder then holds.
func sweep(cmd *cobra.Command, o run.Options, format string) error {
	ctx := cmd.Context()
	runErr := run.Run(ctx, o, terminal{cmd.ErrOrStderr()})
	shown, err := report.Open(o.Results)
	if err != nil {
		if runErr != nil {
			err = runErr // it ended before there was a folder
		}
		return withExit(codeOf(ctx, err), err)
	}
	if err := report.Write(cmd.OutOrStdout(), format, []report.Shown{shown}); err != nil {
		runErr = errors.Join(runErr, err)
	}
	if runErr != nil {
		return withExit(codeOf(ctx, runErr), runErr)
	}
	for _, t := range shown.Trials {
		if t.Error != "" {
			return withExit(exitFailed, fmt.Errorf("some points failed; the consoles are in %s", filepath.Join(o.Results, "console")))
		}
	}
	return nil
}

// codeOf is the exit code for an error of a run.
func codeOf(ctx context.Context, err error) int {
	var nothing *run.ErrNothing
	var running *agent.ErrRunning
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &nothing), errors.As(err, &running):
		return exitNothing
	}
	return exitFailed
}

// terminal is where a run speaks to its user.
type terminal struct{ w io.Writer }

// Say implements [run.UI].
func (t terminal) Say(line string) { fmt.Fprintln(t.w, "sweep:", line) }

// Progress implements [run.UI].
func (t terminal) Progress(p plan.Plan) (run.Progress, func()) { return newProgress(t.w, p) }
