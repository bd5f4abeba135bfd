package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sweep/internal/bundle"
	"sweep/internal/results"
	"sweep/internal/verdict"
)

// openedRun is a run's folder, or an archive of one, that was read.
type openedRun struct {
	name string // as it was given
	dir  string
	run  results.Run

	trials   []results.Trial
	problems []string // of lines that are damaged
	done     func() error
}

// checkRuns says all that is wrong with a command line that names runs and a
// format.
func checkRuns(args []string, n int, takes, format string, formats []string) error {
	var wrong complaints
	if len(args) != n {
		wrong.add(fmt.Errorf("%s; %d were given", takes, len(args)))
	}
	for _, a := range args {
		if _, err := os.Stat(a); err != nil {
			wrong.add(err)
		}
	}
	if !slices.Contains(formats, format) {
		wrong.add(fmt.Errorf("--format %q is unknown; there are %s", format, strings.Join(formats, ", ")))
	}
	return wrong.err()
}

// openRun reads a run's folder or an archive of it. What is damaged in it is
// said on the command's standard error, and the rest counts.
func openRun(cmd *cobra.Command, path string) (openedRun, error) {
	o := openedRun{name: path}
	var err error
	if o.dir, o.done, err = bundle.Open(path); err != nil {
		return o, runError(err)
	}
	if o.run, o.trials, o.problems, err = results.Load(o.dir); err != nil {
		return o, runError(errors.Join(err, o.done()))
	}
	for _, p := range o.problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "sweep:", p)
	}
	if _, err := results.LoadCosts(o.dir); err == nil {
		return o, errors.Join(withExit(exitUsage, fmt.Errorf("%s holds counts of `sweep cost`, not rates: `sweep report` prints them", path)), o.done())
	}
	return o, nil
}

// runError is an error of opening a run: a path that isn't there is wrong
// usage.
func runError(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return withExit(exitUsage, err)
	}
	return withExit(exitFailed, err)
}

// measured is the run as package verdict takes it.
func (o openedRun) measured() verdict.Measured {
	return verdict.Measured{Run: o.run, Trials: o.trials}
}

// end takes away what was unpacked, and is the exit code of a run that was
// read: 1 where something in it is damaged.
func (o openedRun) end() error {
	if err := o.done(); err != nil {
		return withExit(exitFailed, err)
	}
	if len(o.problems) > 0 {
		return withExit(exitFailed, nil)
	}
	return nil
}

// rules are what verdicts about a run hold to.
func (o openedRun) rules() verdict.Rules {
	return verdict.Rules{LineRate: o.run.LinkBps()}
}

// together are the rules for two runs. Where one has a link and the other has
// none, the link's limit holds for both: a point too many that is not compared
// does less harm than one of a cable that is taken for a guest's.
func together(a, b openedRun) verdict.Rules {
	return verdict.Rules{LineRate: max(a.rules().LineRate, b.rules().LineRate)}
}

// judged is what the run's own tests say.
func (o openedRun) judged() verdict.Verdict {
	return verdict.Judge(o.run, o.trials, o.rules())
}
