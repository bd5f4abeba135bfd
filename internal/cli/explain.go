package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"sweep/internal/diagnose"
)

// explainLines is how much of a console's end is shown beside what was found.
const explainLines = 8

func newExplainCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "explain FILE|-",
		Short: "Say what went wrong in a log of testpmd, QEMU or a guest",
		Long: `Say what went wrong in a console's log: testpmd's, QEMU's, a guest's, or several
in one. Each failure that is known is one sentence: what happened, why, and the
command that mends it. The exit code is 1 where one of them ends a run, or makes
its numbers count for nothing.`,
		Example: "  sweep explain server.log\n  dpdk-testpmd ... 2>&1 | tee log; sweep explain log",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return usageError("--format %q is unknown; there are text, json", format)
			}
			name, text, err := readInput(cmd, args[0])
			if err != nil {
				return err
			}
			findings := diagnose.Explain(text)
			out := cmd.OutOrStdout()
			if format == "json" {
				doc := struct {
					Findings []diagnose.Finding `json:"findings"`
				}{append([]diagnose.Finding{}, findings...)}
				if err := json.NewEncoder(out).Encode(doc); err != nil {
					return withExit(exitFailed, err)
				}
			} else {
				for _, f := range findings {
					note := ""
					if !f.Fatal {
						note = "note: "
					}
					fmt.Fprintf(out, "%s:%d: %s%s\n", name, f.Line, note, f)
				}
				if len(findings) == 0 {
					fmt.Fprintf(out, "Nothing known to be wrong in %s. It ends:\n", name)
				} else {
					fmt.Fprintln(out, "The log ends:")
				}
				for _, line := range diagnose.Last(text, explainLines) {
					fmt.Fprintln(out, "  | "+line)
				}
			}
			for _, f := range findings {
				if f.Fatal {
					return withExit(exitFailed, nil)
				}
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "text", "how it is printed: text, json")
	return c
}
