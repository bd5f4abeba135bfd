package run

import (
	"context"

	"sweep/internal/console"
	"sweep/internal/guest"
	"sweep/internal/qemu"
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

// consoles are those of all the bench's processes.
func (b *bench) consoles() []*console.Console {
	all := []*console.Console{b.vm.Console, b.server.Console(), b.client.Console()}
	if c := b.wire.Console; c != nil {
		all = append(all, c)
	}
	return all
}

// relayCommand is the wire's relay, where it has one.
func (l *Lab) relayCommand(dir string) []command {
	w, ok := l.Wire.(testbed.Relayed)
	if !ok {
		return nil
	}
	return []command{{"relay, in the wire", pasteable(w.Holder(dir, l.Placement).Spec)}}
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
