// Package console drives a program that talks on a terminal: testpmd's prompt,
// a guest's serial line. What the program prints is drained whatever happens
// (a full terminal would stop it) and written to a transcript as it comes.
package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sort"
	"sync"

	"sweep/internal/agent"
)

// ErrEnded says that the program closed its terminal.
var ErrEnded = errors.New("it ended")

// Console is a process's terminal.
type Console struct {
	name string
	proc agent.Process

	mu    sync.Mutex
	text  []byte
	came  []arrival
	ended bool          // no more will come
	grown chan struct{} // closed, and made anew, when text or ended changes
	lost  error         // the transcript's first write error
}

// arrival says that the text up to end was there at a time.
type arrival struct {
	end int
	at  agent.Time
}

// Recorder is a transcript that keeps the time of each piece, too.
type Recorder interface {
	Record(agent.Chunk) error
}

// New starts to drain the process's terminal into transcript, which may be a
// [Recorder]. name is what errors call the program.
func New(name string, proc agent.Process, transcript io.Writer) *Console {
	c := &Console{name: name, proc: proc, grown: make(chan struct{})}
	record := func(chunk agent.Chunk) error { _, err := transcript.Write(chunk.Data); return err }
	if r, ok := transcript.(Recorder); ok {
		record = r.Record
	}
	go func() {
		for chunk := range proc.Output() {
			err := record(chunk)
			c.mu.Lock()
			if err != nil && c.lost == nil {
				c.lost = err
			}
			c.text = append(c.text, chunk.Data...)
			c.came = append(c.came, arrival{len(c.text), chunk.Time})
			c.wakeLocked()
			c.mu.Unlock()
		}
		c.mu.Lock()
		c.ended = true
		c.wakeLocked()
		c.mu.Unlock()
	}()
	return c
}

func (c *Console) wakeLocked() {
	close(c.grown)
	c.grown = make(chan struct{})
}

// Name is what errors call the program.
func (c *Console) Name() string { return c.name }

// Mark is the place that the text has reached.
func (c *Console) Mark() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.text)
}

// Text is what came since mark.
func (c *Console) Text(mark int) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]byte(nil), c.text[mark:]...)
}

// At is when the byte at place was read; zero where it is yet to come.
func (c *Console) At(place int) agent.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := sort.Search(len(c.came), func(i int) bool { return c.came[i].end > place })
	if i == len(c.came) {
		return 0
	}
	return c.came[i].at
}

// Err is why the transcript is not whole, or nil.
func (c *Console) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.lost != nil {
		return fmt.Errorf("transcript of %s: %w", c.name, c.lost)
	}
	return nil
}

// Type types on the terminal.
func (c *Console) Type(ctx context.Context, s string) error {
	if err := c.proc.Write(ctx, []byte(s)); err != nil {
		if errors.Is(err, agent.ErrGone) {
			err = ErrEnded
		}
		return c.fail(fmt.Sprintf("type %q", s), err)
	}
	return nil
}

// Wait waits until ready is true of the text since mark and returns that text.
// On the end of the program (ErrEnded) or of ctx the error is an [Error], with
// all that the program printed.
func (c *Console) Wait(ctx context.Context, mark int, what string, ready func(text []byte) bool) ([]byte, error) {
	for {
		c.mu.Lock()
		text, ended, grown := c.text[mark:], c.ended, c.grown
		c.mu.Unlock()
		// The bytes below len(text) never change, so ready may look at them
		// while more are appended.
		if ready(text) {
			return append([]byte(nil), text...), nil
		}
		if ended {
			return nil, c.fail("wait for "+what, ErrEnded)
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return nil, c.fail("wait for "+what, context.Cause(ctx))
		}
	}
}

// Ended is true once the program has closed its terminal.
func (c *Console) Ended() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended
}

// Exit is how the program ended, if it has closed its terminal. A program whose
// end can't be learned before ctx's is one that has not ended.
func (c *Console) Exit(ctx context.Context) (agent.Exit, bool) {
	if !c.Ended() {
		return agent.Exit{}, false
	}
	exit, err := c.proc.Wait(ctx)
	return exit, err == nil
}

func (c *Console) fail(doing string, err error) error {
	return &Error{Name: c.name, Doing: doing, Err: err, Output: c.Text(0)}
}

// Error is a conversation that failed, with the whole of it.
type Error struct {
	Name   string // the program
	Doing  string // what was tried, or waited for
	Err    error
	Output []byte // all that it printed
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s: %v", e.Name, e.Doing, e.Err) }
func (e *Error) Unwrap() error { return e.Err }
