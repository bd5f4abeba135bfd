package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/results"
)

// CostFormats are what WriteCosts knows.
func CostFormats() []string { return []string{"table", "json"} }

// WriteCosts writes what packets cost in one of the CostFormats.
func WriteCosts(w io.Writer, format string, run results.Run, costs []results.Cost, counters []results.Counters) error {
	points := results.CostPoints(costs)
	switch format {
	case "table":
		if err := writeCostTable(w, run, costs, points); err != nil {
			return err
		}
		return writeCounterTable(w, counters)
	case "json":
		return writeCostJSON(w, points, counters)
	}
	return fmt.Errorf("no format is called %q; there are %s", format, strings.Join(CostFormats(), ", "))
}

// jsonCost is a point as other programs read it.
type jsonCost struct {
	System       plan.System `json:"system"`
	Size         int         `json:"size"`
	Instructions *float64    `json:"instructions_per_packet"` // null where there is no figure
	Boots        int         `json:"boots"`
	Spread       float64     `json:"spread"` // between the boots, as a share
	Why          string      `json:"why,omitempty"`
}

// jsonCounter is what the CPU itself counted.
type jsonCounter struct {
	System       plan.System `json:"system"`
	Size         int         `json:"size"`
	Cycles       float64     `json:"cycles_per_packet"`
	Instructions float64     `json:"instructions_per_packet"`
	Full         uint64      `json:"full"`
}

// writeCounterTable writes what the CPU itself counted, where it did.
func writeCounterTable(w io.Writer, counters []results.Counters) error {
	if len(counters) == 0 {
		return nil
	}
	table := NewTable(w, false)
	table.Header([]string{"system", "size", "cycles/packet", "instructions/packet", "ring full"})
	for _, c := range counters {
		row := []string{c.System.String(), strconv.Itoa(c.Size), "failed", "-", "-"}
		if c.Packets > 0 && c.Error == "" {
			n := float64(c.Packets)
			row = append(row[:2], fmt.Sprintf("%.0f", float64(c.Cycles)/n), fmt.Sprintf("%.0f", float64(c.Instructions)/n), strconv.FormatUint(c.Full, 10))
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, "By the CPU's own counters, under KVM, in one boot; finding the ring full is in them.")
	return err
}

func writeCostJSON(w io.Writer, points []results.CostPoint, counters []results.Counters) error {
	out := struct {
		Points   []jsonCost    `json:"points"`
		Counters []jsonCounter `json:"counters,omitempty"`
	}{Points: []jsonCost{}}
	for _, p := range points {
		j := jsonCost{System: p.System, Size: p.Size, Boots: p.Boots, Spread: math.Round(p.Spread*1e6) / 1e6, Why: p.Why}
		if p.Instructions > 0 {
			n := math.Round(p.Instructions*1e6) / 1e6
			j.Instructions = &n
		}
		out.Points = append(out.Points, j)
	}
	for _, c := range counters {
		if c.Packets > 0 && c.Error == "" {
			n := float64(c.Packets)
			out.Counters = append(out.Counters, jsonCounter{c.System, c.Size, float64(c.Cycles) / n, float64(c.Instructions) / n, c.Full})
		}
	}
	return encode(w, out)
}

// speeds are those of the CPUs that a rate is implied for, in 10^9 instructions
// a second.
var speeds = []float64{1, 2, 3}

func writeCostTable(w io.Writer, run results.Run, costs []results.Cost, points []results.CostPoint) error {
	if len(points) == 0 {
		_, err := fmt.Fprintln(w, "Nothing was counted.")
		return err
	}
	var notes footnotes
	header := []string{"system", "size", "instructions/packet"}
	for _, s := range speeds {
		header = append(header, fmt.Sprintf("Mpps at %g", s))
	}
	table := NewTable(w, false)
	table.Header(header)
	for _, p := range points {
		row := []string{p.System.String(), strconv.Itoa(p.Size)}
		if p.Instructions == 0 {
			row = append(row, "refused "+notes.mark(p.Why), "-", "-", "-")
		} else {
			row = append(row, costDigits(p))
			for _, s := range speeds {
				row = append(row, Mpps(s*1e9/p.Instructions, s*1e9/p.Instructions*max(p.Spread, 0.001)))
			}
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	fmt.Fprintln(w, "Guest instructions a packet, counted by QEMU's icount in two boots or more that agree; sizes in bytes without FCS.")
	fmt.Fprintln(w, "±: half of what lies between the boots; for a guest that no two boots need agree on (linux-kernel), between its stretches.")
	fmt.Fprintln(w, "Mpps at 1, 2, 3: what a CPU would send that carries out so many 10^9 instructions a second and waits for nothing.")
	for _, line := range results.NotRun(run.Skipped) {
		fmt.Fprintf(w, "Not run: %s.\n", line)
	}
	notes.write(w, func(text string) []string {
		for _, c := range costs {
			if c.Error == text && len(c.Console) > 0 {
				return c.Console
			}
		}
		return nil
	})
	return nil
}

// costDigits writes a count to the digits on which the boots agree, and their
// spread where it shows.
func costDigits(p results.CostPoint) string {
	off := p.Spread * p.Instructions
	decimals := 3
	if off > 0 {
		decimals = min(max(-int(math.Floor(math.Log10(off))), 0), 3)
	}
	text := strconv.FormatFloat(p.Instructions, 'f', decimals, 64)
	if p.Spread >= 0.001 {
		text += fmt.Sprintf(" ±%.1f %%", 50*p.Spread)
	}
	return text
}
