package testpmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
)

// Prompt is what testpmd waits with.
const Prompt = "testpmd> "

// Session is a conversation with a testpmd's prompt, on a terminal. It may be
// on the machine itself or, over a serial line, inside a guest. Commands are
// answered one at a time; it is not for use by several goroutines.
type Session struct {
	con *console.Console
}

// Attach waits for the prompt of a testpmd that talks on con and returns the
// conversation with it.
func Attach(ctx context.Context, con *console.Console, mark int) (*Session, error) {
	s := &Session{con: con}
	if _, err := con.Wait(ctx, mark, "testpmd's prompt", hasPrompt); err != nil {
		return nil, err
	}
	return s, nil
}

// Console is the terminal that the session is held on.
func (s *Session) Console() *console.Console { return s.con }

func hasPrompt(text []byte) bool { return bytes.Contains(text, []byte(Prompt)) }

// Reply is what testpmd printed to a command, and when.
type Reply struct {
	Text          []byte
	Before, After agent.Time // echoed, and printed whole: it was true between
}

// Do types a command and returns what testpmd printed up to its next prompt.
//
// Link events and log lines are printed in between at any place, even within
// the prompt, which testpmd writes a character at a time. So where no prompt
// is seen for a while although testpmd printed something, an empty line asks
// for another one.
func (s *Session) Do(ctx context.Context, command string) (Reply, error) {
	mark := s.con.Mark()
	if err := s.con.Type(ctx, command+"\n"); err != nil {
		return Reply{}, err
	}
	for {
		wait, cancel := context.WithTimeoutCause(ctx, 2*time.Second, errNudge)
		text, err := s.con.Wait(wait, mark, fmt.Sprintf("the answer to %q", command), hasPrompt)
		cancel()
		switch {
		case err == nil:
			r := Reply{Text: text, Before: s.con.At(mark), After: s.con.At(mark + len(text) - 1)}
			return r, refusal(command, text)
		case errors.Is(err, errNudge) && ctx.Err() == nil:
			if err := s.con.Type(ctx, "\n"); err != nil {
				return Reply{}, err
			}
		default:
			return Reply{}, err
		}
	}
}

var errNudge = errors.New("no prompt yet")

// Refused says that testpmd did not do what it was told.
type Refused struct {
	Command string
	Line    string // testpmd's own words
}

func (e *Refused) Error() string {
	return fmt.Sprintf("testpmd refused %q: %s", e.Command, e.Line)
}

func refusal(command string, text []byte) error {
	for _, l := range screenLines(text) {
		if why, ok := refusalIn(l.text); ok {
			return &Refused{Command: command, Line: why}
		}
	}
	return nil
}

// Start starts forwarding and checks the banner that says so. The length of
// the packets that a txonly testpmd will send is returned, 0 in other modes.
func (s *Session) Start(ctx context.Context) (length int, err error) {
	r, err := s.Do(ctx, "start")
	if err != nil {
		return 0, err
	}
	if !bytes.Contains(r.Text, []byte("packet forwarding - ports=")) {
		return 0, &Refused{Command: "start", Line: "no forwarding banner came"}
	}
	if _, after, ok := bytes.Cut(r.Text, []byte("packet len=")); ok {
		if _, err := fmt.Sscanf(string(after), "%d", &length); err != nil {
			return 0, fmt.Errorf("packet length in testpmd's banner: %w", err)
		}
	}
	return length, nil
}

// Stop stops forwarding and returns the forward statistics since Start.
func (s *Session) Stop(ctx context.Context) (Forward, error) {
	r, err := s.Do(ctx, "stop")
	if err != nil {
		return Forward{}, err
	}
	f := ParseForward(r.Text)
	if len(f.Problems) > 0 {
		return f, fmt.Errorf("%s: forward statistics: %s", s.con.Name(), f.Problems[0].Message)
	}
	return f, nil
}

// SetMode sets the forwarding mode and checks testpmd's word on it.
func (s *Session) SetMode(ctx context.Context, mode string) error {
	r, err := s.Do(ctx, "set fwd "+mode)
	if err != nil {
		return err
	}
	if !bytes.Contains(r.Text, []byte("Set "+mode+" packet forwarding mode")) {
		return &Refused{Command: "set fwd " + mode, Line: "the mode was not set"}
	}
	return nil
}

// ReadStats reads a port's counters by `show port stats`. Only one observer
// may: each show begins the window of the next one's rates.
func (s *Session) ReadStats(ctx context.Context, port int) (Block, Reply, error) {
	// An event printed into the middle of the block can spoil it; the
	// counters can be read again.
	var problems []string
	for range 3 {
		r, err := s.Do(ctx, fmt.Sprintf("show port stats %d", port))
		if err != nil {
			return Block{}, r, err
		}
		log := Parse(r.Text)
		for _, b := range log.Blocks {
			if b.Port == port && b.RxPackets != nil && b.TxPackets != nil && b.RxBytes != nil {
				return b, r, nil
			}
		}
		for _, p := range log.Problems {
			problems = append(problems, p.Message)
		}
	}
	return Block{}, Reply{}, fmt.Errorf("%s: no statistics of port %d: %s", s.con.Name(), port, strings.Join(problems, "; "))
}

// Launch starts a testpmd on a machine and waits for its prompt.
func Launch(ctx context.Context, a agent.Agent, c Config, h Host, transcript io.Writer) (*Process, error) {
	proc, err := a.Start(ctx, c.Spec(h))
	if err != nil {
		return nil, err
	}
	con := console.New(c.Name, proc, transcript)
	p := &Process{proc: proc, agent: a, socket: c.telemetrySocket(h)}
	p.Session, err = Attach(ctx, con, 0)
	if err == nil {
		err = p.check(len(c.Ports))
	}
	if err != nil {
		p.Session = &Session{con: con}
		return nil, errors.Join(err, agent.End(context.WithoutCancel(ctx), proc))
	}
	return p, nil
}

// Process is a testpmd that the kit started.
type Process struct {
	*Session
	proc   agent.Process
	agent  agent.Agent
	socket string
}

// Identity is the process's.
func (p *Process) Identity() agent.Identity { return p.proc.Identity() }

// check looks for what testpmd passes over in silence: it gives a prompt with
// any number of its ports missing or not started.
func (p *Process) check(ports int) error {
	text := p.con.Text(0)
	fail := func(why string) error {
		return &console.Error{Name: p.con.Name(), Doing: "start its ports", Err: errors.New(why), Output: text}
	}
	for _, bad := range []string{"Fail to configure port", "Fail to start port", "Start ports failed", "failed to bind"} {
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, bad) {
				return fail(strings.TrimSpace(line))
			}
		}
	}
	for i := range ports {
		if !bytes.Contains(text, fmt.Appendf(nil, "Configuring Port %d ", i)) {
			return fail(fmt.Sprintf("port %d of %d is missing", i, ports))
		}
	}
	return nil
}

// Quit ends testpmd: by its own command, else by signals.
func (p *Process) Quit(ctx context.Context) error {
	if !p.con.Ended() {
		ask, cancel := context.WithTimeout(ctx, 3*time.Second)
		defer cancel()
		if err := p.con.Type(ask, "quit\n"); err == nil {
			if _, err := p.proc.Wait(ask); err == nil {
				return nil
			}
		}
	}
	return agent.End(ctx, p.proc)
}
