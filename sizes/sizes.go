// Package sizes is about the lengths of Ethernet frames: how a list of them is
// written, which are possible, and what the wire makes of them.
//
// A size is what testpmd calls the packet length: the frame without its frame
// check sequence. The published experiment counts the same way: its 64-byte
// point is a frame of 68 bytes with FCS.
package sizes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Lengths in bytes (IEEE 802.3, clauses 3 and 4.4.2).
const (
	FCS      = 4  // frame check sequence
	Preamble = 8  // with the start frame delimiter
	Gap      = 12 // between frames

	// Headers is what a UDP/IPv4 frame begins with: Ethernet 14, IPv4 20,
	// UDP 8. testpmd's txonly sends nothing shorter.
	Headers = 42

	// MinFrame is the shortest frame without FCS: a NIC pads what is less.
	MinFrame = 60
)

// Default are the sizes of the published figure.
func Default() []int { return []int{64, 128, 256, 512, 1024, 1500} }

// Wire is how many bytes of a link's time a frame of this size takes: with
// FCS, preamble and gap.
func Wire(size int) int { return size + FCS + Preamble + Gap }

// LineRate is how many frames of this size a second a link of this many bits
// a second carries.
func LineRate(size int, bitsPerSecond float64) float64 {
	return bitsPerSecond / 8 / float64(Wire(size))
}

// Path is what carries the frames.
type Path struct {
	Max int  // the longest frame it takes, without FCS
	Pad bool // it pads frames under MinFrame, as a NIC does
}

// Parse reads a list of sizes: numbers and ranges with a step, such as
// "64,128,256" or "64-1500:128" (64, 192, ... and 1500: the end always counts).
// Sizes that the path can't carry as they are, and those named twice, are
// errors. All that is wrong is said at once. The order is kept.
func Parse(list string, path Path) ([]int, error) {
	var out []int
	var wrong []string
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		got, err := parseItem(item)
		if err != nil {
			wrong = append(wrong, err.Error())
			continue
		}
		for _, n := range got {
			if err := path.check(n); err != nil {
				wrong = append(wrong, err.Error())
				if len(got) > 1 {
					break // one word a range is enough
				}
			}
		}
		out = append(out, got...)
	}
	seen := map[int]bool{}
	for _, n := range out {
		if seen[n] {
			wrong = append(wrong, fmt.Sprintf("%d is there twice", n))
		}
		seen[n] = true
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return nil, fmt.Errorf("sizes %q: %s", list, strings.Join(slices.Compact(wrong), "; "))
	}
	return out, nil
}

func parseItem(item string) ([]int, error) {
	span, step, stepped := strings.Cut(item, ":")
	first, last, ranged := strings.Cut(span, "-")
	switch {
	case item == "":
		return nil, fmt.Errorf("a size is missing beside a comma")
	case ranged && !stepped:
		return nil, fmt.Errorf("%s is a range without a step: write %s:128, say", item, item)
	case stepped && !ranged:
		return nil, fmt.Errorf("%s has a step but is no range: write FIRST-LAST:STEP", item)
	case !ranged:
		n, err := number(item)
		return []int{n}, err
	}
	from, err := number(first)
	if err != nil {
		return nil, err
	}
	to, err := number(last)
	if err != nil {
		return nil, err
	}
	by, err := number(step)
	switch {
	case err != nil:
		return nil, err
	case by == 0:
		return nil, fmt.Errorf("%s has a step of 0", item)
	case from > to:
		return nil, fmt.Errorf("%s goes down: write %d-%d:%d", item, to, from, by)
	}
	var out []int
	for n := from; n < to; n += by {
		out = append(out, n)
	}
	return append(out, to), nil
}

func number(s string) (int, error) {
	// ParseUint takes no sign and, with base 10, no prefix and no "_".
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no number of bytes", s)
	}
	return int(n), nil
}

func (p Path) check(n int) error {
	switch {
	case n < Headers:
		return fmt.Errorf("%d is too short: Ethernet, IPv4 and UDP headers take %d bytes", n, Headers)
	case p.Pad && n < MinFrame:
		return fmt.Errorf("%d is too short: a NIC pads frames to %d bytes before the FCS", n, MinFrame)
	case n > p.Max:
		return fmt.Errorf("%d is too long: the path carries frames of up to %d bytes before the FCS", n, p.Max)
	}
	return nil
}
