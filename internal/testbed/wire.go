package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

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
	// Holder is the command of a process that the wire lives and dies with,
	// and which says wireIsUp when it is there; nil where there is none.
	Holder() []string
	// Enter goes before a command whose process is to use the wire, for a
	// holder with this pid.
	Enter(holder string) []string
}

// wireIsUp is what a holder prints.
const wireIsUp = "wire-is-up"

// Up makes a wire ready and returns what goes before the commands of the
// processes that use it. What was started ends with the agent, or by down.
func Up(ctx context.Context, a agent.Agent, w Wire, transcript io.Writer) (enter []string, down func(context.Context) error, err error) {
	holder := w.Holder()
	if holder == nil {
		return nil, func(context.Context) error { return nil }, nil
	}
	proc, err := a.Start(ctx, agent.Spec{Name: "wire", Argv: holder})
	if err != nil {
		return nil, nil, err
	}
	down = func(ctx context.Context) error { return agent.End(ctx, proc) }
	con := console.New("wire", proc, transcript)
	if _, err := con.Wait(ctx, 0, "the "+w.Name()+" wire", func(text []byte) bool {
		return strings.Contains(string(text), wireIsUp)
	}); err != nil {
		return nil, nil, errors.Join(err, down(context.WithoutCancel(ctx)))
	}
	return w.Enter(strconv.Itoa(proc.Identity().PID)), down, nil
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

func (Memif) Name() string          { return "memif" }
func (Memif) Path() sizes.Path      { return sizes.Path{Max: maxLab} }
func (Memif) Holder() []string      { return nil }
func (Memif) Enter(string) []string { return nil }

// Ports implements [Wire].
func (m Memif) Ports(dir string) (server, client testpmd.Vdev) {
	socket := dir + "/memif.sock"
	return m.end(0, "server", socket), m.end(0, "client", socket)
}

// end is a process's device with this number, at one end of a socket.
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
func (v Veth) Holder() []string {
	// No IPv6: its router solicitations would be counted as frames.
	const script = `set -e
ip link add sweep0 type veth peer name sweep1
for end in sweep0 sweep1; do
	echo 1 >/proc/sys/net/ipv6/conf/$end/disable_ipv6 2>/dev/null || ip link set $end addrgenmode none
	ip link set $end up
done
echo ` + wireIsUp + `
exec sleep infinity`
	argv := []string{"unshare", "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--map-root-user")
	}
	return append(argv, "sh", "-c", script)
}

// Enter implements [Wire].
func (v Veth) Enter(holder string) []string {
	argv := []string{"nsenter", "--target", holder, "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--preserve-credentials")
	}
	return argv
}
