package testbed

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"sweep/internal/agent"
)

// NIC is a network card as a machine has it (the kernel's Documentation/ABI/
// testing/sysfs-bus-pci and sysfs-class-net).
type NIC struct {
	PCI       string // such as 0000:3b:00.0
	ID        string // vendor and device, such as 8086:10fb
	Driver    string // that has it now; empty: none
	Interface string // the kernel's; empty where another driver has it
	Node      int    // its NUMA node; -1 where the machine doesn't say
	SpeedMbps int    // of its link; 0 where it is down, or the kernel doesn't drive it
}

// pciName is a PCI address, with or without its domain.
var pciName = regexp.MustCompile(`^(?:([0-9a-fA-F]{4,}):)?([0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7])$`)

// fullPCI is a PCI address with its domain; ok is false where name is none.
func fullPCI(name string) (pci string, ok bool) {
	m := pciName.FindStringSubmatch(name)
	if m == nil {
		return "", false
	}
	if m[1] == "" {
		m[1] = "0000"
	}
	return strings.ToLower(m[1] + ":" + m[2]), true
}

const pciDevices = "/sys/bus/pci/devices/"

// NICs are a machine's: PCI devices of the class of network controllers.
func NICs(ctx context.Context, a agent.Agent) ([]NIC, error) {
	classes, err := a.List(ctx, pciDevices+"*/class")
	if err != nil {
		return nil, fmt.Errorf("look for NICs: %w", err)
	}
	paths := make([]string, len(classes))
	for i, c := range classes {
		paths[i] = c.Path
	}
	read, err := a.Read(ctx, paths...)
	if err != nil {
		return nil, fmt.Errorf("look for NICs: %w", err)
	}
	var out []NIC
	for i, r := range read {
		if !strings.HasPrefix(string(r.Data), "0x02") { // PCI Code and ID Assignment: network controller
			continue
		}
		n, err := readNIC(ctx, a, filepath.Base(filepath.Dir(paths[i])))
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}

func readNIC(ctx context.Context, a agent.Agent, pci string) (NIC, error) {
	dir := pciDevices + pci
	r, err := a.Read(ctx, dir+"/vendor", dir+"/device", dir+"/numa_node")
	if err != nil {
		return NIC{}, fmt.Errorf("look at the NIC %s: %w", pci, err)
	}
	text := func(i int) string { return strings.TrimSpace(string(r[i].Data)) }
	n := NIC{PCI: pci, ID: strings.TrimPrefix(text(0), "0x") + ":" + strings.TrimPrefix(text(1), "0x"), Node: -1}
	if node, err := strconv.Atoi(text(2)); err == nil {
		n.Node = node
	}
	// A virtio NIC's interface is one folder further down.
	links, err := a.List(ctx, dir+"/driver", dir+"/net/*", dir+"/virtio*/net/*")
	if err != nil {
		return NIC{}, fmt.Errorf("look at the NIC %s: %w", pci, err)
	}
	for _, l := range links {
		if strings.HasSuffix(l.Path, "/driver") {
			n.Driver = filepath.Base(l.Target)
		} else if n.Interface == "" {
			n.Interface = filepath.Base(l.Path)
		}
	}
	if n.Interface == "" {
		return n, nil
	}
	if r, err = a.Read(ctx, "/sys/class/net/"+n.Interface+"/speed"); err != nil {
		return NIC{}, fmt.Errorf("look at the NIC %s: %w", pci, err)
	}
	if speed, err := strconv.Atoi(strings.TrimSpace(string(r[0].Data))); err == nil && speed > 0 {
		n.SpeedMbps = speed
	}
	return n, nil
}

// FindNIC is the NIC with a PCI address or an interface of that name.
func FindNIC(ctx context.Context, a agent.Agent, name string) (NIC, error) {
	nics, err := NICs(ctx, a)
	if err != nil {
		return NIC{}, err
	}
	pci, _ := fullPCI(name)
	var there []string
	for _, n := range nics {
		if n.PCI == pci || n.Interface == name {
			return n, nil
		}
		there = append(there, n.describe())
	}
	if len(there) == 0 {
		return NIC{}, fmt.Errorf("there is no NIC %s: this machine has none on PCI", name)
	}
	return NIC{}, fmt.Errorf("there is no NIC %s; there are %s", name, strings.Join(there, ", "))
}

func (n NIC) describe() string {
	text := n.PCI
	if n.Interface != "" {
		text += " (" + n.Interface + ")"
	}
	return text
}
