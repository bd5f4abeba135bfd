package linux

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"sweep/internal/console"
	"sweep/internal/guest"
	"sweep/internal/qemu"
	"sweep/internal/testpmd"
)

// Guest is the guest "linux-dpdk" as a run uses it: an image that Build made.
type Guest struct {
	Dir string // the build folder
}

// vcpus is one, for testpmd's other thread only waits for commands.
const vcpus = 1

// kernelArguments are the kernel's own, for a machine that says little and
// spends no time on finding out what is known.
const kernelArguments = "console=ttyS0 quiet panic=-1 cryptomgr.notests tsc=reliable no_timer_check"

// VM is its virtual machine (see guest.Guest).
func (g Guest) VM() qemu.Config {
	// Without a manifest there is no image either; the paths are then where
	// it will be, for a dry run to show.
	m, err := Load(g.Dir)
	if err != nil {
		m.Files = []File{{Path: filepath.Join(Name, "vmlinux")}, {Path: filepath.Join(Name, "initramfs.cpio")}}
	}
	return qemu.Config{
		VCPUs:     vcpus,
		MemoryMiB: guest.MemoryMiB,
		Kernel:    m.KernelFile(g.Dir),
		Initrd:    m.InitramfsFile(g.Dir),
		Append:    kernelArguments + " hugepages=32",
	}
}

// The lines by which the init script speaks, beside its errors (guest.Failure).
const (
	sayBoot  = "sweep-guest: boot "
	sayEnded = "sweep-guest: testpmd ended"
)

// Booted says whether a guest's console shows that the kernel has come to its
// init script.
func Booted(text []byte) bool { return bytes.Contains(text, []byte(sayBoot)) }

// Attach waits for the guest's testpmd.
func (g Guest) Attach(ctx context.Context, con *console.Console) (guest.Sender, error) {
	failed := ""
	_, err := con.Wait(ctx, 0, "the guest's testpmd", func(text []byte) bool {
		failed = failure(text)
		return failed != "" || bytes.Contains(text, []byte(testpmd.Prompt))
	})
	if err != nil {
		return nil, err
	}
	if failed != "" {
		return nil, &console.Error{Name: con.Name(), Doing: "start testpmd in the guest", Err: errors.New(failed), Output: con.Text(0)}
	}
	s, err := testpmd.Attach(ctx, con, 0)
	if err != nil {
		return nil, err
	}
	return &sender{s, about(con.Text(0))}, nil
}

// failure is what the init script says went wrong, "" where nothing did.
func failure(text []byte) string {
	if why := guest.Failure(text); why != "" {
		return why
	}
	_, after, ended := bytes.Cut(text, []byte(sayEnded))
	code, _, whole := bytes.Cut(after, []byte("\n"))
	if !ended || !whole {
		return ""
	}
	return "testpmd ended" + string(bytes.TrimRight(code, "\r"))
}

// about is what the init script says the guest is.
func about(text []byte) string {
	_, after, _ := bytes.Cut(text, []byte(sayBoot))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	said, _, _ := strings.Cut(string(line), " uptime=")
	// What its virtio driver does with the features of a transitional device
	// (virtio_xmit_pkts in drivers/net/virtio/virtio_rxtx.c), and testpmd's
	// own burst.
	return strings.TrimSpace(said) + " descriptors_a_packet=1 packets_a_call=32"
}

// sender is a guest that runs: a testpmd to talk with.
type sender struct {
	session *testpmd.Session
	about   string
}

// About is what the guest says it is, such as "kernel=6.1.0 testpmd=22.11.11".
func (s *sender) About() string { return s.about }

// Typed implements guest.Guest.
func (g Guest) Typed(size int) []string {
	return []string{fmt.Sprintf("set txpkts %d", size), "start"}
}

// Send implements guest.Sender. testpmd keeps its old length where it refuses a
// new one and starts all the same, so the banner has the last word.
func (s *sender) Send(ctx context.Context, size int) error {
	if _, err := s.session.Do(ctx, fmt.Sprintf("set txpkts %d", size)); err != nil {
		return err
	}
	length, err := s.session.Start(ctx)
	if err != nil {
		return err
	}
	if length != size {
		return fmt.Errorf("the guest's testpmd was told to send %d B and says that it sends %d", size, length)
	}
	return nil
}

// Few implements guest.Sender: what finds no room in the ring is dropped.
func (s *sender) Few(ctx context.Context, size int) error {
	if err := s.Send(ctx, size); err != nil {
		return err
	}
	_, _, err := s.Halt(ctx)
	return err
}

// Halt implements guest.Sender.
func (s *sender) Halt(ctx context.Context) (sent, dropped uint64, err error) {
	f, err := s.session.Stop(ctx)
	if err != nil {
		return 0, 0, err
	}
	if f.Total == nil {
		return 0, 0, errors.New("the guest's testpmd gave no forward statistics")
	}
	return f.Total.TxPackets, f.Total.TxDropped, nil
}

// Windows in which the guest's testpmd is counted: short, because one in which
// the ring was full once is lost, and so many that what differs between them
// doesn't show. Where the first tries all are lost, the machine is too busy.
const (
	window     = 200 * time.Millisecond
	windows    = 10
	firstTries = 15
	mostTries  = 40
	fewPackets = 1000
)

// Agreement implements [guest.Counter]: the kernel's timer ticks in between.
func (s *sender) Agreement() float64 { return 0.01 }

// Count implements [guest.Counter], by testpmd's own record of the ticks that
// its forwarding function takes, in windows between two commands while it sends.
// Not from start to stop: what start prints leaves the serial line for a tenth
// of a second after, interrupt by interrupt, and each is in the record. A window
// in which the ring was full is left out: what was dropped cost something, too.
func (s *sender) Count(ctx context.Context, size int) (guest.Count, error) {
	if _, err := s.session.Do(ctx, "set record-core-cycles on"); err != nil {
		return guest.Count{}, err
	}
	if err := s.Send(ctx, size); err != nil {
		return guest.Count{}, err
	}
	var sum guest.Count
	got := 0
	for try := 0; got < windows && try < mostTries && (got > 0 || try < firstTries); try++ {
		c, ok, err := s.countWindow(ctx)
		if err != nil {
			return guest.Count{}, err
		}
		// The first finds caches and rings empty.
		if ok && try > 0 {
			sum.Packets += c.Packets
			sum.Ticks += c.Total
			got++
		}
	}
	if _, _, err := s.Halt(ctx); err != nil {
		return guest.Count{}, err
	}
	if got < windows {
		return guest.Count{}, guest.ErrUncounted
	}
	return sum, nil
}

// countWindow counts for a window, and says whether it counts: whether nothing
// was dropped.
func (s *sender) countWindow(ctx context.Context) (testpmd.Cycles, bool, error) {
	if _, err := s.session.Do(ctx, "clear fwd stats all"); err != nil {
		return testpmd.Cycles{}, false, err
	}
	select {
	case <-time.After(window):
	case <-ctx.Done():
		return testpmd.Cycles{}, false, context.Cause(ctx)
	}
	r, err := s.session.Do(ctx, "show fwd stats all")
	if err != nil {
		return testpmd.Cycles{}, false, err
	}
	f := testpmd.ParseForward(r.Text)
	if f.Total == nil {
		return testpmd.Cycles{}, false, errors.New("the guest's testpmd gave no forward statistics")
	}
	c, ok := testpmd.ParseCycles(r.Text)
	return c, ok && f.Total.TxDropped == 0 && c.Packets >= fewPackets, nil
}
