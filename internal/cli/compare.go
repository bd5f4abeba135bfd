package cli

import (
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/compare"
	"sweep/internal/verdict"
)

func newCompareCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Hold two runs side by side",
		Long: `Hold two runs side by side, each a folder of results or an archive of 'sweep
bundle': what differs between the machines and between the arms first, for that
may be why the rates differ; then each system at each size in both runs, with the
ratio of A to B and its interval; then what the tests say, the same ones as
between the systems of a run.

The blocks of two runs did not take turns. What changed on the machine in between
is in the ratios, too, and no test can tell it from the guests. To compare two
guests, measure them in one run.

The exit code is 0 also where the runs differ, 1 where something in them is
damaged, 2 for wrong usage.`,
		Example: `  sweep compare results/before results/after
  sweep compare results/DIR theirs.tar.gz --format markdown
  sweep import paper -o results/paper && sweep compare results/DIR results/paper`,
		Args: func(_ *cobra.Command, args []string) error {
			return checkRuns(args, 2, "compare takes two runs, A and B", format, compare.Formats())
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := openRun(cmd, args[0])
			if err != nil {
				return err
			}
			b, err := openRun(cmd, args[1])
			if err != nil {
				return errors.Join(err, a.done())
			}
			between := verdict.Between(a.measured(), b.measured(), together(a, b))
			side := func(o openedRun) compare.Side {
				return compare.Side{Name: o.name, Run: o.run, Trials: o.trials, Verdict: o.judged()}
			}
			if err := compare.Write(cmd.OutOrStdout(), format, compare.Of(side(a), side(b), between)); err != nil {
				return errors.Join(withExit(exitFailed, err), a.done(), b.done())
			}
			return errors.Join(a.end(), b.end())
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%v", err) })
	c.Flags().StringVar(&format, "format", "table", "how it is printed: "+strings.Join(compare.Formats(), ", "))
	return c
}
