package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Local is the Agent of the machine that this program runs on.
type Local struct {
	journal *Journal
	host    host
	spawn   chan func() // run on one thread that lives as long as the agent
	ended   chan struct{}
	end     sync.Once // closes ended

	mu    sync.Mutex
	procs map[int]*localProcess
	dirs  map[string]uint64 // path to its journal entry

	applying sync.Mutex // held while a change is made or undone
	changes  map[uint64]Change
}

// NewLocal returns an agent that writes its changes to journal.
func NewLocal(journal *Journal) *Local {
	l := &Local{
		journal: journal,
		host:    thisHost(),
		changes: map[uint64]Change{},
		spawn:   make(chan func()),
		ended:   make(chan struct{}),
		procs:   map[int]*localProcess{},
		dirs:    map[string]uint64{},
	}
	go func() {
		// A parent-death signal is sent when the thread that forked ends,
		// not the process: so one thread forks everything, and stays.
		runtime.LockOSThread()
		for {
			select {
			case f := <-l.spawn:
				f()
			case <-l.ended:
				return
			}
		}
	}()
	return l
}

// Start implements [Agent].
func (l *Local) Start(ctx context.Context, spec Spec) (Process, error) {
	if len(spec.Argv) == 0 {
		return nil, fmt.Errorf("start %s: no command", spec.Name)
	}
	path, err := lookPath(spec.Argv[0])
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return l.start(ctx, spec, orders{Argv: spec.Argv, Path: path, Files: spec.Files, CPUs: spec.CPUs, Slice: spec.Slice})
}

// Wake implements [Agent].
func (l *Local) Wake(ctx context.Context, cpus []int, d time.Duration) (Process, error) {
	spec := Spec{Name: "waker", Argv: []string{ChildCommand}, Slice: d}
	return l.start(ctx, spec, orders{Wake: cpus, Slice: d})
}

func (l *Local) start(ctx context.Context, spec Spec, o orders) (_ Process, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("start %s: %w", spec.Name, err)
		}
	}()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ordersW.Close()
	reportR, reportW, err := os.Pipe()
	if err != nil {
		ordersR.Close()
		return nil, err
	}
	defer reportR.Close()

	cmd := exec.Command("/proc/self/exe", ChildCommand, spec.Name)
	cmd.Dir = spec.Dir
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.ExtraFiles = []*os.File{ordersR, reportW} // descriptors 3 and 4
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Pdeathsig: syscall.SIGKILL}
	var tty *os.File
	started := make(chan error, 1)
	select {
	case l.spawn <- func() {
		// 500 columns: testpmd's line editing redraws a line that wraps.
		var err error
		tty, err = pty.StartWithAttrs(cmd, &pty.Winsize{Rows: 50, Cols: 500}, cmd.SysProcAttr)
		started <- err
	}:
		err = <-started
	case <-l.ended:
		err = errors.New("the agent is closed")
	}
	ordersR.Close()
	reportW.Close()
	if err != nil {
		return nil, err
	}
	abandon := func(err error) error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		tty.Close()
		return err
	}
	id, err := IdentityOf(cmd.Process.Pid)
	if err != nil {
		return nil, abandon(err)
	}
	entry, err := l.journal.Add(Change{Kind: ChangeProcess, Name: spec.Name, Process: &id})
	if err != nil {
		return nil, abandon(err)
	}
	b, err := json.Marshal(o)
	if err == nil {
		_, err = ordersW.Write(b)
	}
	ordersW.Close()
	if err == nil {
		var why []byte
		why, err = io.ReadAll(reportR)
		if err == nil && len(why) > 0 {
			err = errors.New(string(why))
		}
	}
	if err != nil {
		err = abandon(err)
		return nil, errors.Join(err, l.journal.Done(entry))
	}

	p := &localProcess{
		id:     id,
		cmd:    cmd,
		tty:    tty,
		output: make(chan Chunk, 64),
		gone:   make(chan struct{}),
	}
	l.mu.Lock()
	l.procs[id.PID] = p
	l.mu.Unlock()
	go p.read()
	go func() {
		p.reap()
		l.mu.Lock()
		delete(l.procs, id.PID)
		l.mu.Unlock()
		// An entry that stays names a process that is gone, which undoing
		// leaves alone: an error here loses nothing.
		_ = l.journal.Done(entry)
		close(p.gone)
	}()
	return p, nil
}

// Read implements [Agent].
func (l *Local) Read(_ context.Context, paths ...string) ([]Reading, error) {
	out := make([]Reading, len(paths))
	for i, path := range paths {
		r := Reading{Path: path, Before: now()}
		data, err := os.ReadFile(path)
		r.After = now()
		r.Data = data
		if err != nil {
			r.Err = err.Error()
			errors.As(err, &r.Errno)
		}
		out[i] = r
	}
	return out, nil
}

// List implements [Agent].
func (l *Local) List(_ context.Context, patterns ...string) ([]Entry, error) {
	var out []Entry
	for _, pattern := range patterns {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		for _, path := range paths {
			e := Entry{Path: path}
			st, err := os.Lstat(path)
			if err != nil {
				continue // it went between the two looks
			}
			e.Dir = st.IsDir()
			if st.Mode()&os.ModeSymlink != 0 {
				if e.Target, err = os.Readlink(path); err != nil {
					continue
				}
			}
			out = append(out, e)
		}
	}
	return out, nil
}

// Put implements [Agent]: the caller's machine is this one.
func (l *Local) Put(_ context.Context, path string) (string, error) { return path, nil }

// SHA256 implements [Agent].
func (l *Local) SHA256(_ context.Context, path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("checksum of %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Find implements [Agent].
func (l *Local) Find(_ context.Context, names ...string) error {
	for _, name := range names {
		var err error
		if strings.Contains(name, "/") {
			err = unix.Access(name, unix.R_OK)
			if err != nil {
				err = fmt.Errorf("%s: %w", name, err)
			}
		} else {
			_, err = lookPath(name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// exchangeDeadline is how long an answer on a socket may take; it takes a
// millisecond on a quiet machine.
const exchangeDeadline = 10 * time.Second

// Exchange implements [Agent].
func (l *Local) Exchange(ctx context.Context, socket string, requests ...string) ([]Reading, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unixpacket", socket) // SOCK_SEQPACKET
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	end := time.Now().Add(exchangeDeadline)
	if e, ok := ctx.Deadline(); ok && e.Before(end) {
		end = e
	}
	if err := conn.SetDeadline(end); err != nil {
		return nil, fmt.Errorf("%s: %w", socket, err)
	}
	buf := make([]byte, 64<<10) // telemetry's greeting promises no more than 16 KiB
	var out []Reading
	for i := -1; i < len(requests); i++ {
		r := Reading{Path: socket, Before: now()}
		if i >= 0 {
			if _, err := conn.Write([]byte(requests[i])); err != nil {
				return out, fmt.Errorf("ask %s for %s: %w", socket, requests[i], err)
			}
		}
		n, err := conn.Read(buf)
		if err != nil {
			return out, fmt.Errorf("read from %s: %w", socket, err)
		}
		r.After = now()
		r.Data = append([]byte(nil), buf[:n]...)
		out = append(out, r)
	}
	return out, nil
}

// Processes implements [Agent].
func (l *Local) Processes(context.Context) (Snapshot, error) {
	boot, err := bootID()
	if err != nil {
		return Snapshot{}, err
	}
	dir, err := os.ReadDir("/proc")
	if err != nil {
		return Snapshot{}, err
	}
	s, self := Snapshot{Time: now()}, os.Getpid()
	for _, e := range dir {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		st, err := readStat(pid)
		if err != nil {
			continue // it ended between the two looks
		}
		id := Identity{PID: pid, Start: st.start, Boot: boot}
		if pid == self {
			s.Self = id
		}
		s.Task = append(s.Task, Task{
			Identity: id,
			Comm:     st.comm,
			CPU:      st.cpu,
			// proc(5) counts in USER_HZ, which is 100 on every Linux
			// that Go runs on.
			Used: time.Duration(st.ticks) * 10 * time.Millisecond,
		})
	}
	return s, nil
}

// Pin implements [Agent].
func (l *Local) Pin(_ context.Context, pid int, prefix string, cpus []int) (int, error) {
	tasks, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*")
	if err != nil {
		return 0, err
	}
	n := 0
	for _, task := range tasks {
		comm, err := os.ReadFile(task + "/comm")
		if err != nil || !strings.HasPrefix(string(comm), prefix) {
			continue
		}
		tid, err := strconv.Atoi(filepath.Base(task))
		if err != nil {
			continue
		}
		if err := setAffinity(tid, cpus); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TempDir implements [Agent].
func (l *Local) TempDir(context.Context) (string, error) {
	// Not os.TempDir: a long TMPDIR would break the sockets' paths.
	const parent = "/tmp"
	dir, entry, err := l.journal.makeDir(parent)
	if err != nil {
		return "", fmt.Errorf("make a folder for sockets in %s: %w", parent, err)
	}
	l.mu.Lock()
	l.dirs[dir] = entry
	l.mu.Unlock()
	return dir, nil
}

// Remove implements [Agent].
func (l *Local) Remove(_ context.Context, dir string) error {
	l.mu.Lock()
	entry, mine := l.dirs[dir]
	delete(l.dirs, dir)
	l.mu.Unlock()
	if !mine {
		return fmt.Errorf("remove %s: it is none of this run's folders", dir)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err // it stays in the journal
	}
	return l.journal.Done(entry)
}

// Close implements [Agent].
func (l *Local) Close(ctx context.Context) error {
	l.mu.Lock()
	procs := make([]*localProcess, 0, len(l.procs))
	for _, p := range l.procs {
		procs = append(procs, p)
	}
	l.mu.Unlock()
	for _, p := range procs {
		_ = p.Signal(ctx, syscall.SIGKILL)
	}
	var errs []error
	for _, p := range procs {
		select {
		case <-p.gone:
		case <-ctx.Done():
			errs = append(errs, fmt.Errorf("pid %d does not end: %w", p.id.PID, ctx.Err()))
		}
	}
	// The processes first: one may hold a device that is given back.
	errs = append(errs, l.revertAll(ctx))
	l.mu.Lock()
	dirs := slices.Collect(maps.Keys(l.dirs))
	l.mu.Unlock()
	for _, dir := range dirs {
		errs = append(errs, l.Remove(ctx, dir))
	}
	l.end.Do(func() { close(l.ended) })
	errs = append(errs, l.journal.Close())
	return errors.Join(errs...)
}

func now() Time {
	var ts unix.Timespec
	// It can't fail for this clock; the vDSO answers without a system call.
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts)
	return Time(ts.Nano())
}
