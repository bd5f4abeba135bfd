package progress

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
)

// Rows draw the state in so many rows of so many columns at most: the table of
// what was measured, and under it the trial that is under way. Where they are
// too few, the sizes and systems around that trial are shown.
func (s *State) Rows(now time.Time, width, height int) []string {
	if height < 1 || width < 1 {
		return nil
	}
	current := s.current(now, width)
	var rows []string
	if room := height - 2; room > 0 { // for sizes: under the heading, above the trial
		rows = s.table(width, min(room, len(s.sizes)))
		if room > len(s.sizes) {
			rows = append(rows, s.legend())
		}
		if room > len(s.sizes)+1 {
			rows = slices.Insert(rows, 0, "")
		}
	}
	rows = append(rows, current)
	for i := range rows {
		rows[i] = clip(rows[i], width)
	}
	return rows
}

// at is where the run is in the table: a column and a row.
func (s *State) at() (column, row int) {
	if s.boot != nil {
		column = slices.Index(s.plan.Systems, s.boot.System)
	}
	if s.trial != nil {
		row = slices.Index(s.sizes, s.trial.Size)
	}
	return max(0, column), max(0, row)
}

// table draws the heading and so many sizes.
func (s *State) table(width, sizes int) []string {
	column, row := s.at()
	first, end := window(ones(len(s.sizes)), sizes, row)
	labels := []string{"size"}
	for _, size := range s.sizes[first:end] {
		labels = append(labels, strconv.Itoa(size))
	}
	columns := make([][]string, len(s.plan.Systems))
	widths := make([]int, len(columns))
	for i, system := range s.plan.Systems {
		columns[i] = []string{s.heading(system)}
		for _, size := range s.sizes[first:end] {
			columns[i] = append(columns[i], s.cell(system, size))
		}
		widths[i] = widest(columns[i]) + 2
	}
	left := widest(labels)
	from, to := window(widths, width-left, column)
	rows := make([]string, len(labels))
	for i, label := range labels {
		rows[i] = right(label, left)
		for j := from; j < to; j++ {
			rows[i] += right(columns[j][i], widths[j])
		}
	}
	// An ellipsis stands for the systems that had no room.
	if from > 0 {
		rows[0] = replace(rows[0], left, '…')
	}
	if to < len(columns) {
		rows[0] += " …"
	}
	return rows
}

// heading is a system's name: the guest's, where all have the same attachment.
func (s *State) heading(system plan.System) string {
	if s.attachment() != "" {
		return system.Guest
	}
	return system.String()
}

// attachment is the one that all systems have; empty where they differ.
func (s *State) attachment() string {
	for _, system := range s.plan.Systems {
		if system.Attachment != s.plan.Systems[0].Attachment {
			return ""
		}
	}
	if len(s.plan.Systems) == 0 {
		return ""
	}
	return s.plan.Systems[0].Attachment
}

// cell is what is known of a point: marks, the median so far, and of how many
// boots it is.
func (s *State) cell(system plan.System, size int) string {
	c := s.cells[point{system, size}]
	marks, value := "", ""
	if c.failed > 0 {
		marks += "!"
	}
	if c.unsteady > 0 {
		marks += "~"
	}
	if s.trial != nil && s.trial.System == system && s.trial.Size == size {
		marks += ">"
	}
	switch {
	case len(c.rates) > 0:
		value = fmt.Sprintf("%s (%d)", report.Mpps(results.Median(c.rates), 0), len(c.rates))
	case c.failed+c.unsteady > 0:
		value = "failed"
	case marks == "":
		return "-"
	}
	return strings.TrimSpace(marks + " " + value)
}

// legend explains the table, with the marks that are in it.
func (s *State) legend() string {
	text := "Mpps"
	if a := s.attachment(); a != "" {
		text += " over " + a
	}
	text += ", median so far (of so many boots)"
	failed, unsteady := false, false
	for _, c := range s.cells {
		failed = failed || c.failed > 0
		unsteady = unsteady || c.unsteady > 0
	}
	if failed {
		text += "; ! a boot failed"
	}
	if unsteady {
		text += "; ~ a boot was unsteady"
	}
	if s.plan.Precision > 0 && s.round >= s.plan.Trials {
		text += fmt.Sprintf("; %d of %d not within %s", len(s.wide), len(s.cells), plan.Percent(s.plan.Precision))
	}
	return text
}

// current is the trial that is under way: the present rate, and the last ones
// as a line.
func (s *State) current(now time.Time, width int) string {
	switch {
	case s.trial != nil && len(s.trial.rates) == 0:
		return fmt.Sprintf("%s %d B: warm-up, %s", s.trial.System, s.trial.Size, seconds(now.Sub(s.trial.since)))
	case s.trial != nil:
		text := fmt.Sprintf("%s %d B: %s Mpps  ", s.trial.System, s.trial.Size, report.Mpps(s.trial.rates[len(s.trial.rates)-1], 0))
		return text + sparkline(s.trial.rates, width-utf8.RuneCountInString(text))
	case s.boot != nil && s.boot.ended < len(s.boot.Trials):
		return fmt.Sprintf("%s comes up, %s", s.boot.System, seconds(now.Sub(s.boot.since)))
	case s.boot != nil:
		return fmt.Sprintf("%s goes down", s.boot.System)
	}
	return "between two boots"
}

func seconds(d time.Duration) string { return fmt.Sprintf("%d s", d/time.Second) }

// sparkline draws the last rates in so many columns, each as an eighth of the
// largest of them: the line of a steady rate is flat and full.
func sparkline(rates []float64, columns int) string {
	rates = rates[max(0, len(rates)-max(0, columns)):]
	if len(rates) == 0 {
		return ""
	}
	eighths := []rune("▁▂▃▄▅▆▇█")
	largest := slices.Max(rates)
	var b strings.Builder
	for _, r := range rates {
		level := 0
		if largest > 0 && r > 0 {
			level = int(math.Ceil(r/largest*8)) - 1
		}
		b.WriteRune(eighths[min(max(level, 0), 7)])
	}
	return b.String()
}

// window chooses which of a row of things of these widths are shown where there
// is no room for all: as many as go in around the one at a place, that one in
// any case.
func window(widths []int, room, at int) (from, to int) {
	if len(widths) == 0 {
		return 0, 0
	}
	from, to = at, at+1
	room -= widths[at]
	for grown := true; grown; {
		grown = false
		if to < len(widths) && widths[to] <= room {
			room -= widths[to]
			to++
			grown = true
		}
		if from > 0 && widths[from-1] <= room {
			from--
			room -= widths[from]
			grown = true
		}
	}
	return from, to
}

func ones(n int) []int { return slices.Repeat([]int{1}, n) }

func widest(texts []string) int {
	n := 0
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

// right sets a text to the right of a column.
func right(text string, width int) string {
	return strings.Repeat(" ", max(0, width-utf8.RuneCountInString(text))) + text
}

// replace sets a column of a row.
func replace(row string, column int, r rune) string {
	runes := []rune(row)
	if column < len(runes) {
		runes[column] = r
	}
	return string(runes)
}

// clip cuts a row that is too long.
func clip(row string, width int) string {
	if utf8.RuneCountInString(row) <= width {
		return row
	}
	return string([]rune(row)[:width-1]) + "…"
}
