package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/report"
	"sweep/internal/stats"
)

// Formats are what Write knows.
func Formats() []string { return []string{"table", "markdown", "json"} }

// Write writes a comparison in one of the Formats. A run may be anybody's:
// nothing in its record does more than stand there ([report.Visible]).
func Write(w io.Writer, format string, c Comparison) error {
	var b bytes.Buffer
	var err error
	switch format {
	case "table", "markdown":
		err = writeText(&b, format == "markdown", c)
	case "json":
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err = enc.Encode(c)
	default:
		return fmt.Errorf("no format is called %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(bytes.Map(report.Visible, b.Bytes()))
	return err
}

func writeText(w io.Writer, markdown bool, c Comparison) error {
	item := ""
	if markdown {
		item = "- "
	}
	fmt.Fprintf(w, "%sA: %s\n%sB: %s\n", item, line(markdown, c.A.String()), item, line(markdown, c.B.String()))
	fmt.Fprintf(w, "\nThe blocks of A and B did not take turns: whatever changed on the machine between the two runs is in the ratios, too.\n")
	if err := writeDifferences(w, markdown, c.Differences); err != nil {
		return err
	}
	return writePoints(w, markdown, c)
}

func (r Run) String() string {
	words := []string{r.Name}
	if r.Imported != "" {
		words = append(words, "imported from "+r.Imported)
	}
	if r.Started != "" {
		words = append(words, "of "+r.Started)
	}
	if r.Kit != "" {
		words = append(words, "kit "+r.Kit)
	}
	return strings.Join(words, ", ")
}

func writeDifferences(w io.Writer, markdown bool, ds []Difference) error {
	if len(ds) == 0 {
		_, err := fmt.Fprintln(w, "\nNothing else that the records hold differs between them.")
		return err
	}
	fmt.Fprintf(w, "\nWhat else differs, any of which may be why the rates do:\n\n")
	if !markdown {
		// Lines, because a kernel's command line fits in no column.
		for _, d := range ds {
			fmt.Fprintf(w, "  %s\n    A  %s\n    B  %s\n", line(false, d.about()), line(false, d.A), line(false, d.B))
		}
		return nil
	}
	table := report.NewTable(w, true)
	table.Header("what", "A", "B")
	for _, d := range ds {
		if err := table.Append(cell(true, d.about()), cell(true, d.A), cell(true, d.B)); err != nil {
			return err
		}
	}
	return table.Render()
}

func (d Difference) about() string {
	if len(d.Systems) == 0 {
		return d.What
	}
	names := make([]string, len(d.Systems))
	for i, s := range d.Systems {
		names[i] = s.String()
	}
	return strings.Join(names, ", ") + ": " + d.What
}

// line keeps a text in its line, and in Markdown a text.
func line(markdown bool, s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if markdown {
		s = report.EscapeMarkdown(s)
	}
	return s
}

// cell keeps a text in its cell.
func cell(markdown bool, s string) string {
	s = line(markdown, s)
	if markdown {
		s = strings.ReplaceAll(s, "|", `\|`)
	}
	return s
}

func writePoints(w io.Writer, markdown bool, c Comparison) error {
	fmt.Fprintln(w)
	if len(c.Points) == 0 {
		_, err := fmt.Fprintln(w, "Neither run holds a trial.")
		return err
	}
	table := report.NewTable(w, markdown)
	table.Header("system", "size", "A, Mpps", "B, Mpps", "A / B", "its interval", "A is")
	var whys []string
	for _, p := range c.Points {
		i := slices.Index(whys, p.Because)
		if i < 0 {
			i = len(whys)
			whys = append(whys, p.Because)
		}
		ratio := "-"
		if p.Ratio > 0 {
			ratio = strconv.FormatFloat(p.Ratio, 'f', 4, 64)
		}
		if err := table.Append(cell(markdown, p.System.String()), strconv.Itoa(p.Size), p.A.String(), p.B.String(), ratio, between(p.Interval, 1, 4),
			fmt.Sprintf("%s [%d]", p.Verdict, i+1)); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	item := ""
	if markdown {
		item = "- "
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "%sMpps are medians over the boots, with their intervals in brackets; sizes are in bytes without FCS. A ratio without an interval is that of the medians.\n", item)
	if c.Family != "" {
		fmt.Fprintf(w, "%sThe tests' family: %s.\n", item, line(markdown, strings.TrimSuffix(c.Family, ".")))
	}
	for i, why := range whys {
		fmt.Fprintf(w, "%s[%d] %s.\n", item, i+1, line(markdown, strings.TrimSuffix(why, ".")))
	}
	return nil
}

func (r Rate) String() string {
	if r.Trials == 0 {
		return "-"
	}
	text := report.Mpps(r.RxPps, r.Error)
	if r.Interval != nil {
		text += " (" + between(r.Interval, 1e-6, 4) + ")"
	}
	return text
}

// between writes an interval, its ends times a factor.
func between(i *stats.Interval, factor float64, decimals int) string {
	if i == nil {
		return "-"
	}
	return strconv.FormatFloat(i.Low*factor, 'f', decimals, 64) + " to " + strconv.FormatFloat(i.High*factor, 'f', decimals, 64)
}
