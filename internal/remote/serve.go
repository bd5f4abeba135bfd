package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sweep/internal/agent"
)

// Machine is what is served: an agent, and where it keeps the files that are
// brought to it. [agent.Local] is one.
type Machine interface {
	agent.Agent
	PutDir(ctx context.Context) (string, error)
}

// Serving is how an agent is served.
type Serving struct {
	Version string // of the binary

	// Beat and Silence hold until the other side says what it wants; where they
	// are 0, two seconds and fifteen.
	Beat, Silence time.Duration

	// Closing is how long giving everything back may take; a minute where it is 0.
	Closing time.Duration

	// Lock takes the machine for one run and Undo undoes what killed ones left
	// there, both where the other side asks. nil: that can't be asked for.
	Lock func() (release func(), err error)
	Undo func() ([]agent.Undone, error)
}

// Serve serves a machine's agent to the other side until that closes in, falls
// silent, or ctx is over. Then the agent is closed: its processes end and its
// changes are undone, on a deadline of its own. The error says what of that
// failed, and why the connection ended where that was not by in's end.
func Serve(ctx context.Context, in io.Reader, out io.Writer, m Machine, o Serving) error {
	if o.Beat == 0 {
		o.Beat = defaultBeat
	}
	if o.Silence == 0 {
		o.Silence = defaultSilence
	}
	if o.Closing == 0 {
		o.Closing = time.Minute
	}
	l := newLine(in, out)
	live, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{
		Serving: o,
		m:       m,
		line:    l,
		ctx:     live,
		cancels: map[uint64]context.CancelFunc{},
		procs:   map[uint64]*served{},
		puts:    puts{m: m, at: map[string]string{}, under: map[uint64]*put{}},
	}
	s.methods = s.table()
	hello, err := newHello(o.Version)
	if err == nil {
		err = s.greet(hello)
	}
	if err != nil {
		return errors.Join(err, m.Close(context.WithoutCancel(ctx)))
	}
	defer context.AfterFunc(ctx, func() { l.fail(context.Cause(ctx)) })()
	l.start(o.Beat, o.Silence, s.handle)
	<-l.dead
	cancel()
	s.settle(5 * time.Second)
	s.mu.Lock()
	release := s.release
	s.mu.Unlock()
	if release != nil {
		defer release()
	}

	closing, done := context.WithTimeout(context.WithoutCancel(ctx), o.Closing)
	defer done()
	s.puts.close()
	err = m.Close(closing)
	if !errors.Is(l.err, io.EOF) {
		err = errors.Join(fmt.Errorf("the connection to who started this agent ended: %w", l.err), err)
	}
	return err
}

// server is the agent's side of a line.
type server struct {
	Serving
	m       Machine
	line    *line
	ctx     context.Context // over when the line is dead
	methods map[string]method
	puts    puts

	mu      sync.Mutex
	release func() // lets go of the machine, where it was locked
	calls   sync.WaitGroup
	ended   bool // no more calls
	cancels map[uint64]context.CancelFunc
	procs   map[uint64]*served // by the call that started it
}

// served is a process that was started for the other side.
type served struct {
	agent.Process
	free chan struct{} // as many as chunks may be sent
}

// method is what a call is answered by.
type method func(ctx context.Context, id uint64, body json.RawMessage) (any, error)

// does makes a method of a function of typed arguments.
func does[A, R any](f func(ctx context.Context, a A) (R, error)) method {
	return func(ctx context.Context, _ uint64, body json.RawMessage) (any, error) {
		var a A
		if err := json.Unmarshal(body, &a); err != nil {
			return nil, fmt.Errorf("arguments: %w", err)
		}
		return f(ctx, a)
	}
}

// only makes a method of a function that gives nothing back.
func only[A any](f func(ctx context.Context, a A) error) method {
	return does(func(ctx context.Context, a A) (none, error) { return none{}, f(ctx, a) })
}

func (s *server) table() map[string]method {
	m := s.m
	return map[string]method{
		methodStart: s.starts(func(ctx context.Context, body json.RawMessage) (agent.Process, error) {
			var spec agent.Spec
			if err := json.Unmarshal(body, &spec); err != nil {
				return nil, err
			}
			return m.Start(ctx, spec)
		}),
		methodWake: s.starts(func(ctx context.Context, body json.RawMessage) (agent.Process, error) {
			var a wakeArgs
			if err := json.Unmarshal(body, &a); err != nil {
				return nil, err
			}
			return m.Wake(ctx, a.CPUs, a.D)
		}),
		methodRead:   does(func(ctx context.Context, p []string) ([]agent.Reading, error) { return m.Read(ctx, p...) }),
		methodList:   does(func(ctx context.Context, p []string) ([]agent.Entry, error) { return m.List(ctx, p...) }),
		methodApply:  does(m.Apply),
		methodRevert: only(m.Revert),
		methodFind:   only(func(ctx context.Context, names []string) error { return m.Find(ctx, names...) }),
		methodSHA256: does(m.SHA256),
		methodExchange: does(func(ctx context.Context, a exchangeArgs) ([]agent.Reading, error) {
			return m.Exchange(ctx, a.Socket, a.Requests...)
		}),
		methodProcesses: does(func(ctx context.Context, _ none) (agent.Snapshot, error) { return m.Processes(ctx) }),
		methodUsage:     does(func(ctx context.Context, p []agent.Poller) ([]agent.Usage, error) { return m.Usage(ctx, p...) }),
		methodPin:       does(func(ctx context.Context, a pinArgs) (int, error) { return m.Pin(ctx, a.PID, a.Prefix, a.CPUs) }),
		methodTempDir:   does(func(ctx context.Context, _ none) (string, error) { return m.TempDir(ctx) }),
		methodRemove:    only(m.Remove),
		methodClose:     only(func(ctx context.Context, _ none) error { s.puts.close(); return m.Close(ctx) }),
		methodLock:      only(func(context.Context, none) error { return s.lock() }),
		methodUndo:      does(func(context.Context, none) ([]undone, error) { return s.undo() }),
		methodWrite: only(func(ctx context.Context, a writeArgs) error {
			p := s.process(a.Process)
			if p == nil {
				return agent.ErrGone
			}
			return p.Write(ctx, a.Data)
		}),
		methodSignal: only(func(ctx context.Context, a signalArgs) error {
			p := s.process(a.Process)
			if p == nil {
				return nil // it is gone, which is no error
			}
			return p.Signal(ctx, syscall.Signal(a.Signal))
		}),
		methodPut:    does(s.puts.begin),
		methodPiece:  only(func(_ context.Context, a pieceArgs) error { return s.puts.piece(a) }),
		methodPutEnd: does(func(_ context.Context, a putEndArgs) (putState, error) { return s.puts.end(a) }),
	}
}

func (s *server) handle(m message) error {
	switch m.Kind {
	case kindHello:
		var g greeting
		if err := json.Unmarshal(m.Body, &g); err != nil || g.Beat <= 0 || g.Silence <= 0 {
			return fmt.Errorf("a greeting that is none: %.80q", m.Body)
		}
		s.line.pace(g.Beat, g.Silence)
	case kindCall:
		do := s.methods[m.Method]
		if do == nil {
			do = func(context.Context, uint64, json.RawMessage) (any, error) {
				return nil, fmt.Errorf("the agent knows no %q", m.Method)
			}
		}
		ctx, cancel := context.WithCancel(s.ctx)
		if m.Timeout > 0 {
			ctx, cancel = context.WithTimeout(s.ctx, m.Timeout)
		}
		s.mu.Lock()
		ended := s.ended
		if !ended {
			s.calls.Add(1)
			s.cancels[m.ID] = cancel
		}
		s.mu.Unlock()
		if ended {
			cancel()
			return nil
		}
		go func() {
			defer s.calls.Done()
			body, err := do(ctx, m.ID, m.Body)
			cancel()
			s.mu.Lock()
			delete(s.cancels, m.ID)
			p := s.procs[m.ID]
			s.mu.Unlock()
			s.answer(m.ID, body, err)
			if p != nil {
				go s.follow(m.ID, p)
			}
		}()
	case kindCancel:
		s.mu.Lock()
		if cancel := s.cancels[m.ID]; cancel != nil {
			cancel()
		}
		s.mu.Unlock()
	case kindTaken:
		if p := s.process(m.ID); p != nil {
			select {
			case p.free <- struct{}{}:
			default:
				return fmt.Errorf("more of the output of process %d was taken than sent", m.ID)
			}
		}
	default:
		return fmt.Errorf("a message of the kind %q", m.Kind)
	}
	return nil
}

// answer answers a call. An answer that is too long for a line is an error that
// says so.
func (s *server) answer(id uint64, body any, err error) {
	m := message{Kind: kindAnswer, ID: id, Err: newFault(err)}
	b, merr := json.Marshal(body)
	if merr == nil {
		m.Body = b
	} else if err == nil {
		m.Err = newFault(merr)
	}
	if err := s.line.send(s.ctx.Done(), m); err != nil && s.ctx.Err() == nil {
		_ = s.line.send(s.ctx.Done(), message{Kind: kindAnswer, ID: id, Err: newFault(err)})
	}
}

// starts makes a method that starts a process. What it prints is sent after the
// answer.
func (s *server) starts(start func(ctx context.Context, body json.RawMessage) (agent.Process, error)) method {
	return func(ctx context.Context, id uint64, body json.RawMessage) (any, error) {
		p, err := start(ctx, body)
		if err != nil {
			return nil, err
		}
		sp := &served{Process: p, free: make(chan struct{}, window)}
		for range window {
			sp.free <- struct{}{}
		}
		s.mu.Lock()
		s.procs[id] = sp
		s.mu.Unlock()
		return p.Identity(), nil
	}
}

func (s *server) process(id uint64) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.procs[id]
}

// follow tells of a process until there is nothing more to tell.
func (s *server) follow(id uint64, p *served) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		s.output(id, p)
	}()
	s.exit(id, p)
	<-over
	s.mu.Lock()
	delete(s.procs, id)
	s.mu.Unlock()
}

// output sends what a process prints. Once nobody listens it still drains it, for
// a process whose terminal is full does not end.
func (s *server) output(id uint64, p *served) {
	for c := range p.Output() {
		select {
		case <-p.free:
		case <-s.ctx.Done():
			continue
		}
		if b, err := json.Marshal(c); err == nil {
			_ = s.line.send(s.ctx.Done(), message{Kind: kindChunk, ID: id, Body: b})
		}
	}
	_ = s.line.send(s.ctx.Done(), message{Kind: kindEnd, ID: id})
}

func (s *server) exit(id uint64, p *served) {
	exit, err := p.Wait(s.ctx)
	if err != nil && s.ctx.Err() != nil {
		return // the connection ended, and the process didn't
	}
	m := message{Kind: kindExit, ID: id, Err: newFault(err)}
	if b, err := json.Marshal(exit); err == nil {
		m.Body = b
	}
	_ = s.line.send(s.ctx.Done(), m)
}

// settle waits until the calls that run have ended, d at most: one that starts a
// process would else escape the closing of the agent.
func (s *server) settle(d time.Duration) {
	s.mu.Lock()
	s.ended = true
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		s.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(d):
	}
}

func (s *server) lock() error {
	if s.Lock == nil {
		return errors.New("this agent can't lock its machine")
	}
	release, err := s.Lock()
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.release = release
	s.mu.Unlock()
	return nil
}

func (s *server) undo() ([]undone, error) {
	if s.Undo == nil {
		return nil, errors.New("this agent can't undo what others left")
	}
	list, err := s.Undo()
	out := []undone{}
	for _, u := range list {
		out = append(out, toUndone(u))
	}
	return out, err
}

// greet sends the hello, before the line lives: it is the first that is said.
func (s *server) greet(h Hello) error {
	body, err := json.Marshal(h)
	if err != nil {
		return err
	}
	b, err := json.Marshal(message{Kind: kindHello, Body: body})
	if err != nil {
		return err
	}
	_, err = s.line.out.Write(append(b, '\n'))
	return err
}

func newHello(version string) (Hello, error) {
	self, err := agent.IdentityOf(os.Getpid())
	if err != nil {
		return Hello{}, err
	}
	h := Hello{Protocol: protocol, Version: version, PID: self.PID, Boot: self.Boot, UID: os.Getuid()}
	h.User = strconv.Itoa(h.UID)
	if u, err := user.Current(); err == nil {
		h.User = u.Username
	}
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return Hello{}, fmt.Errorf("uname: %w", err)
	}
	text := unix.ByteSliceToString
	h.Uname = text(u.Sysname[:]) + " " + text(u.Release[:]) + " " + text(u.Machine[:])
	h.Hostname = text(u.Nodename[:])
	return h, nil
}
