// Package server is the sending machine's half of the experiment: testpmd, to
// which the guest's NIC is attached, forwards what the guest sends to the wire.
//
// It is driven as the experiment's README does it (port stop all, set fwd mac,
// port start all, start), and each command is verified by its effect, for
// testpmd refuses in a line of text and goes on.
package server

import (
	"context"
	"fmt"
	"io"

	"sweep/internal/agent"
	"sweep/internal/testpmd"
	"sweep/vhost"
)

// The forwarder's ports, in the order in which they are given to testpmd.
const (
	GuestPort = 0
	WirePort  = 1
)

// Config is a forwarder.
type Config struct {
	Port vhost.User   // where the guest attaches
	Wire testpmd.Vdev // the wire's end

	// Descriptors and Burst are testpmd's --rxd/--txd and --burst; 0 leaves
	// them to testpmd.
	Descriptors, Burst int
}

// Testpmd is the testpmd of this forwarder.
func (c Config) Testpmd() testpmd.Config {
	return testpmd.Config{
		Name:        "server",
		Ports:       []testpmd.Vdev{c.Port.Vdev(), c.Wire},
		MemoryMiB:   256,
		Mbufs:       16384,
		Descriptors: c.Descriptors,
		Burst:       c.Burst,
	}
}

// Typed are the commands that Launch and Forward type at the prompt.
func (c Config) Typed() []string {
	return []string{"port stop all", "set fwd mac", "port start all", "start"}
}

// Server is a forwarder that runs.
type Server struct {
	*testpmd.Process
	forwarding bool
}

// Launch starts the forwarder and brings it to where only `start` is missing.
// When it returns, the guest may attach.
func Launch(ctx context.Context, a agent.Agent, c Config, h testpmd.Host, transcript io.Writer) (_ *Server, err error) {
	if err := c.Port.CheckFree(ctx, a); err != nil {
		return nil, err
	}
	p, err := testpmd.Launch(ctx, a, c.Testpmd(), h, transcript)
	if err != nil {
		return nil, err
	}
	s := &Server{Process: p}
	defer func() {
		if err != nil {
			_ = s.Quit(context.WithoutCancel(ctx))
		}
	}()
	if _, err := s.Do(ctx, "port stop all"); err != nil {
		return nil, err
	}
	if err := s.SetMode(ctx, "mac"); err != nil {
		return nil, err
	}
	if _, err := s.Do(ctx, "port start all"); err != nil {
		return nil, err
	}
	if err := c.Port.WaitListening(ctx, a, s.Identity().PID); err != nil {
		return nil, err
	}
	return s, nil
}

// Forward starts forwarding. The client must be there: a testpmd that forwards
// into a memif without a peer has been seen to crash.
func (s *Server) Forward(ctx context.Context) error {
	if _, err := s.Start(ctx); err != nil {
		return fmt.Errorf("start the forwarder: %w", err)
	}
	s.forwarding = true
	return nil
}

// Halt stops forwarding, if it runs, and returns what was forwarded since.
func (s *Server) Halt(ctx context.Context) (testpmd.Forward, error) {
	if !s.forwarding {
		return testpmd.Forward{}, nil
	}
	s.forwarding = false
	return s.Stop(ctx)
}
