// Package cli is the command line: flags become typed values here, and nothing
// else happens here.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/progress"
)

// Main runs the program with its arguments and returns its exit code. version
// is the kit's.
func Main(ctx context.Context, version string, args []string, stdout, stderr io.Writer) int {
	root := newRootCommand(version, args)
	screen := progress.NewScreen(stderr)
	stderr = screen
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(screen)
	defer context.AfterFunc(ctx, func() {
		// On a line of its own: the terminal shows the ^C.
		fmt.Fprintln(screen, "\nsweep: interrupted; giving everything back")
	})()
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		// Only cobra's own errors come without a code: the command line is
		// wrong.
		fmt.Fprintf(stderr, "sweep: %v\nRun 'sweep --help' for what there is.\n", err)
		return exitUsage
	}
	if exit.err != nil {
		fmt.Fprintf(stderr, "sweep: %v\n", exit.err)
	}
	return exit.code
}

func newRootCommand(version string, args []string) *cobra.Command {
	root := newSweepCommand(version, args)
	root.Version = version
	root.SilenceErrors = true
	root.SilenceUsage = true
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newCostCommand(version, args),
		newReportCommand(),
		newCompareCommand(),
		newPaperCommand(),
		newBundleCommand(),
		newImportCommand(version, args),
		newReplayCommand(),
		newParseCommand(),
		newExplainCommand(),
		newCleanCommand(),
		newTestbedCommand(),
		newDoctorCommand(),
		newAgentCommand(version),
		newImageCommand(),
	)
	return root
}

// usageError is wrong usage: what is wrong, and where help is.
func usageError(format string, a ...any) error {
	msg := strings.TrimSuffix(fmt.Sprintf(format, a...), "\n")
	return withExit(exitUsage, fmt.Errorf("%s\nRun 'sweep --help' for what there is", msg))
}
