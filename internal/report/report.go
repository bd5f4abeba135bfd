// Package report shows runs. It only reads what package results wrote and says
// only what package verdict says of it, so a report can be made again long
// after, and elsewhere.
package report

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/verdict"
)

// Shown is a run with what it means: all that a report is made of.
type Shown struct {
	Name     string // of the run, such as its folder's
	Run      results.Run
	Trials   []results.Trial
	Verdict  verdict.Verdict
	Commands string   // the command lines, as a shell script; empty where nobody kept them
	Problems []string // what of the record could not be read
}

// Open reads a run's folder and judges it.
func Open(dir string) (Shown, error) {
	run, trials, problems, err := results.Load(dir)
	if err != nil {
		return Shown{}, err
	}
	commands, err := results.LoadCommands(dir)
	if err != nil {
		return Shown{}, err
	}
	return Shown{
		Name: filepath.Base(filepath.Clean(dir)), Run: run, Trials: trials, Problems: problems, Commands: commands,
		Verdict: verdict.Judge(run, trials, verdict.Rules{LineRate: run.LinkBps()}),
	}, nil
}

// format is a way to write runs.
type format struct {
	name   string
	ends   []string // of a file's name, for those who name none
	single bool     // it holds one run
	binary bool     // it is not for a terminal
	write  func(io.Writer, []Shown) error
}

func formats() []format {
	return []format{
		{name: "table", ends: []string{".txt"}, write: each(false)},
		{name: "markdown", ends: []string{".md"}, write: each(true)},
		{name: "csv", ends: []string{".csv"}, write: writeCSV},
		{name: "json", ends: []string{".json"}, write: writeJSON},
		{name: "benchfmt", ends: []string{".bench"}, write: writeBench},
		{name: "tsv", ends: []string{".tsv"}, single: true, write: writeTSV},
		{name: "svg", ends: []string{".svg"}, write: writeSVG},
		{name: "png", ends: []string{".png"}, binary: true, write: writePNG},
		{name: "html", ends: []string{".html", ".htm"}, write: writePage},
	}
}

// Formats are what Write knows.
func Formats() []string { return names(formats()) }

// Printable are those of the Formats that a terminal takes.
func Printable() []string {
	return names(slices.DeleteFunc(formats(), func(f format) bool { return f.binary }))
}

func names(fs []format) []string {
	out := make([]string, len(fs))
	for i, f := range fs {
		out[i] = f.name
	}
	return out
}

// FormatOf is the format that a file's name asks for by its ending; empty where
// no format has that.
func FormatOf(file string) string {
	for _, f := range formats() {
		if slices.Contains(f.ends, strings.ToLower(filepath.Ext(file))) {
			return f.name
		}
	}
	return ""
}

// Write writes runs in one of the Formats. Nothing is written where that fails.
func Write(w io.Writer, name string, runs []Shown) error {
	for _, f := range formats() {
		if f.name != name {
			continue
		}
		if f.single && len(runs) != 1 {
			return fmt.Errorf("%s holds one run, not %d: name one folder a time", name, len(runs))
		}
		var b bytes.Buffer
		if err := f.write(&b, runs); err != nil {
			return err
		}
		out := b.Bytes()
		if !f.binary {
			out = bytes.Map(Visible, out)
		}
		_, err := w.Write(out)
		return err
	}
	return fmt.Errorf("no format is called %q; there are %s", name, strings.Join(Formats(), ", "))
}

// point is a system at a size: what the trials say, and what it means.
type point struct {
	results.Point
	judged verdict.Point // zero where nobody judged it
}

// points are a run's, in the order of its systems.
func (s Shown) points() []point {
	order := s.systems()
	joined := results.Points(s.Trials)
	slices.SortStableFunc(joined, func(a, b results.Point) int {
		return slices.Index(order, a.System) - slices.Index(order, b.System)
	})
	out := make([]point, len(joined))
	for i, p := range joined {
		out[i].Point = p
		for _, j := range s.Verdict.Points {
			if j.System == p.System && j.Size == p.Size {
				out[i].judged = j
			}
		}
		if n := len(out[i].judged.Rates); n > 0 {
			out[i].Trials, out[i].RxPps = n, out[i].judged.Median
		}
	}
	return out
}

// systems are those that have trials, in the plan's order: that of the trials
// is another one in each block.
func (s Shown) systems() []plan.System {
	var out []plan.System
	for _, planned := range s.Run.Plan.Systems {
		if slices.ContainsFunc(s.Trials, func(t results.Trial) bool { return t.System == planned }) {
			out = append(out, planned)
		}
	}
	for _, t := range s.Trials {
		if !slices.Contains(out, t.System) {
			out = append(out, t.System)
		}
	}
	return out
}

// boots is how many boots gave a rate, of the point that has most: an
// interrupted run has fewer than its plan.
func (s Shown) boots() int {
	n := 0
	for _, p := range s.points() {
		n = max(n, p.Trials)
	}
	return n
}

// limited are what holds points back beside the guest, in the order of the way
// of a packet.
func limited() []verdict.Limiter {
	return []verdict.Limiter{verdict.Forwarder, verdict.Wire, verdict.Client}
}

// confidence is that of an interval, such as "95 %".
func confidence(share float64) string { return fmt.Sprintf("%.3g %%", 100*share) }

// sortedSizes are the sizes of points, from small to large.
func sortedSizes(points []point) []int {
	var out []int
	for _, p := range points {
		if !slices.Contains(out, p.Size) {
			out = append(out, p.Size)
		}
	}
	slices.Sort(out)
	return out
}
