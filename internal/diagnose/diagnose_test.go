package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func read(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// want is a finding that a text must give.
type want struct {
	line int
	kind string
	note bool     // not fatal
	says []string // what its sentence holds: the values, and the command that mends it
}

func check(t *testing.T, found []Finding, wants []want) {
	t.Helper()
	var got []string
	for _, f := range found {
		got = append(got, fmt.Sprintf("%d %s fatal=%t", f.Line, f.Kind, f.Fatal))
		sentence(t, f)
	}
	var should []string
	for _, w := range wants {
		should = append(should, fmt.Sprintf("%d %s fatal=%t", w.line, w.kind, !w.note))
	}
	if d := cmp.Diff(should, got); d != "" {
		t.Fatalf("findings (-want +got):\n%s", d)
	}
	for i, w := range wants {
		for _, s := range w.says {
			if !strings.Contains(found[i].String(), s) {
				t.Errorf("%s doesn't say %q:\n%s", w.kind, s, found[i])
			}
		}
	}
}

var kindForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

// sentence checks that a finding is one sentence and that no value is missing
// in it.
func sentence(t *testing.T, f Finding) {
	t.Helper()
	s := f.String()
	switch {
	case !kindForm.MatchString(f.Kind):
		t.Errorf("kind %q", f.Kind)
	case f.What == "" || f.Why == "" || f.Mend == "":
		t.Errorf("%s lacks a part: %q", f.Kind, s)
	case strings.HasSuffix(s, ".") && !strings.HasSuffix(s, "..."), strings.ContainsAny(s, "\n\r\t"):
		t.Errorf("%s is not one sentence: %q", f.Kind, s)
	case regexp.MustCompile(`\{\w+[|}]|[^ ]  +[^ ]|\( ?\)|\(:|''|(?:^| )[,;]`).MatchString(s):
		t.Errorf("%s has a hole: %q", f.Kind, s)
	}
}

// TestCases are failures that people met, each at the line of the file that
// shows it.
func TestCases(t *testing.T) {
	for _, tt := range []struct {
		file  string
		wants []want
	}{
		{"41-B-hugepages-all-used.txt", []want{
			{6, "hugepages-none-free", false, []string{"1 GiB", "2 MiB", "rm -f /dev/hugepages/*map_*", "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"}},
		}},
		{"42-B-hugepages-reserved-not-mounted.txt", []want{
			{5, "hugepages-not-mounted", false, []string{"1984 hugepages of 2 MiB", "mount -t hugetlbfs -o pagesize=2M nodev /dev/hugepages", "--in-memory", "--no-huge"}},
		}},
		{"43-B-hugepages-1g-warning-only.txt", []want{
			{5, "hugepages-size-empty", true, []string{"1 GiB", "default_hugepagesz=1G hugepagesz=1G hugepages=4"}},
		}},
		{"45-B-vhost-socket-already-exists.txt", []want{
			{6, "vhost-socket-taken", false, []string{"/tmp/v.sock exists", "ss -xlp | grep /tmp/v.sock", "rm /tmp/v.sock"}},
		}},
		{"46-B-qemu-connection-refused-stale-socket.txt", []want{
			{5, "vhost-socket-stale", false, []string{"nobody listens on /tmp/vh.sock", "start the vhost testpmd first", "rm /tmp/vh.sock"}},
			{6, "vhost-socket-missing", false, []string{"no socket /tmp/nosuch.sock", "net_vhost0,iface=/tmp/nosuch.sock"}},
		}},
		{"47-B-qemu-socket-permission-denied.txt", []want{
			{5, "vhost-socket-permission", false, []string{"/var/tmp/guest.sock", "chmod o+rw /var/tmp/guest.sock", "SELinux"}},
			{6, "vhost-socket-permission", false, []string{"/var/run/openvswitch/vhost_sockets/x/sock", "ls -ld $(dirname"}},
		}},
		{"48-B-guest-memory-not-shared.txt", []want{
			{5, "guest-memory-not-shared", false, []string{`"dimm1" has no share=on`, "add share=on: -object memory-backend-file,id=dimm1"}},
		}},
		{"50-B-no-probed-ethernet-devices.txt", []want{
			{5, "hugepages-size-empty", true, []string{"2 MiB"}},
			{10, "no-ports", false, []string{"0 ports", "0000:02:01.0", "dpdk-devbind.py -b vfio-pci 0000:02:01.0"}},
		}},
		{"51-B-vfio-group-not-viable-and-noiommu.txt", []want{
			{5, "vfio-group", false, []string{"0000:44:00.3", "/sys/bus/pci/devices/0000:44:00.3/iommu_group/devices", "uio_pci_generic"}},
			{8, "no-iommu", false, []string{"0000:06:00.0", "intel_iommu=on", "echo 1 > /sys/module/vfio/parameters/enable_unsafe_noiommu_mode"}},
		}},
		{"52-B-nic-active-not-bound.txt", []want{
			{5, "nic-active", false, []string{"0000:03:00.0", "default route", "ip addr flush dev"}},
		}},
		{"53-B-second-primary-lock.txt", []want{
			{5, "primary-exists", false, []string{"prefix rte", "/var/run/dpdk/rte/config", "--file-prefix", "--in-memory", "fuser -v"}},
		}},
		{"55-B-forwarding-not-started.txt", []want{
			{10, "forwarding-not-started", true, []string{"send start"}},
		}},
		{"57-B-mac-mismatch-dropped-by-nic.txt", []want{
			{5, "peer-mac-default", true, []string{"02:00:00:00:00:01", "--eth-peer=1,", "set promisc"}},
		}},
		{"58-B-qemu-no-acpi-removed.txt", []want{
			{5, "qemu-option-removed", false, []string{"-no-acpi", "QEMU 9.0", "-machine acpi=off"}},
			{6, "qemu-option-removed", false, []string{"-no-hpet", "QEMU 9.0", "-machine hpet=off"}},
			{7, "qemu-short-form", true, []string{"vhostforce=on"}},
		}},
		{"60-B-kvm-permission-or-absent.txt", []want{
			{5, "kvm-permission", false, []string{"Permission denied", "usermod -aG kvm"}},
			{7, "kvm-absent", false, []string{"no /dev/kvm", "modprobe kvm_intel", "-accel tcg"}},
		}},
		{"62-B-guest-ram-hugepages-insufficient.txt", []want{
			{5, "guest-hugepages-short", false, []string{"nr_hugepages"}},
			{7, "guest-memory-path", false, []string{"/mnt/linux-huge/x", "mount -t hugetlbfs"}},
			{8, "guest-memory-size", false, []string{"64M", "-m 128M"}},
		}},
		{"63-B-testpmd-exits-on-stdin-eof.txt", []want{
			{5, "stdin-closed", false, []string{"stdin", "sleep infinity | dpdk-testpmd", "--stats-period"}},
		}},
		{"65-B-port-stop-order.txt", []want{
			{7, "port-still-forwarding", true, []string{`"port stop all"`, "port 0 and 1", "send stop before port stop all"}},
		}},
		{"67-B-vhost-loss-not-in-rx-missed.txt", []want{
			{8, "loss-in-forward-statistics", true, []string{"port 0 sent 99872 of 88019968", "87920096", "net_vhost", "TX-dropped"}},
		}},
	} {
		t.Run(tt.file, func(t *testing.T) {
			text := read(t, "cases/"+tt.file)
			check(t, Explain(text), tt.wants)
			// Noise as terminals make it changes nothing but the form.
			check(t, Explain(noisy(text)), tt.wants)
		})
	}
}

// noisy is a text as a terminal shows it: carriage returns, colours.
func noisy(text []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# "); ok {
			b.WriteString("# " + rest + "\n")
			continue
		}
		b.WriteString("\x1b[0m" + line + "\x1b[0K\r\r\n")
	}
	return []byte(b.String())
}

// TestHealthy says that consoles on which nothing failed give no alarm.
func TestHealthy(t *testing.T) {
	notes := map[string][]string{
		"21-A-txonly-dropped-more-than-sent.txt":     {"23 loss-in-forward-statistics"},
		"28-A-vhost-log-interleaved-peer-closed.txt": {"54 peer-closed"},
		"29-A-pipe-echo-before-output.txt": {
			"17 bad-command", "41 peer-mac-default", "101 bad-command", "116 stdin-closed", "128 invalid-port",
			"129 packet-size-refused", "130 packet-size-refused", "131 port-still-forwarding",
		},
	}
	files, err := filepath.Glob("testdata/cases/*-A-*")
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Explain(read(t, "cases/"+name)) {
				if f.Fatal {
					t.Errorf("false alarm at %d: %s", f.Line, f)
				}
				sentence(t, f)
				got = append(got, fmt.Sprintf("%d %s", f.Line, f.Kind))
			}
			if d := cmp.Diff(notes[name], got); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}

// TestHarmless are lines that look like failures and are none.
func TestHarmless(t *testing.T) {
	for _, text := range []string{
		"rte_pmd_memif_probe(): Failed to register mp action callback: Operation not supported",
		"iavf_execute_vf_cmd(): Return failure -5 for cmd 45",
		"iavf_add_del_rss_cfg(): Failed to execute command of OP_ADD_RSS_CFG",
		"EAL: Probing VFIO support...\nEAL: VFIO support initialized",
		"EAL: VFIO support could not be initialized",
		"Option -w, --pci-whitelist is deprecated, use -a, --allow option instead",
		"TELEMETRY: No legacy callbacks, legacy socket not created",
		"EAL:   Invalid NUMA socket, default to 0",
		"EAL: 0000:00:03.0 not managed by UIO driver, skipping\nConfiguring Port 0 (socket 0)\ntestpmd> ",
		"qemu-system-x86_64: warning: host doesn't support requested feature: CPUID.01H:ECX.pni [bit 0]",
		"qemu-system-x86_64: info: QEMU waiting for connection on: disconnected:unix:/tmp/v.sock,server=on\nSeaBIOS (version 1.16.2)\n",
		"EAL: Physical addresses are unavailable, selecting IOVA as VA mode.",
		"Warning! port-topology=paired and odd forward ports number, the last port will pair with itself.",
		"[    0.101010] Kernel command line: console=ttyS0 panic=-1",
		"testpmd> quit\r\n\r\nStopping port 0...\r\nBye...\r\n",
		"Signal 2 received, preparing to exit...\nStopping port 0...\nBye...\n",
		"",
		"\n\n",
	} {
		if found := Explain([]byte(text)); len(found) != 0 {
			t.Errorf("%q: %v", text, found)
		}
	}
}

// TestOnce says that a failure is reported at its cause, and what follows from
// it only where no cause is known.
func TestOnce(t *testing.T) {
	const ends = "EAL: FATAL: Cannot init config\nEAL: Cannot init config\nEAL: Error - exiting with code: 1\n  Cause: Cannot init EAL: Success\n"
	check(t, Explain([]byte("EAL: Cannot create lock on '/run/dpdk/rte/config'. Is another primary process running?\n"+ends)),
		[]want{{1, "primary-exists", false, nil}})
	check(t, Explain([]byte(ends)), []want{{1, "eal-fatal", false, []string{"Cannot init config"}}})
	check(t, Explain([]byte("EAL: Error - exiting with code: 1\n  Cause: Cannot init EAL: Success\n")),
		[]want{{1, "exited", false, []string{"code 1", "Cannot init EAL: Success"}}})

	// Each process is on its own: the second one's failure isn't the first's.
	two := "EAL: Detected CPU lcores: 2\nEAL: Cannot create lock on '/run/dpdk/rte/config'. Is another primary process running?\n" +
		"EAL: Detected CPU lcores: 2\n" + ends
	check(t, Explain([]byte(two)), []want{{2, "primary-exists", false, nil}, {4, "eal-fatal", false, nil}})

	// A note neither hides a failure nor is hidden by one.
	check(t, Explain([]byte("RX-nombuf: 5\nSegmentation fault\n")), []want{{1, "rx-nombuf", true, nil}, {2, "crash", false, nil}})
}

// TestGuest says that what a guest printed is told from what its host did.
func TestGuest(t *testing.T) {
	boot := "\x1bcSeaBIOS (version 1.16.2-debian)\r\nBooting from ROM..\r\n[    0.000000] Linux version 6.1.0\r\n"
	check(t, Explain([]byte(boot+"EAL: FATAL: Cannot get hugepage information.\r\n")),
		[]want{{4, "guest-hugepages", false, []string{"in the guest, DPDK found no hugepages", "hugepages=32", "-append"}}})
	check(t, Explain([]byte(boot+"testpmd: No probed ethernet devices\r\n")),
		[]want{{4, "no-ports", false, []string{"in the guest, testpmd found 0 ports"}}})
	check(t, Explain([]byte(boot+"qemu-system-x86_64: Unexpected end-of-file before all data were read\r\n")),
		[]want{{4, "vhost-backend-gone", false, []string{"the vhost-user port closed"}}})
}

func TestConsoleNoise(t *testing.T) {
	for _, text := range []string{
		"testpmd> VHOST_CONFIG: (/tmp/v.sock) failed to bind: Address already in use; remove it and try again",
		"testpmd> port start all\r\r\nPort 0: link state change event\r\n\r\nVHOST_CONFIG: (/tmp/v.sock) failed to bind: Address already in use; remove it and try again\r\n",
		"VHOST_CONFIG: failed to bind to /tmp/v.sock: Address already in use; remove it and try again",
		"2024-10-08T15:12:22.184902Z stdout F VHOST_CONFIG: (/tmp/v.sock) failed to bind: Address already in use; remove it and try again",
		"testpmd> \x1bM\x1bEtestpmd> start\x1b[0K\r\r\nVHOST_CONFIG: (/tmp/v.s\bsock) failed to bind: Address already in use; remove it and try again",
	} {
		found := Explain([]byte(text))
		if len(found) != 1 || found[0].Kind != "vhost-socket-taken" || !strings.HasPrefix(found[0].What, "/tmp/v.sock ") || found[0].Line != 1+strings.Count(text[:strings.Index(text, "VHOST_")], "\n") {
			t.Errorf("%q: %+v", text, found)
		}
	}
	// What was typed is named, whatever came in between.
	found := Explain([]byte("testpmd> set fwd mac\r\r\nPort 0: link state change event\r\nDec  1 00:00:01 host testpmd[7]: Bad arguments\r\n"))
	if len(found) != 1 || found[0].What != `testpmd refused "set fwd mac" (Bad arguments)` || found[0].Line != 3 {
		t.Errorf("%+v", found)
	}
}

func TestLast(t *testing.T) {
	got := Last([]byte("one\r\n\x1b[31mtwo\x1b[0m\n\n   \ntestpmd> \n\x1b[2Ktestpmd> quit\b\b\b\bexit\nthree"), 3)
	if d := cmp.Diff([]string{"two", "testpmd> exit", "three"}, got); d != "" {
		t.Error(d)
	}
	// The help that follows a wrong option says nothing about what is wrong.
	got = Last(read(t, "dpdk/lcore.txt"), 5)
	if !slices.Contains(got, "EAL: Invalid 'command line' arguments.") || !slices.Contains(got, "  Cause: Cannot init EAL: Invalid argument") {
		t.Errorf("%q", got)
	}
	for _, l := range Last(read(t, "dpdk/unkopt.txt"), 5) {
		if strings.Contains(l, "COREMASK") || strings.Contains(l, "--vdev") {
			t.Errorf("help in %q", l)
		}
	}
	if got := Last(nil, 5); len(got) != 0 {
		t.Errorf("%q of nothing", got)
	}
}

// TestLinear says that time grows with the text and not with its square: a
// console of a long run has megabytes.
func TestLinear(t *testing.T) {
	block := string(read(t, "cases/28-A-vhost-log-interleaved-peer-closed.txt")) +
		strings.Repeat("EAL: No free hugepages reported in hugepages-2048kB\n", 50) +
		strings.Repeat("Please remove port 0 from forwarding configuration.\n", 50)
	took := func(n int) time.Duration {
		text := []byte(strings.Repeat(block, n))
		start := time.Now()
		Explain(text)
		return time.Since(start)
	}
	took(1)
	small, large := took(4), took(64)
	// 16 times the text; the room is for a busy machine.
	if large > 16*8*max(small, 5*time.Millisecond) {
		t.Errorf("%v for a text, %v for 16 times as much", small, large)
	}
}

func BenchmarkExplain(b *testing.B) {
	text := []byte(strings.Repeat(string(read(b, "cases/28-A-vhost-log-interleaved-peer-closed.txt")), 20))
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		Explain(text)
	}
}

func FuzzExplain(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.txt")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := 0
		for range strings.Lines(string(text)) {
			lines++
		}
		at := 0
		for _, found := range Explain(text) {
			if found.Line < 1 || found.Line > lines || found.Line < at {
				t.Errorf("line %d of %d, after %d", found.Line, lines, at)
			}
			at = found.Line
			if found.What == "" || found.Why == "" || found.Mend == "" || strings.ContainsAny(found.String(), "\x1b\n\r") {
				t.Errorf("%+v", found)
			}
		}
		last := Last(text, 3)
		if len(last) > 3 || slices.Contains(last, "") || strings.Contains(strings.Join(last, ""), "\x1b") {
			t.Errorf("last lines %q", last)
		}
	})
}
