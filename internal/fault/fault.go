// Package fault says which faults a relay plants in a wire, as they are written
// on a command line: "drop=1000,delay=5ms". They are there to see that an audit
// finds what was planted.
package fault

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Spec are the faults that hold at a time. The zero value is none.
type Spec struct {
	// Drop drops every so manieth frame.
	Drop uint64
	// Short takes so many bytes off the end of every ShortEvery-th frame.
	Short      int
	ShortEvery uint64
	// Delay holds each frame for so long.
	Delay time.Duration
	// Address is written over the destination of each frame; nil leaves it.
	Address net.HardwareAddr
	// Pause has the relay stand still for so long, once.
	Pause Once
	// Hold has it swallow every frame from then on.
	Hold Once
}

// Once is a fault that begins at a moment.
type Once struct {
	Is    bool
	For   time.Duration // 0 for one that has no end
	After time.Duration // the first frame
}

// Bounds of what makes sense, and of what the relay has memory for.
const (
	maxShort = 1500
	maxDelay = 10 * time.Second
	maxPause = time.Minute
	maxAfter = time.Hour
)

// Grammar is what Parse reads, for a help text.
const Grammar = `  drop=N            drop every Nth frame
  short=N[/M]       take N bytes off the end of each frame, or of every Mth
  delay=TIME        hold each frame for so long (5ms)
  address=MAC       send each frame to another destination
  pause=TIME[@T]    stand still for so long, once: T after the first frame
  hold[@T]          swallow everything from then on
  none              none of them`

// Parse reads faults, separated by commas. All that is wrong is said at once.
func Parse(text string) (Spec, error) {
	var s Spec
	err := s.Add(text)
	return s, err
}

// Add reads faults as Parse does and adds them to those that hold: one that is
// there has its new value, and "none" ends all. An error changes nothing.
func (s *Spec) Add(text string) error {
	next := *s
	var wrong []string
	for word := range strings.SplitSeq(text, ",") {
		if err := next.set(strings.TrimSpace(word)); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return fmt.Errorf("fault: %s", strings.Join(wrong, "; "))
	}
	*s = next
	return nil
}

// set reads one fault.
func (s *Spec) set(word string) (err error) {
	// "pause 300ms" is how it is typed; of "hold@1s" the sign is the value's.
	name, value := word, ""
	if i := strings.IndexAny(word, "= @"); i >= 0 {
		name, value = word[:i], strings.TrimLeft(word[i:], "= ")
	}
	switch name {
	case "none":
		*s = Spec{}
		if value != "" {
			return fmt.Errorf("%q: none takes no value", word)
		}
		return nil
	case "drop":
		s.Drop, err = every(value)
	case "short":
		bytes, each, ok := strings.Cut(value, "/")
		s.ShortEvery = 1
		if ok {
			s.ShortEvery, err = every(each)
		}
		if err == nil {
			if s.Short, err = strconv.Atoi(bytes); err == nil && (s.Short < 1 || s.Short > maxShort) {
				err = fmt.Errorf("1 to %d bytes can be taken off", maxShort)
			}
		}
	case "delay":
		s.Delay, err = duration(value, maxDelay)
	case "address":
		s.Address, err = net.ParseMAC(value)
		if err == nil && len(s.Address) != 6 {
			err = fmt.Errorf("an Ethernet address has six bytes")
		}
	case "pause":
		s.Pause, err = once(value)
		if err == nil && s.Pause.For == 0 {
			err = fmt.Errorf("it needs how long")
		}
	case "hold":
		s.Hold, err = once(value)
		if err == nil && s.Hold.For != 0 {
			err = fmt.Errorf("it takes no time but @T")
		}
	default:
		return fmt.Errorf("%q is none; there are drop=N, short=N[/M], delay=TIME, address=MAC, pause=TIME[@T], hold[@T], none", word)
	}
	if err != nil {
		return fmt.Errorf("%q: %w", word, err)
	}
	return nil
}

func every(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("every Nth needs an N from 1 to 4294967295")
	}
	return n, nil
}

func duration(text string, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("it needs a time, such as 5ms")
	}
	if d <= 0 || d > most {
		return 0, fmt.Errorf("it can be up to %v", most)
	}
	return d, nil
}

// once reads [TIME][@T].
func once(text string) (Once, error) {
	o := Once{Is: true}
	long, after, ok := strings.Cut(text, "@")
	var err error
	if long != "" {
		o.For, err = duration(long, maxPause)
	}
	if ok && err == nil && after != "0s" {
		o.After, err = duration(after, maxAfter)
	}
	return o, err
}

// String writes faults as Parse reads them.
func (s Spec) String() string {
	var words []string
	add := func(is bool, format string, a ...any) {
		if is {
			words = append(words, fmt.Sprintf(format, a...))
		}
	}
	add(s.Drop > 0, "drop=%d", s.Drop)
	add(s.Short > 0 && s.ShortEvery == 1, "short=%d", s.Short)
	add(s.Short > 0 && s.ShortEvery > 1, "short=%d/%d", s.Short, s.ShortEvery)
	add(s.Delay > 0, "delay=%v", s.Delay)
	add(s.Address != nil, "address=%v", s.Address)
	add(s.Pause.Is, "pause=%v%s", s.Pause.For, s.Pause.at())
	add(s.Hold.Is, "hold%s", s.Hold.at())
	if words == nil {
		return "none"
	}
	return strings.Join(words, ",")
}

func (o Once) at() string {
	if o.After == 0 {
		return ""
	}
	return "@" + o.After.String()
}
