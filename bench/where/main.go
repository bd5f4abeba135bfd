// Command where says in which functions the instructions of one packet of the
// guest unikraft are: how many are our application's, and how many
// uk_netdev_tx_one spends by itself.
//
// It boots the image as `sweep cost` does, with QEMU's log of every instruction
// that the guest carries out, and has it count. The instructions between the two
// readings of the clock, of the same stretches that the guest counts, are put to
// functions by the symbols and the DWARF of the image before it was stripped.
//
//	go run ./bench/where IMAGE IMAGE.dbg
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/qemu"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/unikraft"
	"sweep/vhost"
)

// packets are those of a stretch: the guest's burst, unless it is told otherwise.
const packets = 32

func main() {
	if len(os.Args) > 1 && os.Args[1] == agent.ChildCommand {
		agent.RunChild()
	}
	size := flag.Int("size", 64, "packet length in bytes, without FCS")
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "go run ./bench/where [--size BYTES] IMAGE IMAGE.dbg")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, flag.Arg(0), flag.Arg(1), *size); err != nil {
		fmt.Fprintln(os.Stderr, "where:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, image, debug string, size int) error {
	p, err := openProgram(debug)
	if err != nil {
		return fmt.Errorf("%s: %w", debug, err)
	}
	recycle, err := p.function("recycle")
	if err != nil {
		return err
	}
	clocks, err := p.clocks("stretch")
	if err != nil {
		return err
	}
	count, all, err := trace(ctx, image, size, p.filter(), clocks)
	if err != nil {
		return err
	}

	// The guest counts the stretches but the first in which as many packets
	// were reclaimed as sent.
	at := map[uint64]int{}
	stretches, traced := 0, 0
	for i, pcs := range all {
		returned := 0
		for _, pc := range pcs {
			if pc == recycle.Value {
				returned++
			}
		}
		if i == 0 || returned != packets {
			continue
		}
		stretches++
		traced += len(pcs)
		for _, pc := range pcs {
			at[pc]++
		}
	}
	if uint64(stretches*packets) != count.Packets {
		return fmt.Errorf("the guest counted %d packets and the log has %d of %d stretches to count, of %d packets each",
			count.Packets, stretches, len(all), packets)
	}
	rows, err := p.rows(at)
	if err != nil {
		return err
	}
	printTable(os.Stdout, rows, count, stretches, traced)
	return nil
}

// trace boots the image, has it count, and returns what it said and the
// addresses of the instructions of each of its stretches: behind the first
// reading of the clock, up to and with the second.
func trace(ctx context.Context, image string, size int, filter string, clocks [2]uint64) (count guest.Count, all [][]uint64, err error) {
	journal, err := agent.OpenJournal(agent.JournalDir(), "")
	if err != nil {
		return count, nil, err
	}
	a := agent.NewLocal(journal)
	end := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, a.Close(end)) }()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	topology, err := testbed.ReadTopology(ctx, a)
	if err != nil {
		return count, nil, err
	}
	place, err := testbed.Place(topology)
	if err != nil {
		return count, nil, err
	}
	dir, err := a.TempDir(ctx)
	if err != nil {
		return count, nil, err
	}

	// The log goes through a pipe, for it is long. That is open for writing
	// here too, so that there is no end of it while QEMU is not there.
	path := dir + "/log"
	if err := unix.Mkfifo(path, 0o600); err != nil {
		return count, nil, err
	}
	log, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return count, nil, err
	}
	defer log.Close()
	type stretches struct {
		all [][]uint64
		err error
	}
	read := make(chan stretches, 1)
	go func() {
		all, err := readLog(log, clocks)
		if err != nil {
			cancel() // QEMU waits for a reader
		}
		read <- stretches{all, err}
	}()

	port := vhost.User{Socket: dir + "/vhost.sock"}
	host := testpmd.Host{Dir: dir, Main: place.House, Worker: []int{place.Forwarder}, Slice: place.Slice()}
	srv, err := server.Launch(ctx, a, server.Config{Port: port, Wire: testpmd.Device{Name: "net_null0"}}, host, io.Discard)
	if err != nil {
		return count, nil, err
	}
	defer srv.Quit(end)
	g := unikraft.New(image)
	c := g.VM()
	c.Accel, c.CPU, c.Icount = "tcg", qemu.CPUModel("tcg"), true
	c.Net = append(port.Netdev("net0"), vhost.NIC{MAC: "02:00:00:00:00:01", Queue: 1024, NoMSIX: true}.Device("net0")...)
	// With -singlestep a block of QEMU's is one instruction, and exec logs each
	// block that is carried out, on a line.
	monitor := dir + "/monitor.sock"
	argv := append(c.Argv(), "-singlestep", "-dfilter", filter, "-D", path, "-monitor", "unix:"+monitor+",server=on,wait=off")
	vm, err := qemu.Start(ctx, a, agent.Spec{Name: "guest", Argv: argv, Slice: place.Slice()}, io.Discard)
	if err != nil {
		return count, nil, err
	}
	defer vm.End(end)
	sender, err := g.Attach(ctx, vm.Console)
	if err != nil {
		return count, nil, err
	}
	counter, ok := sender.(guest.Counter)
	if !ok {
		return count, nil, errors.New("this guest can't count")
	}
	if err := srv.Forward(ctx); err != nil {
		return count, nil, err
	}
	// Not from the start: the boot is tens of millions of instructions.
	if err := order(ctx, monitor, "log exec,nochain"); err != nil {
		return count, nil, fmt.Errorf("QEMU's monitor: %w", err)
	}
	if count, err = counter.Count(ctx, size); err != nil {
		return count, nil, err
	}
	// QEMU has written all of the count by now, and nothing more comes.
	if err := vm.End(end); err != nil {
		return count, nil, err
	}
	if _, err := log.WriteString("\n" + logEnd + "\n"); err != nil {
		return count, nil, err
	}
	got := <-read
	if got.err != nil {
		return count, nil, fmt.Errorf("QEMU's log: %w", got.err)
	}
	return count, got.all, nil
}

// order has QEMU's monitor carry out a command.
func order(ctx context.Context, socket, command string) error {
	var d net.Dialer
	c, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, command+"\n"); err != nil {
		return err
	}
	// A prompt before the command, and one when it is done.
	var said []byte
	for buf := make([]byte, 1024); bytes.Count(said, []byte("\n(qemu) ")) < 2; {
		n, err := c.Read(buf)
		if err != nil {
			return err
		}
		said = append(said, buf[:n]...)
	}
	return nil
}

// logEnd is the line behind QEMU's log.
const logEnd = "where: end"

// readLog reads QEMU 7.2's log of the blocks that it carries out:
//
//	Trace 0: 0x7efd4451ff80 [0000000000000000/0000000000115237/1040c2b0/ff020201]
//
// where the address is the second of the four. A block that was stopped before
// its instruction, or that is done again, has its line twice and a line of its
// own about that.
func readLog(r io.Reader, clocks [2]uint64) (all [][]uint64, err error) {
	var pcs []uint64
	inside := false
	for lines := bufio.NewScanner(r); ; {
		if !lines.Scan() {
			return all, errors.Join(lines.Err(), io.ErrUnexpectedEOF)
		}
		line := lines.Bytes()
		switch {
		case bytes.HasPrefix(line, []byte("Trace ")):
			parts := bytes.SplitN(line, []byte("/"), 3)
			if len(parts) != 3 {
				continue // the last one, cut off
			}
			pc, err := strconv.ParseUint(string(parts[1]), 16, 64)
			if err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			switch {
			case pc == clocks[0]:
				pcs, inside = nil, true
			case inside:
				pcs = append(pcs, pc)
				if pc == clocks[1] {
					all = append(all, pcs)
					inside = false
				}
			}
		case bytes.HasPrefix(line, []byte("Stopped execution")), bytes.HasPrefix(line, []byte("cpu_io_recompile")):
			if inside && len(pcs) > 0 {
				pcs = pcs[:len(pcs)-1]
			}
		case string(line) == logEnd:
			return all, nil
		}
	}
}

// printTable writes the rows, in instructions a packet, and how their sum
// agrees with the guest's own count.
func printTable(w io.Writer, rows []row, count guest.Count, stretches, traced int) {
	n := float64(count.Packets)
	line := func(name, calls string, instructions int) {
		fmt.Fprintf(w, "%-48s %7s %10.3f %6.1f %%\n", name, calls, float64(instructions)/n, 100*float64(instructions)/float64(traced))
	}
	fmt.Fprintf(w, "%-48s %7s %10s %8s\n", "function", "calls", "instr.", "share")
	for _, ours := range []bool{true, false} {
		sum := 0
		for _, r := range rows {
			if r.ours != ours {
				continue
			}
			sum += r.instructions
			calls := ""
			if r.calls > 0 {
				calls = strconv.FormatFloat(float64(r.calls)/n, 'f', 3, 64)
			}
			line(r.function, calls, r.instructions)
			for _, in := range r.inlined {
				line("  of that inlined: "+in.function, "", in.instructions)
			}
		}
		if ours {
			line("= this application", "", sum)
		} else {
			line("= uk_netdev_tx_one and what it calls", "", sum)
		}
		fmt.Fprintln(w, strings.Repeat("-", 83))
	}
	line("total", "", traced)
	clock := (float64(traced) - float64(count.Ticks)) / float64(stretches)
	fmt.Fprintf(w, "%d stretches of %d packets; the guest's own count is %.6g a packet, %.3f less: it leaves out reading the clock, %g a stretch\n",
		stretches, packets, count.Each(), (float64(traced)-float64(count.Ticks))/n, clock)
}
