// Command rehearsal makes two emulated machines with a cable between them, for
// the kit to be tried on as on two servers: see docs/rehearsal.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sweep/rehearsal/machine"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := command().ExecuteContext(ctx)
	stop()
	if exit, ok := err.(*exec.ExitError); ok { // that of ssh itself; others are wrapped
		os.Exit(exit.ExitCode())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "rehearsal:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	var state string
	pair := func() (*machine.Pair, error) {
		return machine.Open(state, func(format string, args ...any) {
			fmt.Fprintf(os.Stderr, "rehearsal: "+format+"\n", args...)
		})
	}
	root := &cobra.Command{
		Use:           "rehearsal",
		Short:         "Two emulated machines with a cable between them, to try the kit on",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&state, "state", "build/rehearsal", "`folder` for the machines' disks, keys and consoles")

	up := &cobra.Command{
		Use:   "up",
		Short: "Start both machines, and make what they start from if it isn't there",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := pair()
			if err != nil {
				return err
			}
			return p.Up(cmd.Context())
		},
	}
	var all bool
	down := &cobra.Command{
		Use:   "down",
		Short: "End both machines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := pair()
			if err != nil {
				return err
			}
			return p.Down(cmd.Context(), all)
		},
	}
	down.Flags().BoolVar(&all, "all", false, "remove their disks as well: the next up starts from fresh ones")
	reset := &cobra.Command{
		Use:       "reset a|b",
		Short:     "Reset a machine, as its button would, and wait for ssh",
		ValidArgs: []string{"a", "b"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := pair()
			if err != nil {
				return err
			}
			return p.Reset(cmd.Context(), args[0])
		},
	}
	status := &cobra.Command{
		Use:   "status",
		Short: "Say whether the machines run and answer",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := pair()
			if err != nil {
				return err
			}
			return p.Status(cmd.Context(), cmd.OutOrStdout())
		},
	}
	shell := &cobra.Command{
		Use:                "ssh a|b [COMMAND...]",
		Short:              "Run a command, or a shell, on a machine",
		DisableFlagParsing: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] != "a" && args[0] != "b" {
				return errors.New("ssh a or ssh b, and then a command")
			}
			p, err := pair()
			if err != nil {
				return err
			}
			c := p.SSH(cmd.Context(), args[0], args[1:]...)
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
			return c.Run()
		},
	}
	testbed := &cobra.Command{
		Use:   "yaml",
		Short: "Print the testbed file of the two machines",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprint(cmd.OutOrStdout(), machine.Testbed())
			return err
		},
	}
	root.AddCommand(up, down, reset, status, shell, testbed)
	return root
}
