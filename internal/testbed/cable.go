package testbed

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sweep/internal/agent"
	"sweep/internal/testpmd"
	"sweep/sizes"
	"sweep/vhost"
)

// Cable is a NIC on each of two machines, or two on one, and the cable between
// them.
type Cable struct {
	Sender, Receiver CableEnd

	leased string // the attachment that the ends are had for
	took   []took
}

// CableEnd is a NIC, as far as a run needs to know it.
type CableEnd struct {
	PCI          string // its address, such as 0000:3b:00.0
	KernelDriver string // by which the kernel drives it, and to which it is given back
	DPDKDriver   string // by which DPDK does; KernelDriver for one that both use at once
	IOVA         string // see [testpmd.Device]
	NamedTwice   bool   // see [agent.Change]
}

// took is a change that was made for an attachment.
type took struct {
	agent agent.Agent
	id    uint64
}

// Name implements [Wire].
func (*Cable) Name() string { return "cable" }

// Path implements [Wire].
func (*Cable) Path() sizes.Path { return sizes.Path{Max: maxLab, Pad: true} }

// Holder and Enter implement [Wire].
func (*Cable) Holder() []string      { return nil }
func (*Cable) Enter(string) []string { return nil }

// Ports implements [Wire].
func (c *Cable) Ports(string) (server, client testpmd.Device) {
	end := func(e CableEnd) testpmd.Device { return testpmd.Device{Name: e.PCI, NIC: true, IOVA: e.IOVA} }
	return end(c.Sender), end(c.Receiver)
}

// Lease implements [Leased]: DPDK's driver for the receiver's NIC, and for the
// sender's, too, behind a forwarder; the kernel's for that under a tap.
func (c *Cable) Lease(ctx context.Context, e Ends, attachment string) error {
	if c.leased == attachment {
		return nil
	}
	if err := c.Release(ctx); err != nil {
		return err
	}
	bind := func(a agent.Agent, end CableEnd, driver string) error {
		change := agent.BindDriver(end.PCI, driver)
		change.NamedTwice = end.NamedTwice
		id, err := a.Apply(ctx, change)
		if err == nil {
			c.took = append(c.took, took{a, id})
		}
		return err
	}
	driver := c.Sender.DPDKDriver
	if attachment == "vhost-net" {
		driver = c.Sender.KernelDriver
	}
	if err := errors.Join(bind(e.Sender, c.Sender, driver), bind(e.Receiver, c.Receiver, c.Receiver.DPDKDriver)); err != nil {
		return errors.Join(err, c.Release(context.WithoutCancel(ctx)))
	}
	c.leased = attachment
	return nil
}

// Release gives the NICs back.
func (c *Cable) Release(ctx context.Context) error {
	var errs []error
	for i := len(c.took) - 1; i >= 0; i-- {
		errs = append(errs, c.took[i].agent.Revert(ctx, c.took[i].id))
	}
	c.leased, c.took = "", nil
	return errors.Join(errs...)
}

// cableTap is the name of the macvtap over the sender's NIC.
const cableTap = "sweept0"

// netdevDeadline is how long the kernel's driver may take to make an interface
// of a NIC that it was given.
const netdevDeadline = 10 * time.Second

// Tap implements [Tappable].
func (c *Cable) Tap(ctx context.Context, a agent.Agent, _, mac string) (t vhost.Tap, down func(context.Context) error, err error) {
	var ids []uint64
	undo := func(ctx context.Context) error {
		var errs []error
		for i := len(ids) - 1; i >= 0; i-- {
			errs = append(errs, a.Revert(ctx, ids[i]))
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, undo(context.WithoutCancel(ctx)))
		}
	}()
	over, err := netdev(ctx, a, c.Sender.PCI)
	if err != nil {
		return t, nil, err
	}
	under, tap := agent.SetLink(over, agent.Link{Up: true}), agent.AddMacvtap(over, cableTap, mac)
	under.NamedTwice, tap.NamedTwice = c.Sender.NamedTwice, c.Sender.NamedTwice
	for _, change := range []agent.Change{under, tap, agent.SetLink(cableTap, agent.Link{Up: true})} {
		id, err := a.Apply(ctx, change)
		if err != nil {
			return t, nil, err
		}
		ids = append(ids, id)
	}
	r, err := a.Read(ctx, "/sys/class/net/"+cableTap+"/ifindex")
	if err != nil {
		return t, nil, err
	}
	if r[0].Err != "" {
		return t, nil, fmt.Errorf("number of the interface %s: %s", cableTap, r[0].Err)
	}
	return vhost.Tap{
		Device: "/dev/tap" + strings.TrimSpace(string(r[0].Data)), Name: cableTap, Over: over,
		Table: "/proc/net/dev", Sys: "/sys/class/net",
	}, undo, nil
}

// netdev is the interface that the kernel's driver makes of a NIC.
func netdev(ctx context.Context, a agent.Agent, pci string) (string, error) {
	for end := time.Now().Add(netdevDeadline); ; {
		got, err := a.List(ctx, pciDevices+pci+"/net/*", pciDevices+pci+"/*/net/*")
		if err != nil {
			return "", err
		}
		if len(got) > 0 {
			return filepath.Base(got[0].Path), nil
		}
		if time.Now().After(end) {
			return "", fmt.Errorf("the kernel makes no interface of the NIC %s: look at dmesg", pci)
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	}
}
