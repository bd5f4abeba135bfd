package agent

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// localProcess is a process on this machine, on a pseudo-terminal of its own.
type localProcess struct {
	id     Identity
	cmd    *exec.Cmd
	tty    *os.File
	output chan Chunk
	gone   chan struct{} // closed when it was reaped
	exit   Exit          // valid then
}

func (p *localProcess) Identity() Identity   { return p.id }
func (p *localProcess) Output() <-chan Chunk { return p.output }

// read passes on what the process prints. A pty gives EIO when its other side
// is closed by everyone.
func (p *localProcess) read() {
	defer close(p.output)
	defer p.tty.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.tty.Read(buf)
		if n > 0 {
			p.output <- Chunk{Time: now(), Data: append([]byte(nil), buf[:n]...)}
		}
		if err != nil {
			return
		}
	}
}

func (p *localProcess) reap() {
	err := p.cmd.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit):
		ws := exit.Sys().(syscall.WaitStatus)
		if ws.Signaled() {
			p.exit = Exit{Code: -1, Signal: ws.Signal()}
		} else {
			p.exit = Exit{Code: ws.ExitStatus()}
		}
	default:
		p.exit = Exit{Code: -1}
	}
	// What it printed last is still in the terminal: give read the time to
	// take it before the terminal goes.
	_ = p.tty.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
}

// Write types on the terminal. A terminal whose process doesn't read blocks
// the writer when its buffer of 4 KiB is full, hence the deadline.
func (p *localProcess) Write(ctx context.Context, b []byte) error {
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(10 * time.Second)
	}
	_ = p.tty.SetWriteDeadline(end) // fails only on a closed file, as Write does then
	_, err := p.tty.Write(b)
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EIO) {
		return ErrGone
	}
	return err
}

func (p *localProcess) Signal(_ context.Context, sig syscall.Signal) error {
	return p.id.Kill(sig)
}

func (p *localProcess) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-p.gone:
		return p.exit, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}
