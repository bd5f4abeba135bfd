// Package server is the sending machine's half of the experiment: testpmd, to
// which the guest's NIC is attached, forwards what the guest sends to the wire.
//
// It is driven as the experiment's README does it (port stop all, set fwd mac,
// port start all, start), and each command is verified by its effect, for
// testpmd refuses in a line of text and goes on.
package server

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"sweep/internal/agent"
	"sweep/internal/testpmd"
	"sweep/vhost"
)

// Config is a forwarder.
type Config struct {
	Port vhost.User     // where the guest attaches
	Wire testpmd.Device // the wire's end

	// Descriptors and Burst are testpmd's --rxd/--txd and --burst; 0 leaves
	// them to testpmd.
	Descriptors, Burst int
}

// Testpmd is the testpmd of this forwarder.
func (c Config) Testpmd() testpmd.Config {
	return testpmd.Config{
		Name:        "server",
		Ports:       []testpmd.Device{c.Port.Device(), c.Wire},
		MemoryMiB:   256,
		Mbufs:       16384,
		Descriptors: c.Descriptors,
		Burst:       c.Burst,
	}
}

// Numbers are testpmd's numbers of the port to the guest and of the port to the
// wire.
func (c Config) Numbers() (guest, wire int) {
	n := c.Testpmd().Numbers()
	return n[0], n[1]
}

// Typed are the commands that Launch and Forward type at the prompt.
func (c Config) Typed() []string {
	return []string{"port stop all", "set fwd mac", "port start all", "start"}
}

// Server is a forwarder that runs.
type Server struct {
	*testpmd.Process
	GuestPort, WirePort int // testpmd's numbers of them
	forwarding          bool
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
	s.GuestPort, s.WirePort = c.Numbers()
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

// Forwarded is what the forwarding engine counted since it was last started, in
// packets.
type Forwarded struct {
	Received uint64 // from the guest
	Sent     uint64 // to the wire
	Dropped  uint64 // for which the wire had no room
}

// Forwarded asks for what was forwarded since Forward; all 0 before that.
func (s *Server) Forwarded(ctx context.Context) (Forwarded, error) {
	if !s.forwarding {
		return Forwarded{}, nil
	}
	r, err := s.Do(ctx, "show fwd stats all")
	if err != nil {
		return Forwarded{}, err
	}
	f := testpmd.ParseForward(r.Text)
	if len(f.Problems) > 0 {
		return Forwarded{}, fmt.Errorf("forward statistics of the server: %s", f.Problems[0].Message)
	}
	var out Forwarded
	for _, p := range f.Ports {
		switch p.Port {
		case s.GuestPort:
			out.Received = p.RxPackets
		case s.WirePort:
			out.Sent, out.Dropped = p.TxPackets, p.TxDropped
		}
	}
	return out, nil
}

// Glimpse forwards for a moment and returns some of the frames that came from
// the guest meanwhile, as testpmd printed them. It is for before Forward; the
// client must be there.
//
// start and stop are typed together: testpmd prints some hundred bytes a frame,
// and would print megabytes until an answer was read and the next command typed.
func (s *Server) Glimpse(ctx context.Context) (frames []testpmd.Frame, err error) {
	if _, err := s.Do(ctx, "set verbose 1"); err != nil {
		return nil, err
	}
	con := s.Console()
	mark := con.Mark()
	if err := con.Type(ctx, "start\nstop\n"); err != nil {
		return nil, err
	}
	text, err := con.Wait(ctx, mark, "the end of a moment's forwarding", func(text []byte) bool {
		_, stopped, ok := bytes.Cut(text, []byte("Telling cores to stop"))
		return ok && bytes.Contains(stopped, []byte("Done.")) && bytes.Contains(stopped, []byte(testpmd.Prompt))
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.Do(ctx, "set verbose 0"); err != nil {
		return nil, err
	}
	for _, f := range testpmd.ParseVerbose(text) {
		if !f.Sent && f.Port == s.GuestPort {
			frames = append(frames, f)
		}
	}
	return frames, nil
}
