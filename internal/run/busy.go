package run

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweep/internal/agent"
)

// busyWatch looks for processes that are none of this run's and use the CPUs
// of a machine that it polls on.
type busyWatch struct {
	agent agent.Agent
	cpus  []int
	mine  []agent.Identity
}

// A foreign process counts as polling from this share of a CPU on; below, it
// is what any machine does beside.
const pollingShare = 0.25

// watches are a watch for each of the lab's machines: that which sends, and that
// which receives where it is another one.
func (l *Lab) watches() []*busyWatch {
	p := l.Placement
	if !l.Two() {
		return []*busyWatch{{agent: l.Sender, cpus: p.Pollers()}}
	}
	return []*busyWatch{{agent: l.Sender, cpus: []int{p.Forwarder, p.Guest}}, {agent: l.Receiver, cpus: []int{p.Client}}}
}

// ours tells the watch of processes of this run.
func (w *busyWatch) ours(ids ...agent.Identity) { w.mine = append(w.mine, ids...) }

// machineWatch looks at a machine during a trial: at processes that are none of
// the run's, and at what a hypervisor takes.
type machineWatch struct {
	busy    *busyWatch
	last    agent.Snapshot
	began   cpuTimes
	foreign []string // each once
}

// machineWatches are those of all machines.
type machineWatches []*machineWatch

func (b *bench) watchMachines(ctx context.Context) (machineWatches, error) {
	var all machineWatches
	for _, busy := range b.busy {
		m := &machineWatch{busy: busy}
		var err error
		if m.last, err = busy.agent.Processes(ctx); err != nil {
			return nil, err
		}
		if m.began, err = readCPUTimes(ctx, busy.agent); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}

// look compares the processes with those of the last look.
func (all machineWatches) look(ctx context.Context) error {
	for _, m := range all {
		now, err := m.busy.agent.Processes(ctx)
		if err != nil {
			return err
		}
		for _, f := range m.busy.compare(m.last, now) {
			if !slices.Contains(m.foreign, f) {
				m.foreign = append(m.foreign, f)
			}
		}
		m.last = now
	}
	return nil
}

// end returns the greatest share that was stolen of a machine's pollers' CPUs
// since the watch began, and a sentence for each foreign process that polled.
func (all machineWatches) end(ctx context.Context) (stolen float64, foreign []string, err error) {
	if err := all.look(ctx); err != nil {
		return 0, nil, err
	}
	for _, m := range all {
		now, err := readCPUTimes(ctx, m.busy.agent)
		if err != nil {
			return 0, nil, err
		}
		stolen = max(stolen, now.stolenSince(m.began, m.busy.cpus))
		foreign = append(foreign, m.foreign...)
	}
	return stolen, foreign, nil
}

// cpuTimes are all CPUs' times since the machine started, in ticks.
type cpuTimes map[int]cpuTime

type cpuTime struct{ stolen, all uint64 }

func readCPUTimes(ctx context.Context, a agent.Agent) (cpuTimes, error) {
	r, err := a.Read(ctx, "/proc/stat")
	if err != nil {
		return nil, err
	}
	return parseCPUTimes(string(r[0].Data)), nil
}

// parseCPUTimes reads the lines of /proc/stat that begin with cpuN: user, nice,
// system, idle, iowait, irq, softirq, steal, and two that are in the first two
// (proc(5)).
func parseCPUTimes(text string) cpuTimes {
	out := cpuTimes{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 9 {
			continue
		}
		cpu, err := strconv.Atoi(strings.TrimPrefix(words[0], "cpu"))
		if err != nil {
			continue // the sum of all, or something else
		}
		var t cpuTime
		for i, w := range words[1:9] {
			n, _ := strconv.ParseUint(w, 10, 64)
			t.all += n
			if i == 7 {
				t.stolen = n
			}
		}
		out[cpu] = t
	}
	return out
}

// stolenSince is the share of some CPUs' time that a hypervisor took.
func (t cpuTimes) stolenSince(u cpuTimes, cpus []int) float64 {
	var stolen, all uint64
	for _, c := range cpus {
		stolen += t[c].stolen - u[c].stolen
		all += t[c].all - u[c].all
	}
	if all == 0 {
		return 0
	}
	return float64(stolen) / float64(all)
}

func (w *busyWatch) compare(first, last agent.Snapshot) []string {
	before := map[agent.Identity]time.Duration{}
	for _, t := range first.Task {
		before[t.Identity] = t.Used
	}
	window := last.Time.Sub(first.Time)
	var out []string
	for _, t := range last.Task {
		if window <= 0 || t.Identity == last.Self || slices.Contains(w.mine, t.Identity) || !slices.Contains(w.cpus, t.CPU) {
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
	b := bench{busy: l.watches()}
	m, err := b.watchMachines(ctx)
	if err != nil {
		return nil, err
	}
	if err := sleep(ctx, 400*time.Millisecond); err != nil {
		return nil, err
	}
	_, foreign, err := m.end(ctx)
	return foreign, err
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
