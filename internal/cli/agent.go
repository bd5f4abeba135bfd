package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"sweep/internal/agent"
	"sweep/internal/remote"
)

func newAgentCommand(version string) *cobra.Command {
	clean := false
	cmd := &cobra.Command{
		Use:    "agent",
		Short:  "Serve this machine to a sweep on another one",
		Hidden: true, // nobody types it
		Long: `Serve this machine to a sweep on another one, over standard input and output.
Nobody types this: a sweep whose testbed has a machine elsewhere brings this
binary there over ssh, to ~/.cache/sweep, and starts it. It starts processes,
reads counters and makes changes as it is told, and has a journal of its own.
When the connection ends, or nothing was heard for 15 s, it ends its processes,
undoes its changes and is gone. See docs/remote.md.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if clean {
				return cleanAgents(cmd)
			}
			if _, err := unix.IoctlGetTermios(unix.Stdin, unix.TCGETS); err == nil {
				return usageError("the agent is started by a sweep on another machine, over ssh: there is nothing to type here (docs/remote.md)")
			}
			return serveAgent(cmd, version)
		},
	}
	cmd.Flags().BoolVar(&clean, "clean", false, "undo what agents that were killed left here, and print it as JSON lines")
	return cmd
}

func serveAgent(cmd *cobra.Command, version string) error {
	// When ssh is gone standard output is a broken pipe, and writing to it would
	// kill this process before it has given everything back. Caught and not
	// ignored: processes that are started would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)

	j, err := agent.OpenJournal(agent.JournalDir(), "another machine's, over ssh")
	if err != nil {
		return withExit(exitFailed, err)
	}
	err = remote.Serve(cmd.Context(), os.Stdin, os.Stdout, agent.NewLocal(j), remote.Serving{
		Version: version,
		Lock:    agent.Lock,
		Undo: func() ([]agent.Undone, error) {
			return agent.Undo(context.WithoutCancel(cmd.Context()), agent.JournalDir(), agent.NoHosts)
		},
	})
	if err != nil {
		return withExit(exitFailed, fmt.Errorf("agent: %w", err))
	}
	return nil
}

func cleanAgents(cmd *cobra.Command) error {
	undone, err := agent.Undo(cmd.Context(), agent.JournalDir(), agent.NoHosts)
	if perr := remote.PrintUndone(cmd.OutOrStdout(), undone); perr != nil {
		err = errors.Join(err, perr)
	}
	for _, u := range undone {
		if len(u.Errs) > 0 {
			err = errors.Join(err, fmt.Errorf("not everything could be undone; journal %s keeps it for the next clean", u.Journal))
		}
	}
	if err != nil {
		return withExit(exitFailed, err)
	}
	return nil
}
