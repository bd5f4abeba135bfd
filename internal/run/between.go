package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/sample"
	"sweep/internal/tape"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/vhost"
)

// between is what stands between the guest's NIC and the wire, on the machine
// that sends.
type between interface {
	// look reads the counters of its two sides.
	look(ctx context.Context) (guest, wire sample.Port, err error)
	// worker is what moves the packets, of whose CPU time Usage tells.
	worker() agent.Poller
	// forward begins to pass on what the guest sends; glimpse says that some
	// of it, which waits already, is to be looked at first. halt ends it.
	forward(ctx context.Context, glimpse bool) ([]testpmd.Frame, error)
	halt(ctx context.Context) error
	// sees says whether frames can be looked at on their way.
	sees() bool
	// forwarded is what it counted since forward, by itself or by the counters
	// of its two sides then and now.
	forwarded(ctx context.Context) (tape.Forward, error)
	// linksDown names its sides whose link is down.
	linksDown(ctx context.Context) ([]string, error)
	// about says what it is, and the features that the guest's driver
	// negotiated with it where it knows them.
	about(ctx context.Context) (version string, features []string, err error)
	// consoles and identities are those of its processes.
	consoles() []*console.Console
	identities() []agent.Identity
}

// forwarder is testpmd, on a vhost-user port.
type forwarder struct{ *server.Server }

func (f *forwarder) look(ctx context.Context) (guest, wire sample.Port, err error) {
	counters, readings, err := f.Counters(ctx, f.GuestPort, f.WirePort)
	if err != nil {
		return guest, wire, err
	}
	return port(counters[0], readings[0]), port(counters[1], readings[1]), nil
}

func (f *forwarder) worker() agent.Poller {
	return agent.Poller{PID: f.Identity().PID, Thread: testpmd.Worker}
}

func (f *forwarder) forward(ctx context.Context, glimpse bool) (frames []testpmd.Frame, err error) {
	if glimpse {
		if frames, err = f.Glimpse(ctx); err != nil {
			return nil, err
		}
	}
	return frames, f.Forward(ctx)
}

func (f *forwarder) sees() bool { return true }

// halt stops the forwarder. One that is gone has stopped.
func (f *forwarder) halt(ctx context.Context) error {
	if f.Console().Ended() {
		return nil
	}
	_, err := f.Halt(ctx)
	return err
}

func (f *forwarder) forwarded(ctx context.Context) (tape.Forward, error) {
	c, err := f.Forwarded(ctx)
	return tape.Forward{Received: c.Received, Sent: c.Sent, Dropped: c.Dropped}, err
}

func (f *forwarder) linksDown(ctx context.Context) (down []string, err error) {
	for _, p := range []struct {
		name string
		port int
	}{
		{"the forwarder's port to the guest", f.GuestPort},
		{"the forwarder's port to the wire", f.WirePort},
	} {
		up, err := f.LinkUp(ctx, p.port)
		if err != nil {
			return nil, err
		}
		if !up {
			down = append(down, p.name)
		}
	}
	return down, nil
}

func (f *forwarder) about(ctx context.Context) (string, []string, error) {
	_, version, _, err := f.Telemetry(ctx, f.GuestPort)
	// Where the forwarder doesn't say, there is nothing to compare.
	features, _ := vhost.Negotiated(f.Console().Text(0))
	return version, features.Names(), err
}

func (f *forwarder) consoles() []*console.Console { return []*console.Console{f.Console()} }
func (f *forwarder) identities() []agent.Identity { return []agent.Identity{f.Identity()} }

// launchBetween starts what stands between guest and wire.
func (b *bench) launchBetween(ctx context.Context, lay layout, transcript io.Writer, undo *cleanups) error {
	if n, ok := lay.port.(vhost.Net); ok {
		b.between = &tap{&server.Tap{Net: n, Agent: b.lab.Sender}}
		return nil
	}
	s, err := server.Launch(ctx, b.lab.Sender, lay.server, lay.serverHost, transcript)
	if err != nil {
		return err
	}
	undo.add(s.Quit)
	b.between = &forwarder{s}
	return nil
}

// findWorker finds the thread of the kernel's that serves the guest, where one
// does, counts it as ours where it is a process of its own, and binds it to the
// forwarder's CPU.
func (b *bench) findWorker(ctx context.Context) (err error) {
	t, ok := b.between.(*tap)
	if !ok {
		return nil
	}
	if t.Worker, err = t.Net.Worker(ctx, t.Agent, b.vm.Identity().PID); err != nil {
		return err
	}
	if t.Worker.PID != b.vm.Identity().PID {
		all, err := t.Agent.Processes(ctx)
		if err != nil {
			return err
		}
		for _, p := range all.Task {
			if p.PID == t.Worker.PID {
				b.ours(p.Identity)
			}
		}
	}
	cpu := b.lab.Placement.Forwarder
	if _, err := t.Agent.Pin(ctx, t.Worker.PID, "vhost-", []int{cpu}); err != nil {
		return fmt.Errorf("bind the vhost thread to CPU %d: %w", cpu, err)
	}
	return nil
}

// tap is the kernel's: vhost-net and a macvtap over the wire's near end.
type tap struct{ *server.Tap }

func (t *tap) look(ctx context.Context) (guest, wire sample.Port, err error) { return t.Counters(ctx) }
func (t *tap) worker() agent.Poller                                          { return t.Worker }

// forward has nothing to do: the kernel passes on from where the guest's driver
// is ready.
func (t *tap) forward(context.Context, bool) ([]testpmd.Frame, error) { return nil, nil }
func (t *tap) halt(context.Context) error                             { return nil }
func (t *tap) sees() bool                                             { return false }

// forwarded is what the audit works out again from the two interfaces' counters.
func (t *tap) forwarded(ctx context.Context) (tape.Forward, error) {
	guest, wire, err := t.Counters(ctx)
	return tape.Forward{
		Received: guest.RxPackets + guest.RxMissed, Sent: wire.TxPackets, Dropped: guest.RxMissed + wire.TxErrors,
	}, err
}

func (t *tap) linksDown(ctx context.Context) ([]string, error) { return t.LinksDown(ctx) }

func (t *tap) about(ctx context.Context) (string, []string, error) {
	r, err := t.Agent.Read(ctx, "/proc/sys/kernel/osrelease")
	if err != nil {
		return "", nil, err
	}
	if r[0].Err != "" {
		return "", nil, errors.New(r[0].Err)
	}
	return "vhost-net of Linux " + strings.TrimSpace(string(r[0].Data)), nil, nil
}

func (t *tap) consoles() []*console.Console { return nil }

// identities has none of its own: the thread is QEMU's, or a process of the
// kernel's that is called after it.
func (t *tap) identities() []agent.Identity { return nil }
