package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/testpmd"
	"sweep/sizes"
)

// Wire is what joins the forwarder's second port to the client's port.
type Wire interface {
	// Name is "memif" or "veth".
	Name() string
	// Path says which frames the wire carries.
	Path() sizes.Path
	// Ports are the two ends, for the forwarder and for the client. Sockets
	// are made in dir.
	Ports(dir string) (server, client testpmd.Vdev)
	// Holder is a process that the wire lives and dies with; nil where there
	// is none.
	Holder(dir string, p Placement) *Holder
	// Enter goes before a command whose process is to use the wire, for a
	// holder with this pid.
	Enter(holder string) []string
}

// Holder is a process that a wire lives and dies with.
type Holder struct {
	agent.Spec
	Up string // what it prints when the wire is there
}

// Line is a wire that is up.
type Line struct {
	// Enter goes before the commands of the processes that use the wire.
	Enter []string
	// Console is its holder's; nil where it has none.
	Console *console.Console
	holder  agent.Process
}

// Up makes a wire ready. Its sockets are in dir. What was started ends with the
// agent, or by Down.
func Up(ctx context.Context, a agent.Agent, w Wire, dir string, p Placement, transcript io.Writer) (*Line, error) {
	h := w.Holder(dir, p)
	if h == nil {
		return &Line{}, nil
	}
	h.Name = "wire"
	proc, err := a.Start(ctx, h.Spec)
	if err != nil {
		return nil, err
	}
	l := &Line{Console: console.New(h.Name, proc, transcript), holder: proc}
	if _, err := l.Console.Wait(ctx, 0, "the "+w.Name()+" wire", func(text []byte) bool {
		return strings.Contains(string(text), h.Up)
	}); err != nil {
		return nil, errors.Join(err, l.Down(context.WithoutCancel(ctx)))
	}
	l.Enter = w.Enter(strconv.Itoa(proc.Identity().PID))
	return l, nil
}

// Processes are the wire's.
func (l *Line) Processes() []agent.Identity {
	if l.holder == nil {
		return nil
	}
	return []agent.Identity{l.holder.Identity()}
}

// Down takes the wire down. Its holder may say a last word.
func (l *Line) Down(ctx context.Context) error {
	if l.holder == nil {
		return nil
	}
	if err := l.holder.Signal(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	ask, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if _, err := l.holder.Wait(ask); err == nil {
		return nil
	}
	return agent.End(ctx, l.holder)
}

// Wires are the names that NewWire takes.
func Wires() []string { return []string{"memif", "veth"} }

// NewWire returns the wire of that name.
func NewWire(name string, user int) (Wire, error) {
	switch name {
	case "memif":
		return Memif{RingExp: 14}, nil
	case "veth":
		return Veth{Rootless: user != 0}, nil
	}
	return nil, fmt.Errorf("no wire is called %q; there are %s", name, strings.Join(Wires(), " and "))
}

// maxLab is the longest frame without FCS on a lab's wire: an MTU of 1500 and
// the Ethernet header.
const maxLab = 1514

// Memif is shared memory between two DPDK processes (DPDK's "Memif Poll Mode
// Driver" page).
type Memif struct {
	// RingExp is log2 of the ring's length. The driver's own is 10; 14 is the
	// most it takes, and brings the most where pollers share a CPU.
	RingExp int
}

func (Memif) Name() string                     { return "memif" }
func (Memif) Path() sizes.Path                 { return sizes.Path{Max: maxLab} }
func (Memif) Holder(string, Placement) *Holder { return nil }
func (Memif) Enter(string) []string            { return nil }

// Ports implements [Wire].
func (m Memif) Ports(dir string) (server, client testpmd.Vdev) {
	socket := dir + "/memif.sock"
	return m.end(0, "server", socket), m.end(0, "client", socket)
}

// end is a device of a process: one of the two that share a socket.
func (m Memif) end(number int, role, socket string) testpmd.Vdev {
	v := testpmd.Vdev{Name: "net_memif" + strconv.Itoa(number), Args: []testpmd.Arg{
		{Key: "role", Value: role},
		{Key: "socket", Value: socket},
		// A socket in the file system is ours alone and goes with its
		// folder; an abstract one anybody on the machine may connect to.
		{Key: "socket-abstract", Value: "no"},
	}}
	if m.RingExp > 0 {
		v.Args = append(v.Args, testpmd.Arg{Key: "rsize", Value: strconv.Itoa(m.RingExp)})
	}
	return v
}

// Veth is a pair of the kernel's virtual Ethernet ends in a network namespace
// of the run's own, which nothing can be routed out of; DPDK speaks to them
// through packet sockets (net_af_packet). It is slow, and it is the kernel's:
// what a NIC with a kernel driver would be.
type Veth struct {
	// Rootless makes the namespace inside a user namespace, which needs no
	// root where the kernel allows it.
	Rootless bool
}

func (Veth) Name() string     { return "veth" }
func (Veth) Path() sizes.Path { return sizes.Path{Max: maxLab} }

func (Veth) Ports(string) (server, client testpmd.Vdev) {
	end := func(iface string) testpmd.Vdev {
		return testpmd.Vdev{Name: "net_af_packet0", Args: []testpmd.Arg{{Key: "iface", Value: iface}}}
	}
	return end("sweep0"), end("sweep1")
}

// Holder implements [Wire].
func (v Veth) Holder(string, Placement) *Holder {
	const up = "wire-is-up"
	// No IPv6: its router solicitations would be counted as frames.
	const script = `set -e
ip link add sweep0 type veth peer name sweep1
for end in sweep0 sweep1; do
	echo 1 >/proc/sys/net/ipv6/conf/$end/disable_ipv6 2>/dev/null || ip link set $end addrgenmode none
	ip link set $end up
done
echo ` + up + `
exec sleep infinity`
	argv := []string{"unshare", "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--map-root-user")
	}
	return &Holder{agent.Spec{Argv: append(argv, "sh", "-c", script)}, up}
}

// Enter implements [Wire].
func (v Veth) Enter(holder string) []string {
	argv := []string{"nsenter", "--target", holder, "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--preserve-credentials")
	}
	return argv
}
