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
	"sweep/vhost"
)

// Wire is what joins the forwarder's second port to the client's port.
type Wire interface {
	// Name is "memif" or "veth".
	Name() string
	// Path says which frames the wire carries.
	Path() sizes.Path
	// Ports are the two ends, for the forwarder and for the client. Sockets
	// are made in dir.
	Ports(dir string) (server, client testpmd.Device)
	// Holder is the command of a process that the wire lives and dies with,
	// and which says wireIsUp when it is there; nil where there is none.
	Holder() []string
	// Enter goes before a command whose process is to use the wire, for a
	// holder with this pid.
	Enter(holder string) []string
}

// Tappable is a wire whose near end is an interface of the kernel's, over which
// a macvtap can stand.
type Tappable interface {
	Wire
	// Tap makes the tap, with the guest's address, over the wire of a holder
	// with this pid; down takes it away again.
	Tap(ctx context.Context, sender agent.Agent, holder, mac string) (t vhost.Tap, down func(context.Context) error, err error)
}

// Leased is a wire whose ends must be had for each attachment in another way.
type Leased interface {
	Wire
	// Lease makes the ends what the attachment needs. They stay so until
	// another needs something else, or the agents are closed.
	Lease(ctx context.Context, e Ends, attachment string) error
}

// Ends are the agents of the machines at a wire's two ends: one and the same
// for a wire within a machine.
type Ends struct {
	Sender   agent.Agent // of the machine with the guest
	Receiver agent.Agent // of the machine that counts
}

// Two says whether the two are different machines.
func (e Ends) Two() bool { return e.Sender != e.Receiver }

// wireIsUp is what a holder prints.
const wireIsUp = "wire-is-up"

// Joined is a wire that is up.
type Joined struct {
	Enter []string  // goes before the commands of the processes that use it
	Tap   vhost.Tap // for an attachment that needs one
	down  []func(context.Context) error
}

// Down takes down what was made for the wire. What is left ends with the agents.
func (j *Joined) Down(ctx context.Context) error {
	var errs []error
	for i := len(j.down) - 1; i >= 0; i-- {
		errs = append(errs, j.down[i](ctx))
	}
	return errors.Join(errs...)
}

// Up makes a wire ready for an attachment; mac is the guest's address, which a
// tap must have.
func Up(ctx context.Context, e Ends, w Wire, attachment, mac string, transcript io.Writer) (_ *Joined, err error) {
	j := &Joined{}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Down(context.WithoutCancel(ctx)))
		}
	}()
	if l, ok := w.(Leased); ok {
		if err := l.Lease(ctx, e, attachment); err != nil {
			return nil, err
		}
	}
	holder, err := j.hold(ctx, e.Sender, w, transcript)
	if err != nil || attachment != "vhost-net" {
		return j, err
	}
	t, ok := w.(Tappable)
	if !ok {
		return nil, NoTap(w)
	}
	tap, down, err := t.Tap(ctx, e.Sender, holder, mac)
	if err != nil {
		return nil, err
	}
	j.Tap = tap
	j.down = append(j.down, down)
	return j, nil
}

// NoTap says why there can be no vhost-net on a wire; nil where there can.
func NoTap(w Wire) error {
	if _, ok := w.(Tappable); !ok {
		return fmt.Errorf("vhost-net sends through an interface of the kernel's, which the wire %s does not have; --wire veth does", w.Name())
	}
	if v, ok := w.(Veth); ok && v.Rootless {
		return errRootless
	}
	return nil
}

// hold starts the process that a wire lives and dies with, and returns its pid.
func (j *Joined) hold(ctx context.Context, a agent.Agent, w Wire, transcript io.Writer) (pid string, err error) {
	argv := w.Holder()
	if argv == nil {
		return "", nil
	}
	proc, err := a.Start(ctx, agent.Spec{Name: "wire", Argv: argv})
	if err != nil {
		return "", err
	}
	j.down = append(j.down, func(ctx context.Context) error { return agent.End(ctx, proc) })
	con := console.New("wire", proc, transcript)
	if _, err := con.Wait(ctx, 0, "the "+w.Name()+" wire", func(text []byte) bool {
		return strings.Contains(string(text), wireIsUp)
	}); err != nil {
		return "", err
	}
	pid = strconv.Itoa(proc.Identity().PID)
	j.Enter = w.Enter(pid)
	return pid, nil
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
func (m Memif) Ports(dir string) (server, client testpmd.Device) {
	socket := dir + "/memif.sock"
	return m.end(0, "server", socket), m.end(0, "client", socket)
}

// end is a process's device with this number, at one end of a socket.
func (m Memif) end(number int, role, socket string) testpmd.Device {
	v := testpmd.Device{Name: "net_memif" + strconv.Itoa(number), Args: []testpmd.Arg{
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
