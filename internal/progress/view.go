package progress

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"time"

	"github.com/vbauerster/cupwriter"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"sweep/internal/plan"
	"sweep/internal/results"
)

// view is a run on a terminal: the lines, and below them the state's rows and a
// bar with the time that is left. It changes nothing about the terminal but
// where its cursor is, so that there is nothing to put right after a Ctrl-C.
type view struct {
	*lines
	terminal *os.File
	bar      *mpb.Bar
	total    int // trials, at most

	// What is drawn at the moment: mpb asks for it row by row.
	rows       []string
	head, tail string
}

// others are the lines of a terminal that the rows leave: for the bar, for the
// cursor, and one above, because what is erased from a terminal's very top is
// put into the history by some (tmux), at each drawing anew.
const others = 3

// refresh is how often the view is drawn.
const refresh = 200 * time.Millisecond

func newView(l *lines, terminal *os.File) *view {
	v := &view{lines: l, terminal: terminal}
	bars := mpb.New(
		mpb.WithConsoleWriter(unlimited{cupwriter.New(terminal, false)}),
		mpb.WithRefreshRate(refresh),
	)
	// mpb draws the last of the rows above a bar first.
	rows := make([]mpb.BarFiller, len(l.state.sizes)+4) // blank, heading, legend, trial
	for i := range rows {
		rows[i] = mpb.BarFillerFunc(func(w io.Writer, st decor.Statistics) error { return v.row(w, i, st.AvailableWidth) })
	}
	slices.Reverse(rows)
	text := func(of *string) decor.Decorator { return decor.Any(func(decor.Statistics) string { return *of }) }
	v.bar = bars.AddBar(0, // a bar without a total doesn't end by itself
		mpb.BarTopExtender(rows...), mpb.BarFillerTrim(),
		mpb.PrependDecorators(text(&v.head)), mpb.AppendDecorators(text(&v.tail)),
	)
	p := l.state.plan
	v.total = p.MostBlocks() * len(p.Systems) * len(p.Sizes)
	v.bar.SetTotal(int64(v.total), false)
	l.screen.mu.Lock()
	l.screen.bars = bars
	l.screen.mu.Unlock()
	return v
}

// unlimited is a terminal of any height: the state's rows fit it already, and
// mpb would count those that stay empty.
type unlimited struct{ *cupwriter.Writer }

func (u unlimited) GetTermSize() (width, height int, err error) {
	width, _, err = u.Writer.GetTermSize()
	return width, math.MaxInt, err
}

// Flush implements [mpb.ConsoleWriter]. The next drawing begins at the left: a
// terminal shows what is typed, a ^C too, where its cursor is.
func (u unlimited) Flush(lines int) error {
	err := u.Writer.Flush(lines)
	back := bytes.Clone(u.Bytes())
	u.Reset()
	u.WriteByte('\r')
	u.Write(back)
	return err
}

// row draws the row with this number; the first one takes the picture that all
// of them, and the bar, are drawn from.
func (v *view) row(w io.Writer, i, width int) error {
	if i == 0 {
		_, height, err := term.GetSize(int(v.terminal.Fd()))
		if err != nil {
			return err
		}
		now := v.screen.now()
		v.change(func(s *State) {
			v.rows = s.Rows(now, width, height-others)
			v.head, v.tail = s.block()+" ", fmt.Sprintf(" %d/%d %s", s.done(), v.total, s.left(now))
		})
	}
	if i >= len(v.rows) {
		return nil
	}
	_, err := io.WriteString(w, v.rows[i]+"\n")
	return err
}

// Booting implements [run.Progress]. The view shows it, so that no line need.
func (v *view) Booting(b plan.Boot) {
	now := v.screen.now()
	v.booting(now, b)
}

// Ended implements [run.Progress].
func (v *view) Ended(t results.Trial) {
	v.lines.Ended(t)
	v.bar.SetCurrent(int64(v.state.done()))
}

// close takes the view away; the lines above it stay.
func (v *view) close() {
	s := v.screen
	// Whoever writes now waits, and then writes to the terminal itself: what
	// came between mpb's last drawing and its end would be lost.
	s.mu.Lock()
	defer s.mu.Unlock()
	v.bar.Abort(true)
	s.bars.Wait()
	s.bars = nil
}
