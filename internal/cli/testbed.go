package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/agent"
	"sweep/internal/remote"
	"sweep/internal/testbed"
)

func newTestbedCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "testbed",
		Short: "Write and check the file that describes two machines and a cable",
		Long: `A testbed is a YAML file that says which two machines, which NIC of each, and
what cable is between them: sweep --testbed FILE runs on it. docs/testbed.md
explains each key.`,
		Example: `  sweep testbed example 10g-x520
  sweep testbed init --receiver root@server2 -o testbed.yaml
  sweep testbed check testbed.yaml
  sweep --testbed testbed.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newTestbedInitCommand(), newTestbedCheckCommand(), newTestbedExampleCommand())
	return c
}

func newTestbedExampleCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "example " + strings.Join(testbed.Examples(), "|"),
		Short:     "Print a testbed's file, each line explained",
		ValidArgs: testbed.Examples(),
		Args:      cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := testbed.Example(args[0])
			if err != nil {
				return usageError("%v", err)
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
}

func newTestbedCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Say what a testbed's file asks for, and what is wrong with it",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, errs := testbed.ReadFile(args[0])
			if len(errs) > 0 {
				var wrong complaints
				for _, err := range errs {
					wrong.add(err)
				}
				return wrong.err()
			}
			return f.Describe(cmd.OutOrStdout())
		},
	}
}

func newTestbedInitCommand() *cobra.Command {
	var sender, receiver, config, out string
	c := &cobra.Command{
		Use:   "init",
		Short: "Write a testbed's file from what the machines have",
		Long: `Look at the NICs of two machines and write a testbed's file. Each machine is
"local" or what ssh reaches; without --receiver it is this machine twice, with
the places to fill in. A NIC that its machine uses itself (for the default route,
an address, this connection) is not chosen.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := initTestbed(cmd.Context(), [2]string{sender, receiver}, config)
			if err != nil {
				return withExit(codeOf(cmd.Context(), err), err)
			}
			return writeNew(cmd.OutOrStdout(), out, text)
		},
	}
	fl := c.Flags()
	fl.SortFlags = false
	fl.StringVar(&sender, "sender", "local", "the machine with the guest")
	fl.StringVar(&receiver, "receiver", "local", "the machine that counts")
	fl.StringVar(&config, "ssh-config", "", "what ssh reads in the place of ~/.ssh/config")
	fl.StringVarP(&out, "output", "o", "", "file to write; standard output where it is left out")
	return c
}

// initTestbed looks at two machines. Agents that were brought to them are removed
// again.
func initTestbed(ctx context.Context, hosts [2]string, config string) (_ []byte, err error) {
	journal, err := agent.OpenJournal(agent.JournalDir(), "")
	if err != nil {
		return nil, err
	}
	here := agent.NewLocal(journal)
	defer func() { err = errors.Join(err, here.Close(context.WithoutCancel(ctx))) }()
	var agents [2]agent.Agent
	for i, host := range hosts {
		switch {
		case host == "local":
			agents[i] = here
			continue
		case i == 1 && host == hosts[0]:
			agents[i] = agents[0]
			continue
		}
		there, err := remote.Dial(ctx, remote.Options{Destination: host, ConfigFile: config})
		if err != nil {
			return nil, err
		}
		defer func() {
			end := context.WithoutCancel(ctx)
			_ = there.Close(end) // it changed nothing
			_ = remote.CleanHost(end, agent.Change{Name: host, SSHConfig: config})
		}()
		agents[i] = there
	}
	return testbed.Init(ctx, hosts, agents, func(a agent.Agent, n testbed.NIC) (string, error) {
		if n.Driver == "" {
			return "", nil
		}
		// Bound to the driver that it has: no change, but refused as one would be.
		_, err := a.Apply(ctx, agent.BindDriver(n.PCI, n.Driver))
		if own := new(agent.ErrProtected); errors.As(err, &own) {
			return own.Reasons[0].String(), nil
		}
		return "", err
	})
}

// writeNew writes a file that isn't there yet, or to out where it has no name.
func writeNew(out io.Writer, name string, text []byte) error {
	if name == "" {
		_, err := out.Write(text)
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return usageError("%s is there already and is not overwritten: remove it, or name another with -o", name)
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return withExit(exitFailed, fmt.Errorf("write the testbed: %w", err))
	}
	return nil
}
