package diagnose

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
)

// one checks a finding, or that there is none where kind is empty.
func one(t *testing.T, f *Finding, kind string, says ...string) {
	t.Helper()
	if f == nil {
		if kind != "" {
			t.Errorf("no finding, want %s", kind)
		}
		return
	}
	sentence(t, *f)
	if f.Kind != kind {
		t.Errorf("got %s, want %q: %s", f.Kind, kind, f)
	}
	for _, s := range says {
		if !strings.Contains(f.String(), s) {
			t.Errorf("%s doesn't say %q: %s", f.Kind, s, f)
		}
	}
}

func TestSharedMemory(t *testing.T) {
	const user = " -chardev socket,id=c0,path=/tmp/v.sock -netdev vhost-user,id=n0,chardev=c0 -device virtio-net-pci,netdev=n0"
	const not = "guest-memory-not-shared"
	for _, tt := range []struct {
		argv string
		kind string
		says []string
	}{
		// Case 48, and what mends it.
		{"-m 2048 -object memory-backend-file,id=dimm1,size=2048M,mem-path=/dev/hugepages -numa node,memdev=dimm1" + user, not, []string{`"dimm1" has no share=on`}},
		{"-m 2048 -object memory-backend-file,id=dimm1,size=2048M,mem-path=/dev/hugepages,share=on -numa node,memdev=dimm1" + user, "", nil},
		{"-m 2G -object memory-backend-file,id=a,size=1G,share=yes -object memory-backend-file,id=b,size=1G,share -numa node,memdev=a -numa node,memdev=b" + user, "", nil},

		// memfd shares unless told not to; -machine names it since 5.0.
		{"-m 256M -object memory-backend-memfd,id=ram,size=256M,share=on -machine pc,memory-backend=ram" + user, "", nil},
		{"-m 256M -object memory-backend-memfd,id=ram,size=256M -M memory-backend=ram,type=q35" + user, "", nil},
		{"-m 256M -object memory-backend-memfd,id=ram,size=256M,share=off -machine memory-backend=ram" + user, not, []string{`"ram" has no share=on`}},
		{"-m 256M --object memory-backend-shm,id=ram,size=256M --machine memory-backend=ram" + user, "", nil},

		// Nothing, nothing attached, nothing of that name, no file.
		{"-m 256" + user, not, []string{"size=256M,share=on", "-machine memory-backend=ram"}},
		{"-m 256 -mem-path /dev/hugepages -mem-prealloc" + user, not, []string{"-mem-path gives private memory"}},
		{"-m 256 -object memory-backend-file,id=m,size=256M,share=on" + user, not, []string{`"m" is not attached`, "-machine memory-backend=m"}},
		{"-m 256 -machine memory-backend=nope" + user, not, []string{`"nope" is nowhere defined`}},
		{"-m 256 -object memory-backend-ram,id=m,size=256M,share=on -machine memory-backend=m" + user, not, []string{"memory-backend-ram", "memory-backend-memfd,id=m,size=256M"}},
		{"-m 2G -object memory-backend-file,id=a,size=1G,share=on -object memory-backend-ram,id=b,size=1G -numa node,memdev=a -numa node,memdev=b" + user, not, []string{`"b" is a memory-backend-ram`}},

		// Sizes: -m in MiB, size in bytes, both with suffixes.
		{"-m size=1G,slots=2,maxmem=2G -object memory-backend-file,id=a,size=1073741824,share=on -numa node,memdev=a" + user, "", nil},
		{"-m 0.5G -object memory-backend-memfd,id=a,size=512m -numa node,memdev=a" + user, "", nil},
		{"-m 1024 -object memory-backend-memfd,id=a,size=512M -numa node,memdev=a" + user, not, []string{"512M", "1024M"}},
		{"-object memory-backend-memfd,id=a,size=128M -numa node,memdev=a" + user, "", nil},

		// As libvirt writes it.
		{`-m 64 -object '{"qom-type":"memory-backend-memfd","id":"ram","share":true,"size":67108864}' -machine memory-backend=ram` + user, "", nil},
		{`-m 64 -object '{"qom-type":"memory-backend-file","id":"ram","share":false,"size":67108864}' -machine memory-backend=ram` + user, not, nil},
		{`-m 64 -netdev '{"type":"vhost-user","chardev":"c0","id":"n0"}'`, not, nil},
		{"-m 64 -netdev type=vhost-user,id=n0,chardev=c0", not, nil},

		// Other ports need no shared memory.
		{"-m 256 -netdev tap,id=n0,vhost=on", "", nil},
		{"-m 256", "", nil},
		{"", "", nil},
		{"-netdev", "", nil},
	} {
		t.Run(tt.argv, func(t *testing.T) {
			one(t, SharedMemory(append([]string{"qemu-system-x86_64"}, split(tt.argv)...)), tt.kind, tt.says...)
		})
	}
}

func TestRemovedOptions(t *testing.T) {
	argv := []string{"qemu-system-x86_64", "-no-acpi", "--no-hpet", "-append", "no-acpi", "-localtime", "-m", "64"}
	for _, tt := range []struct {
		major int
		want  []string
	}{
		{2, nil},
		{7, []string{"-localtime"}},
		{8, []string{"-localtime"}},
		{9, []string{"-no-acpi", "-no-hpet", "-localtime"}},
		{10, []string{"-no-acpi", "-no-hpet", "-localtime"}},
	} {
		found := RemovedOptions(argv, tt.major)
		if len(found) != len(tt.want) {
			t.Fatalf("QEMU %d: %v", tt.major, found)
		}
		for i, f := range found {
			one(t, &f, "qemu-option-removed", "QEMU "+fmt.Sprint(tt.major)+" has no option "+tt.want[i], "use -")
		}
	}
}

const procNetUnix = `Num       RefCount Protocol Flags    Type St Inode Path
0000000000000000: 00000002 00000000 00010000 0001 01 16345 /run/systemd/notify
0000000000000000: 00000003 00000000 00000000 0001 03 20101 /tmp/connected.sock
0000000000000000: 00000002 00000000 00010000 0001 01 20102 /tmp/v.sock
0000000000000000: 00000002 00000000 00010000 0005 01 20103 /tmp/a folder/v.sock
0000000000000000: 00000003 00000000 00000000 0001 03 20104
0000000000000000: 00000002 00000000 00010000 0001 01 20105 @abstract
`

func TestVhostSocket(t *testing.T) {
	for _, tt := range []struct {
		path      string
		exists    bool
		listening bool
		kind      string
		says      []string
	}{
		{"/tmp/v.sock", true, true, "vhost-socket-taken", []string{"/tmp/v.sock", "ss -xlp"}},
		{"/tmp/a folder/v.sock", true, true, "vhost-socket-taken", nil},
		{"@abstract", false, true, "vhost-socket-taken", nil},
		{"/tmp/connected.sock", true, false, "vhost-socket-stale", []string{"rm /tmp/connected.sock"}},
		{"/tmp/stale.sock", true, false, "vhost-socket-stale", []string{"nobody listens on /tmp/stale.sock", "rm /tmp/stale.sock"}},
		{"/tmp/none.sock", false, false, "vhost-socket-missing", []string{"net_vhost0,iface=/tmp/none.sock"}},
		{"v.sock", false, false, "vhost-socket-missing", nil}, // no suffix of a path
		{"", false, false, "vhost-socket-missing", nil},
	} {
		listening, f := VhostSocket([]byte(procNetUnix), tt.path, tt.exists)
		if listening != tt.listening {
			t.Errorf("%s: listening=%t", tt.path, listening)
		}
		if tt.path != "" {
			one(t, f, tt.kind, tt.says...)
		}
	}
	if listening, _ := VhostSocket(nil, "/tmp/v.sock", false); listening {
		t.Error("somebody listens in an empty table")
	}
}

func TestSocketPath(t *testing.T) {
	one(t, SocketPath("/"+strings.Repeat("a", 106)), "")
	one(t, SocketPath("/"+strings.Repeat("a", 107)), "socket-path-long", "108 bytes", "holds 107")
}

func TestKVM(t *testing.T) {
	pathError := func(err error) error { return &fs.PathError{Op: "open", Path: "/dev/kvm", Err: err} }
	one(t, KVM(nil), "")
	one(t, KVM(pathError(syscall.EACCES)), "kvm-permission", "usermod -aG kvm $USER")
	one(t, KVM(pathError(syscall.ENOENT)), "kvm-absent", "modprobe kvm_intel", "-accel tcg")
	one(t, KVM(pathError(syscall.ENXIO)), "kvm-absent")
	one(t, KVM(pathError(syscall.EBUSY)), "kvm-busy")
	one(t, KVM(errors.New("odd")), "kvm-not-initialized", "odd")
	_, err := os.Open("/dev/nosuchkvm")
	one(t, KVM(err), "kvm-absent")
}

func TestFreeHugepages(t *testing.T) {
	pages := []HugePages{
		{Node: 0, SizeKiB: 2048, Total: 2048, Free: 1536},
		{Node: 1, SizeKiB: 2048, Total: 1024, Free: 1024},
		{Node: 0, SizeKiB: 1 << 20, Total: 4, Free: 0},
	}
	first := func(found []Finding) *Finding {
		if len(found) == 0 {
			return nil
		}
		return &found[0]
	}
	guest := MemoryNeed{Who: "the guest", Node: 0, MiB: 6144}
	// Case 62: 3072 MiB are free on the node; what other nodes have is no help.
	one(t, first(FreeHugepages(pages, 2048, guest)), "hugepages-short",
		"6144 MiB of hugepages of 2 MiB are needed on NUMA node 0", "the guest 6144 MiB", "3072 MiB are free",
		"echo 3584 > /sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages")
	one(t, first(FreeHugepages(pages, 2048, MemoryNeed{"the guest", 0, 2048}, MemoryNeed{"testpmd", 0, 1024})), "")
	one(t, first(FreeHugepages(pages, 2048, MemoryNeed{"the guest", 0, 2048}, MemoryNeed{"testpmd", 0, 1026})), "hugepages-short",
		"the guest 2048 MiB, testpmd 1026 MiB")
	// Any node: what is left on all of them.
	one(t, first(FreeHugepages(pages, 2048, MemoryNeed{"the guest", AnyNode, 5120})), "")
	one(t, first(FreeHugepages(pages, 2048, MemoryNeed{"testpmd", 0, 1024}, MemoryNeed{"the guest", AnyNode, 5000})), "hugepages-short",
		"the guest 5000 MiB", "4096 MiB are free", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages")
	// Case 41: reserved and all used; and a size or node without any.
	one(t, first(FreeHugepages([]HugePages{{0, 2048, 1024, 0}}, 2048, MemoryNeed{"testpmd", AnyNode, 256})), "hugepages-short",
		"0 of 1024 pages are free", "rm -f /dev/hugepages/*map_*", "echo 1152 >")
	one(t, first(FreeHugepages(pages, 1<<20, MemoryNeed{"the guest", 0, 1})), "hugepages-short", "1 GiB", "echo 5 >")
	one(t, first(FreeHugepages(nil, 2048, MemoryNeed{"the guest", 3, 2})), "hugepages-short", "node 3")
	if found := FreeHugepages(pages, 2048, guest, MemoryNeed{"testpmd", 1, 4096}); len(found) != 2 {
		t.Errorf("two nodes are short: %v", found)
	}
	one(t, first(FreeHugepages(pages, 2048)), "")
}

func TestHugetlbfsMounted(t *testing.T) {
	const mounts = `proc /proc proc rw 0 0
hugetlbfs /dev/hugepages hugetlbfs rw,relatime 0 0
nodev /mnt/huge1g hugetlbfs rw,relatime,pagesize=1024M 0 0
`
	one(t, HugetlbfsMounted([]byte(mounts), 2048, 2048), "")
	one(t, HugetlbfsMounted([]byte(mounts), 1<<20, 2048), "")
	one(t, HugetlbfsMounted([]byte(mounts), 2048, 1<<20), "hugepages-not-mounted", "mount -t hugetlbfs -o pagesize=2M nodev", "--in-memory")
	one(t, HugetlbfsMounted(nil, 1<<20, 2048), "hugepages-not-mounted", "pagesize=1G")
}

func TestPeerAddress(t *testing.T) {
	forwarder := read(t, "cases/57-B-mac-mismatch-dropped-by-nic.txt")
	receiver := []byte("Configuring Port 0 (socket 0)\r\nPort 0: 02:00:00:00:00:0A\r\nChecking link statuses...\r\n")
	one(t, PeerAddress(forwarder, 1, receiver), "peer-mac", "02:00:00:00:00:01", "02:00:00:00:00:0A", "--eth-peer=1,02:00:00:00:00:0A")
	one(t, PeerAddress(forwarder, 1, []byte("Port 0: 02:00:00:00:00:01\n")), "")
	one(t, PeerAddress(forwarder, 7, receiver), "")
	one(t, PeerAddress(forwarder, 1, nil), "")
}

func TestSplit(t *testing.T) {
	for line, want := range map[string]string{
		`a b  c`:               "a|b|c",
		`a 'b c' "d e"`:        "a|b c|d e",
		`a\ b "c\"d" ''`:       `a b|c"d|`,
		`  `:                   "",
		`'open`:                "open",
		`-append "x='y z' --"`: "-append|x='y z' --",
	} {
		if got := strings.Join(split(line), "|"); got != want {
			t.Errorf("%s: %s, want %s", line, got, want)
		}
	}
}

func FuzzSharedMemory(f *testing.F) {
	f.Add("qemu -m 1G -object memory-backend-file,id=a,size=1G -netdev vhost-user")
	f.Add(`-object {"qom-type":"memory-backend-file","size":1e300} -m 9e99E -numa ,memdev= -netdev vhost-user`)
	f.Fuzz(func(t *testing.T, line string) {
		if f := SharedMemory(split(line)); f != nil && (f.What == "" || f.Why == "" || f.Mend == "") {
			t.Errorf("%+v", f)
		}
	})
}
