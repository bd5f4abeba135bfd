package testpmd

import (
	"regexp"
	"strconv"
)

// Cycles is what testpmd prints with its forward statistics after
// `set record-core-cycles on` (fwd_stats_display in app/test-pmd/testpmd.c, DPDK 20.02 and later): ticks of
// the time-stamp counter inside of the forwarding function, and the packets
// they were for.
type Cycles struct {
	Total   uint64
	Packets uint64
}

var cyclesLine = regexp.MustCompile(`CPU cycles/packet=[0-9.]+ \(total cycles=(\d+) / total \w+ packets=(\d+)\)`)

// ParseCycles finds that line; the last, where there are several.
func ParseCycles(text []byte) (c Cycles, ok bool) {
	all := cyclesLine.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return c, false
	}
	m := all[len(all)-1]
	var err1, err2 error
	c.Total, err1 = strconv.ParseUint(string(m[1]), 10, 64)
	c.Packets, err2 = strconv.ParseUint(string(m[2]), 10, 64)
	return c, err1 == nil && err2 == nil
}
