package remote

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Options say which host, and how to get there.
type Options struct {
	// Destination is any of ssh's: an alias of the user's configuration, host,
	// user@host, ssh://user@host:port.
	Destination string

	// ConfigFile is what ssh reads in the place of ~/.ssh/config; "" leaves that.
	ConfigFile string

	// Sudo runs the agent as root, with sudo, which must ask for no password.
	Sudo bool

	// Binary is the path of this program; "" finds it.
	Binary string

	// Log is given what ssh and the agent print on their standard error; nil
	// drops it.
	Log io.Writer

	// Deadline is how long nothing may come of the host until its agent says
	// hello; a minute where it is 0. While the binary is brought, each piece of it
	// that goes through is something.
	Deadline time.Duration

	// Beat and Silence are the heartbeat's; where they are 0, two seconds and
	// fifteen.
	Beat, Silence time.Duration
}

func (o Options) deadline() time.Duration {
	if o.Deadline == 0 {
		return time.Minute
	}
	return o.Deadline
}

// sshArgs are the arguments of ssh that hold whatever the user's configuration
// says (ssh_config(5)); the rest is the user's.
func sshArgs(o Options, command string) []string {
	args := []string{
		"-T", // no terminal: what comes is what was sent
		"-o", "BatchMode=yes",
		"-o", "ConnectTimeout=10",
		"-o", "ServerAliveInterval=5",
		"-o", "ServerAliveCountMax=3",
		// Neither a shared connection's master, which would outlive us in the
		// background, nor a second to forwardings that another ssh holds. A master
		// that is there already is used.
		"-o", "ControlMaster=no",
		"-o", "ClearAllForwardings=yes",
		"-o", "ForwardAgent=no",
		"-o", "ForwardX11=no",
		"-o", "PermitLocalCommand=no",
		"-o", "RemoteCommand=none",
		"-o", "LogLevel=INFO", // below, it does not say why it ends
	}
	if o.ConfigFile != "" {
		args = append(args, "-F", o.ConfigFile)
	}
	return append(args, "--", o.Destination, command)
}

// ssh is one that runs.
type ssh struct {
	o    Options
	cmd  *exec.Cmd
	in   *os.File
	out  *os.File
	line *line // over in and out

	said tail // on its standard error, and what is no message on its standard output
	gone chan struct{}

	quiet *time.Timer // ends it when nothing came for too long
	stage stage

	mu   sync.Mutex
	hung bool
}

// openSSH starts ssh and brings the binary. What the script's last step, do, prints
// comes on the line then.
func openSSH(ctx context.Context, o Options, do string) (_ *ssh, err error) {
	if err := checkDestination(o.Destination); err != nil {
		return nil, err
	}
	if o.Binary == "" {
		o.Binary = "/proc/self/exe" // what runs, whatever was built since
	}
	binary, err := os.Open(o.Binary)
	if err != nil {
		return nil, fmt.Errorf("bring sweep to %s: %w", o.Destination, err)
	}
	defer binary.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, binary)
	if err == nil {
		_, err = binary.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, fmt.Errorf("bring sweep to %s: %w", o.Destination, err)
	}
	command, err := command(hex.EncodeToString(sum.Sum(nil)), size, o.Sudo, do)
	if err != nil {
		return nil, err
	}
	s, err := startSSH(o, command)
	if err != nil {
		return nil, err
	}
	s.quiet = time.AfterFunc(o.deadline(), func() {
		s.mu.Lock()
		s.hung = true
		s.mu.Unlock()
		s.kill()
	})
	defer context.AfterFunc(ctx, s.kill)()
	if err := s.bring(binary); err != nil {
		return nil, s.failed(ctx, err)
	}
	return s, nil
}

func startSSH(o Options, command string) (*ssh, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return nil, fmt.Errorf("there is no ssh on this machine, which reaches %s; install the package openssh-client: %w", o.Destination, err)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inR.Close()
	outR, outW, err := os.Pipe()
	if err != nil {
		inW.Close()
		return nil, err
	}
	defer outW.Close()
	errR, errW, err := os.Pipe()
	if err != nil {
		inW.Close()
		outR.Close()
		return nil, err
	}
	defer errW.Close()
	s := &ssh{o: o, in: inW, out: outR, line: newLine(outR, inW), gone: make(chan struct{})}
	s.cmd = exec.Command(path, sshArgs(o, command)...)
	// Pipes of our own: with those of package exec, Wait would wait for whoever
	// holds one still, such as a ProxyCommand.
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = inR, outW, errW
	// A session of its own: Ctrl-C on the terminal must end this program only,
	// which needs the connection to give everything back. And without a terminal
	// nothing can ask there.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := s.cmd.Start(); err != nil {
		inW.Close()
		outR.Close()
		errR.Close()
		return nil, fmt.Errorf("start ssh: %w", err)
	}
	go func() {
		log := io.Writer(&s.said)
		if o.Log != nil {
			log = io.MultiWriter(&s.said, o.Log)
		}
		_, _ = io.Copy(log, errR)
		errR.Close()
	}()
	go func() {
		_ = s.cmd.Wait()
		close(s.gone)
	}()
	return s, nil
}

// maxSkipped is how much a shell may print, in bytes, before it runs the script.
const maxSkipped = 64 << 10

var errTalks = errors.New("the shell there prints more than 64 KiB before it runs a command, such as by a line in ~/.bashrc")

// bring waits for the script and gives it the binary, where it wants it.
func (s *ssh) bring(binary io.Reader) error {
	for skipped := 0; ; {
		b, err := readLine(s.line.in, maxSkipped)
		if errors.As(err, new(longError)) {
			return errTalks
		}
		if err != nil {
			return err
		}
		s.quiet.Reset(s.o.deadline())
		switch text := string(bytes.TrimSpace(b)); text {
		case markHave:
			s.stage = starting
			return nil
		case markWant:
			s.stage = bringing
			if err := s.give(binary); err != nil {
				s.rest()
				return err
			}
		default:
			// A shell's start-up files print, or the script says what it lacks.
			if skipped += len(b) + 1; skipped > maxSkipped {
				return errTalks
			}
			_, _ = s.said.Write(append(b, '\n'))
		}
	}
}

// give writes the binary, in pieces: each that goes through is a sign of life.
func (s *ssh) give(binary io.Reader) error {
	buf := make([]byte, 64<<10)
	for {
		n, err := binary.Read(buf)
		if n > 0 {
			if _, err := s.in.Write(buf[:n]); err != nil {
				return err
			}
			s.quiet.Reset(s.o.deadline())
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// rest takes what the script says last.
func (s *ssh) rest() {
	for {
		b, err := readLine(s.line.in, maxSkipped)
		if err != nil {
			return
		}
		_, _ = s.said.Write(append(b, '\n'))
	}
}

// failed ends ssh and says why there is no agent; err is how that showed.
func (s *ssh) failed(ctx context.Context, err error) error {
	s.quiet.Stop()
	dest := s.o.Destination
	if errors.Is(err, errTalks) {
		s.kill() // it would never end
	}
	select {
	case <-s.gone:
	case <-time.After(2 * time.Second): // its output has ended, or is none
	}
	s.end(ctx)
	s.out.Close()
	if ctx.Err() != nil {
		return fmt.Errorf("connect to %s: %w", dest, context.Cause(ctx))
	}
	e := ended{stage: s.stage, said: s.said.String(), exit: -1, config: s.o.ConfigFile}
	select {
	case <-s.gone:
		e.exit = s.cmd.ProcessState.ExitCode()
	default:
	}
	s.mu.Lock()
	hung := s.hung
	s.mu.Unlock()
	if hung {
		e.hung = s.o.deadline()
	}
	f := explain(dest, e)
	if f.Kind == "unknown" && !errors.Is(err, io.EOF) && !errors.Is(err, syscall.EPIPE) && !hung {
		f.Why = err.Error()
	}
	return f
}

// end lets ssh end: its input ends, so the agent does, and so ssh. It is killed
// where that takes more than five seconds, or ctx is over.
func (s *ssh) end(ctx context.Context) {
	s.in.Close()
	select {
	case <-s.gone:
		return
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
	s.kill()
	select {
	case <-s.gone:
	case <-time.After(2 * time.Second):
	}
}

// kill kills ssh and what it started: the session that it leads.
func (s *ssh) kill() {
	select {
	case <-s.gone: // its number may be another's
	default:
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	}
}

// lost says why the connection ended, in ssh's words where it had any.
func (s *ssh) lost(err error) error {
	if errors.Is(err, errClosed) || errors.As(err, new(silentError)) {
		return err
	}
	select {
	case <-s.gone:
	case <-time.After(time.Second):
	}
	if said := lastLines(s.said.String(), 3); said != "" {
		return errors.New("ssh says: " + strings.ReplaceAll(said, "\n", "; "))
	}
	select {
	case <-s.gone:
		return fmt.Errorf("ssh ended (%v) and said nothing", s.cmd.ProcessState)
	default:
		return err
	}
}

// tail keeps the end of what is written to it.
type tail struct {
	mu sync.Mutex
	b  []byte
}

const tailSize = 16 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, p...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.b)
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = nil
}
