// Package paced is a guest without a virtual machine: pktio, which sends at a
// known rate and counts exactly, on a vhost-user port (DPDK's "Virtio_user as
// Exception Path" page). It measures the kit, which must find what was sent, and
// no guest.
package paced

import (
	"fmt"
	"path/filepath"
	"strconv"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
)

// Name is the guest's name.
const Name = "paced"

// System is the guest on the attachment that it can use.
func System() plan.System { return plan.System{Guest: Name, Attachment: "vhost-user"} }

// DefaultRate is what it sends where nothing else was said, in frames a second:
// what the slowest machine that runs the lab forwards without loss.
const DefaultRate = 100_000

// Program is where prepare.sh puts pktio.
func Program(build string) string { return filepath.Join(build, "pktio") }

// New returns the guest, which sends so many frames a second.
func New(build string, rate uint64) guest.Process {
	return paced{
		Lines: guest.Lines{Machine: qemu.Config{VCPUs: 1, MemoryMiB: guest.MemoryMiB, Kernel: Program(build)}},
		rate:  rate,
	}
}

type paced struct {
	guest.Lines
	rate uint64
}

// Spec implements [guest.Process].
func (p paced) Spec(h guest.Host) agent.Spec {
	return agent.Spec{
		Argv: []string{p.Machine.Kernel, "send",
			"--vdev", fmt.Sprintf("net_virtio_user0,path=%s,queues=1,queue_size=%d,mac=%s", h.Socket, h.Queue, h.MAC),
			"--rate", strconv.FormatUint(p.rate, 10),
			"--cpu", strconv.Itoa(h.CPU),
			"--memory", strconv.Itoa(p.Machine.MemoryMiB),
			"--file-prefix", "sweep-" + Name},
		Env: []string{"RUNTIME_DIRECTORY=" + h.Dir},
	}
}
