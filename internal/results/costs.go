package results

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"sweep/internal/guest"
	"sweep/internal/perf"
	"sweep/internal/plan"
)

// Cost is what a guest counted in one boot at one size: a line of costs.jsonl.
type Cost struct {
	plan.Trial
	guest.Count
	// Agreement is how near two boots must come, as a share (see
	// [guest.Counter]).
	Agreement float64 `json:"agreement"`

	Error   string   `json:"error,omitempty"`
	Console []string `json:"console,omitempty"`
}

// AppendCost adds a count that has ended and syncs it to disk.
func (f *Folder) AppendCost(c Cost) error { return f.appendLine(costsFile, c) }

// LoadCosts reads the counts of a run's folder.
func LoadCosts(path string) ([]Cost, error) { return loadLines[Cost](path, costsFile) }

// appendLine adds a line to a file of the folder and syncs it to disk.
func (f *Folder) appendLine(name string, v any) error {
	l, err := openLines(filepath.Join(f.path, name))
	if err != nil {
		return err
	}
	return errors.Join(l.add(v, true), l.file.Close())
}

// loadLines reads what appendLine wrote.
func loadLines[T any](path, name string) ([]T, error) {
	f, err := os.Open(filepath.Join(path, name))
	if err != nil {
		return nil, fmt.Errorf("%s holds no counts: %w", path, err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for n := 1; sc.Scan(); n++ {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			return out, fmt.Errorf("%s:%d: %w", f.Name(), n, err)
		}
		out = append(out, v)
	}
	return out, sc.Err()
}

// CostPoint is what a packet of a size costs a system.
type CostPoint struct {
	System plan.System
	Size   int

	Boots        int     // that counted
	Instructions float64 // a packet, the mean of the boots; 0 where there is no figure
	Spread       float64 // between the boots, as a share of the figure; between all stretches where there is no bound
	Why          string  // why there is no figure
}

// CostPoints joins the counts of each point. There is a figure where two boots
// or more counted, and agree as they must; any other number would be a guess.
func CostPoints(costs []Cost) []CostPoint {
	var points []CostPoint
	for _, g := range group(costs, func(c Cost) plan.Trial { return c.Trial }) {
		points = append(points, costPoint(g))
	}
	return points
}

func costPoint(costs []Cost) CostPoint {
	p := CostPoint{System: costs[0].System, Size: costs[0].Size}
	var each []float64
	agreement := 0.0
	for _, c := range costs {
		if c.Error != "" {
			p.Why = c.Error
			continue
		}
		each = append(each, c.Each())
		agreement = c.Agreement
	}
	p.Boots = len(each)
	if p.Boots < 2 {
		if p.Why == "" {
			p.Why = "one boot is no figure: a second must agree with it"
		}
		return p
	}
	least, most := slices.Min(each), slices.Max(each)
	mean := 0.0
	for _, e := range each {
		mean += e / float64(len(each))
	}
	if agreement == 0 {
		// What has no bound has the spread of all its stretches.
		for _, c := range costs {
			if c.Error == "" && c.Least > 0 {
				least, most = min(least, c.Least), max(most, c.Most)
			}
		}
	}
	p.Spread = (most - least) / mean
	if agreement > 0 && p.Spread > agreement {
		p.Why = fmt.Sprintf("the boots disagree, %.3f against %.3f: more than %g %%", least, most, 100*agreement)
		return p
	}
	p.Instructions, p.Why = mean, ""
	return p
}

// Counters is what the CPU itself counted of a guest: a line of
// counters.jsonl.
type Counters struct {
	plan.Trial
	perf.Counts
	Packets uint64 `json:"packets"` // that the forwarder received meanwhile
	Full    uint64 `json:"full"`    // how often the guest found no room
	Error   string `json:"error,omitempty"`
}

// AppendCounters adds a count that has ended and syncs it to disk.
func (f *Folder) AppendCounters(c Counters) error { return f.appendLine(countersFile, c) }

// LoadCounters reads the CPU's counts of a run's folder; none where it has none.
func LoadCounters(path string) ([]Counters, error) {
	counters, err := loadLines[Counters](path, countersFile)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return counters, err
}
