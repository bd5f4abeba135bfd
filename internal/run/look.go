package run

import (
	"context"

	"sweep/internal/agent"
	"sweep/internal/sample"
	"sweep/internal/tape"
	"sweep/internal/testpmd"
)

// clientPort is the number of the client's only port.
const clientPort = 0

// look reads everything of a bench that has a counter: the three ports behind
// the guest, and what the three processes had of their CPUs. The client's port
// is read last, and alone: its time is the rate's.
func (b *bench) look(ctx context.Context, phase tape.Phase) (tape.Look, error) {
	l := tape.Look{Phase: phase}
	usage, err := b.usage(ctx)
	if err != nil {
		return l, err
	}
	l.Usage = usage
	if l.Guest, l.Wire, err = b.between.look(ctx); err != nil {
		return l, err
	}
	counters, readings, err := b.client.Counters(ctx, clientPort)
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

// usage is what the processes had of their CPUs.
func (b *bench) usage(ctx context.Context) (u tape.Usage, err error) {
	sender := []agent.Poller{b.between.worker(), {PID: b.vm.Identity().PID, Thread: b.guestThread}}
	receiver := []agent.Poller{{PID: b.client.Identity().PID, Thread: testpmd.Worker}}
	if !b.lab.Two() {
		sender, receiver = append(sender, receiver...), nil
	}
	got, err := b.lab.Sender.Usage(ctx, sender...)
	if err != nil {
		return u, err
	}
	if receiver != nil {
		there, err := b.lab.Receiver.Usage(ctx, receiver...)
		if err != nil {
			return u, err
		}
		got = append(got, there...)
	}
	return tape.Usage{Forwarder: got[0], Guest: got[1], Client: got[2]}, nil
}

// linksDown names the ports whose link is down.
func (b *bench) linksDown(ctx context.Context) ([]string, error) {
	down, err := b.between.linksDown(ctx)
	if err != nil {
		return nil, err
	}
	up, err := b.client.LinkUp(ctx, clientPort)
	if err == nil && !up {
		down = append(down, "the client's port")
	}
	return down, err
}
