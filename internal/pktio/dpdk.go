//go:build dpdk

package pktio

// #cgo pkg-config: libdpdk
// #cgo CFLAGS: -std=gnu11 -O2 -Wall -Wextra -Werror
// #include <stdlib.h>
// #include "pktio.h"
import "C"

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"time"
	"unsafe"

	"sweep/internal/fault"
)

// How many frames there are: of each pool to send from, more than a driver's
// ring of 1024 and what two caches hold; to receive into, the same.
const (
	sendFrames    = 4096
	receiveFrames = 4096
	// A relay's memory holds so many frames at a time that wait for a delay
	// to be over; at 100000 a second a third of a second.
	relayFrames  = 49152
	relayWaiting = 32768
)

// DPDK is the library, started. It and all that comes of it are for one
// goroutine: the one that called Start.
type DPDK struct {
	ports int
	pools C.uint32_t // made so far: their names
}

// Start starts DPDK. The goroutine that calls it stays on its thread from then
// on, for DPDK knows that thread as the one that polls. Ports that could not be
// made are an error; DPDK's own words on it are on standard error.
func Start(c Config) (*DPDK, error) {
	runtime.LockOSThread()
	args := c.EAL()
	argv := C.malloc(C.size_t(len(args)+1) * C.size_t(unsafe.Sizeof((*C.char)(nil))))
	list := unsafe.Slice((**C.char)(argv), len(args)+1)
	for i, a := range args {
		list[i] = C.CString(a) // never freed: EAL keeps pointers into them
	}
	list[len(args)] = nil
	n := C.pktio_eal(C.int(len(args)), (**C.char)(argv))
	if n < 0 {
		return nil, fmt.Errorf("DPDK did not start: %s; its own words stand above", C.GoString(C.pktio_error(n)))
	}
	if int(n) != len(c.Vdevs) {
		return nil, fmt.Errorf("DPDK made %d of %d ports; its own words stand above", n, len(c.Vdevs))
	}
	return &DPDK{ports: int(n)}, nil
}

// Version is DPDK's.
func (*DPDK) Version() string { return C.GoString(C.pktio_version()) }

// Ports is how many there are, numbered from 0 on in the order of Vdevs.
func (d *DPDK) Ports() int { return d.ports }

// Close closes the ports. Peers see their links go down, and what is in a ring
// and was not taken is lost.
func (d *DPDK) Close() {
	for p := range d.ports {
		C.pktio_close(C.uint16_t(p))
	}
}

// port is one that is open, by its number.
type port C.uint16_t

func (d *DPDK) open(number uint16, frames int) (port, error) {
	if err := C.pktio_open(C.uint16_t(number), C.uint32_t(frames)); err != 0 {
		return 0, fmt.Errorf("open port %d: %s", number, C.GoString(C.pktio_error(err)))
	}
	return port(number), nil
}

func (p port) Up() bool       { return C.pktio_link(C.uint16_t(p)) != 0 }
func (p port) Driver() string { return C.GoString(C.pktio_driver(C.uint16_t(p))) }

func (p port) MAC() net.HardwareAddr {
	var mac [6]C.uint8_t
	C.pktio_mac(C.uint16_t(p), &mac[0])
	return C.GoBytes(unsafe.Pointer(&mac), 6)
}

// Sender sends frames that are all alike.
type Sender struct {
	Port
	dpdk  *DPDK
	c     *C.struct_pktio_sender // C's memory, for C keeps pointers in it
	pools []framePool
	ticks C.uint64_t
}

type framePool struct {
	frame string
	pool  *C.struct_rte_mempool
}

// Sender opens a port to send on.
func (d *DPDK) Sender(number uint16) (*Sender, error) {
	p, err := d.open(number, receiveFrames)
	if err != nil {
		return nil, err
	}
	c := (*C.struct_pktio_sender)(C.calloc(1, C.sizeof_struct_pktio_sender))
	c.port = C.uint16_t(p)
	return &Sender{Port: p, dpdk: d, c: c}, nil
}

// Prepare has copies of a frame ready to be sent. A driver gives frames back
// only while it sends others, so those of an earlier call may still be in its
// ring: each frame has a pool of its own, which goes when it is whole again.
func (s *Sender) Prepare(frame []byte) error {
	kept := s.pools[:0]
	for _, p := range s.pools {
		if p.frame != string(frame) && C.pktio_pool_is_full(p.pool) != 0 {
			C.pktio_pool_free(p.pool)
			continue
		}
		kept = append(kept, p)
	}
	s.pools = kept
	for _, p := range s.pools {
		if p.frame == string(frame) {
			s.c.pool = p.pool
			return nil
		}
	}
	s.dpdk.pools++
	pool := C.pktio_pool(s.dpdk.pools, sendFrames, (*C.uint8_t)(&frame[0]), C.uint32_t(len(frame)))
	if pool == nil {
		return errors.New("no memory for the frames")
	}
	s.pools = append(s.pools, framePool{string(frame), pool})
	s.c.pool = pool
	return nil
}

// Begin sets the first deadline and counts from 0 on. A rate of 0 is as fast as
// the driver takes them, a count of 0 no end.
func (s *Sender) Begin(rate, count uint64) {
	s.c.rate, s.c.count = C.uint64_t(rate), C.uint64_t(count)
	s.c.packets, s.c.full, s.c.late, s.c.skipped, s.c.behind, s.c.is_late = 0, 0, 0, 0, 0, 0
	s.ticks = C.pktio_ticks()
	s.c.begun = C.pktio_now()
	s.c.now = s.c.begun
}

// Poll sends for so long, or until the count is reached.
func (s *Sender) Poll(d time.Duration) { C.pktio_send(s.c, C.pktio_now()+C.uint64_t(d)) }

// End ends what Begin began.
func (s *Sender) End() { C.pktio_send_end(s.c) }

// Sent is what was sent since Begin, as it was when Poll last looked at the clock.
func (s *Sender) Sent() Sent {
	return Sent{
		Packets: uint64(s.c.packets), Full: uint64(s.c.full), Late: uint64(s.c.late), Skipped: uint64(s.c.skipped), Behind: uint64(s.c.behind),
		Time: time.Duration(s.c.now - s.c.begun), Ticks: uint64(C.pktio_ticks() - s.ticks),
	}
}

// Relay passes what comes in at one port on to another, with faults. Nothing
// goes the other way, as in the experiment.
type Relay struct {
	from, to port
	c        *C.struct_pktio_relay
}

// Relay opens the two ports.
func (d *DPDK) Relay(from, to uint16) (*Relay, error) {
	r := &Relay{c: (*C.struct_pktio_relay)(C.calloc(1, C.sizeof_struct_pktio_relay))}
	var err error
	if r.from, err = d.open(from, relayFrames); err != nil {
		return nil, err
	}
	if r.to, err = d.open(to, receiveFrames); err != nil {
		return nil, err
	}
	r.c.from, r.c.to = C.uint16_t(r.from), C.uint16_t(r.to)
	if C.pktio_relay_open(r.c, relayWaiting) != 0 {
		return nil, errors.New("no memory for the frames that wait")
	}
	return r, nil
}

// From and To are its ports.
func (r *Relay) From() Port { return r.from }
func (r *Relay) To() Port   { return r.to }

// Plant has these faults hold from now on, but for those that begin at a moment:
// hold says whether it has begun. Every so manieth frame is counted anew where
// that number changes.
func (r *Relay) Plant(f fault.Spec, hold bool) {
	c := r.c
	if c.drop != C.uint64_t(f.Drop) {
		c.drop, c.since_drop = C.uint64_t(f.Drop), 0
	}
	if c.short_every != C.uint64_t(f.ShortEvery) {
		c.short_every, c.since_short = C.uint64_t(f.ShortEvery), 0
	}
	c.short_bytes = C.uint32_t(f.Short)
	c.delay = C.uint64_t(f.Delay)
	c.hold, c.readdress = 0, 0
	if hold {
		c.hold = 1
	}
	if f.Address != nil {
		c.readdress = 1
		for i, b := range f.Address {
			c.address[i] = C.uint8_t(b)
		}
	}
}

// Poll passes frames on for so long.
func (r *Relay) Poll(d time.Duration) { C.pktio_relay(r.c, C.pktio_now()+C.uint64_t(d)) }

// Passed is what was passed on so far.
func (r *Relay) Passed() Passed {
	return Passed{
		Received: uint64(r.c.received), Sent: uint64(r.c.sent), Dropped: uint64(r.c.dropped),
		Shortened: uint64(r.c.shortened), TooShort: uint64(r.c.too_short), Readdressed: uint64(r.c.readdressed),
		Waiting: uint64(r.c.n), Full: uint64(r.c.full),
	}
}
