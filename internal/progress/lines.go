package progress

import (
	"fmt"
	"sync"
	"time"

	"sweep/internal/plan"
	"sweep/internal/results"
)

// lines tell of a run in plain lines.
type lines struct {
	screen *Screen
	quiet  bool // only what failed

	mu    sync.Mutex // of state: a view reads it from another goroutine
	state *State
}

// say writes a line in the program's name.
func (l *lines) say(line string) { fmt.Fprintln(l.screen, "sweep:", line) }

// change changes the state.
func (l *lines) change(do func(*State)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	do(l.state)
}

// booting says that a boot begins, and before the first what all of the run
// is: only then is it known how much of it an earlier run has measured.
func (l *lines) booting(now time.Time, b plan.Boot) {
	first := l.state.first == nil
	l.change(func(s *State) { s.Booting(now, b) })
	if first && !l.quiet {
		l.say(l.state.announce(now))
	}
}

func (l *lines) Booting(b plan.Boot) {
	now := l.screen.now()
	l.booting(now, b)
	if !l.quiet {
		fmt.Fprintln(l.screen, l.state.bootLine(now))
	}
}

func (l *lines) Measuring(t plan.Trial) {
	now := l.screen.now()
	l.change(func(s *State) { s.Measuring(now, t) })
}

func (l *lines) Rate(_ plan.Trial, pps float64) {
	l.change(func(s *State) { s.Rate(pps) })
}

func (l *lines) Ended(t results.Trial) {
	now := l.screen.now()
	l.change(func(s *State) { s.Ended(now, t) })
	switch {
	case l.state.first == nil: // the earlier run said it
	case !l.quiet:
		fmt.Fprintln(l.screen, "  "+endLine(t))
	case t.Error != "":
		l.say(endLine(t))
	}
}

func (l *lines) Block(round int, wide []string) {
	now := l.screen.now()
	l.change(func(s *State) { s.Block(now, round, wide) })
	if l.state.first == nil && !l.state.last() {
		return // a block of an earlier run, and this one goes on
	}
	if line, serious := l.state.blockLine(now); line != "" && (serious || !l.quiet) {
		l.say(line)
	}
}

// end says what the run took.
func (l *lines) end() {
	now := l.screen.now()
	l.change(func(s *State) { s.endBoot(now) })
	l.say(l.state.summary(now))
}
