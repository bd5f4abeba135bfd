//go:build real

package test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sweep/internal/agent"
	"sweep/internal/remote"
)

// sshHost is a host that ssh reaches: a real sshd, started by ssh itself for each
// connection in the place of a network.
type sshHost struct {
	t     *testing.T
	dir   string
	cache string // where the binary is brought to
	state string // where the journals are
	o     remote.Options
	log   *lockedBuffer
}

func newSSHHost(t *testing.T) *sshHost {
	t.Helper()
	for _, part := range []string{"ssh", "ssh-keygen", "/usr/sbin/sshd"} {
		if _, err := exec.LookPath(part); err != nil {
			t.Skipf("%v; apt-get install openssh-server openssh-client", err)
		}
	}
	if os.Getuid() == 0 {
		// Where an unprivileged part of sshd is locked up; its package makes it
		// when the service starts.
		if err := os.Mkdir("/run/sshd", 0o755); err == nil {
			t.Cleanup(func() { os.Remove("/run/sshd") })
		}
	}
	dir := t.TempDir()
	h := &sshHost{
		t:     t,
		dir:   dir,
		cache: filepath.Join(dir, "cache"),
		state: filepath.Join(dir, "sweep-state"),
		log:   &lockedBuffer{},
	}
	h.key("hostkey")
	h.key("userkey")
	h.write("authorized_keys", h.read("userkey.pub"))
	h.write("known_hosts", "far "+h.read("hostkey.pub"))
	h.write("sshd_config", fmt.Sprintf(`HostKey %[1]s/hostkey
AuthorizedKeysFile %[1]s/authorized_keys
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PidFile none
SetEnv XDG_CACHE_HOME=%[2]s SWEEP_STATE_DIR=%[3]s
`, dir, h.cache, h.state))
	h.write("config", fmt.Sprintf(`Host far
  ProxyCommand /usr/sbin/sshd -i -f %[1]s/sshd_config
  User %[2]s
  IdentityFile %[1]s/userkey
  IdentitiesOnly yes
  UserKnownHostsFile %[1]s/known_hosts
  GlobalKnownHostsFile /dev/null
Host *
  ProxyCommand false
`, dir, userName(t)))
	h.o = remote.Options{
		Destination: "far",
		ConfigFile:  filepath.Join(dir, "config"),
		Binary:      binary(t),
		Log:         h.log,
		Deadline:    20 * time.Second,
	}
	return h
}

func userName(t *testing.T) string {
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func (h *sshHost) key(name string) {
	h.t.Helper()
	out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(h.dir, name)).CombinedOutput()
	if err != nil {
		h.t.Fatalf("ssh-keygen: %v\n%s", err, out)
	}
}

func (h *sshHost) read(name string) string {
	h.t.Helper()
	b, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil {
		h.t.Fatal(err)
	}
	return string(b)
}

func (h *sshHost) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *sshHost) dial() *remote.Host {
	h.t.Helper()
	far, err := remote.Dial(h.t.Context(), h.o)
	if err != nil {
		h.t.Fatalf("%v\n%s", err, h.log)
	}
	h.t.Cleanup(func() { _ = far.Close(context.Background()) })
	return far
}

// client is the ssh that this test started.
func (h *sshHost) client() int {
	h.t.Helper()
	paths, _ := filepath.Glob("/proc/[0-9]*/status")
	for _, path := range paths {
		status, _ := os.ReadFile(path)
		cmdline, _ := os.ReadFile(filepath.Join(filepath.Dir(path), "cmdline"))
		if bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n")) && bytes.Contains(cmdline, []byte(h.o.ConfigFile)) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(path)))
			return pid
		}
	}
	h.t.Fatal("no ssh runs")
	return 0
}

// gone waits until a file or folder is no more.
func (h *sshHost) gone(path string) {
	h.t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return
		}
	}
	h.t.Errorf("%s is left", path)
}

func TestRemoteAgent(t *testing.T) {
	h := newSSHHost(t)
	far := h.dial()
	ctx := t.Context()
	t.Logf("hello: %+v", far.Hello())
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil || far.Hello().Boot != strings.TrimSpace(string(boot)) || far.Hello().User != userName(t) {
		t.Errorf("hello %+v", far.Hello())
	}

	p, err := far.Start(ctx, agent.Spec{Name: "probe", Argv: []string{"sh", "-c", `read l; echo "got $l"; exit 7`}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Write(ctx, []byte("typed\n")); err != nil {
		t.Fatal(err)
	}
	var text []byte
	for c := range p.Output() {
		text = append(text, c.Data...)
	}
	if exit, err := p.Wait(ctx); err != nil || exit.Code != 7 || string(text) != "typed\r\ngot typed\r\n" {
		t.Errorf("%q, %v, %v; want exit code 7", text, exit, err)
	}

	r, err := far.Read(ctx, "/proc/sys/kernel/ostype", "/no/such/file")
	if err != nil || string(r[0].Data) != "Linux\n" || r[1].Errno != syscall.ENOENT {
		t.Errorf("Read = %+v, %v", r, err)
	}

	data := bytes.Repeat([]byte{0, 10, 13, 255, 'x'}, 1<<20) // 5 MB
	image := filepath.Join(t.TempDir(), "image")
	if err := os.WriteFile(image, data, 0o600); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	at, err := far.Put(ctx, image)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("5 MiB in %v", time.Since(start))
	if got, err := os.ReadFile(at); err != nil || !bytes.Equal(got, data) {
		t.Errorf("%s: %d bytes, %v", at, len(got), err)
	}
	if again, err := far.Put(ctx, image); err != nil || again != at {
		t.Errorf("the second Put = %s, %v; want %s", again, err, at)
	}

	socket := filepath.Join(h.dir, "telemetry")
	answer(t, socket)
	x, err := far.Exchange(ctx, socket, "/ethdev/list")
	if err != nil || len(x) != 2 || string(x[0].Data) != "greeting" || string(x[1].Data) != "to /ethdev/list" {
		t.Errorf("Exchange = %+v, %v", x, err)
	}

	if err := far.Close(ctx); err != nil {
		t.Error(err)
	}
	h.gone(h.state)
	h.gone(filepath.Dir(filepath.Dir(at)))

	// The second time the binary is there.
	start = time.Now()
	if err := h.dial().Close(ctx); err != nil {
		t.Error(err)
	}
	t.Logf("dialled and closed in %v", time.Since(start))

	// What is there is verified: a binary that is damaged is brought again.
	brought, _ := filepath.Glob(filepath.Join(h.cache, "sweep", "agent-*"))
	if len(brought) != 1 {
		t.Fatalf("there are %q; want one binary", brought)
	}
	if err := os.Truncate(brought[0], 1000); err != nil {
		t.Fatal(err)
	}
	if err := h.dial().Close(ctx); err != nil {
		t.Error(err)
	}

	undone, err := remote.Clean(ctx, h.o)
	if err != nil || len(undone) > 0 {
		t.Errorf("Clean = %+v, %v", undone, err)
	}
	h.gone(h.cache)
}

// answer answers each request on a SOCK_SEQPACKET socket, one connection.
func answer(t *testing.T, path string) {
	t.Helper()
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
	t.Cleanup(func() { unix.Close(fd) })
	go func() {
		c, _, err := unix.Accept(fd)
		if err != nil {
			return
		}
		defer unix.Close(c)
		_, _ = unix.Write(c, []byte("greeting"))
		buf := make([]byte, 1024)
		for {
			n, err := unix.Read(c, buf)
			if err != nil || n == 0 {
				return
			}
			_, _ = unix.Write(c, append([]byte("to "), buf[:n]...))
		}
	}()
}

// When ssh is killed or stands still, the far side gives everything back by
// itself, and who waits on this side is told.
func TestRemoteAgentIsLeft(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(pid int) error
		want string
	}{
		{"killed", func(pid int) error { return syscall.Kill(pid, syscall.SIGKILL) }, "the connection to far was lost: ssh ended (signal: killed)"},
		{"stopped", func(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }, "the connection to far was lost: nothing was heard for 1s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newSSHHost(t)
			h.o.Beat, h.o.Silence = 100*time.Millisecond, time.Second
			far := h.dial()
			ctx := t.Context()
			p, err := far.Start(ctx, agent.Spec{Name: "sleeper", Argv: []string{"sleep", "987"}})
			if err != nil {
				t.Fatal(err)
			}
			tmp, err := far.TempDir(ctx)
			if err != nil {
				t.Fatal(err)
			}
			pid := h.client()
			if err := tt.do(pid); err != nil {
				t.Fatal(err)
			}
			for range p.Output() { // it ends
			}
			if _, err := p.Wait(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Wait = %v; want %q in it", err, tt.want)
			}
			if _, err := far.Read(ctx, "/proc/uptime"); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Read = %v; want %q in it", err, tt.want)
			}
			if err := far.Close(ctx); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Close = %v; want %q in it", err, tt.want)
			}
			h.gone(h.state)
			h.gone(tmp)
			if p.Identity().Alive() {
				t.Error("the process lives on")
			}
		})
	}
}

// An agent that was killed leaves its journal: Clean undoes it.
func TestRemoteClean(t *testing.T) {
	h := newSSHHost(t)
	far := h.dial()
	ctx := t.Context()
	// Without its parent-death signal or its terminal's hang-up: what ends it can
	// only be the journal.
	p, err := far.Start(ctx, agent.Spec{Name: "sleeper", Argv: []string{"setpriv", "--pdeathsig", "clear", "sh", "-c", "trap '' HUP; echo up; exec sleep 987"}})
	if err != nil {
		t.Fatal(err)
	}
	tmp, err := far.TempDir(ctx)
	if err != nil {
		t.Fatal(err)
	}
	<-p.Output() // it is up

	undone, err := remote.Clean(ctx, h.o)
	if err != nil || len(undone) != 1 || undone[0].Running == nil || undone[0].Running.PID != far.Hello().PID {
		t.Fatalf("Clean while the agent lives = %+v, %v", undone, err)
	}
	if err := syscall.Kill(far.Hello().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-far.Lost()
	t.Log(far.Err())
	if !p.Identity().Alive() {
		t.Error("the process ended with its agent: the test shows nothing")
	}
	undone, err = remote.Clean(ctx, h.o)
	if err != nil || len(undone) != 1 || len(undone[0].Changes) != 2 || len(undone[0].Errs) > 0 {
		t.Errorf("Clean = %+v, %v", undone, err)
	}
	if p.Identity().Alive() {
		t.Error("the process lives on")
	}
	for _, path := range []string{tmp, h.state, h.cache} {
		h.gone(path)
	}
}

func TestRemoteRefuses(t *testing.T) {
	for _, tt := range []struct {
		name string
		set  func(h *sshHost)
		kind string
	}{
		{"the host key is not known", func(h *sshHost) { h.write("known_hosts", "") }, "host-key-unknown"},
		{"the host key changed", func(h *sshHost) { h.key("other"); h.write("known_hosts", "far "+h.read("other.pub")) }, "host-key-changed"},
		{"the key is refused", func(h *sshHost) { h.write("authorized_keys", "") }, "key-refused"},
		{"a configuration with an error", func(h *sshHost) { h.write("config", "Nonsense yes\n") }, "ssh-config"},
		{"no such configuration", func(h *sshHost) { h.o.ConfigFile += "x" }, "ssh-config"},
		{"no such host", func(h *sshHost) { h.o.ConfigFile = "/dev/null"; h.o.Destination = "no-such-host.invalid" }, "name-unknown"},
		{"no sshd", func(h *sshHost) { h.o.ConfigFile = "/dev/null"; h.o.Destination = "ssh://127.0.0.1:1" }, "refused"},
		{"a shell that hangs", func(h *sshHost) {
			h.write("sshd_config", h.read("sshd_config")+"ForceCommand sleep 8\n")
			h.o.Deadline = time.Second
		}, "hangs"},
		{"no room for the binary", func(h *sshHost) { h.cache = "/proc/self"; h.setCache() }, "no-cache"},
		{"a shell that is none", func(h *sshHost) {
			h.write("sshd_config", h.read("sshd_config")+"ForceCommand echo This account is currently not available.\n")
		}, "no-shell"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newSSHHost(t)
			tt.set(h)
			far, err := remote.Dial(t.Context(), h.o)
			if err == nil {
				_ = far.Close(t.Context())
			}
			var f *remote.Failure
			if !errors.As(err, &f) || f.Kind != tt.kind {
				t.Errorf("Dial = %v; want the kind %s", err, tt.kind)
			}
			t.Log(err)
		})
	}
	t.Run("cancelled", func(t *testing.T) {
		h := newSSHHost(t)
		h.write("sshd_config", h.read("sshd_config")+"ForceCommand sleep 8\n")
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := remote.Dial(ctx, h.o); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Dial = %v", err)
		}
	})
}

func (h *sshHost) setCache() {
	h.write("sshd_config", strings.Replace(h.read("sshd_config"), filepath.Join(h.dir, "cache"), h.cache, 1))
}

// No name of a host is a command or an option, whatever the user's configuration
// does with it.
func TestRemoteHostileNames(t *testing.T) {
	h := newSSHHost(t)
	t.Chdir(h.dir)
	h.write("config", "Host *\n  ProxyCommand echo %h %r\n")
	for _, name := range []string{
		"-oProxyCommand=touch X", "a;touch X", "$(touch X)", "a\ntouch X", "`touch X`",
		"", " ", "a b", "-V", "a;touch${IFS}X", "a|touch\tX", "u@-oProxyCommand=x", "-l@a", "ssh://-V", "ssh://", "u@", "@a", `a\nb`, "a&b", "a\x00b", "a\u00a0b",
	} {
		h.o.Destination = name
		_, err := remote.Dial(t.Context(), h.o)
		if err == nil || !strings.Contains(err.Error(), "is no host that ssh could reach") {
			t.Errorf("Dial(%q) = %v", name, err)
		}
		if _, err := remote.Clean(t.Context(), h.o); err == nil {
			t.Errorf("Clean(%q) = nil", name)
		}
		if _, err := os.Lstat("X"); err == nil {
			t.Fatalf("%q made X", name)
		}
	}
}
