package run

import (
	"context"

	"sweep/internal/console"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/testbed"
)

// noVM stands where an accelerator and a CPU model would, of a guest that is a
// process of the host.
const noVM = "none"

// instead puts a process in the place of the guest's virtual machine.
func (y *layout) instead(p guest.Process, h guest.Host) {
	spec := p.Spec(h)
	spec.Name, spec.Slice = y.vmSpec.Name, y.vmSpec.Slice
	y.vmSpec = spec
	y.vm = p.VM()
	y.vm.Accel, y.vm.CPU = noVM, noVM
}

// pin binds what polls of a guest to the guest's CPU. A process has done so
// itself.
func (l *Lab) pin(ctx context.Context, y layout, vm *qemu.VM) error {
	if y.vm.Accel == noVM {
		return nil
	}
	return l.pinGuest(ctx, vm)
}

// pollingThread is in the names of a guest's threads that poll: QEMU's for
// virtual CPUs; "" for all threads of a process.
func (y layout) pollingThread() string {
	if y.vm.Accel == noVM {
		return ""
	}
	return "CPU"
}

// startRelay starts the wire's relay, where it has one.
func (b *bench) startRelay(ctx context.Context, boot plan.Boot, f *results.Folder, dir string, undo *cleanups) error {
	w, ok := b.lab.Wire.(testbed.Relayed)
	if !ok {
		return nil
	}
	logs, err := openTranscripts(f, boot, "relay")
	if err != nil {
		return stop{err}
	}
	spec := w.Spec(dir, b.lab.Placement)
	if err := recordCommands(f, boot, []command{{spec.Name, pasteable(spec)}}); err != nil {
		return err
	}
	if b.relay, err = testbed.StartRelay(ctx, b.lab.Sender, spec, logs["relay"]); err != nil {
		return err
	}
	undo.add(b.relay.Quit)
	b.ours(b.relay.Identity())
	return nil
}

// consoles are those of all the bench's processes.
func (b *bench) consoles() []*console.Console {
	all := append([]*console.Console{b.vm.Console}, b.between.consoles()...)
	all = append(all, b.client.Console())
	if b.relay != nil {
		all = append(all, b.relay.Console)
	}
	return all
}

// caveats are what a reader must know of every number of this bench.
func (b *bench) caveats() []string {
	l := *b.lab
	l.Accel.Name = b.settings.Accel
	out := l.caveats()
	if w, ok := l.Wire.(testbed.Relayed); ok {
		out = append(out, w.Caveat())
	}
	return out
}
