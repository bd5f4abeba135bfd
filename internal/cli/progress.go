package cli

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
	"golang.org/x/term"

	"sweep/internal/plan"
	"sweep/internal/report"
	"sweep/internal/results"
	"sweep/internal/run"
)

// newProgress shows how far a run is: a bar on a terminal, plain lines
// elsewhere. done ends it.
func newProgress(w io.Writer, p plan.Plan) (prog run.Progress, done func()) {
	lines := &lines{w: w, left: len(p.Sizes) * len(p.Systems) * p.Trials, began: time.Now(), expected: p.Expected()}
	if f, ok := w.(*os.File); !ok || !term.IsTerminal(int(f.Fd())) {
		return lines, func() {}
	}
	bars := mpb.New(mpb.WithOutput(w), mpb.WithWidth(40), mpb.WithRefreshRate(200*time.Millisecond))
	b := &bar{lines: lines}
	b.bar = bars.AddBar(int64(lines.left),
		mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return b.now.Load() })),
		mpb.AppendDecorators(decor.CountersNoUnit("%d/%d"), decor.Any(func(decor.Statistics) string { return lines.timeLeft() })),
	)
	lines.w = bars // whole lines go above the bar
	return b, func() {
		b.bar.Abort(true)
		bars.Wait()
	}
}

// lines is progress in plain lines.
type lines struct {
	w        io.Writer
	left     int // trials
	began    time.Time
	expected time.Duration
}

func (l *lines) timeLeft() string {
	left := l.expected - time.Since(l.began)
	if left < time.Second {
		return " nearly done"
	}
	return fmt.Sprintf(" about %v left", left.Round(time.Second))
}

func (l *lines) Booting(b plan.Boot) {
	fmt.Fprintf(l.w, "boot %d: %s comes up;%s\n", b.Number, b.System, l.timeLeft())
}

func (l *lines) Measuring(plan.Trial) {}

func (l *lines) Rate(plan.Trial, float64) {}

func (l *lines) Ended(t results.Trial) {
	l.left--
	what := fmt.Sprintf("%s %d B", t.System, t.Size)
	if t.Error != "" {
		fmt.Fprintf(l.w, "  %s: failed: %s\n", what, t.Error)
		return
	}
	fmt.Fprintf(l.w, "  %s: %s Mpps\n", what, report.Mpps(t.RxPps, t.RxError))
}

// bar is progress on a terminal: finished trials above, the current one in a
// bar.
type bar struct {
	*lines
	bar *mpb.Bar
	now text
}

func (b *bar) Booting(boot plan.Boot) {
	b.now.Store(fmt.Sprintf("%s boots ", boot.System))
}

func (b *bar) Measuring(t plan.Trial) {
	b.now.Store(fmt.Sprintf("%s %d B ", t.System, t.Size))
}

func (b *bar) Rate(t plan.Trial, pps float64) {
	b.now.Store(fmt.Sprintf("%s %d B %.3f Mpps ", t.System, t.Size, pps/1e6))
}

func (b *bar) Ended(t results.Trial) {
	b.lines.Ended(t)
	b.bar.Increment()
}

// text is a string that one goroutine sets and another shows.
type text struct{ v atomic.Pointer[string] }

func (t *text) Store(s string) { t.v.Store(&s) }

func (t *text) Load() string {
	if s := t.v.Load(); s != nil {
		return *s
	}
	return ""
}

func (l *lines) Block(int, []string) {}
