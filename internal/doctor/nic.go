package doctor

import (
	"fmt"
	"strconv"
	"strings"
)

// netdev is the folder of the NIC's interface; empty where the kernel doesn't
// drive it.
func (e *examination) netdev() string {
	for path := range e.f.Names {
		if name, ok := strings.CutPrefix(path, devices+e.m.NIC+"/net/"); ok && !strings.Contains(name, "/") {
			return "/sys/class/net/" + name
		}
	}
	return ""
}

// link looks at the port (the kernel's Documentation/ABI/testing/sysfs-class-net).
// One that is down says nothing of its cable; the run will find out.
func link(e *examination) {
	dev := e.netdev()
	if e.m.NIC == "" || dev == "" {
		return
	}
	name := dev[strings.LastIndexByte(dev, '/')+1:]
	switch e.f.Text[dev+"/carrier"] {
	case "0":
		e.error("link-down", name+" has no link", "no frame can cross the cable", "plug the cable in at both ends, look at the module (ethtool -m "+name+"), and whether the other port is up")
		return
	case "":
		return
	}
	speed, err := strconv.Atoi(e.f.Text[dev+"/speed"])
	if err == nil && speed > 0 && e.m.LinkBps > 0 && float64(speed)*1e6 < e.m.LinkBps {
		e.error("link-slow", fmt.Sprintf("%s has agreed on %d Mb/s, and the testbed's link is of %g", name, speed, e.m.LinkBps/1e6),
			"every point would be held against a rate that the cable never reaches", "ethtool "+name+" says what the two ports offer; or correct link in the testbed's file")
	}
	if e.f.Text[dev+"/duplex"] == "half" {
		e.error("link-half", name+" is half duplex", "the two ends then wait for each other", "sudo ethtool -s "+name+" autoneg on")
	}
}

// pcie looks whether the NIC's slot gives what it can take (the kernel's
// Documentation/ABI/testing/sysfs-bus-pci).
func pcie(e *examination) {
	dev := devices + e.m.NIC
	if e.m.NIC == "" || e.virtual() {
		return
	}
	why := "the bus may carry less than the cable"
	const mend = "put the NIC into a slot that has all of its lanes and its generation, or look in the firmware's set-up at how the slot is divided"
	if is, can := e.f.Text[dev+"/current_link_width"], e.f.Text[dev+"/max_link_width"]; is != "" && can != "" && is != can {
		e.warn("pcie-width", fmt.Sprintf("the NIC has %s PCIe lanes of %s", is, can), why, mend)
	}
	if is, can := e.f.Text[dev+"/current_link_speed"], e.f.Text[dev+"/max_link_speed"]; is != "" && can != "" && is != can {
		e.warn("pcie-speed", fmt.Sprintf("the NIC's PCIe runs at %s of %s", is, can), why, mend)
	}
}
