package run

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"sweep/internal/agent"
)

// busyWatch looks for processes that are none of this run's and use the CPUs
// that it polls on.
type busyWatch struct {
	agent agent.Agent
	cpus  []int
	mine  []agent.Identity
}

// A foreign process counts as polling from this share of a CPU on; below, it
// is what any machine does beside.
const pollingShare = 0.25

func watchBusy(ctx context.Context, a agent.Agent, cpus []int) (*busyWatch, error) {
	self, err := agent.IdentityOf(os.Getpid())
	if err != nil {
		return nil, err
	}
	return &busyWatch{agent: a, cpus: cpus, mine: []agent.Identity{self}}, nil
}

// ours tells the watch of processes of this run.
func (w *busyWatch) ours(ids ...agent.Identity) { w.mine = append(w.mine, ids...) }

// busyTime is a stretch of time that is watched.
type busyTime struct {
	watch *busyWatch
	first agent.Snapshot
}

func (w *busyWatch) begin(ctx context.Context) (busyTime, error) {
	s, err := w.agent.Processes(ctx)
	return busyTime{w, s}, err
}

// end returns a warning for each foreign process that polled since begin.
func (b busyTime) end(ctx context.Context) ([]string, error) {
	last, err := b.watch.agent.Processes(ctx)
	if err != nil {
		return nil, err
	}
	return b.watch.compare(b.first, last), nil
}

func (w *busyWatch) compare(first, last agent.Snapshot) []string {
	before := map[agent.Identity]time.Duration{}
	for _, t := range first.Task {
		before[t.Identity] = t.Used
	}
	window := last.Time.Sub(first.Time)
	var out []string
	for _, t := range last.Task {
		if window <= 0 || slices.Contains(w.mine, t.Identity) || !slices.Contains(w.cpus, t.CPU) {
			continue
		}
		share := float64(t.Used-before[t.Identity]) / float64(window)
		if share < pollingShare {
			continue
		}
		// No share and no CPU number: the same process should read the same
		// beside every point.
		out = append(out, fmt.Sprintf("%s (pid %d), a process that is none of this run's, was busy on a CPU that this run polls on",
			printable(t.Comm), t.PID))
	}
	return out
}

// ForeignPollers looks for a moment, before anything of this run polls, and
// returns a warning for each process that does.
func (l *Lab) ForeignPollers(ctx context.Context) ([]string, error) {
	w, err := watchBusy(ctx, l.Agent, l.Placement.Pollers())
	if err != nil {
		return nil, err
	}
	b, err := w.begin(ctx)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, 400*time.Millisecond); err != nil {
		return nil, err
	}
	return b.end(ctx)
}

// printable is a process's name, which anybody may choose, without what could
// upset a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, s)
}
