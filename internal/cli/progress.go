package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/plan"
	"sweep/internal/progress"
	"sweep/internal/run"
)

// terminal is where a run speaks to its user: a [run.UI].
type terminal struct {
	screen *progress.Screen
	quiet  bool // warnings and errors only
}

// onTerminal is a command's.
func onTerminal(cmd *cobra.Command, quiet bool) terminal {
	screen, ok := cmd.ErrOrStderr().(*progress.Screen) // as [Main] sets it
	if !ok {
		screen = progress.NewScreen(cmd.ErrOrStderr())
	}
	return terminal{screen, quiet}
}

// Say implements [run.UI].
func (t terminal) Say(line string) {
	if !t.quiet {
		fmt.Fprintln(t.screen, "sweep:", line)
	}
}

// Warn implements [run.UI].
func (t terminal) Warn(line string) { fmt.Fprintln(t.screen, "sweep: warning:", line) }

// Progress implements [run.UI].
func (t terminal) Progress(p plan.Plan) (run.Progress, func()) { return t.screen.Begin(p, t.quiet) }

// Counting implements [run.UI].
func (t terminal) Counting(p plan.Plan) run.CostProgress {
	return &counting{w: t.screen, boots: len(p.Boots())}
}
