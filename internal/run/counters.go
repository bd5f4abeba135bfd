package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/guest"
	"sweep/internal/perf"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/server"
)

// perfWindow is how long the CPU's counters are watched.
const perfWindow = 2 * time.Second

// countersOf counts, where KVM runs the guest, the cycles and instructions of
// the CPU itself at each size of a boot. Unlike the counts of [Cost] these have
// the guest's waiting in them: to find the ring full costs instructions, too.
// How often it did is beside them.
func (l *Lab) countersOf(ctx context.Context, b plan.Boot, f *results.Folder, say func(string)) error {
	return l.withCounting(ctx, b, f, false, func(s guest.Sender, vm *qemu.VM, srv *server.Server) error {
		for _, t := range b.Trials {
			c := results.Counters{Trial: t}
			var err error
			if err = l.watchCounters(ctx, &c, f, s, vm, srv); err != nil {
				c.Error, _ = Explain(err)
				say(fmt.Sprintf("%s %d B: %s", t.System, t.Size, c.Error))
			}
			if err := f.AppendCounters(c); err != nil {
				return stop{err}
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		return nil
	})
}

func (l *Lab) watchCounters(ctx context.Context, out *results.Counters, f *results.Folder, s guest.Sender, vm *qemu.VM, srv *server.Server) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, perfWindow+talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()
	transcript, err := f.Console(fmt.Sprintf("%03d-%s-perf-%d", out.Boot, out.System.FileName(), out.Size))
	if err != nil {
		return err
	}
	if err := s.Send(ctx, out.Size); err != nil {
		return err
	}
	halted := false
	defer func() {
		if !halted { // the next size needs a guest that waits
			_, _, e := s.Halt(ctx)
			err = errors.Join(err, e)
		}
	}()
	if err := sleep(ctx, warmUp); err != nil {
		return err
	}
	before, _, from, err := srv.Telemetry(ctx, server.GuestPort)
	if err != nil {
		return err
	}
	p, err := l.Agent.Start(ctx, agent.Spec{Name: "perf", Argv: perf.Argv(vm.Identity().PID, perfWindow)})
	if err != nil {
		return err
	}
	con := console.New("perf", p, transcript)
	// Its words may come a moment after its end.
	if _, err := con.Wait(ctx, 0, "perf's counts", func(text []byte) bool {
		_, err := perf.Parse(text)
		return err == nil
	}); err != nil && !errors.Is(err, console.ErrEnded) {
		return err
	}
	after, _, to, err := srv.Telemetry(ctx, server.GuestPort)
	if err != nil {
		return err
	}
	halted = true
	if _, out.Full, err = s.Halt(ctx); err != nil {
		return err
	}
	if out.Counts, err = perf.Parse(con.Text(0)); err != nil {
		return &console.Error{Name: "perf", Doing: "count", Err: err, Output: con.Text(0)}
	}
	// perf's window lies between the two readings, and is as long but for the
	// time that perf takes to start: the packets are its share of them.
	share := float64(perfWindow) / float64(to.After.Sub(from.Before))
	out.Packets = uint64(share * float64(after.Ipackets-before.Ipackets))
	return nil
}
