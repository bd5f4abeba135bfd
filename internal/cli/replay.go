package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/bundle"
	"sweep/internal/replay"
)

func newReplayCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "replay DIR",
		Short: "Work a run's numbers out again from its tape, and say what differs",
		Long: `Work all numbers of a run out again, from the counters' readings that its tape
holds (tape.jsonl), and compare them with what the run said: rates, ledgers,
audits, the files in the published format, to the last digit. What testpmd
printed is looked for in the transcript of its console. It needs nothing but
the folder, or an archive of it that 'sweep bundle' made.

The exit code is 0 where nothing differs and 1 where something does.`,
		Example: `  sweep replay results/2026-12-01T12-00-00-4711
  sweep replay theirs.tar.gz`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, done, err := bundle.Open(args[0])
			if err != nil {
				return runError(err)
			}
			o, err := replay.Run(dir)
			if err := errors.Join(err, done()); err != nil {
				return runError(err)
			}
			for _, d := range o.Differences {
				fmt.Fprintln(cmd.OutOrStdout(), d)
			}
			if n := len(o.Differences); n > 0 {
				return withExit(exitFailed, fmt.Errorf("%d things are not as the run said", n))
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%d trials, worked out again from %d readings of all counters: every number is the same to the last digit. Of what testpmd printed, %d statistics were found in its console.\n",
				o.Trials, o.Looks, o.Shows)
			return nil
		},
	}
}
