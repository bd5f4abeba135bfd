// Package results keeps what a run measured: a folder that holds everything
// that the table is made of, so that it can be made again elsewhere. It alone
// writes data; package report only reads it.
//
//	run.json           the plan, the machine, versions, what could not run
//	trials.jsonl       a line a trial, appended and synced as it ends
//	tape.jsonl         all that was read, with its times: what trials.jsonl follows from
//	GUEST-ATTACHMENT.csv  the published format: packetsize<TAB>rx, in Mpps
//	commands.sh        the exact command lines
//	console/           what every process printed, byte by byte, and when
package results

import (
	"time"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/tape"
	"sweep/internal/testbed"
	"sweep/sizes"
)

// Run is what holds for a whole run (run.json).
type Run struct {
	Kit       string            `json:"kit"`     // the kit's version
	Command   []string          `json:"command"` // as it was typed
	Started   time.Time         `json:"started"`
	Plan      plan.Plan         `json:"plan"`
	Skipped   []Skipped         `json:"skipped,omitempty"`
	Accel     string            `json:"accel"` // "kvm" or "tcg"
	AccelWhy  string            `json:"accel_why"`
	Placement testbed.Placement `json:"placement"`
	Images    map[string]Image  `json:"images"`  // of the guests, by their names
	Machine   Machine           `json:"machine"` // that with forwarder and guest
	// Receiver is the machine with the client, where that is another one, and
	// Testbed what joins the two; nil in a lab.
	Receiver *Machine `json:"receiver,omitempty"`
	Testbed  *Testbed `json:"testbed,omitempty"`
	Warnings []string `json:"warnings,omitempty"` // about every point
	// Imported is what the run was made from where this kit did not measure
	// it, such as "the published data of Figure 19". Such a run has no
	// machine, its trials no readings and no ledger.
	Imported string      `json:"imported,omitempty"`
	Resumed  []time.Time `json:"resumed,omitempty"` // when it went on after it had ended early
}

// Skipped is a system that this machine can't run.
type Skipped struct {
	System plan.System `json:"system"`
	Why    string      `json:"why"` // what is missing and how to get it
}

// Image is what a guest was booted from.
type Image struct {
	Kernel       string `json:"kernel"`
	KernelSHA256 string `json:"kernel_sha256"`
	Initrd       string `json:"initrd,omitempty"`
	InitrdSHA256 string `json:"initrd_sha256,omitempty"`
}

// Machine is what the run ran on. What could not be found out is empty.
type Machine struct {
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	SMT      string `json:"smt"`      // "on", "off", "notsupported", ...
	NUMA     string `json:"numa"`     // nodes, such as "0" or "0-1"
	Governor string `json:"governor"` // of the CPUs' frequency
	// Mitigations are the kernel's answers to the processor's flaws, by the
	// flaws' names.
	Mitigations map[string]string `json:"mitigations"`
	Hypervisor  bool              `json:"hypervisor"` // the machine is a virtual one itself

	Kernel    string `json:"kernel"`
	Cmdline   string `json:"cmdline"`
	OS        string `json:"os"`
	QEMU      string `json:"qemu"`
	DPDK      string `json:"dpdk"`
	MemoryKB  int    `json:"memory_kb"`
	Hugepages string `json:"hugepages"` // reserved and their size, such as "0 x 2048 kB"

	Load string `json:"load"` // /proc/loadavg before the run
}

// Testbed is the hardware between two machines.
type Testbed struct {
	LinkBps  float64 `json:"link_bps"` // of the cable, in bits a second; 0 where it isn't known
	Sender   NIC     `json:"sender"`
	Receiver NIC     `json:"receiver"`
}

// LinkBps is what the run's wire carries, in bits a second; 0 where that has no
// such limit, or nobody knows it.
func (r Run) LinkBps() float64 {
	if r.Testbed != nil {
		return r.Testbed.LinkBps
	}
	return sizes.LinkRate(r.Plan.Wire)
}

// NIC is a network card as a run found it.
type NIC struct {
	PCI          string `json:"pci"`
	ID           string `json:"id"` // vendor and device, such as 8086:10fb
	KernelDriver string `json:"kernel_driver"`
	DPDKDriver   string `json:"dpdk_driver"`
	Firmware     string `json:"firmware,omitempty"`
	Node         int    `json:"numa_node"` // -1 where the machine doesn't say
}

// Trial is one trial as it ended: a line of trials.jsonl.
type Trial struct {
	plan.Trial
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Settings Settings      `json:"settings"`

	// WarmUp is how long the guest sent before the window began, Window how
	// long that was.
	WarmUp time.Duration `json:"warm_up_ns,omitempty"`
	Window time.Duration `json:"window_ns,omitempty"`

	// RxPps is the result: packets a second that arrived in the window, by the
	// client's counters at its two ends; RxDoubt how far off that can be, as a
	// share; RxError the standard error over parts of the window of this one
	// boot; ShownPps what testpmd printed as Rx-pps over the window. See
	// [audit.Outcome].
	RxPps          float64 `json:"rx_pps,omitempty"`
	RxDoubt        float64 `json:"rx_doubt,omitempty"`
	RxError        float64 `json:"rx_error,omitempty"`
	ShownPps       float64 `json:"shown_pps,omitempty"`
	BytesPerPacket float64 `json:"bytes_per_packet,omitempty"`

	Ledger   *audit.Ledger   `json:"ledger,omitempty"`
	Residual *audit.Residual `json:"residual,omitempty"`
	Lengths  *audit.Lengths  `json:"lengths,omitempty"`

	// Findings are what the audit found; those that make the rate no result
	// are in Error, too.
	Findings []audit.Finding `json:"findings,omitempty"`
	// Error is why there is no result; Console are the last lines of the
	// process that it is about.
	Error   string   `json:"error,omitempty"`
	Console []string `json:"console,omitempty"`
}

// Judge sets all that follows from a trial's tape.
func (t *Trial) Judge(recorded *tape.Tape) {
	o := audit.Judge(recorded)
	t.Trial = recorded.Trial
	t.RxPps, t.RxDoubt, t.RxError, t.ShownPps = o.RxPps, o.RxDoubt, o.RxError, o.ShownPps
	t.WarmUp, t.Window = recorded.Times()
	t.Ledger, t.Residual, t.Lengths = o.Ledger, o.Residual, o.Lengths
	t.BytesPerPacket = 0
	if o.Lengths != nil {
		t.BytesPerPacket = o.Lengths.Counted
	}
	t.Findings, t.Error, t.Console = o.Findings, o.Error, recorded.Console
}

// Warnings are the findings that stand beside a rate, each once.
func (t Trial) Warnings() []string {
	var out []string
	for _, f := range t.Findings {
		if !f.Void {
			out = appendOnce(out, f.Text)
		}
	}
	return out
}

// Unsteady says that a trial gave no rate for the one reason that it was not
// one rate: an outcome, and no failure.
func (t Trial) Unsteady() bool {
	unsteady := false
	for _, f := range t.Findings {
		if f.Void && f.Kind != audit.Unsteady {
			return false
		}
		unsteady = unsteady || f.Kind == audit.Unsteady
	}
	return unsteady
}

// Settings are how the arms of a trial were set up.
type Settings struct {
	Accel     string `json:"accel"`
	CPUModel  string `json:"cpu_model"`
	VCPUs     int    `json:"vcpus"`
	MemoryMiB int    `json:"memory_mib"`
	GuestCPU  int    `json:"guest_cpu"`    // that its virtual CPU is bound to
	Queue     int    `json:"virtio_queue"` // descriptors
	// Features are what the guest's driver negotiated, by their names in the
	// virtio specification.
	Features []string `json:"features"`
	Burst    int      `json:"burst"` // the forwarder's; 0: testpmd's own, 32
	Wire     string   `json:"wire"`
	Guest    string   `json:"guest"` // what the guest says it is
	Server   string   `json:"server"`
	Client   string   `json:"client"`
}
