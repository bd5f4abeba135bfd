package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sweep/internal/agent"
	"sweep/internal/agent/agenttest"
)

// The test binary is its own child (see agent.RunChild), and what Dial brings.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == agent.ChildCommand {
		agent.RunChild()
	}
	if len(os.Args) > 1 && os.Args[1] == "agent" {
		serveHere(len(os.Args) > 2 && os.Args[2] == "--clean")
	}
	os.Exit(m.Run())
}

func serveHere(clean bool) {
	err := func() error {
		if clean {
			undone, err := agent.Undo(context.Background(), agent.JournalDir(), agent.NoHosts)
			return errors.Join(err, PrintUndone(os.Stdout, undone))
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		j, err := agent.OpenJournal(agent.JournalDir(), "")
		if err != nil {
			return err
		}
		return Serve(ctx, os.Stdin, os.Stdout, agent.NewLocal(j), Serving{})
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// pair is both sides of a connection.
type pair struct {
	host   *Host
	served chan error
	cut    func() // both ways at once
	stall  *stall // of what the host's side hears
}

// stall is a reader that can be made to wait, as a network that is gone does.
type stall struct {
	io.Reader
	mu sync.Mutex
}

func (s *stall) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	return n, err
}

func join(t *testing.T, m Machine, beat, silence time.Duration) *pair {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	p := &pair{served: make(chan error, 1), stall: &stall{Reader: outR}}
	p.cut = func() {
		inW.Close()
		outR.Close()
	}
	go func() {
		p.served <- Serve(t.Context(), inR, outW, m, Serving{Version: "test", Lock: agent.Lock})
		outW.Close()
		inR.Close()
	}()
	h, err := Connect(t.Context(), "far", p.stall, inW, beat, silence)
	if err != nil {
		t.Fatal(err)
	}
	p.host = h
	t.Cleanup(p.cut)
	return p
}

func newLocal(t *testing.T) (*agent.Local, string) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "sweep-state")
	j, err := agent.OpenJournal(dir, "RESULTS")
	if err != nil {
		t.Fatal(err)
	}
	l := agent.NewLocal(j)
	t.Cleanup(func() { _ = l.Close(context.Background()) })
	return l, dir
}

func output(p agent.Process) string {
	var b bytes.Buffer
	for c := range p.Output() {
		b.Write(c.Data)
	}
	return b.String()
}

func TestProcess(t *testing.T) {
	l, dir := newLocal(t)
	p := join(t, l, 0, 0)
	ctx := t.Context()
	hello := p.host.Hello()
	if hello.PID != os.Getpid() || hello.Version != "test" || hello.UID != os.Getuid() || !strings.HasPrefix(hello.Uname, "Linux ") {
		t.Errorf("hello %+v", hello)
	}
	proc, err := p.host.Start(ctx, agent.Spec{Name: "probe", Argv: []string{"sh", "-c", `read l; echo "$MARK $l"; exit 7`}, Env: []string{"MARK=env"}})
	if err != nil {
		t.Fatal(err)
	}
	if id := proc.Identity(); id.PID == 0 || id.Boot != hello.Boot || !id.Alive() {
		t.Errorf("identity %+v", id)
	}
	if err := proc.Write(ctx, []byte("typed\n")); err != nil {
		t.Fatal(err)
	}
	if got := output(proc); got != "typed\r\nenv typed\r\n" {
		t.Errorf("output %q", got)
	}
	exit, err := proc.Wait(ctx)
	if err != nil || exit != (agent.Exit{Code: 7}) {
		t.Errorf("Wait = %v, %v; want exit code 7", exit, err)
	}
	if err := proc.Write(ctx, []byte("late\n")); !errors.Is(err, agent.ErrGone) {
		t.Errorf("Write to a process that has ended: %v; want ErrGone", err)
	}
	if err := agent.End(ctx, proc); err != nil {
		t.Errorf("ending what has ended: %v", err)
	}

	asleep, err := p.host.Start(ctx, agent.Spec{Name: "sleeper", Argv: []string{"sleep", "60"}})
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	if _, err := asleep.Wait(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Wait on a deadline: %v", err)
	}
	if err := agent.End(ctx, asleep); err != nil {
		t.Fatal(err)
	}
	if exit, err := asleep.Wait(ctx); err != nil || exit.Signal != syscall.SIGKILL {
		t.Errorf("Wait = %v, %v; want killed", exit, err)
	}
	if err := p.host.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the journal's folder is left: %v", err)
	}
	if _, err := p.host.Read(ctx, "/proc/uptime"); err == nil || !strings.Contains(err.Error(), "the connection to far is closed") {
		t.Errorf("a call on what is closed: %v", err)
	}
}

func TestMethods(t *testing.T) {
	l, _ := newLocal(t)
	p := join(t, l, 0, 0)
	h, ctx := p.host, t.Context()

	r, err := h.Read(ctx, "/proc/sys/kernel/ostype", "/no/such/file")
	if err != nil || string(r[0].Data) != "Linux\n" || r[0].After < r[0].Before || r[1].Errno != syscall.ENOENT {
		t.Errorf("Read = %+v, %v", r, err)
	}
	e, err := h.List(ctx, "/proc/self/ex[e]", "/no/such/*")
	if err != nil || len(e) != 1 || e[0].Path != "/proc/self/exe" || e[0].Target == "" {
		t.Errorf("List = %+v, %v", e, err)
	}
	if _, err := h.List(ctx, "["); err == nil || !strings.Contains(err.Error(), "on far: list [") {
		t.Errorf("List of a bad pattern: %v", err)
	}
	if err := h.Find(ctx, "sh", "/proc"); err != nil {
		t.Error(err)
	}
	if err := h.Find(ctx, "no-such-testpmd"); err == nil || err.Error() != "on far: no-such-testpmd is not installed; ./prepare.sh installs it" {
		t.Errorf("Find = %v", err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	// The checksum of nothing (FIPS 180-4's padding alone).
	sum, err := h.SHA256(ctx, empty)
	if err != nil || sum != "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Errorf("SHA256 = %s, %v", sum, err)
	}
	if _, err := h.SHA256(ctx, "/no/such/file"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("SHA256 of what isn't there: %v; want fs.ErrNotExist", err)
	}
	s, err := h.Processes(ctx)
	if err != nil || s.Self.PID != os.Getpid() || len(s.Task) == 0 {
		t.Errorf("Processes = %+v, %v", s.Self, err)
	}
	u, err := h.Usage(ctx, agent.Poller{PID: os.Getpid()})
	if err != nil || len(u) != 1 || u[0].Ran == 0 {
		t.Errorf("Usage = %+v, %v", u, err)
	}
	if n, err := h.Pin(ctx, os.Getpid(), "no such thread", []int{0}); err != nil || n != 0 {
		t.Errorf("Pin = %d, %v", n, err)
	}
	w, err := h.Wake(ctx, []int{0}, time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.End(ctx, w); err != nil {
		t.Error(err)
	}
	dir, err := h.TempDir(ctx)
	if err != nil || !strings.HasPrefix(dir, "/tmp/sweep-") {
		t.Fatal(dir, err)
	}
	if err := h.Remove(ctx, dir); err != nil {
		t.Error(err)
	}
	if err := h.Remove(ctx, "/etc"); err == nil {
		t.Error("removed /etc")
	}
	if err := h.Revert(ctx, 0); err != nil {
		t.Error(err)
	}
	if _, err := h.Apply(ctx, agent.Change{Kind: "no such kind"}); err == nil {
		t.Error("Apply of no such kind")
	}
	if err := h.Lock(ctx); err != nil {
		t.Fatal(err)
	}
	var running *agent.ErrRunning
	if err := h.Lock(ctx); !errors.As(err, &running) || running.PID != os.Getpid() {
		t.Errorf("the second Lock: %v; want an ErrRunning with pid %d", err, os.Getpid())
	}
	p.cut()
	if err := <-p.served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("Serve = %v", err)
	}
	release, err := agent.Lock()
	if err != nil {
		t.Fatalf("the lock outlives the connection: %v", err)
	}
	release()
}

// echo answers greeting, then each request, on a SOCK_SEQPACKET socket.
func TestExchange(t *testing.T) {
	l, _ := newLocal(t)
	p := join(t, l, 0, 0)
	path := filepath.Join(t.TempDir(), "s")
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrUnix{Name: path})
	}
	if err == nil {
		err = unix.Listen(fd, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	go func() {
		c, _, err := unix.Accept(fd)
		if err != nil {
			return
		}
		defer unix.Close(c)
		_, _ = unix.Write(c, []byte("greeting"))
		buf := make([]byte, 64)
		n, _ := unix.Read(c, buf)
		_, _ = unix.Write(c, append([]byte("got "), buf[:n]...))
	}()
	// The second request has no answer: what came before it is given all the same.
	r, err := p.host.Exchange(t.Context(), path, "/a", "/b")
	if err == nil || len(r) != 2 || string(r[0].Data) != "greeting" || string(r[1].Data) != "got /a" {
		t.Errorf("Exchange = %+v, %v", r, err)
	}
}

func TestPut(t *testing.T) {
	l, _ := newLocal(t)
	p := join(t, l, 0, 0)
	ctx := t.Context()
	// Two pieces and a bit.
	data := bytes.Repeat([]byte("0123456789abcde\n"), (2<<20)/16+7)
	path := filepath.Join(t.TempDir(), "vm linuz;$x")
	if err := os.WriteFile(path, data, 0o755); err != nil {
		t.Fatal(err)
	}
	at, err := p.host.Put(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(at)
	if err != nil || !bytes.Equal(got, data) || !strings.HasPrefix(at, "/var/tmp/sweep-") || filepath.Base(at) != filepath.Base(path) {
		t.Errorf("%s holds %d bytes, %v; want %d", at, len(got), err, len(data))
	}
	if st, err := os.Stat(at); err != nil || st.Mode() != 0o700 {
		t.Errorf("mode %v, %v; want -rwx------", st.Mode(), err)
	}
	same := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(same, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if again, err := p.host.Put(ctx, same); err != nil || again != at {
		t.Errorf("the same again is at %s, %v; want %s", again, err, at)
	}
	if err := os.Remove(at); err != nil {
		t.Fatal(err)
	}
	if again, err := p.host.Put(ctx, same); err != nil || again == at {
		t.Errorf("what was removed is at %s, %v", again, err)
	}
	if _, err := p.host.Put(ctx, "/no/such/image"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Put = %v", err)
	}
	if _, err := p.host.Put(ctx, "/dev/null"); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("Put of a device: %v", err)
	}
	// The far side trusts no name.
	for _, name := range []string{"", ".", "..", "/", "../x", "a/b"} {
		if s, err := call[putState](ctx, p.host, methodPut, putArgs{Name: name, SHA256: strings.Repeat("0", 64)}, nil); err == nil {
			t.Errorf("a file called %q would be brought to %s", name, s.Path)
		}
	}
	// What comes is not what was meant.
	s, err := call[putState](ctx, p.host, methodPut, putArgs{Name: "x", Size: 1, SHA256: strings.Repeat("0", 64)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := call[none](ctx, p.host, methodPiece, pieceArgs{ID: s.ID, Data: []byte("x")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := call[putState](ctx, p.host, methodPutEnd, putEndArgs{ID: s.ID}, nil); err == nil || !strings.Contains(err.Error(), "x changed while it was brought") {
		t.Errorf("the wrong checksum: %v", err)
	}
	if _, err := os.Stat(filepath.Dir(s.Path)); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", s.Path, err)
	}
	if err := p.host.Close(ctx); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Dir(filepath.Dir(at))); !os.IsNotExist(err) {
		t.Errorf("the folder of %s is left: %v", at, err)
	}
}

// A process whose output nobody takes keeps nothing else waiting, and its output
// is all there later.
func TestSlowReader(t *testing.T) {
	l, _ := newLocal(t)
	p := join(t, l, 20*time.Millisecond, 400*time.Millisecond)
	ctx := t.Context()
	const lines = 200000
	proc, err := p.host.Start(ctx, agent.Spec{Name: "chatter", Argv: []string{"seq", fmt.Sprint(lines)}})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if _, err := p.host.Read(ctx, "/proc/uptime"); err != nil {
			t.Fatal(err)
		}
	}
	text := strings.ReplaceAll(output(proc), "\r", "")
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	if text != want.String() {
		t.Errorf("%d bytes of output; want %d", len(text), want.Len())
	}
}

// When the connection ends, whatever the reason, the agent's processes end, its
// changes are undone, and who waits is told.
func TestConnectionEnds(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*pair)
		want string
	}{
		{"closed", (*pair).close, "is closed"},
		{"cut", func(p *pair) { p.cut() }, "the connection to far was lost"},
		{"silent", func(p *pair) { p.stall.mu.Lock() }, "the connection to far was lost: nothing was heard for 300ms"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, dir := newLocal(t)
			p := join(t, l, 20*time.Millisecond, 300*time.Millisecond)
			ctx := t.Context()
			proc, err := p.host.Start(ctx, agent.Spec{Name: "sleeper", Argv: []string{"sh", "-c", "echo up; exec sleep 60"}})
			if err != nil {
				t.Fatal(err)
			}
			tmp, err := p.host.TempDir(ctx)
			if err != nil {
				t.Fatal(err)
			}
			waited := make(chan error, 1)
			go func() {
				_, err := proc.Wait(ctx)
				waited <- err
			}()
			time.Sleep(50 * time.Millisecond)
			tt.end(p)
			// Close lets go of output that nobody took.
			if text := output(proc); text != "up\r\n" && tt.name != "closed" {
				t.Errorf("output %q", text)
			}
			err = <-waited
			if tt.name != "closed" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("Wait = %v; want %q in it", err, tt.want)
			}
			_, err = p.host.Read(ctx, "/proc/uptime")
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v; want %q in it", err, tt.want)
			}
			if tt.name == "silent" {
				p.cut()
				p.stall.mu.Unlock()
			}
			<-p.served
			if proc.Identity().Alive() {
				t.Error("the process lives on")
			}
			for _, path := range []string{tmp, dir} {
				if _, err := os.Stat(path); !os.IsNotExist(err) {
					t.Errorf("%s is left: %v", path, err)
				}
			}
		})
	}
}

func (p *pair) close() {
	_ = p.host.Close(context.Background())
	p.cut()
}

// The agent hears nothing: it gives everything back although its input is open.
func TestAgentHearsNothing(t *testing.T) {
	l, dir := newLocal(t)
	inR, inW := io.Pipe()
	defer inW.Close()
	start := time.Now()
	err := Serve(t.Context(), inR, io.Discard, l, Serving{Beat: 10 * time.Millisecond, Silence: 200 * time.Millisecond})
	if d := time.Since(start); err == nil || !strings.Contains(err.Error(), "nothing was heard for 200ms") || d > 3*time.Second {
		t.Errorf("Serve = %v after %v", err, d)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left: %v", dir, err)
	}
}

// fake is a machine whose Start, Read and Apply the test has in its hand.
type fake struct {
	Machine
	start func(ctx context.Context) (agent.Process, error)
	read  func(ctx context.Context) error
	apply func(ctx context.Context) (uint64, error)

	mu       sync.Mutex
	reverted []uint64
}

func (f *fake) Start(ctx context.Context, _ agent.Spec) (agent.Process, error) { return f.start(ctx) }
func (f *fake) Read(ctx context.Context, _ ...string) ([]agent.Reading, error) {
	return nil, f.read(ctx)
}
func (f *fake) Apply(ctx context.Context, _ agent.Change) (uint64, error) { return f.apply(ctx) }
func (f *fake) Revert(_ context.Context, id uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reverted = append(f.reverted, id)
	return nil
}
func (f *fake) Close(context.Context) error { return nil }

// A call that is cancelled on this side is cancelled there.
func TestCancel(t *testing.T) {
	over := make(chan error, 1)
	f := &fake{read: func(ctx context.Context) error {
		<-ctx.Done()
		over <- ctx.Err()
		return ctx.Err()
	}}
	p := join(t, f, 0, 0)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := p.host.Read(ctx, "x"); !errors.Is(err, context.Canceled) {
		t.Errorf("Read = %v; want it cancelled", err)
	}
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("there: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.host.Read(ctx, "x"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Read = %v; want its deadline", err)
	}
	if err := <-over; err == nil {
		t.Error("there: no error")
	}
}

// What was made although nobody waited for it any more is given back.
func TestLateAnswers(t *testing.T) {
	proc := agenttest.NewProcess(nil)
	f := &fake{
		start: func(ctx context.Context) (agent.Process, error) {
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond) // later than who asked waits
			proc.Print("late")
			return proc, nil
		},
		apply: func(ctx context.Context) (uint64, error) {
			<-ctx.Done()
			time.Sleep(50 * time.Millisecond)
			return 7, nil
		},
	}
	p := join(t, f, 0, 0)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.host.Start(ctx, agent.Spec{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Start = %v", err)
	}
	ended, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if _, err := proc.Wait(ended); err != nil {
		t.Errorf("the process that was started too late: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err := p.host.Apply(ctx, agent.Change{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Apply = %v", err)
	}
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		f.mu.Lock()
		n := len(f.reverted)
		f.mu.Unlock()
		if n > 0 {
			break
		}
	}
	if len(f.reverted) != 1 || f.reverted[0] != 7 {
		t.Errorf("reverted %v; want [7]", f.reverted)
	}
	// The connection is as it was.
	p.host.mu.Lock()
	calls := len(p.host.calls)
	p.host.mu.Unlock()
	if err := p.host.Err(); err != nil || calls > 1 {
		t.Errorf("%v, %d calls wait", err, calls)
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		err error
		is  error
	}{
		{fmt.Errorf("read: %w", context.Canceled), context.Canceled},
		{context.DeadlineExceeded, context.DeadlineExceeded},
		{os.ErrDeadlineExceeded, os.ErrDeadlineExceeded},
		{errors.Join(errors.New("a"), agent.ErrGone), agent.ErrGone},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.EACCES}, fs.ErrPermission},
		{&fs.PathError{Op: "open", Path: "/x", Err: syscall.ENOSPC}, syscall.ENOSPC},
	} {
		got := newFault(tt.err).error("far")
		if !errors.Is(got, tt.is) || got.Error() != "on far: "+tt.err.Error() {
			t.Errorf("%v came as %v", tt.err, got)
		}
	}
	if err := newFault(nil).error("far"); err != nil {
		t.Errorf("nil came as %v", err)
	}
	if errors.Is(newFault(errors.New("x")).error(""), context.Canceled) {
		t.Error("any error is a cancelled one")
	}
}

func TestReadLine(t *testing.T) {
	l := newLine(strings.NewReader("a\n"+strings.Repeat("b", 200<<10)+"\n\nlast"), io.Discard)
	for _, want := range []int{1, 200 << 10, 0} {
		b, err := readLine(l.in, maxLine)
		if err != nil || len(b) != want {
			t.Errorf("a line of %d bytes, %v; want %d", len(b), err, want)
		}
	}
	if _, err := readLine(l.in, maxLine); !errors.Is(err, io.EOF) {
		t.Errorf("half a line: %v; want EOF", err)
	}
	l = newLine(io.LimitReader(endless{}, maxLine+1<<20), io.Discard)
	if _, err := readLine(l.in, maxLine); err == nil || !strings.Contains(err.Error(), "longer than") {
		t.Errorf("an endless line: %v", err)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
