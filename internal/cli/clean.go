package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
)

func newCleanCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "clean",
		Short: "Undo what runs that were killed left on this machine",
		Long: `Undo what runs changed on this machine and did not live to undo: end their
processes, remove their sockets and folders. What to undo stands in their
journals, which name each process by pid, start time and boot: nothing else is
touched, and a run that still lives is left alone. It can be run again and
again. Packages and results stay; ./clean.sh --all removes build/ too.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			undone, err := agent.Undo(agent.JournalDir())
			failed := printUndone(cmd, undone)
			if err != nil {
				return withExit(exitFailed, err)
			}
			if failed {
				return withExit(exitFailed, fmt.Errorf("not everything could be undone; the journal keeps it for the next ./clean.sh"))
			}
			if len(undone) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "Nothing to undo.")
			}
			return nil
		},
	}
}

// printUndone says what was undone, and whether something was not.
func printUndone(cmd *cobra.Command, undone []agent.Undone) (failed bool) {
	out, errs := cmd.OutOrStdout(), cmd.ErrOrStderr()
	for _, u := range undone {
		if u.Running != nil {
			fmt.Fprintf(out, "A run is under way (pid %d, results in %s): left alone.\n", u.Running.PID, u.Results)
			continue
		}
		fmt.Fprintf(out, "A run that was killed (results in %s): %d things undone.\n", u.Results, len(u.Changes))
		for _, c := range u.Changes {
			fmt.Fprintf(out, "  %s\n", c)
		}
		for _, err := range u.Errs {
			fmt.Fprintf(errs, "sweep: %v\n", err)
			failed = true
		}
	}
	return failed
}
