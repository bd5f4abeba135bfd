// Package compare holds two runs side by side: what else differs between them
// first, then their points, then what the same tests say that a run's own
// systems are compared with.
package compare

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

// Side is one of two runs, with what [verdict.Judge] says of it.
type Side struct {
	Name    string // as it was given
	Run     results.Run
	Trials  []results.Trial
	Verdict verdict.Verdict
}

// Comparison is of two runs.
type Comparison struct {
	A Run `json:"a"`
	B Run `json:"b"`
	// Interleaved is whether the blocks of the two took turns: never, because
	// they are two runs. Whatever changed between them is in the ratios, too.
	Interleaved bool         `json:"interleaved"`
	Differences []Difference `json:"differences"`
	Points      []Point      `json:"points"`
	Family      string       `json:"family"` // over what the tests were corrected
}

// Run names a side.
type Run struct {
	Name     string `json:"name"`
	Kit      string `json:"kit"`
	Started  string `json:"started"` // RFC 3339; empty where nobody knows
	Imported string `json:"imported,omitempty"`
}

// Difference is something beside the numbers in which the runs differ.
type Difference struct {
	Systems []plan.System `json:"systems,omitempty"` // whose arms differ; none: the whole run
	What    string        `json:"what"`
	A       string        `json:"a"` // "?" where the record doesn't say
	B       string        `json:"b"`
}

// Point is a system at a size in both runs. Rates are packets a second.
type Point struct {
	System plan.System `json:"system"`
	Size   int         `json:"size"`
	A      Rate        `json:"a"`
	B      Rate        `json:"b"`

	// Ratio is A's rate over B's: the test's estimate, or that of the medians
	// where there was no test. 0 where one has no rate.
	Ratio       float64         `json:"ratio,omitempty"`
	Interval    *stats.Interval `json:"interval,omitempty"`
	Verdict     verdict.Outcome `json:"verdict"` // A's
	Because     string          `json:"because"`
	P           float64         `json:"p,omitempty"`
	PEquivalent float64         `json:"p_equivalent,omitempty"`
}

// Rate is what a run has of a point.
type Rate struct {
	RxPps    float64         `json:"rx_pps,omitempty"` // the median over the boots; 0 where there is none
	Error    float64         `json:"-"`                // the largest standard error within a boot
	Interval *stats.Interval `json:"interval"`
	Trials   int             `json:"trials"` // that gave a rate
}

// Of compares two runs. between is what [verdict.Between] says of them.
func Of(a, b Side, between verdict.Verdict) Comparison {
	return Comparison{
		A: name(a), B: name(b),
		Differences: slices.Concat([]Difference{}, differences(a.Run, b.Run), arms(a.Trials, b.Trials)),
		Points:      points(a, b, between),
		Family:      between.Family,
	}
}

func name(s Side) Run {
	r := Run{Name: s.Name, Kit: s.Run.Kit, Imported: s.Run.Imported}
	if !s.Run.Started.IsZero() {
		r.Started = s.Run.Started.Format(time.RFC3339)
	}
	return r
}

// points joins the points of both runs, those of A first.
func points(a, b Side, between verdict.Verdict) []Point {
	type key struct {
		system plan.System
		size   int
	}
	var order []key
	at := map[key]*Point{}
	add := func(s Side, rate func(*Point) *Rate) {
		for _, p := range results.Points(s.Trials) {
			k := key{p.System, p.Size}
			if at[k] == nil {
				at[k] = &Point{System: p.System, Size: p.Size}
				order = append(order, k)
			}
			r := rate(at[k])
			*r = Rate{RxPps: p.RxPps, Error: p.RxError, Trials: p.Trials}
			for _, j := range s.Verdict.Points {
				if j.System == p.System && j.Size == p.Size {
					r.Interval = j.Interval
				}
			}
		}
	}
	add(a, func(p *Point) *Rate { return &p.A })
	add(b, func(p *Point) *Rate { return &p.B })
	// A system's points stay together, whoever has them.
	first := map[plan.System]int{}
	for i, k := range order {
		if _, ok := first[k.system]; !ok {
			first[k.system] = i
		}
	}
	slices.SortStableFunc(order, func(x, y key) int {
		return cmp.Or(cmp.Compare(first[x.system], first[y.system]), cmp.Compare(x.size, y.size))
	})
	out := make([]Point, len(order))
	for i, k := range order {
		p := at[k]
		p.judge(between)
		out[i] = *p
	}
	return out
}

// judge takes over what the tests say of a point.
func (p *Point) judge(between verdict.Verdict) {
	if p.A.RxPps > 0 && p.B.RxPps > 0 {
		p.Ratio = p.A.RxPps / p.B.RxPps
	}
	i := slices.IndexFunc(between.Comparisons, func(c verdict.Comparison) bool {
		return c.A == p.System && c.B == p.System && c.Size == p.Size
	})
	if i < 0 {
		p.Verdict, p.Because = verdict.NotCompared, missing(p.A, p.B)
		return
	}
	c := between.Comparisons[i]
	p.Verdict, p.Because, p.P, p.PEquivalent = c.Outcome, c.Because, c.P, c.PEquivalent
	if c.Ratio > 0 {
		p.Ratio, p.Interval = c.Ratio, c.Interval
	}
}

// missing says why a point can't be compared at all.
func missing(a, b Rate) string {
	switch {
	case a.Trials == 0 && b.Trials == 0:
		return "neither run has a rate"
	case a.Trials == 0:
		return "only B has a rate"
	case b.Trials == 0:
		return "only A has a rate"
	}
	return "there was no test"
}

// differences are what of the runs as wholes differs: machine, CPUs, kit,
// images, plan. Where a record names the guests' images by their sums, where
// they lay doesn't matter; nor do the seed and the time.
func differences(a, b results.Run) []Difference {
	x, y := flatRun(a), flatRun(b)
	if a.Imported != "" || b.Imported != "" {
		// Of an imported run nobody knows them, which is worth one line.
		for _, r := range []struct {
			run  results.Run
			flat map[string]string
		}{{a, x}, {b, y}} {
			maps.DeleteFunc(r.flat, func(what, _ string) bool {
				return what != "imported" && !strings.HasPrefix(what, "plan, ") || what == "plan, duration"
			})
			if r.run.Imported == "" {
				r.flat["machine, set-up, images and duration"] = "in the record"
			}
		}
	}
	return differing(nil, x, y)
}

func flatRun(r results.Run) map[string]string {
	if r.Placement.Share == "" {
		r.Placement.Share = "nothing"
	}
	images := map[string]results.Image{}
	for name, i := range r.Images {
		if i.KernelSHA256 != "" {
			i.Kernel = ""
		}
		if i.InitrdSHA256 != "" {
			i.Initrd = ""
		}
		images[name] = i
	}
	out := map[string]string{}
	for what, v := range map[string]any{
		"machine": r.Machine, "placement": r.Placement, "images": images, "plan": r.Plan,
		"kit": r.Kit, "accelerator": r.Accel, "imported": r.Imported, "warnings": r.Warnings,
	} {
		flatten(out, what, v)
	}
	delete(out, "plan, seed") // each run has an order of its own
	return out
}

// arms are what of the systems' set-ups differs, for the systems that both
// have; those that differ in the same are named together.
func arms(a, b []results.Trial) []Difference {
	of := func(trials []results.Trial) (systems []plan.System, set map[plan.System]map[string]string) {
		set = map[plan.System]map[string]string{}
		for _, t := range trials {
			// A trial that failed before its bench stood has no settings.
			if set[t.System] != nil || t.Settings.Accel == "" {
				continue
			}
			systems = append(systems, t.System)
			set[t.System] = map[string]string{}
			flatten(set[t.System], "", t.Settings)
		}
		return systems, set
	}
	systems, inA := of(a)
	_, inB := of(b)
	var out []Difference
	for _, s := range systems {
		if inB[s] == nil {
			continue
		}
		for _, d := range differing([]plan.System{s}, inA[s], inB[s]) {
			i := slices.IndexFunc(out, func(o Difference) bool { return o.What == d.What && o.A == d.A && o.B == d.B })
			if i < 0 {
				out = append(out, d)
			} else {
				out[i].Systems = append(out[i].Systems, s)
			}
		}
	}
	return out
}

func differing(systems []plan.System, a, b map[string]string) []Difference {
	all := maps.Clone(a)
	maps.Copy(all, b)
	var out []Difference
	for _, what := range slices.Sorted(maps.Keys(all)) {
		if a[what] != b[what] {
			out = append(out, Difference{Systems: systems, What: what, A: said(a[what]), B: said(b[what])})
		}
	}
	return out
}

func said(value string) string {
	if value == "" {
		return "?"
	}
	return value
}

// flatten adds the values of a record, by their names in its JSON: a field
// that is added to the record is compared without a word here.
func flatten(out map[string]string, name string, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // plain data: it can't be
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.UseNumber()
	var value any
	if dec.Decode(&value) == nil {
		flattenJSON(out, name, value)
	}
}

func flattenJSON(out map[string]string, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			k = strings.ReplaceAll(k, "_", " ")
			if name != "" {
				k = name + ", " + k
			}
			flattenJSON(out, k, x)
		}
	case []any:
		words := make([]string, len(v))
		for i, x := range v {
			words[i] = fmt.Sprint(x)
		}
		flattenJSON(out, name, strings.Join(words, " "))
	case json.Number:
		if short, ok := strings.CutSuffix(name, " ns"); ok {
			if ns, err := v.Int64(); err == nil {
				out[short] = time.Duration(ns).String()
				return
			}
		}
		out[name] = v.String()
	case string:
		if v != "" {
			out[name] = v
		}
	case bool:
		out[name] = fmt.Sprint(v)
	}
}
