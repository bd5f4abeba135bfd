package diagnose

import (
	"os"
	"path/filepath"
	"testing"
)

// TestProvoked are failures provoked on DPDK 22.11.11 and QEMU 7.2.22, with the
// text that came: dpdk/ from testpmd, qemu/ from QEMU, guest/ from a guest's
// serial line, host/ from shells and tools.
func TestProvoked(t *testing.T) {
	table := map[string][]want{
		"dpdk/afpacket-eperm.txt":    {{6, "af-packet-permission", false, []string{"net_af_packet0", "setcap cap_net_raw"}}, {10, "mlockall", true, []string{"ulimit -l unlimited"}}},
		"dpdk/afxdp-eperm.txt":       {{6, "mlockall", true, nil}, {12, "af-xdp", false, []string{"Failed to create umem"}}, {13, "af-xdp", false, nil}, {15, "af-xdp", false, nil}},
		"dpdk/afxdp.txt":             {{6, "interface-absent", false, []string{"nosuch", "ip -br link"}}},
		"dpdk/allow.txt":             {{6, "no-ports", false, []string{"dpdk-devbind.py"}}},
		"dpdk/burst.txt":             {{7, "testpmd-option-value", false, []string{"burst must be between1 and 512"}}},
		"dpdk/eof-i.txt":             {{28, "stdin-closed", false, []string{"first prompt"}}},
		"dpdk/fwd.txt":               {{6, "forwarding-mode-unknown", true, []string{"foo", "help config"}}, {33, "stdin-closed", false, nil}},
		"dpdk/inmem.txt":             {{5, "hugepages-none-free", false, []string{"2 MiB or 1 GiB", "hugepages-2048kB/nr_hugepages"}}},
		"dpdk/inmemnohuge.txt":       {{3, "options-exclude", false, []string{"--legacy-mem is not compatible with --in-memory"}}},
		"dpdk/lcore.txt":             {{4, "lcore-unavailable", false, []string{"CPU 5 ", "-l 0-1"}}},
		"dpdk/lcore2.txt":            {{4, "lcore-too-high", false, []string{"--lcores 0@0,1@200"}}},
		"dpdk/lcore3.txt":            {{7, "lcore-unavailable", false, []string{"CPU 4, 5, 6, 7 ", "-l 0-1"}}},
		"dpdk/lcore4.txt":            {{3, "lcore-list", false, []string{"invalid core list syntax", "-l 0,1"}}},
		"dpdk/lcore5.txt":            {{3, "lcore-unavailable", false, []string{"CPU 9 "}}},
		"dpdk/mbuf.txt":              {{9, "mbuf-pool", false, []string{"155456", "about 360 MiB", "--total-num-mbufs=16384"}}},
		"dpdk/memif-client.txt":      {{7, "memif-folder", false, []string{"net_memif0", "mkdir -p"}}},
		"dpdk/memif-role.txt":        {{7, "memif-arguments", false, []string{"Unknown role: foo", "role=client"}}},
		"dpdk/memif-taken.txt":       {{7, "memif-socket-taken", false, []string{"/tmp/sweep/stale.sock", "rm /tmp/sweep/stale.sock"}}},
		"dpdk/nbcores.txt":           {{7, "testpmd-option-value", false, []string{"nb-cores should be > 0 and <= 1"}}},
		"dpdk/nohugemem.txt":         {{6, "hugepages-none", false, []string{"nr_hugepages", "--no-huge"}}},
		"dpdk/onecore.txt":           {{8, "one-lcore", false, []string{"-l 0,1", "--lcores 0@0,1@0"}}},
		"dpdk/plugin.txt":            {{4, "plugin", false, []string{"/nosuch.so", "No such file"}}},
		"dpdk/plugin2.txt":           {{4, "plugin", false, []string{"/etc/hostname", "file too short"}}},
		"dpdk/runtimedir.txt":        {{3, "runtime-folder", false, []string{"/srv/dpdk", "export XDG_RUNTIME_DIR="}}},
		"dpdk/rxd.txt":               {{13, "memif-no-server", false, []string{"/tmp/m.sock", "role=server"}}, {15, "ports-not-started", true, []string{"port start all"}}},
		"dpdk/rxq.txt":               {{6, "queues-or-descriptors", false, []string{"--rxq=5000", "--rxq=1024"}}},
		"dpdk/second.txt":            {{4, "primary-exists", false, []string{"prefix provdup", "--file-prefix"}}},
		"dpdk/secondary-noprim.txt":  {{4, "config-not-opened", false, []string{"/var/run/dpdk/provnone/config", "prefix provnone"}}},
		"dpdk/secondary.txt":         {{9, "secondary-refused", false, []string{"hugepage_data", "--file-prefix"}}},
		"dpdk/socketmem.txt":         {{6, "hugepages-none", false, nil}},
		"dpdk/socketmemnohuge.txt":   {{3, "options-exclude", false, []string{"Options -m and --socket-mem"}}},
		"dpdk/stale.txt":             {{12, "vhost-socket-taken", false, []string{"/tmp/sweep/stale.sock"}}},
		"dpdk/tap-eperm.txt":         {{6, "tap-permission", false, []string{"Operation not permitted"}}, {12, "mlockall", true, nil}},
		"dpdk/txpkts.txt":            {{6, "packet-size-refused", true, []string{"of 10,", "at least 42"}}, {33, "stdin-closed", false, nil}},
		"dpdk/unkopt.txt":            {{1, "option-unknown", false, []string{"--nosuch"}}},
		"dpdk/unkopt2.txt":           {{7, "option-unknown", false, []string{"--nosuch"}}},
		"dpdk/vdev1.txt":             {{4, "device-unknown", false, []string{"net_foo0", "find /usr -name 'librte_net_foo*'"}}},
		"dpdk/vdev2.txt":             {{12, "vhost-socket-folder", false, []string{"mkdir -p $(dirname /nosuch/v.sock)"}}},
		"dpdk/vdev3.txt":             {{6, "device-not-initialized", false, []string{"net_vhost0"}}},
		"dpdk/vdev4.txt":             {{6, "vhost-socket-missing", false, []string{"/tmp/nosuch.sock"}}},
		"dpdk/vdev5.txt":             {{6, "interface-absent", false, []string{"net_af_packet0"}}},
		"dpdk/vhost-bind-eacces.txt": {{6, "mlockall", true, nil}, {13, "vhost-socket-permission", false, []string{"/srv/x.sock"}}},
		"dpdk/vhost-noshare.txt":     {{66, "peer-closed", true, []string{"/tmp/sweep/v1.sock"}}, {194, "stdin-closed", false, nil}},
		"dpdk/vhost-ok.txt":          nil,
		"dpdk/vhostkernel.txt":       {{6, "vhost-net-absent", false, []string{"modprobe vhost_net"}}},
		"dpdk/vu-eacces.txt":         {{6, "vhost-socket-permission", false, []string{"/tmp/sweep/x1.sock", "chmod o+rw"}}, {13, "mlockall", true, nil}},

		"qemu/bind-eacces.txt":            {{1, "vhost-socket-permission", false, []string{"/srv/x.sock"}}},
		"qemu/chardev-nosuch.txt":         {{1, "vhost-socket-missing", false, []string{"/tmp/sweep/nosuch.sock"}}},
		"qemu/chardev-stale.txt":          {{1, "vhost-socket-stale", false, []string{"rm /tmp/sweep/stale.sock"}}},
		"qemu/cpu.txt":                    {{1, "qemu-cpu", false, []string{"nosuch", "-cpu help"}}},
		"qemu/cpuhost-tcg.txt":            {{1, "qemu-cpu", false, []string{"-cpu host needs KVM", "-cpu max"}}},
		"qemu/dev-unknown.txt":            {{1, "qemu-device-unknown", false, []string{"virtio-net-pcx"}}},
		"qemu/drive.txt":                  {{1, "image-file", false, []string{"/nosuch.img"}}},
		"qemu/format.txt":                 {{1, "image-file", false, []string{"qcow2"}}},
		"qemu/id.txt":                     {{1, "qemu-duplicate-id", false, []string{"netdevs have the id n0"}}},
		"qemu/kernel-missing.txt":         {{1, "guest-kernel-file", false, []string{"/nosuch/vmlinuz"}}},
		"qemu/kvm-eacces.txt":             {{2, "kvm-permission", false, nil}},
		"qemu/kvm-missing.txt":            {{1, "qemu-accelerator", false, []string{"foo", "-accel help"}}},
		"qemu/longpath.txt":               {{1, "socket-path-long", false, []string{"107 bytes"}}},
		"qemu/m.txt":                      {{1, "guest-memory", false, []string{"Cannot allocate memory"}}},
		"qemu/machine-kvm.txt":            {{2, "qemu-ended-by-signal", true, []string{"signal 15 from timeout"}}},
		"qemu/machine.txt":                {{1, "qemu-machine", false, []string{"-M help"}}},
		"qemu/mem-file.txt":               {{1, "guest-memory-path", false, []string{"/nosuch/x"}}},
		"qemu/mem-hp.txt":                 {{1, "guest-hugepages-short", false, []string{"nr_hugepages"}}},
		"qemu/mem-noobj.txt":              {{1, "guest-memory-backend", false, []string{"backend nope"}}},
		"qemu/mem-size-machine.txt":       {{1, "guest-memory-size", false, nil}},
		"qemu/mem-size.txt":               {{1, "guest-memory-size", false, []string{"128M", "-m says 64M"}}},
		"qemu/netdev-chardev-missing.txt": {{1, "qemu-chardev-missing", false, []string{"chardev nope"}}},
		"qemu/netdev-missing.txt":         {{1, "qemu-netdev-missing", false, []string{"netdev nope"}}},
		"qemu/opt.txt":                    {{1, "qemu-option-unknown", false, []string{"-nosuchopt"}}},
		"qemu/prop-unknown.txt":           {{1, "qemu-property-unknown", false, []string{"property foo", "-device virtio-net-pci,help"}}},
		"qemu/tap-eperm.txt":              {{1, "tap-permission", false, []string{"Operation not permitted"}}},
		"qemu/tap-nouser.txt":             {{1, "tap-script", false, []string{"/nosuch", "script=no"}}},
		"qemu/telnet.txt":                 {{1, "socket-connect", false, []string{"127.0.0.1:1"}}},
		"qemu/txq.txt":                    {{1, "qemu-queue-size", false, []string{"tx_queue_size=1024"}}},
		"qemu/vfio.txt":                   {{1, "qemu-vfio-absent", false, []string{"0000:00:1f.0"}}},
		"qemu/vhost-killed.txt":           {{1, "vhost-backend-gone", false, []string{"start it again"}}, {7, "qemu-ended-by-signal", true, nil}},
		"qemu/vhost-noshare.txt":          {{1, "guest-memory-not-shared", false, []string{"share=on"}}, {4, "qemu-ended-by-signal", true, nil}},
		"qemu/vhostdevfd.txt":             {{1, "tap-descriptor", false, []string{"descriptor 99"}}},
		"qemu/vhostforce.txt":             {{1, "qemu-short-form", true, []string{"vhostforce=on"}}, {3, "qemu-waits", true, []string{"client=1"}}},
		"qemu/vhostnet-absent.txt":        {{1, "vhost-net-absent", false, []string{"modprobe vhost_net"}}},

		"guest/linux-healthy.txt":   nil,
		"guest/linux-no-initrd.txt": {{324, "guest-no-root", false, []string{"unknown-block(0,0)", "-initrd"}}},

		"host/devbind-no-lspci.txt": {{1, "program-missing", false, []string{"apt install pciutils"}}},
		"host/devbind-unknown.txt":  {{1, "driver-not-loaded", true, nil}, {2, "driver-not-loaded", false, []string{"modprobe vfio-pci"}}},
		"host/ip-eperm.txt":         {{1, "link-refused", false, []string{"Operation not permitted"}}},
		"host/ip-exists.txt":        {{1, "link-refused", false, []string{"File exists", "ip link del"}}},
		"host/killed.txt":           {{1, "killed", false, []string{"dmesg"}}},
		"host/modprobe.txt":         {{1, "module-missing", false, []string{"sweepnosuch", "/lib/modules/6.1.0-18-amd64"}}},
		"host/mount.txt":            {{1, "not-root", false, []string{"sudo"}}},
		"host/no-space.txt":         {{1, "no-space", false, []string{"df -h"}}},
		"host/not-found-sh.txt":     {{1, "program-missing", false, []string{"dpdk-testpmx"}}},
		"host/not-found.txt":        {{1, "program-missing", false, []string{"dpdk-testpmx"}}},
		"host/nr-hugepages.txt":     {{1, "sysfs-write", false, []string{"sudo tee /sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"}}},
		"host/segv.txt":             {{1, "crash", false, []string{"segmentation fault"}}},
	}
	for _, dir := range []string{"dpdk", "qemu", "guest", "host"} {
		files, err := os.ReadDir(filepath.Join("testdata", dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			name := dir + "/" + file.Name()
			wants, ok := table[name]
			if !ok {
				t.Errorf("no test of testdata/%s", name)
				continue
			}
			t.Run(name, func(t *testing.T) { check(t, Explain(read(t, name)), wants) })
		}
	}
}
