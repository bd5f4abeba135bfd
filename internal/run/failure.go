package run

import (
	"errors"
	"strings"

	"sweep/internal/console"
	"sweep/internal/diagnose"
	"sweep/internal/testpmd"
)

// lastLines is how much of a console is shown beside a failure.
const lastLines = 8

// Explain returns a failure in one sentence, which says what happened, why and
// what mends it where the console shows a failure that is known, and the last
// lines of that console.
func Explain(err error) (sentence string, last []string) {
	sentence = strings.ReplaceAll(err.Error(), "\n", "; ")
	var refused *testpmd.Refused
	if errors.As(err, &refused) {
		for _, f := range diagnose.Explain([]byte(refused.Line)) {
			return sentence + ": " + f.Why + "; " + f.Mend, nil
		}
	}
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
