// Package agenttest has a scripted process, for tests of what talks with one.
package agenttest

import (
	"context"
	"strings"
	"sync"
	"syscall"

	"sweep/internal/agent"
)

// Process is a process that prints what the test tells it to, and answers what
// is typed by a script. It implements [agent.Process].
type Process struct {
	// Answer is called with each line that is typed, without its newline; it
	// may call Print. nil answers nothing.
	Answer func(p *Process, line string)

	out chan agent.Chunk

	mu    sync.Mutex
	now   agent.Time
	typed strings.Builder
	line  strings.Builder
	ended bool
	exit  agent.Exit
	gone  chan struct{}
}

// NewProcess returns a process that runs.
func NewProcess(answer func(p *Process, line string)) *Process {
	return &Process{Answer: answer, out: make(chan agent.Chunk, 1024), gone: make(chan struct{})}
}

// Print prints a piece of text; each piece comes a millisecond after the last.
func (p *Process) Print(text string) {
	p.mu.Lock()
	p.now += 1e6
	now := p.now
	p.mu.Unlock()
	p.out <- agent.Chunk{Time: now, Data: []byte(text)}
}

// End ends the process.
func (p *Process) End(exit agent.Exit) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.ended, p.exit = true, exit
		close(p.out)
		close(p.gone)
	}
}

// Typed is all that was typed.
func (p *Process) Typed() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typed.String()
}

// Identity implements [agent.Process].
func (p *Process) Identity() agent.Identity { return agent.Identity{} }

// Output implements [agent.Process].
func (p *Process) Output() <-chan agent.Chunk { return p.out }

// Write implements [agent.Process].
func (p *Process) Write(_ context.Context, b []byte) error {
	var lines []string
	p.mu.Lock()
	if p.ended {
		p.mu.Unlock()
		return agent.ErrGone
	}
	p.typed.Write(b)
	for _, c := range b {
		if c != '\n' {
			p.line.WriteByte(c)
			continue
		}
		lines = append(lines, p.line.String())
		p.line.Reset()
	}
	p.mu.Unlock()
	for _, l := range lines {
		if p.Answer != nil {
			p.Answer(p, l)
		}
	}
	return nil
}

// Signal implements [agent.Process]: any signal ends the process.
func (p *Process) Signal(_ context.Context, sig syscall.Signal) error {
	p.End(agent.Exit{Code: -1, Signal: sig})
	return nil
}

// Wait implements [agent.Process].
func (p *Process) Wait(ctx context.Context) (agent.Exit, error) {
	select {
	case <-p.gone:
		return p.exit, nil
	case <-ctx.Done():
		return agent.Exit{}, ctx.Err()
	}
}
