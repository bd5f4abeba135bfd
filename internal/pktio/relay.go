package pktio

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"sweep/internal/fault"
)

// faultyRelay is a [Relay], or a test's.
type faultyRelay interface {
	From() Port
	To() Port
	Plant(f fault.Spec, hold bool)
	Poll(time.Duration)
	Passed() Passed
}

// Pass relays until it is told to quit, until typed or ctx ends. Its console is
// typed, line by line, and out: faults (see [fault.Grammar]), stats and quit.
// The last word are its counters.
func Pass(ctx context.Context, typed <-chan string, out io.Writer, r faultyRelay, f fault.Spec) error {
	p := passing{out: out, relay: r, fault: f}
	p.plant()
	p.say("ready fault=%v", p.fault)
	defer func() { p.say("stopped %v", r.Passed()) }()
	for {
		var quit bool
		var line string
		open := true
		select {
		case line, open = <-typed:
			quit = p.command(line)
		case <-ctx.Done():
			quit = true
		default:
		}
		if quit || !open {
			return nil
		}
		p.peers()
		if !p.up[0] || !p.up[1] {
			// A driver that shares memory with its peer must not be called
			// without one.
			time.Sleep(5 * poll)
			continue
		}
		if time.Now().Before(p.pausedUntil) {
			time.Sleep(poll)
			continue
		}
		r.Poll(poll)
		p.moment()
	}
}

// passing is a relay that is told what to do.
type passing struct {
	out   io.Writer
	relay faultyRelay
	fault fault.Spec

	planted     time.Time // when there was a first frame behind the last change
	base        uint64    // received before that change
	paused      bool      // that fault is over
	pausedUntil time.Time

	up     [2]bool // the ports' peers
	looked time.Time
}

func (p *passing) say(format string, a ...any) {
	fmt.Fprintf(p.out, "pktio-relay: "+format+"\n", a...)
}

// command does what a line says and returns whether that was to quit.
func (p *passing) command(line string) (quit bool) {
	switch line = strings.TrimSpace(line); line {
	case "":
	case "quit":
		return true
	case "stats":
		p.say("stats %v", p.relay.Passed())
	default:
		// The last pause is over, whatever is typed.
		next := p.fault
		next.Pause = fault.Once{}
		if err := next.Add(line); err != nil {
			p.say("refused %v; there are stats and quit, too", err)
			return false
		}
		p.fault = next
		p.plant()
		p.say("planted %v", p.fault)
	}
	return false
}

// plant begins the faults that hold now; moments are counted anew.
func (p *passing) plant() {
	p.planted, p.base, p.paused = time.Time{}, p.relay.Passed().Received, false
	p.relay.Plant(p.fault, p.fault.Hold.Is && p.fault.Hold.After == 0)
	if p.fault.Pause.Is && p.fault.Pause.After == 0 {
		p.pause()
	}
}

func (p *passing) pause() {
	p.paused = true
	p.pausedUntil = time.Now().Add(p.fault.Pause.For)
	p.say("paused for %v", p.fault.Pause.For)
}

// moment begins the faults whose moment has come.
func (p *passing) moment() {
	if !p.fault.Pause.Is && !p.fault.Hold.Is {
		return
	}
	now := time.Now()
	if p.planted.IsZero() {
		if p.relay.Passed().Received > p.base {
			p.planted = now
		}
		return
	}
	if p.fault.Pause.Is && !p.paused && now.Sub(p.planted) >= p.fault.Pause.After {
		p.pause()
	}
	if h := p.fault.Hold; h.Is && h.After > 0 && now.Sub(p.planted) >= h.After {
		p.relay.Plant(p.fault, true)
	}
}

// peers looks now and then who is there, and says what has changed.
func (p *passing) peers() {
	const look = 10 * time.Millisecond
	if time.Since(p.looked) < look {
		return
	}
	p.looked = time.Now()
	for i, port := range []Port{p.relay.From(), p.relay.To()} {
		if up := port.Up(); up != p.up[i] {
			p.up[i] = up
			p.say("port %d %s", i, map[bool]string{true: "has a peer", false: "has no peer"}[up])
		}
	}
}
