package reproduce

import (
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

// Write writes a report in one of the Formats.
func Write(w io.Writer, format string, r Report) error {
	switch format {
	case "table", "markdown":
		return writeText(w, format == "markdown", r)
	case "json":
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		return enc.Encode(r)
	}
	return fmt.Errorf("no format is called %q; there are %s", format, strings.Join(Formats(), ", "))
}

func writeText(w io.Writer, markdown bool, r Report) error {
	title := func(s string) {
		if markdown {
			s = "## " + s + "\n"
		}
		fmt.Fprintf(w, "\n%s\n", s)
	}
	fmt.Fprintf(w, "%s against Figure 19 (EuroSys'21): of %d points %d are reproduced, %d are not, and %d can't be compared.\n",
		r.Run, len(r.Points), r.Count(Reproduced), r.Count(NotReproduced), r.Count(NotComparable))
	fmt.Fprintf(w, "The rule: %s.\n\n", r.Rule)
	if err := writePoints(w, markdown, r.Points); err != nil {
		return err
	}
	title("The figure's claims")
	for _, c := range r.Claims {
		fmt.Fprintf(w, "- %s: %s\n", c.Text, c.Answer)
		for _, s := range c.Shown {
			fmt.Fprintf(w, "  - %s\n", s)
		}
	}
	for _, b := range r.Badges {
		title("For a reviewer: " + b.Name)
		for _, l := range b.Lines {
			fmt.Fprintf(w, "- [%s] %s: %s\n", l.Answer.box(), l.Asked, l.says(b, r))
		}
	}
	title("What this can't show")
	for _, c := range r.CantShow {
		fmt.Fprintf(w, "- %s\n", c)
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
		fmt.Fprintf(w, "%s[%d] %s.\n", item, i+1, strings.TrimSuffix(n, "."))
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
