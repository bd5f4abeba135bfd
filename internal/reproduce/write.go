package reproduce

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"sweep/internal/report"
)

// Formats are what Write knows.
func Formats() []string { return []string{"table", "markdown", "json"} }

// Write writes a report in one of the Formats. Nothing is written where that
// fails.
func Write(w io.Writer, format string, r Report) error {
	var b bytes.Buffer
	var err error
	switch format {
	case "table", "markdown":
		err = writeText(&b, format == "markdown", r)
	case "json":
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		err = enc.Encode(r)
	default:
		err = fmt.Errorf("no format is called %q; there are %s", format, strings.Join(Formats(), ", "))
	}
	if err != nil {
		return err
	}
	_, err = w.Write(bytes.Map(report.Visible, b.Bytes()))
	return err
}

// inline is a text of the record, which may be anybody's, as part of a line:
// it begins no line of its own, and is no markup.
func inline(markdown bool, s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if markdown {
		s = report.EscapeMarkdown(s)
	}
	return s
}

func writeText(w io.Writer, markdown bool, r Report) error {
	title := func(s string) {
		if markdown {
			s = "## " + s + "\n"
		}
		fmt.Fprintf(w, "\n%s\n", s)
	}
	text := func(s string) string { return inline(markdown, s) }
	fmt.Fprintf(w, "%s against Figure 19 (EuroSys'21): of %d points %d are reproduced, %d are not, and %d can't be compared.\n",
		text(r.Run), len(r.Points), r.Count(Reproduced), r.Count(NotReproduced), r.Count(NotComparable))
	fmt.Fprintf(w, "The rule: %s.\n\n", r.Rule)
	if err := writePoints(w, markdown, r.Points); err != nil {
		return err
	}
	title("The figure's claims")
	for _, c := range r.Claims {
		fmt.Fprintf(w, "- %s: %s\n", c.Text, c.Answer)
		for _, s := range c.Shown {
			fmt.Fprintf(w, "  - %s\n", text(s))
		}
	}
	for _, b := range r.Badges {
		title("For a reviewer: " + b.Name)
		for _, l := range b.Lines {
			fmt.Fprintf(w, "- [%s] %s: %s\n", l.Answer.box(), l.Asked, text(l.says(b, r)))
		}
	}
	title("What this can't show")
	for _, c := range r.CantShow {
		fmt.Fprintf(w, "- %s\n", text(c))
	}
	return nil
}

// box is a tick for what is shown.
func (a Answer) box() string {
	if a == Yes {
		return "x"
	}
	return " "
}

// says is a line's answer, with what the run has for it. What stands above, size
// by size, is not said twice.
func (l Line) says(b Badge, r Report) string {
	if b.Name == "reproduced" && slices.ContainsFunc(r.Claims, func(c Claim) bool { return c.Text == l.Asked }) {
		return string(l.Answer) + ", see above"
	}
	return string(l.Answer) + ". " + l.Shown
}

func writePoints(w io.Writer, markdown bool, points []Point) error {
	table := report.NewTable(w, markdown)
	table.Header("system", "size", "published, Mpps", "here, Mpps", "outcome")
	var notes []string
	mark := func(text string) string {
		i := slices.Index(notes, text)
		if i < 0 {
			i = len(notes)
			notes = append(notes, text)
		}
		return "[" + strconv.Itoa(i+1) + "]"
	}
	for _, p := range points {
		outcome := string(p.Outcome)
		for _, text := range slices.Concat(p.Because, p.Caveats) {
			outcome += " " + mark(text)
		}
		if err := table.Append(p.System.String(), strconv.Itoa(p.Size), strconv.FormatFloat(p.Published/1e6, 'f', 6, 64), p.here(), outcome); err != nil {
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
	for i, n := range notes {
		fmt.Fprintf(w, "%s[%d] %s.\n", item, i+1, strings.TrimSuffix(inline(markdown, n), "."))
	}
	return nil
}

// here is what the run has of a point.
func (p Point) here() string {
	if p.RxPps == 0 {
		return "-"
	}
	text := report.Mpps(p.RxPps, p.RxPps/1e4)
	if i := p.Interval; i != nil {
		text += " (" + report.Mpps(i.Low, i.Low/1e4) + " to " + report.Mpps(i.High, i.High/1e4) + ")"
	}
	return text
}
