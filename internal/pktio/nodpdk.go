//go:build !dpdk

package pktio

import (
	"time"

	"sweep/internal/fault"
)

// Start fails, and so nothing else here is ever called.
func Start(Config) (*DPDK, error) { return nil, ErrNoDPDK }

// DPDK, Sender and Relay are what they are in dpdk.go.
type (
	DPDK   struct{}
	Sender struct{ Port }
	Relay  struct{}
)

func (*DPDK) Version() string                       { return "" }
func (*DPDK) Ports() int                            { return 0 }
func (*DPDK) Close()                                {}
func (*DPDK) Sender(uint16) (*Sender, error)        { return nil, ErrNoDPDK }
func (*DPDK) Relay(from, to uint16) (*Relay, error) { return nil, ErrNoDPDK }
func (*Sender) Prepare([]byte) error                { return ErrNoDPDK }
func (*Sender) Begin(rate, count uint64)            {}
func (*Sender) Poll(time.Duration)                  {}
func (*Sender) End()                                {}
func (*Sender) Sent() Sent                          { return Sent{} }
func (*Relay) From() Port                           { return nil }
func (*Relay) To() Port                             { return nil }
func (*Relay) Plant(fault.Spec, bool)               {}
func (*Relay) Poll(time.Duration)                   {}
func (*Relay) Passed() Passed                       { return Passed{} }
