// Package report shows a run. It only reads what package results wrote, so a
// table can be printed again long after, and elsewhere.
package report

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"sweep/internal/plan"
	"sweep/internal/results"
)

// Formats are what Write knows.
func Formats() []string { return []string{"table", "markdown", "csv", "json"} }

// Write writes a run in one of the Formats.
func Write(w io.Writer, format string, run results.Run, trials []results.Trial) error {
	points := results.Points(trials)
	switch format {
	case "table", "markdown":
		return writeTable(w, format == "markdown", run, trials, points)
	case "csv":
		return writeCSV(w, points)
	case "json":
		return writeJSON(w, points)
	}
	return fmt.Errorf("no format is called %q; there are %s", format, strings.Join(Formats(), ", "))
}

// jsonPoint is a point as other programs read it.
type jsonPoint struct {
	System   plan.System `json:"system"`
	Size     int         `json:"size"`
	RxPps    *float64    `json:"rx_pps"` // packets a second; null where no trial gave a rate
	Trials   int         `json:"trials"`
	Warnings []string    `json:"warnings"` // why trials failed, too
}

func writeJSON(w io.Writer, points []results.Point) error {
	out := struct {
		Points []jsonPoint `json:"points"`
	}{Points: []jsonPoint{}}
	for _, p := range points {
		j := jsonPoint{System: p.System, Size: p.Size, Trials: p.Trials, Warnings: append(append([]string{}, p.Errors...), p.Warnings...)}
		if p.Trials > 0 {
			pps := math.Round(p.RxPps*1000) / 1000
			j.RxPps = &pps
		}
		out.Points = append(out.Points, j)
	}
	return encode(w, out)
}

// encode writes JSON in a line, with < and > as they are.
func encode(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

func writeCSV(w io.Writer, points []results.Point) error {
	c := csv.NewWriter(w)
	if err := c.Write([]string{"system", "size", "rx_pps", "trials", "warnings"}); err != nil {
		return err
	}
	for _, p := range points {
		rate := ""
		if p.Trials > 0 {
			rate = strconv.FormatFloat(p.RxPps, 'f', 3, 64)
		}
		if err := c.Write([]string{p.System.String(), strconv.Itoa(p.Size), rate, strconv.Itoa(p.Trials),
			strings.Join(slices.Concat(p.Errors, p.Warnings), "; ")}); err != nil {
			return err
		}
	}
	c.Flush()
	return c.Error()
}

func writeTable(w io.Writer, markdown bool, run results.Run, trials []results.Trial, points []results.Point) error {
	var notes footnotes
	var systems []plan.System
	var sizes []int
	at := map[plan.System]map[int]results.Point{}
	for _, p := range points {
		if at[p.System] == nil {
			at[p.System] = map[int]results.Point{}
			systems = append(systems, p.System)
		}
		at[p.System][p.Size] = p
		if !slices.Contains(sizes, p.Size) {
			sizes = append(sizes, p.Size)
		}
	}
	slices.Sort(sizes)
	if len(points) == 0 {
		_, err := fmt.Fprintln(w, "No trial has ended.")
		return err
	}

	everywhere := aboutAll(run, points)
	header := []string{"size"}
	mark := ""
	if len(results.Differences(trials)) > 0 {
		mark = " " + differ
	}
	for _, s := range systems {
		header = append(header, s.String()+mark)
	}
	table := NewTable(w, markdown)
	table.Header(header)
	for _, size := range sizes {
		row := []string{strconv.Itoa(size)}
		for _, s := range systems {
			p, ok := at[s][size]
			if !ok {
				row = append(row, "-")
				continue
			}
			row = append(row, cell(p, &notes, everywhere))
		}
		if err := table.Append(row); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	text := legend(run, trials, notes, everywhere)
	if markdown {
		text = markdownLines(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// NewTable returns a table of numbers, in a box or in Markdown, as all of the
// kit's are: to the right, with its headings as they are given.
func NewTable(w io.Writer, markdown bool) *tablewriter.Table {
	o := []tablewriter.Option{
		tablewriter.WithHeaderAutoFormat(tw.Off), // it would write LINUX DPDK / VHOST USER
		tablewriter.WithHeaderAlignment(tw.AlignRight),
		tablewriter.WithRowAlignment(tw.AlignRight),
	}
	if markdown {
		o = append(o, tablewriter.WithRenderer(renderer.NewMarkdown()))
	}
	return tablewriter.NewTable(w, o...)
}

// cell is a point's place in the table: its rate in Mpps and its marks.
func cell(p results.Point, notes *footnotes, everywhere []string) string {
	text := "failed"
	if p.Trials > 0 {
		text = Mpps(p.RxPps, p.RxError)
	}
	for _, n := range slices.Concat(p.Errors, p.Warnings) {
		if !slices.Contains(everywhere, n) {
			text += " " + notes.mark(n)
		}
	}
	return text
}

// Mpps writes a rate to the digits that it is good for: the last one is worth
// about the standard error, and there are never more than seven, nor fewer
// than two, that count.
func Mpps(pps, standardError float64) string {
	mpps, e := pps/1e6, standardError/1e6
	const fewest, most = 2, 7
	first := 0
	if mpps > 0 {
		first = int(math.Floor(math.Log10(mpps))) // the place of the first digit
	}
	decimals := 2 - first // three digits, where nothing is known of the error
	if e > 0 {
		decimals = -int(math.Floor(math.Log10(e)))
	}
	decimals = min(max(decimals, fewest-1-first), most-1-first)
	return strconv.FormatFloat(mpps, 'f', max(decimals, 0), 64)
}

// footnotes give each text a mark: a, b, ..., z, aa, ...
type footnotes struct{ texts []string }

func (f *footnotes) mark(text string) string {
	i := slices.Index(f.texts, text)
	if i < 0 {
		i = len(f.texts)
		f.texts = append(f.texts, text)
	}
	return letters(i)
}

// write explains the marks, each with the last lines of the console that it is
// about, where there is one.
func (f footnotes) write(w io.Writer, console func(text string) []string) {
	if len(f.texts) > 0 {
		fmt.Fprintln(w, "Marks:")
	}
	for i, text := range f.texts {
		fmt.Fprintf(w, "  %s  %s\n", letters(i), text)
		for _, line := range console(text) {
			fmt.Fprintf(w, "       | %s\n", line)
		}
	}
}

func letters(i int) string {
	if i >= 26 {
		return letters(i/26-1) + letters(i%26)
	}
	return string(rune('a' + i))
}

// aboutAll are the warnings that every point with a rate carries: they are said once,
// under the table, instead of beside each number.
func aboutAll(run results.Run, points []results.Point) []string {
	all := slices.Clone(run.Warnings)
	var rated []results.Point
	for _, p := range points {
		if p.Trials > 0 {
			rated = append(rated, p)
		}
	}
	if len(rated) == 0 {
		return all
	}
	for _, w := range rated[0].Warnings {
		if !slices.ContainsFunc(rated[1:], func(p results.Point) bool { return !slices.Contains(p.Warnings, w) }) {
			all = append(all, w)
		}
	}
	return all
}

// legend explains the table, a line each; lines that go with the one above are
// indented.
func legend(run results.Run, trials []results.Trial, notes footnotes, everywhere []string) string {
	var b strings.Builder
	b.WriteString("Mpps that arrived, counted by testpmd (rxonly) over " + run.Plan.Duration.String() + "; sizes in bytes without FCS.\n")
	if run.Plan.Trials == 1 {
		b.WriteString("One boot: no verdict. The digits are those on which that boot's readings agree; another boot may differ by more.\n")
	} else {
		fmt.Fprintf(&b, "Medians of up to %d boots.\n", run.Plan.Trials)
	}
	if differences := results.Differences(trials); len(differences) > 0 {
		b.WriteString(differ + " The systems differ in more than the guest:\n")
		for _, d := range differences {
			fmt.Fprintf(&b, "  %s: %s\n", d.What, differing(d))
		}
	}
	for _, s := range run.Plan.Systems {
		if s.Guest == "unikraft" {
			b.WriteString("The published figure's Unikraft sent otherwise than today's does (docs/comparison.md): one descriptor a packet and a notification a burst.\n")
			break
		}
	}
	for _, n := range everywhere {
		b.WriteString("Every point: " + n + ".\n")
	}
	for _, line := range results.NotRun(run.Skipped) {
		b.WriteString("Not run: " + line + ".\n")
	}
	notes.write(&b, func(text string) []string { return consoleOf(trials, text) })
	return b.String()
}

// differ marks what the systems of a table differ in beside the guest.
const differ = "*"

// differing says what each system has, those that have the same together.
func differing(d results.Difference) string {
	var order []string
	who := map[string][]string{}
	for _, v := range d.Values {
		if who[v.Value] == nil {
			order = append(order, v.Value)
		}
		who[v.Value] = append(who[v.Value], v.System.String())
	}
	out := make([]string, len(order))
	for i, value := range order {
		out[i] = strings.Join(who[value], ", ") + " " + value
	}
	return strings.Join(out, "; ")
}

// markdownLines makes a list of lines, for Markdown would run them together.
func markdownLines(text string) string {
	b := strings.Builder{}
	b.WriteString("\n")
	for line := range strings.Lines(text) {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		// A star that begins a line would begin a list within the list.
		if rest, ok := strings.CutPrefix(line[indent:], differ); ok {
			line = line[:indent] + "\\" + differ + rest
		}
		b.WriteString(line[:indent] + "- " + line[indent:])
	}
	return b.String()
}

// consoleOf is what the console showed last when a trial failed in these
// words.
func consoleOf(trials []results.Trial, failure string) []string {
	for _, t := range trials {
		if t.Error == failure && len(t.Console) > 0 {
			return t.Console
		}
	}
	return nil
}
