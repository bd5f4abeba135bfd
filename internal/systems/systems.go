// Package systems knows which systems this version of the kit can run on a
// machine, and what is missing for the others.
package systems

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sweep/internal/agent"
	"sweep/internal/bare"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/paced"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/unikraft"
)

// Catalog says what there is.
type Catalog struct {
	Build    string                 // the build folder, where the guests' images are
	Unikraft string                 // the image of the guest unikraft that was asked for; none where empty
	Own      map[string]guest.Guest // the user's own guests, by name

	KernelSender string // what sends in the guest linux-kernel
	Pace         uint64 // of the guest paced, in frames a second; 0: paced.DefaultRate
	MemoryMiB    int    // of every guest; 0: guest.MemoryMiB

	// NoTap is why no vhost-net can be had on the wire; nil where it can.
	NoTap error
}

// Guest returns a guest by its name.
func (c Catalog) Guest(name string) (guest.Guest, bool) {
	g, ok := c.guest(name)
	// A process of the host is no machine that could be made larger.
	if _, process := g.(guest.Process); ok && c.MemoryMiB > 0 && !process {
		g = sized{g, c.MemoryMiB}
	}
	return g, ok
}

// sized is a guest with another amount of memory than its own.
type sized struct {
	guest.Guest
	memoryMiB int
}

func (s sized) VM() qemu.Config {
	vm := s.Guest.VM()
	vm.MemoryMiB = s.memoryMiB
	return vm
}

func (c Catalog) guest(name string) (guest.Guest, bool) {
	switch name {
	case unikraft.Name:
		return unikraft.New(c.unikraftImage()), true
	case linux.Name:
		return linux.Guest{Dir: c.Build}, true
	case linux.KernelName:
		return linux.KernelGuest(c.Build, c.KernelSender), true
	case bare.Name:
		return bare.New(c.Build), true
	case paced.Name:
		return paced.New(c.Build, cmp.Or(c.Pace, paced.DefaultRate)), true
	}
	g, ok := c.Own[name]
	return g, ok
}

func (c Catalog) unikraftImage() string {
	if c.Unikraft != "" {
		return c.Unikraft
	}
	return unikraft.DefaultImage(c.Build)
}

// Known are the systems that there are: the kit's, and those of the user's own
// guests.
func (c Catalog) Known() []plan.System {
	known := plan.Known()
	for _, name := range slices.Sorted(maps.Keys(c.Own)) {
		known = append(known, plan.System{Guest: name, Attachment: "vhost-user"}, plan.System{Guest: name, Attachment: "vhost-net"})
	}
	return known
}

// Machines are those of a run.
type Machines struct {
	Here     agent.Agent // where the images are
	Sender   agent.Agent // where forwarder and guest run
	Receiver agent.Agent // where the client runs
}

// OneMachine is a lab.
func OneMachine(a agent.Agent) Machines { return Machines{a, a, a} }

// Missing says what a system lacks on the machines, and how to get it; nil
// where it can run.
func (c Catalog) Missing(ctx context.Context, m Machines, s plan.System) error {
	g, ok := c.Guest(s.Guest)
	if !ok {
		return fmt.Errorf("there is no guest %s", s.Guest)
	}
	if s.Attachment == "vhost-net" {
		if err := c.vhostNet(ctx, m.Sender, g); err != nil {
			return err
		}
	}
	if err := m.Sender.Find(ctx, "dpdk-testpmd", "qemu-system-x86_64"); err != nil {
		return err
	}
	if err := m.Receiver.Find(ctx, "dpdk-testpmd"); err != nil {
		return err
	}
	vm := g.VM()
	err := m.Here.Find(ctx, vm.Kernel)
	if err == nil && vm.Initrd != "" {
		err = m.Here.Find(ctx, vm.Initrd)
	}
	switch {
	case err == nil:
		return nil
	case s.Guest == unikraft.Name && c.Unikraft == "":
		return errors.New("there is no Unikraft image; ./prepare.sh --unikraft DIR builds one in a checkout of Unikraft v0.17, ./prepare.sh where kraft is installed, and --unikraft-image FILE takes any (docs/unikraft.md)")
	case c.Own[s.Guest] != nil:
		return err
	case s.Guest == paced.Name:
		return fmt.Errorf("%w; ./prepare.sh --tests makes it (docs/pktio.md)", err)
	default:
		return fmt.Errorf("its image is not whole (%w); ./prepare.sh builds it", err)
	}
}

// vhostNet says what a guest lacks on vhost-net on the machine.
func (c Catalog) vhostNet(ctx context.Context, a agent.Agent, g guest.Guest) error {
	if _, process := g.(guest.Process); process {
		return errors.New("it is no virtual machine, and connects to vhost-user ports only")
	}
	if c.NoTap != nil {
		return c.NoTap
	}
	if err := a.Find(ctx, "/dev/vhost-net"); err != nil {
		return fmt.Errorf("vhost-net needs the kernel's: %w; sudo modprobe vhost_net, as a user who may open it", err)
	}
	return nil
}

// Split parts systems into those that can run on the machines and those that
// can't, with the reason.
func (c Catalog) Split(ctx context.Context, m Machines, all []plan.System) (can []plan.System, skipped []results.Skipped) {
	for _, s := range all {
		if err := c.Missing(ctx, m, s); err != nil {
			skipped = append(skipped, results.Skipped{System: s, Why: err.Error()})
		} else {
			can = append(can, s)
		}
	}
	return can, skipped
}

// Probe is the virtual machine that shows whether KVM works, and how its
// console shows that it does.
func (c Catalog) Probe() (qemu.Config, func(console []byte) bool) {
	return linux.Guest{Dir: c.Build}.VM(), linux.Booted
}
