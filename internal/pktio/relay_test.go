package pktio

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"sweep/internal/fault"
)

// end is one of a relay's ports.
type end struct{ up bool }

func (e *end) Up() bool            { return e.up }
func (*end) Driver() string        { return "net_test" }
func (*end) MAC() net.HardwareAddr { return nil }

// pipe is a relay that receives a frame a poll.
type pipe struct {
	from, to end
	planted  []string
	passed   Passed
	polled   func(n uint64)
}

func (p *pipe) From() Port { return &p.from }
func (p *pipe) To() Port   { return &p.to }

func (p *pipe) Plant(f fault.Spec, hold bool) {
	p.planted = append(p.planted, fmt.Sprintf("%v hold=%t", f, hold))
}
func (p *pipe) Passed() Passed { return p.passed }

func (p *pipe) Poll(d time.Duration) {
	time.Sleep(d / 10)
	p.passed.Received++
	p.passed.Sent++
	if p.polled != nil {
		p.polled(p.passed.Received)
	}
}

func pass(t *testing.T, p *pipe, spec string, typed <-chan string) string {
	t.Helper()
	f, err := fault.Parse(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	var out bytes.Buffer
	if err := Pass(ctx, typed, &out, p, f); err != nil || ctx.Err() != nil {
		t.Fatalf("Pass = %v, %v", err, ctx.Err())
	}
	return strings.ReplaceAll(out.String(), "pktio-relay: ", "")
}

func TestPassCommands(t *testing.T) {
	typed := make(chan string, 20)
	for _, line := range []string{"", "stats", "drop 3", "fly", "hold", "none", "quit"} {
		typed <- line
	}
	p := &pipe{from: end{true}, to: end{true}}
	got := pass(t, p, "short=4", typed)
	for _, want := range []string{
		"ready fault=short=4\n", "port 0 has a peer\nport 1 has a peer\n", "planted drop=3,short=4\n",
		`refused fault: "fly" is none; there are drop=N`, "planted drop=3,short=4,hold\n", "planted none\n",
		"stopped received=6 sent=6 dropped=0 shortened=0 too_short=0 readdressed=0 waiting=0 full=0\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if want := "short=4 hold=false|drop=3,short=4 hold=false|drop=3,short=4,hold hold=true|none hold=false"; strings.Join(p.planted, "|") != want {
		t.Errorf("planted %q; want %q", p.planted, want)
	}
}

// A driver is not called while one of the ports has no peer.
func TestPassWaitsForPeers(t *testing.T) {
	typed := make(chan string)
	p := &pipe{from: end{true}}
	go func() {
		time.Sleep(100 * time.Millisecond)
		close(typed)
	}()
	if got := pass(t, p, "none", typed); p.passed.Received != 0 || strings.Contains(got, "port 1") {
		t.Errorf("%d polls; it said\n%s", p.passed.Received, got)
	}
}

// Moments are counted from the first frame on, and a pause is one stretch without
// a poll.
func TestMoments(t *testing.T) {
	typed := make(chan string)
	var first, last, paused time.Time
	var longest time.Duration
	p := &pipe{from: end{true}, to: end{true}}
	p.polled = func(n uint64) {
		now := time.Now()
		if first.IsZero() {
			first = now
		} else if gap := now.Sub(last); gap > longest {
			longest, paused = gap, last
		}
		last = now
		if now.Sub(first) > 400*time.Millisecond {
			select {
			case <-typed:
			default:
				close(typed)
			}
		}
	}
	got := pass(t, p, "pause=150ms@100ms,hold@300ms", typed)
	if longest < 150*time.Millisecond || paused.Sub(first) < 100*time.Millisecond || strings.Count(got, "paused for 150ms") != 1 {
		t.Errorf("the longest stretch without a poll was %v, after %v; it said\n%s", longest, paused.Sub(first), got)
	}
	if n := len(p.planted); n < 2 || !strings.HasSuffix(p.planted[0], "hold=false") || !strings.HasSuffix(p.planted[n-1], "hold=true") {
		t.Errorf("planted %q", p.planted)
	}
}

// A pause that was typed happens at once, and no later command brings it again.
func TestPauseIsOnce(t *testing.T) {
	typed := make(chan string, 4)
	typed <- "pause 20ms"
	p := &pipe{from: end{true}, to: end{true}}
	p.polled = func(n uint64) {
		switch n {
		case 10:
			typed <- "drop=2"
		case 20:
			close(typed)
		}
	}
	got := pass(t, p, "none", typed)
	if strings.Count(got, "paused for") != 1 || !strings.Contains(got, "planted drop=2\n") {
		t.Errorf("it said\n%s", got)
	}
}
