// Package qemu starts virtual machines. A Config becomes a command line by a
// pure function, so that it can be shown, tested and pasted.
package qemu

import (
	"fmt"
	"strconv"
	"strings"
)

// Config is a virtual machine that boots a kernel directly.
type Config struct {
	Accel string // "kvm" or "tcg"
	CPU   string // QEMU's name of the CPU model, the same for all guests of a run
	VCPUs int
	// Icount counts instructions instead of time: each takes a nanosecond of
	// the guest's clocks and a tick of its time-stamp counter. Only under TCG.
	Icount    bool
	MemoryMiB int
	Kernel    string // a bzImage, a PVH or a multiboot ELF
	Initrd    string // none where empty
	Append    string // the kernel's command line

	// Net are the arguments of its network devices, backend and NIC.
	Net []string
}

// Argv is the command line. The guest's memory is shared whatever its devices
// are: vhost-user needs it, and arms that differ in nothing are worth more
// than the little it costs.
func (c Config) Argv() []string {
	argv := []string{
		"qemu-system-x86_64",
		"-name", "sweep-guest,debug-threads=on",
		// Only what is asked for: no default NIC, no user's configuration.
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-machine", "pc,memory-backend=ram",
		"-accel", c.accel(),
		"-cpu", c.CPU,
		"-smp", strconv.Itoa(c.VCPUs),
		"-m", strconv.Itoa(c.MemoryMiB) + "M",
		"-object", fmt.Sprintf("memory-backend-memfd,id=ram,size=%dM,share=on", c.MemoryMiB),
		"-kernel", c.Kernel,
	}
	if c.Initrd != "" {
		argv = append(argv, "-initrd", c.Initrd)
	}
	if c.Icount {
		// Idle time is skipped over, not slept through (QEMU's docs/devel/
		// tcg-icount.rst).
		argv = append(argv, "-icount", "shift=0,sleep=off")
	}
	if c.Append != "" {
		argv = append(argv, "-append", c.Append)
	}
	argv = append(argv,
		// signal=off: a Ctrl-C that is typed reaches the guest, not QEMU.
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console")
	return append(argv, c.Net...)
}

func (c Config) accel() string {
	if c.Accel == "tcg" && !c.Icount {
		// A thread a virtual CPU, as with KVM. Counting needs one for all.
		return "tcg,thread=multi"
	}
	return c.Accel
}

// Quote writes a command line that a POSIX shell reads back as argv.
func Quote(argv []string) string {
	words := make([]string, len(argv))
	for i, a := range argv {
		words[i] = quoteWord(a)
	}
	return strings.Join(words, " ")
}

func quoteWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./,:=@%+", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
