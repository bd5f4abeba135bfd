package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
	"sweep/server"
)

// CostProgress is told how [Cost] gets on.
type CostProgress interface {
	Booting(b plan.Boot)
	Counted(c results.Cost)
}

// Cost counts what a packet costs each guest, in guest instructions: each
// system is booted as often as the plan's Trials say in a virtual machine that
// counts instructions instead of time (QEMU's icount), and says at each size
// how many it took. What it counted is in the folder whatever the error.
//
// Behind the guest is the forwarder of a run, and no wire: what happens there
// changes when a guest's packets are done, and nothing of what they cost.
//
// Where KVM works and perf is there, the CPU's own counters are read as well.
func Cost(ctx context.Context, o Options, ui UI) error {
	o.Catalog.NoTap = errors.New("instructions are counted on vhost-user; a guest takes as many for a packet on vhost-net")
	return withSession(ctx, o, ui, func(s *session) error {
		accel, err := s.lab.chooseAccel(ctx, o, s.folder, ui)
		if err != nil {
			return err
		}
		s.lab.Accel = qemu.Accel{Name: "tcg", Why: "instructions are counted"}
		if err := s.describe(ctx); err != nil {
			return err
		}
		prog := ui.Counting(s.plan)
		for _, b := range s.plan.Boots() {
			prog.Booting(b)
			if err := s.lab.costs(ctx, b, s.folder, prog); err != nil {
				return err
			}
		}
		if accel.Name != "kvm" {
			return nil
		}
		if err := s.lab.Sender.Find(ctx, "perf"); err != nil {
			ui.Say("without cycles a packet: " + err.Error() + " (Debian's package linux-perf)")
			return nil
		}
		s.lab.Accel = accel
		return s.counters(ctx, ui)
	})
}

// counters reads the CPU's counters in one boot more of each system.
func (s *session) counters(ctx context.Context, ui UI) error {
	p := s.plan
	p.Trials = 1
	for _, b := range p.Boots() {
		b.Number += len(s.plan.Boots())
		for i := range b.Trials {
			b.Trials[i].Boot = b.Number
		}
		ui.Say(fmt.Sprintf("cycles a packet of %s, by the CPU's counters", b.System))
		err := s.lab.countersOf(ctx, b, s.folder, ui.Say)
		if end := ends(ctx, err); end != nil {
			return end
		}
		if err != nil {
			sentence, _ := Explain(err)
			ui.Say(fmt.Sprintf("%s: without cycles a packet: %s", b.System, sentence))
		}
	}
	return nil
}

// Deadlines under icount, where a guest's second can take many.
const (
	countBootDeadline = 5 * time.Minute
	countDeadline     = 3 * time.Minute
)

// costs counts at the sizes of one boot. As in [Lab.Execute] a count that fails
// is recorded, and the error is for what makes going on senseless.
func (l *Lab) costs(ctx context.Context, b plan.Boot, f *results.Folder, prog CostProgress) error {
	done := 0
	record := func(t plan.Trial, agreement float64, c guest.Count, err error) error {
		out := results.Cost{Trial: t, Count: c, Agreement: agreement}
		if err != nil {
			out.Error, out.Console = Explain(err)
		}
		prog.Counted(out)
		done++
		if err := f.AppendCost(out); err != nil {
			return stop{err}
		}
		return nil
	}
	err := l.withCounting(ctx, b, f, true, func(s guest.Sender, _ *qemu.VM, _ *server.Server) error {
		counter, ok := s.(guest.Counter)
		if !ok {
			return errors.New("this guest can't count")
		}
		for _, t := range b.Trials {
			wait, cancel := context.WithTimeoutCause(ctx, countDeadline, fmt.Errorf("no count for %v", countDeadline))
			c, err := counter.Count(wait, t.Size)
			cancel()
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := record(t, counter.Agreement(), c, err); err != nil {
				return err
			}
			var refused guest.Refused
			if err != nil && !errors.Is(err, guest.ErrUncounted) && !errors.As(err, &refused) {
				return err
			}
		}
		return nil
	})
	if end := ends(ctx, err); end != nil || err == nil {
		return end
	}
	for _, t := range b.Trials[done:] {
		if err := record(t, 0, guest.Count{}, err); err != nil {
			return err
		}
	}
	return nil
}

// countSlice is the scheduler slice that the forwarder asks for, and the time
// after which something wakes up beside it. A guest that fills its ring while
// the forwarder waits for a CPU can't be counted, and on a busy machine it would
// wait for the other's turn to end, some milliseconds.
const countSlice = 300 * time.Microsecond

// layCounting is the layout of a boot that counts, under icount or not. There
// is no client.
func (l *Lab) layCounting(s plan.System, dir dirs, icount bool) layout {
	y := l.lay(s, dir, &testbed.Joined{})
	y.server.Wire = testpmd.Device{Name: "net_null0"}
	y.serverHost.Slice, y.vmSpec.Slice = countSlice, 0
	y.vm.Icount = icount
	y.vmSpec.Argv = y.vm.Argv()
	return y
}

// withCounting brings a guest and a forwarder up, calls do, and takes them down
// again.
func (l *Lab) withCounting(ctx context.Context, b plan.Boot, f *results.Folder, icount bool, do func(guest.Sender, *qemu.VM, *server.Server) error) (err error) {
	var undo cleanups
	defer func() {
		if e := undo.run(); e != nil && err == nil {
			err = fmt.Errorf("clean up after boot %d: %w", b.Number, e)
		}
	}()
	logs, dir, err := l.open(ctx, b, f, &undo, "server", "guest")
	if err != nil {
		return err
	}
	lay := l.layCounting(b.System, dir, icount)
	if err := recordCommands(f, b, lay.commands()[:2]); err != nil { // without the client's
		return err
	}
	launch, cancel := context.WithTimeoutCause(ctx, launchDeadline, fmt.Errorf("nothing for %v", launchDeadline))
	defer cancel()
	srv, err := server.Launch(launch, l.Sender, lay.server, lay.serverHost, logs["server"])
	if err != nil {
		return err
	}
	undo.add(srv.Quit)
	vm, err := qemu.Start(launch, l.Sender, lay.vmSpec, logs["guest"])
	if err != nil {
		return err
	}
	undo.add(vm.End)
	boot, cancel := context.WithTimeoutCause(ctx, countBootDeadline, fmt.Errorf("the guest is not ready after %v", countBootDeadline))
	defer cancel()
	sender, err := l.Guests[b.System.Guest].Attach(boot, vm.Console)
	if err != nil {
		return err
	}
	if err := l.pinGuest(ctx, vm); err != nil {
		return err
	}
	waker, err := l.Sender.Wake(ctx, []int{l.Placement.Forwarder}, countSlice)
	if err != nil {
		return err
	}
	undo.add(func(ctx context.Context) error { return agent.End(ctx, waker) })
	// Another deadline: a boot under icount may take longer than a launch.
	forward, cancel := context.WithTimeoutCause(ctx, talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()
	if err := srv.Forward(forward); err != nil {
		return err
	}
	return do(sender, vm, srv)
}
