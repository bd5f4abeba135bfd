package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/replay"
	"sweep/internal/reproduce"
)

func newPaperCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "paper DIR",
		Short: "Hold a run against the published figure's 24 points",
		Long: `Hold a run, a folder of results or an archive of 'sweep bundle', against the 24
points of Figure 19 of the EuroSys'21 paper on Unikraft. Each is

  reproduced      the run's 95 % interval, widened by 3 % at either end, holds it,
                  and half of that interval is no more than 3 % of the median
  not reproduced  it doesn't hold it
  not comparable  the run can say nothing of it, and why: the guest ran in an
                  emulator, pollers shared a CPU, the run has no interval or one
                  that holds it only for being wide, or the value is a 10GbE
                  cable's (16 of the 24) and the run has none

Then come the figure's claims, by the run's own tests, and a checklist for a
reviewer of artifacts (ACM's badges: available, functional, reproduced) with what
the run shows for each line, and what no run can show.

The exit code is 0 whatever came out, 1 where something in the folder is damaged,
2 for wrong usage.`,
		Example: `  sweep paper results/DIR
  sweep paper theirs.tar.gz --format markdown`,
		Args: func(_ *cobra.Command, args []string) error {
			return checkRuns(args, 1, "paper takes one run, a folder or an archive", format, reproduce.Formats())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := openRun(cmd, args[0])
			if err != nil {
				return err
			}
			r := reproduce.Of(o.name, o.run, o.trials, o.judged(), replayed(o))
			if err := reproduce.Write(cmd.OutOrStdout(), format, r); err != nil {
				return errors.Join(withExit(exitFailed, err), o.done())
			}
			return o.end()
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%v", err) })
	c.Flags().StringVar(&format, "format", "table", "how it is printed: "+strings.Join(reproduce.Formats(), ", "))
	return c
}

// replayed is what a replay of a run shows. One that can't be done counts
// against the run, for each has a tape; but for imported ones, of which nobody
// recorded any.
func replayed(o openedRun) reproduce.Evidence {
	if o.run.Imported != "" {
		return reproduce.Evidence{}
	}
	again, err := replay.Run(o.dir)
	if err != nil {
		// The folder of an archive is a temporary one, which nobody knows.
		return reproduce.Evidence{Replayed: true, Differ: []string{strings.ReplaceAll(err.Error(), o.dir, o.name)}}
	}
	return reproduce.Evidence{Replayed: true, Differ: again.Differences}
}
