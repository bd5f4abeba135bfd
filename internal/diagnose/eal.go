package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ealRules are what stops DPDK's environment abstraction layer: memory, CPUs,
// options, plugins. The texts are those of lib/eal (lib/librte_eal before
// 20.11) from 16.07 to 25.11.
func ealRules() []rule {
	return []rule{
		// Hugepages. EAL says which sizes have none while it looks (a
		// warning, normal for 1 GiB pages) and fails only later, where it has
		// none of any size. The reason it then gives ("Permission denied") is
		// a fixed one.
		{
			kind: "guest-hugepages", rank: cause,
			match: `Cannot get hugepage information`,
			more:  func(c *console, i int, _ values) bool { return c.lines[i].guest },
			what:  "DPDK found no hugepages",
			why:   "the guest's kernel has none reserved, or mounted no hugetlbfs",
			mend:  "boot it with hugepages=32 on its kernel command line (-append) and enough memory (-m 256M), and mount -t hugetlbfs nodev /dev/hugepages",
		},
		{
			kind: "hugepages-not-mounted", rank: cause,
			match: `(?P<pages>\d+) hugepages of size (?P<bytes>\d+) reserved, but no mounted hugetlbfs found`,
			more: func(c *console, i int, v values) bool {
				return unmounted(c, i, v) && lacksHugepages(c, i)
			},
			what: "{pages} hugepages of {size} are reserved and DPDK can't use them",
			why:  "no hugetlbfs of that page size is mounted (in this container)",
			mend: "mount -t hugetlbfs -o pagesize={mount} nodev /dev/hugepages, or give testpmd --in-memory, or --no-huge -m 256 to try the set-up only",
		},
		{
			kind: "hugepages-not-mounted", rank: note, once: true,
			match: `(?P<pages>\d+) hugepages of size (?P<bytes>\d+) reserved, but no mounted hugetlbfs found`,
			more:  unmounted,
			what:  "{pages} hugepages of {size} are reserved and lie idle",
			why:   "no hugetlbfs of that page size is mounted; DPDK goes on with what else it has",
			mend:  "to use them, mount -t hugetlbfs -o pagesize={mount} nodev /dev/hugepages",
		},
		{
			kind: "hugepages-none-free", rank: cause,
			match: noneFree,
			more: func(c *console, i int, v values) bool {
				if !lacksHugepages(c, i) || c.lines[i].guest || c.has(i, "reserved, but no mounted hugetlbfs") {
					return false
				}
				sizes := append(c.all(i, regexpNoneFreeOld()), c.all(i, regexpNoneFree())...)
				slices.SortFunc(sizes, func(a, b string) int {
					return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
				})
				v["kib"] = sizes[0]
				for i, kib := range sizes {
					sizes[i] = pageSize(kib)
				}
				v["sizes"] = strings.Join(sizes, " or ")
				return true
			},
			what: "no hugepage of {sizes} is free",
			why:  "none are reserved, or other processes hold them all, or map files that a killed DPDK left in /dev/hugepages do",
			mend: "see grep . /sys/kernel/mm/hugepages/hugepages-{kib}kB/*_hugepages, remove what is stale with rm -f /dev/hugepages/*map_* while no DPDK runs, or reserve more with echo 1024 > /sys/kernel/mm/hugepages/hugepages-{kib}kB/nr_hugepages",
		},
		{
			kind: "hugepages-size-empty", rank: note,
			match: noneFree,
			more: func(c *console, i int, v values) bool {
				// Where EAL then goes on to its ports it had memory enough.
				if lacksHugepages(c, i) || c.has(i, "Configuring Port ", "Interactive-mode selected") {
					return false
				}
				v["size"] = pageSize(v["kib"])
				v["mend"] = "if it does, echo 1024 > /sys/kernel/mm/hugepages/hugepages-" + v["kib"] + "kB/nr_hugepages"
				if v["size"] == "1 GiB" {
					v["mend"] = "if it does, reserve them at boot with default_hugepagesz=1G hugepagesz=1G hugepages=4 on the kernel's command line"
				}
				return true
			},
			what: "no hugepage of {size} is free",
			why:  "DPDK names every page size that is empty, and that matters only where the run needs this one",
			mend: "{mend}",
		},
		{
			kind: "hugepages-none", rank: effect,
			match: `Cannot get hugepage information`,
			what:  "DPDK found no hugepages",
			why:   "none are reserved, or no hugetlbfs is mounted where it looks (/proc/mounts)",
			mend:  "echo 1024 > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages and mount -t hugetlbfs nodev /dev/hugepages, or do without: --no-huge -m 256",
		},
		{
			kind: "hugepages-node-short", rank: cause,
			match: `Not enough memory available on socket (?P<node>\d+)! Requested: (?P<need>\d+)MB, available: (?P<have>\d+)MB`,
			more:  pagesNeeded,
			what:  "NUMA node {node} has {have} MiB of free hugepages and {need} MiB are asked for",
			why:   "--socket-mem counts by node, and pages of another node don't help",
			mend:  "echo {pages} > /sys/devices/system/node/node{node}/hugepages/hugepages-2048kB/nr_hugepages, or ask for less in --socket-mem",
		},
		{
			kind: "hugepages-short", rank: cause,
			match: `Not enough memory available! Requested: (?P<need>\d+)MB, available: (?P<have>\d+)MB`,
			more:  pagesNeeded,
			what:  "{have} MiB of hugepages are free and {need} MiB are asked for",
			why:   "-m or --socket-mem is larger than what is left",
			mend:  "echo {pages} > /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages, or ask for less with -m",
		},
		{
			kind: "hugepage-file", rank: cause,
			match: `EAL: \w+\(\): open(?: '(?P<path>[^']+)')? failed: (?P<err>.+)`,
			what:  "a hugepage file can't be opened ({path|in the hugetlbfs}: {err})",
			why:   "the hugetlbfs belongs to another user, or files of another user's DPDK lie in it",
			mend:  "rm -f /dev/hugepages/*map_* as root while no DPDK runs, or mount one's own (mount -t hugetlbfs -o uid=$UID nodev DIR) and pass --huge-dir DIR, or use --in-memory",
		},
		{
			kind: "hugepage-file", rank: cause,
			match: `EAL: Unable to (?:open|read|lock) hugepage directory (?P<path>\S+)`,
			what:  "the hugetlbfs at {path} can't be read",
			why:   "it belongs to another user",
			mend:  "run as root, or mount one's own (mount -t hugetlbfs -o uid=$UID nodev DIR) and pass --huge-dir DIR",
		},
		{
			kind: "memory-not-mapped", rank: cause,
			match: `EAL: (?P<what>Cannot (?:get a virtual area[^:]*|allocate memseg list|reserve memory|mmap memory for rte_config[^:]*|preallocate VA space[^:]*|allocate VA space[^:]*)|Could not map memory from primary process|Unmapping and locking hugepages failed|alloc_seg\(\): (?:mmap|couldn't)[^:]*)(?:: (?P<err>.*))?`,
			not:   `retrying with different page size`,
			what:  "DPDK got no memory mapped ({what}{sep|}{err|})",
			why:   "the process may map too little address space (ulimit -v, a container's limit), or another mapping is in the place",
			mend:  "ulimit -v unlimited, or take less with -m 256 --single-file-segments, or another place with --base-virtaddr=0x200000000",
			more: func(_ *console, _ int, v values) bool {
				if v["err"] != "" {
					v["sep"] = ": "
				}
				return true
			},
		},
		{
			kind: "dma-mask", rank: cause,
			match: `couldn't allocate memory due to IOVA exceeding limits of current DMA mask`,
			what:  "DPDK's memory lies where the device can't reach it",
			why:   "with virtual addresses as IOVA they exceed the address width of the device or the IOMMU",
			mend:  "add --iova-mode=pa to the EAL options",
		},
		{
			kind: "numa-no-memory", rank: note,
			match: `WARNING: (?:Main|Master) core has no memory on local socket`,
			what:  "the first CPU of testpmd has no hugepages on its NUMA node",
			why:   "its packets cross to the other node, which costs rate",
			mend:  "reserve pages on its node (/sys/devices/system/node/nodeN/hugepages/hugepages-2048kB/nr_hugepages), or choose CPUs of the other node with -l",
		},
		{
			kind: "mempolicy-refused", rank: note, once: true,
			match: `set_mempolicy(?: failed)?: (?P<err>Operation not permitted|Invalid argument)`,
			what:  "DPDK can't choose the NUMA node of its memory ({err})",
			why:   "a container forbids set_mempolicy, or the node has no memory",
			mend:  "run the container with --cap-add SYS_NICE, or choose CPUs of a node with memory",
		},
		{
			kind: "tsc-unreliable", rank: note, once: true,
			match: `using unreliable clock cycles`,
			what:  "the CPU's time stamp counter doesn't tick evenly",
			why:   "the hypervisor or the CPU lacks constant_tsc or nonstop_tsc, so rates that testpmd prints may be off",
			mend:  "take rates from counter differences over CLOCK_MONOTONIC, as sweep does",
		},

		// One primary process for each file prefix.
		{
			kind: "primary-exists", rank: cause,
			match: `Cannot create lock on '(?P<path>[^']+)'\. Is another primary process running`,
			more:  prefixOf,
			what:  "another DPDK process holds the file prefix {prefix}",
			why:   "two primary processes can't share {path}",
			mend:  "give each its own --file-prefix (or --in-memory), or end the other one, which fuser -v {path} names",
		},
		{
			kind: "config-not-opened", rank: cause,
			match: `Cannot open '(?P<path>[^']+)' for rte_mem_config`,
			more:  prefixOf,
			what:  "{path} can't be opened",
			why:   "a secondary process needs a running primary with the file prefix {prefix}, and a primary needs to write there",
			mend:  "start the primary first, or leave out --proc-type; as an ordinary user export XDG_RUNTIME_DIR=/run/user/$UID",
		},
		{
			kind: "config-not-resized", rank: cause,
			match: `Cannot resize '(?P<path>[^']+)' for rte_mem_config`,
			what:  "{path} can't grow",
			why:   "the file system of DPDK's runtime folder is full",
			mend:  "look with df -h {path}, or use --in-memory, which needs no file",
		},
		{
			kind: "primary-version", rank: cause,
			match: `Primary and secondary process DPDK version mismatch`,
			what:  "the two DPDK processes are of different versions",
			why:   "a secondary process works on the primary's memory and must be of the same build",
			mend:  "start both from the same installation (pkg-config --modversion libdpdk shows one), or give this one its own --file-prefix",
		},
		{
			kind: "secondary-refused", rank: cause,
			match: `Primary process refused secondary attachment|Could not open (?P<path>\S+/hugepage_data)`,
			what:  "this secondary process can't attach to the primary",
			why:   "the primary runs with --no-huge, --in-memory or --no-shconf and shares no memory ({path|it refused})",
			mend:  "start the primary without these options, or make this one a primary with its own --file-prefix",
		},
		{
			kind: "runtime-folder", rank: cause,
			match: `EAL: Error creating '(?P<path>[^']+)': (?P<err>.+)`,
			what:  "DPDK can't make its runtime folder {path} ({err})",
			why:   "root uses /var/run/dpdk, anyone else $XDG_RUNTIME_DIR/dpdk, or /tmp/dpdk where that variable is empty",
			mend:  "export XDG_RUNTIME_DIR=/tmp/run-$UID && mkdir -p $XDG_RUNTIME_DIR, or use --no-shconf",
		},
		{
			kind: "runtime-folder", rank: cause,
			match: `EAL: Unable to (?:open|lock|read) runtime directory (?P<path>\S+)`,
			what:  "DPDK's runtime folder {path} can't be used",
			why:   "it belongs to another user",
			mend:  "remove it (sudo rm -r {path}), or give this process its own --file-prefix",
		},
		{
			kind: "telemetry-socket", rank: note, once: true,
			match: `TELEMETRY: (?P<err>Error (?:binding socket|with socket)[^\n]*|Failed to open socket)`,
			what:  "testpmd has no telemetry socket ({err})",
			why:   "its path is too long, or the runtime folder can't be written",
			mend:  "choose a shorter --file-prefix and XDG_RUNTIME_DIR; the counters can still be read with show port stats all",
		},

		// CPUs.
		{
			kind: "lcore-unavailable", rank: cause,
			match: `invalid core(?:mask| list)(?: or core-list parameter)?, please check specified cores are part of (?P<have>\S+)`,
			more: func(c *console, i int, v values) bool {
				v["cpus"] = strings.Join(c.all(i, regexpUnavailable()), ", ")
				return true
			},
			what: "CPU {cpus|asked for} can't be used",
			why:  "this process may run on {have} only: the machine has no others, or taskset or the container's cpuset leaves them out",
			mend: "choose from these with -l {have}",
		},
		{
			kind: "lcore-unavailable", rank: cause,
			match: `(?:lcore|core) (?P<cpu>\d+) unavailable`,
			more: func(c *console, i int, v values) bool {
				if c.has(i, "please check specified cores") {
					return false // that line knows more
				}
				v["cpus"] = strings.Join(c.all(i, regexpUnavailable()), ", ")
				return true
			},
			what: "CPU {cpus} can't be used",
			why:  "the machine doesn't have it, or taskset or the container's cpuset leaves it out",
			mend: "choose from what grep Cpus_allowed_list /proc/self/status shows, with -l or --lcores",
		},
		{
			kind: "lcore-too-high", rank: cause,
			match: `e\.g\. --lcores (?P<lcores>\S+)`,
			what:  "the number of a CPU is higher than this DPDK counts",
			why:   "it was built with a smaller RTE_MAX_LCORE",
			mend:  "map the CPUs to low numbers: --lcores {lcores}",
		},
		{
			kind: "lcore-too-high", rank: effect,
			match: `lcore (?P<cpu>\d+) >= (?P<limit>\w+ \(\d+\))`,
			what:  "CPU {cpu} is higher than this DPDK counts",
			why:   "it was built with {limit}",
			mend:  "map it to a low number: --lcores 0@0,1@{cpu}",
		},
		{
			kind: "lcores-given-twice", rank: cause,
			match: `Option (?P<ignored>-\S+) is ignored, because \((?P<other>\S+)\) is set`,
			what:  "{ignored} and {other} are given together",
			why:   "they exclude each other",
			mend:  "keep one of them, such as --lcores 0@0,1@1",
		},
		{
			kind: "lcore-list", rank: effect,
			match: `EAL: (?P<err>invalid core(?:list|mask| list)(?: syntax)?|No lcores in core(?:mask|list): \[[^\]]*\]|No valid lcores in core list|invalid characters in coremask: \[[^\]]*\]|invalid parameter for --(?:lcores|main-lcore|master-lcore)|Too many lcores provided.*|(?:Error: )?(?:Main|Master) lcore is not enabled for DPDK)$`,
			what:  "the list of CPUs is wrong ({err})",
			why:   "EAL can't read it, or it names CPUs that aren't there",
			mend:  "write CPU numbers that exist: -l 0,1, or --lcores 0@0,1@1",
		},
		{
			kind: "one-lcore", rank: cause,
			match: `No cores defined for forwarding`,
			what:  "testpmd has no CPU to forward on",
			why:   "its first lcore only reads commands, so it needs two",
			mend:  "give it two with -l 0,1, or on a single CPU --lcores 0@0,1@0",
		},
		{
			kind: "cpu-flag", rank: cause,
			match: `This system does not support "(?P<flag>[^"]+)"`,
			what:  "this CPU has no {flag} and DPDK was built to use it",
			why:   "the build was for another CPU, or the virtual machine hides it",
			mend:  "in a VM choose a larger CPU model (-cpu host with KVM, -cpu max without), else build DPDK with meson setup -Dplatform=generic build",
		},

		// IOVA.
		{
			kind: "iova-pa-unavailable", rank: cause,
			match: `Cannot use IOVA as 'PA' since physical addresses are not available`,
			what:  "physical addresses can't be used as IOVA",
			why:   "the process may not read them from /proc/self/pagemap without root (CAP_SYS_ADMIN)",
			mend:  "run as root, or leave --iova-mode=pa out and bind the NIC to vfio-pci with the IOMMU on (--iova-mode=va)",
		},
		{
			kind: "iova-pa-unavailable", rank: cause,
			match: `Cannot use IOVA as 'PA' as it is disabled during build`,
			what:  "physical addresses can't be used as IOVA",
			why:   "this DPDK was built without them",
			mend:  "use --iova-mode=va and vfio-pci with the IOMMU on, or build DPDK with meson setup -Denable_iova_as_pa=true build",
		},

		// Options.
		{
			kind: "option-removed", rank: cause,
			match: `(?:unrecognized|unknown|invalid) (?:option|argument)(?: --)? ['"]?-{0,2}(?P<old>pci-whitelist|pci-blacklist|master-lcore|w)\b`,
			what:  "this DPDK has no option for {old}",
			why:   "it was renamed in 20.11",
			mend:  "write {new}",
			more: func(_ *console, _ int, v values) bool {
				v["new"] = map[string]string{
					"pci-whitelist": "-a (--allow)", "w": "-a (--allow)",
					"pci-blacklist": "-b (--block)", "master-lcore": "--main-lcore",
				}[v["old"]]
				return v["new"] != ""
			},
		},
		{
			kind: "option-unknown", rank: cause,
			match: `(?:testpmd\S*|dpdk-\S+|pktgen\S*): (?:unrecognized option|invalid option --|option) '?(?P<option>[^' ]+)'?`,
			what:  "testpmd doesn't know {option}, or its value is missing",
			why:   "EAL options stand before --, testpmd's own after it, and this version may not have it",
			mend:  "compare with dpdk-testpmd --help and dpdk-testpmd --no-huge --no-pci -- --help",
		},
		{
			kind: "option-unknown", rank: cause,
			match: `ARGPARSE: (?:unknown argument|argument) (?P<option>\S+?)(?:!| doesn't have value!| repeat!)`,
			what:  "testpmd doesn't take {option}",
			why:   "EAL options stand before --, testpmd's own after it, and each is given once, with its value",
			mend:  "compare with dpdk-testpmd --help and dpdk-testpmd --no-huge --no-pci -- --help",
		},
		{
			kind: "options-exclude", rank: cause,
			match: `EAL: (?P<err>Options? .*(?:not compatible with|cannot be specified (?:at the same time|together)|can't be used at the same time|is only supported in).*)`,
			not:   `--socket-limit is only supported`,
			what:  "two EAL options exclude each other ({err})",
			why:   "testpmd was given both; --no-huge counts as --legacy-mem",
			mend:  "leave one out, such as --in-memory together with --no-huge, or -m together with --socket-mem",
		},
		{
			kind: "option-value", rank: cause,
			match: `EAL: (?P<err>[Ii]nvalid (?:parameters?|length|char,|--\S+|channel|rank|process type)[^\n]*|--\S+ (?:parameter )?is too long)`,
			not:   `invalid parameter for --(?:lcores|main-lcore|master-lcore)`,
			what:  "an EAL option has a wrong value ({err})",
			why:   "EAL can't read it",
			mend:  "compare with dpdk-testpmd --help",
		},

		// Devices and plugins.
		{
			kind: "device-unknown", rank: cause,
			match: `failed to parse device "(?P<dev>[^"]+)"`,
			more:  deviceKind,
			what:  "DPDK can't make anything of the device {dev}",
			why:   "{why}",
			mend:  "{mend}",
		},
		{
			kind: "device-unknown", rank: cause,
			match: `no driver found for (?P<dev>\S+)`,
			more:  deviceKind,
			what:  "DPDK has no driver for the device {dev}",
			why:   "{why}",
			mend:  "{mend}",
		},
		{
			kind: "library-missing", rank: cause,
			match: `error while loading shared libraries: (?P<lib>[^:\s]+): (?P<err>.+)`,
			what:  "the program can't start without {lib} ({err})",
			why:   "it was built against another version of the library than the one installed, or the linker doesn't look there",
			mend:  "see what there is with ldconfig -p | grep {stem}, then install that version, or sudo ldconfig, or set LD_LIBRARY_PATH",
			more: func(_ *console, _ int, v values) bool {
				v["stem"], _, _ = strings.Cut(v["lib"], ".so")
				return true
			},
		},
		{
			kind: "library-mismatch", rank: cause,
			match: `(?:symbol lookup error: (?P<lib>[^:]+): )?(?:undefined symbol: (?P<sym>[^\s,]+)|version ` + "[`']" + `(?P<sym2>[^']+)' not found \(required by (?P<lib2>[^)]+)\))`,
			what:  "{lib|a library} asks for {sym}, which the loaded libraries don't have",
			why:   "DPDK's program, libraries and drivers are of different versions",
			mend:  "install them from one release (ldd $(which dpdk-testpmd) | grep rte shows which are taken), and sudo ldconfig",
		},
		{
			kind: "plugin", rank: cause,
			match: `EAL: (?P<path>/?[^:]+\.so[^:]*|/[^:]+): (?P<err>cannot open shared object file.*|file too short|invalid ELF header|cannot dynamically load.*|wrong ELF class.*)`,
			what:  "DPDK can't load the plugin {path} ({err})",
			why:   "the file isn't there, or is no driver of this build",
			mend:  "find /usr -name 'librte_net_*' shows what there is: pass one of these with -d, or leave -d out",
		},
		{
			kind: "plugin-folder", rank: cause,
			match: `EAL: (?:failed to open directory (?P<path>[^:]+): (?P<err>.+)|Error, directory path (?P<path2>\S+) is (?P<err2>world-writable and insecure)|Cannot init plugin directory (?P<path3>\S+))`,
			what:  "DPDK loads no drivers from {path} ({err|it can't be read})",
			why:   "the folder isn't there, or anybody could put a driver into it",
			mend:  "pass the drivers' folder with -d, which others may not write: chmod o-w {path}",
		},
	}
}

// endings are what is left to say where nothing better was recognised.
func endings() []rule {
	return []rule{
		{
			kind: "device-not-initialized", rank: effect,
			match: `failed to initialize (?P<dev>\S+) device`,
			what:  "DPDK couldn't bring up the device {dev}",
			why:   "its driver refused it: an argument is missing or wrong, or what it attaches to isn't there",
			mend:  "compare its arguments with the driver's page, and start testpmd with --log-level='*:8' to see the step that fails",
		},
		{
			kind: "bus-probe", rank: ending,
			match: `Bus \((?P<bus>\w+)\) probe failed`,
			what:  "a device on DPDK's bus {bus} could not be used",
			why:   "the line before may say which",
			mend:  "start testpmd with --log-level='*:8'",
		},
		{
			kind: "testpmd-option-value", rank: effect,
			match: `^Cause: (?P<cause>.*(?:must be|should be|[Ii]nvalid|bad |[<>]=|incorrect|unknown).*)`,
			not:   `Cannot (?:init(?:ialize)?|probe) (?:RTE_)?EAL|Command line is`,
			what:  "testpmd doesn't take the value of an option ({cause})",
			why:   "the option that it names has another range on this machine or in this version",
			mend:  "choose a value within it; dpdk-testpmd --no-huge --no-pci -- --help explains each option",
		},
		{
			kind: "gave-up", rank: effect,
			match: `^Cause: (?P<cause>.+)`,
			not:   `Cannot (?:init(?:ialize)?|probe) (?:RTE_)?EAL|Start ports failed|Command line is|Error with EAL`,
			what:  "testpmd gave up ({cause})",
			why:   "this kit knows no more about that reason",
			mend:  "start it again with --log-level='*:8'",
		},
		{
			// The message is the next line.
			kind: "panic", rank: ending,
			match: `PANIC in (?P<func>\w+)\(\)`,
			more: func(c *console, i int, v values) bool {
				if m := c.after(i, regexpPanic()); m != nil {
					v["msg"] = " (" + m[0] + ")"
				}
				return true
			},
			what: "DPDK panicked in {func}{msg|}",
			why:  "it met a state that it can't go on from",
			mend: "start it again with --log-level='*:8' to see what came before",
		},
		{
			kind: "eal-fatal", rank: ending,
			match: `EAL: (?:FATAL: )?(?P<err>Cannot init [^\n]+|Cannot (?:allocate worker|set affinity|scan the buses|probe devices|clear runtime directory|detect lcores)[^\n]*|Invalid 'command line' arguments\.?|failed to (?:init mp channel|register mp callback)[^\n]*|unsupported cpu type\.?|Cannot create runtime directory)`,
			what:  "DPDK's EAL stopped ({err})",
			why:   "what it printed before says more than this kit recognises",
			mend:  "start it again with --log-level='*:8'",
		},
		{
			kind: "exited", rank: exit,
			match: `(?:EAL: )?Error - exiting with code: (?P<code>\d+)`,
			more: func(c *console, i int, v values) bool {
				if m := c.after(i, regexpCause()); m != nil {
					v["why"] = m[1]
				}
				return true
			},
			what: "testpmd ended with code {code}",
			why:  "{why|it gave no cause}",
			mend: "read the console's last lines, and start it again with --log-level='*:8'",
		},
	}
}

const noneFree = `No (?:free|available) (?:hugepages reported in hugepages-(?P<kib>\d+)kB|(?P<kib2>\d+) kB hugepages reported(?: on node (?P<node>\d+))?)`

// Patterns that look around a line.
var (
	regexpNoneFreeOld = lazily(`No (?:free|available) hugepages reported in hugepages-(\d+)kB`)
	regexpNoneFree    = lazily(`No (?:free|available) (\d+) kB hugepages reported`)
	regexpUnavailable = lazily(`(?:^|EAL: |\s)l?core (\d+) unavailable`)
	regexpCause       = lazily(`^Cause: (.+)`)
	regexpPanic       = lazily(`^[A-Z][^:\[]{3,120}$`)
)

// lacksHugepages says whether EAL failed for hugepages at all.
func lacksHugepages(c *console, i int) bool {
	return c.has(i, "Cannot get hugepage information")
}

func unmounted(c *console, i int, v values) bool {
	bytes, err := strconv.ParseUint(v["bytes"], 10, 64)
	if err != nil || c.lines[i].guest && lacksHugepages(c, i) {
		return false
	}
	v["size"] = pageSize(strconv.FormatUint(bytes>>10, 10))
	v["mount"] = strings.TrimSuffix(strings.ReplaceAll(v["size"], " ", ""), "iB")
	return true
}

// pageSize writes a page size in KiB as people say it.
func pageSize(kib string) string {
	n, err := strconv.Atoi(kib)
	switch {
	case err != nil:
		return kib + " kB"
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d GiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d MiB", n>>10)
	}
	return fmt.Sprintf("%d KiB", n)
}

// pagesNeeded adds how many pages of 2 MiB the need takes.
func pagesNeeded(_ *console, _ int, v values) bool {
	need, err := strconv.Atoi(v["need"])
	v["pages"] = strconv.Itoa((need + 1) / 2)
	return err == nil
}

// prefixOf adds the file prefix that a path in the runtime folder belongs to:
// .../dpdk/PREFIX/config since 18.08, /var/run/.PREFIX_config before.
func prefixOf(_ *console, _ int, v values) bool {
	folders := strings.Split(v["path"], "/")
	last := folders[len(folders)-1]
	switch {
	case last == "config" && len(folders) > 1:
		v["prefix"] = folders[len(folders)-2]
	case strings.HasSuffix(last, "_config"):
		v["prefix"] = strings.TrimPrefix(strings.TrimSuffix(last, "_config"), ".")
	default:
		v["prefix"] = "rte"
	}
	return true
}

// deviceKind adds why a device's name is refused, which depends on its form.
func deviceKind(_ *console, _ int, v values) bool {
	name, _, _ := strings.Cut(v["dev"], ",")
	v["dev"] = name
	if driver := strings.TrimRight(name, "0123456789"); regexpPCI().find(name) == nil && strings.Contains(driver, "_") {
		v["why"] = "the driver " + driver + " isn't loaded, or its name is misspelt"
		v["mend"] = "see find /usr -name 'librte_" + driver + "*', install the driver's package where that finds nothing, or load what it finds with -d"
		return true
	}
	v["why"] = "it is neither a PCI address nor the name of a virtual device, or that bus's driver (librte_bus_pci.so) isn't loaded"
	v["mend"] = "write a PCI address in full, such as -a 0000:02:00.0 (lspci -D lists them), or --vdev for a virtual device"
	return true
}

var regexpPCI = lazily(`^[0-9a-fA-F:]+\.[0-7]$`)
