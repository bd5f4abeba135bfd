// Package site takes the machines of a testbed for a run: it brings an agent to
// those elsewhere, looks what they have, gives them what the run needs, and gives
// all of it back.
package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"sweep/internal/agent"
	"sweep/internal/remote"
	"sweep/internal/results"
	"sweep/internal/run"
	"sweep/internal/testbed"
)

// Testbed is a site of two NICs and a cable, on two machines or on one. It
// implements [run.Site].
type Testbed struct {
	File  testbed.File
	Cable *testbed.Cable // the run's wire, whose ends Take finds
	Taps  bool           // whether the kernel is to serve guests, too (vhost-net)

	// TryKVM is the doctor's (see [doctor.Machine]); a run boots a guest anyway.
	TryKVM func(ctx context.Context, a agent.Agent) (why string, err error)
}

// taken is what Take has of the machines so far.
type taken struct {
	journal *agent.Journal
	cable   *testbed.Cable
	hosts   []host
}

// host is a machine elsewhere that an agent was brought to.
type host struct {
	*remote.Host
	change agent.Change
	id     uint64 // in this machine's journal
}

// end is a machine with its NIC, as it was found.
type end struct {
	name string // "sender" or "receiver"
	testbed.Machine
	agent agent.Agent
	cpus  testbed.Topology
	nic   testbed.NIC
}

// Take implements [run.Site]. Nothing is changed on a machine before both were
// looked at.
func (t Testbed) Take(ctx context.Context, here agent.Agent, journal *agent.Journal, ui run.UI) (_ *run.Taken, err error) {
	have := &taken{journal: journal, cable: t.Cable}
	defer func() {
		if err != nil {
			err = errors.Join(err, have.close(context.WithoutCancel(ctx)))
		}
	}()
	sender, receiver, err := t.meet(ctx, have, here, ui)
	if err != nil {
		return nil, err
	}
	place, err := t.place(sender, receiver)
	if err != nil {
		return nil, err
	}
	found, err := t.examine(ctx, sender, receiver, place)
	if err != nil {
		return nil, err
	}
	warnings, err := fit(found)
	if err != nil {
		return nil, err
	}
	for _, p := range []struct {
		e       end
		pollers []int
		taps    bool
	}{
		{sender, []int{place.Forwarder, place.Guest}, t.Taps},
		{receiver, []int{place.Client}, false},
	} {
		if err := testbed.Prepare(ctx, p.e.agent, p.e.Need(p.e.nic.Node, p.pollers, p.taps)); err != nil {
			return nil, fmt.Errorf("%s %s: %w", p.e.name, p.e.Host, err)
		}
	}
	t.Cable.Sender, t.Cable.Receiver = sender.cableEnd(), receiver.cableEnd()
	return &run.Taken{
		Ends:      testbed.Ends{Sender: sender.agent, Receiver: receiver.agent},
		Placement: place,
		Warnings:  warnings,
		Record:    &results.Testbed{LinkBps: t.File.LinkBps(), Sender: sender.record(), Receiver: receiver.record()},
		Close:     have.close,
	}, nil
}

// meet reaches both machines and looks at their NICs.
func (t Testbed) meet(ctx context.Context, have *taken, here agent.Agent, ui run.UI) (sender, receiver end, err error) {
	sender, receiver = end{name: "sender", Machine: t.File.Sender}, end{name: "receiver", Machine: t.File.Receiver}
	if sender.agent, err = have.reach(ctx, here, t.File, sender, ui); err != nil {
		return sender, receiver, err
	}
	if sender.Host == receiver.Host {
		receiver.agent = sender.agent
	} else if receiver.agent, err = have.reach(ctx, here, t.File, receiver, ui); err != nil {
		return sender, receiver, err
	}
	for _, e := range []*end{&sender, &receiver} {
		if err := e.look(ctx); err != nil {
			return sender, receiver, fmt.Errorf("%s %s: %w", e.name, e.Host, err)
		}
	}
	return sender, receiver, nil
}

// reach is the agent of a machine. That one is brought to a host is in this
// machine's journal before.
func (h *taken) reach(ctx context.Context, here agent.Agent, f testbed.File, e end, ui run.UI) (agent.Agent, error) {
	if e.Local() {
		return here, nil
	}
	ui.Say(fmt.Sprintf("reaching the %s, %s", e.name, e.Host))
	c := agent.Change{Kind: agent.ChangeHost, Name: e.Host, SSHConfig: f.SSHConfig, Sudo: e.Sudo}
	if c.SSHConfig != "" {
		var err error
		// Whoever undoes it may be in another folder.
		if c.SSHConfig, err = filepath.Abs(c.SSHConfig); err != nil {
			return nil, err
		}
	}
	id, err := h.journal.Add(c)
	if err != nil {
		return nil, err
	}
	there, err := remote.Dial(ctx, remote.Options{Destination: e.Host, ConfigFile: c.SSHConfig, Sudo: e.Sudo})
	if err != nil {
		if errors.As(err, new(*remote.Failure)) && ctx.Err() == nil {
			// There is no agent; half a binary at most, which the next one replaces.
			err = errors.Join(err, h.journal.Done(id))
		}
		return nil, err
	}
	h.hosts = append(h.hosts, host{there, c, id})
	if err := there.Lock(ctx); err != nil {
		return nil, err
	}
	undone, err := there.Undo(ctx)
	if err != nil {
		return nil, err
	}
	for _, u := range undone {
		if len(u.Changes) > 0 {
			ui.Say(fmt.Sprintf("undid what a run that was killed had left on %s (%d things)", e.Host, len(u.Changes)))
		}
		if len(u.Errs) > 0 {
			return nil, fmt.Errorf("a run that was killed left on %s what can't be undone: %w", e.Host, errors.Join(u.Errs...))
		}
	}
	return there, nil
}

// look finds out about a machine and its NIC, and refuses one that isn't to be
// taken.
func (e *end) look(ctx context.Context) (err error) {
	if e.cpus, err = testbed.ReadTopology(ctx, e.agent); err != nil {
		return err
	}
	if e.nic, err = testbed.FindNIC(ctx, e.agent, e.NIC); err != nil {
		return err
	}
	dpdk := []string{"", "vfio-pci", "uio_pci_generic", "igb_uio"}
	if e.KernelDriver == "" {
		if slices.Contains(dpdk, e.nic.Driver) {
			return fmt.Errorf("no driver of the kernel's has the NIC %s now (%s), so it is not known which to give it back to: write kernel_driver into the testbed's file",
				e.nic.PCI, cmp.Or(e.nic.Driver, "none"))
		}
		e.KernelDriver = e.nic.Driver
	}
	if e.nic.Driver == "" {
		return nil // it carries nothing
	}
	// Bound to the driver that it has: no change, but refused as one would be
	// where the machine uses it.
	as := agent.BindDriver(e.nic.PCI, e.nic.Driver)
	as.NamedTwice = e.NamedTwice()
	_, err = e.agent.Apply(ctx, as)
	return err
}

func (e end) cableEnd() testbed.CableEnd {
	return testbed.CableEnd{PCI: e.nic.PCI, KernelDriver: e.KernelDriver, DPDKDriver: e.DPDKDriver, IOVA: e.IOVA, NamedTwice: e.NamedTwice()}
}

func (e end) record() results.NIC {
	return results.NIC{PCI: e.nic.PCI, ID: e.nic.ID, KernelDriver: e.KernelDriver, DPDKDriver: e.DPDKDriver, Node: e.nic.Node}
}

// place places the pollers: on one machine as in a lab.
func (t Testbed) place(s, r end) (testbed.Placement, error) {
	if s.agent == r.agent {
		return testbed.Place(s.cpus)
	}
	return testbed.PlaceTwo(s.cpus, r.cpus, s.CPUs, r.CPUs, s.nic.Node, r.nic.Node)
}

// closeDeadline is how long one host's agent may take to give everything back.
const closeDeadline = time.Minute

// close gives the NICs back, ends the agents and removes them from the hosts, all
// of it whatever fails. What could not be done stays in this machine's journal.
func (h *taken) close(ctx context.Context) error {
	errs := []error{h.cable.Release(ctx)}
	for _, there := range slices.Backward(h.hosts) {
		end, cancel := context.WithTimeout(ctx, closeDeadline)
		lost := there.Err() != nil
		err := there.Close(end)
		cancel()
		if clean := remote.CleanHost(ctx, there.change); clean != nil {
			errs = append(errs, err, fmt.Errorf("%w; ./clean.sh tries again", clean))
			continue
		}
		if !lost {
			errs = append(errs, err)
		}
		errs = append(errs, h.journal.Done(there.id))
	}
	h.hosts = nil
	return errors.Join(errs...)
}
