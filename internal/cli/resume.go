package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sweep/internal/results"
	"sweep/internal/run"
)

// resumed are the options of the run whose folder --resume names: what was typed
// then is read again, and the run itself sees whether anything has changed
// since.
func (f *sweepFlags) resumed(cmd *cobra.Command, version string) (run.Options, error) {
	var wrong complaints
	cmd.Flags().Visit(func(fl *pflag.Flag) {
		if !slices.Contains([]string{"resume", "format", "quiet"}, fl.Name) {
			wrong.add(fmt.Errorf("--%s beside --resume: a run is resumed with the plan that it has; leave it out, or start a run of its own", fl.Name))
		}
	})
	wrong.add(checkFormat(f.format))
	if err := wrong.err(); err != nil {
		return run.Options{}, err
	}
	was, _, _, err := results.Load(f.resume)
	if err != nil {
		return run.Options{}, runError(err)
	}
	if was.Imported != "" || len(was.Command) == 0 {
		return run.Options{}, usageError("%s was not measured by this kit: there is nothing to go on with", f.resume)
	}
	// The main command alone has trials: `cost` and others name themselves.
	args := was.Command[1:]
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		return run.Options{}, usageError("%s is of `sweep %s`, which is not resumed: run it again", f.resume, args[0])
	}
	var again sweepFlags
	c := &cobra.Command{Use: "sweep"}
	again.add(c)
	if err := c.ParseFlags(args); err != nil {
		return run.Options{}, withExit(exitFailed, fmt.Errorf("the command line of %s: %w", f.resume, err))
	}
	o, _, err := again.options(c, version, args)
	if err != nil {
		return o, fmt.Errorf("resume %s, which was started with %q: %w", f.resume, args, err)
	}
	if again.seed == 0 {
		o.Plan.Seed = was.Plan.Seed
	}
	o.Results, o.Resume = f.resume, true
	return o, nil
}
