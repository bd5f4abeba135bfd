package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/stats"
	"sweep/internal/verdict"
)

// columns is how wide a terminal is taken to be.
const columns = 100

// each writes runs one after the other, each under its name where there are
// several.
func each(markdown bool) func(io.Writer, []Shown) error {
	return func(w io.Writer, runs []Shown) error {
		for i, s := range runs {
			if len(runs) > 1 {
				if i > 0 {
					fmt.Fprintln(w)
				}
				name := s.Name
				if markdown {
					name = "## " + EscapeMarkdown(name) + "\n"
				}
				fmt.Fprintln(w, name)
			}
			if err := writeTable(w, markdown, s); err != nil {
				return err
			}
		}
		return nil
	}
}

func writeTable(w io.Writer, markdown bool, s Shown) error {
	points := s.points()
	if len(points) == 0 {
		_, err := fmt.Fprintln(w, "No trial has ended.")
		return err
	}
	var notes footnotes
	everywhere := aboutAll(s.Run, points)
	header, rows := []string{"size"}, [][]string{}
	mark := ""
	if len(results.Differences(s.Trials)) > 0 {
		mark = " " + differ
	}
	for _, system := range s.systems() {
		name := system.String() + mark
		if markdown {
			name = strings.ReplaceAll(EscapeMarkdown(name), "|", `\|`)
		}
		header = append(header, name)
	}
	for _, size := range sortedSizes(points) {
		row := []string{strconv.Itoa(size)}
		for _, system := range s.systems() {
			i := slices.IndexFunc(points, func(p point) bool { return p.System == system && p.Size == size })
			if i < 0 {
				row = append(row, "-")
				continue
			}
			row = append(row, cell(points[i], &notes, everywhere))
		}
		rows = append(rows, row)
	}
	if !markdown && width(header, rows) > columns {
		for i := range header {
			header[i] = strings.Replace(header[i], "/", "/\n", 1)
		}
	}
	table := NewTable(w, markdown)
	table.Header(header)
	if err := table.Bulk(rows); err != nil {
		return err
	}
	if err := table.Render(); err != nil {
		return err
	}
	text := legend(s, points, notes, everywhere, markdown)
	if markdown {
		text = markdownLines(text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// width is how many columns a table takes.
func width(header []string, rows [][]string) int {
	sum := 1
	for i := range header {
		widest := 0
		for _, row := range append([][]string{header}, rows...) {
			widest = max(widest, utf8.RuneCountInString(row[i]))
		}
		sum += widest + 3
	}
	return sum
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

// unsteady marks a point some of whose trials had no one rate.
const unsteady = "~"

// limitMark is the mark of a point that something else than the guest held
// back; empty for the others.
func limitMark(l verdict.Limiter) string {
	if slices.Contains(limited(), l) {
		return "[" + string(l)[:1] + "]"
	}
	return ""
}

// cell is a point's place in the table: its rate in Mpps and its marks.
func cell(p point, notes *footnotes, everywhere []string) string {
	words := []string{rate(p)}
	if m := limitMark(p.judged.LimitedBy); m != "" && p.Trials > 0 {
		words = append(words, m)
	}
	if p.judged.Unsteady > 0 {
		words = append(words, unsteady)
	}
	for _, n := range p.remarks() {
		if !slices.Contains(everywhere, n) {
			words = append(words, notes.mark(n))
		}
	}
	return strings.Join(words, " ")
}

// remarks are what stands beside a point's rate, in words.
func (p point) remarks() []string {
	out := slices.Concat(p.Errors, p.Warnings)
	// That one boot has no interval is said of the whole table.
	if p.Trials > 1 && p.judged.NoInterval != "" {
		out = append(out, p.judged.NoInterval)
	}
	return out
}

// rate is a point's rate in Mpps, and how sure it is, to the digits that both
// are good for.
func rate(p point) string {
	switch {
	case p.Trials == 0:
		return "failed"
	case p.judged.Interval != nil:
		return plusMinus(p.RxPps, *p.judged.Interval)
	}
	off := p.RxError
	if rates := p.judged.Rates; len(rates) > 1 {
		off = max(off, (slices.Max(rates)-slices.Min(rates))/2)
	}
	return Mpps(p.RxPps, off)
}

// Mpps writes a rate to the digits that it is good for: the last one is worth
// about the standard error, and there are never more than seven, nor fewer
// than two, that count.
func Mpps(pps, standardError float64) string {
	mpps, e := pps/1e6, standardError/1e6
	const fewest = 2
	first := place(mpps)
	decimals := 2 - first // three digits, where nothing is known of the error
	if e > 0 {
		decimals = -place(e)
	}
	decimals = min(max(decimals, fewest-1-first), most-1-first)
	return strconv.FormatFloat(mpps, 'f', max(decimals, 0), 64)
}

// most is how many digits of a rate are ever shown.
const most = 7

// place is where a number's first digit stands: 0 for ones, -1 for tenths.
func place(v float64) int {
	if v <= 0 {
		return 0
	}
	return int(math.Floor(math.Log10(v)))
}

// plusMinus writes a rate in Mpps with how far the farther end of its interval
// is, rounded up to one digit (two where the first is a 1: there rounding would
// make much of little).
func plusMinus(pps float64, i stats.Interval) string {
	mpps, off := pps/1e6, max(pps-i.Low, i.High-pps)/1e6
	if off <= 0 {
		return Mpps(pps, 0) + " ±0"
	}
	decimals := -place(off)
	if off*math.Pow10(decimals) < 2 {
		decimals++
	}
	decimals = max(min(decimals, most-1-place(mpps)), 0)
	unit := math.Pow10(decimals)
	// What is a hair above a digit, because it is binary, is that digit.
	off = math.Ceil(off*unit-1e-6) / unit
	return strconv.FormatFloat(mpps, 'f', decimals, 64) + " ±" + strconv.FormatFloat(off, 'f', decimals, 64)
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

// aboutAll are the remarks that every point with a rate carries: they are said
// once, under the table, instead of beside each number.
func aboutAll(run results.Run, points []point) []string {
	all := slices.Clone(run.Warnings)
	var rated []point
	for _, p := range points {
		if p.Trials > 0 {
			rated = append(rated, p)
		}
	}
	if len(rated) == 0 {
		return all
	}
	for _, w := range rated[0].remarks() {
		if !slices.Contains(all, w) && !slices.ContainsFunc(rated[1:], func(p point) bool { return !slices.Contains(p.remarks(), w) }) {
			all = append(all, w)
		}
	}
	return all
}

// legend explains the table, a line each; lines that go with the one above are
// indented.
func legend(s Shown, points []point, notes footnotes, everywhere []string, markdown bool) string {
	var b strings.Builder
	over := ""
	if d := s.Run.Plan.Duration; d > 0 {
		over = " over " + d.String()
	}
	b.WriteString("Mpps that arrived, counted by testpmd (rxonly)" + over + "; sizes in bytes without FCS.\n")
	switch {
	case s.Run.Imported != "" && s.boots() <= 1:
		b.WriteString("One number a point: no verdict. It was not measured here, but imported: " + s.Run.Imported + ".\n")
	case s.boots() == 0:
		b.WriteString("No boot gave a rate: no verdict.\n")
	case s.boots() == 1:
		b.WriteString("One boot: no verdict. The digits are those on which that boot's readings agree; another boot may differ by more.\n")
	default:
		fmt.Fprintf(&b, "Medians of up to %d boots.%s\n", s.boots(), intervals(points))
	}
	for _, line := range marks(points) {
		b.WriteString(line + "\n")
	}
	if s.boots() > 1 {
		for _, line := range Verdicts(s.Verdict) {
			if !markdown {
				line = wrap(line, columns)
			}
			b.WriteString(line + "\n")
		}
	}
	if differences := results.Differences(s.Trials); len(differences) > 0 {
		b.WriteString(differ + " The systems differ in more than the guest:\n")
		for _, d := range differences {
			fmt.Fprintf(&b, "  %s: %s\n", d.What, differing(d))
		}
	}
	if s.unikraft() && slices.ContainsFunc(s.Run.Plan.Systems, func(p plan.System) bool { return p.Guest == "unikraft" }) {
		b.WriteString("The published figure's Unikraft sent otherwise than today's does (docs/comparison.md): one descriptor a packet and a notification a burst.\n")
	}
	for _, n := range everywhere {
		b.WriteString("Every point: " + n + ".\n")
	}
	for _, line := range results.NotRun(s.Run.Skipped) {
		b.WriteString("Not run: " + line + ".\n")
	}
	notes.write(&b, func(text string) []string { return consoleOf(s.Trials, text) })
	return b.String()
}

// unikraft says whether the run measured today's Unikraft, here: what was
// measured elsewhere has no settings.
func (s Shown) unikraft() bool {
	return slices.ContainsFunc(s.Trials, func(t results.Trial) bool { return t.System.Guest == "unikraft" && t.Settings.Accel != "" })
}

// intervals says what ± means, where it stands.
func intervals(points []point) string {
	for _, p := range points {
		if i := p.judged.Interval; i != nil && p.Trials > 0 {
			return fmt.Sprintf(" ±: the farther end of the median's interval (%s).", confidence(i.Confidence))
		}
	}
	return ""
}

// marks explains the marks that are in the table's cells.
func marks(points []point) []string {
	var out []string
	for _, l := range limited() {
		if slices.ContainsFunc(points, func(p point) bool { return p.Trials > 0 && p.judged.LimitedBy == l }) {
			out = append(out, limitMark(l)+" held back by the "+string(l)+limitMore(l)+": a faster guest would not show.")
		}
	}
	for _, p := range points {
		if p.Trials > 0 && p.judged.LimitedBy == verdict.Unknown {
			out = append(out, "What held back points without such a mark is not known: "+p.judged.Because+".")
			break
		}
	}
	if slices.ContainsFunc(points, func(p point) bool { return p.judged.Unsteady > 0 }) {
		out = append(out, unsteady+" some of the trials had no steady rate and are not in it.")
	}
	return out
}

// limitMore says more of what can hold a point back.
func limitMore(l verdict.Limiter) string {
	if l == verdict.Forwarder {
		return " (the ring was full, or bare does no more)"
	}
	return ""
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
		line = EscapeMarkdown(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		// A star that begins a line would begin a list within the list.
		if rest, ok := strings.CutPrefix(line[indent:], differ); ok {
			line = line[:indent] + "\\" + differ + rest
		}
		b.WriteString(line[:indent] + "- " + line[indent:])
	}
	return b.String()
}

// wrap breaks a line at spaces; what follows is indented below it.
func wrap(line string, columns int) string {
	var b strings.Builder
	indent := len(line) - len(strings.TrimLeft(line, " "))
	at := 0
	for i, word := range strings.Fields(line) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
			b.WriteString(line[:indent])
			at = indent
		case at+1+n > columns:
			b.WriteString("\n" + strings.Repeat(" ", indent+2))
			at = indent + 2
		default:
			b.WriteString(" ")
			at++
		}
		b.WriteString(word)
		at += n
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
