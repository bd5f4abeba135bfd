// Command foreign is a guest that is none of the kit's in kind, for the test of
// --guest: the first program of a Linux machine, in Go, which writes frames to
// a packet socket and speaks the line protocol of docs/guests.md. Somebody
// else could have written it with that page alone.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

var console *os.File

func say(format string, a ...any) { fmt.Fprintf(console, "sweep-guest: "+format+"\n", a...) }

func main() {
	err := unix.Mount("dev", "/dev", "devtmpfs", 0, "")
	if err == nil || errors.Is(err, unix.EBUSY) {
		console, err = os.OpenFile("/dev/ttyS0", os.O_RDWR, 0)
	}
	if err == nil {
		if err = serve(); err != nil {
			say("error %v", err)
		}
	}
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
}

func serve() error {
	if t, err := unix.IoctlGetTermios(int(console.Fd()), unix.TCGETS); err == nil {
		t.Lflag &^= unix.ECHO
		unix.IoctlSetTermios(int(console.Fd()), unix.TCSETS, t)
	}
	say("boot guest=foreign packets_a_call=1")
	nic, err := openNIC()
	if err != nil {
		return err
	}
	say("ready count=no")
	var sending *stream
	for in := bufio.NewScanner(console); in.Scan(); {
		words := strings.Fields(in.Text())
		switch {
		case (len(words) == 2 || len(words) == 3) && words[0] == "send":
			size, err := strconv.Atoi(words[1])
			if err != nil || size < 42 || size > 1514 {
				say("refused a frame has 42 to 1514 bytes")
				continue
			}
			var packets uint64 // no end
			if len(words) == 3 {
				if packets, err = strconv.ParseUint(words[2], 10, 64); err != nil || packets == 0 {
					say("refused %q is no number of packets", words[2])
					continue
				}
			}
			sending = nic.send(size, packets)
			say("sending size=%d", size)
			if packets > 0 {
				sending.stopped()
				sending = nil
			}
		case len(words) == 1 && words[0] == "stop" && sending != nil:
			sending.stop.Store(true)
			sending.stopped()
			sending = nil
		case len(words) == 1 && words[0] == "quit":
			return nil
		default:
			say("refused %q", in.Text())
		}
	}
	return errors.New("the console ended")
}

type nic struct {
	fd  int
	mac net.HardwareAddr
	to  unix.SockaddrLinklayer
}

// openNIC loads the modules that lie beside this program and brings the NIC up.
func openNIC() (*nic, error) {
	list, err := os.ReadFile("/etc/virtio-modules")
	if err != nil {
		return nil, err
	}
	for name := range strings.FieldsSeq(string(list)) {
		module, err := os.ReadFile("/modules/" + name + ".ko")
		if err != nil {
			return nil, err
		}
		if err := unix.InitModule(module, ""); err != nil && !errors.Is(err, unix.EEXIST) {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
	}
	eth, err := net.InterfaceByName("eth0")
	if err != nil {
		return nil, fmt.Errorf("no network device: %w", err)
	}
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	req, err := unix.NewIfreq("eth0")
	if err != nil {
		return nil, err
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return nil, fmt.Errorf("bring eth0 up: %w", err)
	}
	time.Sleep(500 * time.Millisecond) // until the link is up
	return &nic{fd, eth.HardwareAddr, unix.SockaddrLinklayer{Ifindex: eth.Index, Protocol: 0x0008}}, nil
}

type stream struct {
	size                  int
	packets, full, errors uint64
	began                 time.Time
	stop                  atomic.Bool
	done                  chan struct{}
}

// stopped waits for the end of a stream and says what was sent.
func (s *stream) stopped() {
	<-s.done
	say("stopped size=%d packets=%d full=%d errors=%d ns=%d ticks=0", s.size, s.packets, s.full, s.errors, time.Since(s.began))
}

// send sends frames until so many are sent (0: without end) or it is stopped.
func (n *nic) send(size int, packets uint64) *stream {
	frame := make([]byte, size)
	copy(frame, []byte{2, 0, 0, 0, 0, 0})
	copy(frame[6:], n.mac)
	binary.BigEndian.PutUint16(frame[12:], 0x88b5) // for experiments: IEEE 802, 9.2.3
	s := &stream{size: size, began: time.Now(), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		for !s.stop.Load() && (packets == 0 || s.packets < packets) {
			switch err := unix.Sendto(n.fd, frame, 0, &n.to); {
			case err == nil:
				s.packets++
			case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.ENOBUFS):
				s.full++
			default:
				s.errors++
			}
		}
	}()
	return s
}
