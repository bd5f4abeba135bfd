package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/bundle"
)

func newBundleCommand() *cobra.Command {
	var to string
	var words []string
	c := &cobra.Command{
		Use:   "bundle DIR",
		Short: "Pack a run into one archive without host and user names",
		Long: `Pack all files of a run's folder into one archive for a reviewer. 'sweep report',
'compare', 'paper' and 'replay' take it in the folder's place.

Replaced, in every file and each by one of its own that is as long, are the names
of this machine and of who works on it, home folders and whoever's /home/NAME is
in a file, MAC addresses but the kit's own, and IP addresses. What was replaced is
printed, and is nowhere in the archive. Names that a run on another machine has
are not known here: say them with --replace. What else tells a machine, such as
its processor and its kernel's command line, stays, for it is what the numbers
are of.

Where the archive can't be replayed as the folder can, because a name that was
replaced is a word of the record, there is no archive, and the names are said.

A MANIFEST in the archive has the sum of each file ('sha256sum -c MANIFEST'). Of
the same folder the same archive is made, byte by byte. A file that is there
already is never overwritten.

The exit code is 0 where there is an archive, 1 where something went wrong, 2 for
wrong usage.`,
		Example: `  sweep bundle results/DIR
  sweep bundle results/DIR -o run.tar.gz --replace lab7 --replace "Jane Doe"
  sweep report run.tar.gz`,
		Args: func(_ *cobra.Command, args []string) error {
			var wrong complaints
			if len(args) != 1 {
				wrong.add(fmt.Errorf("bundle takes one folder of results; %d were given", len(args)))
			}
			for _, a := range args {
				if st, err := os.Stat(a); err != nil {
					wrong.add(err)
				} else if !st.IsDir() {
					wrong.add(fmt.Errorf("%s is no folder of results", a))
				}
			}
			for _, w := range words {
				if len(w) < 3 {
					wrong.add(fmt.Errorf("--replace %q: it is too short to be told from other text", w))
				}
			}
			return wrong.err()
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			names, err := bundle.LocalNames()
			if err != nil {
				return withExit(exitFailed, err)
			}
			names.Words = words
			file := to
			if file == "" {
				abs, err := filepath.Abs(args[0])
				if err != nil {
					return withExit(exitFailed, err)
				}
				file = filepath.Base(abs) + ".tar.gz"
			}
			made, err := bundle.Make(args[0], file, names)
			switch {
			case errors.Is(err, os.ErrNotExist):
				return withExit(exitUsage, err)
			case err != nil:
				return withExit(exitFailed, err)
			}
			writeMade(cmd.OutOrStdout(), file, made)
			return nil
		},
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError("%v", err) })
	c.Flags().StringVarP(&to, "output", "o", "", "the archive (default DIR's name with .tar.gz, in this folder)")
	c.Flags().StringArrayVar(&words, "replace", nil, "a word that is replaced, too; may be given again")
	return c
}

// named is how many addresses of a kind are named; the others are counted.
const named = 3

// writeMade says what an archive holds and no longer holds.
func writeMade(w io.Writer, file string, made bundle.Made) {
	fmt.Fprintf(w, "%s: %d files, %d trials; read again, it holds what the folder does\n", file, made.Files, made.Trials)
	for _, kind := range bundle.Kinds() {
		var of []string
		times := 0
		for _, r := range made.Replaced {
			if r.What == kind {
				of = append(of, r.Was+" by "+r.With)
				times += r.Times
			}
		}
		more := ""
		if n := len(of); strings.HasSuffix(kind, "address") && n > named {
			more = fmt.Sprintf(", and %d more", n-named)
			of = of[:named]
		}
		if len(of) > 0 {
			fmt.Fprintf(w, "replaced: %s: %s%s; %d times\n", kind, strings.Join(of, ", "), more, times)
		}
	}
	if len(made.Replaced) == 0 {
		fmt.Fprintln(w, "replaced: nothing, for none of the names was there")
	}
	for _, l := range made.Left {
		fmt.Fprintf(w, "not replaced: %s: %s\n", l.Was, l.Why)
	}
	for _, name := range made.Opaque {
		fmt.Fprintf(w, "not looked into: %s is no text; take it away if it shows a name\n", name)
	}
}
