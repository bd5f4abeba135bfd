package run

import (
	"context"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/testbed"
)

// Site is where a run takes place.
type Site interface {
	// Take gets hold of the machines. here is this machine's agent, and journal
	// what it writes to; the run closes both after what was taken.
	Take(ctx context.Context, here agent.Agent, journal *agent.Journal, ui UI) (*Taken, error)
}

// Taken are machines that a run has hold of.
type Taken struct {
	testbed.Ends
	Placement testbed.Placement
	Warnings  []string                    // about every point
	Record    *results.Testbed            // nil in a lab
	Close     func(context.Context) error // gives back what Take took
}

func (o Options) site() Site {
	if o.Site != nil {
		return o.Site
	}
	return lab{}
}

// lab is this machine alone.
type lab struct{}

// Take implements [Site].
func (lab) Take(ctx context.Context, here agent.Agent, _ *agent.Journal, _ UI) (*Taken, error) {
	topology, err := testbed.ReadTopology(ctx, here)
	if err != nil {
		return nil, err
	}
	place, err := testbed.Place(topology)
	if err != nil {
		return nil, err
	}
	return &Taken{
		Ends: testbed.Ends{Sender: here, Receiver: here}, Placement: place,
		Close: func(context.Context) error { return nil },
	}, nil
}

// brought is a guest whose files are where its machine runs.
type brought struct {
	guest.Guest
	kernel, initrd string
}

func (b brought) VM() qemu.Config {
	vm := b.Guest.VM()
	vm.Kernel, vm.Initrd = b.kernel, b.initrd
	return vm
}

// bring brings the guests' files to the machine that they run on.
func bring(ctx context.Context, a agent.Agent, guests map[string]guest.Guest) (map[string]guest.Guest, error) {
	for name, g := range guests {
		if _, process := g.(guest.Process); process {
			continue // it is of this machine, which is its own
		}
		vm, err := bringVM(ctx, a, g.VM())
		if err != nil {
			return nil, err
		}
		guests[name] = brought{g, vm.Kernel, vm.Initrd}
	}
	return guests, nil
}

func bringVM(ctx context.Context, a agent.Agent, vm qemu.Config) (_ qemu.Config, err error) {
	if vm.Kernel, err = a.Put(ctx, vm.Kernel); err == nil && vm.Initrd != "" {
		vm.Initrd, err = a.Put(ctx, vm.Initrd)
	}
	return vm, err
}
