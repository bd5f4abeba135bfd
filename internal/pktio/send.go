package pktio

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"
)

// SendOptions are what a sender is told.
type SendOptions struct {
	Rate uint64           // frames a second; 0 is as fast as the port takes them
	To   net.HardwareAddr // the Ethernet destination

	// Size has it send at once, in bytes without FCS; with 0 it does what it
	// is told on its console. Count and Duration, of which the first that is
	// reached counts, are when it ends; without both it goes on until it is
	// told to stop.
	Size     int
	Count    uint64
	Duration time.Duration
}

// ErrPeerGone says that a port's peer closed its end.
var ErrPeerGone = errors.New("the port has no peer any more: it ended, or closed its end")

// linger is how long a port stays open behind the last frame of a sender that
// sends once, for its peer to take what is in the ring.
const linger = 200 * time.Millisecond

// lineSender is a [Sender], or a test's.
type lineSender interface {
	Port
	Prepare(frame []byte) error
	Begin(rate, count uint64)
	Poll(time.Duration)
	End()
	Sent() Sent
}

// Send is a guest without a virtual machine: it speaks the line protocol
// (docs/guests.md), with what is typed, line by line, and out for its console.
// It ends when it is told to quit, with typed's end, or with ctx; but where it
// has an end of its own, it goes on to that when typed ends.
func Send(ctx context.Context, typed <-chan string, out io.Writer, s lineSender, o SendOptions, about string) error {
	c := conversation{ctx: ctx, typed: typed, out: out, sender: s, options: o}
	c.say("boot guest=pktio %s driver=%s rate=%d descriptors_a_packet=1 packets_a_call=32", about, s.Driver(), o.Rate)
	if o.Size != 0 {
		if err := c.send(o.Size, o.Count, o.Duration); err != nil {
			return err
		}
		select {
		case <-time.After(linger):
		case <-ctx.Done():
		}
		return nil
	}
	c.say("ready count=no")
	for {
		select {
		case line, ok := <-typed:
			if !ok {
				return nil
			}
			quit, err := c.command(line)
			if quit || err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// conversation is a sender that is told what to do.
type conversation struct {
	ctx     context.Context
	typed   <-chan string
	out     io.Writer
	sender  lineSender
	options SendOptions
	ended   bool // nothing more will be typed
}

// say says a line of the protocol, in one write so that nothing comes between.
func (c *conversation) say(format string, a ...any) {
	fmt.Fprintf(c.out, "sweep-guest: "+format+"\n", a...)
}

// command does what a line says and returns whether that was to quit.
func (c *conversation) command(line string) (quit bool, err error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return false, nil
	}
	switch words[0] {
	case "quit":
		return true, nil
	case "stop":
		c.say("refused it doesn't send")
		return false, nil
	case "send":
	case "count":
		c.say("refused this guest can't count")
		return false, nil
	default:
		c.say("refused there is no such command; there are send, stop, quit")
		return false, nil
	}
	var numbers [2]uint64
	if len(words) > 3 {
		c.say("refused send is followed by one or two numbers")
		return false, nil
	}
	for i, w := range words[1:] {
		if numbers[i], err = strconv.ParseUint(w, 10, 64); err != nil {
			c.say("refused send is followed by one or two numbers")
			return false, nil
		}
	}
	if numbers[0] < SizeMin || numbers[0] > SizeMax {
		c.say("refused a frame has %d to %d bytes, without FCS", SizeMin, SizeMax)
		return false, nil
	}
	err = c.send(int(numbers[0]), numbers[1], 0)
	return c.ended, err
}

// send sends frames of a size until so many, or for so long (0: no such end), or
// until it is told to stop.
func (c *conversation) send(size int, count uint64, d time.Duration) error {
	s := c.sender
	if err := s.Prepare(Frame(size, s.MAC(), c.options.To)); err != nil {
		return err
	}
	if err := c.waitForPeer(); err != nil {
		return err
	}
	c.say("sending size=%d", size)
	s.Begin(c.options.Rate, count)
	defer s.End()

	const look = 100 * time.Millisecond // at the link
	nextLook, nextSecond := look, time.Second
	for {
		slice := poll
		if d > 0 {
			slice = min(slice, d-s.Sent().Time)
		}
		s.Poll(slice)
		sent := s.Sent()
		if count > 0 && sent.Packets >= count || d > 0 && sent.Time >= d || c.told(count > 0 || d > 0) {
			c.catchUp(count)
			c.counters("stopped", size, s.Sent())
			return nil
		}
		if sent.Time >= nextSecond {
			nextSecond += time.Second
			c.counters("second", size, sent)
		}
		if sent.Time >= nextLook {
			nextLook = sent.Time + look
			if !s.Up() {
				c.counters("stopped", size, sent)
				return ErrPeerGone
			}
		}
	}
}

// catchUp sends what is due when a sender is to stop, for it may have come late
// just then: the mean rate holds up to the last frame. A port that takes no more
// must not keep it from stopping.
func (c *conversation) catchUp(count uint64) {
	const most = 100 * time.Millisecond
	for end := c.sender.Sent().Time + most; ; c.sender.Poll(poll / 100) {
		n := c.sender.Sent()
		if n.Packets+n.Skipped >= due(c.options.Rate, n.Time) || count > 0 && n.Packets >= count || n.Time >= end {
			return
		}
	}
}

// due is how many frames should be out after a time, as send.c has it.
func due(rate uint64, t time.Duration) uint64 {
	ns := uint64(t)
	return ns/1e9*rate + ns%1e9*rate/1e9
}

// peerDeadline is how long a sender waits for somebody at the other end. Where
// a ring is shared, its two ends are ready one after the other: settle is for
// the second.
const (
	peerDeadline = 10 * time.Second
	settle       = 50 * time.Millisecond
)

func (c *conversation) waitForPeer() error {
	if c.sender.Up() {
		return nil
	}
	for end := time.Now().Add(peerDeadline); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if c.ctx.Err() != nil {
			return nil
		}
		if c.sender.Up() {
			time.Sleep(settle)
			return nil
		}
	}
	return fmt.Errorf("the port has had no peer for %v", peerDeadline)
}

// told says whether the sender is told to stop. One that ends by itself needs
// nobody who could tell it.
func (c *conversation) told(endsItself bool) bool {
	select {
	case line, ok := <-c.typed:
		switch {
		case !ok:
			c.typed, c.ended = nil, true // it would be looked at again and again
			return !endsItself
		case strings.TrimSpace(line) == "stop":
			return true
		case strings.TrimSpace(line) != "":
			c.say("refused while it sends, a guest takes only stop")
		}
		return false
	case <-c.ctx.Done():
		c.ended = true
		return true
	default:
		return false
	}
}

func (c *conversation) counters(event string, size int, n Sent) {
	c.say("%s size=%d packets=%d full=%d errors=0 ns=%d ticks=%d late=%d behind=%d skipped=%d",
		event, size, n.Packets, n.Full, n.Time, n.Ticks, n.Late, n.Behind, n.Skipped)
}
