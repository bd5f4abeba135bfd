package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"sweep/internal/agent"
)

// Dial starts an agent on a host, over the user's own ssh: with its configuration,
// keys, agent, jump hosts and known hosts. Nothing is asked and no password or key
// passes through here. The binary is brought to ~/.cache/sweep there where it isn't
// yet; [Clean] removes it. The error is a *[Failure] where the host or ssh is the
// reason. ctx is about the dialling only: the agent lives until Close.
func Dial(ctx context.Context, o Options) (*Host, error) {
	s, err := openSSH(ctx, o, doServe)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, s.kill)
	defer stop()
	s.line.explain = s.lost
	h, err := connect(ctx, o.Destination, s.line, o.Beat, o.Silence, func(ctx context.Context) error {
		s.end(ctx)
		return nil
	})
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	if !s.quiet.Stop() {
		return nil, s.failed(ctx, errors.New("the hello came too late"))
	}
	s.said.reset() // what is said from now on is about the connection's end
	go func() {
		<-s.line.dead
		switch {
		case errors.Is(s.line.err, errClosed): // Close ends it
		case errors.As(s.line.err, new(silentError)):
			s.kill() // nobody hears that its input ends
		default:
			s.end(context.Background())
		}
		<-s.gone
		s.out.Close()
	}()
	return h, nil
}

// Clean undoes what agents that were killed left on a host, and removes the binary
// that was brought there. It can be done again and again. What a run that lives has
// there is left alone.
func Clean(ctx context.Context, o Options) ([]agent.Undone, error) {
	s, err := openSSH(ctx, o, doClean)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, s.kill)()
	s.said.reset()
	var out []agent.Undone
	failed := false
	for {
		b, err := readLine(s.line.in, maxLine)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, s.failed(ctx, err)
		}
		s.quiet.Reset(o.deadline())
		var l cleanLine
		if json.Unmarshal(b, &l) == nil && l.Undone != nil {
			out = append(out, l.Undone.undone())
			failed = failed || len(l.Undone.Errs) > 0
		} else {
			_, _ = s.said.Write(append(b, '\n'))
		}
	}
	s.quiet.Stop()
	select {
	case <-s.gone:
	case <-time.After(2 * time.Second):
	}
	if failed && s.line.err == nil && ctx.Err() == nil {
		s.end(ctx)
		s.out.Close()
		return out, nil // who asked sees it in Errs
	}
	select {
	case <-s.gone:
		if s.cmd.ProcessState.Success() {
			s.end(ctx)
			s.out.Close()
			return out, nil
		}
	default:
	}
	return out, s.failed(ctx, io.EOF)
}

// cleanLine is a line that "sweep agent --clean" prints.
type cleanLine struct {
	Undone *undone `json:"undone"`
}

// PrintUndone prints what was undone on this machine, as Clean reads it.
func PrintUndone(w io.Writer, list []agent.Undone) error {
	for _, u := range list {
		plain := toUndone(u)
		b, err := json.Marshal(cleanLine{&plain})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%s\n", b); err != nil {
			return err
		}
	}
	return nil
}
