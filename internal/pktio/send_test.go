package pktio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// wire is a port whose time passes only while it is polled, and which takes a
// frame a microsecond, but for the stretch in which it takes none.
type wire struct {
	rate, count     uint64
	sent            Sent
	frame           []byte
	began, ended    int
	down            time.Duration // from when on it has no peer; 0: never
	stuck, unstuck  time.Duration
	polled          func(at time.Duration) // called before each poll
	cantPrepareThat error
}

func (w *wire) Up() bool               { return w.down == 0 || w.sent.Time < w.down }
func (*wire) Driver() string           { return "net_test" }
func (*wire) MAC() net.HardwareAddr    { return net.HardwareAddr{2, 0, 0, 0, 0, 1} }
func (w *wire) Prepare(f []byte) error { w.frame = f; return w.cantPrepareThat }
func (w *wire) End()                   { w.ended++ }
func (w *wire) Sent() Sent             { return w.sent }

func (w *wire) Begin(rate, count uint64) {
	w.rate, w.count, w.sent = rate, count, Sent{}
	w.began++
}

func (w *wire) Poll(d time.Duration) {
	if w.polled != nil {
		w.polled(w.sent.Time)
	}
	for end := w.sent.Time + d; w.sent.Time < end && (w.count == 0 || w.sent.Packets < w.count); {
		w.sent.Time += time.Microsecond
		if w.sent.Time >= w.stuck && w.sent.Time < w.unstuck {
			w.sent.Full++
		} else if w.rate == 0 || w.sent.Packets < uint64(w.sent.Time)*w.rate/1e9 {
			w.sent.Packets++
		}
	}
	w.sent.Ticks = uint64(w.sent.Time) * 2
}

// talk has lines typed one after the other, the next when what it waits for has
// been said, and returns what was said.
func talk(t *testing.T, w *wire, o SendOptions, steps ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	typed := make(chan string, 20)
	out := &stepper{typed: typed, steps: steps}
	out.step()
	err := Send(ctx, typed, out, w, o, "dpdk=1")
	if ctx.Err() != nil {
		t.Fatalf("it did not end; it said\n%s", &out.text)
	}
	return out.text.String(), err
}

// stepper is a console: steps are WAIT>LINE, and the typed line comes when WAIT
// is said. The line EOF closes it.
type stepper struct {
	text  bytes.Buffer
	typed chan string
	steps []string
}

func (s *stepper) Write(p []byte) (int, error) {
	s.text.Write(p)
	s.step()
	return len(p), nil
}

func (s *stepper) step() {
	for len(s.steps) > 0 {
		wait, line, _ := strings.Cut(s.steps[0], ">")
		if !strings.HasSuffix(strings.TrimSpace(s.text.String()), wait) {
			return
		}
		s.steps = s.steps[1:]
		if line == "EOF" {
			close(s.typed)
		} else {
			s.typed <- line
		}
	}
}

func checkSaid(t *testing.T, got string, want ...string) {
	t.Helper()
	all := strings.Join(append([]string{"boot guest=pktio dpdk=1 driver=net_test rate=100000 descriptors_a_packet=1 packets_a_call=32"}, want...), "\n")
	if got := strings.ReplaceAll(strings.TrimSpace(got), "sweep-guest: ", ""); got != all {
		t.Errorf("it said\n%s\nwant\n%s", got, all)
	}
}

func TestSendCommands(t *testing.T) {
	const ready = "count=no"
	for name, tt := range map[string]struct {
		steps []string
		want  []string
	}{
		// 100000 a second: the seventh is due after 70 µs.
		"so many": {[]string{ready + ">send 64 7", "skipped=0>quit"},
			[]string{"sending size=64", "stopped size=64 packets=7 full=0 errors=0 ns=70000 ticks=140000 late=0 behind=0 skipped=0"}},
		"refusals": {[]string{ready + ">send 41", "FCS>send 1515", "FCS>send", "FCS>send 64 x", "numbers>send 64 1 2", "numbers>stop", "send>count 64", "count>fly", "quit>", ">quit"},
			[]string{"refused a frame has 42 to 1514 bytes, without FCS", "refused a frame has 42 to 1514 bytes, without FCS", "refused a frame has 42 to 1514 bytes, without FCS",
				"refused send is followed by one or two numbers", "refused send is followed by one or two numbers",
				"refused it doesn't send", "refused this guest can't count", "refused there is no such command; there are send, stop, quit"}},
		"while it sends": {[]string{ready + ">send 42", "size=42>send 64", "stop>stop", "skipped=0>quit"},
			[]string{"sending size=42", "refused while it sends, a guest takes only stop", "stopped size=42 packets=200 full=0 errors=0 ns=2000000 ticks=4000000 late=0 behind=0 skipped=0"}},
		"the end of what is typed, waiting": {[]string{ready + ">EOF"}, nil},
		"the end of what is typed, sending": {[]string{ready + ">send 1514", "size=1514>EOF"},
			[]string{"sending size=1514", "stopped size=1514 packets=100 full=0 errors=0 ns=1000000 ticks=2000000 late=0 behind=0 skipped=0"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &wire{}
			got, err := talk(t, w, SendOptions{Rate: 100_000, To: net.HardwareAddr{2, 0, 0, 0, 0, 0}}, tt.steps...)
			if err != nil {
				t.Error(err)
			}
			checkSaid(t, got, append([]string{"ready count=no"}, tt.want...)...)
			if w.began != w.ended {
				t.Errorf("begun %d times, ended %d times", w.began, w.ended)
			}
		})
	}
}

// A sender with an end of its own comes to it although nobody types.
func TestSendOnce(t *testing.T) {
	w := &wire{}
	got, err := talk(t, w, SendOptions{Rate: 100_000, Size: 64, Duration: 1500 * time.Millisecond}, "packets_a_call=32>EOF")
	if err != nil {
		t.Error(err)
	}
	checkSaid(t, got, "sending size=64",
		"second size=64 packets=100000 full=0 errors=0 ns=1000000000 ticks=2000000000 late=0 behind=0 skipped=0",
		"stopped size=64 packets=150000 full=0 errors=0 ns=1500000000 ticks=3000000000 late=0 behind=0 skipped=0")
	if len(w.frame) != 64 {
		t.Errorf("it prepared a frame of %d bytes", len(w.frame))
	}
}

// To be told to stop just when it has come late must not cost the mean rate: at
// 1 ms a hundred are due and none was taken since 0.5 ms. What is due is sent
// before it stops.
func TestCatchUp(t *testing.T) {
	w := &wire{stuck: 500 * time.Microsecond, unstuck: time.Millisecond}
	got, err := talk(t, w, SendOptions{Rate: 100_000}, "count=no>send 64", "size=64>stop", "skipped=0>quit")
	if err != nil {
		t.Error(err)
	}
	_, last, _ := strings.Cut(got, "stopped ")
	var size, packets, full, ns uint64
	if n := scan(last, &size, &packets, &full, &ns); n != 4 || packets != ns/10_000 || packets < 100 {
		t.Errorf("it stopped with %s", last)
	}
	// A port that takes no more does not keep it: a hundred milliseconds.
	w = &wire{stuck: 500 * time.Microsecond, unstuck: time.Hour}
	got, err = talk(t, w, SendOptions{Rate: 100_000}, "count=no>send 64", "size=64>stop", "skipped=0>quit")
	_, last, _ = strings.Cut(got, "stopped ")
	if n := scan(last, &size, &packets, &full, &ns); err != nil || n != 4 || packets != 49 || ns > 110e6 {
		t.Errorf("it stopped with %s (%v)", last, err)
	}
}

// scan reads a stopped line's first counters, and says how many.
func scan(line string, size, packets, full, ns *uint64) int {
	var errs uint64
	n, _ := fmt.Sscanf(line, "size=%d packets=%d full=%d errors=%d ns=%d", size, packets, full, &errs, ns)
	return n - 1
}

func TestPeerGone(t *testing.T) {
	w := &wire{down: 250 * time.Millisecond}
	got, err := talk(t, w, SendOptions{Rate: 100_000}, "count=no>send 64")
	if !errors.Is(err, ErrPeerGone) || !strings.Contains(got, "stopped size=64 packets=30") || w.ended != 1 {
		t.Errorf("%v, it said\n%s", err, got)
	}
	broken := errors.New("no memory")
	if _, err := talk(t, &wire{cantPrepareThat: broken}, SendOptions{}, "count=no>send 64"); !errors.Is(err, broken) {
		t.Errorf("Send = %v; want %v", err, broken)
	}
}

// A signal ends it, whatever it does.
func TestSendEndsWithItsContext(t *testing.T) {
	for _, size := range []int{0, 64} {
		ctx, cancel := context.WithCancel(t.Context())
		w := &wire{polled: func(at time.Duration) {
			if at > 10*time.Millisecond {
				cancel()
			}
		}}
		if size == 0 {
			cancel()
		}
		var out bytes.Buffer
		if err := Send(ctx, make(chan string), &out, w, SendOptions{Size: size}, ""); err != nil || size > 0 && !strings.Contains(out.String(), "stopped") {
			t.Errorf("size %d: %v, it said %s", size, err, &out)
		}
		cancel()
	}
}

func TestDue(t *testing.T) {
	for _, tt := range []struct {
		rate uint64
		t    time.Duration
		want uint64
	}{
		{100_000, 9999 * time.Nanosecond, 0}, {100_000, 10 * time.Microsecond, 1}, {3, time.Second, 3}, {3, 333_333_333, 0}, {3, 333_333_334, 1},
		// A day at the most that can be asked for: without overflow.
		{1e9, 24 * time.Hour, 86_400e9}, {1e9, 24*time.Hour - 1, 86_400e9 - 1}, {0, time.Hour, 0},
	} {
		if got := due(tt.rate, tt.t); got != tt.want {
			t.Errorf("due(%d, %v) = %d; want %d", tt.rate, tt.t, got, tt.want)
		}
	}
}
