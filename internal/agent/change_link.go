package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// linkChange is how an interface is set up.
type linkChange struct{}

func (linkChange) look(_ context.Context, h host, c *Change) (bool, error) {
	is, _, err := linkState(h, c.Name)
	if err != nil {
		return false, err
	}
	if !c.NamedTwice {
		if err := h.protected(c.Name); err != nil {
			return false, err
		}
	}
	want := *c.Link
	if want.MTU == 0 {
		want.MTU = is.MTU
	}
	c.LinkWas = &is
	return want != is, nil
}

func (linkChange) make(_ context.Context, h host, c Change) error {
	_, err := setLink(h, c.Name, *c.Link)
	return err
}

func (linkChange) undo(_ context.Context, h host, c Change) (bool, error) {
	if c.LinkWas == nil {
		return false, nil
	}
	did, err := setLink(h, c.Name, *c.LinkWas)
	if isNoLink(err) {
		return false, nil
	}
	return did, err
}

// isNoLink says whether an error is that there is no such interface.
func isNoLink(err error) bool {
	var none netlink.LinkNotFoundError
	return errors.As(err, &none) || errors.Is(err, unix.ENODEV)
}

// noIPv6 is the switch of an interface (the kernel's Documentation/networking/
// ip-sysctl.rst).
func noIPv6(name string) string { return "/proc/sys/net/ipv6/conf/" + name + "/disable_ipv6" }

// linkState is how an interface is set up, and its addresses.
func linkState(h host, name string) (Link, []string, error) {
	l, err := netlink.LinkByName(name)
	if err != nil {
		return Link{}, nil, fmt.Errorf("interface %q: %w", name, err)
	}
	a := l.Attrs()
	s := Link{Up: a.Flags&net.FlagUp != 0, Promisc: a.RawFlags&unix.IFF_PROMISC != 0, MTU: a.MTU}
	off, err := h.value(noIPv6(name))
	switch {
	case err == nil:
		s.IPv6 = off == "0"
	case !errors.Is(err, fs.ErrNotExist): // it is not there in a kernel without IPv6
		return Link{}, nil, err
	}
	addrs, err := netlink.AddrList(l, netlink.FAMILY_ALL)
	if err != nil {
		return Link{}, nil, fmt.Errorf("addresses of %s: %w", name, err)
	}
	var list []string
	for _, addr := range addrs {
		if !addr.IP.IsLinkLocalUnicast() { // the kernel's own making
			list = append(list, addr.IPNet.String())
		}
	}
	return s, list, nil
}

// setLink sets up an interface where it is not so yet.
func setLink(h host, name string, want Link) (changed bool, err error) {
	is, _, err := linkState(h, name)
	if err != nil {
		return false, err
	}
	l, err := netlink.LinkByName(name)
	if err != nil {
		return false, fmt.Errorf("interface %q: %w", name, err)
	}
	step := func(needed bool, what string, f func() error) {
		if err != nil || !needed {
			return
		}
		changed = true
		if e := f(); e != nil {
			err = fmt.Errorf("set up %s: %s: %w", name, what, e)
		}
	}
	// IPv6 before up: the kernel solicits as soon as the interface is.
	step(want.IPv6 != is.IPv6 && h.exists(noIPv6(name)), "IPv6", func() error {
		off := "1"
		if want.IPv6 {
			off = "0"
		}
		return h.write(h.path(noIPv6(name)), off)
	})
	step(want.MTU != 0 && want.MTU != is.MTU, "MTU", func() error { return netlink.LinkSetMTU(l, want.MTU) })
	step(want.Promisc && !is.Promisc, "promiscuous", func() error { return netlink.SetPromiscOn(l) })
	step(!want.Promisc && is.Promisc, "not promiscuous", func() error { return netlink.SetPromiscOff(l) })
	step(want.Up && !is.Up, "up", func() error { return netlink.LinkSetUp(l) })
	step(!want.Up && is.Up, "down", func() error { return netlink.LinkSetDown(l) })
	return changed, err
}

// renameLink gives the interface among names the name that it had.
func renameLink(names []string, want string) (bool, error) {
	if slices.Contains(names, want) {
		return false, nil
	}
	l, err := netlink.LinkByName(names[0])
	if err == nil {
		err = netlink.LinkSetName(l, want)
	}
	if err != nil {
		return true, fmt.Errorf("call the interface %s %s again: %w", names[0], want, err)
	}
	return true, nil
}

// addAddresses gives an interface those of its addresses that it has not.
func addAddresses(name string, addresses []string) (bool, error) {
	added := false
	for _, text := range addresses {
		addr, err := netlink.ParseAddr(text)
		if err != nil {
			return added, fmt.Errorf("address of %s: %w", name, err)
		}
		l, err := netlink.LinkByName(name)
		if err != nil {
			return added, fmt.Errorf("interface %q: %w", name, err)
		}
		switch err := netlink.AddrAdd(l, addr); {
		case errors.Is(err, unix.EEXIST):
		case err != nil:
			return added, fmt.Errorf("give %s its address %s again: %w", name, text, err)
		default:
			added = true
		}
	}
	return added, nil
}

// macvtapChange is a macvtap over an interface: what is sent on its character
// device leaves through the interface below (macvtap in bridge mode; the
// kernel's drivers/net/macvtap.c and ip-link(8)).
type macvtapChange struct{}

func (macvtapChange) look(_ context.Context, h host, c *Change) (bool, error) {
	if l, err := netlink.LinkByName(c.Name); err == nil {
		return false, fmt.Errorf("there is an interface %s already (%s); where a run left it, ./clean.sh deletes it", c.Name, l.Type())
	} else if !isNoLink(err) {
		return false, fmt.Errorf("interface %q: %w", c.Name, err)
	}
	if _, err := net.ParseMAC(c.MAC); err != nil {
		return false, fmt.Errorf("macvtap %s: %w", c.Name, err)
	}
	if c.NamedTwice {
		return true, nil
	}
	return true, h.protected(c.Over)
}

// tapDeadline is how long /dev/tapN may take to appear, which udev may rename
// and set the owner of meanwhile.
const tapDeadline = 5 * time.Second

func (macvtapChange) make(ctx context.Context, h host, c Change) error {
	under, err := netlink.LinkByName(c.Over)
	if err != nil {
		return fmt.Errorf("interface %q: %w", c.Over, err)
	}
	mac, err := net.ParseMAC(c.MAC)
	if err != nil {
		return fmt.Errorf("macvtap %s: %w", c.Name, err)
	}
	attrs := netlink.NewLinkAttrs()
	attrs.Name, attrs.ParentIndex, attrs.HardwareAddr = c.Name, under.Attrs().Index, mac
	tap := &netlink.Macvtap{Macvlan: netlink.Macvlan{LinkAttrs: attrs, Mode: netlink.MACVLAN_MODE_BRIDGE}}
	if err := netlink.LinkAdd(tap); err != nil {
		return fmt.Errorf("make the macvtap %s over %s: %w (the kernel needs the module macvtap)", c.Name, c.Over, err)
	}
	l, err := netlink.LinkByName(c.Name)
	if err != nil {
		return fmt.Errorf("interface %q: %w", c.Name, err)
	}
	dev := fmt.Sprintf("/dev/tap%d", l.Attrs().Index)
	if !until(ctx, tapDeadline, func() bool { _, err := os.Stat(dev); return err == nil }) {
		return fmt.Errorf("%s does not appear for the macvtap %s: is /dev a devtmpfs?", dev, c.Name)
	}
	return nil
}

func (macvtapChange) undo(_ context.Context, _ host, c Change) (bool, error) {
	l, err := netlink.LinkByName(c.Name)
	if isNoLink(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if l.Type() != "macvtap" {
		return false, nil // it is somebody else's now
	}
	if err := netlink.LinkDel(l); err != nil && !isNoLink(err) {
		return true, err
	}
	return true, nil
}

// reasonsOf says what the machine uses a device for. sshConnection is what
// sshd says of the connection that this program runs over: the client's address
// and port and the server's (sshd's SSH_CONNECTION, ssh(1)).
func reasonsOf(h host, device, sshConnection string) ([]Reason, error) {
	names := []string{device}
	if pciAddress.MatchString(device) {
		names = h.interfaces(device)
	}
	links, err := netlink.LinkList()
	if err != nil {
		return nil, err
	}
	used := map[int]string{} // those interfaces and what stands upon them, by index
	for _, l := range links {
		if slices.Contains(names, l.Attrs().Name) {
			used[l.Attrs().Index] = l.Attrs().Name
		}
	}
	for grown := len(used) > 0; grown; {
		grown = false
		for _, l := range links {
			a := l.Attrs()
			// A VLAN or a macvlan names the interface below it; a port of a
			// bridge or a bond names that.
			if _, ok := used[a.Index]; !ok && used[a.ParentIndex] != "" && l.Type() != "veth" {
				used[a.Index], grown = a.Name, true
			}
			if _, ok := used[a.Index]; ok && a.MasterIndex != 0 && used[a.MasterIndex] == "" {
				used[a.MasterIndex], grown = nameOf(links, a.MasterIndex), true
			}
		}
	}
	var ssh string
	if f := strings.Fields(sshConnection); len(f) == 4 {
		ssh = f[2]
	}
	reasons, err := defaultRoutes(used)
	if err != nil {
		return nil, err
	}
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		name, ok := used[a.LinkIndex]
		if !ok || a.IP.IsLinkLocalUnicast() && a.IP.String() != ssh {
			continue // fe80:: is on every interface that is up
		}
		kind := "address"
		if a.IP.String() == ssh {
			kind = "ssh"
		}
		reasons = append(reasons, Reason{Kind: kind, Interface: name, Detail: a.IPNet.String()})
	}
	return reasons, nil
}

func nameOf(links []netlink.Link, index int) string {
	for _, l := range links {
		if l.Attrs().Index == index {
			return l.Attrs().Name
		}
	}
	return fmt.Sprintf("interface %d", index)
}

// defaultRoutes are those over the interfaces, given by index.
func defaultRoutes(used map[int]string) ([]Reason, error) {
	routes, err := netlink.RouteList(nil, netlink.FAMILY_ALL)
	if err != nil {
		return nil, err
	}
	var reasons []Reason
	for _, r := range routes {
		if r.Dst != nil && !r.Dst.IP.IsUnspecified() {
			continue
		}
		over := []int{r.LinkIndex}
		for _, hop := range r.MultiPath {
			over = append(over, hop.LinkIndex)
		}
		for _, index := range over {
			if name, ok := used[index]; ok {
				detail := "no gateway"
				if r.Gw != nil {
					detail = "via " + r.Gw.String()
				}
				reasons = append(reasons, Reason{Kind: "route", Interface: name, Detail: detail})
			}
		}
	}
	return reasons, nil
}
