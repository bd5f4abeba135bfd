package guest

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent/agenttest"
	"sweep/internal/console"
)

// scripted is a guest that answers each line by what the script says to it.
func scripted(t *testing.T, hello string, script map[string]string) *console.Console {
	t.Helper()
	p := agenttest.NewProcess(func(p *agenttest.Process, line string) {
		if answer, ok := script[line]; ok {
			p.Print(answer)
		}
	})
	p.Print(hello)
	return console.New("guest", p, io.Discard)
}

const hello = "SeaBIOS\r\n[    0.1] kernel words sweep-guest: boot guest=x version=1.2 queue=1024\r\nsweep-guest: ready count=yes\r\n"

func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	t.Cleanup(cancel)
	return ctx
}

func TestLines(t *testing.T) {
	con := scripted(t, hello, map[string]string{
		"send 64":    "sweep-guest: sending size=64\r\nsweep-guest: second size=64 packets=1 full=0 errors=0 ns=1 ticks=2\r\n",
		"send 64 64": "sweep-guest: sending size=64\r\nsweep-guest: stopped size=64 packets=64 full=0 errors=0 ns=1 ticks=2\r\n",
		"send 70 64": "sweep-guest: refused a frame of 70 bytes\r\n",
		"stop":       "sweep-guest: stopped size=64 packets=18446744073709551615 full=7 errors=0 ns=3 ticks=4\r\n",
		"count 64":   "sweep-guest: counted size=64 packets=2048 ticks=25664 least=401 most=402 stretches=64 uneven=0 full=0\r\n",
		"count 128":  "sweep-guest: uncounted size=128 packets=0 ticks=0 stretches=0 uneven=3 full=9\r\n",
		"send 1515":  "sweep-guest: refused a frame has 42 to 1514 bytes, without FCS\r\n",
		"send 128":   "sweep-guest: sending size=64\r\n",
	})
	ctx := soon(t)
	s, err := Lines{}.Attach(ctx, con)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.About(); got != "guest=x version=1.2 queue=1024" {
		t.Errorf("About = %q", got)
	}
	if err := s.Send(ctx, 64); err != nil {
		t.Error(err)
	}
	sent, full, err := s.Halt(ctx)
	if sent != 1<<64-1 || full != 7 || err != nil {
		t.Errorf("Halt = %d, %d, %v", sent, full, err)
	}
	c := s.(Counter)
	if got, err := c.Count(ctx, 64); err != nil || got != (Count{2048, 25664, 12.53125, 12.5625}) || got.Each() != 12.53125 {
		t.Errorf("Count = %+v, %v", got, err)
	}
	if _, err := c.Count(ctx, 128); !errors.Is(err, ErrUncounted) || !strings.Contains(err.Error(), "full=9") {
		t.Errorf("Count = %v", err)
	}
	var refused Refused
	if err := s.Send(ctx, 1515); !errors.As(err, &refused) || !strings.Contains(err.Error(), "42 to 1514") {
		t.Errorf("Send(1515) = %v", err)
	}
	if err := s.Send(ctx, 128); err == nil || !strings.Contains(err.Error(), "sends 64") {
		t.Errorf("a guest that sends another size: %v", err)
	}
	if err := s.Few(ctx, 64); err != nil {
		t.Errorf("Few = %v", err)
	}
	if err := s.Few(ctx, 70); !errors.As(err, &refused) {
		t.Errorf("Few of a size that it refuses: %v", err)
	}
	if c.Agreement() != 0.001 {
		t.Errorf("Agreement = %v", c.Agreement())
	}
}

func TestLinesThatFail(t *testing.T) {
	for name, tt := range map[string]struct {
		hello, stop, want string
	}{
		"it can't":       {hello: "sweep-guest: boot guest=x\r\nsweep-guest: error no network device: give it one\r\n", want: "no network device: give it one"},
		"half a line":    {hello: "sweep-guest: ready count=y", want: "deadline"},
		"silence":        {hello: "", want: "deadline"},
		"errors":         {hello: hello, stop: "sweep-guest: stopped size=64 packets=5 full=0 errors=2 ns=1 ticks=1\n", want: "refused 2 packets with an error"},
		"no number":      {hello: hello, stop: "sweep-guest: stopped size=64 packets=x full=0 errors=2\n", want: "no number packets"},
		"a missing key":  {hello: hello, stop: "sweep-guest: stopped size=64 packets=5 errors=2\n", want: "no number full"},
		"it goes silent": {hello: hello, stop: "", want: "deadline"},
	} {
		ctx := soon(t)
		con := scripted(t, tt.hello, map[string]string{"send 64": "sweep-guest: sending size=64\n", "stop": tt.stop})
		s, err := Lines{}.Attach(ctx, con)
		if err == nil {
			if err = s.Send(ctx, 64); err == nil {
				_, _, err = s.Halt(ctx)
			}
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q in it", name, err, tt.want)
		}
	}
}

// A guest that came to its end by itself before it was told to stop.
func TestLinesEndedEarly(t *testing.T) {
	con := scripted(t, hello, map[string]string{
		"send 64": "sweep-guest: sending size=64\nsweep-guest: stopped size=64 packets=10 full=1 errors=0 ns=3 ticks=4\n",
		"stop":    "sweep-guest: refused it doesn't send\n",
	})
	ctx := soon(t)
	s, err := Lines{}.Attach(ctx, con)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Send(ctx, 64); err != nil {
		t.Fatal(err)
	}
	if sent, full, err := s.Halt(ctx); sent != 10 || full != 1 || err != nil {
		t.Errorf("Halt = %d, %d, %v", sent, full, err)
	}
}

func TestFailure(t *testing.T) {
	for text, want := range map[string]string{
		"":                                       "",
		"sweep-guest: error no NIC\n":            "no NIC",
		"junk sweep-guest: error no NIC\r\nmore": "no NIC",
		"sweep-guest: error it may go o":         "",
		"sweep-guest: ready\n":                   "",
	} {
		if got := Failure([]byte(text)); got != want {
			t.Errorf("Failure(%q) = %q; want %q", text, got, want)
		}
	}
}
