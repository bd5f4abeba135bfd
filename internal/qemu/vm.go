package qemu

import (
	"context"
	"fmt"
	"io"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/diagnose"
)

// VM is a virtual machine that runs.
type VM struct {
	*console.Console
	proc agent.Process
}

// Start starts a virtual machine by a command line that Config.Argv made; the
// guest's serial line is its console. A command line with which the machine
// would run and nothing arrive is refused.
func Start(ctx context.Context, a agent.Agent, spec agent.Spec, transcript io.Writer) (*VM, error) {
	if f := diagnose.SharedMemory(spec.Argv); f != nil {
		return nil, fmt.Errorf("start %s: %v", spec.Name, f)
	}
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
