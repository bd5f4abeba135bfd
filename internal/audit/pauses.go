package audit

import (
	"fmt"
	"math"
	"slices"
	"time"

	"sweep/internal/agent"
	"sweep/internal/tape"
)

// A poller that is well never sleeps: it runs, or it waits for its CPU. What
// remains of a stretch of time is time in which it was stopped. A look may come
// in the middle of a pause, so a stretch counts as stopped from half of it on.
const (
	stoppedShare = 0.5
	leastPause   = 150 * time.Millisecond

	// A counter that does not move for this long while the hop before it sends
	// is broken, whatever its process does.
	leastStill = 500 * time.Millisecond

	// waitShare is how much of the time a poller that shares its CPU with none
	// of the others may wait for it.
	waitShare = 0.02
	// mostSwitches is how often a second it may be taken off it: a kernel's own
	// threads come by a few times.
	mostSwitches = 50
	// stolenShare is the same for what a hypervisor takes.
	stolenShare = 0.02
)

// stoodStill looks for a process that stood still while it should have polled,
// and for a counter that did.
func (j *judge) stoodStill(began tape.Look) {
	looks := append(j.tape.In(tape.WarmUp), j.tape.In(tape.Window)...)
	// What was a wait is known for certain only later.
	later := append(slices.Clone(looks), j.tape.In(tape.Drain)...)
	paused := false
	never := func(_, _ tape.Look) bool { return false }
	for _, p := range []struct {
		name  string
		usage func(tape.Look) agent.Usage
		// A guest that waits for room in its ring may sleep until it is woken:
		// that is no pause as long as its packets come.
		moves func(was, now tape.Look) bool
	}{
		{"the client", func(l tape.Look) agent.Usage { return l.Usage.Client }, never},
		{"the forwarder", func(l tape.Look) agent.Usage { return l.Usage.Forwarder }, j.needNotPoll},
		{"the guest", func(l tape.Look) agent.Usage { return l.Usage.Guest }, func(was, now tape.Look) bool {
			return now.Guest.RxPackets > was.Guest.RxPackets && !now.Usage.Guest.Stopped
		}},
	} {
		stop, wait := pauses(later, len(looks), p.usage, p.moves)
		if wait.waited >= leastPause {
			j.note(Descheduled, "%s was kept off its CPU for more than %s at a time", p.name, tenths(leastPause))
		}
		if stop.stopped < leastPause {
			continue
		}
		paused = true
		how := "it neither ran nor waited for a CPU"
		if stop.signalled {
			how += ", because a signal had stopped it"
		}
		j.void(Paused, "%s stood still for %s, from %s on: %s", p.name, tenths(stop.stopped), tenths(stop.from.Sub(p.usage(began).Before)), how)
	}
	if paused {
		return // the counters stood still for that
	}
	last := looks[len(looks)-1]
	if last.Client.RxPackets == began.Client.RxPackets {
		return // it never moved at all, which the ledger says
	}
	if long := longestStill(looks); long >= leastStill {
		j.void(Still, "the client's counter did not move for %s, while %s sent", tenths(long), j.hops().sender)
	}
}

// pause is a stretch in which a process did not run.
type pause struct {
	from      agent.Time
	stopped   time.Duration // neither ran nor waited for a CPU
	waited    time.Duration // waited for one
	signalled bool
}

// pauses finds, in the first n of some looks, the stretch in which a process was
// stopped the longest, and the one in which it waited the longest. A wait is in
// the kernel's figures once it is over: what looks like a stop turns out to be
// one, or not, when the process has run again, so what counts is the least that
// any later look leaves of it.
func pauses(looks []tape.Look, n int, usage func(tape.Look) agent.Usage, moves func(was, now tape.Look) bool) (longestPause, longestWait pause) {
	for i := 1; i < n; i++ {
		first := i - 1
		signalled := false
		for ; i < n; i++ {
			was, now := usage(looks[i-1]), usage(looks[i])
			if wall := now.Before.Sub(was.Before); float64(wall-(now.Ran-was.Ran)-(now.Waited-was.Waited)) <= stoppedShare*float64(wall) ||
				moves(looks[i-1], looks[i]) {
				break
			}
			signalled = signalled || now.Stopped
		}
		if i == first+1 {
			continue // it ran
		}
		was, back := usage(looks[first]), usage(looks[i-1])
		p := pause{from: was.Before, stopped: math.MaxInt64, signalled: signalled}
		for _, l := range looks[i-1:] {
			now := usage(l)
			p.stopped = min(p.stopped, now.Before.Sub(was.Before)-(now.Ran-was.Ran)-(now.Waited-was.Waited))
		}
		p.waited = back.Before.Sub(was.Before) - (back.Ran - was.Ran) - max(p.stopped, 0)
		if p.stopped > longestPause.stopped {
			longestPause = p
		}
		if p.waited > longestWait.waited {
			longestWait = p
		}
	}
	return longestPause, longestWait
}

// longestStill is the longest time for which the client's counter did not move
// although the hop before it sent.
func longestStill(looks []tape.Look) (longest time.Duration) {
	since := 0
	for i := 1; i < len(looks); i++ {
		was, now := looks[since], looks[i]
		if now.Client.RxPackets != was.Client.RxPackets {
			since = i
			continue
		}
		if now.Wire.TxPackets > was.Wire.TxPackets {
			longest = max(longest, now.Client.At().Sub(was.Client.At()))
		}
	}
	return longest
}

// machine says what else of the machine bore upon the window.
func (j *judge) machine(window []tape.Look) {
	if j.tape.Stolen > stolenShare {
		j.note(Stolen, "a hypervisor took more than %g %% of the pollers' CPUs", 100*stolenShare)
	}
	if j.tape.Shared {
		return // then they wait for each other, which is said beside every point
	}
	first, last := window[0].Usage, window[len(window)-1].Usage
	for _, p := range []struct {
		name     string
		was, now agent.Usage
	}{{j.hops().worker, first.Forwarder, last.Forwarder}, {"client", first.Client, last.Client}, {"guest", first.Guest, last.Guest}} {
		wall := p.now.Before.Sub(p.was.Before)
		if float64(p.now.Waited-p.was.Waited) > waitShare*float64(wall) {
			j.note(Descheduled, "the %s was taken off its CPU, and waited for it for more than %g %% of the time", p.name, 100*waitShare)
		} else if float64(p.now.Involuntary-p.was.Involuntary) > mostSwitches*wall.Seconds() {
			j.note(Descheduled, "the %s was taken off its CPU more than %d times a second", p.name, mostSwitches)
		}
	}
}

// tenths writes a duration to a tenth of a second; below a second, to the ten
// milliseconds.
func tenths(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Round(10*time.Millisecond).Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
