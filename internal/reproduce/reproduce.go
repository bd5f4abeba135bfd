// Package reproduce holds a run against the published figure: which of its 24
// points the run reproduces, which it doesn't, and which it can say nothing
// of, and why; which of the figure's claims hold in it; and what it shows a
// reviewer of artifacts.
package reproduce

import (
	"fmt"
	"slices"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/published"
	"sweep/internal/report"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

// Outcome is how a run stands to a published point.
type Outcome string

// A point's outcomes.
const (
	Reproduced    Outcome = "reproduced"
	NotReproduced Outcome = "not reproduced"
	NotComparable Outcome = "not comparable"
)

// Margin is what the run's interval is widened by at each end, as a share of
// that end: the published number has no interval of its own. It is also how
// wide half the interval may be, as a share of the median, for the run to
// reproduce anything: a wider one would hold values that differ by more than
// the margin, the more of them the worse the run.
const Margin = 0.03

// Rule is what a point is held to, in words.
const Rule = "a point is reproduced where the run's 95 % interval, widened by 3 % at either end, holds the published value, and not reproduced where it doesn't; " +
	"an interval that holds it, but half of which is more than 3 % of the median, is too wide to tell; there must be an interval, and a machine that can have the figure's rates"

// Point is a published point and what the run says of it. Rates are packets a
// second.
type Point struct {
	System    plan.System `json:"system"`
	Size      int         `json:"size"`
	Published float64     `json:"published"`

	RxPps    float64         `json:"rx_pps,omitempty"` // the run's median; 0 where it has no rate
	Interval *stats.Interval `json:"interval"`         // as the run has it, not widened

	Outcome Outcome  `json:"outcome"`
	Because []string `json:"because"`
	Caveats []string `json:"caveats,omitempty"` // that bar nothing
}

// Evidence is what is known of a run beside its own record.
type Evidence struct {
	// Replayed says that the run's numbers were worked out again from its
	// tape, Differ what came out otherwise.
	Replayed bool
	Differ   []string
}

// Report is a run held against the figure.
type Report struct {
	Run      string   `json:"run"`
	Rule     string   `json:"rule"`
	Points   []Point  `json:"points"`
	Claims   []Claim  `json:"claims"`
	Badges   []Badge  `json:"badges"`
	CantShow []string `json:"cant_show"` // what no run of this kind can
}

// Of holds a run against the figure. v is what the run's own tests say.
func Of(name string, run results.Run, trials []results.Trial, v verdict.Verdict, e Evidence) Report {
	r := Report{Run: name, Rule: Rule}
	for _, p := range published.Points() {
		r.Points = append(r.Points, judge(p, run, trials, v))
	}
	r.Claims = claims(run, v)
	r.Badges = badges(r, run, trials, v, e)
	r.CantShow = cantShow(run)
	return r
}

// judge holds one point against the run.
func judge(p published.Point, run results.Run, trials []results.Trial, v verdict.Verdict) Point {
	out := Point{System: p.System, Size: p.Size, Published: p.RxPps, Outcome: NotComparable}
	i := slices.IndexFunc(v.Points, func(x verdict.Point) bool { return x.System == p.System && x.Size == p.Size })
	var judged verdict.Point
	if i >= 0 {
		judged = v.Points[i]
		out.Interval = judged.Interval
	}
	for _, x := range results.Points(trials) {
		if x.System == p.System && x.Size == p.Size {
			out.RxPps = x.RxPps
		}
	}
	if p.System.Guest == "unikraft" {
		out.Caveats = append(out.Caveats, "the figure's Unikraft sent through another path of the code (docs/comparison.md)")
	}
	if out.RxPps == 0 {
		out.Because = []string{absent(p, run, trials)}
		return out
	}
	if out.Because = bars(p, run, judged); len(out.Because) > 0 {
		return out
	}
	low, high := judged.Interval.Low*(1-Margin), judged.Interval.High*(1+Margin)
	widened := report.Mpps(low, low/1e4) + " to " + report.Mpps(high, high/1e4) + " Mpps, widened"
	half := (judged.Interval.High - judged.Interval.Low) / 2
	switch {
	case p.RxPps < low:
		out.Outcome, out.Because = NotReproduced, []string{"the run is above the published value: " + widened}
	case p.RxPps > high:
		out.Outcome, out.Because = NotReproduced, []string{"the run is below the published value: " + widened}
	case half > Margin*judged.Median:
		out.Because = []string{fmt.Sprintf("the run's interval is too wide to tell: half of it is more than 3 %% of the median (%.3g %%)", 100*half/judged.Median)}
	default:
		out.Outcome, out.Because = Reproduced, []string{widened}
	}
	if l := judged.LimitedBy; l != "" && l != verdict.Guest && l != verdict.Unknown {
		out.Caveats = append(out.Caveats, "in the run the "+string(l)+" held this point back, not the guest")
	}
	if run.Placement.Share == "core" {
		out.Caveats = append(out.Caveats, "pollers shared a core's two hardware threads")
	}
	return out
}

// bars are why a point can be held against nothing, all of them.
func bars(p published.Point, run results.Run, judged verdict.Point) []string {
	var why []string
	if run.Imported != "" {
		why = append(why, "the run is imported: nothing says what it ran on")
	}
	if run.Accel == "tcg" {
		why = append(why, "the guest ran in an emulator (TCG): its rate is the emulator's")
	}
	if run.Placement.Share == "cpu" {
		why = append(why, "pollers shared a CPU: the rate is the scheduler's")
	}
	if p.AtLineRate() && run.LinkBps() != published.LinkRate {
		why = append(why, fmt.Sprintf("the published value is what a 10GbE cable carries, and the run's wire is none (%s)", run.Plan.Wire))
	}
	if judged.Interval == nil {
		reason := judged.NoInterval
		if reason == "" {
			reason = "nobody judged it"
		}
		why = append(why, "the run has no interval: "+reason)
	}
	return why
}

// absent says why a run has no rate of a point.
func absent(p published.Point, run results.Run, trials []results.Trial) string {
	for _, s := range run.Skipped {
		if s.System == p.System {
			return "it could not run: " + s.Why
		}
	}
	for _, t := range trials {
		if t.System == p.System && t.Size == p.Size {
			return "no trial gave a rate: " + t.Error
		}
	}
	return "it was not measured"
}

// Count is how many points came out so.
func (r Report) Count(o Outcome) int {
	n := 0
	for _, p := range r.Points {
		if p.Outcome == o {
			n++
		}
	}
	return n
}

// cantShow is what a run says nothing of, however well it went.
func cantShow(run results.Run) []string {
	out := []string{
		"whether the figure's own points would come out again on the figure's machine: it has one number a point and no spread",
		"whether the guests differ where the figure shows the cable: 16 of its 24 points",
		"anything about the Unikraft of the figure (0.4 with tx_burst): today's sends through another path of the code",
		"whether another machine, another NIC or another day would give these numbers: that takes another run, and `sweep compare`",
		"that the artifact stays where it is: only an archive can promise that",
	}
	if run.LinkBps() == 0 {
		out = append(out, "anything that a NIC or a cable does to the rate: the wire was "+wireName(run.Plan.Wire))
	}
	return out
}

func wireName(wire string) string {
	if wire == "" {
		return "not recorded"
	}
	return strings.ReplaceAll(wire, "unknown", "not recorded")
}
