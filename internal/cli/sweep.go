package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/site"
	"sweep/internal/testbed"
	"sweep/sizes"
)

// sweepFlags are the main command's flags as they are typed.
type sweepFlags struct {
	guests    guestFlags
	truth     truthFlags
	file      string
	testbed   string
	sizes     string
	trials    int
	full      bool
	precision precision
	maxTrials int
	duration  time.Duration
	wire      string
	results   string
	resume    string
	format    string
	seed      uint64
	dryRun    bool
	quiet     bool
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
sizes of the figure, in one boot each, and takes about a minute a system: a look,
and no verdict. --full is what can be published: seven boots of each, and
--precision as many as it takes. How long that is, it says before it starts. It
needs no root, no hugepages and no NIC. A system is GUEST/ATTACHMENT, such as
linux-dpdk/vhost-user.`,
		Example: `  sweep                                  the experiment, one boot of each system
  sweep --full                           seven blocks: what can be published
  sweep --precision 1%                   as many blocks as each point needs for that
  sweep --sizes 64,1500 --trials 3       two sizes, three boots each
  sweep --sizes 64-1500:128              64, 192, ..., 1472, 1500
  sweep --resume results/DIR             go on with a run that ended early
  sweep --plan plan.yaml --dry-run       what a file asks for, to read and to paste
  sweep report results/DIR               the table again`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.resume != "" {
				o, err := f.resumed(cmd, version)
				if err != nil {
					return err
				}
				return sweep(cmd, o, f.format, f.quiet)
			}
			o, sources, err := f.options(cmd, version, args)
			if err != nil {
				return err
			}
			if f.dryRun {
				return dryRun(cmd, o, sources)
			}
			return sweep(cmd, o, f.format, f.quiet)
		},
	}
	f.add(c)
	return c
}

// add adds the flags to a command.
func (f *sweepFlags) add(c *cobra.Command) {
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&f.sizes, "sizes", join(sizes.Default()), "packet lengths in bytes, without the 4 of the FCS; FIRST-LAST:STEP is a range")
	f.guests.add(c)
	fl.IntVar(&f.trials, "trials", 1, "blocks: boots of each system, each measured at every size; with --precision the fewest")
	fl.BoolVar(&f.full, "full", false, fmt.Sprintf("what can be published: --trials %d", plan.Full))
	fl.Var(&f.precision, "precision", fmt.Sprintf("go on, from %d blocks, until each point's 95%% interval is that narrow (half of it, as a share of the median), such as 1%% or 0.01", plan.Full))
	fl.IntVar(&f.maxTrials, "max-trials", plan.DefaultMaxTrials, "the most blocks, with --precision")
	fl.DurationVar(&f.duration, "duration", 5*time.Second, "how long the counters are watched at each size")
	fl.StringVar(&f.wire, "wire", "memif", "what joins forwarder and client: "+strings.Join(testbed.Wires(), " or "))
	fl.StringVar(&f.testbed, "testbed", "", "YAML file with two machines, a NIC of each and the cable between them (docs/testbed.md), in the place of --wire")
	f.truth.add(c, &f.guests)
	fl.Uint64Var(&f.seed, "seed", 0, "seed of the order of the systems within each block and of the sizes within each boot (default another one each time; it is in the record)")
	fl.StringVar(&f.file, "plan", "", "YAML file with any of the above; flags that are given win (docs/plan.md)")
	fl.StringVar(&f.results, "results", "", "folder for the record (default results/TIME)")
	fl.StringVar(&f.resume, "resume", "", "go on with the run in this folder, which ended early; the plan is that run's")
	addFormat(c, &f.format)
	fl.BoolVarP(&f.quiet, "quiet", "q", false, "print warnings, errors and the table only")
	fl.BoolVar(&f.dryRun, "dry-run", false, "print the plan and every command line, and start nothing")
}

// precision is a share as it is typed. It implements pflag's Value.
type precision float64

func (p *precision) String() string {
	if *p == 0 {
		return ""
	}
	return plan.Percent(float64(*p))
}

func (p *precision) Set(text string) error {
	v, err := plan.ParsePrecision(text)
	if err == nil {
		*p = precision(v)
	}
	return err
}

// Type is what --help calls the value.
func (p *precision) Type() string { return "share" }

func join(ns []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(ns), " ", ","), "[]")
}

// options are the flags, and the plan's file, as typed values, and where each of
// the plan's parts comes from. All that is wrong is said at once.
func (f *sweepFlags) options(cmd *cobra.Command, version string, args []string) (run.Options, sources, error) {
	var wrong complaints
	var file plan.File
	if f.file != "" {
		var errs []error
		file, errs = plan.ReadFile(f.file)
		for _, err := range errs {
			wrong.add(err)
		}
	}
	from := applyFile(cmd, file, &wrong)
	o := run.Options{
		Version: version,
		Command: append([]string{"sweep"}, args...),
		Plan: plan.Plan{
			Duration: f.duration, Wire: f.wire, Seed: f.seed, Note: file.Note,
			Precision: float64(f.precision),
		},
		Results: f.results,
	}
	f.blocks(cmd, from, &o.Plan, &wrong)
	path := testbed.Memif{}.Path()
	var err error
	if f.testbed != "" {
		f.twoMachines(cmd, from, &o, &wrong)
	} else {
		o.Wire, err = testbed.NewWire(f.wire, os.Getuid())
		wrong.add(from.at("wire", err))
	}
	if o.Wire != nil {
		path = o.Wire.Path()
	}
	if o.Plan.Sizes, err = sizes.Parse(f.sizes, path); err != nil {
		wrong.add(from.at("sizes", err))
		o.Plan.Sizes = sizes.Default() // for Check to find what else is wrong
	}
	if err := f.guests.options(&o, from, file.Guests, &wrong); err != nil {
		return o, sources{}, err
	}
	for _, p := range o.Plan.Check() {
		wrong.add(fmt.Errorf("%s %s", from.name(p.Part), p.Text))
	}
	if !slices.Contains(report.Printable(), f.format) {
		wrong.add(fmt.Errorf("--format %q is unknown; there are %s", f.format, strings.Join(report.Printable(), ", ")))
	}
	f.truth.options(&o, &wrong)
	for o.Plan.Seed == 0 {
		o.Plan.Seed = rand.Uint64N(1 << 32) // what every JSON reader takes
	}
	return o, sources{cmd, f, from, file.Guests}, wrong.err()
}

// twoMachines has the run take place on the machines of a testbed's file.
func (f *sweepFlags) twoMachines(cmd *cobra.Command, from origins, o *run.Options, wrong *complaints) {
	if given(cmd, from, "wire") {
		wrong.add(fmt.Errorf("%s %s beside --testbed: the wire is the testbed's cable; leave it out", from.name("wire"), f.wire))
	}
	if f.truth.fault != "" {
		wrong.add(errors.New("--fault beside --testbed: a relay that plants faults stands in a lab's wire, and in no cable"))
	}
	if f.dryRun {
		wrong.add(errors.New("--dry-run beside --testbed: the command lines depend on what the machines have; sweep testbed check FILE says what the file asks for"))
	}
	file, errs := testbed.ReadFile(f.testbed)
	for _, err := range errs {
		wrong.add(err)
	}
	cable := &testbed.Cable{}
	o.Wire, o.Plan.Wire = cable, cable.Name()
	o.Site = site.Testbed{File: file, Cable: cable, Taps: true}
}

// blocks sets how many blocks the plan has.
func (f *sweepFlags) blocks(cmd *cobra.Command, from origins, p *plan.Plan, wrong *complaints) {
	p.Trials = f.trials
	switch {
	case f.full && given(cmd, from, "trials"):
		wrong.add(fmt.Errorf("%s and trials %d: full is %d blocks; leave one of the two out", from.name("full"), f.trials, plan.Full))
	case f.full, p.Precision > 0 && !given(cmd, from, "trials"):
		p.Trials = plan.Full
	}
	switch {
	case p.Precision > 0 && given(cmd, from, "max_trials"):
		p.MaxTrials = f.maxTrials
	case p.Precision > 0:
		p.MaxTrials = max(f.maxTrials, p.Trials)
	case given(cmd, from, "max_trials"):
		wrong.add(fmt.Errorf("%s %d: there is no precision to stop for before; give --precision 1%%, say, or --trials for a number of blocks", from.name("max_trials"), f.maxTrials))
	}
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

func dryRun(cmd *cobra.Command, o run.Options, from sources) error {
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
	err = showPlan(cmd.OutOrStdout(), p, o.Catalog, from, time.Now())
	if err == nil {
		err = lab.Show(cmd.OutOrStdout(), p)
	}
	if err != nil {
		return withExit(exitFailed, err)
	}
	return nil
}

// sweep runs the experiment and prints what the folder then holds.
func sweep(cmd *cobra.Command, o run.Options, format string, quiet bool) error {
	ctx := cmd.Context()
	began, runErr := run.Run(ctx, o, onTerminal(cmd, quiet))
	if !began {
		return withExit(codeOf(ctx, runErr), runErr) // it measured nothing
	}
	shown, err := report.Open(o.Results)
	if err != nil {
		return withExit(codeOf(ctx, err), err)
	}
	if err := report.Write(cmd.OutOrStdout(), format, []report.Shown{shown}); err != nil {
		runErr = errors.Join(runErr, err)
	}
	if runErr != nil {
		return withExit(codeOf(ctx, runErr), runErr)
	}
	for _, t := range shown.Trials {
		if t.Error != "" && !t.Unsteady() {
			return withExit(exitFailed, fmt.Errorf("some points failed; the consoles are in %s", filepath.Join(o.Results, "console")))
		}
	}
	return nil
}

// codeOf is the exit code for an error of a run.
func codeOf(ctx context.Context, err error) int {
	var nothing *run.ErrNothing
	var running *agent.ErrRunning
	var changed *run.ErrChanged
	switch {
	case ctx.Err() != nil:
		return exitInterrupted
	case errors.As(err, &nothing), errors.As(err, &running):
		return exitNothing
	case errors.As(err, &changed):
		return exitUsage
	}
	return exitFailed
}
