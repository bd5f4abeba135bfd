package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"syscall"

	"sweep/internal/agent"
)

// process is one that a host's agent started.
type process struct {
	h    *Host
	call uint64 // that started it
	id   agent.Identity

	came   chan agent.Chunk // as many as may be under way; closed at the end
	output chan agent.Chunk

	leave     sync.Once
	abandoned chan struct{} // closed when nobody wants its output

	gone chan struct{} // closed when it has ended
	exit agent.Exit    // valid then
	err  error         // valid then
}

func newProcess(h *Host, call uint64) *process {
	return &process{
		h:         h,
		call:      call,
		came:      make(chan agent.Chunk, window),
		output:    make(chan agent.Chunk),
		abandoned: make(chan struct{}),
		gone:      make(chan struct{}),
	}
}

// handle takes word of the process. It is called by one goroutine.
func (p *process) handle(m message) error {
	switch m.Kind {
	case kindChunk:
		var c agent.Chunk
		if err := json.Unmarshal(m.Body, &c); err != nil {
			return fmt.Errorf("output of %d: %w", p.call, err)
		}
		select {
		case p.came <- c:
		default:
			return fmt.Errorf("more of the output of %d came than was asked for", p.call)
		}
	case kindEnd:
		close(p.came)
	case kindExit:
		p.err = m.Err.error(p.h.name)
		if p.err == nil {
			p.err = json.Unmarshal(m.Body, &p.exit)
		}
		close(p.gone)
	}
	return nil
}

// pass gives on what came, and says so. What came before the connection was lost
// is given too.
func (p *process) pass() {
	defer close(p.output)
	for {
		var c agent.Chunk
		var ok bool
		select {
		case c, ok = <-p.came:
		case <-p.h.line.dead:
			select {
			case c, ok = <-p.came:
			default:
			}
		}
		if !ok {
			return
		}
		select {
		case p.output <- c:
		case <-p.abandoned:
		}
		_ = p.h.line.send(p.h.line.dead, message{Kind: kindTaken, ID: p.call})
	}
}

// abandon lets the output go by.
func (p *process) abandon() { p.leave.Do(func() { close(p.abandoned) }) }

// Identity implements [agent.Process].
func (p *process) Identity() agent.Identity { return p.id }

// Output implements [agent.Process].
func (p *process) Output() <-chan agent.Chunk { return p.output }

// Write implements [agent.Process].
func (p *process) Write(ctx context.Context, b []byte) error {
	_, err := call[none](ctx, p.h, methodWrite, writeArgs{Process: p.call, Data: b}, nil)
	return err
}

// Signal implements [agent.Process].
func (p *process) Signal(ctx context.Context, sig syscall.Signal) error {
	_, err := call[none](ctx, p.h, methodSignal, signalArgs{Process: p.call, Signal: int(sig)}, nil)
	return err
}

// Wait implements [agent.Process].
func (p *process) Wait(ctx context.Context) (agent.Exit, error) {
	select {
	case <-p.gone:
		return p.exit, p.err
	case <-p.h.line.dead:
		select {
		case <-p.gone:
			return p.exit, p.err
		default:
			return agent.Exit{}, p.h.lost()
		}
	case <-ctx.Done():
		return agent.Exit{}, ctx.Err()
	}
}
