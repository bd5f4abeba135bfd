// Command intervals simulates runs whose truth is known, and counts how often
// what the kit says of them holds: its intervals, its verdicts and its stopping
// rule, through the same code that judges real runs. The figures are kept in
// docs/statistics.md.
//
//	go run ./bench/intervals
//
// It ends with exit code 1 where a figure is not what it must be.
package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"
)

func main() {
	experiments := flag.Int("experiments", 2000, "how often each is simulated")
	seed := flag.Uint64("seed", 1, "of the random numbers")
	flag.Parse()
	fmt.Printf("%d experiments each, seed %d\n\n", *experiments, *seed)
	missed := false
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	for _, f := range figures(*experiments, *seed) {
		must := f.bounds()
		if !f.holds(0) {
			must += ", and is not"
			missed = true
		}
		fmt.Fprintf(w, "%s\t%.2f %%\t%s\n", f.what, 100*f.share, must)
	}
	w.Flush()
	if missed {
		os.Exit(1)
	}
}

// figure is a share of the experiments, and the bounds that it must keep.
type figure struct {
	what        string
	share       float64
	least, most float64
}

// holds says whether the bounds are kept but for the slack that few experiments
// need.
func (f figure) holds(slack float64) bool { return f.share >= f.least-slack && f.share <= f.most+slack }

func (f figure) bounds() string {
	switch {
	case f.least == 0 && f.most == 1:
		return ""
	case f.most == 1:
		return fmt.Sprintf("must be %g %% at least", 100*f.least)
	case f.least == 0:
		return fmt.Sprintf("must be %g %% at most", 100*f.most)
	}
	return fmt.Sprintf("must be %g to %g %%", 100*f.least, 100*f.most)
}
