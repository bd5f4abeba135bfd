package guest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sweep/internal/console"
	"sweep/internal/qemu"
)

// Lines is a guest that speaks the line protocol (docs/guests.md): it is told
// what to send on its console and says there, in lines that begin with
// "sweep-guest: ", what it did.
type Lines struct {
	Machine qemu.Config
	// Varies says that two boots may count differently: see
	// [Counter.Agreement].
	Varies bool
}

// VM implements [Guest].
func (g Lines) VM() qemu.Config { return g.Machine }

// Typed implements [Guest].
func (Lines) Typed(size int) []string { return []string{fmt.Sprintf("send %d", size), "stop"} }

// Attach implements [Guest].
func (g Lines) Attach(ctx context.Context, con *console.Console) (Sender, error) {
	l, err := wait(ctx, con, 0, "the guest's ready line", "ready")
	if err != nil {
		return nil, err
	}
	s := &lineSender{con: con, counts: l.words["count"] == "yes", varies: g.Varies}
	for _, l := range lines(con.Text(0)) {
		if l.event == "boot" {
			s.about = l.rest
		}
	}
	return s, nil
}

// prefix begins each line of the protocol.
const prefix = "sweep-guest: "

// line is a line that a guest said.
type line struct {
	event string
	rest  string            // what stands after the event
	words map[string]string // the KEY=VALUE among it
}

// number is a count that the line must have.
func (l line) number(key string) (uint64, error) {
	n, err := strconv.ParseUint(l.words[key], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the guest's line %q has no number %s", l.event+" "+l.rest, key)
	}
	return n, nil
}

// lines are the guest's whole lines in what a console showed. A kernel's own
// words may stand before one, on the same line.
func lines(text []byte) []line {
	var out []line
	for raw := range bytes.Lines(text) {
		if !bytes.HasSuffix(raw, []byte("\n")) {
			break // it may go on
		}
		_, said, ok := strings.Cut(string(raw), prefix)
		if !ok {
			continue
		}
		l := line{words: map[string]string{}}
		l.event, l.rest, _ = strings.Cut(strings.TrimSpace(said), " ")
		for word := range strings.FieldsSeq(l.rest) {
			if key, value, ok := strings.Cut(word, "="); ok {
				l.words[key] = value
			}
		}
		out = append(out, l)
	}
	return out
}

// Refused is why there is nothing to be had of a guest at one size: it doesn't
// carry out the command, or its device refused packets. It can be told another
// size.
type Refused string

func (r Refused) Error() string { return string(r) }

// Failure is why a guest says that it can't go on, "" where it doesn't say so.
func Failure(text []byte) string {
	for _, l := range lines(text) {
		if l.event == "error" {
			return l.rest
		}
	}
	return ""
}

// wait waits for one of the events since mark. A guest that refuses, or that
// says that it can't go on, is an error.
func wait(ctx context.Context, con *console.Console, mark int, what string, events ...string) (line, error) {
	var got line
	var failure error
	_, err := con.Wait(ctx, mark, what, func(text []byte) bool {
		for _, l := range lines(text) {
			for _, event := range events {
				if l.event == event {
					got = l
					return true
				}
			}
			switch l.event {
			case "error":
				failure = errors.New(l.rest)
				return true
			case "refused":
				failure = Refused("it refused: " + l.rest)
				return true
			}
		}
		return false
	})
	if err != nil {
		return line{}, err
	}
	if failure != nil {
		return line{}, &console.Error{Name: con.Name(), Doing: "wait for " + what, Err: failure, Output: con.Text(0)}
	}
	return got, nil
}

// lineSender is a guest that waits for commands.
type lineSender struct {
	con    *console.Console
	about  string
	counts bool
	varies bool
	mark   int // where the answer to the last send begins
}

// About implements [Sender].
func (s *lineSender) About() string { return s.about }

// tell types a command and returns the place from which on its answer is.
func (s *lineSender) tell(ctx context.Context, command string) (mark int, err error) {
	mark = s.con.Mark()
	return mark, s.con.Type(ctx, command+"\n")
}

// Send implements [Sender].
func (s *lineSender) Send(ctx context.Context, size int) error {
	var err error
	if s.mark, err = s.tell(ctx, fmt.Sprintf("send %d", size)); err != nil {
		return err
	}
	l, err := wait(ctx, s.con, s.mark, "the guest to send", "sending")
	if err != nil {
		return err
	}
	if l.words["size"] != strconv.Itoa(size) {
		return fmt.Errorf("the guest was told to send %d B and says that it sends %s", size, l.words["size"])
	}
	return nil
}

// fewPackets is how many packets are few: some bursts, and far less than a ring.
const fewPackets = 64

// Few implements [Sender].
func (s *lineSender) Few(ctx context.Context, size int) error {
	mark, err := s.tell(ctx, fmt.Sprintf("send %d %d", size, fewPackets))
	if err != nil {
		return err
	}
	_, err = wait(ctx, s.con, mark, "the guest's count of a few packets", "stopped")
	return err
}

// Halt implements [Sender].
func (s *lineSender) Halt(ctx context.Context) (sent, refused uint64, err error) {
	if _, err := s.tell(ctx, "stop"); err != nil {
		return 0, 0, err
	}
	// Since send, and not since stop: a guest may have come to an end by itself.
	l, err := wait(ctx, s.con, s.mark, "the guest's count", "stopped")
	if err != nil {
		return 0, 0, err
	}
	sent, err1 := l.number("packets")
	full, err2 := l.number("full")
	failed, err3 := l.number("errors")
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, 0, err
	}
	if failed > 0 {
		return sent, full, Refused(fmt.Sprintf("the guest's device refused %d packets with an error", failed))
	}
	return sent, full, nil
}

// Agreement implements [Counter]: a program alone on its machine does the same
// each time.
func (s *lineSender) Agreement() float64 {
	if s.varies {
		return 0
	}
	return 0.001
}

// Count implements [Counter].
func (s *lineSender) Count(ctx context.Context, size int) (Count, error) {
	if !s.counts {
		return Count{}, errors.New("the guest says that it can't count")
	}
	mark, err := s.tell(ctx, fmt.Sprintf("count %d", size))
	if err != nil {
		return Count{}, err
	}
	l, err := wait(ctx, s.con, mark, "the guest's count", "counted", "uncounted")
	if err != nil {
		return Count{}, err
	}
	if l.event == "uncounted" {
		return Count{}, fmt.Errorf("%w (%s)", ErrUncounted, l.rest)
	}
	packets, err1 := l.number("packets")
	ticks, err2 := l.number("ticks")
	if err := errors.Join(err1, err2); err != nil {
		return Count{}, err
	}
	if packets == 0 {
		return Count{}, errors.New("the guest counted no packet")
	}
	c := Count{Packets: packets, Ticks: ticks}
	// A guest of the user's own may not say.
	stretches, err1 := l.number("stretches")
	least, err2 := l.number("least")
	most, err3 := l.number("most")
	if errors.Join(err1, err2, err3) == nil {
		each := float64(packets) / float64(stretches)
		c.Least, c.Most = float64(least)/each, float64(most)/each
	}
	return c, nil
}
