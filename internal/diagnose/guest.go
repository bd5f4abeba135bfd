package diagnose

import "strings"

// guestRules are what ends a guest: the panics of Linux, Unikraft's crashes, a
// machine with nothing to boot.
func guestRules() []rule {
	return []rule{
		{
			kind: "guest-no-init", rank: cause,
			match: `Kernel panic - not syncing: (?P<why>No working init found|Requested init \S+ failed)`,
			what:  "the guest's Linux found no program to start ({why})",
			why:   "its initramfs lacks an executable /init, or the libraries or the interpreter that it needs",
			mend:  "look into the image with cpio -t < initramfs.cpio, and build it again (sweep image)",
		},
		{
			kind: "guest-no-root", rank: cause,
			match: `Kernel panic - not syncing: VFS: Unable to mount root fs on (?P<dev>\S+)`,
			what:  "the guest's Linux found no root file system (on {dev})",
			why:   "no initramfs was given, or the kernel can't unpack its compression",
			mend:  "pass -initrd initramfs.cpio, uncompressed or gzip, or root= with the disk's driver built in",
		},
		{
			kind: "guest-init-died", rank: cause,
			match: `Kernel panic - not syncing: Attempted to kill init! exitcode=(?P<code>0x[0-9a-f]+)`,
			what:  "the guest's first program ended (exit code {code})",
			why:   "a script that is PID 1 must not end: a command in it failed, or a library is missing",
			mend:  "read the lines before, and end the script with poweroff -f",
		},
		{
			kind: "guest-out-of-memory", rank: cause,
			match: `Kernel panic - not syncing: (?:Out of memory|System is deadlocked on memory)|Out of memory(?: and no killable processes|: Kill(?:ed)? process (?P<pid>\d+) \(?(?P<name>[^),\s]+))|Memory cgroup out of memory: Kill(?:ed)? process (?P<pid2>\d+) \((?P<name2>[^)]+)\)`,
			what:  "the kernel ran out of memory{name|}",
			why:   "hugepages, the initramfs and the programs together need more than there is",
			mend:  "give the guest more with -m 512M, or fewer hugepages; on the host free -m shows who holds it",
			more: func(_ *console, _ int, v values) bool {
				if v["name"] != "" {
					v["name"] = " and killed " + v["name"]
				}
				return true
			},
		},
		{
			kind: "guest-panic", rank: cause,
			match: `Kernel panic - not syncing: (?P<why>.+)`,
			what:  "the guest's Linux panicked ({why})",
			why:   "its kernel met a state that it can't go on from",
			mend:  "read the lines before, and try another CPU model (-cpu max) or -accel tcg",
		},
		{
			kind: "kernel-oops", rank: cause,
			match: `(?P<why>BUG: (?:unable to handle|kernel NULL pointer)[^\n]*|Oops: [^\n]*|general protection fault[^\n]*|Unable to handle kernel [^\n]*|kernel BUG at \S+)`,
			not:   `traps: `,
			what:  "a Linux kernel crashed ({why})",
			why:   "that is a bug of it or of a module",
			mend:  "try another kernel, and the device with vectors=0 where QEMU's emulation is at fault",
		},
		{
			kind: "crash", rank: cause,
			match: `(?P<prog>[\w.-]+)\[\d+\]:? (?:segfault at (?P<at>[0-9a-f]+).*?(?: in (?P<lib>[^\[\s]+).*)?$|general protection)`,
			what:  "{prog} crashed{lib|} (segmentation fault at {at|an unknown address})",
			why:   "that is a bug of it or of a driver; a testpmd that forwards into a memif without a peer does so",
			mend:  "start the forwarder last and stop it first, and try another DPDK version",
			more: func(_ *console, _ int, v values) bool {
				if v["lib"] != "" {
					v["lib"] = " in " + v["lib"]
				}
				return true
			},
		},
		{
			kind: "cpu-flag", rank: cause,
			match: `(?:(?P<prog>[\w.-]+)\[\d+\] )?trap invalid opcode|Illegal instruction`,
			what:  "{prog|the program} met an instruction that this CPU doesn't have",
			why:   "it was built for a newer CPU, or the virtual machine hides it",
			mend:  "in a VM choose a larger CPU model (-cpu host with KVM, -cpu max without), else build DPDK with meson setup -Dplatform=generic build",
		},
		{
			kind: "cpu-stalled", rank: note, once: true,
			match: `(?P<why>soft lockup - CPU#\d+ stuck for \d+s|rcu\w*[:\s].*(?:self-detected stall|detected stalls?)|hung_task|blocked for more than \d+ seconds)`,
			what:  "the kernel had no CPU for many seconds ({why})",
			why:   "more busy processes run than there are CPUs, or an emulated machine waits for its host",
			mend:  "give pollers CPUs of their own (taskset -c, --lcores), and take no rate from that time",
		},
		{
			kind: "transmit-stalled", rank: cause,
			match: `NETDEV WATCHDOG: (?P<if>\S+) \((?P<driver>[^)]+)\): transmit queue (?P<q>\d+) timed out`,
			what:  "the NIC {if} ({driver}) sent nothing for seconds",
			why:   "the other side of its queue, the vhost port or the NIC, has stopped taking packets",
			mend:  "see that testpmd is forwarding (start) and that nothing else holds its CPU",
		},
		{
			kind: "triple-fault", rank: cause,
			match: `^Triple fault|shutdown: triple fault`,
			what:  "the guest's CPU gave up (triple fault)",
			why:   "its kernel faulted before it could handle faults: it was built for another CPU or platform, or has too little memory",
			mend:  "try -cpu max, more memory (-m), and an image built for QEMU",
		},
		{
			kind: "nothing-to-boot", rank: cause,
			match: `No bootable device|Boot failed: (?P<why>.+)|Nothing to boot`,
			more:  func(c *console, i int, _ values) bool { return !c.has(i, "Booting from ROM") },
			what:  "the machine found nothing to boot",
			why:   "it was given neither -kernel nor a bootable disk",
			mend:  "pass -kernel with a bzImage or a Unikraft image",
		},
		{
			kind: "unikraft-assertion", rank: cause,
			match: `(?:CRIT|ERR):.*Assertion failure: (?P<what>.+)`,
			what:  "Unikraft stopped at an assertion ({what})",
			why:   "the machine isn't what it was configured for, or a driver was used wrongly",
			mend:  "with a paging assertion under TCG use -M pc-i440fx-7.0 or build without CONFIG_PAGING; else give it the memory and devices it expects",
		},
		{
			kind: "unikraft-crash", rank: cause,
			match: `CRIT:.*?(?P<what>Unhandled Trap \d+ \([^)]*\)|Cannot handle \w+ page fault at 0x[0-9a-f]+[^\n]*|Guard page \S+ of stack VMA[^\n]*|EL1 \w+ \w+ caught)`,
			what:  "Unikraft crashed ({what})",
			why:   "the application or a driver touched memory or used an instruction that isn't there",
			mend:  "find the RIP that follows with addr2line -e IMAGE.dbg RIP, and try a larger CPU model (-cpu max) and more memory",
		},
		{
			kind: "unikraft-crash", rank: effect,
			match: `CRIT: (?:\[\w+\] )?(?:<[^>]*> )*(?P<what>Unikraft [Cc]rash[^\n]*|Crashing|Failed to [^\n]+|Could not [^\n]+|[^\n]* failed[^\n]*)|(?P<what2>machine fatally exited)`,
			what:  "Unikraft stopped ({what})",
			why:   "what it printed before says where",
			mend:  "build it with CONFIG_LIBUKDEBUG_PRINTK_INFO=y, and give it more memory (-m)",
		},
		{
			kind: "unikraft-init", rank: cause,
			match: `Init function at \S+ returned error (?P<code>-\d+)`,
			what:  "a part of Unikraft could not start (error {code})",
			why:   "the image has a part that this machine can't serve; the line before names it",
			mend:  "leave that part out of the image's configuration (libukrandom wants RDRAND: CONFIG_LIBUKRANDOM=n), or choose a larger CPU model",
		},
		{
			kind: "unikraft-virtio", rank: cause,
			match: `ERR:.*?(?P<what>Failed to (?:initialize rx and tx rings|allocate the virtqueue|find|configure)[^\n]*|Allocation of v(?:irtqueue|ring) failed|Host system does not offer MAC feature|(?:Failed to )?[^\n]*legacy[^\n]*)`,
			what:  "Unikraft's virtio driver gave up its NIC ({what})",
			why:   "the device isn't what that driver takes, or memory is short",
			mend:  "give it a transitional device (-device virtio-net-pci without disable-legacy=on, its rings no larger than 1024) and more memory (-m 64M)",
		},
		{
			// The guests of the kit, and a user's own (docs/guests.md).
			kind: "guest-error", rank: cause,
			match: `sweep-guest: error (?P<err>[^\n]+)`,
			what:  "the guest can't go on ({err})",
			why:   "{why}",
			mend:  "{mend}",
			more: func(_ *console, _ int, v values) bool {
				switch {
				case strings.Contains(v["err"], "memory"):
					v["why"], v["mend"] = "its machine is too small for what it was told to hold", "give the guests more with --memory 256 (QEMU's -m 256M)"
				case strings.Contains(v["err"], "no virtio-net device"), strings.Contains(v["err"], "no network device"):
					v["why"], v["mend"] = "it found no NIC that it can drive", "add -device virtio-net-pci,netdev=n0 to QEMU's command line"
				case strings.Contains(v["err"], "sweep."), strings.Contains(v["err"], "parameter"):
					v["why"], v["mend"] = "a parameter on its kernel's command line is wrong", "correct it in -append"
				default:
					v["why"], v["mend"] = "it says so itself", "if it is a guest of the kit, build its image anew with ./prepare.sh"
				}
				return true
			},
		},
		{
			kind: "guest-testpmd-ended", rank: effect,
			match: `sweep-guest: testpmd ended code=(?P<code>[1-9]\d*)`,
			what:  "the guest's testpmd ended (code {code})",
			why:   "it could not start, or crashed",
			mend:  "read what it printed before that line",
		},
		{
			kind: "guest-shell", rank: note, once: true,
			match: `can't access tty; job control turned off|Entering emergency mode|\(initramfs\)`,
			what:  "the guest ended in a shell of its initramfs",
			why:   "its start script failed or has nothing more to do",
			mend:  "read the lines before, where the command that failed says why",
		},
	}
}
