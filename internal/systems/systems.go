// Package systems knows which systems this version of the kit can run on a
// machine, and what is missing for the others.
package systems

import (
	"context"
	"errors"
	"fmt"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/unikraft"
)

// Catalog says what there is.
type Catalog struct {
	Build string // the build folder, where the guests' images are
}

// Guest returns a system's guest.
func (c Catalog) Guest(s plan.System) (guest.Guest, bool) {
	if s.Attachment == "vhost-user" && s.Guest == linux.Name {
		return linux.Guest{Dir: c.Build}, true
	}
	return nil, false
}

// Missing says what a system lacks on the machine, and how to get it; nil
// where it can run.
func (c Catalog) Missing(ctx context.Context, a agent.Agent, s plan.System) error {
	switch {
	case s.Attachment == "vhost-net":
		return errors.New("this version of the kit has no vhost-net attachment yet; it will need /dev/vhost-net (sudo modprobe vhost_net) and macvtap")
	case s.Guest == unikraft.Name:
		return unikraft.Missing()
	case s.Guest != linux.Name:
		return fmt.Errorf("this version of the kit has no guest %s yet", s.Guest)
	}
	for _, program := range []string{"dpdk-testpmd", "qemu-system-x86_64"} {
		if err := a.Find(ctx, program); err != nil {
			return err
		}
	}
	vm := linux.Guest{Dir: c.Build}.VM()
	if err := a.Find(ctx, vm.Kernel, vm.Initrd); err != nil {
		return fmt.Errorf("its image is not whole (%w); ./prepare.sh builds it", err)
	}
	return nil
}

// Split parts systems into those that can run on the machine and those that
// can't, with the reason.
func (c Catalog) Split(ctx context.Context, a agent.Agent, all []plan.System) (can []plan.System, skipped []results.Skipped) {
	for _, s := range all {
		if err := c.Missing(ctx, a, s); err != nil {
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
