package run

import (
	"context"
	"io"
	"strconv"
	"strings"
	"time"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/results"
)

// Machine reads what the run's record says of the machine. What can't be read
// stays empty.
func Machine(ctx context.Context, a agent.Agent) (results.Machine, error) {
	paths := []string{
		"/proc/cpuinfo", "/proc/sys/kernel/osrelease", "/proc/cmdline", "/etc/os-release", "/proc/meminfo", "/proc/loadavg",
		"/sys/devices/system/cpu/smt/control", "/sys/devices/system/node/online", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
	}
	for _, flaw := range flaws {
		paths = append(paths, "/sys/devices/system/cpu/vulnerabilities/"+flaw)
	}
	r, err := a.Read(ctx, paths...)
	if err != nil {
		return results.Machine{}, err
	}
	text := func(i int) string { return strings.TrimSpace(string(r[i].Data)) }
	mitigations := map[string]string{}
	for i, flaw := range flaws {
		if answer := text(len(paths) - len(flaws) + i); answer != "" {
			mitigations[flaw] = answer
		}
	}
	kb, _ := strconv.Atoi(strings.TrimSuffix(field(text(4), "MemTotal:"), " kB"))
	return results.Machine{
		CPU:      strings.TrimPrefix(field(text(0), "model name"), ": "),
		CPUs:     strings.Count(text(0), "processor\t"),
		Kernel:   text(1),
		Cmdline:  text(2),
		OS:       strings.Trim(field(text(3), "PRETTY_NAME="), `"`),
		MemoryKB: kb,
		Load:     text(5),
		QEMU:     firstLine(ctx, a, "qemu-system-x86_64", "--version"),
		DPDK:     strings.Trim(strings.TrimPrefix(firstLine(ctx, a, "dpdk-testpmd", "--version"), "EAL: RTE Version: "), "'"),

		SMT: text(6), NUMA: text(7), Governor: text(8), Mitigations: mitigations,
		Hypervisor: strings.Contains(field(text(0), "flags"), " hypervisor"),
		Hugepages:  hugepages(text(4)),
	}, nil
}

// flaws are the processors' that the kernel may have an answer to (the kernel's
// Documentation/admin-guide/hw-vuln).
var flaws = []string{
	"gather_data_sampling", "ghostwrite", "indirect_target_selection", "itlb_multihit", "l1tf", "mds", "meltdown",
	"mmio_stale_data", "reg_file_data_sampling", "retbleed", "spec_rstack_overflow", "spec_store_bypass", "spectre_v1",
	"spectre_v2", "srbds", "tsa", "tsx_async_abort", "vmscape",
}

// hugepages says how many of which size are reserved.
func hugepages(meminfo string) string {
	n, size := field(meminfo, "HugePages_Total:"), field(meminfo, "Hugepagesize:")
	if n == "" || size == "" {
		return ""
	}
	return n + " x " + size
}

// field is what follows a word at the start of a line.
func field(text, word string) string {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, word); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// firstLine is the first line that a command prints, empty where it fails.
func firstLine(ctx context.Context, a agent.Agent, argv ...string) string {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	proc, err := a.Start(ctx, agent.Spec{Name: argv[0], Argv: argv})
	if err != nil {
		return ""
	}
	con := console.New(argv[0], proc, io.Discard)
	if _, err := proc.Wait(ctx); err != nil {
		_ = agent.End(context.WithoutCancel(ctx), proc)
		return ""
	}
	text, err := con.Wait(ctx, 0, "its version", func(b []byte) bool { return strings.Contains(string(b), "\n") })
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(line)
}
