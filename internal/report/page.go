package report

import (
	"bytes"
	_ "embed" // the page's parts
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweep/internal/audit"
	"sweep/internal/results"
	"sweep/internal/verdict"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

//go:embed page.js
var pageJS string

// page is all that the HTML page shows. What is not this package's own words
// (consoles, names, commands) is anybody's; html/template escapes it.
type page struct {
	Title  string
	Style  template.CSS
	Script template.JS

	Figure  []drawing // the same at several widths; none where there is nothing to draw
	Caption string
	Legend  []legendEntry

	Runs []pageRun
}

// pageRun is a run in the page.
type pageRun struct {
	ID   string
	Name string // empty where there is one run: it is the page's title
	When string

	Lead     []string // what the run says, before the comparisons
	Heading  string   // of the comparisons
	Compared []string
	Not      []string
	Family   string   // over what they are corrected
	Cautions []string // what a reader must not conclude

	Systems []string
	Rows    []pageRow
	Notes   []pageNote
	Everywhere,
	Legends []string
	Skipped []string

	Ledger   []ledgerRow
	Left     string // what the ledgers leave over, in words
	NoLedger int    // trials without one
	Findings []pageFinding
	Failures []pageFailure
	Problems []string

	Arms     []pageArm
	Machine  []pair
	Record   []pair
	Commands string
}

type pageRow struct {
	Size  int
	Cells []pageCell
}

type pageCell struct {
	Rate    string
	Limit   string
	Letters []string
}

type pageNote struct {
	Letter, Text string
	Console      []string
}

type ledgerRow struct {
	System     string
	Size, Boot int
	Counts     []string
	Residuals  []residual
}

type residual struct {
	Text string
	Zero bool
}

type pageFinding struct {
	Kind, Text string
	At         []string // the trials
	Every      bool     // they are all there are
	Void       bool
}

type pageFailure struct {
	Error   string
	At      []string // the trials
	Console []string
}

type pageArm struct{ What, Values string }

type pair struct{ Name, Value string }

// writePage writes one HTML page that needs nothing else: it works offline, on
// a phone, without a script and on paper.
func writePage(w io.Writer, runs []Shown) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	p := page{Style: template.CSS(pageCSS), Script: template.JS(pageJS)}
	var titles []string
	for i, s := range runs {
		titles = append(titles, s.Name)
		p.Runs = append(p.Runs, pageRunOf(s, fmt.Sprintf("run%d", i+1), len(runs) > 1))
	}
	p.Title = strings.Join(titles, ", ")
	if f, err := newFigure(runs); err == nil {
		p.Figure = f.drawings()
		p.Legend = f.legendEntries()
		p.Caption = f.subtitle
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return err
	}
	_, err = b.WriteTo(w)
	return err
}

func pageRunOf(s Shown, id string, named bool) pageRun {
	points := s.points()
	r := pageRun{
		ID: id, Lead: lead(s, points), Cautions: cautions(s, points),
		Skipped: results.NotRun(s.Run.Skipped), Problems: s.Problems,
		Everywhere: aboutAll(s.Run, points), Commands: s.Commands,
		Machine: fields(s.Run.Machine), Record: record(s.Run),
	}
	if named {
		r.Name = s.Name
	}
	if !s.Run.Started.IsZero() {
		r.When = s.Run.Started.UTC().Format("2 January 2006, 15:04 UTC")
	}
	// That one boot decides nothing is said once.
	if s.boots() > 1 {
		r.Compared, r.Not = sentences(s.Verdict)
	}
	if len(r.Compared)+len(r.Not) > 0 {
		r.Heading = heading(len(r.Compared))
	}
	if len(r.Compared) > 0 {
		r.Family = s.Verdict.Family
	}
	r.table(s, points)
	r.audit(s.Trials)
	for _, d := range results.Differences(s.Trials) {
		r.Arms = append(r.Arms, pageArm{d.What, differing(d)})
	}
	return r
}

// lead says what a run's points are, before what they mean.
func lead(s Shown, points []point) []string {
	by := map[verdict.Limiter]int{}
	rated, failed := 0, 0
	for _, p := range points {
		if p.Trials == 0 {
			failed++
			continue
		}
		rated++
		l := p.judged.LimitedBy
		if l == "" {
			l = verdict.Unknown
		}
		by[l]++
	}
	text := count(rated, "point has a rate", "points have a rate")
	var parts []string
	for _, l := range append([]verdict.Limiter{verdict.Guest}, limited()...) {
		if by[l] > 0 {
			parts = append(parts, fmt.Sprintf("%d limited by the %s", by[l], l))
		}
	}
	if by[verdict.Unknown] > 0 {
		parts = append(parts, fmt.Sprintf("%d by what is not known", by[verdict.Unknown]))
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	out := []string{text + "."}
	if failed > 0 {
		out = append(out, count(failed, "point has no rate: why is said below.", "points have no rate: why is said below."))
	}
	switch {
	case s.Run.Imported != "" && s.boots() <= 1:
		out = append([]string{"One number a point: no verdict. It was not measured here, but imported: " + s.Run.Imported + "."}, out...)
	case s.boots() == 0:
		out = append([]string{"No boot gave a rate: no verdict."}, out...)
	case s.boots() == 1:
		out = append([]string{"One boot: no verdict. Another boot may give another number."}, out...)
	}
	return out
}

func count(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + more
}

// cautions are what a reader must not conclude from a run.
func cautions(s Shown, points []point) []string {
	var out []string
	if s.boots() <= 1 {
		out = append(out, "That one system is faster than another: each was booted once, and what differs between two boots of the same system is not known.")
	} else {
		out = append(out, "That one system is faster than another where the verdicts above do not say so, however the numbers look.",
			"That “undecided” means equal: it means that these boots could not tell.")
	}
	for _, l := range limited() {
		// That bare is held back by the forwarder is what it is for.
		if n := len(slices.DeleteFunc(slices.Clone(points), func(p point) bool {
			return p.Trials == 0 || p.judged.LimitedBy != l || p.System.Guest == "bare"
		})); n > 0 {
			out = append(out, fmt.Sprintf("Anything about the guests from the %s limited by the %s: there the figure measures the %s.",
				count(n, "point", "points"), l, l))
		}
	}
	if slices.ContainsFunc(points, func(p point) bool {
		return p.Trials > 0 && (p.judged.LimitedBy == "" || p.judged.LimitedBy == verdict.Unknown)
	}) {
		out = append(out, "That a point whose limit is not known shows what its guest can do.")
	}
	if s.Run.Accel == "tcg" {
		out = append(out, "How fast a guest is on hardware: the virtual machines were emulated (QEMU's TCG), which costs different guests differently.")
	}
	if share := map[string]string{"cpu": "CPU", "core": "core"}[s.Run.Placement.Share]; share != "" {
		out = append(out, fmt.Sprintf("How fast a guest is: programs that poll shared a %s, so each had a part of it.", share))
	}
	if len(results.Differences(s.Trials)) > 0 {
		out = append(out, "That a difference is the guest's merit alone: the machines differed in more, which is listed below.")
	}
	if s.unikraft() {
		out = append(out, "That this is the Unikraft of the published figure: that one sent otherwise, one descriptor a packet and a notification a burst.")
	}
	if slices.ContainsFunc(s.Trials, func(t results.Trial) bool { return t.Error != "" }) {
		out = append(out, "That a point that failed is a rate of zero: it is no rate.")
	}
	if w := s.Run.Plan.Wire; w == "memif" || w == "veth" {
		out = append(out, "What a network card would do: the wire was this machine's memory.")
	}
	return out
}

func (r *pageRun) table(s Shown, points []point) {
	var notes footnotes
	systems := s.systems()
	for _, system := range systems {
		r.Systems = append(r.Systems, system.String())
	}
	for _, size := range sortedSizes(points) {
		row := pageRow{Size: size}
		for _, system := range systems {
			i := slices.IndexFunc(points, func(p point) bool { return p.System == system && p.Size == size })
			if i < 0 {
				row.Cells = append(row.Cells, pageCell{Rate: "not measured"})
				continue
			}
			row.Cells = append(row.Cells, pageCellOf(points[i], &notes, r.Everywhere))
		}
		r.Rows = append(r.Rows, row)
	}
	for i, text := range notes.texts {
		r.Notes = append(r.Notes, pageNote{letters(i), text, consoleOf(s.Trials, text)})
	}
	if text := strings.TrimSpace(intervals(points)); text != "" {
		r.Legends = append(r.Legends, text)
	}
	if slices.ContainsFunc(points, func(p point) bool { return p.judged.Unsteady > 0 }) {
		r.Legends = append(r.Legends, unsteady+": some of the trials had no steady rate and are not in it.")
	}
}

func pageCellOf(p point, notes *footnotes, everywhere []string) pageCell {
	c := pageCell{Rate: rate(p)}
	if p.judged.Unsteady > 0 {
		c.Rate += " " + unsteady
	}
	if p.Trials > 0 {
		switch by := p.judged.LimitedBy; by {
		case "", verdict.Unknown:
			c.Limit = "limit not known"
		default:
			c.Limit = "limited by " + string(by)
		}
	}
	for _, n := range p.remarks() {
		if !slices.Contains(everywhere, n) {
			c.Letters = append(c.Letters, notes.mark(n))
		}
	}
	return c
}

// audit takes over the ledgers and what the audit found.
func (r *pageRun) audit(trials []results.Trial) {
	where := map[audit.Finding][]string{}
	var findings []audit.Finding
	failures := map[string]*pageFailure{}
	var order []string
	for _, t := range trials {
		name := fmt.Sprintf("%s %d B boot %d", t.System, t.Size, t.Boot)
		for _, f := range t.Findings {
			if where[f] == nil {
				findings = append(findings, f)
			}
			where[f] = append(where[f], name)
		}
		// What the audit made void, it says itself.
		if t.Error != "" && !slices.ContainsFunc(t.Findings, func(f audit.Finding) bool { return f.Void }) {
			if failures[t.Error] == nil {
				failures[t.Error] = &pageFailure{Error: t.Error, Console: t.Console}
				order = append(order, t.Error)
			}
			failures[t.Error].At = append(failures[t.Error].At, name)
		}
		if t.Ledger == nil {
			r.NoLedger++
			continue
		}
		r.Ledger = append(r.Ledger, ledgerRowOf(t))
	}
	r.Left = left(r.Ledger)
	slices.SortStableFunc(findings, func(a, b audit.Finding) int { return yes(b.Void) - yes(a.Void) })
	for _, f := range findings {
		r.Findings = append(r.Findings, pageFinding{string(f.Kind), f.Text, where[f], len(where[f]) == len(trials), f.Void})
	}
	for _, e := range order {
		r.Failures = append(r.Failures, *failures[e])
	}
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

func ledgerRowOf(t results.Trial) ledgerRow {
	l := *t.Ledger
	row := ledgerRow{System: t.System.String(), Size: t.Size, Boot: t.Boot}
	for _, n := range []uint64{l.GuestSent, l.GuestDropped, l.ServerReceived, l.ServerSent, l.ServerDropped,
		l.ClientReceived, l.ClientMissed, l.ClientNombuf, l.ClientErrors} {
		row.Counts = append(row.Counts, grouped(strconv.FormatUint(n, 10)))
	}
	left := l.Residual()
	for _, n := range []int64{left.Attachment, left.Forwarder, left.Wire} {
		row.Residuals = append(row.Residuals, residual{grouped(strconv.FormatInt(n, 10)), n == 0})
	}
	return row
}

// left says in how many trials a hop can't account for packets.
func left(rows []ledgerRow) string {
	n := 0
	for _, row := range rows {
		n += yes(slices.ContainsFunc(row.Residuals, func(r residual) bool { return !r.Zero }))
	}
	switch {
	case n == 0:
		return "Nothing is left over: every packet that a guest sent is in a counter."
	case len(rows) == 1:
		return "In the one trial packets are left over."
	}
	return fmt.Sprintf("In %d of %d trials packets are left over.", n, len(rows))
}

// grouped parts a number's digits by threes, with spaces that don't break.
func grouped(digits string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "−", rest
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "\u202f" + digits[i:]
	}
	return sign + digits
}

// record are the lines about how a run was made.
func record(run results.Run) []pair {
	out := []pair{
		{"command", strings.Join(run.Command, " ")},
		{"imported from", run.Imported},
		{"kit", run.Kit},
		{"wire", run.Plan.Wire},
		{"seed of the orders", strconv.FormatUint(run.Plan.Seed, 10)},
		{"virtual machines by", strings.TrimSuffix(run.Accel+": "+run.AccelWhy, ": ")},
	}
	if d := run.Plan.Duration; d > 0 {
		out = append(out, pair{"watched a size for", d.Round(time.Millisecond).String()})
	}
	if p := run.Placement; p.House != nil {
		out = append(out, pair{"CPUs", fmt.Sprintf("forwarder %d, guest %d, client %d, the rest %v", p.Forwarder, p.Guest, p.Client, p.House)})
	}
	for _, i := range fields(run.Images) {
		out = append(out, pair{"image " + i.Name, i.Value})
	}
	return slices.DeleteFunc(out, func(p pair) bool { return p.Value == "" || p.Value == "0" })
}

// fields are a value's fields by their names in JSON, in their order, those
// within others behind these; empty ones are left out. So whatever the record
// holds of a machine is shown.
func fields(v any) []pair {
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var out []pair
	walk(d, "", &out)
	return out
}

func walk(d *json.Decoder, name string, out *[]pair) {
	token, err := d.Token()
	if err != nil {
		return
	}
	switch v := token.(type) {
	case json.Delim:
		for d.More() {
			inner := name
			if v == '{' {
				key, err := d.Token()
				if err != nil {
					return
				}
				inner = strings.TrimSpace(name + " " + strings.ReplaceAll(fmt.Sprint(key), "_", " "))
			}
			walk(d, inner, out)
		}
		_, _ = d.Token() // the end of it
	case nil:
	default:
		text := fmt.Sprint(v)
		if text == "" || text == "0" || text == "false" {
			return
		}
		if n := len(*out); n > 0 && (*out)[n-1].Name == name {
			(*out)[n-1].Value += ", " + text // of a list
			return
		}
		*out = append(*out, pair{name, text})
	}
}
