// Package sample makes rates of a port's counters.
package sample

import (
	"math"

	"sweep/internal/agent"
)

// Reading is a port's receive counters at a moment, as they were read.
type Reading struct {
	// Before and After enclose the moment, on the clock of the machine that
	// counts.
	Before agent.Time `json:"before"`
	After  agent.Time `json:"after"`

	Packets uint64 `json:"rx_packets"`
	Bytes   uint64 `json:"rx_bytes"` // without FCS on every port of a lab
	Missed  uint64 `json:"rx_missed"`
	Errors  uint64 `json:"rx_errors"`
	Nombuf  uint64 `json:"rx_nombuf"`

	// ShownPps is the rate that the observer itself printed, over the time
	// since it was last asked; nil where it prints none.
	ShownPps *uint64 `json:"shown_pps,omitempty"`
}

// At is the middle of the time that encloses the moment.
func (r Reading) At() agent.Time { return r.Before + (r.After-r.Before)/2 }

// StandardError is the standard error of the mean of some rates, 0 where
// there are fewer than two. Readings of one boot are not independent, so this
// says how many digits a number is good for and nothing about another boot.
func StandardError(rates []float64) float64 {
	n := float64(len(rates))
	if n < 2 {
		return 0
	}
	var mean, squares float64
	for _, r := range rates {
		mean += r / n
	}
	for _, r := range rates {
		// Rounded on its own, so that no processor's fused multiply-add makes
		// another last digit of it than the one that measured.
		squares += float64((r - mean) * (r - mean))
	}
	return math.Sqrt(squares / (n - 1) / n)
}
