package pktio

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"strings"
	"testing"
)

// The whole of a frame, as the guests' C makes it (internal/guest's TestBytes has
// the sum by hand).
func TestFrame(t *testing.T) {
	want := "020000000000" + "0a1b2c3d4e5f" + "0800" +
		"45000032" + "00000000" + "4011ee93" + "c6120001" + "c6120002" +
		"00090009" + "001e0000" + strings.Repeat("00", 22)
	from, to := net.HardwareAddr{0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f}, net.HardwareAddr{2, 0, 0, 0, 0, 0}
	if got := hex.EncodeToString(Frame(64, from, to)); got != want {
		t.Errorf("Frame(64) = %s\nwant %s", got, want)
	}
	for _, tt := range []struct{ size, ip, udp int }{{42, 28, 8}, {1500, 1486, 1466}, {1514, 1500, 1480}} {
		f := Frame(tt.size, from, to)
		var sum uint32
		for at := 14; at < 34; at += 2 {
			sum += uint32(binary.BigEndian.Uint16(f[at:]))
		}
		ip, udp := binary.BigEndian.Uint16(f[16:]), binary.BigEndian.Uint16(f[38:])
		// With its checksum the header's words sum up to all ones.
		if len(f) != tt.size || int(ip) != tt.ip || int(udp) != tt.udp || sum%0xffff != 0 {
			t.Errorf("Frame(%d): %d bytes, IPv4 %d, UDP %d, sum %x", tt.size, len(f), ip, udp, sum)
		}
	}
}

func TestEAL(t *testing.T) {
	got := strings.Join(Config{Vdevs: []string{"net_null0", "net_null1"}, CPUs: []int{1, 3}, MemoryMiB: 256, Prefix: "x"}.EAL(), " ")
	want := "pktio --lcores 0@(1,3) --no-huge -m 256 --no-pci --no-shconf --no-telemetry --file-prefix x --vdev net_null0 --vdev net_null1"
	if got != want {
		t.Errorf("EAL() = %s\nwant %s", got, want)
	}
}
