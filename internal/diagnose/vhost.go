package diagnose

import "strings"

// vhostRules are the failures of virtual ports: DPDK's vhost library (lib/vhost
// since 20.11, lib/librte_vhost before) and the drivers net_vhost,
// net_virtio_user, net_memif, net_af_packet, net_af_xdp and net_tap.
func vhostRules() []rule {
	return []rule{
		// The vhost-user server's socket. Until 21.11 "failed to bind to
		// PATH: why", since then "(PATH) failed to bind: why"; virtio-user as
		// a server has the old form.
		{
			kind: "vhost-socket-taken", rank: cause,
			match: bind + `Address already in use`,
			what:  "{path|the socket} exists already and testpmd doesn't take it over",
			why:   "another testpmd serves it, or one that was killed left the file",
			mend:  "see who listens with ss -xlp | grep {path|SOCKET} and choose another path or end that process, or where nobody does, rm {path|SOCKET}",
		},
		{
			kind: "vhost-socket-permission", rank: cause,
			match: bind + `(?P<err>Permission denied|Operation not permitted|Read-only file system)`,
			what:  "testpmd can't make the socket {path|of the vhost port} ({err})",
			why:   "its folder can't be written by this user",
			mend:  "put it into a folder of this user's, such as iface=/tmp/sweep/vhost.sock, or chown the folder",
		},
		{
			kind: "vhost-socket-folder", rank: cause,
			match: bind + `(?P<err>No such file or directory|Not a directory)`,
			what:  "testpmd can't make the socket {path|of the vhost port}",
			why:   "its folder isn't there",
			mend:  "mkdir -p $(dirname {path|SOCKET})",
		},
		{
			kind: "vhost-socket-bind", rank: cause,
			match: bind + `(?P<err>[^;]+)`,
			what:  "testpmd can't make the socket {path|of the vhost port} ({err})",
			why:   "the system refuses the path",
			mend:  "choose another one, of at most 107 bytes, on a local file system",
		},
		{
			kind: "vhost-port-not-started", rank: effect,
			match: `Failed to start driver for (?P<path>\S+)`,
			what:  "the vhost port at {path} was not started",
			why:   "its socket could not be made",
			mend:  "remove it if nobody listens there (ss -xlp | grep {path}), or choose another path",
		},

		// The vhost-user client, and virtio-user, which always is one.
		{
			kind: "vhost-socket-missing", rank: note, once: true,
			match: `VHOST_CONFIG: (?:\((?P<path>/[^)]*)\) )?failed to connect(?: to (?P<path2>/[^:]+))?: (?P<err>No such file or directory|Connection refused)`,
			what:  "nobody listens on {path|the vhost socket} yet ({err})",
			why:   "this testpmd is the client, and asks again until the server is there",
			mend:  "start the server (QEMU with server=on, or the other testpmd)",
		},
		{
			kind: "vhost-net-absent", rank: cause,
			match: `connect error, No such file or directory`,
			more:  func(c *console, i int, v values) bool { return backendPath(c, i, v) && v["path"] == "/dev/vhost-net" },
			what:  "there is no /dev/vhost-net for virtio_user",
			why:   "the module vhost_net isn't loaded, so DPDK took the path for a socket",
			mend:  "sudo modprobe vhost_net, and in a container pass --device /dev/vhost-net",
		},
		{
			kind: "vhost-socket-missing", rank: cause,
			match: `connect error, No such file or directory`,
			more:  backendPath,
			what:  "virtio_user finds nobody at {path|its socket}",
			why:   "there is no such socket: the vhost testpmd isn't running yet, or has another path",
			mend:  "start the testpmd with net_vhost0,iface={path|SOCKET} first and wait until ss -xl | grep {path|SOCKET} shows it",
		},
		{
			kind: "vhost-socket-stale", rank: cause,
			match: `connect error, Connection refused`,
			more:  backendPath,
			what:  "nobody listens on {path|the vhost socket}",
			why:   "the file was left by a testpmd that was killed",
			mend:  "rm {path|SOCKET}, and start the vhost testpmd first",
		},
		{
			kind: "vhost-socket-permission", rank: cause,
			match: `connect error, (?P<err>Permission denied)`,
			more:  backendPath,
			what:  "this user can't connect to {path|the vhost socket} ({err})",
			why:   "connecting needs the right to write it, and it belongs to the user who runs the vhost testpmd",
			mend:  "run both as one user, or chmod o+rw {path|SOCKET} once it is there",
		},
		{
			kind: "vhost-net-permission", rank: cause,
			match: `fail to open (?P<path>/dev/[\w/-]+)[,:] (?P<err>.+)`,
			what:  "{path} can't be opened ({err})",
			why:   "its module isn't loaded, or it is root's",
			mend:  "sudo modprobe vhost_net tun, and run as root or chmod o+rw {path}",
		},
		{
			kind: "vhost-queues", rank: cause,
			match: `multi-q config (?P<want>\d+), but only (?P<have>\d+) supported`,
			what:  "{want} queue pairs are asked for and the other side has {have}",
			why:   "queues= differs between virtio_user and net_vhost",
			mend:  "write queues={have} on both, and --rxq={have} --txq={have}",
		},
		{
			kind: "virtio-user-arguments", rank: cause,
			match: `arg (?P<arg>\S+) is mandatory for virtio_user|unable to determine backend type for path (?P<path>\S+)`,
			what:  "virtio_user doesn't know what to attach to",
			why:   "its argument path= is missing or names neither a socket nor a vhost device",
			mend:  "write --vdev=net_virtio_user0,path=/tmp/vhost.sock",
		},
		{
			kind: "virtio-user-memory", rank: cause,
			match: `Too many memory regions`,
			what:  "virtio_user has more pieces of memory than vhost-user can pass on",
			why:   "without it, each hugepage is a file of its own, and eight are the limit",
			mend:  "add --single-file-segments to the EAL options, or use larger pages",
		},
		{
			kind: "virtio-user-backend", rank: effect,
			match: `virtio_user\w*\(\): (?:\((?P<path>[^)]+)\) )?(?P<err>(?:Failed|failed|backend|Fail)[^\n]*|virtio_user_dev_init fails|eth_virtio_dev_init fails)|vhost_user\w*\(\): (?P<err2>Failed to (?:recv|read|send)[^\n]*|Slave replied NACK[^\n]*)`,
			what:  "virtio_user and its other side don't agree{path|} ({err})",
			why:   "the vhost testpmd ended, or refused what was asked",
			mend:  "look at the other testpmd's last lines, and start that one first",
			more: func(_ *console, _ int, v values) bool {
				if v["path"] != "" {
					v["path"] = " at " + v["path"]
				}
				return true
			},
		},

		// What comes over the vhost-user connection.
		{
			kind: "guest-memory-not-shared", rank: cause,
			match: `expect \d+ FDs for request (?:VHOST_USER_)?SET_MEM_TABLE, received 0`,
			what:  "the guest's memory came without a file to map",
			why:   "QEMU gave the guest private memory",
			mend:  "start QEMU with -object memory-backend-memfd,id=ram,size=SIZE,share=on -machine memory-backend=ram, of the size of -m",
		},
		{
			kind: "vhost-guest-memory", rank: cause,
			match: `(?:VHOST_CONFIG: (?:\((?P<path>[^)]*)\) )?)(?P<err>mmap failed \([^)]*\)|mmap region \d+ failed|couldn't get hugepage size through fstat)`,
			what:  "testpmd can't map the guest's memory ({err})",
			why:   "it may map or lock too little, or QEMU's file isn't there for it (another container, another mount)",
			mend:  "ulimit -v unlimited; ulimit -l unlimited, and give both the same /dev/hugepages, or QEMU memory-backend-memfd,share=on, which needs no file",
		},
		{
			kind: "vhost-memory-regions", rank: cause,
			match: `too many memory regions(?: already)? \((?P<n>\d+)\)`,
			what:  "the other side's memory comes in {n} regions, more than vhost takes",
			why:   "a virtual machine with memory slots, or virtio_user with a file a hugepage",
			mend:  "leave QEMU's slots= out, or give virtio_user's testpmd --single-file-segments",
		},
		{
			kind: "vhost-message", rank: effect,
			match: `VHOST_CONFIG: (?:\((?P<path>[^)]*)\) )?(?P<err>vhost (?:read message|message handling) failed|processing \S+ failed|failed to mmap region[^\n]*|truncated msg[^\n]*|expect \d+ FDs for request[^\n]*|invalid virtqueue size[^\n]*|read control message failed)`,
			what:  "vhost and its other side don't agree{path|} ({err})",
			why:   "QEMU ended in between, or sends what this DPDK doesn't take",
			mend:  "look at QEMU's last lines, and start the guest again",
			more: func(_ *console, _ int, v values) bool {
				if v["path"] != "" {
					v["path"] = " on " + v["path"]
				}
				return true
			},
		},
		{
			kind: "peer-closed", rank: note, once: true,
			match: `VHOST_CONFIG: (?:\((?P<path>[^)]*)\) )?vhost peer closed`,
			what:  "the other side of {path|the vhost port} closed the connection",
			why:   "{why}",
			mend:  "take no counter from after this line into a mean; if it wasn't meant to end, look at QEMU's last lines",
			more: func(c *console, i int, v values) bool {
				v["why"] = "the guest or virtio_user ended, and the port's link went down with it"
				if c.has(i, "new vhost user connection") && !c.has(i, "virtio is now ready for processing") {
					v["why"] = "it ended before its driver was ready, so no packet went through"
				}
				return true
			},
		},

		// memif. "Failed to register mp action callback" is harmless.
		{
			kind: "memif-folder", rank: cause,
			match: `Invalid socket directory`,
			more:  deviceAfter,
			what:  "{dev|net_memif} can't have its socket there",
			why:   "the folder of its socket= isn't there",
			mend:  "make the folder with mkdir -p, or choose socket=/tmp/memif.sock,socket-abstract=no",
		},
		{
			kind: "memif-socket-taken", rank: cause,
			match: `Failed to setup socket (?P<path>\S+): (?P<err>.+)`,
			what:  "net_memif can't listen on {path} ({err})",
			why:   "another process listens there, or one that was killed left the file, or the folder isn't this user's",
			mend:  "see who listens with ss -xlp | grep {path}, and where nobody does, rm {path}",
		},
		{
			kind: "memif-no-server", rank: cause,
			match: `Failed to connect socket: (?P<path>\S*?)\.?$`,
			what:  "net_memif finds no server at {path}",
			why:   "the testpmd with role=server isn't running yet, or has another path",
			mend:  "start that one first (ss -xl | grep {path} shows it), then port start all here",
		},
		{
			kind: "memif-arguments", rank: cause,
			match: `memif\w*\(\): (?P<err>Unknown role: \S+|Invalid ring size: [^\n]+|Invalid buffer size: [^\n]+|Two interfaces with the same id [^\n]+|Zero-copy doesn't support[^\n]+|Failed to parse [^\n]+ param[^\n]+)`,
			not:   `Failed to parse mac`,
			what:  "net_memif has a wrong argument ({err})",
			why:   "roles are server and client, ids differ within a role, and a ring has 2^rsize slots with rsize at most 14",
			mend:  "write such as --vdev=net_memif0,role=client,id=0,socket=/tmp/memif.sock,socket-abstract=no,rsize=14",
		},
		{
			kind: "socket-path-long", rank: cause,
			match: `Unix socket address too long|socket path (?:is )?too long`,
			what:  "the path of a socket is too long",
			why:   "a Unix socket's path holds 107 bytes",
			mend:  "choose a shorter one, such as /tmp/m.sock",
		},

		// Drivers that need rights.
		{
			kind: "af-packet-permission", rank: cause,
			match: `[Cc]ould not open AF_PACKET socket`,
			more:  deviceAfter,
			what:  "{dev|net_af_packet} can't open its socket",
			why:   "a packet socket is for root (CAP_NET_RAW)",
			mend:  "run as root, or sudo setcap cap_net_raw,cap_net_admin+ep $(realpath $(which dpdk-testpmd)), or in a network namespace of one's own, unshare -Urn",
		},
		{
			kind: "interface-absent", rank: cause,
			match: `(?:(?P<dev>net_af_packet\d*|eth_af_packet\d*): )?ioctl failed \(SIOCGIFINDEX\)(?::\s*(?P<err>.+))?|Failed to get channel info of interface: (?P<if>\S+)|(?P<dev2>net_af_\w+): no interface specified|Network interface must be specified`,
			what:  "the network interface {if|of the port} isn't there{dev|}",
			why:   "its iface= is missing or misspelt, or it is in another network namespace",
			mend:  "ip -br link lists what there is; make a pair with ip link add veth0 type veth peer name veth1",
			more: func(_ *console, _ int, v values) bool {
				if v["dev"] != "" {
					v["dev"] = " (" + v["dev"] + ")"
				}
				return true
			},
		},
		{
			kind: "af-packet-socket", rank: cause,
			match: `(?P<dev>\S*af_packet\d*): (?P<err>could not (?:bind|set)[^\n]*|call to mmap failed[^\n]*|invalid[^\n]*|AF_PACKET MMAP frame size exceeds[^\n]*)`,
			what:  "{dev} can't set up its socket ({err})",
			why:   "the interface is down, or the ring is larger than the memory that may be locked",
			mend:  "ip link set IFNAME up, and use framecnt=512 or ulimit -l unlimited",
		},
		{
			kind: "af-xdp", rank: cause,
			match: `(?P<err>Failed to create umem|Failed to create xsk socket|bpf_\w+ failed|Failed to load (?:custom XDP )?program \S+|Failed to configure xdp socket|Failed configure busy polling|Specified queue count \d+ is larger than combined queue count \d+)`,
			what:  "net_af_xdp can't set up its socket ({err})",
			why:   "it needs root (CAP_NET_RAW, CAP_BPF), locked memory, and a queue that nobody else has",
			mend:  "run as root with ulimit -l unlimited; ethtool -l IFNAME shows the queues, ip link set IFNAME xdp off removes a program that was left, and force_copy=1 suits drivers without zero copy",
		},
		{
			kind: "tap-permission", rank: cause,
			match: `Unable to set TUNSETIFF for (?P<if>[^:]+): (?P<err>.+)|Unable to open (?P<path>/dev/net/tun) interface`,
			what:  "net_tap can't make its interface ({err|/dev/net/tun can't be opened})",
			why:   "that is for root (CAP_NET_ADMIN), or an interface of the name exists",
			mend:  "run as root, with the module loaded (sudo modprobe tun), and another iface= if ip -br link shows it",
		},
	}
}

// bind is the start of what the vhost library, and virtio-user as a server,
// say when bind(2) fails.
const bind = `(?:\((?P<path>/[^)]*)\) )?failed to bind(?: to (?P<path2>/[^:]+))?: `

var (
	regexpBackend = lazily(`virtio_user\w*\(\): \((/[^)]+)\)`)
	regexpDevice  = lazily(`failed to initialize (\S+) device`)
)

// backendPath adds the path that virtio-user tried, which it names in the line
// after.
func backendPath(c *console, i int, v values) bool {
	if m := c.after(i, regexpBackend()); m != nil {
		v["path"] = m[1]
	}
	return true
}

// deviceAfter adds the device that a driver gave up, which EAL names after it.
func deviceAfter(c *console, i int, v values) bool {
	if m := c.after(i, regexpDevice()); m != nil {
		v["dev"] = strings.TrimSpace(m[1])
	}
	return true
}
