package progress

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"golang.org/x/term"

	"sweep/internal/plan"
	"sweep/internal/run"
)

// Screen is where a run speaks to its user, as standard error does: whole
// lines, and while a run is under way on a terminal, a view below them that is
// drawn anew. It can be written to from several goroutines.
type Screen struct {
	out io.Writer
	now func() time.Time

	mu   sync.Mutex
	bars *mpb.Progress // below the lines; nil where there is no view
}

// NewScreen speaks to out.
func NewScreen(out io.Writer) *Screen { return &Screen{out: out, now: time.Now} }

// Write implements [io.Writer], for whole lines.
func (s *Screen) Write(lines []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bars != nil {
		if n, err := s.bars.Write(lines); err == nil {
			return n, nil
		}
		// The terminal took no view any more. It may take lines.
	}
	return s.out.Write(lines)
}

// Begin returns what shows how far a plan is: lines, the first of which
// announces it, with a view below them where the screen is a terminal that can
// move its cursor. Quiet are only the lines on what failed. done ends it.
func (s *Screen) Begin(p plan.Plan, quiet bool) (prog run.Progress, done func()) {
	lines := &lines{screen: s, quiet: quiet, state: NewState(p, s.now())}
	if quiet {
		return lines, func() {}
	}
	terminal, ok := s.terminal()
	if !ok {
		return lines, lines.end
	}
	v := newView(lines, terminal)
	return v, func() {
		v.close()
		v.end()
	}
}

// terminal is what a view can be drawn on.
func (s *Screen) terminal() (*os.File, bool) {
	f, ok := s.out.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return nil, false
	}
	if t := os.Getenv("TERM"); t == "" || t == "dumb" {
		return nil, false
	}
	// A serial line may be 0 by 0: nobody knows its size.
	width, height, err := term.GetSize(int(f.Fd()))
	return f, err == nil && width > 0 && height > 0
}
