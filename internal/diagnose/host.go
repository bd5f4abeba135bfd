package diagnose

import "strings"

// hostRules are what shells, modprobe, ip and the kernel say: programs,
// modules, limits. They come last, for a rule of a program knows more.
func hostRules() []rule {
	return []rule{
		{
			kind: "program-missing", rank: cause,
			match: `(?:^|[\s:])(?P<prog>[\w./+-]+): (?:command not found|not found$)|exec: "(?P<prog2>[^"]+)": executable file not found in \$PATH|sudo: (?P<prog3>\S+): command not found`,
			not:   `\.so[.\d]*: |Property|Memory backend`,
			more: func(_ *console, _ int, v values) bool {
				name := v["prog"][strings.LastIndexByte(v["prog"], '/')+1:]
				v["mend"] = "install its package, or put its folder into PATH (command -v " + name + ")"
				// Debian's packages.
				for _, p := range []struct{ program, pkg string }{
					{"testpmd", "dpdk-dev"}, {"dpdk-devbind", "dpdk"}, {"qemu-system", "qemu-system-x86"},
					{"lspci", "pciutils"}, {"ethtool", "ethtool"}, {"numactl", "numactl"},
				} {
					if strings.Contains(name, p.program) {
						v["mend"] = "sudo apt install " + p.pkg + ", or put its folder into PATH"
					}
				}
				return name != ""
			},
			what: "there is no program {prog} here",
			why:  "its package isn't installed, or its folder isn't in PATH",
			mend: "{mend}",
		},
		{
			kind: "program-missing", rank: cause,
			match: `'(?P<prog>lspci)' not found - please install '(?P<pkg>pciutils)'`,
			what:  "dpdk-devbind finds no {prog}",
			why:   "it asks that program for the devices",
			mend:  "sudo apt install {pkg}",
		},
		{
			kind: "module-missing", rank: cause,
			match: `modprobe: (?:FATAL|ERROR): Module (?P<mod>\S+) not found(?: in directory (?P<dir>\S+))?|modprobe: (?:can't load module|module) '?(?P<mod2>[\w-]+)'?(?: \([^)]*\))?: ?(?:unknown symbol|not found)`,
			what:  "there is no kernel module {mod}{dir|}",
			why:   "it isn't in the kernel's package, or the modules of another kernel than the running one are installed",
			mend:  "compare uname -r with ls /lib/modules, then sudo apt install linux-modules-extra-$(uname -r) (Ubuntu), or reboot into the installed kernel",
			more: func(_ *console, _ int, v values) bool {
				if v["dir"] != "" {
					v["dir"] = " in " + v["dir"]
				}
				return true
			},
		},
		{
			kind: "module-refused", rank: cause,
			match: `(?:modprobe|insmod): (?:ERROR: )?(?:could not insert (?:module )?|can't insert )'?(?P<mod>[^':\s]+)'?: (?P<err>.+)`,
			what:  "the kernel doesn't take the module {mod} ({err})",
			why:   "{why}",
			mend:  "{mend}",
			more: func(_ *console, _ int, v values) bool {
				is := func(pieces ...string) bool {
					for _, p := range pieces {
						if strings.Contains(strings.ToLower(v["err"]), p) {
							return true
						}
					}
					return false
				}
				switch {
				case is("required key", "key was rejected"):
					v["why"] = "Secure Boot allows signed modules only"
					v["mend"] = "sign it (mokutil --import), turn Secure Boot off, or use vfio-pci, which comes signed"
				case is("operation not permitted"):
					v["why"] = "that is for root, and a container or a locked-down kernel forbids it to root too"
					v["mend"] = "sudo modprobe " + v["mod"] + " on the host itself; cat /sys/kernel/security/lockdown tells whether it is locked down"
				case is("exec format", "unknown symbol", "invalid module format"):
					v["why"] = "it was built for another kernel, or a module that it needs isn't loaded yet"
					v["mend"] = "build it for the kernel that uname -r names, and load first what modinfo -F depends " + v["mod"] + " names"
				default:
					v["why"] = "the hardware that it is for isn't there, or it is loaded already"
					v["mend"] = "dmesg | tail tells more"
				}
				return true
			},
		},
		{
			kind: "kernel-lockdown", rank: cause,
			match: `Lockdown: (?P<who>[^:]+): (?P<what>.+?) is restricted; see man kernel_lockdown`,
			what:  "the kernel is locked down and forbids {who} this ({what})",
			why:   "Secure Boot is on, and with it raw hardware access and VFIO without an IOMMU are off",
			mend:  "use vfio-pci with the IOMMU on (intel_iommu=on), or turn Secure Boot off (mokutil --disable-validation)",
		},
		{
			kind: "link-refused", rank: cause,
			match: `RTNETLINK answers: (?P<err>File exists|Operation not permitted|Operation not supported|Device or resource busy|No such device|Invalid argument)|Error: (?P<err2>Unknown device type)`,
			what:  "ip could not make or change an interface ({err})",
			why:   "one of that name exists, or this user isn't root, or the kernel lacks the module (veth, macvtap)",
			mend:  "ip -br link shows what there is and ip link del NAME removes it; else try as root, after sudo modprobe macvtap",
		},
		{
			kind: "no-space", rank: cause,
			match: `(?:(?P<path>/[^\s:']+)'?:\s*)?(?P<err>No space left on device|Disk quota exceeded)`,
			what:  "nothing more can be written{to|} ({err})",
			why:   "the file system is full; on a hugetlbfs its pages are",
			mend:  "df -h {path|. /tmp /var/run} shows it; remove old results, or rm -f /dev/hugepages/*map_* while no DPDK runs",
			more: func(_ *console, _ int, v values) bool {
				if v["path"] != "" {
					v["to"] = " to " + v["path"]
				}
				return true
			},
		},
		{
			kind: "sysfs-write", rank: cause,
			match: `(?:^|[\s:])(?P<path>/(?:sys|proc|dev)/[^:\s]+): (?P<err>Permission denied|Read-only file system)`,
			what:  "this user may not write {path} ({err})",
			why:   "it is root's, and a redirection after sudo echo is still done by the user's own shell; a container has it read-only",
			mend:  "echo VALUE | sudo tee {path}, on the host itself",
		},
		{
			kind: "sysfs-write", rank: cause,
			match: `write error: (?P<err>No such device|Invalid argument|Cannot allocate memory|Device or resource busy|Operation not permitted)`,
			what:  "the kernel refused what was written to it ({err})",
			why:   "for a driver's bind file that means no IOMMU, or a device that another driver has; for nr_hugepages that memory is too fragmented",
			mend:  "dmesg | tail tells more; bind with dpdk-devbind.py -b vfio-pci DEVICE, and reserve large pages at boot with hugepages= on the kernel's command line",
		},
		{
			kind: "not-root", rank: cause,
			match: `must be (?:run as )?(?:root|superuser)|are you root\?|[Yy]ou need to be root|a (?:terminal|password) is required`,
			what:  "this needs root",
			why:   "binding NICs, mounting and reserving hugepages are for root, and sudo can ask for no password here",
			mend:  "run it with sudo from a terminal, or do without: --no-huge -m 256 --no-pci needs no root",
		},
		{
			kind: "too-many-threads", rank: cause,
			match: `(?:pthread_create|[Cc]reate thread|fork|clone)[^:]*: (?P<err>Resource temporarily unavailable)`,
			what:  "the process may start no more threads ({err})",
			why:   "the limit on processes of the user or the container is reached",
			mend:  "ulimit -u unlimited, or the container's --pids-limit -1",
		},
		{
			kind: "too-many-files", rank: cause,
			match: `Too many open files`,
			what:  "the process has too many open files",
			why:   "each hugepage is one with DPDK, and the limit is low",
			mend:  "ulimit -n 65536 before it, or add --single-file-segments",
		},
		{
			kind: "bus-error", rank: cause,
			match: `(?:^|\s)Bus error\b`,
			what:  "the process was killed by a bus error",
			why:   "memory that it had mapped could not be had: hugepages ran out, or the tmpfs of a container's /dev/shm is full",
			mend:  "echo 1024 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or run the container with --shm-size=1g",
		},
		{
			kind: "killed", rank: effect,
			match: `^(?:\S+: line \d+:\s+\d+ )?Killed\b`,
			what:  "the process was killed",
			why:   "the kernel does so when memory is short, and kill -9 or a deadline does",
			mend:  "dmesg | grep -i 'killed process' tells which; ask for less with -m, or free memory",
		},
		{
			kind: "aborted", rank: exit,
			match: `(?:^|\s)Aborted(?: \(core dumped\)|\s|$)`,
			what:  "the process aborted itself",
			why:   "it met what its authors excluded",
			mend:  "read the line before, and dmesg | tail",
		},
	}
}
