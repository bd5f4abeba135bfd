package run

import (
	"errors"
	"strings"

	"sweep/internal/console"
	"sweep/internal/diagnose"
	"sweep/internal/results"
)

// lastLines is how much of a console is shown beside a failure.
const lastLines = 8

// explain puts into a trial why it failed: a sentence that says what happened,
// why and what mends it where the console shows a failure that is known, and
// the console's last lines.
func explain(t *results.Trial, err error) {
	t.Error, t.Console = Explain(err)
}

// Explain returns a failure in one sentence, and the last lines of the console
// that it was seen on.
func Explain(err error) (sentence string, last []string) {
	sentence = strings.ReplaceAll(err.Error(), "\n", "; ")
	var talk *console.Error
	if !errors.As(err, &talk) {
		return sentence, nil
	}
	for _, f := range diagnose.Explain(talk.Output) {
		if f.Fatal {
			sentence = talk.Name + ": " + f.String()
			break
		}
	}
	return sentence, diagnose.Last(talk.Output, lastLines)
}
