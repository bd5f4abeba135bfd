package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/plan"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

// jsonRun is a run as other programs read it: docs/report.md explains the
// names, which stay.
type jsonRun struct {
	Run      string               `json:"run,omitempty"` // its name, where there are several
	Points   []jsonPoint          `json:"points"`
	Verdicts []verdict.Comparison `json:"verdicts"`
	Family   string               `json:"family"` // over what the verdicts were corrected
}

// jsonPoint is a point as other programs read it. Rates are packets a second.
type jsonPoint struct {
	System     plan.System     `json:"system"`
	Size       int             `json:"size"`
	RxPps      *float64        `json:"rx_pps"`      // the median over the boots; null where no trial gave a rate
	Interval   *stats.Interval `json:"interval"`    // of rx_pps; null where no_interval says why
	NoInterval string          `json:"no_interval"` // empty where there is one
	LimitedBy  verdict.Limiter `json:"limited_by"`
	Because    string          `json:"because"` // why limited_by, in words
	Unsteady   int             `json:"unsteady"`
	Trials     int             `json:"trials"`   // that gave a rate
	Boots      []float64       `json:"boots"`    // the rate of each of them
	Warnings   []string        `json:"warnings"` // why trials failed, too
}

func writeJSON(w io.Writer, runs []Shown) error {
	if len(runs) == 1 {
		return encode(w, runOf(runs[0]))
	}
	out := struct {
		Runs []jsonRun `json:"runs"`
	}{Runs: []jsonRun{}}
	for _, s := range runs {
		j := runOf(s)
		j.Run = s.Name
		out.Runs = append(out.Runs, j)
	}
	return encode(w, out)
}

func runOf(s Shown) jsonRun {
	j := jsonRun{Points: []jsonPoint{}, Verdicts: append([]verdict.Comparison{}, s.Verdict.Comparisons...), Family: s.Verdict.Family}
	for _, p := range s.points() {
		j.Points = append(j.Points, pointOf(p))
	}
	return j
}

func pointOf(p point) jsonPoint {
	j := jsonPoint{
		System: p.System, Size: p.Size, Trials: p.Trials, Boots: []float64{},
		NoInterval: p.judged.NoInterval, LimitedBy: p.judged.LimitedBy, Because: p.judged.Because, Unsteady: p.judged.Unsteady,
		Warnings: append(append([]string{}, p.Errors...), p.Warnings...),
	}
	if j.LimitedBy == "" {
		j.LimitedBy = verdict.Unknown
	}
	if p.Trials > 0 {
		pps := thousandths(p.RxPps)
		j.RxPps = &pps
	}
	for _, r := range p.judged.Rates {
		j.Boots = append(j.Boots, thousandths(r))
	}
	if i := p.judged.Interval; i != nil {
		j.Interval = &stats.Interval{Low: thousandths(i.Low), High: thousandths(i.High), Confidence: i.Confidence}
	}
	return j
}

func thousandths(pps float64) float64 { return math.Round(pps*1000) / 1000 }

// encode writes JSON in a line, with < and > as they are.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// writeCSV writes a line a point, with the run's name before it where there are
// several.
func writeCSV(w io.Writer, runs []Shown) error {
	c := csv.NewWriter(w)
	line := func(run string, fields ...string) error {
		if len(runs) > 1 {
			fields = slices.Insert(fields, 0, run)
		}
		return c.Write(fields)
	}
	if err := line("run", "system", "size", "rx_pps", "low_pps", "high_pps", "confidence", "limited_by", "unsteady", "trials", "warnings"); err != nil {
		return err
	}
	for _, s := range runs {
		for _, p := range s.points() {
			j := pointOf(p)
			rate, low, high, sure := "", "", "", ""
			if j.RxPps != nil {
				rate = fixed(*j.RxPps)
			}
			if i := j.Interval; i != nil {
				low, high, sure = fixed(i.Low), fixed(i.High), strconv.FormatFloat(i.Confidence, 'g', -1, 64)
			}
			if err := line(s.Name, j.System.String(), strconv.Itoa(j.Size), rate, low, high, sure, string(j.LimitedBy),
				strconv.Itoa(j.Unsteady), strconv.Itoa(j.Trials), strings.Join(j.Warnings, "; ")); err != nil {
				return err
			}
		}
	}
	c.Flush()
	return c.Error()
}

func fixed(pps float64) string { return strconv.FormatFloat(pps, 'f', 3, 64) }
