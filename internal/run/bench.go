package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"sweep/client"
	"sweep/internal/agent"
	"sweep/internal/guest"
	"sweep/internal/plan"
	"sweep/internal/qemu"
	"sweep/internal/results"
	"sweep/internal/tape"
	"sweep/internal/testbed"
	"sweep/internal/testpmd"
	"sweep/server"
	"sweep/vhost"
)

// Deadlines of what has been seen to take a tenth of them on a busy machine.
const (
	launchDeadline = 60 * time.Second
	bootDeadline   = 180 * time.Second
	talkDeadline   = 60 * time.Second
)

// queue is the length of the guest's rings: vhost-user's most.
const queue = 1024

// guestMAC is the guest's, a locally administered address.
const guestMAC = "02:00:00:00:00:01"

// bench is a guest, a forwarder and a client that are up and joined, as they
// are for the trials of one boot.
type bench struct {
	lab         *Lab
	server      *server.Server
	client      *client.Client
	vm          *qemu.VM
	relay       *testbed.Relay // nil where the wire has none
	sender      guest.Sender
	settings    results.Settings
	guestThread string // in the names of the guest's threads that poll
	busy        *busyWatch
	frames      []tape.Frame // some of the guest's first
	expect      string       // the Ethernet destination that they should have
}

// layout is everything that a boot starts, as pure data: what --dry-run shows
// and what withBench starts are the same.
type layout struct {
	server                 server.Config
	client                 client.Config
	serverHost, clientHost testpmd.Host
	vm                     qemu.Config
	vmSpec                 agent.Spec
}

// lay makes the layout of a boot of a guest, for a folder of its sockets and
// the wire's command prefix.
func (l *Lab) lay(name string, dir string, wrap []string) layout {
	serverEnd, clientEnd := l.Wire.Ports(dir)
	port := vhost.User{Socket: dir + "/vhost.sock"}
	host := func(worker int) testpmd.Host {
		return testpmd.Host{
			Wrap: wrap, Dir: dir, Main: l.Placement.House, Worker: []int{worker}, Slice: l.Placement.Slice(),
		}
	}
	const net = "net0"
	vm := l.Guests[name].VM()
	vm.Accel, vm.CPU = l.Accel.Name, qemu.CPUModel(l.Accel.Name)
	vm.Net = append(port.Netdev(net), vhost.NIC{MAC: guestMAC, Queue: queue, NoMSIX: l.Accel.Name == "tcg"}.Device(net)...)
	y := layout{
		server:     server.Config{Port: port, Wire: serverEnd},
		client:     client.Config{Wire: clientEnd},
		serverHost: host(l.Placement.Forwarder),
		clientHost: host(l.Placement.Client),
		vm:         vm,
		// QEMU's own threads may run on the housekeeping CPUs too; the
		// virtual CPU is pinned once its thread is there.
		vmSpec: agent.Spec{Name: "guest", Argv: vm.Argv(), Slice: l.Placement.Slice()},
	}
	if p, ok := l.Guests[name].(guest.Process); ok {
		y.instead(p, guest.Host{Socket: port.Socket, MAC: guestMAC, Queue: queue, CPU: l.Placement.Guest, Dir: dir})
	}
	return y
}

// open makes what a boot writes to: a transcript for each process, and a folder
// of sockets.
func (l *Lab) open(ctx context.Context, b plan.Boot, f *results.Folder, undo *cleanups, processes ...string) (logs map[string]io.Writer, dir string, err error) {
	if logs, err = openTranscripts(f, b, processes...); err != nil {
		return nil, "", stop{err}
	}
	if dir, err = l.Agent.TempDir(ctx); err != nil {
		return nil, "", err
	}
	undo.add(func(ctx context.Context) error { return l.Agent.Remove(ctx, dir) })
	return logs, dir, nil
}

// recordCommands writes a boot's command lines to the record.
func recordCommands(f *results.Folder, b plan.Boot, commands []command) error {
	for _, c := range commands {
		if err := f.Command(fmt.Sprintf("boot %d, %s: %s", b.Number, b.System, c.what), c.line); err != nil {
			return stop{err}
		}
	}
	return nil
}

// withBench brings a bench up, calls f, and takes it down again in the
// opposite order, whatever happened.
//
// The guest boots before anything polls, for a boot beside pollers takes
// several times as long. Forwarding starts last and stops first: a testpmd
// that forwards into a memif whose peer isn't there has been seen to crash.
func (l *Lab) withBench(ctx context.Context, b plan.Boot, f *results.Folder, do func(*bench) error) (err error) {
	var undo cleanups
	defer func() {
		// What is left would be measured with from then on.
		if e := undo.run(); e != nil {
			err = errors.Join(err, stop{fmt.Errorf("clean up after boot %d: %w", b.Number, e)})
		}
	}()
	logs, dir, err := l.open(ctx, b, f, &undo, "wire", "server", "guest", "client")
	if err != nil {
		return err
	}
	wrap, down, err := testbed.Up(ctx, l.Agent, l.Wire, logs["wire"])
	if err != nil {
		return err
	}
	undo.add(down)
	lay := l.lay(b.System.Guest, dir, wrap)
	if err := recordCommands(f, b, lay.commands()); err != nil {
		return err
	}

	bench := &bench{lab: l, guestThread: lay.pollingThread()}
	if bench.busy, err = watchBusy(ctx, l.Agent, l.Placement.Pollers()); err != nil {
		return err
	}

	launch, cancel := context.WithTimeoutCause(ctx, launchDeadline, fmt.Errorf("nothing for %v", launchDeadline))
	defer cancel()
	if bench.server, err = server.Launch(launch, l.Agent, lay.server, lay.serverHost, logs["server"]); err != nil {
		return err
	}
	undo.add(bench.server.Quit)
	if err := bench.startRelay(launch, b, f, dir, &undo); err != nil {
		return err
	}
	if bench.vm, err = qemu.Start(launch, l.Agent, lay.vmSpec, logs["guest"]); err != nil {
		return err
	}
	undo.add(bench.vm.End)
	// The client comes up while the guest boots.
	if bench.client, err = client.Launch(launch, l.Agent, lay.client, lay.clientHost, logs["client"]); err != nil {
		return err
	}
	undo.add(bench.client.Quit)
	boot, cancel := context.WithTimeoutCause(ctx, bootDeadline, fmt.Errorf("the guest is not ready after %v", bootDeadline))
	defer cancel()
	if bench.sender, err = l.Guests[b.System.Guest].Attach(boot, bench.vm.Console); err != nil {
		return err
	}
	if err := l.pin(ctx, lay, bench.vm); err != nil {
		return err
	}
	if s := l.Placement.Slice(); s > 0 {
		waker, err := l.Agent.Wake(ctx, l.Placement.Pollers(), s)
		if err != nil {
			return err
		}
		undo.add(func(ctx context.Context) error { return agent.End(ctx, waker) })
		bench.busy.ours(waker.Identity())
	}
	bench.busy.ours(bench.server.Identity(), bench.client.Identity(), bench.vm.Identity())
	bench.settings, err = bench.describe(ctx, lay)
	if err != nil {
		return err
	}
	undo.add(bench.halt)
	if err := bench.ready(ctx, b.Trials[0].Size); err != nil {
		return err
	}
	return do(bench)
}

// guestPeer is where guests send to: the peer of a testpmd's port 0 that was
// told of none.
const guestPeer = "02:00:00:00:00:00"

// glimpseFrames is how many of a boot's first frames are kept.
const glimpseFrames = 8

// ready has the forwarder forward and the wire's link up, before anything is
// measured: a memif counts from where its peer connects. On the way it looks at
// some frames of the boot, which costs a fraction of a second.
func (b *bench) ready(ctx context.Context, size int) error {
	ctx, cancel := context.WithTimeoutCause(ctx, talkDeadline, fmt.Errorf("no answer for %v", talkDeadline))
	defer cancel()
	// While nobody takes them: testpmd prints some hundred bytes a frame, and
	// would print as fast as it can for as long as frames come.
	err := asked(b.sender.Few(ctx, size))
	var no refusedSize
	// It may refuse the size, which the trial will say, or the number.
	refused := errors.As(err, &no)
	if err != nil && !refused {
		return err
	}
	if err := b.client.Receive(ctx); err != nil {
		return err
	}
	if !refused {
		frames, err := b.server.Glimpse(ctx)
		if err != nil {
			return err
		}
		for _, f := range frames[:min(len(frames), glimpseFrames)] {
			b.frames = append(b.frames, tape.Frame{Source: f.Source, Destination: f.Destination, EtherType: f.EtherType, Length: f.Length})
		}
		b.expect = guestPeer
	}
	if err := b.server.Forward(ctx); err != nil {
		return err
	}
	if err := b.linked(ctx); err != nil {
		return err
	}
	_, err = b.stand(ctx, func(tape.Look) error { return nil })
	return err
}

// linkDeadline is how long a wire's link may take to come up. What is down then
// the trials' audits say.
const linkDeadline = 5 * time.Second

// linked waits until the links of the wire's two ends are up.
func (b *bench) linked(ctx context.Context) error {
	for end := time.Now().Add(linkDeadline); time.Now().Before(end); {
		down, err := b.linksDown(ctx)
		if err != nil || len(down) == 0 {
			return err
		}
		if err := sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// pinGuest binds a machine's virtual CPUs to the guest's CPU. QEMU names their
// threads "CPU 0/KVM" or "CPU 0/TCG", and the one thread of all that counts
// instructions "ALL CPUs/TCG".
func (l *Lab) pinGuest(ctx context.Context, vm *qemu.VM) error {
	bound := 0
	for _, name := range []string{"CPU ", "ALL CPUs"} {
		n, err := l.Agent.Pin(ctx, vm.Identity().PID, name, []int{l.Placement.Guest})
		if err != nil {
			return fmt.Errorf("bind the guest's virtual CPUs to CPU %d: %w", l.Placement.Guest, err)
		}
		bound += n
	}
	if bound == 0 {
		return fmt.Errorf("bind the guest's virtual CPUs to CPU %d: QEMU has no thread of theirs", l.Placement.Guest)
	}
	return nil
}

// describe says how this bench is set up.
func (b *bench) describe(ctx context.Context, lay layout) (results.Settings, error) {
	_, serverVersion, _, err := b.server.Telemetry(ctx, server.GuestPort)
	if err != nil {
		return results.Settings{}, err
	}
	_, clientVersion, _, err := b.client.Telemetry(ctx, clientPort)
	if err != nil {
		return results.Settings{}, err
	}
	// Where the forwarder doesn't say, there is nothing to compare.
	features, _ := vhost.Negotiated(b.server.Console().Text(0))
	return results.Settings{
		Accel: lay.vm.Accel, CPUModel: lay.vm.CPU, VCPUs: lay.vm.VCPUs, MemoryMiB: lay.vm.MemoryMiB,
		GuestCPU: b.lab.Placement.Guest, Queue: queue, Features: features.Names(), Burst: lay.server.Burst, Wire: b.lab.Wire.Name(),
		Guest: b.sender.About(), Server: serverVersion, Client: clientVersion,
	}, nil
}

// halt stops the forwarder. A forwarder that is gone has stopped.
func (b *bench) halt(ctx context.Context) error {
	if b.server.Console().Ended() {
		return nil
	}
	_, err := b.server.Halt(ctx)
	return err
}

// transcriptErrs are what of the consoles' words is not on disk.
func (b *bench) transcriptErrs() (warnings []string) {
	for _, c := range b.consoles() {
		if err := c.Err(); err != nil {
			warnings = append(warnings, err.Error())
		}
	}
	return warnings
}

// dead says which of them has ended, and how.
func (b *bench) dead(ctx context.Context) error {
	var errs []error
	for _, c := range b.consoles() {
		if exit, ended := c.Exit(ctx); ended {
			errs = append(errs, fmt.Errorf("the %s ended in the middle of the trial (%v)", c.Name(), exit))
		}
	}
	return errors.Join(errs...)
}
