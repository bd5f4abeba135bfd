package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
	"sweep/internal/remote"
)

func newCleanCommand() *cobra.Command {
	var host agent.Change
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Undo what runs that were killed left",
		Long: `Undo what runs changed and did not live to undo: end their processes, give NICs
back to their drivers, delete their interfaces, give back hugepages, remove their
sockets and folders. What to undo stands in their journals, which name each
process by pid, start time and boot: nothing else is touched, and a run that still
lives is left alone. The machines of a testbed have journals of their own, and are
cleaned over ssh. It can be run again and again. Packages and results stay;
./clean.sh --all removes build/ too.`,
		Example: `  sweep clean                 this machine, and those that its runs reached
  sweep clean --host server   a machine that a sweep reached from elsewhere`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if host.Name != "" {
				return cleanHost(cmd, host)
			}
			if host.SSHConfig != "" || host.Sudo {
				return usageError("--ssh-config and --sudo say how to reach the host that --host names, which is not given")
			}
			undone, err := agent.Undo(cmd.Context(), agent.JournalDir(), remote.CleanHost)
			return undoneError(cmd, undone, err)
		},
	}
	fl := cmd.Flags()
	fl.SortFlags = false
	fl.StringVar(&host.Name, "host", "", "clean this host over ssh, whatever the journals here say")
	fl.StringVar(&host.SSHConfig, "ssh-config", "", "with --host: what ssh reads in the place of ~/.ssh/config")
	fl.BoolVar(&host.Sudo, "sudo", false, "with --host: as root there, by sudo")
	return cmd
}

// cleanHost undoes what agents left on a host.
func cleanHost(cmd *cobra.Command, host agent.Change) error {
	undone, err := remote.Clean(cmd.Context(), remote.Options{Destination: host.Name, ConfigFile: host.SSHConfig, Sudo: host.Sudo})
	return undoneError(cmd, undone, err)
}

// undoneError prints what was undone, and is the error that something was not.
func undoneError(cmd *cobra.Command, undone []agent.Undone, err error) error {
	failed := printUndone(cmd, undone)
	switch {
	case err != nil:
		return withExit(exitFailed, err)
	case failed:
		return withExit(exitFailed, errors.New("not everything could be undone; the journal keeps it for the next ./clean.sh"))
	case len(undone) == 0:
		fmt.Fprintln(cmd.OutOrStdout(), "Nothing to undo.")
	}
	return nil
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
