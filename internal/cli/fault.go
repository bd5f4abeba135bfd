package cli

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"sweep/internal/fault"
	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/run"
	"sweep/internal/testbed"
)

// truthFlags are the flags that try the kit itself: what is known beforehand
// must be measured, and what was planted must be found.
type truthFlags struct {
	fault string
	pace  uint64
}

func (t *truthFlags) add(c *cobra.Command, g *guestFlags) {
	g.also = []plan.System{paced.System()}
	fl := c.Flags()
	fl.StringVar(&t.fault, "fault", "", "plant a fault in the wire, to see that the audit finds it: drop=1000, short=4, delay=5ms, pause=300ms@2s, hold@2s, address=MAC, or none for the relay alone (docs/pktio.md)")
	fl.Uint64Var(&t.pace, "pace", 0, fmt.Sprintf("frames a second of the system %s, a sender whose count is exact (default %d)", paced.System(), paced.DefaultRate))
}

// options sets what the flags say, of options that have their wire and their
// systems.
func (t truthFlags) options(o *run.Options, wrong *complaints) {
	o.Catalog.Pace = t.pace
	if t.pace > 0 && !slices.Contains(o.Plan.Systems, paced.System()) {
		wrong.add(fmt.Errorf("--pace is of %s: name that with --systems", paced.System()))
	}
	if t.fault == "" || o.Wire == nil {
		return
	}
	spec, err := fault.Parse(t.fault)
	if err != nil {
		wrong.add(fmt.Errorf("--%w", err))
	}
	program := paced.Program(o.Catalog.Build)
	if err := checkFile("--fault", program); err != nil {
		wrong.add(fmt.Errorf("%w; ./prepare.sh --tests makes it (docs/pktio.md)", err))
	}
	if o.Wire, err = testbed.WithFault(o.Wire, program, spec); err != nil {
		wrong.add(err)
		return
	}
	o.Plan.Fault = spec.String()
}
