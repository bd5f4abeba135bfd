package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"syscall"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/fault"
	"sweep/internal/testpmd"
)

// Relayed is a memif wire with a relay in it that plants faults: two memifs, and
// pktio, which passes on from one to the other and polls on the client's CPU.
type Relayed struct {
	Memif
	Program string // pktio
	Fault   fault.Spec
}

// WithFault puts a relay into a wire.
func WithFault(w Wire, program string, f fault.Spec) (Wire, error) {
	m, ok := w.(Memif)
	if !ok {
		return nil, fmt.Errorf("--fault needs the wire memif: no relay can be put into %s", w.Name())
	}
	return Relayed{m, program, f}, nil
}

// Caveat is what stands beside every number that was measured over it.
func (r Relayed) Caveat() string {
	if f := r.Fault.String(); f != "none" {
		return "a fault was planted: " + f
	}
	return "a relay stood in the wire, without a fault"
}

// The two wires' sockets.
func (Relayed) sockets(dir string) (near, far string) {
	return dir + "/memif.sock", dir + "/relayed.sock"
}

// Ports implements [Wire]: the same two ends as without a relay.
func (r Relayed) Ports(dir string) (server, client testpmd.Device) {
	near, far := r.sockets(dir)
	return r.end(0, "server", near), r.end(0, "client", far)
}

// Spec is the relay. The forwarder's end must be there before it, and before the
// client's end the relay: a memif's client connects once, when it starts.
func (r Relayed) Spec(dir string, p Placement) agent.Spec {
	near, far := r.sockets(dir)
	return agent.Spec{
		Name: "relay",
		Argv: []string{r.Program, "relay",
			"--vdev", r.end(0, "client", near).String(), "--vdev", r.end(1, "server", far).String(),
			"--cpu", strconv.Itoa(p.Client), "--file-prefix", "sweep-relay", "--fault", r.Fault.String()},
		Env:   []string{"RUNTIME_DIRECTORY=" + dir},
		Slice: p.Slice(),
	}
}

// Relay is one that runs.
type Relay struct {
	*console.Console
	proc agent.Process
}

// StartRelay starts a wire's relay and waits for its ports.
func StartRelay(ctx context.Context, a agent.Agent, spec agent.Spec, transcript io.Writer) (*Relay, error) {
	proc, err := a.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	r := &Relay{console.New(spec.Name, proc, transcript), proc}
	if _, err := r.Wait(ctx, 0, "the relay's ports", func(text []byte) bool {
		return bytes.Contains(text, []byte("pktio-relay: ready"))
	}); err != nil {
		return nil, errors.Join(err, agent.End(context.WithoutCancel(ctx), proc))
	}
	return r, nil
}

// Identity is the process's.
func (r *Relay) Identity() agent.Identity { return r.proc.Identity() }

// Quit ends the relay, whose counters are its last words.
func (r *Relay) Quit(ctx context.Context) error {
	if err := r.proc.Signal(ctx, syscall.SIGTERM); err != nil {
		return err
	}
	ask, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	if _, err := r.proc.Wait(ask); err == nil {
		return nil
	}
	return agent.End(ctx, r.proc)
}
