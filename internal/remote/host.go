package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"sweep/internal/agent"
)

// Host is the agent of another machine. Its errors name the machine and mean what
// they mean there: a context that is over, [agent.ErrGone] and the others of
// meanings can be asked for with errors.Is and errors.As.
type Host struct {
	name  string
	hello Hello
	line  *line
	end   func(context.Context) error // lets go of what carries the line; may be nil

	putting chan struct{} // holds one: who takes it may bring a file

	mu    sync.Mutex
	next  uint64
	calls map[uint64]*waiting
	procs map[uint64]*process // by the call that started it
}

var _ agent.Agent = (*Host)(nil)

// waiting is a call whose answer hasn't come.
type waiting struct {
	answer chan message // one
	// late, where it isn't nil, is given an answer that came when nobody waited
	// for it any more: what was made must be given back.
	late func(message)
	left bool // nobody waits any more
}

// ErrLost says that the connection to a host has ended by itself.
type ErrLost struct {
	Host string
	Err  error // why
}

func (e *ErrLost) Error() string {
	return fmt.Sprintf("the connection to %s was lost: %v", e.Host, e.Err)
}

func (e *ErrLost) Unwrap() error { return e.Err }

// errClosed says that Close was called.
var errClosed = errors.New("this side closed it")

// Connect speaks to an agent that Serve serves at the other end of in and out.
// name is what the machine is called in errors. It waits for the agent's hello.
// Where beat and silence are 0 they are two seconds and fifteen.
func Connect(ctx context.Context, name string, in io.Reader, out io.Writer, beat, silence time.Duration) (*Host, error) {
	return connect(ctx, name, newLine(in, out), beat, silence, nil)
}

func connect(ctx context.Context, name string, l *line, beat, silence time.Duration, end func(context.Context) error) (*Host, error) {
	if beat == 0 {
		beat = defaultBeat
	}
	if silence == 0 {
		silence = defaultSilence
	}
	h := &Host{
		name:    name,
		line:    l,
		end:     end,
		putting: make(chan struct{}, 1),
		calls:   map[uint64]*waiting{},
		procs:   map[uint64]*process{},
	}
	h.putting <- struct{}{}
	if err := h.meet(ctx); err != nil {
		return nil, err
	}
	l.start(beat, silence, h.handle)
	body, err := json.Marshal(greeting{Beat: beat, Silence: silence})
	if err != nil {
		return nil, err
	}
	if err := l.send(ctx.Done(), message{Kind: kindHello, Body: body}); err != nil {
		if errors.Is(err, errQuit) {
			err = context.Cause(ctx)
		}
		l.fail(err)
		return nil, h.lost()
	}
	return h, nil
}

// meet waits for the hello, which is the first line.
func (h *Host) meet(ctx context.Context) error {
	type first struct {
		m   message
		err error
	}
	c := make(chan first, 1)
	go func() {
		m, err := h.line.next()
		c <- first{m, err}
	}()
	select {
	case f := <-c:
		if f.err != nil {
			return fmt.Errorf("the agent on %s says no hello: %w", h.name, f.err)
		}
		if f.m.Kind != kindHello || json.Unmarshal(f.m.Body, &h.hello) != nil {
			return fmt.Errorf("the agent on %s says no hello but %q", h.name, f.m.Kind)
		}
		if h.hello.Protocol != protocol {
			return fmt.Errorf("the agent on %s speaks version %d of the protocol, this side %d; they must be the same binary", h.name, h.hello.Protocol, protocol)
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("the agent on %s says no hello: %w", h.name, context.Cause(ctx))
	}
}

// Name is what the machine is called: where Dial was told to go.
func (h *Host) Name() string { return h.name }

// Hello is what the agent said of itself and its machine.
func (h *Host) Hello() Hello { return h.hello }

// Lost is closed when the connection has ended, by Close or by itself; Err says
// why then.
func (h *Host) Lost() <-chan struct{} { return h.line.dead }

// Err is why the connection has ended; nil while it lives.
func (h *Host) Err() error {
	select {
	case <-h.line.dead:
		return h.lost()
	default:
		return nil
	}
}

func (h *Host) lost() error {
	<-h.line.dead
	if errors.Is(h.line.err, errClosed) {
		return fmt.Errorf("the connection to %s is closed", h.name)
	}
	err := h.line.err
	if errors.Is(err, io.EOF) {
		err = errors.New("the agent there ended")
	}
	return &ErrLost{Host: h.name, Err: err}
}

// handle takes a message of the agent. It must not wait.
func (h *Host) handle(m message) error {
	h.mu.Lock()
	w, p := h.calls[m.ID], h.procs[m.ID]
	if m.Kind == kindAnswer {
		delete(h.calls, m.ID)
	}
	var late func(message)
	if w != nil && w.left {
		late = w.late
	}
	h.mu.Unlock()
	switch m.Kind {
	case kindAnswer:
		if w == nil {
			return fmt.Errorf("an answer to call %d, which nobody made", m.ID)
		}
		w.answer <- m
		if late != nil {
			go late(m)
		}
		return nil
	case kindChunk, kindEnd, kindExit:
		if p == nil {
			return fmt.Errorf("word of process %d, which nobody started", m.ID)
		}
		return p.handle(m)
	}
	return fmt.Errorf("a message of the kind %q", m.Kind)
}

// errLeft says that a call was left before its answer came: late will be given it.
type errLeft struct{ error }

func (e errLeft) Unwrap() error { return e.error }

// ask makes a call and waits for its answer. late is given one that comes when
// ctx is over, and the error is an errLeft then.
func (h *Host) ask(ctx context.Context, id uint64, method string, args any, late func(message)) (message, error) {
	during := func(err error) error { return fmt.Errorf("on %s: %s: %w", h.name, method, err) }
	if err := ctx.Err(); err != nil {
		return message{}, during(err)
	}
	body, err := json.Marshal(args)
	if err != nil {
		return message{}, during(err)
	}
	m := message{Kind: kindCall, ID: id, Method: method, Body: body}
	if end, ok := ctx.Deadline(); ok {
		m.Timeout = max(time.Until(end), 1)
	}
	w := &waiting{answer: make(chan message, 1), late: late}
	h.mu.Lock()
	h.calls[id] = w
	h.mu.Unlock()
	if err := h.line.send(ctx.Done(), m); err != nil {
		h.mu.Lock()
		delete(h.calls, id)
		h.mu.Unlock()
		switch {
		case errors.Is(err, errQuit):
			return message{}, during(ctx.Err())
		case h.Err() != nil:
			return message{}, h.lost()
		}
		return message{}, during(err)
	}
	select {
	case m := <-w.answer:
		return m, nil
	case <-h.line.dead:
		select {
		case m := <-w.answer: // it came just before
			return m, nil
		default:
			return message{}, h.lost()
		}
	case <-ctx.Done():
	}
	h.mu.Lock()
	_, open := h.calls[id]
	w.left = open
	h.mu.Unlock()
	if !open {
		return <-w.answer, nil // it came just now
	}
	go func() { _ = h.line.send(nil, message{Kind: kindCancel, ID: id}) }()
	return message{}, errLeft{during(ctx.Err())}
}

// newID is the number of a call.
func (h *Host) newID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.next++
	return h.next
}

// call makes a call with typed arguments and a typed answer. There may be both
// an answer and an error, as there may be of the agent's own methods.
func call[R any](ctx context.Context, h *Host, method string, args any, late func(R)) (R, error) {
	var r R
	var given func(message)
	if late != nil {
		given = func(m message) {
			var r R
			if m.Err == nil && json.Unmarshal(m.Body, &r) == nil {
				late(r)
			}
		}
	}
	m, err := h.ask(ctx, h.newID(), method, args, given)
	if err != nil {
		return r, err
	}
	if len(m.Body) > 0 {
		if err := json.Unmarshal(m.Body, &r); err != nil {
			return r, fmt.Errorf("on %s: answer to %s: %w", h.name, method, err)
		}
	}
	return r, m.Err.error(h.name)
}

// back is how long giving back what came too late may take.
const back = 10 * time.Second

// Start implements [agent.Agent].
func (h *Host) Start(ctx context.Context, spec agent.Spec) (agent.Process, error) {
	return h.start(ctx, methodStart, spec)
}

// Wake implements [agent.Agent].
func (h *Host) Wake(ctx context.Context, cpus []int, d time.Duration) (agent.Process, error) {
	return h.start(ctx, methodWake, wakeArgs{CPUs: cpus, D: d})
}

func (h *Host) start(ctx context.Context, method string, args any) (agent.Process, error) {
	id := h.newID()
	p := newProcess(h, id)
	// Before the call: what it prints may follow the answer at once.
	h.mu.Lock()
	h.procs[id] = p
	h.mu.Unlock()
	go func() {
		p.pass()
		select {
		case <-p.gone:
		case <-h.line.dead:
		}
		h.forget(id)
	}()
	abandon := func() { // it never was
		p.abandon()
		close(p.came)
		close(p.gone)
	}
	m, err := h.ask(ctx, id, method, args, func(m message) {
		if m.Err != nil {
			abandon()
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), back)
		defer cancel()
		p.abandon() // its output is nobody's
		_ = agent.End(ctx, p)
	})
	if err != nil {
		if left := (errLeft{}); !errors.As(err, &left) { // there will be no answer
			abandon()
		}
		return nil, err
	}
	if m.Err == nil {
		err = json.Unmarshal(m.Body, &p.id)
	} else {
		err = m.Err.error(h.name)
	}
	if err != nil {
		abandon()
		return nil, err
	}
	return p, nil
}

func (h *Host) forget(process uint64) {
	h.mu.Lock()
	delete(h.procs, process)
	h.mu.Unlock()
}

// Read implements [agent.Agent].
func (h *Host) Read(ctx context.Context, paths ...string) ([]agent.Reading, error) {
	return call[[]agent.Reading](ctx, h, methodRead, paths, nil)
}

// List implements [agent.Agent].
func (h *Host) List(ctx context.Context, patterns ...string) ([]agent.Entry, error) {
	return call[[]agent.Entry](ctx, h, methodList, patterns, nil)
}

// Apply implements [agent.Agent].
func (h *Host) Apply(ctx context.Context, c agent.Change) (uint64, error) {
	return call(ctx, h, methodApply, c, func(id uint64) {
		ctx, cancel := context.WithTimeout(context.Background(), back)
		defer cancel()
		_ = h.Revert(ctx, id) // else Close does
	})
}

// Revert implements [agent.Agent].
func (h *Host) Revert(ctx context.Context, id uint64) error {
	_, err := call[none](ctx, h, methodRevert, id, nil)
	return err
}

// Find implements [agent.Agent].
func (h *Host) Find(ctx context.Context, names ...string) error {
	_, err := call[none](ctx, h, methodFind, names, nil)
	return err
}

// SHA256 implements [agent.Agent].
func (h *Host) SHA256(ctx context.Context, path string) (string, error) {
	return call[string](ctx, h, methodSHA256, path, nil)
}

// Exchange implements [agent.Agent].
func (h *Host) Exchange(ctx context.Context, socket string, requests ...string) ([]agent.Reading, error) {
	return call[[]agent.Reading](ctx, h, methodExchange, exchangeArgs{socket, requests}, nil)
}

// Processes implements [agent.Agent].
func (h *Host) Processes(ctx context.Context) (agent.Snapshot, error) {
	return call[agent.Snapshot](ctx, h, methodProcesses, none{}, nil)
}

// Usage implements [agent.Agent].
func (h *Host) Usage(ctx context.Context, pollers ...agent.Poller) ([]agent.Usage, error) {
	return call[[]agent.Usage](ctx, h, methodUsage, pollers, nil)
}

// Pin implements [agent.Agent].
func (h *Host) Pin(ctx context.Context, pid int, prefix string, cpus []int) (int, error) {
	return call[int](ctx, h, methodPin, pinArgs{pid, prefix, cpus}, nil)
}

// TempDir implements [agent.Agent].
func (h *Host) TempDir(ctx context.Context) (string, error) {
	return call(ctx, h, methodTempDir, none{}, func(dir string) {
		ctx, cancel := context.WithTimeout(context.Background(), back)
		defer cancel()
		_ = h.Remove(ctx, dir) // else Close does
	})
}

// Remove implements [agent.Agent].
func (h *Host) Remove(ctx context.Context, dir string) error {
	_, err := call[none](ctx, h, methodRemove, dir, nil)
	return err
}

// Lock makes this run the only one that measures on the machine, until the
// connection ends. It is an [agent.ErrRunning] where another does.
func (h *Host) Lock(ctx context.Context) error {
	_, err := call[none](ctx, h, methodLock, none{}, nil)
	return err
}

// Undo undoes what runs that were killed left on the machine ([agent.Undo]).
func (h *Host) Undo(ctx context.Context) ([]agent.Undone, error) {
	list, err := call[[]undone](ctx, h, methodUndo, none{}, nil)
	var out []agent.Undone
	for _, u := range list {
		out = append(out, u.undone())
	}
	return out, err
}

// Close has the agent undo whatever is left of its changes, and ends the
// connection. Where that was lost already the agent does so by itself.
func (h *Host) Close(ctx context.Context) error {
	if h.Err() != nil && errors.Is(h.line.err, errClosed) {
		return nil
	}
	_, err := call[none](ctx, h, methodClose, none{}, nil)
	h.line.fail(errClosed)
	if h.end != nil {
		err = errors.Join(err, h.end(ctx))
	}
	h.mu.Lock()
	for _, p := range h.procs {
		p.abandon()
	}
	h.mu.Unlock()
	return err
}
