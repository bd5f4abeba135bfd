package testbed

import (
	"fmt"
	"strconv"

	"sweep/internal/agent"
	"sweep/internal/fault"
	"sweep/internal/testpmd"
)

// Relayed is a memif wire with a relay in it that plants faults: two memifs, and
// pktio, which passes on from one to the other. It polls on the client's CPU.
type Relayed struct {
	Memif
	Program string // pktio
	Fault   fault.Spec
}

// WithFault puts a relay into a wire.
func WithFault(w Wire, program string, f fault.Spec) (Wire, error) {
	m, ok := w.(Memif)
	if !ok {
		return nil, fmt.Errorf("--fault needs the wire memif: no relay can be put into a %s", w.Name())
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

// Ports implements [Wire]. The relay is there first, so it is the server of
// both.
func (r Relayed) Ports(dir string) (server, client testpmd.Vdev) {
	return r.end(0, "client", dir+"/memif.sock"), r.end(0, "client", dir+"/relayed.sock")
}

// Holder implements [Wire].
func (r Relayed) Holder(dir string, p Placement) *Holder {
	return &Holder{
		Spec: agent.Spec{
			Argv: []string{r.Program, "relay",
				"--vdev", r.end(0, "server", dir+"/memif.sock").String(),
				"--vdev", r.end(1, "server", dir+"/relayed.sock").String(),
				"--cpu", strconv.Itoa(p.Client), "--file-prefix", "sweep-relay", "--fault", r.Fault.String()},
			Env:   []string{"RUNTIME_DIRECTORY=" + dir},
			Slice: p.Slice(),
		},
		// pktio's word (package pktio's RelayReady, which C is behind).
		Up: "pktio-relay: ready",
	}
}
