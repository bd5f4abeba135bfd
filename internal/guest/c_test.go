package guest_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestC is of the C that the guests share, in a program of the host
// (ctest/host.c): what a guest does with its command line and on its console,
// and the frames it sends, byte by byte.
func TestC(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip(err)
	}
	host := filepath.Join(t.TempDir(), "host")
	build := exec.Command(gcc, "-std=gnu11", "-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		"-Wall", "-Wextra", "-Werror", "-o", host, "ctest/host.c", "c/params.c", "c/frame.c", "c/text.c")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := cGuest{host}
	t.Run("sizes", c.testSizes)
	t.Run("parameters", c.testParameters)
	t.Run("bad parameters", c.testBadParameters)
	t.Run("bytes", c.testBytes)
	t.Run("console", c.testConsole)
	t.Run("long lines", c.testLongLines)
}

// cGuest is the program.
type cGuest struct{ path string }

// run runs the guest with a command line, and with an environment (see
// ctest/host.c); input is what is typed on its console. Its own words are
// returned without what begins each line, and what it sent.
func (c cGuest) run(t *testing.T, line, input string, env ...string) (said []string, frames [][]byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, c.path, strings.Split(line, " ")...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%.100q: %v\n%.1000s%.3000s", line, err, &stdout, &stderr)
	}
	for text := range strings.Lines(stdout.String()) {
		words, ok := strings.CutPrefix(text, "sweep-guest: ")
		if !ok || !strings.HasSuffix(words, "\n") {
			t.Fatalf("%.100q: the line %q is none of the protocol", line, text)
		}
		said = append(said, strings.TrimSuffix(words, "\n"))
	}
	for text := range strings.Lines(stderr.String()) {
		digits, ok := strings.CutPrefix(strings.TrimSpace(text), "frame ")
		b, err := hex.DecodeString(digits)
		if !ok || err != nil {
			t.Fatalf("%.100q: %.200q is no frame", line, text)
		}
		frames = append(frames, b)
	}
	return said, frames
}

// frame is what stands in a frame, as RFC 894, 791 and 768 have it.
type frame struct {
	size             int
	to, from         string // MACs
	etherType        uint16
	version          byte // and the header's length in words
	tos              byte
	total            uint16
	id, fragment     uint16
	ttl, protocol    byte
	source, dest     string // IPv4
	sport, dport     uint16
	length, checksum uint16 // UDP's
}

// decode reads a frame. The IPv4 header's checksum must be right and the
// payload zeros.
func decode(t *testing.T, b []byte) frame {
	t.Helper()
	if len(b) < 42 {
		t.Fatalf("a frame of %d bytes has no room for its headers", len(b))
	}
	u16 := func(at int) uint16 { return binary.BigEndian.Uint16(b[at:]) }
	// Every word counts, the checksum too: together they are all ones.
	var sum uint32
	for at := 14; at < 34; at += 2 {
		sum += uint32(u16(at))
	}
	if sum%0xffff != 0 || sum == 0 {
		t.Errorf("the IPv4 header's checksum is wrong: % x", b[14:34])
	}
	if len(bytes.Trim(b[42:], "\x00")) > 0 {
		t.Errorf("the payload is not zeros: % x", b[42:])
	}
	return frame{
		len(b), net.HardwareAddr(b[:6]).String(), net.HardwareAddr(b[6:12]).String(), u16(12),
		b[14], b[15], u16(16), u16(18), u16(20), b[22], b[23],
		netip.AddrFrom4([4]byte(b[26:30])).String(), netip.AddrFrom4([4]byte(b[30:34])).String(),
		u16(34), u16(36), u16(38), u16(40),
	}
}

// ordinary is the frame of 64 bytes of a guest that is told no more: 50 are
// IPv4's, 30 UDP's.
func ordinary() frame {
	return frame{
		size: 64, to: "02:00:00:00:00:00", from: "0a:1b:2c:3d:4e:5f", etherType: 0x0800,
		version: 0x45, total: 50, ttl: 64, protocol: 17,
		source: "198.18.0.1", dest: "198.18.0.2", sport: 9, dport: 9, length: 30,
	}
}

func (c cGuest) testSizes(t *testing.T) {
	for _, size := range []struct{ frame, ip, udp int }{
		{42, 28, 8}, {60, 46, 26}, {64, 50, 30}, {128, 114, 94}, {256, 242, 222},
		{512, 498, 478}, {1024, 1010, 990}, {1500, 1486, 1466}, {1514, 1500, 1480},
	} {
		said, frames := c.run(t, fmt.Sprintf("sweep.size=%d sweep.packets=3", size.frame), "")
		// Three packets of ten ticks in one burst, and the clock read twice.
		want := []string{"boot guest=host queue=0", fmt.Sprintf("sending size=%d", size.frame),
			fmt.Sprintf("stopped size=%d packets=3 full=0 errors=0 ns=3200000 ticks=32", size.frame)}
		checkSaid(t, fmt.Sprint(size.frame), said, want)
		f := ordinary()
		f.size, f.total, f.length = size.frame, uint16(size.ip), uint16(size.udp)
		if len(frames) != 3 {
			t.Errorf("%d B: %d frames; want 3", size.frame, len(frames))
		}
		for _, b := range frames {
			if got := decode(t, b); got != f {
				t.Errorf("%d B:\n got %+v\nwant %+v", size.frame, got, f)
			}
		}
	}
}

// The whole of a frame. Its header's words sum up to 2116a: 4500, 32, 4011 and
// the addresses' c612, 1, c612, 2. That is 116c with the carry, ee93 inverted.
func (c cGuest) testBytes(t *testing.T) {
	want := "020000000000" + "0a1b2c3d4e5f" + "0800" +
		"45000032" + "00000000" + "4011ee93" + "c6120001" + "c6120002" +
		"00090009" + "001e0000" + strings.Repeat("00", 22)
	if _, frames := c.run(t, "sweep.size=64 sweep.packets=1", ""); len(frames) != 1 || hex.EncodeToString(frames[0]) != want {
		t.Errorf("sent %x\nwant %s", frames, want)
	}
	// A sum with a carry: 4500, 1c, 4011, four times ffff are 4852d less 4 and
	// with the carry 852d, 7ad2 inverted.
	_, frames := c.run(t, "sweep.size=42 sweep.packets=1 sweep.ip=255.255.255.255,255.255.255.255", "")
	if len(frames) != 1 || hex.EncodeToString(frames[0][24:26]) != "7ad2" {
		t.Errorf("sent %x; want the checksum 7ad2", frames)
	}
}

func (c cGuest) testParameters(t *testing.T) {
	for _, tt := range []struct {
		line    string
		packets int
		ticks   int // ten a packet, one a burst and one at the end
		change  func(*frame)
	}{
		{"sweep.size=64 sweep.packets=300", 300, 3011, nil}, // ten bursts
		{"sweep.size=64 sweep.packets=300 sweep.burst=1", 300, 3301, nil},
		{"sweep.size=64 sweep.packets=300 sweep.burst=256", 300, 3003, nil},
		{"sweep.packets=1 sweep.size=64 sweep.peer=0A:1b:fF:00:99:af", 1, 12, func(f *frame) { f.to = "0a:1b:ff:00:99:af" }},
		{"sweep.size=64 sweep.packets=1 sweep.ip=0.0.0.0,255.255.255.255", 1, 12, func(f *frame) { f.source, f.dest = "0.0.0.0", "255.255.255.255" }},
		{"sweep.size=64 sweep.packets=1 sweep.ip=10.1.2.3,192.168.100.99", 1, 12, func(f *frame) { f.source, f.dest = "10.1.2.3", "192.168.100.99" }},
		{"sweep.size=64 sweep.packets=1 sweep.udp=0,65535", 1, 12, func(f *frame) { f.sport, f.dport = 0, 65535 }},
		{"sweep.size=64 sweep.packets=1 sweep.udp=4660,9", 1, 12, func(f *frame) { f.sport = 4660 }},
		// The end that comes first.
		{"sweep.size=64 sweep.packets=1 sweep.seconds=1000000", 1, 12, nil},
		// Words that are none of the guest's.
		{"console=ttyS0 quiet sweep sweepsize=1 xsweep.size=1 size=1 SWEEP.size=1 -- sweep.size=64 sweep.packets=1", 1, 12, nil},
		{"  \t sweep.size=64\t\tsweep.packets=1\n ", 1, 12, nil},
	} {
		said, frames := c.run(t, tt.line, "")
		want := ordinary()
		if tt.change != nil {
			tt.change(&want)
		}
		checkSaid(t, tt.line, said, []string{"boot guest=host queue=0", "sending size=64",
			fmt.Sprintf("stopped size=64 packets=%d full=0 errors=0 ns=%d00000 ticks=%d", tt.packets, tt.ticks, tt.ticks)})
		if len(frames) != tt.packets {
			t.Errorf("%q: %d frames; want %d", tt.line, len(frames), tt.packets)
		}
		for _, b := range frames {
			if got := decode(t, b); got != want {
				t.Errorf("%q:\n got %+v\nwant %+v", tt.line, got, want)
			}
		}
	}
}

// A bad parameter is named, with what it takes, in one line: nothing is sent.
func (c cGuest) testBadParameters(t *testing.T) {
	type bad struct{ line, word, takes string }
	var all []bad
	for takes, words := range map[string][]string{
		"42 to 1514": {"sweep.size=41", "sweep.size=1515", "sweep.size=abc", "sweep.size=", "sweep.size=-1", "sweep.size=+64",
			"sweep.size=0", "sweep.size=64x", "sweep.size=0x40", "sweep.size=64.0", "sweep.size=99999999999999999999",
			"sweep.size=4294967360", "sweep.size=18446744073709551680" /* 64, in 32 bits and in 64 */},
		"1 or more":    {"sweep.packets=0", "sweep.packets=", "sweep.packets=1k", "sweep.packets=-1", "sweep.packets=18446744073709551616"},
		"1 to 1000000": {"sweep.seconds=0", "sweep.seconds=", "sweep.seconds=1s", "sweep.seconds=1000001", "sweep.seconds=4294967297"},
		"1 to 256":     {"sweep.burst=0", "sweep.burst=257", "sweep.burst=", "sweep.burst=all"},
		"a MAC": {"sweep.peer=", "sweep.peer=02:00:00:00:00", "sweep.peer=02:00:00:00:00:0", "sweep.peer=02:00:00:00:00:0g",
			"sweep.peer=/2:00:00:00:00:00", "sweep.peer=:2:00:00:00:00:00",
			"sweep.peer=@2:00:00:00:00:00", "sweep.peer=G2:00:00:00:00:00", "sweep.peer=`2:00:00:00:00:00", "sweep.peer=02-00-00-00-00-00", "sweep.peer=02:00:00:00:00:00:00", "sweep.peer=020000000000"},
		"two IPv4 addresses": {"sweep.ip=", "sweep.ip=198.18.0.1", "sweep.ip=198.18.0.1,", "sweep.ip=,198.18.0.1",
			"sweep.ip=198.18.0.256,198.18.0.2", "sweep.ip=198.18.0.1,256.18.0.2", "sweep.ip=198.18.1,198.18.0.2",
			"sweep.ip=198.18.0.1,198.18.0", "sweep.ip=198.18.0.1.,198.18.0.2", "sweep.ip=198.18.0.1,198.18.0.2.",
			"sweep.ip=198.18.0.1,198.18.0.2.3", "sweep.ip=198..0.1,198.18.0.2", "sweep.ip=.18.0.1,198.18.0.2",
			"sweep.ip=198.18.0.1,198.18.0.2,198.18.0.3", "sweep.ip=198.18.0.0001,198.18.0.2", "sweep.ip=198.18.0.x,198.18.0.2",
			"sweep.ip=-1.18.0.1,198.18.0.2"},
		"two UDP ports": {"sweep.udp=", "sweep.udp=9", "sweep.udp=9,", "sweep.udp=,9", "sweep.udp=9,65536", "sweep.udp=65536,9",
			"sweep.udp=9,9,9", "sweep.udp=9,x"},
		"there is no such parameter": {"sweep.nosuch=1", "sweep.=1", "sweep.SIZE=64", "sweep.sizes=64", "sweep.siz=64", "sweep.peers=1"},
		"sweep.KEY=VALUE":            {"sweep.size", "sweep.", "sweep.nosuch"},
	} {
		for _, w := range words {
			all = append(all, bad{"quiet " + w + " sweep.burst=32", w, takes})
		}
	}
	all = append(all,
		bad{"sweep.packets=5", "sweep.packets", "need sweep.size"},
		bad{"sweep.seconds=5", "sweep.seconds", "need sweep.size"},
		// The first of two, and one behind good ones.
		bad{"sweep.size=41 sweep.burst=0", "sweep.size=41", "42 to 1514"},
		bad{"sweep.size=64 sweep.packets=1 sweep.burst=0", "sweep.burst=0", "1 to 256"},
		// As much of it as there is room for.
		bad{"sweep.size=" + strings.Repeat("9", 1000), "sweep.size=99999", ""},
		bad{"sweep." + strings.Repeat("n", 1000), "sweep.nnnnn", ""},
	)
	for _, tt := range all {
		said, frames := c.run(t, tt.line, "send 64 1\nquit\n")
		if len(said) != 2 || said[0] != "boot guest=host queue=0" || !strings.HasPrefix(said[1], "error ") ||
			!strings.Contains(said[1], tt.word) || !strings.Contains(said[1], tt.takes) || len(frames) != 0 {
			t.Errorf("%.100q: it said %.300q and sent %d frames; want one error that has %q and %q", tt.line, said, len(frames), tt.word, tt.takes)
		}
	}
}

func (c cGuest) testConsole(t *testing.T) {
	const (
		nothing = "\x00" // comes in, for a look
		ended   = "\x01" // what follows comes in once it has ended to send
		noSize  = "refused a frame has 42 to 1514 bytes, without FCS"
		numbers = "refused a command is followed by one or two numbers"
		unknown = "refused there is no such command; there are send, stop, count, quit"
	)
	// A burst is 32 packets and 321 ticks of 10000 a second, and the console is
	// looked at after each of them. The end takes one more.
	for _, tt := range []struct {
		name, line, input string
		env               string
		said              []string // after its boot line
		frames            int
	}{
		{name: "it sends until it is told to stop", input: "send 64\n" + nothing + nothing + "stop\nquit\n",
			said:   []string{"ready count=yes", "sending size=64", "stopped size=64 packets=96 full=0 errors=0 ns=96400000 ticks=964"},
			frames: 96},
		// 31 bursts of 32 end at 9951, and 8 more before the next look.
		{name: "so many packets", input: "send 1500 1000\n" + ended + "quit\n",
			said:   []string{"ready count=yes", "sending size=1500", "stopped size=1500 packets=1000 full=0 errors=0 ns=1003300000 ticks=10033"},
			frames: 1000},
		{name: "fewer than a burst", input: "send 42 7\n" + ended + "send 42 1\n" + ended + "quit\n",
			said: []string{"ready count=yes", "sending size=42", "stopped size=42 packets=7 full=0 errors=0 ns=7200000 ticks=72",
				"sending size=42", "stopped size=42 packets=1 full=0 errors=0 ns=1200000 ticks=12"},
			frames: 8},
		{name: "one fewer than a burst", input: "send 64 31\n" + ended + "quit\n",
			said:   []string{"ready count=yes", "sending size=64", "stopped size=64 packets=31 full=0 errors=0 ns=31200000 ticks=312"},
			frames: 31},
		// The 32nd burst ends at 10272, the 63rd at 20223, the 71st at 22791.
		{name: "a line a second", input: "send 64\n" + strings.Repeat(nothing, 70) + "stop\nquit\n",
			said: []string{"ready count=yes", "sending size=64",
				"second size=64 packets=1024 full=0 errors=0 ns=1027200000 ticks=10272",
				"second size=64 packets=2016 full=0 errors=0 ns=2022300000 ticks=20223",
				"stopped size=64 packets=2272 full=0 errors=0 ns=2279200000 ticks=22792"},
			frames: 2272},
		{name: "by itself, for two seconds", line: "sweep.size=64 sweep.seconds=2",
			said: []string{"sending size=64",
				"second size=64 packets=1024 full=0 errors=0 ns=1027200000 ticks=10272",
				"second size=64 packets=2016 full=0 errors=0 ns=2022300000 ticks=20223",
				"stopped size=64 packets=2016 full=0 errors=0 ns=2022400000 ticks=20224"},
			frames: 2016},
		{name: "by itself, until it is told to stop", line: "sweep.size=64", input: nothing + "stop\n",
			said:   []string{"sending size=64", "stopped size=64 packets=64 full=0 errors=0 ns=64300000 ticks=643"},
			frames: 64},
		{name: "2^64-1 packets, for a second", line: "sweep.size=64 sweep.seconds=1 sweep.packets=18446744073709551615",
			said: []string{"sending size=64",
				"second size=64 packets=1024 full=0 errors=0 ns=1027200000 ticks=10272",
				"stopped size=64 packets=1024 full=0 errors=0 ns=1027300000 ticks=10273"},
			frames: 1024},
		// Two bursts fill it; a try that finds it full takes the clock's tick.
		{name: "a ring of 64", input: "send 64 200\n" + ended + "quit\n", env: "HOST_RING=64",
			said:   []string{"ready count=yes", "sending size=64", "stopped size=64 packets=200 full=3 errors=0 ns=201100000 ticks=2011"},
			frames: 200},
		// 32, 18 and a try that is in vain, four times.
		{name: "a ring of 50", input: "send 64 200\n" + ended + "quit\n", env: "HOST_RING=50",
			said:   []string{"ready count=yes", "sending size=64", "stopped size=64 packets=200 full=3 errors=0 ns=201200000 ticks=2012"},
			frames: 200},
		{name: "commands while it sends", input: "send 64\nsend 128\n\nquit\nstop\nstop\nquit\n",
			said: []string{"ready count=yes", "sending size=64", "refused while it sends, a guest takes only stop",
				"refused while it sends, a guest takes only stop",
				"stopped size=64 packets=128 full=0 errors=0 ns=128500000 ticks=1285", "refused it doesn't send"},
			frames: 128},
		{name: "a line in pieces, and the ends of lines", input: "se" + nothing + "nd 64 " + nothing + nothing + "1\r\n" + ended + "\r\n\n" + "stop\rquit\r",
			said:   []string{"ready count=yes", "sending size=64", "stopped size=64 packets=1 full=0 errors=0 ns=1200000 ticks=12", "refused it doesn't send"},
			frames: 1},
		{name: "what it doesn't take", input: "go\nsend\nsend 41\nsend 1515\nsend 18446744073709551680\nsend 4294967360\ncount\ncount 41\n" +
			"send x\nsend 64 x\nsend 64 1 1\nsend 64 -1\nsend  64\nsend 64 \nsend 64 18446744073709551616\ncount x\n" +
			"SEND 64\nsen 64\nsendx 64\n 64\nquitx\nquit\nsend 64\n",
			said: []string{"ready count=yes", unknown, noSize, noSize, noSize, numbers, noSize, noSize, noSize,
				numbers, numbers, numbers, numbers, numbers, numbers, numbers, numbers,
				unknown, unknown, unknown, unknown, unknown}},
		{name: "a size that can't be sent", input: "send 64\ncount 64\nquit\n", env: "HOST_PREPARE=for a reason",
			said: []string{"ready count=yes", "refused for a reason", "refused for a reason"}},
		// The first of five stretches isn't counted; 32 packets are 320 ticks.
		{name: "it counts", input: "count 64\nquit\n",
			said:   []string{"ready count=yes", "counted size=64 packets=128 ticks=1280 least=320 most=320 stretches=4 uneven=0 full=0"},
			frames: 160},
		{name: "it counts with bursts of 7", line: "sweep.burst=7", input: "count 1514\nquit\n",
			said:   []string{"ready count=yes", "counted size=1514 packets=28 ticks=280 least=70 most=70 stretches=4 uneven=0 full=0"},
			frames: 35},
		{name: "stretches that are none", input: "count 64\nquit\n", env: "HOST_STRETCHES=cucfCfcc",
			said:   []string{"ready count=yes", "counted size=64 packets=128 ticks=1285 least=320 most=325 stretches=4 uneven=1 full=2"},
			frames: 160},
		{name: "the device breaks", input: "count 64\nquit\n", env: "HOST_STRETCHES=cccb",
			said:   []string{"ready count=yes", "refused the device refuses packets with an error"},
			frames: 96},
		{name: "the device is broken", input: "count 64\nquit\n", env: "HOST_STRETCHES=b",
			said: []string{"ready count=yes", "refused the device refuses packets with an error"}},
		// 20000 tries, the first of which isn't looked at.
		{name: "always full", input: "count 64\nquit\n", env: "HOST_STRETCHES=f",
			said: []string{"ready count=yes", "uncounted size=64 packets=0 ticks=0 least=0 most=0 stretches=0 uneven=0 full=19999"}},
		{name: "it can't count", input: "count 64\nquit\n", env: "HOST_STRETCHES=",
			said: []string{"ready count=no", "refused this guest can't count"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, frames := c.run(t, tt.line, tt.input, tt.env)
			checkSaid(t, tt.name, said, append([]string{"boot guest=host queue=0"}, tt.said...))
			if len(frames) != tt.frames {
				t.Errorf("%d frames; want %d", len(frames), tt.frames)
			}
		})
	}
}

// A line that is longer than there is room for, 80 characters, is no command,
// whatever it begins with.
func (c cGuest) testLongLines(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("0", n) }
	for _, tt := range []struct {
		line  string
		sends int // 0 where it is refused
	}{
		{strings.Repeat("x", 1000), 0},
		{"quit" + strings.Repeat(" ", 1000), 0},
		{"send " + zeros(70) + "64 10", 10}, // 80
		{"send " + zeros(71) + "64 10", 0},  // 81, and 1 of 80
		{"send 64 " + zeros(73) + "5", 0},   // 82, and 0 of 80: no end
		{"send 64 1" + strings.Repeat(" ", 1000), 0},
	} {
		said, frames := c.run(t, "", tt.line+"\n\x01send 64 3\n\x01quit\n")
		last := "stopped size=64 packets=3 full=0 errors=0 ns=3200000 ticks=32"
		if len(said) < 3 || strings.HasPrefix(said[2], "refused") != (tt.sends == 0) || said[len(said)-1] != last || len(frames) != tt.sends+3 {
			t.Errorf("%.100q: it said %.300q and sent %d frames", tt.line, said, len(frames))
		}
	}
}

func checkSaid(t *testing.T, what string, got, want []string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("%s: it said\n%s\nwant\n%s", what, g, w)
	}
}
