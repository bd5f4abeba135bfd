package vhost

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sweep/internal/agent"
)

// Net is a vhost-net port: a thread of the kernel's takes the guest's frames
// out of its ring and gives them to a tap, here a macvtap, whose device QEMU is
// started with open.
type Net struct{ Tap }

// Tap is a macvtap: an interface of the kernel's over another one, whose user,
// the guest here, reads and writes frames on a character device.
type Tap struct {
	Device string // its character device, such as /dev/tap7
	Name   string // its interface
	Over   string // the interface under it: the wire's near end

	// Table is the list of the interfaces' counters: /proc/net/dev, or
	// /proc/PID/net/dev for the network namespace that a process is in.
	Table string
	// Sys is the folder of the interfaces in sysfs, /sys/class/net; "" for
	// those of another namespace, whose it isn't.
	Sys string
}

// tapFD is the descriptor that QEMU finds the tap on: the first that a process
// is started with, see [agent.Spec].
const tapFD = 3

// Netdev implements [Port]. Without vhostforce a guest that doesn't use MSI-X,
// as one that polls need not, may be served by QEMU itself, in user space; that
// it was the kernel, [Net.Worker] and its CPU time must still show.
func (n Net) Netdev(id string) []string {
	return []string{"-netdev", "tap,id=" + id + ",fd=" + strconv.Itoa(tapFD) + ",vhost=on,vhostforce=on"}
}

// Files implements [Port].
func (n Net) Files() []string { return []string{n.Device} }

// MaxQueue implements [Port].
func (Net) MaxQueue() int { return 256 }

// Worker finds the kernel's thread that serves a QEMU's vhost-net port. Since
// Linux 6.4 it is a thread of QEMU's own; before, a process of the kernel's.
// Both are called vhost-PID, with QEMU's pid.
func (Net) Worker(ctx context.Context, a agent.Agent, qemu int) (agent.Poller, error) {
	name := fmt.Sprintf("vhost-%d", qemu)
	threads, err := a.List(ctx, fmt.Sprintf("/proc/%d/task/*/comm", qemu))
	if err != nil {
		return agent.Poller{}, err
	}
	paths := make([]string, len(threads))
	for i, t := range threads {
		paths[i] = t.Path
	}
	names, err := a.Read(ctx, paths...)
	if err != nil {
		return agent.Poller{}, err
	}
	for _, n := range names {
		if strings.TrimSpace(string(n.Data)) == name {
			return agent.Poller{PID: qemu, Thread: name}, nil
		}
	}
	all, err := a.Processes(ctx)
	if err != nil {
		return agent.Poller{}, err
	}
	for _, t := range all.Task {
		if t.Comm == name {
			return agent.Poller{PID: t.PID}, nil
		}
	}
	return agent.Poller{}, fmt.Errorf("the kernel has no thread %s: QEMU serves the guest's NIC itself, so this is not vhost-net; look at QEMU's words, and whether /dev/vhost-net is there and may be opened", name)
}
