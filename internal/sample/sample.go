// Package sample reads a port's counters over a stretch of time and makes a
// rate of them.
package sample

import (
	"context"
	"fmt"
	"math"
	"time"

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

// Meter reads a port's receive counters.
type Meter interface {
	Read(ctx context.Context) (Reading, error)
}

// Watch reads the counters at once and then every so often until the duration
// is over. What was read before an error is returned with it.
func Watch(ctx context.Context, m Meter, duration, every time.Duration, each func(Reading)) ([]Reading, error) {
	var out []Reading
	end := time.Now().Add(duration)
	for next := time.Now(); ; next = next.Add(every) {
		r, err := m.Read(ctx)
		if err != nil {
			return out, err
		}
		out = append(out, r)
		if each != nil {
			each(r)
		}
		left := time.Until(end)
		if left <= 0 {
			return out, nil
		}
		// The last stretch is no shorter than half of the others: a short one
		// says little and weighs as much.
		wait := time.Until(next.Add(every))
		if left < wait+every/2 {
			wait = left
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return out, context.Cause(ctx)
		}
	}
}

// Rate is packets a second between the first and the last reading.
func Rate(rs []Reading) (pps float64, err error) {
	if len(rs) < 2 {
		return 0, fmt.Errorf("%d readings make no rate", len(rs))
	}
	first, last := rs[0], rs[len(rs)-1]
	d := last.At().Sub(first.At()).Seconds()
	if d <= 0 {
		return 0, fmt.Errorf("the clock went from %d to %d ns between two readings", first.At(), last.At())
	}
	if last.Packets < first.Packets {
		return 0, fmt.Errorf("the counter went down from %d to %d packets", first.Packets, last.Packets)
	}
	return float64(last.Packets-first.Packets) / d, nil
}

// Rates are packets a second between each reading and the next.
func Rates(rs []Reading) []float64 {
	var out []float64
	for i := 1; i < len(rs); i++ {
		if pps, err := Rate(rs[i-1 : i+1]); err == nil {
			out = append(out, pps)
		}
	}
	return out
}

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
		squares += (r - mean) * (r - mean)
	}
	return math.Sqrt(squares / (n - 1) / n)
}
