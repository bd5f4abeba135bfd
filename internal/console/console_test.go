package console

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/agent/agenttest"
)

func contains(s string) func([]byte) bool {
	return func(b []byte) bool { return bytes.Contains(b, []byte(s)) }
}

// locked is a transcript that the test may read while it grows.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) { l.mu.Lock(); defer l.mu.Unlock(); return l.b.Write(p) }
func (l *locked) String() string              { l.mu.Lock(); defer l.mu.Unlock(); return l.b.String() }

func TestWait(t *testing.T) {
	f := agenttest.NewProcess(nil)
	var transcript locked
	c := New("server", f, &transcript)
	ctx := context.Background()
	f.Print("one ")
	f.Print("tw")
	f.Print("o three")
	if text, err := c.Wait(ctx, 0, "two", contains("two")); err != nil || !strings.HasPrefix(string(text), "one two") {
		t.Errorf("Wait = %q, %v", text, err)
	}
	f.Print(" four")
	if _, err := c.Wait(ctx, 0, "four", contains("four")); err != nil {
		t.Fatal(err)
	}
	if got := string(c.Text(4)); got != "two three four" {
		t.Errorf("Text(4) = %q", got)
	}
	// Each byte has the time of the piece it came in.
	for place, want := range map[int]agent.Time{0: 1e6, 3: 1e6, 4: 2e6, 6: 3e6, 13: 4e6, 17: 4e6, 18: 0} {
		if got := c.At(place); got != want {
			t.Errorf("At(%d) = %d; want %d", place, got, want)
		}
	}
	f.End(agent.Exit{Code: 3})
	_, err := c.Wait(ctx, 0, "five", contains("five"))
	var e *Error
	if !errors.Is(err, ErrEnded) || !errors.As(err, &e) || string(e.Output) != "one two three four" || err.Error() != "server: wait for five: it ended" {
		t.Errorf("Wait on a program that ended: %v", err)
	}
	if exit, ended := c.Exit(ctx); !ended || exit.Code != 3 {
		t.Errorf("Exit = %v, %v", exit, ended)
	}
	if !c.Ended() || transcript.String() != "one two three four" {
		t.Errorf("Ended %v, transcript %q", c.Ended(), transcript.String())
	}
}

func TestWaitHasADeadline(t *testing.T) {
	f := agenttest.NewProcess(nil)
	c := New("server", f, &locked{})
	ctx, cancel := context.WithTimeoutCause(context.Background(), 10*time.Millisecond, errors.New("nothing for 10 ms"))
	defer cancel()
	if _, err := c.Wait(ctx, 0, "its prompt", contains("> ")); err == nil || err.Error() != "server: wait for its prompt: nothing for 10 ms" {
		t.Errorf("Wait: %v", err)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// A transcript that can't be written must not stop the program's terminal.
func TestATranscriptThatFails(t *testing.T) {
	f := agenttest.NewProcess(nil)
	c := New("server", f, full{})
	f.Print("a")
	f.Print("b")
	if _, err := c.Wait(context.Background(), 0, "b", contains("b")); err != nil {
		t.Fatal(err)
	}
	if err := c.Err(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Err = %v", err)
	}
}
