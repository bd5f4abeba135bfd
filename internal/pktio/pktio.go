// Package pktio sends and passes on frames through DPDK: what the program pktio
// does. DPDK itself is C, behind the build tag dpdk: dpdk.go and the C files
// are the whole seam, a handful of functions of plain integers, and nothing of
// the experiment is in them. Without the tag the package builds everywhere, and
// [Start] says what is missing.
//
// DPDK's own pages: "Poll Mode Driver" and "Mempool Library" of its programmer's
// guide, "Environment Abstraction Layer parameters" of its Linux guide.
package pktio

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// Config is what DPDK is started with.
type Config struct {
	Vdevs     []string // virtual devices, EAL's --vdev: "net_memif0,role=server,..."
	CPUs      []int    // where the one thread that polls may run
	MemoryMiB int
	Prefix    string // what tells this DPDK process from others (--file-prefix)
}

// EAL are the arguments of DPDK's environment abstraction layer: ordinary pages,
// no PCI device and no shared configuration, so that neither root nor any set-up
// is needed.
func (c Config) EAL() []string {
	cpus := make([]string, len(c.CPUs))
	for i, cpu := range c.CPUs {
		cpus[i] = strconv.Itoa(cpu)
	}
	argv := []string{"pktio", "--lcores", "0@(" + strings.Join(cpus, ",") + ")",
		"--no-huge", "-m", strconv.Itoa(c.MemoryMiB), "--no-pci", "--no-shconf", "--no-telemetry",
		"--file-prefix", c.Prefix}
	for _, v := range c.Vdevs {
		argv = append(argv, "--vdev", v)
	}
	return argv
}

// ErrNoDPDK says that this program was built without DPDK.
var ErrNoDPDK = errors.New("this program was built without DPDK: ./prepare.sh --tests installs what it needs and makes build/pktio; by hand, with the packages libdpdk-dev, gcc and pkgconf: go build -tags dpdk ./cmd/pktio")

// Sent is what a sender counts from Begin on.
type Sent struct {
	Packets uint64        // handed to the driver: exactly so many
	Full    uint64        // times that the driver had no room for all it was offered; they were offered again
	Late    uint64        // times that it came more than a millisecond late to a deadline
	Skipped uint64        // deadlines given up, because they were more than a second ago
	Behind  uint64        // the most frames that were due and not out at a time: the most that the mean rate of any stretch is off by
	Time    time.Duration // since Begin
	Ticks   uint64        // the same by the time-stamp counter
}

// Passed is what a relay counts. Received = Sent + Dropped + Waiting.
type Passed struct {
	Received, Sent       uint64
	Dropped              uint64 // by drop and hold, and nothing else
	Shortened, TooShort  uint64 // TooShort: less than a header would have been left
	Readdressed, Waiting uint64
	Full                 uint64 // times that the peer's ring had no room; what it had none for waits
}

func (p Passed) String() string {
	return fmt.Sprintf("received=%d sent=%d dropped=%d shortened=%d too_short=%d readdressed=%d waiting=%d full=%d",
		p.Received, p.Sent, p.Dropped, p.Shortened, p.TooShort, p.Readdressed, p.Waiting, p.Full)
}

// Port is a port that is open.
type Port interface {
	// Up says whether it has a peer.
	Up() bool
	// Driver is DPDK's name of its driver.
	Driver() string
	MAC() net.HardwareAddr
}

// poll is how long C polls before it returns, so that Go can look at what was
// typed, at signals and at the links. Each return costs a microsecond or two.
const poll = time.Millisecond
