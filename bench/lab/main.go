// Command lab measures what the kit's lab brings over the plain set-up: how
// many packets a second arrive through
//
//	sender (testpmd txonly on virtio_user) -> vhost-user -> server (testpmd mac) -> memif -> client (testpmd rxonly)
//
// on one machine, once set up as anybody would (descriptors 1024, memif's own
// ring, nothing pinned) and once as the kit does it (deep ring, pollers
// placed, short scheduler slices and something that wakes the scheduler). The
// two are run in turn and compared pair by pair.
//
//	go run ./bench/lab
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"sweep/client"
	"sweep/internal/agent"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/vhost"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == agent.ChildCommand {
		agent.RunChild()
	}
	pairs := flag.Int("pairs", 5, "how often each set-up is run")
	window := flag.Duration("duration", 3*time.Second, "how long what arrives is counted")
	size := flag.Int("size", 64, "packet length in bytes, without FCS")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *pairs, *window, *size); err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

// setup is one way to set the three processes up.
type setup struct {
	name        string
	place       *testbed.Placement // nil: nothing pinned
	slice       time.Duration
	wire        testbed.Memif
	descriptors int
}

func run(ctx context.Context, pairs int, window time.Duration, size int) error {
	journal, err := agent.OpenJournal(agent.JournalDir(), "")
	if err != nil {
		return err
	}
	a := agent.NewLocal(journal)
	defer a.Close(context.WithoutCancel(ctx))
	topology, err := testbed.ReadTopology(ctx, a)
	if err != nil {
		return err
	}
	place, err := testbed.Place(topology)
	if err != nil {
		return err
	}
	lab := setup{name: "lab", place: &place, slice: place.Slice(), wire: testbed.Memif{RingExp: 14}}
	plain := setup{name: "plain", descriptors: 1024}

	fmt.Printf("%d CPUs, packets of %d B, %v each, in turn\n", len(topology), size, window)
	fmt.Printf("%-6s %12s %12s %8s\n", "pair", "plain Mpps", "lab Mpps", "ratio")
	var ratios []float64
	for i := range pairs {
		p, err := measure(ctx, a, plain, window, size)
		if err != nil {
			return fmt.Errorf("plain set-up: %w", err)
		}
		l, err := measure(ctx, a, lab, window, size)
		if err != nil {
			return fmt.Errorf("lab: %w", err)
		}
		ratios = append(ratios, l/p)
		fmt.Printf("%-6d %12.4f %12.4f %8.1f\n", i+1, p/1e6, l/1e6, l/p)
	}
	slices.Sort(ratios)
	fmt.Printf("median ratio %.1f\n", ratios[len(ratios)/2])
	return nil
}

// measure brings everything up, counts what arrives, and takes it down again.
func measure(ctx context.Context, a agent.Agent, s setup, window time.Duration, size int) (pps float64, err error) {
	dir, err := a.TempDir(ctx)
	if err != nil {
		return 0, err
	}
	defer a.Remove(context.WithoutCancel(ctx), dir)
	host := func(cpu func(testbed.Placement) int) testpmd.Host {
		h := testpmd.Host{Dir: dir, Slice: s.slice}
		if s.place != nil {
			h.Main, h.Worker = s.place.House, []int{cpu(*s.place)}
		}
		return h
	}
	ctx, cancel := context.WithTimeout(ctx, window+60*time.Second)
	defer cancel()
	end := context.WithoutCancel(ctx)
	port := vhost.User{Socket: dir + "/vhost.sock"}
	serverEnd, clientEnd := s.wire.Ports(dir)

	srv, err := server.Launch(ctx, a, server.Config{Port: port, Wire: serverEnd, Descriptors: s.descriptors},
		host(func(p testbed.Placement) int { return p.Forwarder }), io.Discard)
	if err != nil {
		return 0, err
	}
	defer srv.Quit(end)
	cl, err := client.Launch(ctx, a, client.Config{Wire: clientEnd, Descriptors: s.descriptors},
		host(func(p testbed.Placement) int { return p.Client }), io.Discard)
	if err != nil {
		return 0, err
	}
	defer cl.Quit(end)
	// virtio_user is a virtio NIC without a guest (DPDK's "Virtio_user for
	// Container Networking" page); queue_size is its ring.
	sender, err := testpmd.Launch(ctx, a, testpmd.Config{
		Name: "sender",
		Ports: []testpmd.Device{{Name: "net_virtio_user0", Args: []testpmd.Arg{
			{Key: "path", Value: port.Socket}, {Key: "queues", Value: "1"}, {Key: "queue_size", Value: "1024"}}}},
		MemoryMiB: 256, Mbufs: 16384, Descriptors: s.descriptors, Forward: "txonly",
	}, host(func(p testbed.Placement) int { return p.Guest }), io.Discard)
	if err != nil {
		return 0, err
	}
	defer sender.Quit(end)
	if _, err := sender.Do(ctx, fmt.Sprintf("set txpkts %d", size)); err != nil {
		return 0, err
	}
	if s.slice > 0 {
		waker, err := a.Wake(ctx, s.place.Pollers(), s.slice)
		if err != nil {
			return 0, err
		}
		defer agent.End(end, waker)
	}
	if err := cl.Receive(ctx); err != nil {
		return 0, err
	}
	if length, err := sender.Start(ctx); err != nil || length != size {
		return 0, fmt.Errorf("the sender sends %d B: %w", length, err)
	}
	if err := srv.Forward(ctx); err != nil {
		return 0, err
	}
	// The forwarder stops before its peer leaves (see server.Forward).
	defer srv.Halt(end)

	time.Sleep(time.Second)
	before, _, r0, err := cl.Telemetry(ctx, 0)
	if err != nil {
		return 0, err
	}
	select {
	case <-time.After(window):
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
	after, _, r1, err := cl.Telemetry(ctx, 0)
	if err != nil {
		return 0, err
	}
	packets, bytes := after.Ipackets-before.Ipackets, after.Ibytes-before.Ibytes
	// The two counters are read one after the other while both grow.
	if each := math.Round(float64(bytes) / float64(packets)); each != float64(size) {
		return 0, fmt.Errorf("%d packets of %v B arrived, not of %d", packets, each, size)
	}
	return float64(packets) / r1.After.Sub(r0.After).Seconds(), nil
}
