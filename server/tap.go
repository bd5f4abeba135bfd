package server

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sweep/internal/agent"
	"sweep/internal/sample"
	"sweep/vhost"
)

// Tap is the sending machine's half over vhost-net. Nothing forwards: a thread
// of the kernel's takes what the guest sends and gives it to a macvtap, which
// hands it to the interface that it stands over.
type Tap struct {
	vhost.Net
	Agent  agent.Agent
	Worker agent.Poller // the thread that serves the guest, once QEMU runs
}

// Counters are what the two interfaces counted: the tap as what came from the
// guest, the interface under it as what went to the wire. What either had no
// room for, or threw away, is its TxErrors.
func (t *Tap) Counters(ctx context.Context) (guest, wire sample.Port, err error) {
	r, err := t.Agent.Read(ctx, t.Table)
	if err != nil {
		return guest, wire, err
	}
	if r[0].Err != "" {
		return guest, wire, fmt.Errorf("counters of %s and %s: %s", t.Name, t.Over, r[0].Err)
	}
	tap, err := interfaceCounters(string(r[0].Data), t.Name)
	if err != nil {
		return guest, wire, err
	}
	over, err := interfaceCounters(string(r[0].Data), t.Over)
	if err != nil {
		return guest, wire, err
	}
	// To the kernel a tap transmits what its user, the guest, hands it.
	guest = sample.Port{RxPackets: tap.TxPackets, RxBytes: tap.TxBytes, RxMissed: tap.TxErrors}
	wire = over
	guest.Before, guest.After = r[0].Before, r[0].After
	wire.Before, wire.After = r[0].Before, r[0].After
	return guest, wire, nil
}

// LinksDown names those of the two interfaces that have no carrier.
func (t *Tap) LinksDown(ctx context.Context) (down []string, err error) {
	if t.Sys == "" {
		return nil, nil
	}
	names := []string{t.Name, t.Over}
	r, err := t.Agent.Read(ctx, t.Sys+"/"+t.Name+"/carrier", t.Sys+"/"+t.Over+"/carrier")
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		// Of an interface that is not up it can't be read at all.
		if strings.TrimSpace(string(r[i].Data)) != "1" {
			down = append(down, name)
		}
	}
	return down, nil
}

// interfaceCounters reads an interface's line of /proc/net/dev (proc(5)). What
// it dropped is in a column beside its errors; to whoever asks where a packet
// went both are the same.
func interfaceCounters(table, name string) (sample.Port, error) {
	for line := range strings.Lines(table) {
		who, numbers, ok := strings.Cut(line, ":")
		if !ok || strings.TrimSpace(who) != name {
			continue
		}
		f := strings.Fields(numbers)
		if len(f) < 16 {
			return sample.Port{}, fmt.Errorf("counters of %s: %q has %d columns, not 16", name, strings.TrimSpace(line), len(f))
		}
		var n [16]uint64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseUint(f[i], 10, 64); err != nil {
				return sample.Port{}, fmt.Errorf("counters of %s: %w", name, err)
			}
		}
		// bytes packets errs drop fifo frame compressed multicast, received;
		// bytes packets errs drop fifo colls carrier compressed, transmitted.
		return sample.Port{
			RxBytes: n[0], RxPackets: n[1], RxErrors: n[2], RxMissed: n[3],
			TxBytes: n[8], TxPackets: n[9], TxErrors: n[10] + n[11],
		}, nil
	}
	return sample.Port{}, fmt.Errorf("counters of %s: there is no such interface", name)
}
