package run

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sweep/internal/audit"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/testpmd"
	"sweep/server"
)

// clientPort is the number of the client's only port.
const clientPort = 0

// warmUp is how long the guest sends before the counters are first read: the
// rings fill and the schedulers settle in some tens of milliseconds.
const warmUp = 500 * time.Millisecond

// interval is how often the client's counters are read. testpmd's own rates
// are over the time between two reads.
const interval = time.Second

// trial measures one size. The trial that it returns is whole whatever
// happens; the error says that the bench can't be used any more.
func (b *bench) trial(ctx context.Context, t plan.Trial, duration time.Duration, prog Progress) (results.Trial, error) {
	out := results.Trial{Trial: t, Started: time.Now().UTC(), Settings: b.settings, Findings: findings(audit.Caveat, b.caveats())}
	err := b.measure(ctx, t, duration, prog, &out)
	out.Took = time.Since(out.Started)
	out.Findings = append(out.Findings, findings(audit.Record, b.transcriptErrs())...)
	var void voidError
	var refused guest.Refused
	switch {
	case err == nil:
	case ctx.Err() != nil:
		out.Error = "interrupted"
	case errors.As(err, &void):
		out.Error = void.Error() // the numbers are wrong, the bench is not
		err = nil
	case errors.As(err, &refused):
		out.Error, out.Console = Explain(err) // it can be told another size
		err = nil
	default:
		// A process that was killed shows in its console's end, and may take
		// a moment to be reaped.
		look, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		if dead := b.dead(look); dead != nil {
			out.Error = dead.Error()
			_, out.Console = Explain(err)
			break
		}
		out.Error, out.Console = Explain(err)
	}
	if out.Error != "" {
		out.RxPps, out.RxError = 0, 0
	}
	return out, err
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

// findings makes findings of one kind that stand beside a rate.
func findings(kind audit.Kind, texts []string) []audit.Finding {
	var out []audit.Finding
	for _, t := range texts {
		out = append(out, audit.Finding{Kind: kind, Text: t})
	}
	return out
}

// voidError is what audit found to be impossible.
type voidError struct{ err error }

func (e voidError) Error() string { return e.err.Error() }
func (e voidError) Unwrap() error { return e.err }

func (b *bench) measure(ctx context.Context, t plan.Trial, duration time.Duration, prog Progress, out *results.Trial) error {
	talk, cancel := context.WithTimeoutCause(ctx, duration+talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()

	before, err := b.hops(talk)
	if err != nil {
		return err
	}
	busy, err := b.busy.begin(talk)
	if err != nil {
		return err
	}
	if err := b.sender.Send(talk, t.Size); err != nil {
		return err
	}
	if err := b.start(talk); err != nil {
		return err
	}
	if err := sleep(talk, warmUp); err != nil {
		return err
	}

	meter := shows{b}
	if err := b.telemetry(talk, out); err != nil {
		return err
	}
	var seen []sample.Reading
	out.Readings, err = sample.Watch(talk, meter, duration, interval, func(r sample.Reading) {
		seen = append(seen, r)
		if pps, err := sample.Rate(seen); err == nil {
			prog.Rate(t, pps)
		}
	})
	if err != nil {
		return err
	}
	if err := b.telemetry(talk, out); err != nil {
		return err
	}

	sent, dropped, err := b.sender.Halt(talk)
	if err != nil {
		return err
	}
	after, err := b.drain(talk)
	if err != nil {
		return err
	}
	foreign, err := busy.end(talk)
	if err != nil {
		return err
	}
	out.Findings = append(out.Findings, findings(audit.Foreign, foreign)...)
	ledger := after.since(before)
	ledger.GuestSent, ledger.GuestDropped = sent, dropped
	out.Ledger = &ledger
	return b.judge(out)
}

// judge makes the numbers of what was read, and lets audit have its say.
func (b *bench) judge(out *results.Trial) (err error) {
	if err := errors.Join(audit.Watched(out.Size, out.Readings), audit.Drained(out.Size, *out.Ledger)); err != nil {
		return voidError{err}
	}
	if out.RxPps, err = sample.Rate(out.Readings); err != nil {
		return voidError{err}
	}
	out.RxError = sample.StandardError(sample.Rates(out.Readings))
	out.BytesPerPacket = float64(out.Ledger.ClientBytes) / float64(out.Ledger.ClientReceived)
	if out.TelemetryPps, err = sample.Rate(out.Telemetry); err != nil {
		return voidError{err}
	}
	out.ShownPps = shownMean(out.Readings)
	out.Findings = append(out.Findings, findings(audit.Disagree, audit.Observers(out.RxPps, out.TelemetryPps, out.ShownPps))...)
	return nil
}

// shownMean is the mean of the rates that testpmd printed, but for the first,
// whose window began before the trial.
func shownMean(rs []sample.Reading) float64 {
	var sum, n float64
	for _, r := range rs[1:] {
		if r.ShownPps != nil {
			sum += float64(*r.ShownPps)
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / n
}

// shows reads the client's counters by `show port stats`.
type shows struct{ b *bench }

// Read implements [sample.Meter].
func (s shows) Read(ctx context.Context) (sample.Reading, error) {
	block, reply, err := s.b.client.ReadStats(ctx, clientPort)
	if err != nil {
		return sample.Reading{}, err
	}
	return sample.Reading{
		Before: reply.Before, After: reply.After,
		Packets: *block.RxPackets, Bytes: *block.RxBytes,
		Missed: value(block.RxMissed), Errors: value(block.RxErrors), Nombuf: value(block.RxNombuf),
		ShownPps: block.RxPps,
	}, nil
}

// value is a counter that an old testpmd may lack.
func value(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}

// telemetry adds a reading of the client's counters by the second observer.
func (b *bench) telemetry(ctx context.Context, out *results.Trial) error {
	c, _, r, err := b.client.Telemetry(ctx, clientPort)
	if err != nil {
		return err
	}
	out.Telemetry = append(out.Telemetry, sample.Reading{
		Before: r.Before, After: r.After,
		Packets: c.Ipackets, Bytes: c.Ibytes, Missed: c.Imissed, Errors: c.Ierrors, Nombuf: c.RxNombuf,
	})
	return nil
}

// hops are the counters of the three ports behind the guest.
type hops struct {
	guest, wire, client testpmd.Counters
}

func (b *bench) hops(ctx context.Context) (h hops, err error) {
	if h.guest, _, _, err = b.server.Telemetry(ctx, server.GuestPort); err != nil {
		return h, err
	}
	if h.wire, _, _, err = b.server.Telemetry(ctx, server.WirePort); err != nil {
		return h, err
	}
	h.client, _, _, err = b.client.Telemetry(ctx, clientPort)
	return h, err
}

// drain waits until the pipes behind a guest that has stopped are empty: the
// counters stand still.
func (b *bench) drain(ctx context.Context) (hops, error) {
	last, err := b.hops(ctx)
	if err != nil {
		return last, err
	}
	// Once could be a poller whose turn it wasn't.
	still := 0
	for range 50 {
		if err := sleep(ctx, 20*time.Millisecond); err != nil {
			return last, err
		}
		now, err := b.hops(ctx)
		if err != nil {
			return last, err
		}
		if now != last {
			still = 0
		} else if still++; still == 2 {
			return now, nil
		}
		last = now
	}
	return last, voidError{errors.New("packets still arrived a second after the guest had stopped")}
}

func (h hops) since(u hops) audit.Ledger {
	return audit.Ledger{
		ServerReceived: h.guest.Ipackets - u.guest.Ipackets,
		ServerSent:     h.wire.Opackets - u.wire.Opackets,
		ClientReceived: h.client.Ipackets - u.client.Ipackets,
		ClientBytes:    h.client.Ibytes - u.client.Ibytes,
		ClientMissed:   h.client.Imissed - u.client.Imissed,
		ClientErrors:   h.client.Ierrors - u.client.Ierrors,
		ClientNombuf:   h.client.RxNombuf - u.client.RxNombuf,
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
