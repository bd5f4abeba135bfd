// Package run carries out a plan: it alone knows the order in which things
// start, are measured and stop.
package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"syscall"
	"time"

	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/tape"
	"sweep/internal/testbed"
)

// Progress is told what happens. Its methods are called from one goroutine.
type Progress interface {
	Booting(b plan.Boot)
	Measuring(t plan.Trial)
	Rate(t plan.Trial, pps float64)
	Ended(t results.Trial)
	// Block is told when a block has ended, and which points are not yet as
	// precise as the plan wants them.
	Block(round int, wide []string)
}

// Lab is what is set up to measure on: everything that the trials share. The
// machine with the client is another one than that with forwarder and guest, or
// the same.
type Lab struct {
	testbed.Ends
	Placement testbed.Placement
	Wire      testbed.Wire
	Accel     qemu.Accel
	Guests    map[string]guest.Guest
}

// Execute carries out the plan and appends each trial to the folder as it
// ends; what the folder holds already is not measured again. A trial that fails
// is recorded with its reason and the run goes on; the error is for what makes
// going on senseless: the context's end, or a folder that takes no more. wide
// names the points that are not yet as precise as the plan wants them.
func (l *Lab) Execute(ctx context.Context, p plan.Plan, f *results.Folder, prog Progress, wide func([]results.Trial) []string) error {
	done := map[plan.Trial]bool{}
	for _, t := range f.Trials() {
		done[t.Trial] = true
		prog.Ended(t)
	}
	for round := 1; ; round++ {
		for _, b := range p.Block(round) {
			b.Trials = slices.DeleteFunc(b.Trials, func(t plan.Trial) bool { return done[t] })
			if len(b.Trials) == 0 {
				continue
			}
			if err := l.boot(ctx, p, b, f, prog); err != nil {
				return err
			}
		}
		// A run that is resumed looks at each block as the run before did.
		until := slices.DeleteFunc(f.Trials(), func(t results.Trial) bool { return t.Round > round })
		names := wide(until)
		prog.Block(round, names)
		if p.Over(round, len(names)) {
			return nil
		}
	}
}

// boot carries out the trials of one virtual machine.
func (l *Lab) boot(ctx context.Context, p plan.Plan, b plan.Boot, f *results.Folder, prog Progress) (err error) {
	prog.Booting(b)
	started := time.Now()
	record := func(t results.Trial) error {
		if err := f.Append(t); err != nil {
			return notWritten(err)
		}
		prog.Ended(t)
		return nil
	}
	var done int
	var last results.Trial
	err = l.withBench(ctx, b, f, func(bench *bench) error {
		for _, t := range b.Trials {
			prog.Measuring(t)
			var err error
			last, err = bench.trial(ctx, t, p.Duration, f, prog)
			if full := (stop{}); errors.As(err, &full) || err != nil && ctx.Err() != nil {
				return err
			}
			done++
			if err := errors.Join(record(last), context.Cause(ctx)); err != nil {
				return err
			}
			if err != nil {
				return err // the bench is broken: its other trials fail for this
			}
			started = time.Now()
		}
		return nil
	})
	if end := ends(ctx, err); end != nil || err == nil {
		return end
	}
	// The trials that never came to be measured fail for the same reason.
	sentence, console := Explain(err)
	if done > 0 {
		sentence, console = last.Error, last.Console
	}
	for _, t := range b.Trials[done:] {
		rec := &recorder{folder: f, tape: tape.Tape{Trial: t, Failure: sentence, Console: console}}
		if err := errors.Join(rec.write(tape.Line{Begin: true}), rec.end()); err != nil {
			return err
		}
		failed := results.Trial{Started: started.UTC(), Took: time.Since(started)}
		failed.Judge(&rec.tape)
		if err := record(failed); err != nil {
			return err
		}
	}
	return nil
}

// notWritten is the end of a run whose folder takes no more.
func notWritten(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w: free some, or name a folder on another disk with --results", err)
	}
	return stop{fmt.Errorf("%w; what was measured until then is kept", err)}
}

// stop is an error that ends the run and not only the boot.
type stop struct{ err error }

func (s stop) Error() string { return s.err.Error() }
func (s stop) Unwrap() error { return s.err }

// ends is the error that a run ends with, of one that a boot ended with: nil
// where that concerns the boot alone.
func ends(ctx context.Context, err error) error {
	var s stop
	switch {
	case errors.As(err, &s):
		return s.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return nil
}

// cleanups are undone last first, all of them, on a context of their own.
type cleanups []func(context.Context) error

func (c *cleanups) add(f func(context.Context) error) { *c = append(*c, f) }

func (c *cleanups) run() error {
	var errs []error
	for i := len(*c) - 1; i >= 0; i-- {
		// Each has a deadline of its own: one that hangs takes no time from
		// the next.
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		errs = append(errs, (*c)[i](ctx))
		cancel()
	}
	return errors.Join(errs...)
}
