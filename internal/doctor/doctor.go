// Package doctor says what a machine lacks for an experiment, why it matters for
// the numbers or for running at all, and the command that mends it.
//
// [Look] reads all there is to know through the machine's agent; [Examine] is a
// pure function of what was read.
package doctor

import (
	"context"
	"fmt"

	"sweep/internal/agent"
)

// Role is a machine's part in an experiment.
type Role string

// The parts.
const (
	Lab      Role = "lab"      // all of it, without a NIC
	Sender   Role = "sender"   // forwarder and guest
	Receiver Role = "receiver" // the client
)

// Machine is one that is examined, and what the experiment wants of it.
type Machine struct {
	Name  string      `json:"name"`
	Agent agent.Agent `json:"-"`
	Role  Role        `json:"role"`

	NIC          string  `json:"nic,omitempty"` // its PCI address
	KernelDriver string  `json:"kernel_driver,omitempty"`
	DPDKDriver   string  `json:"dpdk_driver,omitempty"`
	NoIOMMU      bool    `json:"no_iommu,omitempty"`
	LinkBps      float64 `json:"link_bps,omitempty"` // of the cable; 0: not known
	VhostNet     bool    `json:"vhost_net,omitempty"`

	PageKiB   int    `json:"page_kib,omitempty"` // of the hugepages that are wanted
	PageCount int    `json:"page_count,omitempty"`
	Governor  string `json:"governor,omitempty"` // that the run sets; as it is where empty

	Pollers []int  `json:"pollers"` // CPUs, each once
	House   []int  `json:"house"`   // CPUs for the rest
	Share   string `json:"share,omitempty"`

	// TryKVM boots a guest and says why it didn't boot; nil: nobody tries.
	TryKVM func(ctx context.Context, a agent.Agent) (why string, err error) `json:"-"`

	Results string `json:"results,omitempty"` // the folder that a run writes to; empty: none here
}

// guests says whether virtual machines run on it.
func (m Machine) guests() bool { return m.Role != Receiver }

// Severity says what a finding does.
type Severity string

// An error keeps an experiment from running; with a warning its numbers mean less.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// Finding is something that is wrong.
type Finding struct {
	Machine  string   `json:"machine"`
	Check    string   `json:"check"` // short and stable, such as "hugepages-free"
	Severity Severity `json:"severity"`
	What     string   `json:"what"` // with what was read
	Why      string   `json:"why"`
	Mend     string   `json:"mend"` // a command, or what to do in words
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s. %s. %s", f.Severity, f.What, f.Why, f.Mend)
}

// Facts are what was read of a machine. What is not in a map is not there, or
// can't be read.
type Facts struct {
	Text   map[string]string // files, without the blanks around their content
	Link   map[string]string // symbolic links: the last part of where they point
	Names  map[string]bool   // other paths that there are, such as folders
	Errno  map[string]int    // of files that are there and can't be read
	Output map[string]string // what commands printed first
	Absent map[string]bool   // programs that are not installed
	KVM    string            // why no guest boots with it, where one was tried
	Busy   []Busy
}

// Busy is a process that used a CPU while the machine was looked at.
type Busy struct {
	Comm  string
	PID   int
	CPU   int
	Share float64 // of a CPU
}

// newFacts returns facts of nothing.
func newFacts() Facts {
	return Facts{
		Text: map[string]string{}, Link: map[string]string{}, Names: map[string]bool{}, Errno: map[string]int{},
		Output: map[string]string{}, Absent: map[string]bool{},
	}
}

// Examine says what is wrong with a machine, in the order in which a person would
// mend it: what needs the firmware or a reboot first.
func Examine(f Facts, m Machine) []Finding {
	e := &examination{f: f, m: m}
	for _, check := range []func(*examination){
		iommu, turbo, // firmware
		isolation, mitigations, // the kernel's command line
		packages, modules, drivers,
		hugepages, link, pcie,
		kvm, cpus, governor,
		clock, interrupts, others, disk,
	} {
		check(e)
	}
	return e.found
}

// examination is a machine that is being examined.
type examination struct {
	f     Facts
	m     Machine
	found []Finding
}

func (e *examination) say(s Severity, check, what, why, mend string) {
	e.found = append(e.found, Finding{Machine: e.m.Name, Check: check, Severity: s, What: what, Why: why, Mend: mend})
}

func (e *examination) error(check, what, why, mend string) { e.say(Error, check, what, why, mend) }
func (e *examination) warn(check, what, why, mend string)  { e.say(Warning, check, what, why, mend) }
