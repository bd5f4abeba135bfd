package diagnose

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"syscall"
)

// The functions of this file and of argv.go and removed.go see a failure
// before the run. They are pure: others gather the facts. The lab takes no
// hugepages, and makes QEMU's arguments and the peers' addresses itself: what
// is here on these is for runs on machines and guests of the user's own.

// VhostSocket looks for a vhost-user socket in the contents of /proc/net/unix;
// exists says whether a file is at the path (lstat). It connects to nothing: a
// vhost-user server takes the first who connects for the guest.
//
// There is always something to say, and whether it is bad depends on which
// side asks:
//
//	listening             vhost-socket-taken    a server can't start; a client can connect
//	file, nobody listens  vhost-socket-stale    neither can
//	no file               vhost-socket-missing  a server can start; a client can't connect
func VhostSocket(procNetUnix []byte, path string, exists bool) (listening bool, f *Finding) {
	for line := range strings.Lines(string(procNetUnix)) {
		// Num RefCount Protocol Flags Type St Inode Path, see unix_seq_show
		// in Linux's net/unix/af_unix.c; the path may hold blanks.
		fields := strings.Fields(line)
		_, p, ok := cutFields(strings.TrimRight(line, "\n"), 7)
		if ok && p == path && len(fields) > 3 && acceptsConnections(fields[3]) {
			return true, &Finding{
				Kind: "vhost-socket-taken", Fatal: true,
				What: "somebody listens on " + path + " already",
				Why:  "another testpmd serves it, and DPDK doesn't take a socket over",
				Mend: "ss -xlp | grep " + path + " names the process: end it, or choose another path",
			}
		}
	}
	if exists {
		return false, &Finding{
			Kind: "vhost-socket-stale", Fatal: true,
			What: "nobody listens on " + path,
			Why:  "the file was left by a testpmd that was killed, so the next one can't bind to it and QEMU can't connect",
			Mend: "rm " + path + ", then start the vhost testpmd",
		}
	}
	return false, &Finding{
		Kind: "vhost-socket-missing", Fatal: true,
		What: "there is no socket " + path,
		Why:  "the vhost testpmd isn't running yet, or has another path",
		Mend: "start it with net_vhost0,iface=" + path + " before QEMU",
	}
}

// acceptsConnections reads the flags of /proc/net/unix, which are hexadecimal;
// 0x10000 is __SO_ACCEPTCON (include/linux/net.h).
func acceptsConnections(flags string) bool {
	var n uint64
	_, err := fmt.Sscanf(flags, "%x", &n)
	return err == nil && n&0x10000 != 0
}

// cutFields divides a line after its first n fields.
func cutFields(line string, n int) (head, tail string, ok bool) {
	i := 0
	for range n {
		for i < len(line) && line[i] == ' ' {
			i++
		}
		for i < len(line) && line[i] != ' ' {
			i++
		}
	}
	if i >= len(line) {
		return line, "", false
	}
	return line[:i], line[i+1:], true
}

// SocketPath checks the length of a Unix socket's path: sun_path has 108 bytes,
// the last one 0 (unix(7)).
func SocketPath(path string) *Finding {
	const most = 107
	if len(path) <= most {
		return nil
	}
	return &Finding{
		Kind: "socket-path-long", Fatal: true,
		What: fmt.Sprintf("the socket path %s has %d bytes", path, len(path)),
		Why:  fmt.Sprintf("a Unix socket's path holds %d", most),
		Mend: "choose a shorter one: export TMPDIR=/tmp, or a folder nearer the root",
	}
}

// KVM says what the error of opening /dev/kvm for reading and writing means;
// nil is none. A device that opens may still be no good: only a boot with a
// deadline tells (a nested or paravirtual KVM doesn't do all of x86).
func KVM(open error) *Finding {
	f := &Finding{Fatal: true}
	switch {
	case open == nil:
		return nil
	case errors.Is(open, fs.ErrPermission):
		f.Kind = "kvm-permission"
		f.What = "this user can't open /dev/kvm (permission denied)"
		f.Why = "the user isn't in the group kvm, or the container wasn't given the device"
		f.Mend = "sudo usermod -aG kvm $USER and log in again, and in a container pass --device /dev/kvm"
	case errors.Is(open, fs.ErrNotExist), errors.Is(open, syscall.ENODEV), errors.Is(open, syscall.ENXIO):
		f.Kind = "kvm-absent"
		f.What = "there is no /dev/kvm"
		f.Why = "the module isn't loaded, virtualisation is off in the BIOS, or this is a virtual machine or container without it"
		f.Mend = "sudo modprobe kvm_intel (or kvm_amd), or run with -accel tcg to try the set-up only, whose rates mean nothing"
	case errors.Is(open, syscall.EBUSY):
		f.Kind = "kvm-busy"
		f.What = "/dev/kvm is busy"
		f.Why = "another hypervisor has the CPU's virtualisation"
		f.Mend = "stop its machines, such as VirtualBox's, and sudo modprobe -r vboxdrv"
	default:
		f.Kind = "kvm-not-initialized"
		f.What = fmt.Sprintf("/dev/kvm can't be opened (%v)", open)
		f.Why = "KVM doesn't work on this machine"
		f.Mend = "look at dmesg | grep -i kvm, or run with -accel tcg to try the set-up only"
	}
	return f
}

// HugePages are the pages of one size on one NUMA node, as in
// /sys/devices/system/node/nodeN/hugepages/hugepages-KkB.
type HugePages struct {
	Node        int
	SizeKiB     int
	Total, Free int
}

// AnyNode is where memory is wanted that may come from every node.
const AnyNode = -1

// MemoryNeed is memory that somebody will take from hugepages: testpmd its -m
// or --socket-mem, QEMU the whole of its guest's -m.
type MemoryNeed struct {
	Who  string // such as "the guest"
	Node int    // or AnyNode
	MiB  int
}

// FreeHugepages checks that the free pages of a size are enough for all the
// needs together, node by node, and returns one finding a node that is short.
func FreeHugepages(pages []HugePages, sizeKiB int, needs ...MemoryNeed) []Finding {
	type sum struct {
		free, total, need int // in KiB
		who               []string
	}
	nodes := map[int]*sum{}
	var order []int
	at := func(node int) *sum {
		if nodes[node] == nil {
			nodes[node] = &sum{}
			order = append(order, node)
		}
		return nodes[node]
	}
	for _, p := range pages {
		if p.SizeKiB == sizeKiB {
			at(p.Node).free += p.Free * sizeKiB
			at(p.Node).total += p.Total * sizeKiB
		}
	}
	anywhere := sum{}
	for _, n := range needs {
		// A need is rounded up to whole pages.
		kib := (n.MiB<<10 + sizeKiB - 1) / sizeKiB * sizeKiB
		who := fmt.Sprintf("%s %d MiB", n.Who, n.MiB)
		if n.Node == AnyNode {
			anywhere.need += kib
			anywhere.who = append(anywhere.who, who)
			continue
		}
		at(n.Node).need += kib
		at(n.Node).who = append(at(n.Node).who, who)
	}
	var found []Finding
	short := func(where, file string, s sum) {
		found = append(found, Finding{
			Kind: "hugepages-short", Fatal: true,
			What: fmt.Sprintf("%d MiB of hugepages of %s are needed%s (%s) and %d MiB are free",
				s.need>>10, pageSize(fmt.Sprint(sizeKiB)), where, strings.Join(s.who, ", "), s.free>>10),
			Why: fmt.Sprintf("%d of %d pages are free there; other processes, or map files that a killed DPDK left in /dev/hugepages, hold the others", s.free/sizeKiB, s.total/sizeKiB),
			Mend: fmt.Sprintf("rm -f /dev/hugepages/*map_* while no DPDK runs, or echo %d > %s/hugepages/hugepages-%dkB/nr_hugepages",
				(s.total-s.free+s.need)/sizeKiB, file, sizeKiB),
		})
	}
	for _, node := range order {
		s := nodes[node]
		anywhere.total += s.total
		if s.need > s.free {
			short(fmt.Sprintf(" on NUMA node %d", node), fmt.Sprintf("/sys/devices/system/node/node%d", node), *s)
			continue
		}
		anywhere.free += s.free - s.need
	}
	if anywhere.need > anywhere.free {
		short("", "/sys/kernel/mm", anywhere)
	}
	return found
}

// HugetlbfsMounted checks, in the contents of /proc/mounts, that a hugetlbfs of
// the page size is mounted. defaultKiB is the size that a mount without
// pagesize= has (Hugepagesize in /proc/meminfo). A DPDK with --in-memory and a
// QEMU with memory-backend-memfd need none.
func HugetlbfsMounted(procMounts []byte, sizeKiB, defaultKiB int) *Finding {
	for line := range strings.Lines(string(procMounts)) {
		fields := strings.Fields(line)
		if len(fields) < 4 || fields[2] != "hugetlbfs" {
			continue
		}
		size := defaultKiB
		for o := range strings.SplitSeq(fields[3], ",") {
			if v, ok := strings.CutPrefix(o, "pagesize="); ok {
				if n, ok := parseSize(v, 1); ok {
					size = int(n >> 10)
				}
			}
		}
		if size == sizeKiB {
			return nil
		}
	}
	name := pageSize(fmt.Sprint(sizeKiB))
	return &Finding{
		Kind: "hugepages-not-mounted", Fatal: true,
		What: "no hugetlbfs with pages of " + name + " is mounted",
		Why:  "DPDK and QEMU take hugepages as files there, and a container doesn't have the host's mount",
		Mend: "mount -t hugetlbfs -o pagesize=" + strings.TrimSuffix(strings.ReplaceAll(name, " ", ""), "iB") + " nodev /dev/hugepages, or give testpmd --in-memory, or --no-huge to try the set-up only",
	}
}

// PeerAddress compares where a forwarding testpmd sends packets (peer= of what
// start prints, for the given port) with the address of the receiver's port 0
// (Port 0: MAC). Where they differ, only a receiver that is promiscuous counts
// anything.
func PeerAddress(forwarder []byte, port int, receiver []byte) *Finding {
	peer := group(forwarder, fmt.Sprintf(`TX P=%d/Q=\d+ .*peer=([0-9A-Fa-f:]{17})`, port))
	mac := group(receiver, `(?m)^Port 0: ([0-9A-Fa-f:]{17})`)
	if peer == "" || mac == "" || strings.EqualFold(peer, mac) {
		return nil
	}
	return &Finding{
		Kind: "peer-mac",
		What: fmt.Sprintf("packets are sent to %s (printed as peer=) and the receiver's port 0 is %s", peer, mac),
		Why:  "a NIC, a macvtap or a switch that isn't promiscuous drops them, and no counter says so",
		Mend: fmt.Sprintf("pass --eth-peer=%d,%s to the forwarder, or set promisc all on at the receiver", port, mac),
	}
}

// group is the last match's first group in the readable text: the
// configuration that was printed last is the one in force.
func group(text []byte, re string) string {
	m := regexp.MustCompile(re).FindAllStringSubmatch(strings.Join(readable(text), "\n"), -1)
	if m == nil {
		return ""
	}
	return m[len(m)-1][1]
}
