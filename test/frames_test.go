//go:build real

package test

import (
	"bufio"
	"bytes"
	endian "encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/bare"
	"sweep/internal/guest"
	"sweep/internal/linux"
	"sweep/internal/qemu"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/unikraft"
	"sweep/vhost"
)

// arm is a guest whose frames are looked at.
type arm struct {
	name    string
	guest   guest.Guest
	sizes   []int
	refuses map[int]string // and what it says
	ttl     byte
}

// TestFrames looks at what each guest sends as it leaves the forwarder, frame
// by frame: the wire is a file.
func TestFrames(t *testing.T) {
	build := filepath.Dir(binary(t))
	// From short to long and back: nothing of a longer frame may be left.
	sizes := []int{64, 128, 256, 512, 1024, 1500, 60, 1514, 42}
	refuses := map[int]string{41: "42 to 1514", 1515: "42 to 1514"}
	arms := []arm{
		{bare.Name, bare.New(build), sizes, refuses, 64},
		{linux.KernelName, linux.KernelGuest(build, "sendmmsg"), sizes, refuses, 64},
		// pktgen's time to live is its own (fill_packet_ipv4 in
		// net/core/pktgen.c).
		{linux.KernelName + " with pktgen", linux.KernelGuest(build, "pktgen"), []int{64, 128, 256, 512, 1024, 1500, 60, 1514, 58},
			map[int]string{41: "42 to 1514", 57: "58 to 1514", 1515: "42 to 1514"}, 32},
		// testpmd sends what a buffer of its packet pool holds (set_tx_pkt_segments
		// in app/test-pmd/config.c), which is more than a frame has.
		{linux.Name, linux.Guest{Dir: build}, append(slices.Clip(sizes), 1515),
			map[int]string{41: "total packet length=41 < 42", 2177: "length[0]=2177 > mbuf_data_size=2176"}, 64},
	}
	image := os.Getenv("SWEEP_UNIKRAFT_IMAGE")
	if image == "" {
		image = unikraft.DefaultImage(build)
	}
	if _, err := os.Stat(image); err != nil {
		t.Logf("without the guest unikraft: %v", err)
	} else {
		arms = append(arms, arm{unikraft.Name, unikraft.New(image), sizes, refuses, 64})
	}
	for _, a := range arms {
		t.Run(a.name, a.test)
	}
}

func (m arm) test(t *testing.T) {
	r := newRig(t)
	capture, port := filepath.Join(r.dir, "wire.pcap"), vhost.User{Socket: r.dir + "/vhost.sock"}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	srv, err := server.Launch(r.ctx, r.a, server.Config{
		Port: port,
		// Without a source it receives nothing (eth_null_rx in
		// drivers/net/pcap/pcap_ethdev.c).
		Wire: testpmd.Device{Name: "net_pcap0", Args: []testpmd.Arg{{Key: "tx_pcap", Value: capture}}},
	}, r.host("server"), io.Discard)
	must(err)
	vm := m.guest.VM()
	vm.Accel, vm.CPU = "tcg", qemu.CPUModel("tcg")
	vm.Net = append(port.Netdev("net0"), vhost.NIC{MAC: "02:00:00:00:00:01", Queue: 1024, NoMSIX: true}.Device("net0")...)
	machine, err := qemu.Start(r.ctx, r.a, agent.Spec{Name: "guest", Argv: vm.Argv()}, io.Discard)
	must(err)
	sender, err := m.guest.Attach(r.ctx, machine.Console)
	must(err)
	must(srv.Forward(r.ctx))

	var sent []batch
	for _, size := range m.sizes {
		before := length(t, capture)
		reach := func(packets uint64) {
			end := before + int64(packets)*int64(recordHeader+size)
			for tries := 0; length(t, capture) < end && tries < 2000; tries++ {
				time.Sleep(5 * time.Millisecond)
			}
		}
		must(sender.Send(r.ctx, size))
		reach(50)
		n, _, err := sender.Halt(r.ctx)
		must(err)
		reach(n) // the ring drains
		sent = append(sent, batch{size, n})
	}
	for _, size := range slices.Sorted(maps.Keys(m.refuses)) {
		err := sender.Send(r.ctx, size)
		if err == nil || !strings.Contains(err.Error(), m.refuses[size]) {
			t.Errorf("Send(%d) = %v; want %q in it", size, err, m.refuses[size])
		}
		if err == nil {
			sender.Halt(r.ctx)
		}
	}
	must(machine.End(r.ctx))
	_, err = srv.Halt(r.ctx)
	must(err)
	must(srv.Quit(r.ctx))

	// testpmd says a port's MAC when it starts it. `set fwd mac` sends from
	// that port to its peer, which for port N is 02:00:00:00:00:0N.
	mac := regexp.MustCompile(fmt.Sprintf(`(?m)^Port %d: ([0-9A-F:]{17})\s*$`, srv.WirePort)).FindSubmatch(srv.Console().Text(0))
	if mac == nil {
		t.Fatalf("the forwarder doesn't say its wire port's MAC:\n%s", srv.Console().Text(0))
	}
	to := fmt.Sprintf("02:00:00:00:00:%02x", srv.WirePort)
	// A file takes all that comes: what the guest counts has to be there.
	if got := readCapture(t, capture, to, strings.ToLower(string(mac[1])), m.ttl); !slices.Equal(got, sent) {
		t.Errorf("on the wire were %v; the guest counts %v", got, sent)
	}
	t.Logf("sent %v", sent)
}

// batch is a number of frames of one size, in a row.
type batch struct {
	size    int
	packets uint64
}

func (b batch) String() string { return fmt.Sprintf("%d of %d B", b.packets, b.size) }

func length(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// recordHeader is what stands before each frame in a capture.
const recordHeader = 16

// readCapture reads a file of libpcap's (draft-ietf-opsawg-pcap), checks each
// frame in it, and returns how many of each size came in a row.
func readCapture(t *testing.T, path, to, from string, ttl byte) []batch {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var head struct {
		Magic        uint32
		Major, Minor uint16
		_, _         uint32
		Snap, Link   uint32
	}
	if err := endian.Read(r, endian.LittleEndian, &head); err != nil {
		t.Fatal(err)
	}
	// Microseconds or nanoseconds; Ethernet.
	if head.Magic != 0xa1b2c3d4 && head.Magic != 0xa1b23c4d || head.Link != 1 {
		t.Fatalf("no capture of Ethernet: %+v", head)
	}
	var all []batch
	wrong := 0
	record, frame := make([]byte, recordHeader), make([]byte, 1<<16)
	for {
		if _, err := io.ReadFull(r, record); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		captured, size := endian.LittleEndian.Uint32(record[8:]), endian.LittleEndian.Uint32(record[12:])
		if captured != size || size > uint32(len(frame)) {
			t.Fatalf("%d bytes of %d were captured", captured, size)
		}
		b := frame[:size]
		if _, err := io.ReadFull(r, b); err != nil {
			t.Fatal(err)
		}
		if err := checkFrame(b, to, from, ttl); err != nil {
			t.Errorf("%d B: %v: % x", size, err, b[:min(len(b), 64)])
			if wrong++; wrong == 5 {
				t.FailNow()
			}
		}
		if n := len(all); n == 0 || all[n-1].size != int(size) {
			all = append(all, batch{size: int(size)})
		}
		all[len(all)-1].packets++
	}
}

// checkFrame says what in a frame is not as every guest's is: UDP in IPv4 in
// Ethernet (RFC 768, 791, 894).
func checkFrame(b []byte, to, from string, ttl byte) error {
	if len(b) < 42 {
		return errors.New("no room for the headers")
	}
	u16 := func(at int) int { return int(endian.BigEndian.Uint16(b[at:])) }
	var errs []error
	check := func(what string, got, want any) {
		if got != want {
			errs = append(errs, fmt.Errorf("%s is %v, not %v", what, got, want))
		}
	}
	ip := b[14:34]
	check("the Ethernet destination", net.HardwareAddr(b[:6]).String(), to)
	check("the Ethernet source", net.HardwareAddr(b[6:12]).String(), from)
	check("the EtherType", u16(12), 0x0800)
	check("IPv4's version and header length", ip[0], byte(0x45))
	check("IPv4's type of service", ip[1], byte(0))
	check("IPv4's total length", u16(16), len(b)-14)
	check("IPv4's flags and fragment", u16(20), 0)
	check("IPv4's time to live", ip[8], ttl)
	check("IPv4's protocol", ip[9], byte(17))
	check("the sum over IPv4's header", onesSum(ip), uint32(0xffff))
	check("the source", netip.AddrFrom4([4]byte(ip[12:])).String(), "198.18.0.1")
	check("the destination", netip.AddrFrom4([4]byte(ip[16:])).String(), "198.18.0.2")
	check("the source port", u16(34), 9)
	check("the destination port", u16(36), 9)
	check("UDP's length", u16(38), len(b)-34)
	if u16(40) != 0 {
		// Over addresses, protocol and length, and then UDP itself.
		pseudo := bytes.Join([][]byte{ip[12:20], {0, 17}, b[38:40], b[34:]}, nil)
		check("the sum over UDP", onesSum(pseudo), uint32(0xffff))
	}
	return errors.Join(errs...)
}

// onesSum is the one's complement sum of RFC 1071: ffff where a checksum that
// is among it is right.
func onesSum(b []byte) uint32 {
	var sum uint32
	for i, c := range b {
		if i%2 == 0 {
			sum += uint32(c) << 8
		} else {
			sum += uint32(c)
		}
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return sum
}
