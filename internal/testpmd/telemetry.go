package testpmd

import (
	"context"
	"encoding/json"
	"fmt"

	"sweep/internal/agent"
)

// Counters are a port's, as DPDK's telemetry gives them (/ethdev/stats, struct
// rte_eth_stats). They disturb no `show port stats` window.
type Counters struct {
	Ipackets uint64 `json:"ipackets"`
	Opackets uint64 `json:"opackets"`
	Ibytes   uint64 `json:"ibytes"`
	Obytes   uint64 `json:"obytes"`
	Imissed  uint64 `json:"imissed"`
	Ierrors  uint64 `json:"ierrors"`
	Oerrors  uint64 `json:"oerrors"`
	RxNombuf uint64 `json:"rx_nombuf"`
}

// Telemetry reads a port's counters through the telemetry socket, and the
// DPDK version that its greeting gives.
func (p *Process) Telemetry(ctx context.Context, port int) (c Counters, version string, r agent.Reading, err error) {
	replies, err := p.ask(ctx, "/ethdev/stats", port)
	if err != nil {
		return Counters{}, "", agent.Reading{}, err
	}
	var hello struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(replies[0].Data, &hello); err != nil {
		return Counters{}, "", agent.Reading{}, fmt.Errorf("telemetry's greeting: %w", err)
	}
	c, err = counters(replies[1], port)
	return c, hello.Version, replies[1], err
}

// Counters reads the counters of several ports in one conversation, each with
// its time.
func (p *Process) Counters(ctx context.Context, ports ...int) ([]Counters, []agent.Reading, error) {
	replies, err := p.ask(ctx, "/ethdev/stats", ports...)
	if err != nil {
		return nil, nil, err
	}
	out := make([]Counters, len(ports))
	for i, port := range ports {
		if out[i], err = counters(replies[i+1], port); err != nil {
			return nil, nil, err
		}
	}
	return out, replies[1:], nil
}

// LinkUp says whether a port's link is up.
func (p *Process) LinkUp(ctx context.Context, port int) (bool, error) {
	replies, err := p.ask(ctx, "/ethdev/link_status", port)
	if err != nil {
		return false, err
	}
	var answer struct {
		Link *struct {
			Status string `json:"status"`
		} `json:"/ethdev/link_status"`
	}
	if err := answered(replies[1], &answer); err != nil {
		return false, err
	}
	if answer.Link == nil {
		return false, noSuchPort(port)
	}
	return answer.Link.Status == "UP", nil
}

// ask asks something of each of some ports. The greeting is the first reply.
func (p *Process) ask(ctx context.Context, what string, ports ...int) ([]agent.Reading, error) {
	requests := make([]string, len(ports))
	for i, port := range ports {
		requests[i] = fmt.Sprintf("%s,%d", what, port)
	}
	return p.agent.Exchange(ctx, p.socket, requests...)
}

func counters(r agent.Reading, port int) (Counters, error) {
	var answer struct {
		Stats *Counters `json:"/ethdev/stats"`
	}
	if err := answered(r, &answer); err != nil {
		return Counters{}, err
	}
	if answer.Stats == nil {
		return Counters{}, noSuchPort(port)
	}
	return *answer.Stats, nil
}

func answered(r agent.Reading, to any) error {
	if err := json.Unmarshal(r.Data, to); err != nil {
		return fmt.Errorf("telemetry's answer %q: %w", r.Data, err)
	}
	return nil
}

// noSuchPort is what null for an answer means.
func noSuchPort(port int) error { return fmt.Errorf("telemetry knows no port %d", port) }
