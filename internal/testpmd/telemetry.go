package testpmd

import (
	"context"
	"encoding/json"
	"errors"
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
	request := fmt.Sprintf("/ethdev/stats,%d", port)
	replies, err := p.agent.Exchange(ctx, p.socket, request)
	if err != nil {
		return Counters{}, "", agent.Reading{}, err
	}
	var hello struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(replies[0].Data, &hello); err != nil {
		return Counters{}, "", agent.Reading{}, fmt.Errorf("telemetry's greeting: %w", err)
	}
	var answer struct {
		Stats *Counters `json:"/ethdev/stats"`
	}
	r = replies[1]
	if err := json.Unmarshal(r.Data, &answer); err != nil {
		return Counters{}, "", r, fmt.Errorf("telemetry's answer to %s: %w", request, err)
	}
	if answer.Stats == nil {
		// A port that isn't there is answered with null.
		return Counters{}, hello.Version, r, errors.New("telemetry knows no port " + fmt.Sprint(port))
	}
	return *answer.Stats, hello.Version, r, nil
}
