package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// bindChange is the driver of a PCI device, by driver_override (the kernel's
// Documentation/ABI/testing/sysfs-bus-pci): it names the one driver that the
// device's next probe may choose, and needs no ids that would change what
// happens to other devices.
type bindChange struct{}

var (
	pciAddress = regexp.MustCompile(`^[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
	driverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)
)

const pciDevices = "/sys/bus/pci/devices/"

// bindDeadline is how long a driver may take to make an interface of a device.
const bindDeadline = 10 * time.Second

func (bindChange) look(_ context.Context, h host, c *Change) (bool, error) {
	if !pciAddress.MatchString(c.Name) {
		return false, fmt.Errorf("%q is no PCI address, such as 0000:3b:00.0", c.Name)
	}
	if !driverName.MatchString(c.Now) {
		return false, fmt.Errorf("%q is no name of a driver", c.Now)
	}
	dev := pciDevices + c.Name
	if !h.exists(dev) {
		return false, fmt.Errorf("there is no PCI device %s on this machine", c.Name)
	}
	if !c.NamedTwice {
		if err := h.protected(c.Name); err != nil {
			return false, err
		}
	}
	var err error
	if c.Was, err = h.linked(dev + "/driver"); err != nil {
		return false, err
	}
	if c.Was == c.Now {
		return false, nil
	}
	if !h.exists("/sys/bus/pci/drivers/" + c.Now) {
		return false, fmt.Errorf("the kernel has no driver %s: is its module loaded (modprobe %s)?", c.Now, c.Now)
	}
	if c.Override, err = h.override(c.Name); err != nil {
		return false, err
	}
	// One port: no kernel driver makes two of one function of a NIC.
	if names := h.interfaces(c.Name); len(names) > 0 {
		l, addresses, err := linkState(h, names[0])
		if err != nil {
			return false, err
		}
		c.Interface, c.LinkWas, c.Addresses = names[0], &l, addresses
	}
	return true, nil
}

// override is what driver_override holds.
func (h host) override(pci string) (string, error) {
	v, err := h.value(pciDevices + pci + "/driver_override")
	if v == "(null)" {
		v = ""
	}
	return v, err
}

// interfaces are those that the kernel made of a device.
func (h host) interfaces(pci string) []string {
	var names []string
	// A virtio NIC's is of a device upon the device.
	for _, dir := range [][]string{{"net", "*"}, {"*", "net", "*"}} {
		paths, err := filepath.Glob(h.path(append([]string{pciDevices, pci}, dir...)...))
		if err != nil {
			return nil // the patterns are well formed
		}
		for _, p := range paths {
			names = append(names, filepath.Base(p))
		}
	}
	return names
}

func (bindChange) make(_ context.Context, h host, c Change) error {
	return h.bind(c.Name, c.Now, c.Now)
}

// bind has a device probed with a driver_override and looks which driver took
// it; empty is none.
func (h host) bind(pci, driver, override string) error {
	dev := pciDevices + pci
	if err := h.write(h.path(dev, "driver_override"), override+"\n"); err != nil {
		return fmt.Errorf("override the driver of %s: %w", pci, err)
	}
	is, err := h.linked(dev + "/driver")
	if err != nil {
		return err
	}
	if is != "" && is != driver {
		if err := h.write(h.path(dev, "driver", "unbind"), pci); err != nil {
			return fmt.Errorf("unbind %s from %s: %w", pci, is, err)
		}
		is = ""
	}
	if is == driver {
		return nil
	}
	probe := h.write(h.path("/sys/bus/pci/drivers_probe"), pci)
	if is, err = h.linked(dev + "/driver"); err == nil && is == "" && override == "" {
		// What was bound by hand before, its ids not among the driver's own,
		// no probe finds.
		probe = h.write(h.path("/sys/bus/pci/drivers", driver, "bind"), pci)
		is, err = h.linked(dev + "/driver")
	}
	if err != nil {
		return err
	}
	if is != driver {
		return fmt.Errorf("%s does not take %s (its driver is %s): %s", driver, pci, orNone(is), h.refusal(pci, driver, probe))
	}
	return nil
}

func orNone(driver string) string {
	if driver == "" {
		return "none now"
	}
	return driver
}

// refusal is why a driver may not have taken a device.
func (h host) refusal(pci, driver string, probe error) string {
	why := "dmesg has the kernel's words"
	if probe != nil {
		why = fmt.Sprintf("%v; %s", probe, why)
	}
	if driver == "vfio-pci" && !h.exists(pciDevices+pci+"/iommu_group") {
		why += "; the machine's IOMMU is off: intel_iommu=on or amd_iommu=on on the kernel's command line and in the firmware, or no_iommu: true in the testbed's file where there is none"
	}
	return why
}

func (bindChange) undo(ctx context.Context, h host, c Change) (bool, error) {
	dev := pciDevices + c.Name
	if !h.exists(dev) {
		return false, nil // it was pulled out, or is another VM's by now
	}
	is, err := h.linked(dev + "/driver")
	if err != nil {
		return false, err
	}
	override, err := h.override(c.Name)
	if err != nil {
		return false, err
	}
	did := false
	if is != c.Was || override != c.Override {
		did = true
		if err := h.unbind(c, is); err != nil {
			return true, err
		}
	}
	if c.Interface == "" {
		return did, nil
	}
	changed, err := bringInterface(ctx, h, c)
	return did || changed, err
}

// unbind gives a device back to the driver that it had, or to none.
func (h host) unbind(c Change, is string) error {
	if c.Was != "" {
		return h.bind(c.Name, c.Was, c.Override)
	}
	err := h.write(h.path(pciDevices, c.Name, "driver_override"), c.Override+"\n")
	if is != "" {
		err = errors.Join(err, h.write(h.path(pciDevices, c.Name, "driver", "unbind"), c.Name))
	}
	return err
}

// bringInterface makes the interface of a device that was given back what it
// was: its name, its settings and its addresses.
func bringInterface(ctx context.Context, h host, c Change) (bool, error) {
	if !until(ctx, bindDeadline, func() bool { return len(h.interfaces(c.Name)) > 0 }) {
		return true, fmt.Errorf("the driver %s makes no interface of %s: look at dmesg", c.Was, c.Name)
	}
	names := h.interfaces(c.Name)
	changed, err := renameLink(names, c.Interface)
	if err != nil || c.LinkWas == nil {
		return changed, err
	}
	set, err := setLink(h, c.Interface, *c.LinkWas)
	if err != nil {
		return true, err
	}
	added, err := addAddresses(c.Interface, c.Addresses)
	return changed || set || added, err
}

// ErrProtected says that a device is the machine's own and is not taken.
type ErrProtected struct {
	Device  string   `json:"device"` // as it was asked for: a PCI address or an interface's name
	Reasons []Reason `json:"reasons"`
}

// Reason is one use that the machine makes of a device.
type Reason struct {
	Kind      string `json:"kind"` // "route": the default route, "address": an address in use, "ssh": this very connection
	Interface string `json:"interface"`
	Detail    string `json:"detail"` // the gateway or the address
}

func (r Reason) String() string {
	switch r.Kind {
	case "route":
		return fmt.Sprintf("%s carries the default route (%s)", r.Interface, r.Detail)
	case "ssh":
		return fmt.Sprintf("%s carries this ssh connection (%s)", r.Interface, r.Detail)
	}
	return fmt.Sprintf("%s has the address %s in use", r.Interface, r.Detail)
}

func (e *ErrProtected) Error() string {
	why := make([]string, len(e.Reasons))
	for i, r := range e.Reasons {
		why[i] = r.String()
	}
	return fmt.Sprintf("%s is not taken: %s. Taking it would cut the machine off; name another NIC, or this one twice (nic and nic_again) where that is meant", e.Device, strings.Join(why, ", "))
}

// protected is the error for a device, a PCI address or an interface, that
// the machine itself uses.
func (h host) protected(device string) error {
	reasons, err := reasonsOf(h, device, os.Getenv("SSH_CONNECTION"))
	if err != nil {
		return fmt.Errorf("find out what the machine uses %s for: %w", device, err)
	}
	if len(reasons) == 0 {
		return nil
	}
	return &ErrProtected{Device: device, Reasons: reasons}
}

// Protected says what the machine itself uses a device for, a PCI address or an
// interface's name. What is used for anything is not taken.
func Protected(device string) ([]Reason, error) {
	return reasonsOf(thisHost(), device, os.Getenv("SSH_CONNECTION"))
}
