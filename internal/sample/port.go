package sample

import (
	"fmt"

	"sweep/internal/agent"
)

// Port is all counters of a port at a moment, by DPDK's telemetry.
type Port struct {
	// Before and After enclose the moment, on the clock of the machine that
	// counts.
	Before agent.Time `json:"before"`
	After  agent.Time `json:"after"`

	RxPackets uint64 `json:"rx_packets"`
	RxBytes   uint64 `json:"rx_bytes"`
	RxMissed  uint64 `json:"rx_missed"`
	RxErrors  uint64 `json:"rx_errors"`
	RxNombuf  uint64 `json:"rx_nombuf"`
	TxPackets uint64 `json:"tx_packets"`
	TxBytes   uint64 `json:"tx_bytes"`
	TxErrors  uint64 `json:"tx_errors"`
}

// At is the middle of the time that encloses the moment.
func (p Port) At() agent.Time { return p.Before + (p.After-p.Before)/2 }

// Same says that two looks found the same counters, whenever they were.
func (p Port) Same(q Port) bool {
	p.Before, p.After, q.Before, q.After = 0, 0, 0, 0
	return p == q
}

// RxRate is packets a second that a port received between two looks, and how
// far off that can be, as a share, because a moment is only known to lie
// between Before and After.
func RxRate(first, last Port) (pps, doubt float64, err error) {
	d := last.At().Sub(first.At()).Seconds()
	switch {
	case d <= 0:
		return 0, 0, fmt.Errorf("the clock went from %d to %d ns between two readings", first.At(), last.At())
	case last.RxPackets < first.RxPackets:
		return 0, 0, fmt.Errorf("the counter went down from %d to %d packets", first.RxPackets, last.RxPackets)
	}
	doubt = (first.After.Sub(first.Before) + last.After.Sub(last.Before)).Seconds() / 2 / d
	return float64(last.RxPackets-first.RxPackets) / d, doubt, nil
}
