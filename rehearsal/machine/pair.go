package machine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sweep/internal/agent"
)

// How long things may take. A machine is ready for ssh after half a minute on
// two quiet CPUs.
const (
	bootDeadline  = 5 * time.Minute
	sshDeadline   = time.Minute
	startDeadline = 10 * time.Second
	syncDeadline  = 30 * time.Second
	quitDeadline  = 10 * time.Second
)

// Pair is the two machines, as far as a folder on this machine tells.
type Pair struct {
	dir string // absolute
	say func(format string, args ...any)
}

// Open returns the pair whose state is in a folder, which is made if it is
// missing. say is told what is being done, a line each.
func Open(dir string, say func(format string, args ...any)) (*Pair, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(abs, 0o755); err != nil {
		return nil, err
	}
	return &Pair{dir: abs, say: say}, nil
}

// Running is a machine's QEMU.
type Running struct {
	agent.Identity
	Port int `json:"port"`
}

// running reads what is known of a machine's QEMU; ok is false where it doesn't
// run.
func (p *Pair) running(name string) (r Running, ok bool, err error) {
	b, err := os.ReadFile(p.path(Machine{Name: name}.running()))
	if errors.Is(err, os.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, false, fmt.Errorf("%s: %w", p.path(Machine{Name: name}.running()), err)
	}
	return r, r.Alive(), nil
}

func (p *Pair) path(name string) string { return filepath.Join(p.dir, name) }

// lock keeps two commands that change something from doing so at once. It is
// gone with the process.
func (p *Pair) lock() (unlock func(), err error) {
	f, err := os.OpenFile(p.path("lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("another rehearsal command is at work in %s (%w): wait for it", p.dir, err)
	}
	return func() { f.Close() }, nil
}

// Up starts both machines and waits until ssh answers on both. Machines that
// run already stay as they are.
func (p *Pair) Up(ctx context.Context) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	alive := 0
	for _, n := range names() {
		_, ok, err := p.running(n)
		if err != nil {
			return err
		}
		if ok {
			alive++
		}
	}
	if alive == len(names()) {
		for _, n := range names() {
			if err := p.answers(ctx, n); err != nil {
				return fmt.Errorf("%w; end both and start them again: down, then up", err)
			}
		}
		p.say("both machines are up already")
		return nil
	}
	// The cable is between two QEMUs: one that was left can't be joined again.
	if err := p.end(ctx); err != nil {
		return err
	}
	made, err := p.makeBase(ctx)
	if err != nil {
		return err
	}
	var machines []Machine
	for _, n := range names() {
		port, err := freePort()
		if err != nil {
			return err
		}
		m := Machine{Name: n, Port: port}
		machines = append(machines, m)
		if _, err := os.Stat(p.path(m.disk())); made || err != nil {
			p.say("copying the disk of %s", m.Host())
			if err := copySparse(p.path(m.disk()), p.path("base/disk.ext4")); err != nil {
				return fmt.Errorf("disk of %s: %w", m.Host(), err)
			}
		}
	}
	if err := p.write(machines); err != nil {
		return err
	}
	begun := time.Now()
	for _, m := range machines {
		p.say("starting %s (its console is %s)", m.Host(), p.path(m.console()))
		if err := p.start(ctx, m); err != nil {
			return errors.Join(err, p.end(context.WithoutCancel(ctx)))
		}
	}
	for _, m := range machines {
		if err := p.ready(ctx, m, 0); err != nil {
			return errors.Join(err, p.end(context.WithoutCancel(ctx)))
		}
		p.say("%s answers after %.0f s", m.Host(), time.Since(begun).Seconds())
	}
	p.say("both are up: ssh -F %s %s, and --testbed %s", p.path("ssh_config"), machines[0].Host(), p.path("testbed.yaml"))
	return nil
}

// write writes the files by which the machines are reached.
func (p *Pair) write(machines []Machine) error {
	if err := os.WriteFile(p.path("ssh_config"), []byte(SSHConfig(p.dir, machines)), 0o644); err != nil {
		return err
	}
	return os.WriteFile(p.path("testbed.yaml"), []byte(Testbed()), 0o644)
}

// freePort finds a port of 127.0.0.1 that is free now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// start starts a machine's QEMU, in a session of its own, so that it outlives
// this program, and waits for its monitor.
func (p *Pair) start(ctx context.Context, m Machine) error {
	for _, left := range []string{m.qmp(), m.console()} {
		if err := os.Remove(p.path(left)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	if m.Name == names()[0] {
		if err := os.Remove(p.path("cable")); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	words, err := os.Create(p.path(m.words()))
	if err != nil {
		return err
	}
	defer words.Close()
	argv := m.Argv()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, words, words
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w (./prepare.sh --rehearsal installs what is missing)", m.Host(), err)
	}
	gone := make(chan error, 1)
	go func() { gone <- cmd.Wait() }()
	id, err := agent.IdentityOf(cmd.Process.Pid)
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", m.Host(), err), cmd.Process.Kill())
	}
	b, err := json.Marshal(Running{Identity: id, Port: m.Port})
	if err == nil {
		err = os.WriteFile(p.path(m.running()), append(b, '\n'), 0o644)
	}
	if err != nil {
		return errors.Join(err, cmd.Process.Kill())
	}
	deadline := time.After(startDeadline)
	for {
		if err = qmp(ctx, p.dir, m.qmp(), "query-status"); err == nil {
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case exit := <-gone:
			return fmt.Errorf("QEMU of %s ended at once (%v). It said:\n%s", m.Host(), exit, lastLines(p.path(m.words()), 5))
		case <-deadline:
			return fmt.Errorf("QEMU of %s doesn't answer within %v: %w. It said:\n%s", m.Host(), startDeadline, err, lastLines(p.path(m.words()), 5))
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// readyWords are what rc ends with.
const readyWords = "is ready for ssh"

// ready waits until a machine has booted, as its console from the given byte on
// shows, and answers on ssh.
func (p *Pair) ready(ctx context.Context, m Machine, from int) error {
	ctx, cancel := context.WithTimeout(ctx, bootDeadline)
	defer cancel()
	fail := func(err error) error {
		if cause := context.Cause(ctx); errors.Is(cause, context.DeadlineExceeded) {
			err = fmt.Errorf("%w within %v", err, bootDeadline)
		} else if cause != nil {
			return cause
		}
		return fmt.Errorf("%s: %w; its console's last lines (all are in %s):\n%s", m.Host(), err, p.path(m.console()), lastLines(p.path(m.console()), 12))
	}
	for {
		b, err := os.ReadFile(p.path(m.console()))
		if err == nil && len(b) >= from && bytes.Contains(b[from:], []byte(readyWords)) {
			break
		}
		if _, ok, err := p.running(m.Name); err != nil || !ok {
			return fail(errors.Join(errors.New("its QEMU has ended"), err))
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return fail(errors.New("it hasn't booted"))
		}
	}
	for {
		err := p.answers(ctx, m.Name)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(500 * time.Millisecond):
		case <-ctx.Done():
			return fail(err)
		}
	}
}

// answers says whether a machine answers on ssh.
func (p *Pair) answers(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, sshDeadline)
	defer cancel()
	if out, err := p.SSH(ctx, name, "true").CombinedOutput(); err != nil {
		return fmt.Errorf("%s doesn't answer on ssh: %w: %s", Machine{Name: name}.Host(), err, bytes.TrimSpace(out))
	}
	return nil
}

// SSH is a command on a machine, or a shell where there is none. As with ssh
// itself, the words are joined by blanks and read by the machine's shell.
func (p *Pair) SSH(ctx context.Context, name string, command ...string) *exec.Cmd {
	args := append([]string{"-F", p.path("ssh_config"), Machine{Name: name}.Host()}, command...)
	return exec.CommandContext(ctx, "ssh", args...)
}

// Reset resets a machine as its button would, and waits for ssh. What was
// written to its disk stays, if it was synced.
func (p *Pair) Reset(ctx context.Context, name string) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	r, ok, err := p.running(name)
	if err != nil {
		return err
	}
	m := Machine{Name: name, Port: r.Port}
	if !ok {
		return fmt.Errorf("%s doesn't run: up starts both", m.Host())
	}
	before, err := os.Stat(p.path(m.console()))
	if err != nil {
		return err
	}
	p.say("resetting %s", m.Host())
	begun := time.Now()
	if err := qmp(ctx, p.dir, m.qmp(), "system_reset"); err != nil {
		return err
	}
	if err := p.ready(ctx, m, int(before.Size())); err != nil {
		return err
	}
	p.say("%s answers after %.0f s", m.Host(), time.Since(begun).Seconds())
	return nil
}

// Down ends both machines; with all, their disks go too.
func (p *Pair) Down(ctx context.Context, all bool) error {
	unlock, err := p.lock()
	if err != nil {
		return err
	}
	defer unlock()
	if err := p.end(ctx); err != nil {
		return err
	}
	if !all {
		return nil
	}
	var errs []error
	for _, n := range names() {
		m := Machine{Name: n}
		for _, f := range []string{m.disk(), m.console(), m.words()} {
			if err := os.Remove(p.path(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// end ends those machines that run: their disks are synced by way of ssh, where
// that answers, and QEMU is told to quit; one that doesn't is killed.
func (p *Pair) end(ctx context.Context) error {
	var errs []error
	for _, n := range names() {
		m := Machine{Name: n}
		r, ok, err := p.running(n)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if ok {
			p.say("ending %s", m.Host())
			if err := p.quit(ctx, m, r); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		for _, f := range []string{m.running(), m.qmp()} {
			if err := os.Remove(p.path(f)); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

func (p *Pair) quit(ctx context.Context, m Machine, r Running) error {
	// A machine that is still booting, or hangs, has nothing to sync.
	sync, cancel := context.WithTimeout(ctx, syncDeadline)
	if out, err := p.SSH(sync, m.Name, "sync").CombinedOutput(); err != nil {
		p.say("%s didn't sync its disk (%v: %s); the next start repairs it", m.Host(), err, strings.TrimSpace(string(out)))
	}
	cancel()
	if err := qmp(ctx, p.dir, m.qmp(), "quit"); err != nil {
		p.say("%v; killing it", err)
	} else if r.WaitGone(quitDeadline) {
		return nil
	}
	if err := r.Kill(syscall.SIGKILL); err != nil {
		return err
	}
	if !r.WaitGone(quitDeadline) {
		return fmt.Errorf("QEMU of %s, pid %d, is still there %v after SIGKILL: its disk or its memory is stuck in the kernel", m.Host(), r.PID, quitDeadline)
	}
	return nil
}

// Status writes a line about each machine.
func (p *Pair) Status(ctx context.Context, w io.Writer) error {
	for _, n := range names() {
		m := Machine{Name: n}
		r, ok, err := p.running(n)
		if err != nil {
			return err
		}
		words := "down"
		if ok {
			words = fmt.Sprintf("up, QEMU is pid %d, ssh is at 127.0.0.1:%d and answers", r.PID, r.Port)
			if err := p.answers(ctx, n); err != nil {
				words = fmt.Sprintf("QEMU is pid %d, but %v", r.PID, err)
			}
		}
		if _, err := fmt.Fprintf(w, "%s: %s\n", m.Host(), words); err != nil {
			return err
		}
	}
	return nil
}
