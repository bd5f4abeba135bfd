package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"sweep/internal/diagnose"
)

// lastLines is how many of a console's last lines stand beside a failure.
const lastLines = 10

func newExplainCommand() *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:   "explain FILE|-",
		Short: "Say what went wrong in a console log",
		Long: `Read what testpmd, QEMU, dpdk-devbind or a guest printed, and say for each failure
in it that this kit knows what happened, why, and the command that mends it, with
the line it was recognised at and the console's last lines. What is worth knowing
and stops no run is marked "note".

The exit code is 0 where nothing is known to be wrong, 1 where something is, and
2 for wrong usage.`,
		Example: `  sweep explain results/DIR/console/NAME.log
  sudo dpdk-testpmd -l 0,1 -- -i 2>&1 | tee /dev/tty | sweep explain -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if formats := []string{"text", "json"}; !slices.Contains(formats, format) {
				return usageError("--format %q is unknown; there are text, json", format)
			}
			e, err := explain(args[0], cmd.InOrStdin())
			if err != nil {
				code := exitFailed
				if errors.Is(err, os.ErrNotExist) {
					code = exitUsage
				}
				return withExit(code, err)
			}
			write := e.text
			if format == "json" {
				write = e.json
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return withExit(exitFailed, err)
			}
			if e.fatal() {
				return withExit(exitFailed, nil)
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "text", "how findings are printed: text, json")
	return c
}

// explanation is what is known about a console log.
type explanation struct {
	File     string             `json:"file"`
	Findings []diagnose.Finding `json:"findings"`
	Last     []string           `json:"last"` // the console's last lines
}

// explain reads a console log; "-" is stdin.
func explain(file string, stdin io.Reader) (explanation, error) {
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return explanation{}, err
	}
	e := explanation{File: file, Findings: diagnose.Explain(text), Last: diagnose.Last(text, lastLines)}
	if e.Findings == nil {
		e.Findings = []diagnose.Finding{} // an empty list in JSON, not null
	}
	if e.Last == nil {
		e.Last = []string{}
	}
	return e, nil
}

func (e explanation) fatal() bool {
	return slices.ContainsFunc(e.Findings, func(f diagnose.Finding) bool { return f.Fatal })
}

// text writes a line a finding, as compilers do, and then the last lines.
func (e explanation) text(w io.Writer) error {
	for _, f := range e.Findings {
		mark := ""
		if !f.Fatal {
			mark = "note: "
		}
		if _, err := fmt.Fprintf(w, "%s:%d: %s%s\n", e.File, f.Line, mark, f); err != nil {
			return err
		}
	}
	if !e.fatal() {
		if _, err := fmt.Fprintf(w, "nothing known to be wrong in %s\n", e.File); err != nil {
			return err
		}
	}
	if len(e.Last) == 0 || len(e.Findings) == 0 {
		return nil
	}
	if _, err := fmt.Fprintf(w, "\nThe last lines of %s:\n", e.File); err != nil {
		return err
	}
	for _, l := range e.Last {
		if _, err := fmt.Fprintf(w, "  %s\n", l); err != nil {
			return err
		}
	}
	return nil
}

func (e explanation) json(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(e)
}
