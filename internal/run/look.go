package run

import (
	"context"

	"sweep/internal/agent"
	"sweep/internal/sample"
	"sweep/internal/tape"
	"sweep/internal/testpmd"
	"sweep/server"
)

// clientPort is the number of the client's only port.
const clientPort = 0

// look reads everything of a bench that has a counter: the three ports behind
// the guest, and what the three processes had of their CPUs. The client's port
// is read last, and alone: its time is the rate's.
func (b *bench) look(ctx context.Context, phase tape.Phase) (tape.Look, error) {
	l := tape.Look{Phase: phase}
	usage, err := b.lab.Agent.Usage(ctx,
		agent.Poller{PID: b.server.Identity().PID, Thread: testpmd.Worker},
		agent.Poller{PID: b.client.Identity().PID, Thread: testpmd.Worker},
		agent.Poller{PID: b.vm.Identity().PID, Thread: b.guestThread})
	if err != nil {
		return l, err
	}
	l.Usage = tape.Usage{Forwarder: usage[0], Client: usage[1], Guest: usage[2]}
	counters, readings, err := b.server.Counters(ctx, server.GuestPort, server.WirePort)
	if err != nil {
		return l, err
	}
	l.Guest, l.Wire = port(counters[0], readings[0]), port(counters[1], readings[1])
	counters, readings, err = b.client.Counters(ctx, clientPort)
	if err != nil {
		return l, err
	}
	l.Client = port(counters[0], readings[0])
	return l, nil
}

func port(c testpmd.Counters, r agent.Reading) sample.Port {
	return sample.Port{
		Before: r.Before, After: r.After,
		RxPackets: c.Ipackets, RxBytes: c.Ibytes, RxMissed: c.Imissed, RxErrors: c.Ierrors, RxNombuf: c.RxNombuf,
		TxPackets: c.Opackets, TxBytes: c.Obytes, TxErrors: c.Oerrors,
	}
}

// linksDown names the ports whose link is down.
func (b *bench) linksDown(ctx context.Context) (down []string, err error) {
	for _, p := range []struct {
		name string
		up   func(context.Context, int) (bool, error)
		port int
	}{
		{"the forwarder's port to the guest", b.server.LinkUp, server.GuestPort},
		{"the forwarder's port to the wire", b.server.LinkUp, server.WirePort},
		{"the client's port", b.client.LinkUp, clientPort},
	} {
		up, err := p.up(ctx, p.port)
		if err != nil {
			return nil, err
		}
		if !up {
			down = append(down, p.name)
		}
	}
	return down, nil
}
