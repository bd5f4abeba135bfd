// Package results keeps what a run measured: a folder that holds everything
// that the table is made of, so that it can be made again elsewhere. It alone
// writes data; package report only reads it.
//
//	run.json           the plan, the machine, versions, what could not run
//	trials.jsonl       a line a trial, appended and synced as it ends
//	GUEST-ATTACHMENT.csv  the published format: packetsize<TAB>rx, in Mpps
//	commands.sh        the exact command lines
//	console/           what every process printed, byte by byte
package results

import (
	"time"

	"sweep/internal/audit"
	"sweep/internal/plan"
	"sweep/internal/sample"
	"sweep/internal/testbed"
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
	Images    map[string]Image  `json:"images"` // of the guests, by their names
	Machine   Machine           `json:"machine"`
	Warnings  []string          `json:"warnings,omitempty"` // about every point
	// Imported is what the run was made from where this kit did not measure
	// it, such as "the published data of Figure 19". Such a run has no
	// machine, its trials no readings and no ledger.
	Imported string `json:"imported,omitempty"`
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

// Machine is what the run ran on.
type Machine struct {
	CPU      string `json:"cpu"`
	CPUs     int    `json:"cpus"`
	Kernel   string `json:"kernel"`
	Cmdline  string `json:"cmdline"`
	OS       string `json:"os"`
	QEMU     string `json:"qemu"`
	DPDK     string `json:"dpdk"`
	MemoryKB int    `json:"memory_kb"`
	Load     string `json:"load"` // /proc/loadavg before the run
}

// Trial is one trial as it ended: a line of trials.jsonl.
type Trial struct {
	plan.Trial
	Started  time.Time     `json:"started"`
	Took     time.Duration `json:"took_ns"`
	Settings Settings      `json:"settings"`

	// Readings are the client's counters by `show port stats`, Telemetry the
	// same port's by DPDK's telemetry around them.
	Readings  []sample.Reading `json:"readings"`
	Telemetry []sample.Reading `json:"telemetry"`

	Ledger *audit.Ledger `json:"ledger,omitempty"`

	// RxPps is the result: packets a second that arrived, from the first and
	// the last of Readings. ShownPps and TelemetryPps are what the other
	// observers saw. RxError is the standard error over the readings of this
	// one boot.
	RxPps          float64 `json:"rx_pps,omitempty"`
	RxError        float64 `json:"rx_error,omitempty"`
	ShownPps       float64 `json:"shown_pps,omitempty"`
	TelemetryPps   float64 `json:"telemetry_pps,omitempty"`
	BytesPerPacket float64 `json:"bytes_per_packet,omitempty"`

	// Findings are what the audit found; those that make the rate no result
	// are in Error, too.
	Findings []audit.Finding `json:"findings,omitempty"`
	// Error is why there is no result; Console are the last lines of the
	// process that it is about.
	Error   string   `json:"error,omitempty"`
	Console []string `json:"console,omitempty"`
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
