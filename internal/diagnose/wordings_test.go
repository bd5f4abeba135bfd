package diagnose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// wording is a failure as one version or another prints it.
type wording struct {
	kind string
	note bool
	text string
	says []string
}

// wordings are the texts that were not provoked here: from the sources of DPDK
// 16.07 to 25.11, QEMU 2.0 to 10.0, Linux and Unikraft, and from the issues of
// people who met them.
func wordings() []wording {
	const fails = "\nEAL: FATAL: Cannot get hugepage information.\nEAL: Cannot get hugepage information.\n"
	return []wording{
		// Hugepages: until 19.05, 19.08 to 20.11, since 21.02; with a panic
		// until 17.02.
		{"hugepages-none-free", false, "EAL: No free hugepages reported in hugepages-2048kB" + fails, []string{"2 MiB"}},
		{"hugepages-none-free", false, "EAL: No available hugepages reported in hugepages-2048kB" + fails, []string{"2 MiB"}},
		{"hugepages-none-free", false, "EAL: No available 2048 kB hugepages reported" + fails, []string{"2 MiB", "hugepages-2048kB"}},
		{"hugepages-none-free", false, "EAL: No free 1048576 kB hugepages reported on node 1" + fails, []string{"1 GiB"}},
		{"hugepages-none-free", false, "EAL: No free hugepages reported in hugepages-2048kB\nPANIC in rte_eal_init():\nCannot get hugepage information\n", nil},
		{"hugepages-size-empty", true, "EAL: No available 2048 kB hugepages reported\nEAL: Probing VFIO support...", []string{"echo 1024 >"}},
		{"hugepages-not-mounted", true, "EAL: 4 hugepages of size 1073741824 reserved, but no mounted hugetlbfs found for that size\nConfiguring Port 0", []string{"4 hugepages of 1 GiB", "pagesize=1G"}},
		{"hugepages-not-mounted", false, "EAL: No free hugepages reported in hugepages-1048576kB\nEAL: 1984 hugepages of size 2097152 reserved, but no mounted hugetlbfs found for that size" + fails, []string{"1984 hugepages of 2 MiB"}},
		{"hugepages-node-short", false, "EAL: Not enough memory available on socket 1! Requested: 1025MB, available: 512MB\nEAL: FATAL: Cannot init memory", []string{"node 1", "512 MiB", "1025 MiB", "echo 513 > /sys/devices/system/node/node1"}},
		{"hugepages-short", false, "EAL: Not enough memory available! Requested: 4096MB, available: 32MB", []string{"32 MiB", "echo 2048 >"}},
		{"hugepage-file", false, "EAL: get_seg_fd(): open '/dev/hugepages/rtemap_0' failed: Permission denied", []string{"/dev/hugepages/rtemap_0", "--huge-dir"}},
		{"hugepage-file", false, "EAL: get_seg_fd(): open failed: Permission denied", []string{"Permission denied"}},
		{"hugepage-file", false, "EAL: Unable to open hugepage directory /dev/hugepages", []string{"/dev/hugepages"}},
		{"memory-not-mapped", false, "EAL: Cannot get a virtual area of any size: Cannot allocate memory", []string{"ulimit -v unlimited"}},
		{"memory-not-mapped", false, "EAL: Cannot mmap memory for rte_config at [0x1], got [0x2] - please use '--base-virtaddr' option", []string{"--base-virtaddr="}},
		{"dma-mask", false, "EAL: alloc_pages_on_heap(): couldn't allocate memory due to IOVA exceeding limits of current DMA mask\nEAL: alloc_pages_on_heap(): Please try initializing EAL with --iova-mode=pa parameter", []string{"--iova-mode=pa"}},
		{"numa-no-memory", true, "EAL: WARNING: Master core has no memory on local socket!", nil},
		{"mempolicy-refused", true, "EAL: set_mempolicy failed: Operation not permitted", []string{"SYS_NICE"}},
		{"tsc-unreliable", true, "EAL: WARNING: cpu flags constant_tsc=yes nonstop_tsc=no -> using unreliable clock cycles !", nil},
		{"primary-exists", false, "EAL: Cannot create lock on '/var/run/.rte_config'. Is another primary process running?", []string{"prefix rte"}},
		{"primary-exists", false, "EAL: Cannot create lock on '/run/user/1000/dpdk/vhost/config'. Is another primary process running?", []string{"prefix vhost"}},
		{"config-not-opened", false, "PANIC in rte_eal_config_attach():\nCannot open '/var/run/.rte_config' for rte_mem_config", nil},
		{"config-not-resized", false, "EAL: Cannot resize '/var/run/dpdk/rte/config' for rte_mem_config", []string{"df -h"}},
		{"primary-version", false, "EAL: Primary and secondary process DPDK version mismatch", nil},
		{"runtime-folder", false, "EAL: Unable to open runtime directory /tmp/dpdk/rte", []string{"/tmp/dpdk/rte"}},
		{"telemetry-socket", true, "TELEMETRY: Error binding socket: Permission denied", []string{"Permission denied"}},

		// CPUs: until 18.11, 25.07 and later.
		{"lcore-unavailable", false, "EAL: lcore 4 unavailable\nEAL: invalid coremask", []string{"CPU 4 "}},
		{"lcore-unavailable", false, "EAL: lcore 9 unavailable\nEAL: invalid coremask or core-list parameter, please check specified cores are part of 0-3", []string{"CPU 9 ", "-l 0-3"}},
		{"lcore-too-high", false, "EAL: lcore 200 >= RTE_MAX_LCORE (128), cannot use.", []string{"RTE_MAX_LCORE (128)", "1@200"}},
		{"lcores-given-twice", false, "EAL: Option --lcore is ignored, because (-l) is set!", []string{"--lcore and -l"}},
		{"lcore-list", false, "EAL: No lcores in coremask: [0x0]", nil},
		{"cpu-flag", false, "ERROR: This system does not support \"AVX512F\".\nPlease check that RTE_MACHINE is set correctly.\nEAL: FATAL: unsupported cpu type.", []string{"AVX512F", "-cpu host"}},
		{"iova-pa-unavailable", false, "EAL: FATAL: Cannot use IOVA as 'PA' since physical addresses are not available", []string{"root"}},
		{"iova-pa-unavailable", false, "EAL: FATAL: Cannot use IOVA as 'PA' as it is disabled during build", []string{"--iova-mode=va"}},
		{"option-removed", false, "testpmd: unrecognized option '--pci-whitelist'", []string{"-a (--allow)"}},
		{"option-removed", false, "dpdk-testpmd: invalid option -- 'w'", []string{"-a (--allow)"}},
		{"option-unknown", false, "ARGPARSE: unknown argument --nosuch!", []string{"--nosuch"}},
		{"options-exclude", false, "EAL: Options '--legacy-mem' and '--in-memory' can't be used at the same time", []string{"--in-memory"}},
		{"option-value", false, "EAL: invalid parameters for --socket-mem", []string{"--socket-mem"}},
		{"device-unknown", false, "EAL: no driver found for net_vhost0", []string{"net_vhost0", "librte_net_vhost*"}},
		{"device-unknown", false, "ERROR: failed to parse device \"0000:03:00.1,foo\"", []string{"0000:03:00.1", "lspci -D"}},
		{"library-missing", false, "dpdk-testpmd: error while loading shared libraries: librte_eal.so.22: cannot open shared object file: No such file or directory", []string{"librte_eal.so.22", "ldconfig -p | grep librte_eal"}},
		{"library-mismatch", false, "dpdk-testpmd: symbol lookup error: /usr/lib/librte_net_vhost.so.23: undefined symbol: rte_vhost_get_stats", []string{"rte_vhost_get_stats", "librte_net_vhost.so.23"}},
		{"library-mismatch", false, "./testpmd: /lib/librte_eal.so: version `DPDK_23' not found (required by ./testpmd)", []string{"DPDK_23"}},
		{"plugin-folder", false, "EAL: Error, directory path /tmp/pmds is world-writable and insecure", []string{"/tmp/pmds", "chmod o-w"}},
		{"device-not-initialized", false, "EAL: failed to initialize eth_null0 device\nPANIC in rte_eal_init():\nCannot init pmd devices", []string{"eth_null0"}},
		{"bus-probe", false, "EAL: Bus (pci) probe failed.", []string{"bus pci"}},
		{"gave-up", false, "EAL: Error - exiting with code: 1\n  Cause: rte_zmalloc(1 struct rte_port) failed", []string{"rte_zmalloc"}},
		{"panic", false, "PANIC in rte_eal_init():\nCannot init logs\n6: [testpmd() [0x40520e]]", []string{"rte_eal_init (Cannot init logs)"}},
		{"exited", false, "EAL: Error - exiting with code: 1", []string{"it gave no cause"}},

		// VFIO and dpdk-devbind.
		{"vfio-group", false, "EAL:   0000:06:00.0 VFIO group is not viable!", []string{"0000:06:00.0"}},
		{"no-iommu", false, "[   12.3] vfio-pci 0000:06:00.0: probe with driver vfio-pci failed with error -22", []string{"0000:06:00.0"}},
		{"no-iommu", false, "Error: bind failed for 0000:00:04.0 - Cannot bind to driver vfio-pci", []string{"0000:00:04.0"}},
		{"no-iommu", false, "Error: bind failed for 0000:02:06.0 - Cannot bind to driver vfio-pci: [Errno 22] Invalid argument\nError: unbind failed for 0000:02:06.0 - Cannot open /sys/bus/pci/drivers//unbind", []string{"0000:02:06.0"}},
		{"no-iommu", false, "Error: IOMMU support is disabled, use --noiommu-mode for binding in noiommu mode", []string{"--noiommu-mode"}},
		{"bind-failed", false, "Error: bind failed for 0000:01:00.1 - Cannot open /sys/bus/pci/drivers/vfio_pci/bind", []string{"0000:01:00.1", "vfio_pci", "hyphen"}},
		{"bind-failed", false, "Error: bind failed for 0000:01:00.1 - Cannot write new PCI ID to driver uio_pci_generic: [Errno 17] File exists", []string{"0000:01:00.1"}},
		{"nic-active", false, "Warning: routing table indicates that interface 0000:03:00.0 is active. Skipping unbind", []string{"0000:03:00.0"}},
		{"device-absent", false, "ValueError: Unknown device: enp1s0f1. Please specify device in \"bus:slot.func\" format", []string{"enp1s0f1"}},
		{"vfio-device-permission", false, "EAL: Cannot open /dev/vfio/44: Permission denied\nEAL: Failed to open VFIO group 44", []string{"chown $USER /dev/vfio/44"}},
		{"vfio-device-busy", false, "EAL: Cannot open /dev/vfio/151: Device or resource busy\nEAL: Failed to open VFIO group 151\nEAL: Requested device 0000:91:03.2 cannot be used", []string{"fuser -v /dev/vfio/151"}},
		{"vfio-device-busy", false, "qemu-system-x86_64: -device vfio-pci,host=0000:06:00.0: vfio 0000:06:00.0: failed to open /dev/vfio/12: Device or resource busy", []string{"/dev/vfio/12"}},
		{"vfio-absent", false, "EAL: Cannot open VFIO container /dev/vfio/vfio, error 2 (No such file or directory)", []string{"/dev/vfio/vfio", "modprobe vfio-pci"}},
		{"memlock", false, "EAL: Cannot set up DMA remapping, error 12 (Cannot allocate memory)\nEAL: 0000:06:00.0 DMA remapping failed, error 12 (Cannot allocate memory)", []string{"ulimit -l unlimited"}},
		{"memlock", false, "[  99.1] vfio_pin_pages_remote: RLIMIT_MEMLOCK (65536) exceeded", []string{"65536 bytes"}},
		{"dma-map", false, "EAL:   0000:06:00.0 DMA remapping failed, error 22 (Invalid argument)", []string{"error 22"}},
		{"interrupt-remapping", false, "EAL: 0000:06:00.0 cannot add VFIO group to container, error 1 (Operation not permitted)", []string{"allow_unsafe_interrupts"}},
		{"vfio-container", false, "EAL:   0000:06:00.0 failed to select IOMMU type", []string{"0000:06:00.0"}},
		{"iova-mismatch", false, "EAL: Probe PCI driver: net_ixgbe (8086:10fb) device: 0000:03:00.0 (socket 0)\nEAL:   Expecting 'PA' IOVA mode but current mode is 'VA', not initializing\nEAL: Requested device 0000:03:00.0 cannot be used", []string{"0000:03:00.0", "PA", "--iova-mode=pa"}},
		{"iova-mismatch", false, "vdev_probe_all_drivers(): net_foo0 requires VA IOVA mode but current mode is PA, not initializing", []string{"net_foo0", "--iova-mode=va"}},
		{"mlx-kernel-driver", false, "mlx5_common: No Verbs device matches PCI device 0000:03:00.0, are kernel drivers loaded?", []string{"0000:03:00.0", "mlx5_core"}},
		{"device-not-bound", false, "EAL: 0000:02:01.0 not managed by VFIO driver, skipping\ntestpmd: No probed ethernet devices", []string{"0000:02:01.0", "-b vfio-pci 0000:02:01.0"}},
		{"device-unusable", false, "EAL: Requested device 0000:02:01.0 cannot be used\ntestpmd: No probed ethernet devices", []string{"0000:02:01.0"}},
		{"device-unusable", false, "EAL: Cannot find device (0000:02:09.0)", []string{"0000:02:09.0"}},
		{"device-unusable", false, "EAL: Failed to open VFIO group 12", nil},
		{"virtio-pci-init", false, "eth_virtio_pci_init(): Failed to init PCI device\nEAL: Requested device 0000:01:00.0 cannot be used", []string{"uio_pci_generic"}},
		{"uio-permission", false, "EAL: pci_uio_ioport_map(): insufficient ioport permissions for PCI device 0000:00:03.0", []string{"0000:00:03.0"}},

		// Virtual ports.
		{"vhost-socket-taken", false, "VHOST_CONFIG: vhost-user server: socket created, fd: 17\nVHOST_CONFIG: failed to bind to /tmp/vhost.sock: Address already in use; remove it and try again\nVHOST_CONFIG: ...", []string{"/tmp/vhost.sock"}},
		{"vhost-socket-taken", false, "virtio_user_start_server(): failed to bind to /tmp/vhost.sock: Address already in use; remove it and try again", []string{"/tmp/vhost.sock"}},
		{"vhost-socket-bind", false, "VHOST_CONFIG: (/tmp/v.sock) failed to bind: Invalid argument; remove it and try again", []string{"Invalid argument"}},
		{"vhost-port-not-started", false, "PMD: Failed to start driver for /tmp/v.sock", []string{"/tmp/v.sock"}},
		{"vhost-socket-missing", true, "VHOST_CONFIG: (/tmp/v.sock) failed to connect: No such file or directory\nVHOST_CONFIG: /tmp/v.sock: reconnecting...", []string{"/tmp/v.sock"}},
		{"vhost-socket-missing", true, "VHOST_CONFIG: failed to connect to /tmp/v.sock: Connection refused", []string{"/tmp/v.sock"}},
		{"vhost-socket-stale", false, "vhost_user_setup(): connect error, Connection refused\nvirtio_user_dev_setup(): (/tmp/v.sock) Failed to setup backend", []string{"rm /tmp/v.sock"}},
		{"vhost-net-permission", false, "vhost_kernel_setup(): fail to open /dev/vhost-net, Permission denied", []string{"/dev/vhost-net"}},
		{"vhost-queues", false, "virtio_user_dev_init(): (/tmp/v.sock) multi-q config 4, but only 1 supported", []string{"queues=1"}},
		{"virtio-user-arguments", false, "virtio_user_pmd_probe(): arg path is mandatory for virtio_user", []string{"path=/tmp/vhost.sock"}},
		{"virtio-user-memory", false, "update_memory_region(): Too many memory regions\nvirtio_user_start_device(): (/tmp/v.sock) Failed to start device", []string{"--single-file-segments"}},
		{"virtio-user-backend", false, "vhost_user_read(): Failed to recv msg hdr: 0 instead of 12.", nil},
		{"virtio-user-backend", false, "virtio_user_dev_init(): (/tmp/v.sock) Failed to set backend owner", []string{"/tmp/v.sock"}},
		{"guest-memory-not-shared", false, "VHOST_CONFIG: (/tmp/v.sock) expect 1 FDs for request VHOST_USER_SET_MEM_TABLE, received 0", []string{"share=on"}},
		{"vhost-guest-memory", false, "VHOST_CONFIG: (/tmp/v.sock) mmap failed (Cannot allocate memory).\nVHOST_CONFIG: (/tmp/v.sock) failed to mmap region 0\nVHOST_CONFIG: (/tmp/v.sock) processing VHOST_USER_SET_MEM_TABLE failed.", []string{"mmap failed (Cannot allocate memory)"}},
		{"vhost-guest-memory", false, "VHOST_CONFIG: mmap region 0 failed.", nil},
		{"vhost-memory-regions", false, "VHOST_CONFIG: (/tmp/v.sock) too many memory regions (9)", []string{"9 regions"}},
		{"vhost-message", false, "VHOST_CONFIG: vhost message handling failed.", nil},
		{"peer-closed", true, "VHOST_CONFIG: vhost peer closed", nil},
		{"peer-closed", true, "VHOST_CONFIG: (/tmp/v.sock) new vhost user connection is 16\nVHOST_CONFIG: (/tmp/v.sock) vhost peer closed", []string{"before its driver was ready"}},
		{"memif-arguments", false, "memif_set_rs(): Invalid ring size: 20 (max 14).", []string{"Invalid ring size: 20"}},
		{"socket-path-long", false, "memif_check_socket_filename(): Unix socket address too long (max 108).", []string{"107"}},
		{"af-packet-permission", false, "rte_pmd_init_internals(): net_af_packet0: could not open AF_PACKET socket:Operation not permitted", nil},
		{"interface-absent", false, "PMD: net_af_packet0: ioctl failed (SIOCGIFINDEX)", nil},
		{"af-packet-socket", false, "rte_pmd_init_internals(): net_af_packet0: could not bind AF_PACKET socket to veth0:Network is down", []string{"net_af_packet0", "ip link set"}},

		// testpmd.
		{"mbuf-pool", false, "USER1: create a new mbuf pool <mbuf_pool_socket_1>: n=171456, size=2176, socket=1\nEAL: Error - exiting with code: 1\n  Cause: Creation of mbuf pool for socket 1 failed: File exists", []string{"File exists", "NUMA node than 1"}},
		{"queues-or-descriptors", false, "Fail: nb_rxq(4) is greater than max_rx_queues(1)", []string{"--rxq=1"}},
		{"queues-or-descriptors", false, "Ethdev port_id=0 nb_tx_queues=2 > 1\nFail to configure port 0", []string{"--txq=1"}},
		{"queues-or-descriptors", false, "Invalid value for nb_rx_desc(=8192), should be: <= 4096, >= 32, and a product of 32\nFail to configure port 0 rx queues", []string{"--rxd=4096"}},
		{"queues-or-descriptors", false, "Invalid value for nb_tx_desc(=8192), should be: <= 4096, = 32, and a product of 32", []string{"--txd=4096"}},
		{"mtu", false, "MTU (9000) > device max MTU (1500) for port_id 0", []string{"9000", "1500"}},
		{"mbuf-size", false, "mb_pool_0 mbuf_data_room_size 2176 < 9728 (128 + 9600)", []string{"--mbuf-size=9728"}},
		{"mbuf-size", false, "mlx5_net: port 0 Rx queue 0: Scatter offload is not configured and no enough mbuf space(2176) to contain the maximum RX packet length(9200) with head-room(128)", []string{"--enable-scatter"}},
		{"offloads", false, "Ethdev port_id=0 requested Rx offloads 0xe doesn't match Rx offloads capabilities 0x2200 in rte_eth_dev_configure()", []string{"0xe"}},
		{"port-not-configured", false, "Fail to configure port 1 rx queues", []string{"port 1's rx queues"}},
		{"port-not-started", false, "Fail to start port 0", nil},
		{"ports-not-started", false, "Start ports failed", nil},
		{"link-down", true, "Port 1 Link down", []string{"port 1"}},
		{"link-down", true, "Port 1 Link Down", nil},
		{"promiscuous", true, "Error during enabling promiscuous mode for port 0: Operation not supported - ignore", []string{"port 0", "Operation not supported"}},
		{"port-in-bond", true, "Please remove port 0 from bonded device.", nil},
		{"port-not-stopped", true, "testpmd> port config all rxq 2\nPlease stop all ports first", []string{`"port config all rxq 2"`, "port stop all"}},
		{"port-not-stopped", true, "Please stop port 1 first", []string{"port stop 1"}},
		{"port-not-stopped", true, "Port 0 is now not stopped", nil},
		{"forwarding-already-started", true, "Packet forwarding already started", nil},
		{"ports-not-started", true, "Not all ports were started", nil},
		{"invalid-port", true, "testpmd> show port stats 7\nInvalid port 7", []string{`"show port stats 7"`, "port 7"}},
		{"invalid-port", true, "Invalid port, range is [0, 1]", nil},
		{"bad-command", true, "testpmd> show ports stats all\nBad arguments", []string{`"show ports stats all"`}},
		{"testpmd-options", false, "EAL: Error - exiting with code: 1\n  Cause: Command line is incomplete or incorrect", nil},
		{"stdin-closed", false, "Press enter to exit\n\nStopping port 0...\nBye...\n", nil},
		{"crash", false, "VDEV: net_memif0\n./run.sh: line 4: 1234 Segmentation fault (core dumped) dpdk-testpmd", []string{"start the forwarder last and stop it first"}},
		{"rx-nombuf", true, "  RX-nombuf:  17", []string{"17 times", "--total-num-mbufs"}},

		// QEMU: the sockets in 2.0, 2.9 and 4.2.
		{"vhost-socket-stale", false, "qemu-system-x86_64: -chardev socket,id=c0,path=/tmp/vh.sock: Failed to connect socket: Connection refused", []string{"/tmp/vh.sock"}},
		{"vhost-socket-missing", false, "qemu-system-x86_64: -chardev socket,id=c0,path=/tmp/vh.sock: Failed to connect socket /tmp/vh.sock: No such file or directory", []string{"/tmp/vh.sock"}},
		{"socket-taken", false, "qemu-system-x86_64: -chardev socket,id=c0,path=/tmp/vh.sock,server=on: Failed to bind socket to /tmp/vh.sock: Address already in use", []string{"/tmp/vh.sock"}},
		{"guest-memory-not-shared", false, "qemu-system-x86_64 \\\n  -m 1G \\\n  -chardev socket,id=c0,path=/tmp/v \\\n  -netdev vhost-user,id=n0,chardev=c0\n", []string{"not shared", "size=1024M,share=on"}},
		{"vhost-backend-gone", false, "qemu-system-x86_64: Failed to read msg header. Read 0 instead of 12. Original request 11.\nqemu-system-x86_64: vhost VQ 0 ring restore failed: -1: Input/output error (5)", nil},
		{"vhost-queues", false, "qemu-system-x86_64: -netdev vhost-user,id=n0,chardev=c0,queues=4: you are asking more queues than supported: 1", []string{"queues=1"}},
		{"vhost-not-started", false, "2024-10-08T15:12:22.184902Z qemu-system-x86_64: unable to start vhost net: 22: falling back on userspace virtio", []string{"unable to start vhost net: 22"}},
		{"vhost-not-started", false, "qemu-kvm: -netdev vhost-user,id=n0,chardev=c0: vhost initialization failed: Operation not permitted", nil},
		{"vhost-net-permission", false, "qemu-system-x86_64: -netdev tap,id=n0,vhost=on: tap: open vhost char device failed: Permission denied", []string{"usermod -aG kvm"}},
		{"vhost-net-refused", false, "qemu-kvm: -netdev tap,id=net0,vhost=on,fd=3: vhost-net requested but could not be initialized\nqemu-kvm: -netdev tap,id=net0,vhost=on,fd=3: Device 'tap' could not be initialized", []string{"modprobe vhost_net"}},
		{"tap-busy", false, "qemu-system-x86_64: -netdev tap,id=n0,ifname=tap0: could not configure /dev/net/tun (tap0): Device or resource busy", []string{"tap0"}},
		{"tap-busy", false, "bash: /dev/tap5: Device or resource busy", []string{"fuser -v /dev/tap5"}},
		{"tap-permission", false, "cannot open macvtap tap device /dev/tap46: Permission denied", []string{"chown $USER /dev/tap46"}},
		{"tap-descriptor", false, "qemu-system-x86_64: -net tap,fd=3: TUNGETIFF ioctl() failed: Inappropriate ioctl for device", []string{"30<>/dev/tap"}},
		{"qemu-parameter", false, "qemu-system-x86_64: -netdev vhost-usr,id=n0: Parameter 'type' expects a netdev backend type", nil},
		{"qemu-parameter", false, "qemu-system-x86_64: -netdev user,id=n0: network backend 'user' is not compiled into this binary", nil},
		{"kvm-busy", false, "ioctl(KVM_CREATE_VM) failed: 16 Device or resource busy\nqemu-system-x86_64: failed to initialize KVM: Device or resource busy", []string{"VirtualBox"}},
		{"kvm-off", false, "[  1.0] kvm: disabled by bios", nil},
		{"kvm-msr", false, "qemu-system-x86_64: error: failed to set MSR 0x10a to 0xe000e\nqemu-system-x86_64: ../../target/i386/kvm/kvm.c:2893: kvm_buf_set_msrs: Assertion `ret == cpu->kvm_msr_buf->nmsrs' failed.\nAborted", []string{"MSR 0x10a", "-accel tcg"}},
		{"kvm-internal-error", false, "KVM internal error. Suberror: 1\nextra data[0]: 0x2\nemulation failure\nEAX=00000000", []string{"internal error 1", "-accel tcg"}},
		{"kvm-internal-error", false, "error: kvm run failed Bad address", []string{"Bad address"}},
		{"kvm-not-initialized", false, "qemu-system-x86_64: invalid accelerator kvm\nqemu-system-x86_64: falling back to tcg", nil},
		{"kvm-not-initialized", false, "No accelerator found!", nil},
		{"guest-hugepages-short", false, "qemu-system-x86_64: -object memory-backend-file,id=mem,size=6144M,mem-path=/dev/hugepages,share=on,prealloc=on: qemu_prealloc_mem: preallocating memory failed: Bad address", []string{"of 6144M"}},
		{"guest-hugepages-short", false, "qemu-system-x86_64: file_ram_alloc: can't mmap RAM pages: Cannot allocate memory", nil},
		{"guest-memory-path", false, "qemu-system-x86_64: unable to create backing store for hugepages: Permission denied", nil},
		{"guest-memory-path", true, "Warning: path not on HugeTLBFS: /mnt/huge", []string{"mount -t hugetlbfs nodev /mnt/huge"}},
		{"guest-memory-node", false, "qemu-system-x86_64: cannot bind memory to host NUMA nodes: Operation not permitted", []string{"SYS_NICE"}},
		{"guest-kernel-file", false, "qemu: could not load kernel '/boot/vmlinuz': Permission denied", []string{"/boot/vmlinuz"}},
		{"guest-kernel-format", false, "qemu-system-x86_64: Error loading uncompressed kernel without PVH ELF Note", []string{"CONFIG_PVH=y"}},
		{"image-locked", false, "qemu-system-x86_64: -drive file=disk.img: Failed to get \"write\" lock\nIs another process using the image [disk.img]?", []string{"-snapshot"}},
		{"virtqueue-broken", false, "qemu-system-x86_64: Virtqueue size exceeded", nil},
		{"virtqueue-broken", false, "qemu-system-x86_64: Guest moved used index from 0 to 4096", nil},
		{"qemu-assertion", false, "qemu-system-x86_64: ../../net/net.c:1131: net_client_init1: Assertion `nc' failed.\nAborted (core dumped)", []string{"net_client_init1"}},
		{"qemu-error", false, "qemu-system-x86_64: -netdev hubport,id=h: some new message", []string{"-netdev", "some new message"}},
		{"qemu-message", true, "qemu-system-x86_64: something that nobody knows", []string{"something that nobody knows"}},

		// Guests.
		{"guest-no-init", false, "[    1.5] Kernel panic - not syncing: No working init found.  Try passing init= option to kernel.", []string{"/init"}},
		{"guest-no-root", false, "[    1.5] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)", []string{"unknown-block(0,0)", "-initrd"}},
		{"guest-init-died", false, "[    1.5] Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000100", []string{"0x00000100", "poweroff -f"}},
		{"guest-out-of-memory", false, "[   12.3] Out of memory: Killed process 123 (dpdk-testpmd) total-vm:1kB", []string{"killed dpdk-testpmd", "-m 512M"}},
		{"guest-out-of-memory", false, "[   12.3] Out of memory: Kill process 123 (dpdk-testpmd) score 900 or sacrifice child", []string{"killed dpdk-testpmd"}},
		{"guest-out-of-memory", false, "Kernel panic - not syncing: System is deadlocked on memory", nil},
		{"guest-panic", false, "Kernel panic - not syncing: Fatal exception in interrupt", []string{"Fatal exception in interrupt"}},
		{"kernel-oops", false, "[   3.1] BUG: unable to handle page fault for address: ffff", nil},
		{"crash", false, "[   30.1] dpdk-testpmd[77]: segfault at 8 ip 00007f sp 00007f error 4 in librte_net_memif.so.23.0[7f+8000]", []string{"dpdk-testpmd crashed in librte_net_memif.so.23.0"}},
		{"cpu-flag", false, "[   30.1] traps: dpdk-testpmd[77] trap invalid opcode ip:7f sp:7f error:0 in librte_eal.so", []string{"dpdk-testpmd"}},
		{"cpu-flag", false, "Illegal instruction (core dumped)", nil},
		{"cpu-stalled", true, "[   60.1] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [dpdk-testpmd:77]", []string{"taskset"}},
		{"transmit-stalled", false, "[   60.1] NETDEV WATCHDOG: eth0 (virtio_net): transmit queue 0 timed out", []string{"eth0 (virtio_net)"}},
		{"triple-fault", false, "Triple fault", nil},
		{"nothing-to-boot", false, "SeaBIOS (version 1.16.2)\nBoot failed: not a bootable disk\n\nNo bootable device.", []string{"-kernel"}},
		{"unikraft-assertion", false, "[    0.000000] CRIT: [libkvmplat] <paging.c @  541> Assertion failure: ukarch_paddr_range_isvalid(pa)", []string{"ukarch_paddr_range_isvalid(pa)"}},
		{"unikraft-crash", false, "[    0.127479] CRIT: [libkvmplat] <traps.c @   84> Unhandled Trap 8 (double fault), error code=0x0\n[    0.651691] CRIT: [libkvmplat] <traps.c @   90> Crashing", []string{"Unhandled Trap 8 (double fault)"}},
		{"unikraft-crash", false, "[    0.372817] CRIT: [libukvmem] Cannot handle write page fault at 0xffffc6e78 (ec: 0x2): Bad address (14).", []string{"0xffffc6e78"}},
		{"unikraft-crash", false, "[    0.807213] CRIT: Unikraft Crash - Kiviuq (0.20.0~667ac92)", nil},
		{"unikraft-virtio", false, "[    0.2] ERR:  [libvirtio_net] Failed to initialize rx and tx rings: -12", []string{"rx and tx rings"}},
		{"guest-error", false, "sweep-guest: error not enough memory: got 8 of 32 hugepages of 2 MiB, 11 MiB available: give the machine more memory", []string{"got 8 of 32", "--memory 256"}},
		{"guest-error", false, "sweep-guest: error no virtio-net device on the PCI bus: give QEMU a virtio-net-pci", []string{"-device virtio-net-pci"}},
		{"guest-error", false, "sweep-guest: error the kernel refuses uio.ko", []string{"the kernel refuses uio.ko", "./prepare.sh"}},
		{"guest-error", false, "sweep-guest: error sweep.size=41: a frame has 42 to 1514 bytes, without FCS", []string{"sweep.size=41", "-append"}},
		{"guest-error", false, "sweep-guest: error no network device: give QEMU a virtio-net-pci", []string{"-device virtio-net-pci"}},
		{"initrd-too-large", false, "qemu: initrd is too large, cannot support.(max: 8224767, need 23405404)", []string{"23405404", "--memory"}},
		{"unikraft-init", false, "[    0.102633] ERR:  [libukboot] <boot.c @  427> Init function at 0x124c90 returned error -95", []string{"-95", "LIBUKRANDOM"}},
		{"guest-testpmd-ended", false, "sweep-guest: testpmd ended code=139", []string{"139"}},
		{"guest-shell", true, "sh: can't access tty; job control turned off", nil},

		// The host.
		{"program-missing", false, "sudo: dpdk-devbind.py: command not found", []string{"apt install dpdk,"}},
		{"program-missing", false, `sweep: exec: "qemu-system-x86_64": executable file not found in $PATH`, []string{"apt install qemu-system-x86"}},
		{"module-missing", false, "modprobe: FATAL: Module igb_uio not found in directory /lib/modules/5.10.0-20-amd64", []string{"igb_uio"}},
		{"module-refused", false, "modprobe: ERROR: could not insert 'vfio_pci': Operation not permitted", []string{"vfio_pci", "lockdown"}},
		{"module-refused", false, "insmod: ERROR: could not insert module igb_uio.ko: Required key not available", []string{"Secure Boot"}},
		{"module-refused", false, "insmod: can't insert 'uio_pci_generic.ko': unknown symbol in module, or unknown parameter", []string{"another kernel"}},
		{"module-refused", false, "modprobe: ERROR: could not insert 'kvm_intel': No such device", nil},
		{"kernel-lockdown", false, "Lockdown: dpdk-testpmd: raw io port access is restricted; see man kernel_lockdown.7", []string{"dpdk-testpmd", "intel_iommu=on"}},
		{"sysfs-write", false, "bash: echo: write error: No such device", []string{"dpdk-devbind.py"}},
		{"too-many-threads", false, "EAL: Cannot create thread: Resource temporarily unavailable", []string{"ulimit -u"}},
		{"too-many-files", false, "EAL: Could not open '/dev/hugepages/rtemap_1021': Too many open files", []string{"ulimit -n"}},
		{"bus-error", false, "Bus error (core dumped)", []string{"--shm-size"}},
		{"aborted", false, "Aborted (core dumped)", nil},
	}
}

func TestWordings(t *testing.T) {
	for _, w := range wordings() {
		name, _, _ := strings.Cut(w.text, "\n")
		t.Run(w.kind+"/"+name, func(t *testing.T) {
			found := Explain([]byte(w.text))
			if len(found) != 1 {
				t.Fatalf("%d findings, want one: %v", len(found), found)
			}
			f := found[0]
			sentence(t, f)
			if f.Kind != w.kind || f.Fatal == w.note {
				t.Errorf("got %s, fatal=%t: %s", f.Kind, f.Fatal, f)
			}
			for _, s := range w.says {
				if !strings.Contains(f.String(), s) {
					t.Errorf("doesn't say %q: %s", s, f)
				}
			}
		})
	}
}

// TestEveryRule says that each rule was met by some text of the tests: the next
// one needs a text too.
func TestEveryRule(t *testing.T) {
	var texts [][]byte
	files, _ := filepath.Glob("testdata/*/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, text)
	}
	for _, w := range wordings() {
		texts = append(texts, []byte(w.text))
	}
	texts = append(texts, []byte("Booting from ROM\nCannot get hugepage information"))
	rules := table()
	met := make([]bool, len(rules))
	for _, text := range texts {
		c := newConsole(text)
		for i, l := range c.lines {
			for r := range rules {
				if _, ok := rules[r].on(c, i); l.text != "" && ok {
					met[r] = true
					break
				}
			}
		}
	}
	for r := range rules {
		if !met[r] {
			t.Errorf("no text for the rule %s: %s", rules[r].kind, rules[r].match)
		}
	}
}
