// Package client is the receiving machine's half of the experiment: testpmd in
// rxonly mode at the other end of the wire, whose counters are the result.
package client

import (
	"context"
	"fmt"
	"io"

	"sweep/internal/agent"
	"sweep/internal/testpmd"
)

// Config is a receiver.
type Config struct {
	Wire testpmd.Device // the wire's end

	// Descriptors and Burst are testpmd's --rxd/--txd and --burst; 0 leaves
	// them to testpmd.
	Descriptors, Burst int
}

// Testpmd is the testpmd of this receiver.
func (c Config) Testpmd() testpmd.Config {
	return testpmd.Config{
		Name:        "client",
		Ports:       []testpmd.Device{c.Wire},
		MemoryMiB:   256,
		Mbufs:       16384,
		Descriptors: c.Descriptors,
		Burst:       c.Burst,
		Forward:     "rxonly",
	}
}

// Client is a receiver that runs.
type Client struct {
	*testpmd.Process
}

// Launch starts the receiver; it does not count yet.
func Launch(ctx context.Context, a agent.Agent, c Config, h testpmd.Host, transcript io.Writer) (*Client, error) {
	p, err := testpmd.Launch(ctx, a, c.Testpmd(), h, transcript)
	if err != nil {
		return nil, err
	}
	return &Client{Process: p}, nil
}

// Receive starts receiving.
func (c *Client) Receive(ctx context.Context) error {
	if _, err := c.Start(ctx); err != nil {
		return fmt.Errorf("start the receiver: %w", err)
	}
	return nil
}
