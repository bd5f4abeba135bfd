package run

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// perfWarmUp is how long the guest sends before it is counted.
const perfWarmUp = 500 * time.Millisecond

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
			if err := l.counterTrial(ctx, &c, f, s, vm, srv); err != nil {
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

// counterTrial counts at one size, and leaves a guest that waits for the next.
func (l *Lab) counterTrial(ctx context.Context, out *results.Counters, f *results.Folder, s guest.Sender, vm *qemu.VM, srv *server.Server) error {
	ctx, cancel := context.WithTimeoutCause(ctx, perfWindow+talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()
	transcript, err := f.Console(fmt.Sprintf("%03d-%s-perf-%d", out.Boot, out.System.FileName(), out.Size))
	if err != nil {
		return err
	}
	if err := s.Send(ctx, out.Size); err != nil {
		return err
	}
	out.Counts, out.Packets, err = l.watchCounters(ctx, transcript, vm, srv)
	_, full, e := s.Halt(ctx)
	out.Full = full
	return errors.Join(err, e)
}

// watchCounters counts for a window while the guest sends: what it took, and
// the packets that the forwarder received of it.
func (l *Lab) watchCounters(ctx context.Context, transcript io.Writer, vm *qemu.VM, srv *server.Server) (c perf.Counts, packets uint64, err error) {
	if err := sleep(ctx, perfWarmUp); err != nil {
		return c, 0, err
	}
	before, _, from, err := srv.Telemetry(ctx, srv.GuestPort)
	if err != nil {
		return c, 0, err
	}
	p, err := l.Sender.Start(ctx, agent.Spec{Name: "perf", Argv: perf.Argv(vm.Identity().PID, perfWindow)})
	if err != nil {
		return c, 0, err
	}
	con := console.New("perf", p, transcript)
	// Its words may come a moment after its end.
	if _, err := con.Wait(ctx, 0, "perf's counts", func(text []byte) bool {
		_, err := perf.Parse(text)
		return err == nil
	}); err != nil && !errors.Is(err, console.ErrEnded) {
		return c, 0, err
	}
	after, _, to, err := srv.Telemetry(ctx, srv.GuestPort)
	if err != nil {
		return c, 0, err
	}
	if c, err = perf.Parse(con.Text(0)); err != nil {
		return c, 0, &console.Error{Name: "perf", Doing: "count", Err: err, Output: con.Text(0)}
	}
	// perf's window lies between the two readings, and is as long but for the
	// time that perf takes to start: the packets are its share of them.
	share := float64(perfWindow) / float64(to.After.Sub(from.Before))
	return c, uint64(share * float64(after.Ipackets-before.Ipackets)), nil
}
