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

// queue is the length of the guest's rings, where the port lets them be so long.
const queue = 1024

// guestMAC is the guest's, a locally administered address.
const guestMAC = "02:00:00:00:00:01"

// bench is a guest, a forwarder and a client that are up and joined, as they
// are for the trials of one boot.
type bench struct {
	lab         *Lab
	between     between
	client      *client.Client
	vm          *qemu.VM
	relay       *testbed.Relay // nil where the wire has none
	sender      guest.Sender
	settings    results.Settings
	guestThread string // in the names of the guest's threads that poll
	busy        []*busyWatch
	driver      string       // of the client's port, as DPDK calls it
	frames      []tape.Frame // some of the guest's first
	expect      string       // the Ethernet destination that they should have
}

// layout is everything that a boot starts, as pure data: what --dry-run shows
// and what withBench starts are the same.
type layout struct {
	port                   vhost.Port
	server                 server.Config // of vhost-user
	client                 client.Config
	serverHost, clientHost testpmd.Host
	vm                     qemu.Config
	vmSpec                 agent.Spec
	queue                  int
}

// dirs are the folders of a boot's sockets, on the two machines.
type dirs struct{ sender, receiver string }

// lay makes the layout of a boot of a system, for the folders of its sockets
// and a wire that is up.
func (l *Lab) lay(s plan.System, dir dirs, wire *testbed.Joined) layout {
	serverEnd, clientEnd := l.Wire.Ports(dir.sender)
	user := vhost.User{Socket: dir.sender + "/vhost.sock"}
	var port vhost.Port = user
	if s.Attachment == "vhost-net" {
		port = vhost.Net{Tap: wire.Tap}
	}
	p := l.Placement
	clientHouse := p.House
	if l.Two() {
		clientHouse = p.ClientHouse
	}
	host := func(dir string, main []int, worker int) testpmd.Host {
		return testpmd.Host{Wrap: wire.Enter, Dir: dir, Main: main, Worker: []int{worker}, Slice: p.Slice()}
	}
	const net = "net0"
	vm := l.Guests[s.Guest].VM()
	vm.Accel, vm.CPU = l.Accel.Name, qemu.CPUModel(l.Accel.Name)
	nic := vhost.NIC{MAC: guestMAC, Queue: min(queue, port.MaxQueue()), NoMSIX: l.Accel.Name == "tcg"}
	vm.Net = append(port.Netdev(net), nic.Device(net)...)
	y := layout{
		port:       port,
		server:     server.Config{Port: user, Wire: serverEnd},
		client:     client.Config{Wire: clientEnd},
		serverHost: host(dir.sender, p.House, p.Forwarder),
		clientHost: host(dir.receiver, clientHouse, p.Client),
		vm:         vm,
		// QEMU's own threads may run on the housekeeping CPUs too; the
		// virtual CPU is pinned once its thread is there.
		vmSpec: agent.Spec{Name: "guest", Argv: vm.Argv(), Files: port.Files(), Slice: p.Slice()},
		queue:  nic.Queue,
	}
	if g, ok := l.Guests[s.Guest].(guest.Process); ok {
		y.instead(g, guest.Host{Socket: user.Socket, MAC: guestMAC, Queue: queue, CPU: p.Guest, Dir: dir.sender})
	}
	return y
}

// open makes what a boot writes to: a transcript for each process, and a folder
// of sockets on each machine.
func (l *Lab) open(ctx context.Context, b plan.Boot, f *results.Folder, undo *cleanups, processes ...string) (logs map[string]io.Writer, dir dirs, err error) {
	if logs, err = openTranscripts(f, b, processes...); err != nil {
		return nil, dir, stop{err}
	}
	if dir.sender, err = l.tempDir(ctx, l.Sender, undo); err != nil {
		return nil, dir, err
	}
	dir.receiver = dir.sender
	if l.Two() {
		dir.receiver, err = l.tempDir(ctx, l.Receiver, undo)
	}
	return logs, dir, err
}

func (l *Lab) tempDir(ctx context.Context, a agent.Agent, undo *cleanups) (string, error) {
	dir, err := a.TempDir(ctx)
	if err != nil {
		return "", err
	}
	undo.add(func(ctx context.Context) error { return a.Remove(ctx, dir) })
	return dir, nil
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
	wire, err := testbed.Up(ctx, l.Ends, l.Wire, b.System.Attachment, guestMAC, logs["wire"])
	if err != nil {
		return err
	}
	undo.add(wire.Down)
	lay := l.lay(b.System, dir, wire)
	if err := recordCommands(f, b, lay.commands()); err != nil {
		return err
	}

	bench := &bench{lab: l, guestThread: lay.pollingThread(), busy: l.watches()}
	launch, cancel := context.WithTimeoutCause(ctx, launchDeadline, fmt.Errorf("nothing for %v", launchDeadline))
	defer cancel()
	if err := bench.launchBetween(launch, lay, logs["server"], &undo); err != nil {
		return err
	}
	if err := bench.startRelay(launch, b, f, dir.sender, &undo); err != nil {
		return err
	}
	if bench.vm, err = qemu.Start(launch, l.Sender, lay.vmSpec, logs["guest"]); err != nil {
		return err
	}
	undo.add(bench.vm.End)
	// The client comes up while the guest boots.
	if bench.client, err = client.Launch(launch, l.Receiver, lay.client, lay.clientHost, logs["client"]); err != nil {
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
	if err := bench.findWorker(ctx); err != nil {
		return err
	}
	if bench.driver, err = bench.client.Driver(ctx, clientPort); err != nil {
		return err
	}
	if s := l.Placement.Slice(); s > 0 {
		waker, err := l.Sender.Wake(ctx, bench.busy[0].cpus, s)
		if err != nil {
			return err
		}
		undo.add(func(ctx context.Context) error { return agent.End(ctx, waker) })
		bench.ours(waker.Identity())
	}
	bench.ours(append(bench.between.identities(), bench.client.Identity(), bench.vm.Identity())...)
	bench.settings, err = bench.describe(ctx, lay)
	if err != nil {
		return err
	}
	undo.add(bench.between.halt)
	if err := bench.ready(ctx, b.Trials[0].Size); err != nil {
		return err
	}
	return do(bench)
}

// ours tells the watches of processes of this run. A pid that two machines have
// is no confusion: an identity is a boot's.
func (b *bench) ours(ids ...agent.Identity) {
	for _, w := range b.busy {
		w.ours(ids...)
	}
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
	frames, err := b.between.forward(ctx, !refused)
	if err != nil {
		return err
	}
	for _, f := range frames[:min(len(frames), glimpseFrames)] {
		b.frames = append(b.frames, tape.Frame{Source: f.Source, Destination: f.Destination, EtherType: f.EtherType, Length: f.Length})
	}
	if b.between.sees() && !refused {
		b.expect = guestPeer
	}
	if err := b.linked(ctx); err != nil {
		return err
	}
	_, err = b.stand(ctx, func(tape.Look) error { return nil })
	return err
}

// linkDeadline and cableDeadline are how long a wire's link may take to come up;
// NICs agree on a speed first. What is down then the trials' audits say.
const (
	linkDeadline  = 5 * time.Second
	cableDeadline = 15 * time.Second
)

// linked waits until the links of the wire's two ends are up.
func (b *bench) linked(ctx context.Context) error {
	deadline := linkDeadline
	if _, cable := b.lab.Wire.(testbed.Leased); cable {
		deadline = cableDeadline
	}
	for end := time.Now().Add(deadline); time.Now().Before(end); {
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
		n, err := l.Sender.Pin(ctx, vm.Identity().PID, name, []int{l.Placement.Guest})
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
	betweenVersion, features, err := b.between.about(ctx)
	if err != nil {
		return results.Settings{}, err
	}
	_, clientVersion, _, err := b.client.Telemetry(ctx, clientPort)
	if err != nil {
		return results.Settings{}, err
	}
	return results.Settings{
		Accel: lay.vm.Accel, CPUModel: lay.vm.CPU, VCPUs: lay.vm.VCPUs, MemoryMiB: lay.vm.MemoryMiB,
		GuestCPU: b.lab.Placement.Guest, Queue: lay.queue, Features: features, Burst: lay.server.Burst, Wire: b.lab.Wire.Name(),
		Guest: b.sender.About(), Server: betweenVersion, Client: clientVersion,
	}, nil
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
