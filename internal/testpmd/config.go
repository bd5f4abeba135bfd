package testpmd

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sweep/internal/agent"
)

// Config is a testpmd to run: DPDK's EAL arguments and testpmd's own, as far
// as the kit uses them (DPDK's "EAL parameters" and "Testpmd Command-line
// Options" pages).
type Config struct {
	// Name is what the process is called, and what tells this DPDK process
	// from others on the machine (--file-prefix).
	Name string

	// Ports are the devices, virtual ones or NICs. DPDK numbers NICs first,
	// whatever their order here: see [Config.Numbers].
	Ports []Device

	// MemoryMiB is how much memory EAL takes (-m): from ordinary pages, or
	// from hugepages where a port is a NIC, whose memory must not move.
	MemoryMiB int

	// Mbufs is the size of the packet pool (--total-num-mbufs).
	Mbufs int

	// Descriptors is the length of the RX and the TX rings (--rxd, --txd),
	// Burst how many packets are handled at a time (--burst); testpmd's own
	// choice where 0.
	Descriptors, Burst int

	// Forward is the forwarding mode at the start (--forward-mode), such as
	// "rxonly" or "txonly".
	Forward string
}

// Worker is in the name of the thread that polls: lcore-worker-1, since DPDK
// 22.11 rte-worker-1, since 23.11 dpdk-worker1.
const Worker = "worker"

// Host says where on a machine a testpmd runs.
type Host struct {
	// Wrap goes before the command, such as nsenter and its arguments.
	Wrap []string

	// Dir is the folder for its runtime files.
	Dir string

	// Main are the CPUs of the lcore that reads the console, Worker that of
	// the one that polls. nil leaves both to the scheduler.
	Main, Worker []int

	// Slice is the scheduler slice that its threads ask for.
	Slice time.Duration
}

// Device is a virtual device of DPDK's, a driver's instance and its parameters,
// or a NIC.
type Device struct {
	Name string // driver and number, such as net_vhost0, or a PCI address, such as 0000:3b:00.0
	Args []Arg

	NIC bool // Name is a PCI address
	// IOVA is the kind of address that a NIC is told (--iova-mode): "pa" or
	// "va"; EAL's own choice where empty.
	IOVA string
}

// Arg is a parameter of a Device.
type Arg struct{ Key, Value string }

func (d Device) String() string {
	var b strings.Builder
	b.WriteString(d.Name)
	for _, a := range d.Args {
		fmt.Fprintf(&b, ",%s=%s", a.Key, a.Value)
	}
	return b.String()
}

// hasNIC says whether a port is a NIC.
func (c Config) hasNIC() bool {
	return slices.ContainsFunc(c.Ports, func(d Device) bool { return d.NIC })
}

// Numbers are the port numbers of the ports, in the order of Ports: EAL probes
// the bus of PCI before that of virtual devices.
func (c Config) Numbers() []int {
	out := make([]int, len(c.Ports))
	next := 0
	for _, nic := range []bool{true, false} {
		for i, d := range c.Ports {
			if d.NIC == nic {
				out[i] = next
				next++
			}
		}
	}
	return out
}

// memory are EAL's arguments about memory and buses.
func (c Config) memory() []string {
	if !c.hasNIC() {
		// Ordinary pages, no PCI devices, no files of a shared configuration:
		// a lab needs no root and no set-up.
		return []string{"--no-huge", "-m", strconv.Itoa(c.MemoryMiB), "--no-pci", "--no-shconf"}
	}
	// No files in a hugetlbfs, which need not be mounted then, and which a
	// testpmd that is killed would leave full.
	argv := []string{"--in-memory", "-m", strconv.Itoa(c.MemoryMiB)}
	for _, d := range c.Ports {
		if d.IOVA != "" {
			return append(argv, "--iova-mode="+d.IOVA)
		}
	}
	return argv
}

// Spec is the process to start.
func (c Config) Spec(h Host) agent.Spec {
	argv := append([]string(nil), h.Wrap...)
	argv = append(argv, "dpdk-testpmd", "--lcores", h.lcores())
	argv = append(argv, c.memory()...)
	argv = append(argv, "--file-prefix", c.prefix())
	for _, d := range c.Ports {
		if d.NIC {
			argv = append(argv, "-a", d.String())
		} else {
			argv = append(argv, "--vdev", d.String())
		}
	}
	argv = append(argv, "--", "--interactive",
		// A port whose peer isn't there yet has no link: testpmd would wait
		// 9 s for it.
		"--disable-link-check",
		"--nb-cores=1", "--total-num-mbufs="+strconv.Itoa(c.Mbufs))
	if c.Burst > 0 {
		argv = append(argv, "--burst="+strconv.Itoa(c.Burst))
	}
	if c.Descriptors > 0 {
		d := strconv.Itoa(c.Descriptors)
		argv = append(argv, "--rxd="+d, "--txd="+d)
	}
	if c.Forward != "" {
		argv = append(argv, "--forward-mode="+c.Forward)
	}
	return agent.Spec{
		Name: c.Name,
		Argv: argv,
		// Runtime files, the telemetry socket among them, go to Dir: DPDK
		// since 20.02 takes RUNTIME_DIRECTORY, an older one XDG_RUNTIME_DIR
		// unless it runs as root.
		Env:   []string{"RUNTIME_DIRECTORY=" + h.Dir, "XDG_RUNTIME_DIR=" + h.Dir},
		Slice: h.Slice,
	}
}

func (c Config) prefix() string { return "sweep-" + c.Name }

// telemetrySocket is where this testpmd listens.
func (c Config) telemetrySocket(h Host) string {
	return h.Dir + "/dpdk/" + c.prefix() + "/dpdk_telemetry.v2"
}

// lcores maps testpmd's two threads to CPUs: lcore 0 is the main one.
func (h Host) lcores() string {
	if len(h.Worker) == 0 {
		return "0,1"
	}
	return "0@" + cpuSet(h.Main) + ",1@" + cpuSet(h.Worker)
}

// cpuSet writes CPUs as EAL wants them: 3 or (0,1,3).
func cpuSet(cpus []int) string {
	s := make([]string, len(cpus))
	for i, c := range cpus {
		s[i] = strconv.Itoa(c)
	}
	if len(s) == 1 {
		return s[0]
	}
	return "(" + strings.Join(s, ",") + ")"
}
