package diagnose

import (
	"fmt"
	"strconv"
	"strings"
)

// qemuRules are what QEMU prints when it doesn't start a machine or loses its
// network, in the wordings of 2.x to 10.x, and what KVM adds.
func qemuRules() []rule {
	return []rule{
		// Its command line, where a log shows it: the one failure of
		// vhost-user that prints nothing.
		{
			kind: "guest-memory-not-shared", rank: cause,
			match: `(?:^|[\s/"'])(?:qemu-system-\w+|qemu-kvm|kvm)["']?\s+(?:.*-\w|\\$)`,
			not:   `(?:qemu-system-\w+|qemu-kvm|kvm): `,
			more: func(c *console, i int, v values) bool {
				f := SharedMemory(commandLine(c, i))
				if f == nil {
					return false
				}
				v["what"], v["why"], v["mend"] = f.What, f.Why, f.Mend
				return true
			},
			what: "{what}", why: "{why}", mend: "{mend}",
		},
		{
			kind: "guest-memory-not-shared", rank: cause,
			match: `Failed initializing vhost-user memory map|[Gg]uest RAM must be shared|(?:requires|needs) shared (?:guest )?memory`,
			what:  "QEMU has no guest memory that it can share with the vhost-user port",
			why:   "vhost-user works on the guest's memory, and this guest's is private, so QEMU falls back and no packet gets through",
			mend:  "start QEMU with -object memory-backend-memfd,id=ram,size=SIZE,share=on -machine memory-backend=ram, of the size of -m",
		},

		// Sockets.
		{
			kind: "vhost-socket-stale", rank: cause,
			match: connect + `(?P<err>Connection refused)`,
			more: func(c *console, i int, v values) bool {
				connectPath(c, i, v)
				// An address of the network is left to another rule.
				return strings.HasPrefix(v["path"], "/") || !strings.Contains(v["path"], ":")
			},
			what: "nobody listens on {path}",
			why:  "the file was left by a testpmd that was killed, and QEMU connects once, when it starts",
			mend: "start the vhost testpmd first and wait until ss -xl | grep {path} shows it; rm {path} takes the stale file away",
		},
		{
			kind: "vhost-socket-missing", rank: cause,
			match: connect + `(?P<err>No such file or directory)`,
			more:  connectPath,
			what:  "there is no socket {path}",
			why:   "the vhost testpmd isn't running yet, or has another path, and QEMU connects once, when it starts",
			mend:  "start the testpmd with net_vhost0,iface={path} first and wait until ss -xl | grep {path} shows it",
		},
		{
			kind: "vhost-socket-permission", rank: cause,
			match: connect + `(?P<err>Permission denied|Operation not permitted)`,
			more:  connectPath,
			what:  "QEMU's user can't connect to {path} ({err})",
			why:   "connecting needs the right to write the socket, which belongs to testpmd's user, and to enter its folder; SELinux and AppArmor deny it with the same words",
			mend:  "see ls -l {path}; run both as one user, or chmod o+rw {path} after testpmd has made it",
		},
		{
			kind: "vhost-socket-permission", rank: cause,
			match: `Failed to (?:bind|unlink) socket(?: to)? '?(?P<path>[^\s':]+)'?: (?P<err>Permission denied|Operation not permitted|Read-only file system)`,
			what:  "QEMU's user can't make the socket {path} ({err})",
			why:   "its folder can't be written by that user; SELinux and AppArmor deny it with the same words",
			mend:  "see ls -ld $(dirname {path}); chown or chmod the folder, or choose a path in one of QEMU's user",
		},
		{
			kind: "socket-taken", rank: cause,
			match: `Failed to (?:bind|find an available port|listen)[^:]*?(?: to)? ?'?(?P<path>[^\s':]*)'?: (?P<err>Address already in use|No such file or directory)`,
			what:  "QEMU can't listen on {path|its socket} ({err})",
			why:   "another process does, or the folder isn't there",
			mend:  "ss -xlp | grep {path|SOCKET} names who listens; end it, or choose another path",
		},
		{
			kind: "socket-path-long", rank: cause,
			match: `UNIX socket path '(?P<path>[^']+)' is too long`,
			what:  "{path} is too long for a socket",
			why:   "a Unix socket's path holds 107 bytes",
			mend:  "choose a shorter one, such as /tmp/v.sock, or a relative one",
		},
		{
			kind: "socket-connect", rank: cause,
			match: connect + `(?P<err>.+)`,
			more:  connectPath,
			what:  "QEMU can't connect to {path} ({err})",
			why:   "the other side isn't ready",
			mend:  "start it first, then QEMU",
		},
		{
			kind: "qemu-waits", rank: note, once: true,
			match: `QEMU waiting for connection on: (?P<path>\S+)`,
			more:  func(c *console, i int, _ values) bool { return nothingAfter(c, i) },
			what:  "QEMU waits for somebody to connect to {path} and starts no machine before",
			why:   "the socket has server=on and not wait=off",
			mend:  "start testpmd with net_vhost0,iface=PATH,client=1, or leave server=on out where testpmd is the server",
		},
		{
			kind: "vhost-backend-gone", rank: cause,
			match: `Failed to (?:read msg header|write msg|set msg fds|read from (?:slave|backend|client))|Unexpected end-of-file before all data were read|vhost_backend_init failed: Protocol error`,
			what:  "the vhost-user port closed its connection to QEMU",
			why:   "the testpmd behind it ended or crashed, or refused what the guest's driver set up",
			mend:  "look at that testpmd's last lines, start it again, then the guest",
		},
		{
			kind: "vhost-queues", rank: cause,
			match: `you are asking more queues than supported: (?P<have>\d+)`,
			what:  "QEMU asks for more queues than the vhost-user port has ({have})",
			why:   "queues= of -netdev vhost-user is larger than that of net_vhost",
			mend:  "write queues={have} on both",
		},
		{
			kind: "vhost-not-started", rank: effect,
			match: `(?P<err>unable to start vhost net: \d+)|(?P<err2>vhost_set_\w+ failed: [^\n]*)|(?P<err3>vhost(?: VQ \d+ ring restore|_\w+| initialization| backend initialization) failed[^\n]*)|(?P<err4>failed to init vhost_net for queue \d+)`,
			what:  "QEMU couldn't start vhost ({err})",
			why:   "the port's other side refused or ended; QEMU goes on without it and no packet gets through",
			mend:  "look at the vhost testpmd's last lines, and that the guest's memory is shared (share=on)",
		},

		// vhost-net, tap and macvtap.
		{
			kind: "vhost-net-absent", rank: cause,
			match: `open vhost char device failed: (?P<err>No such file or directory|No such device)`,
			what:  "there is no /dev/vhost-net",
			why:   "the module vhost_net isn't loaded, or the container wasn't given the device; some QEMU versions then stop at an assertion",
			mend:  "sudo modprobe vhost_net, and in a container pass --device /dev/vhost-net",
		},
		{
			kind: "vhost-net-permission", rank: cause,
			match: `open vhost char device failed: (?P<err>.+)|(?P<path>/dev/vhost-net): (?P<err2>Permission denied|Device or resource busy)`,
			what:  "QEMU's user can't open /dev/vhost-net ({err})",
			why:   "the device is root's, or of the group kvm",
			mend:  "sudo usermod -aG kvm $USER and log in again, or sudo chmod o+rw /dev/vhost-net, or hand it over open with vhostfd=",
		},
		{
			kind: "vhost-net-refused", rank: cause,
			match: `vhost-net requested but could not be initialized`,
			what:  "QEMU couldn't set up vhost-net",
			why:   "/dev/vhost-net is missing or of another kernel, or locked memory is short",
			mend:  "sudo modprobe vhost_net, then start QEMU again; dmesg | tail tells more",
		},
		{
			kind: "tap-permission", rank: cause,
			match: `could not (?:open|configure) /dev/net/tun(?: \((?P<if>[^)]*)\))?: (?P<err>Operation not permitted|Permission denied|No such file or directory|No such device)`,
			what:  "QEMU can't make a tap interface ({err})",
			why:   "that is for root (CAP_NET_ADMIN), or the module tun isn't loaded",
			mend:  "sudo modprobe tun, and make one for this user, ip tuntap add tap0 mode tap user $USER, for -netdev tap,ifname=tap0,script=no,downscript=no",
		},
		{
			kind: "tap-busy", rank: cause,
			match: `could not configure /dev/net/tun(?: \((?P<if>[^)]*)\))?: (?P<err>Device or resource busy|Invalid argument)`,
			what:  "the tap interface {if|asked for} can't be taken ({err})",
			why:   "another virtual machine has it, or it was made with another number of queues (multi_queue)",
			mend:  "ip -d link show {if|tap0} tells; end the other one, or choose another ifname=",
		},
		{
			kind: "tap-busy", rank: cause,
			match: `(?P<path>/dev/(?:macv)?tap\d+): (?P<err>Device or resource busy)`,
			what:  "{path} is in use",
			why:   "another process has the macvtap open, and one holds it at a time",
			mend:  "fuser -v {path} names it: end it, or make another macvtap",
		},
		{
			kind: "tap-permission", rank: cause,
			match: `(?P<path>/dev/(?:macv)?tap\d+)'?: (?P<err>Permission denied|No such file or directory|Operation not permitted|No such device(?: or address)?)`,
			what:  "{path} can't be opened ({err})",
			why:   "a macvtap's device is root's, and its number is the interface's index, which changes with each one made",
			mend:  "cat /sys/class/net/macvtap0/ifindex gives the number; sudo chown $USER {path}, or open it as root and pass fd=",
		},
		{
			kind: "tap-descriptor", rank: cause,
			match: `TUN\w+ ioctl\(\) failed: (?P<err>Inappropriate ioctl for device)|Can't use file descriptor (?P<fd>\d+): (?P<err2>.+)`,
			what:  "descriptor {fd|fd=} is no tap for QEMU ({err})",
			why:   "it isn't open in QEMU, or is another file: fd= takes an opened /dev/tapN, N being the macvtap's ifindex",
			mend:  "open it read-write where QEMU is started: qemu-system-x86_64 ... -netdev tap,id=n0,vhost=on,fd=30 30<>/dev/tap$(cat /sys/class/net/macvtap0/ifindex)",
		},
		{
			kind: "tap-script", rank: cause,
			match: `network script (?P<path>\S+) failed with status (?P<code>\d+)|could not launch network script`,
			what:  "QEMU's network script {path|} failed",
			why:   "QEMU runs /etc/qemu-ifup unless told not to, which needs root",
			mend:  "add script=no,downscript=no to -netdev tap",
		},

		// Options.
		{
			kind: "qemu-option-removed", rank: cause,
			match: `(?:qemu\S*|kvm): (?P<opt>-[\w-]+): invalid option`,
			more: func(_ *console, _ int, v values) bool {
				for _, o := range removed() {
					if o.name == v["opt"] {
						v["since"], v["instead"] = o.since(), o.instead
						return true
					}
				}
				return false
			},
			what: "this QEMU has no option {opt}",
			why:  "it was removed in QEMU {since}",
			mend: "use {instead}",
		},
		{
			kind: "qemu-option-unknown", rank: cause,
			match: `(?:qemu\S*|kvm): (?P<opt>-[\w-]+): (?:invalid option|requires an argument)`,
			what:  "this QEMU doesn't take {opt}",
			why:   "the option is misspelt, lacks its value, or belongs to another version",
			mend:  "compare with qemu-system-x86_64 --help and --version",
		},
		{
			kind: "qemu-short-form", rank: note,
			match: `short-form boolean option '(?P<opt>[^']+)' deprecated`,
			what:  "QEMU still takes {opt} without a value",
			why:   "the short form goes away",
			mend:  "write {opt}=on",
		},
		{
			kind: "qemu-chardev-missing", rank: cause,
			match: `chardev "(?P<id>[^"]+)" not found`,
			what:  "QEMU knows no chardev {id}",
			why:   "-netdev vhost-user,chardev={id} needs a -chardev with that id",
			mend:  "add -chardev socket,id={id},path=/tmp/v.sock before it",
		},
		{
			kind: "qemu-netdev-missing", rank: cause,
			match: `Property '(?P<dev>[^'.]+)\.netdev' can't find value '(?P<id>[^']+)'`,
			what:  "QEMU knows no netdev {id}",
			why:   "-device ...,netdev={id} needs a -netdev with that id",
			mend:  "add -netdev vhost-user,id={id},chardev=c0",
		},
		{
			kind: "qemu-property-unknown", rank: cause,
			match: `Property '?(?P<dev>[\w-]+)\.(?P<prop>[\w-]+)'? not found`,
			what:  "the device {dev} has no property {prop}",
			why:   "it is misspelt, or this QEMU is older or newer than the command line",
			mend:  "qemu-system-x86_64 {help} lists them",
			more: func(_ *console, _ int, v values) bool {
				v["help"] = "-device " + v["dev"] + ",help"
				if strings.HasSuffix(v["dev"], "-accel") {
					v["help"] = "-accel help"
				}
				if name, ok := strings.CutSuffix(v["dev"], "-machine"); ok {
					v["help"] = "-machine " + name + ",help"
				}
				return true
			},
		},
		{
			kind: "qemu-device-unknown", rank: cause,
			match: `'(?P<dev>[^']+)' is not a valid device model name`,
			what:  "this QEMU has no device {dev}",
			why:   "it is misspelt, or in a module or package that isn't installed",
			mend:  "qemu-system-x86_64 -device help lists them",
		},
		{
			kind: "qemu-queue-size", rank: cause,
			match: `Invalid (?P<which>[rt]x)_queue_size \(= (?P<n>\d+)\), must be a power of 2 between (?P<min>\d+) and (?P<max>\d+)`,
			what:  "{which}_queue_size={n} is refused",
			why:   "it must be a power of 2 from {min} to {max}",
			mend:  "write {which}_queue_size={max}",
		},
		{
			kind: "qemu-duplicate-id", rank: cause,
			match: `Duplicate ID '(?P<id>[^']+)' for (?P<of>\w+)`,
			what:  "two {of}s have the id {id}",
			why:   "each needs one of its own",
			mend:  "rename one, and what refers to it",
		},
		{
			kind: "qemu-parameter", rank: cause,
			match: `(?P<err>Invalid parameter '[^']+'|Parameter '[^']+' (?:expects|is missing|is unexpected)[^\n]*|network backend '[^']+' is not (?:compiled into this binary|available)|Invalid 'type' argument[^\n]*)`,
			what:  "QEMU doesn't take a parameter ({err})",
			why:   "it is misspelt, or this QEMU was built without it",
			mend:  "compare with qemu-system-x86_64 -netdev help and man qemu-system",
		},
		{
			kind: "qemu-machine", rank: cause,
			match: `unsupported machine type|is not a supported machine|(?P<which>No machine specified)`,
			what:  "QEMU has no such machine",
			why:   "-machine (-M) is misspelt, or of another version",
			mend:  "qemu-system-x86_64 -M help lists them; -M pc and -M q35 are in each",
		},
		{
			kind: "qemu-vfio-absent", rank: cause,
			match: `vfio[^:]*(?P<dev>` + pci + `)[^:]*: (?:no such host device|error getting device|error no iommu_group|failed to open \S+)(?:: (?P<err>.+))?`,
			what:  "QEMU can't pass {dev} through ({err|no such device})",
			why:   "the device isn't there or isn't bound to vfio-pci",
			mend:  "find it with lspci -D, then dpdk-devbind.py -b vfio-pci {dev}",
		},

		// KVM.
		{
			kind: "kvm-permission", rank: cause,
			match: `Could not access KVM kernel module: (?P<err>Permission denied|Operation not permitted)`,
			what:  "this user can't open /dev/kvm ({err})",
			why:   "the user isn't in the group kvm, or the container wasn't given the device",
			mend:  "sudo usermod -aG kvm $USER and log in again, and in a container pass --device /dev/kvm",
		},
		{
			kind: "kvm-absent", rank: cause,
			match: `Could not access KVM kernel module: (?P<err>No such file or directory|No such device(?: or address)?)|/dev/kvm: (?P<err2>No such file or directory)`,
			what:  "there is no /dev/kvm ({err})",
			why:   "the module isn't loaded, virtualisation is off in the BIOS, or this is a virtual machine or container without it",
			mend:  "sudo modprobe kvm_intel (or kvm_amd), or run with -accel tcg to try the set-up only, whose rates mean nothing",
		},
		{
			kind: "kvm-busy", rank: cause,
			match: `KVM_CREATE_VM\)? failed:? ?(?:\d+ )?(?P<err>Device or resource busy)|Could not access KVM kernel module: (?P<err2>Device or resource busy)`,
			what:  "KVM can't make a virtual machine ({err})",
			why:   "another hypervisor (VirtualBox, VMware) has the CPU's virtualisation",
			mend:  "stop its machines (vboxmanage list runningvms) and sudo modprobe -r vboxnetflt vboxnetadp vboxdrv",
		},
		{
			kind: "kvm-off", rank: cause,
			match: `kvm: (?:disabled by bios|no hardware support|support for '[^']+' disabled by bios)|KVM not supported for this target|(?:kvm_\w+: )?VMX not enabled`,
			what:  "this CPU gives KVM nothing to work with",
			why:   "virtualisation (VT-x, SVM) is off in the BIOS, or the hypervisor around this machine doesn't pass it on",
			mend:  "turn it on there (nested virtualisation for a VM), or run with -accel tcg to try the set-up only",
		},
		{
			kind: "kvm-msr", rank: cause,
			match: `failed to set MSR (?P<msr>0x[0-9a-f]+) to (?P<to>0x[0-9a-f]+)`,
			what:  "KVM refused the CPU model that QEMU set up (MSR {msr})",
			why:   "-cpu host promises what this host's KVM, nested or paravirtual, doesn't do",
			mend:  "choose -cpu qemu64 (or max,pmu=off), or run with -accel tcg",
		},
		{
			kind: "kvm-internal-error", rank: cause,
			match: `KVM internal error\. Suberror: (?P<sub>\d+)|(?:error: )?kvm run failed (?P<err>.+)`,
			what:  "KVM stopped the guest ({sub|}{err|})",
			why:   "it met an instruction or a state that it can't run: a paravirtual or nested KVM that doesn't do all of x86, or a guest that jumped astray",
			mend:  "try the same guest with -accel tcg: if it runs there, this host's KVM is no good for it",
			more: func(_ *console, _ int, v values) bool {
				if v["sub"] != "" {
					v["sub"] = "internal error " + v["sub"]
				}
				return true
			},
		},
		{
			kind: "kvm-not-initialized", rank: effect,
			match: `(?i:failed to initialize kvm)(?:: (?P<err>.+))?|invalid accelerator (?P<acc>kvm)|No accelerator found|"?kvm"? accelerator not found`,
			what:  "QEMU has no KVM{err|}",
			why:   "/dev/kvm can't be used, or this QEMU was built without it",
			mend:  "see ls -l /dev/kvm and qemu-system-x86_64 -accel help, or run with -accel tcg to try the set-up only",
			more: func(_ *console, _ int, v values) bool {
				if v["err"] != "" {
					v["err"] = " (" + v["err"] + ")"
				}
				return true
			},
		},
		{
			kind: "qemu-accelerator", rank: cause,
			match: `invalid accelerator (?P<acc>\S+)`,
			what:  "this QEMU has no accelerator {acc}",
			why:   "it is misspelt, or in a package that isn't installed",
			mend:  "qemu-system-x86_64 -accel help lists them: kvm and tcg are the usual ones",
		},
		{
			kind: "qemu-cpu", rank: cause,
			match: `CPU model '(?P<cpu>[^']+)' requires (?P<need>KVM[^\n]*)`,
			what:  "-cpu {cpu} needs {need}",
			why:   "an emulated CPU is no copy of this machine's",
			mend:  "add -accel kvm, or write -cpu max with -accel tcg",
		},
		{
			kind: "qemu-cpu", rank: cause,
			match: `unable to find CPU model '(?P<cpu>[^']+)'`,
			what:  "QEMU has no CPU model {cpu}",
			why:   "it is misspelt, or of another version or architecture",
			mend:  "qemu-system-x86_64 -cpu help lists them",
		},

		// Memory.
		{
			kind: "guest-hugepages-short", rank: cause,
			match: `Insufficient free host memory pages available to allocate guest RAM|(?:unable to map backing store for guest RAM|can't mmap RAM pages): Cannot allocate memory|(?:os_mem_prealloc|qemu_prealloc_mem): preallocating memory failed|locking memory failed`,
			what:  "there are not enough free hugepages or memory for the guest's RAM{size|}",
			why:   "its whole -m comes from hugepages, which testpmd takes from too, and with a NUMA policy from one node only",
			mend:  "see grep . /sys/devices/system/node/node*/hugepages/*/free_hugepages, then echo N > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages for -m and testpmd together, or take less, or memory-backend-memfd without hugetlb=on",
			more: func(c *console, i int, v values) bool {
				if m := regexpSizeArg().find(c.lines[i].text); m != nil {
					v["size"] = " of " + m[1]
				}
				return true
			},
		},
		{
			kind: "guest-memory-path", rank: cause,
			match: `can't (?:open|create) backing store (?P<path>\S+) for guest RAM: (?P<err>.+)|unable to create backing store for hugepages: (?P<err2>.+)|unable to map backing store for guest RAM: (?P<err3>.+)`,
			what:  "QEMU can't open {path|its memory file} for the guest's RAM ({err})",
			why:   "mem-path= names a folder that isn't there or isn't this user's",
			mend:  "mount -t hugetlbfs nodev /dev/hugepages and write mem-path=/dev/hugepages, or use memory-backend-memfd, which needs no path",
		},
		{
			kind: "guest-memory-path", rank: note,
			match: `path not on HugeTLBFS: (?P<path>\S+)`,
			what:  "the guest's memory at {path} isn't on hugepages",
			why:   "no hugetlbfs is mounted there",
			mend:  "mount -t hugetlbfs nodev {path}",
		},
		{
			kind: "guest-memory-size", rank: cause,
			match: `total memory for NUMA nodes \((?P<have>0x[0-9a-f]+)\) should equal RAM size \((?P<want>0x[0-9a-f]+)\)`,
			more: func(_ *console, _ int, v values) bool {
				for _, k := range []string{"have", "want"} {
					n, err := strconv.ParseUint(v[k], 0, 64)
					if err != nil {
						return false
					}
					v[k] = mebibytes(n)
				}
				return true
			},
			what: "the guest's memory backend has {have} and -m says {want}",
			why:  "the sizes of all -object memory-backend-* must add up to -m",
			mend: "write the same in both: -m {want} and size={want}",
		},
		{
			kind: "guest-memory-size", rank: cause,
			match: `Machine memory size does not match the size of the memory backend`,
			what:  "the guest's memory backend and -m differ",
			why:   "the backend that -machine memory-backend= names is the whole of the guest's memory",
			mend:  "write the same in both, such as -m 1024M and size=1024M",
		},
		{
			kind: "guest-memory-backend", rank: cause,
			match: `Memory backend '(?P<id>[^']+)' not found|memory-?[bB]ackend \S* ?'?(?P<id2>[\w-]*)'? (?:can't find|is busy|is already in use)[^\n]*|can't use already busy memdev: (?P<id3>\S+)`,
			what:  "QEMU can't use the memory backend {id}",
			why:   "no -object has that id, or it is used twice",
			mend:  "write -object memory-backend-memfd,id={id},size=SIZE,share=on -machine memory-backend={id}",
		},
		{
			kind: "guest-memory-node", rank: cause,
			match: `cannot bind memory to host NUMA nodes: (?P<err>.+)`,
			what:  "the guest's memory can't be bound to its NUMA node ({err})",
			why:   "the node in host-nodes= isn't there, a container forbids mbind, or the size is no multiple of the page size",
			mend:  "numactl -H lists the nodes; leave out host-nodes= and policy=, or run the container with --cap-add SYS_NICE",
		},
		{
			kind: "guest-memory", rank: cause,
			match: `cannot set up guest memory '(?P<region>[^']+)': (?P<err>.+)`,
			what:  "QEMU gets no memory for its guest ({err})",
			why:   "-m asks for more than the machine or the limits (ulimit -v, a container's) give",
			mend:  "choose a smaller -m; free -m shows what there is",
		},

		{
			kind: "initrd-too-large", rank: cause,
			match: `initrd is too large, cannot support\.\(max: (?P<max>\d+), need (?P<need>\d+)\)`,
			what:  "the guest's initramfs of {need} bytes has no room in its memory",
			why:   "below its kernel and the firmware are {max} bytes",
			mend:  "give the guests more with --memory 256 (QEMU's -m 256M)",
		},

		// Files.
		{
			kind: "guest-kernel-file", rank: cause,
			match: `could not (?:open|load|read) (?P<kind>kernel|initrd)(?: file)? '(?P<path>[^']+)'(?:: (?P<err>.+))?`,
			what:  "QEMU can't read the guest's {kind} {path}{err|}",
			why:   "the file isn't there or can't be read",
			mend:  "build it (kraft build, or sweep image), or give the right path: ls -l {path}",
			more: func(_ *console, _ int, v values) bool {
				if v["err"] != "" {
					v["err"] = " (" + v["err"] + ")"
				}
				return true
			},
		},
		{
			kind: "guest-kernel-format", rank: cause,
			match: `(?P<err>Error loading uncompressed kernel without PVH ELF Note|invalid kernel header|linux kernel too old to load a ram disk|Cannot load x86-64 image, give a 32bit one|Error while reading multiboot[^\n]*|qemu: invalid kernel[^\n]*)`,
			what:  "QEMU can't boot this kernel file ({err})",
			why:   "-kernel takes a bzImage, a multiboot ELF of 32 bits or an ELF with a PVH note",
			mend:  "build it for the platform: CONFIG_PVH=y for a vmlinux, kraft build --plat qemu --arch x86_64 for Unikraft",
		},
		{
			kind: "image-locked", rank: cause,
			match: `Failed to get (?:shared )?"(?P<lock>[\w ]+)" lock`,
			what:  "a disk image is in use",
			why:   "another QEMU has it open and would write to it at the same time",
			mend:  "end that one (fuser -v IMAGE names it), or add -snapshot or readonly=on",
		},
		{
			kind: "image-file", rank: cause,
			match: `Could not open '(?P<path>[^']+)': (?P<err>.+)|(?P<err2>Image is not in \S+ format)`,
			not:   `EAL: `,
			what:  "QEMU can't use {path|a disk image} ({err})",
			why:   "the file isn't there, isn't this user's, or is of another format",
			mend:  "qemu-img info {path|IMAGE} shows its format",
		},
		{
			kind: "virtqueue-broken", rank: cause,
			match: `(?P<err>Virtqueue size exceeded|Looped descriptor|Guest (?:index|says index|moved [\w ]+)[^\n]*|virtio: zero sized buffers are not allowed|virtio-net header (?:not in first element|incorrect)|Incorrect order for descriptors|virtio-net unexpected empty queue[^\n]*)`,
			what:  "QEMU stopped the guest's NIC ({err})",
			why:   "the guest's driver wrote what no virtqueue may hold",
			mend:  "look for a bug in the guest's driver: descriptors, ring size and the virtio-net header's length",
		},
		{
			kind: "qemu-ended-by-signal", rank: note, once: true,
			match: `terminating on signal (?P<sig>\d+)(?: from pid (?P<pid>\d+) \((?P<by>[^)]*)\))?`,
			what:  "QEMU was told to end (signal {sig}{by|})",
			why:   "somebody stopped it",
			mend:  "nothing is to be done if that was meant",
			more: func(_ *console, _ int, v values) bool {
				if v["by"] != "" && v["by"] != "<unknown process>" {
					v["by"] = " from " + v["by"] + ", pid " + v["pid"]
				}
				return true
			},
		},
		{
			kind: "qemu-assertion", rank: effect,
			match: `(?P<prog>qemu-\S+|kvm): \S+: (?P<func>\w+): Assertion ` + "[`']" + `(?P<what>.+)' failed`,
			what:  "QEMU stopped at an assertion in {func} ({what})",
			why:   "it met what its authors excluded, which is a bug of it or an unusual host",
			mend:  "read the line before, and try another QEMU version or -accel tcg",
		},
		{
			kind: "qemu-error", rank: ending,
			match: `(?:^|\s)(?:qemu-system-\w+|qemu-kvm|kvm): (?P<opt>-[\w-]+) ?(?P<arg>[^:]*): (?P<err>.+)`,
			not:   `: (?:warning|info): `,
			what:  "QEMU stopped at {opt} {arg} ({err})",
			why:   "this kit doesn't know that message",
			mend:  "compare with man qemu-system and qemu-system-x86_64 {opt} help",
		},
		{
			kind: "qemu-message", rank: note,
			match: `(?:^|\s)(?:qemu-system-\w+|qemu-kvm): (?P<err>.+)`,
			not:   `(?:warning|info): |falling back to `,
			what:  "QEMU says {err}",
			why:   "this kit doesn't know that message",
			mend:  "read on whether the guest runs all the same",
		},
	}
}

// connect is what QEMU says when connect(2) fails: "Failed to connect socket:
// why" up to 2.8, with the path since, as "... socket PATH: why" up to 4.1 and
// "Failed to connect to 'PATH': why" from then on.
const connect = `Failed to connect (?:to|socket)(?: '(?P<path>[^']+)'| (?P<path2>[^\s:]+))?: `

var (
	regexpPathArg = lazily(`path=([^,\s]+)`)
	regexpSizeArg = lazily(`size=(\w+)`)
	regexpServer  = lazily(`"?(qemu-system-\w+|qemu-kvm|kvm)"?$`)
)

// connectPath adds the socket's path where the message lacks it.
func connectPath(c *console, i int, v values) bool {
	if v["path"] == "" {
		v["path"] = "its socket"
		if m := regexpPathArg().find(c.lines[i].text); m != nil {
			v["path"] = m[1]
		}
	}
	return true
}

// nothingAfter says whether line i is the last that was printed.
func nothingAfter(c *console, i int) bool {
	for _, l := range c.lines[i+1:] {
		if l.text != "" {
			return false
		}
	}
	return true
}

// commandLine is the QEMU command line that begins in line i, as words. Lines
// that end with a backslash go on in the next one.
func commandLine(c *console, i int) []string {
	const most = 200 // lines
	// A line that goes on with a command line that was seen is not looked at.
	for j := i - 1; j >= 0 && i-j < most && strings.HasSuffix(c.lines[j].text, `\`); j-- {
		if strings.Contains(c.lines[j].text, "qemu-") {
			return nil
		}
	}
	var b strings.Builder
	for j := i; j < len(c.lines) && j-i < most; j++ {
		s, more := strings.CutSuffix(c.lines[j].text, `\`)
		b.WriteString(s + " ")
		if !more {
			break
		}
	}
	words := split(b.String())
	for k, w := range words {
		if regexpServer().find(w) != nil {
			return words[k:]
		}
	}
	return nil
}

// mebibytes writes a size as -m takes it.
func mebibytes(n uint64) string {
	if n%(1<<20) != 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%dM", n>>20)
}
