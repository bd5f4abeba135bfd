package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/tape"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
)

// How a trial is looked at.
const (
	// every is how often the counters are read.
	every = 100 * time.Millisecond
	// longestWarmUp is when a rate that does not settle is measured all the
	// same: whether it moves in the window, the audit says.
	longestWarmUp = 10 * time.Second
	// The two ends of a window are read several times, until the moment is
	// known to so much; the best of these counts.
	narrowBracket = 200 * time.Microsecond
	mostTries     = 5
	// A process that polls for less than this between two others goes unseen.
	everyProcesses = 5 * every
)

// trial measures one size. The trial that it returns is whole whatever
// happens; the error says that the bench can't be used any more, or that the
// run was interrupted, and then there is no trial.
func (b *bench) trial(ctx context.Context, t plan.Trial, duration time.Duration, f *results.Folder, prog Progress) (results.Trial, error) {
	out := results.Trial{Started: time.Now().UTC(), Settings: b.settings}
	rec := &recorder{folder: f, tape: tape.Tape{
		Trial: t, Duration: duration, Driver: b.driver, Shared: b.lab.Placement.Share == "cpu",
		Expect: b.expect, Frames: b.frames, Caveats: b.caveats(),
	}}
	if err := rec.write(tape.Line{Begin: true}); err != nil {
		return out, err
	}
	err := b.measure(ctx, rec, prog)
	if err != nil && ctx.Err() != nil {
		return out, context.Cause(ctx)
	}
	var full stop
	if errors.As(err, &full) {
		return out, err
	}
	if err == nil {
		err = b.dead(ctx) // such as a relay, whom nobody asks anything
	}
	err = b.explain(ctx, &rec.tape, err)
	rec.tape.Lost = b.transcriptErrs()
	if err := rec.end(); err != nil {
		return out, err
	}
	out.Judge(&rec.tape)
	out.Took = time.Since(out.Started)
	return out, err
}

// explain puts an error into words on the tape. It returns the error where it
// says that the bench can't be used any more.
func (b *bench) explain(ctx context.Context, t *tape.Tape, err error) error {
	if err == nil {
		return nil
	}
	t.Failure, t.Console = Explain(err)
	var refused refusedSize
	if errors.As(err, &refused) {
		t.Refusal = true
		return nil // it can be told another size
	}
	if dead := b.died(ctx); dead != nil {
		t.Failure = dead.Error()
	}
	return err
}

// refusedSize is a guest's, its device's or its testpmd's no to a size.
type refusedSize struct{ error }

func (e refusedSize) Unwrap() error { return e.error }

// asked says of a guest's answer whether it was a no.
func asked(err error) error {
	var byGuest guest.Refused
	var byTestpmd *testpmd.Refused
	if errors.As(err, &byGuest) || errors.As(err, &byTestpmd) {
		return refusedSize{err}
	}
	return err
}

// died says which process of the bench has ended, and how. One that was killed
// shows in its console's end, which may come a moment after whatever else it
// broke.
func (b *bench) died(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	for {
		if dead := b.dead(ctx); dead != nil {
			return dead
		}
		if sleep(ctx, every/5) != nil {
			return nil
		}
	}
}

// recorder writes a trial's tape, in memory and on disk.
type recorder struct {
	folder *results.Folder
	tape   tape.Tape
}

func (r *recorder) write(l tape.Line) error {
	l.Boot, l.Size = r.tape.Boot, r.tape.Size
	if err := r.folder.Record(l); err != nil {
		return notWritten(err)
	}
	return nil
}

func (r *recorder) look(l tape.Look) error {
	r.tape.Looks = append(r.tape.Looks, l)
	return r.write(tape.Line{Look: &l})
}

func (r *recorder) show(s sample.Reading) error {
	r.tape.Shows = append(r.tape.Shows, s)
	return r.write(tape.Line{Show: &s})
}

func (r *recorder) end() error {
	whole := r.tape
	whole.Looks, whole.Shows = nil, nil
	return r.write(tape.Line{Whole: &whole})
}

// caveats are what a reader must know of every number that the lab measures.
func (l *Lab) caveats() []string {
	var out []string
	if l.Accel.Name == "tcg" {
		out = append(out, "the guest ran in an emulator (TCG), because "+l.Accel.Why)
	}
	switch l.Placement.Share {
	case "cpu":
		out = append(out, "pollers shared a CPU, because there are too few: this shows that the kit works, not how fast the guest is")
	case "core":
		out = append(out, "pollers shared a core's two hardware threads, because there are too few: the rates depend on each other")
	}
	return out
}

// measure lets the guest send and reads everything that a trial is made of.
func (b *bench) measure(ctx context.Context, rec *recorder, prog Progress) error {
	ctx, cancel := context.WithTimeoutCause(ctx, longestWarmUp+rec.tape.Duration+talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()

	if _, err := b.see(ctx, rec, tape.Idle); err != nil {
		return err
	}
	before, err := b.between.forwarded(ctx)
	if err != nil {
		return err
	}
	machines, err := b.watchMachines(ctx)
	if err != nil {
		return err
	}
	if err := asked(b.sender.Send(ctx, rec.tape.Size)); err != nil {
		return err
	}
	if err := b.settle(ctx, rec); err != nil {
		return err
	}
	if err := b.window(ctx, rec, machines, prog); err != nil {
		return err
	}
	var counted tape.Counted
	if counted.Sent, counted.NoRoom, err = b.sender.Halt(ctx); err != nil {
		return asked(err) // its device refused packets; but it has stopped
	}
	if err := b.drain(ctx, rec); err != nil {
		return err
	}
	after, err := b.between.forwarded(ctx)
	if err != nil {
		return err
	}
	counted.Forward = tape.Forward{
		Received: after.Received - before.Received, Sent: after.Sent - before.Sent, Dropped: after.Dropped - before.Dropped,
	}
	rec.tape.Counted = &counted
	rec.tape.Stolen, rec.tape.Foreign, err = machines.end(ctx)
	return err
}

// see looks at everything once and records it.
func (b *bench) see(ctx context.Context, rec *recorder, phase tape.Phase) (tape.Look, error) {
	l, err := b.look(ctx, phase)
	if err != nil {
		return l, err
	}
	return l, rec.look(l)
}

// settle waits until the rate at which packets arrive is steady.
func (b *bench) settle(ctx context.Context, rec *recorder) error {
	var rates []float64
	last, err := b.see(ctx, rec, tape.WarmUp)
	if err != nil {
		return err
	}
	began := time.Now()
	for next := began.Add(every); ; next = next.Add(every) {
		if err := sleepUntil(ctx, next); err != nil {
			return err
		}
		l, err := b.see(ctx, rec, tape.WarmUp)
		if err != nil {
			return err
		}
		if pps, _, err := sample.RxRate(last.Client, l.Client); err == nil {
			rates = append(rates, pps)
		}
		last = l
		if sample.Settled(rates) || time.Since(began) > longestWarmUp {
			return nil
		}
	}
}

// window reads the counters for the duration of the window.
func (b *bench) window(ctx context.Context, rec *recorder, m machineWatches, prog Progress) error {
	down, err := b.linksDown(ctx)
	if err != nil {
		return err
	}
	rec.tape.Down = down
	if err := b.show(ctx, rec); err != nil {
		return err
	}
	first, err := b.edge(ctx, rec)
	if err != nil {
		return err
	}
	began := time.Now()
	processes := began
	for next := began.Add(every); next.Sub(began) < rec.tape.Duration; next = next.Add(every) {
		if err := sleepUntil(ctx, next); err != nil {
			return err
		}
		l, err := b.see(ctx, rec, tape.Window)
		if err != nil {
			return err
		}
		if pps, _, err := sample.RxRate(first.Client, l.Client); err == nil {
			prog.Rate(rec.tape.Trial, pps)
		}
		if time.Since(processes) >= everyProcesses {
			processes = time.Now()
			if err := m.look(ctx); err != nil {
				return err
			}
		}
	}
	if err := sleepUntil(ctx, began.Add(rec.tape.Duration)); err != nil {
		return err
	}
	if _, err := b.edge(ctx, rec); err != nil {
		return err
	}
	return b.show(ctx, rec)
}

// edge reads an end of the window: several times, for the moment of each is
// only known to lie between two others, and the best one counts.
func (b *bench) edge(ctx context.Context, rec *recorder) (tape.Look, error) {
	var tries []tape.Look
	best := 0
	bracket := func(l tape.Look) time.Duration { return l.Client.After.Sub(l.Client.Before) }
	for range mostTries {
		l, err := b.look(ctx, tape.Edge)
		if err != nil {
			return l, err
		}
		tries = append(tries, l)
		if bracket(l) < bracket(tries[best]) {
			best = len(tries) - 1
		}
		if bracket(tries[best]) <= narrowBracket {
			break
		}
	}
	tries[best].Phase = tape.Window
	for _, l := range tries {
		if err := rec.look(l); err != nil {
			return l, err
		}
	}
	return tries[best], nil
}

// drain waits until the pipes behind a guest that has stopped are empty. Where
// they never are, there is no look of that phase.
func (b *bench) drain(ctx context.Context, rec *recorder) error {
	still, err := b.stand(ctx, rec.look)
	if err != nil || still == nil {
		return err
	}
	still.Phase = tape.Still
	return rec.look(*still)
}

// stand looks until the counters stand still, calls each with the looks before
// that, and returns the last; nil where they never do.
func (b *bench) stand(ctx context.Context, each func(tape.Look) error) (*tape.Look, error) {
	if w, ok := b.lab.Wire.(testbed.Relayed); ok {
		// What a relay holds back no counter shows.
		if err := sleep(ctx, w.Fault.Delay); err != nil {
			return nil, err
		}
	}
	last, err := b.look(ctx, tape.Drain)
	if err != nil {
		return nil, err
	}
	still := 0
	for range 100 {
		if err := each(last); err != nil {
			return nil, err
		}
		if err := sleep(ctx, every/5); err != nil {
			return nil, err
		}
		l, err := b.look(ctx, tape.Drain)
		if err != nil {
			return nil, err
		}
		switch {
		case !l.Guest.Same(last.Guest) || !l.Wire.Same(last.Wire) || !l.Client.Same(last.Client):
			still = 0
		case b.between.sees() && !polled(last.Usage.Forwarder, l.Usage.Forwarder) || !polled(last.Usage.Client, l.Usage.Client):
			// It hasn't looked into its rings: they may be full.
		default:
			if still++; still == 2 {
				return &l, nil
			}
		}
		last = l
	}
	return nil, nil
}

// polled says whether a poller ran between two looks, long enough for a round of
// its ports.
func polled(was, now agent.Usage) bool { return now.Ran-was.Ran > 100*time.Microsecond }

// show reads the client's counters by `show port stats`, whose Rx-pps is the
// rate since the last such look.
func (b *bench) show(ctx context.Context, rec *recorder) error {
	block, reply, err := b.client.ReadStats(ctx, clientPort)
	if err != nil {
		return err
	}
	return rec.show(sample.Reading{
		Before: reply.Before, After: reply.After,
		Packets: *block.RxPackets, Bytes: *block.RxBytes,
		Missed: value(block.RxMissed), Errors: value(block.RxErrors), Nombuf: value(block.RxNombuf),
		ShownPps: block.RxPps,
	})
}

// value is a counter that an old testpmd may lack.
func value(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

func sleepUntil(ctx context.Context, t time.Time) error { return sleep(ctx, time.Until(t)) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
