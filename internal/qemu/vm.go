package qemu

import (
	"context"
	"io"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
)

// VM is a virtual machine that runs.
type VM struct {
	*console.Console
	proc agent.Process
}

// Start starts a virtual machine; the guest's serial line is its console.
func Start(ctx context.Context, a agent.Agent, c Config, spec agent.Spec, transcript io.Writer) (*VM, error) {
	spec.Argv = c.Argv()
	proc, err := a.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &VM{Console: console.New(spec.Name, proc, transcript), proc: proc}, nil
}

// Identity is QEMU's process.
func (vm *VM) Identity() agent.Identity { return vm.proc.Identity() }

// End ends the machine at once: nothing in it is worth a shutdown.
func (vm *VM) End(ctx context.Context) error { return agent.End(ctx, vm.proc) }

// WaitOff waits until the guest has powered the machine off, d at most.
func (vm *VM) WaitOff(ctx context.Context, d time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	_, err := vm.proc.Wait(ctx)
	return err
}
