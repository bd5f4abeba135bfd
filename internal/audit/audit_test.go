package audit

import (
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/sample"
	"sweep/internal/tape"
)

// recording is a trial that went well: 64 B at 1 Mpps, looked at every 100 ms,
// a second of warm-up and two of window, on CPUs that nobody shares. The
// counters began at other values than 0.
type recording struct {
	tape.Tape
	at               int64 // ns
	guest, wire      uint64
	client, bytes    uint64
	perLook, perByte uint64
	usage            tape.Usage
}

func (r *recording) look(phase tape.Phase) *tape.Look {
	at := agent.Time(r.at)
	port := func(rx, bytes, tx uint64) sample.Port {
		return sample.Port{Before: at, After: at, RxPackets: rx, RxBytes: bytes, TxPackets: tx}
	}
	l := tape.Look{
		Phase: phase, Guest: port(r.guest, r.guest*64, 0), Wire: port(0, 0, r.wire), Client: port(r.client, r.bytes, 0),
		Usage: r.usage,
	}
	for _, u := range []*agent.Usage{&l.Usage.Forwarder, &l.Usage.Client, &l.Usage.Guest} {
		u.Before, u.After = at, at
	}
	r.Looks = append(r.Looks, l)
	return &r.Looks[len(r.Looks)-1]
}

// pass lets time pass in which everything polls and packets flow.
func (r *recording) pass(d time.Duration, packets uint64) {
	r.at += int64(d)
	for _, u := range []*agent.Usage{&r.usage.Forwarder, &r.usage.Client, &r.usage.Guest} {
		u.Ran += d
	}
	r.guest += packets
	r.wire += packets
	r.client += packets
	r.bytes += packets * r.perByte
}

// good records a trial; change may do something to it at each look of the
// window, before the time of that look passes.
func good(change func(r *recording, n int)) *recording {
	r := &recording{
		Tape: tape.Tape{Trial: plan.Trial{Size: 64}, Duration: 2 * time.Second, Driver: "net_memif", Expect: "02:00:00:00:00:00",
			Frames: []tape.Frame{{Destination: "02:00:00:00:00:00", Length: 64}}},
		at: 5e9, guest: 1000, wire: 900, client: 800, bytes: 51200, perLook: 100_000, perByte: 64,
	}
	r.look(tape.Idle)
	for range 10 {
		r.pass(100*time.Millisecond, r.perLook)
		r.look(tape.WarmUp)
	}
	r.look(tape.Window)
	for n := range 20 {
		if change != nil {
			change(r, n)
		}
		r.pass(100*time.Millisecond, r.perLook)
		r.look(tape.Window)
	}
	r.pass(10*time.Millisecond, 10_000)
	r.look(tape.Drain)
	r.look(tape.Still)
	sent := r.guest - 1000
	r.Counted = &tape.Counted{Sent: sent, NoRoom: 7, Forward: tape.Forward{Received: sent, Sent: r.wire - 900, Dropped: sent - (r.wire - 900)}}
	return r
}

func TestGoodTrial(t *testing.T) {
	r := good(nil)
	shown := uint64(1_010_000)
	r.Shows = []sample.Reading{{}, {ShownPps: &shown}}
	got := Judge(&r.Tape)
	if got.Error != "" || len(got.Findings) > 0 {
		t.Fatalf("%+v", got)
	}
	if got.RxPps != 1e6 || got.RxError != 0 || got.ShownPps != 1.01e6 {
		t.Errorf("rate %v ± %v, shown %v", got.RxPps, got.RxError, got.ShownPps)
	}
	want := Ledger{GuestSent: 3_010_000, GuestDropped: 7, ServerReceived: 3_010_000, ServerSent: 3_010_000, ClientReceived: 3_010_000, ClientBytes: 192_640_000}
	if *got.Ledger != want || *got.Residual != (Residual{}) {
		t.Errorf("ledger %+v, residual %+v", *got.Ledger, *got.Residual)
	}
	if want := (Lengths{Payload: 22, Frame: 64, FrameFCS: 68, Wire: 88, Counted: 64}); *got.Lengths != want {
		t.Errorf("lengths %+v; want %+v", *got.Lengths, want)
	}
}

// Each fault is found, by its kind and in words that name the place.
func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		r    *recording
		kind Kind
		void bool
		says string
	}{
		{"one in a thousand lost on the wire", good(func(r *recording, _ int) { r.client -= 100; r.bytes -= 6400 }),
			Lost, true, "2000 packets were lost between forwarder and client, 1 in 1505, without a counter: the forwarder sent 3010000, the client received, missed and refused 3008000"},
		{"lost before the forwarder", good(func(r *recording, n int) { r.guest -= 5; r.wire -= 5; r.client -= 5; r.bytes -= 320 }).with(func(r *recording) { r.Counted.Sent += 100 }),
			Lost, true, "100 packets were lost between guest and forwarder"},
		{"lost in the forwarder", good(nil).with(func(r *recording) {
			for i := range r.Looks[1:] {
				r.Looks[i+1].Guest.RxPackets += 3
			}
			r.Counted.Sent += 3
		}), Lost, true, "3 packets were lost inside the forwarder"},
		{"dropped by the forwarder is not lost", good(func(r *recording, _ int) { r.wire -= 100; r.client -= 100; r.bytes -= 6400 }), "", false, ""},
		{"missed by the client is not lost", good(func(r *recording, _ int) { r.client -= 100; r.bytes -= 6400 }).with(func(r *recording) {
			last := &r.Looks[len(r.Looks)-1].Client
			last.RxMissed, last.RxErrors, last.RxNombuf = 1500, 400, 100
		}), "", false, ""},
		{"from nowhere", good(func(r *recording, _ int) { r.client += 2; r.bytes += 128 }), Impossible, true, "40 packets came from nowhere between forwarder and client"},
		{"a socket that drops without a counter", good(func(r *recording, _ int) { r.client -= 100; r.bytes -= 6400 }).with(func(r *recording) { r.Driver = "net_af_packet" }),
			Lost, false, "net_af_packet does not count what its socket drops"},
		{"4 bytes short", good(nil).with(func(r *recording) { r.bytesOf(60) }), WrongSize, true, "frames of 60 B arrived, not of 64: 4 bytes short"},
		{"FCS counted by a driver that has none", good(nil).with(func(r *recording) { r.bytesOf(68) }), WrongSize, true, "as if the FCS were counted"},
		{"bytes missed by one whose registers are two", good(nil).with(func(r *recording) { r.bytesOf(68); r.bytes -= 68; r.Driver = "net_e1000_em" }), "", false, ""},
		{"FCS counted by one that may", good(nil).with(func(r *recording) { r.bytesOf(68); r.Driver = "net_e1000_em" }), "", false, ""},
		{"one byte too many", good(nil).with(func(r *recording) { r.Looks[len(r.Looks)-1].Client.RxBytes++ }), WrongSize, true, "frames of 64 B"},
		// The published data has such a log: 520 B in a file for 256.
		{"another size", good(nil).with(func(r *recording) { r.bytesOf(520); r.Size = 256 }), WrongSize, true, "frames of 520 B arrived, not of 256: 264 bytes more"},
		{"a counter that stands", good(func(r *recording, n int) {
			if n >= 4 && n < 10 {
				r.client -= r.perLook
				r.bytes -= r.perLook * 64
			}
			if n == 10 {
				r.client += 6 * r.perLook
				r.bytes += 6 * r.perLook * 64
			}
		}), Still, true, "the client's counter did not move for 600 ms, while the forwarder sent"},
		{"a counter that never moves", good(nil).with(func(r *recording) {
			for i := range r.Looks {
				r.Looks[i].Client.RxPackets, r.Looks[i].Client.RxBytes = 0, 0
			}
		}), Still, true, "the client's counter does not move, although the forwarder sent 3010000"},
		{"a forwarder that saw nothing", good(nil).with(func(r *recording) {
			for i := range r.Looks {
				r.Looks[i].Guest.RxPackets, r.Looks[i].Guest.RxBytes, r.Looks[i].Wire.TxPackets = 0, 0, 0
				r.Looks[i].Client.RxPackets, r.Looks[i].Client.RxBytes = 0, 0
			}
		}), Still, true, "the forwarder never saw one of the 3010000"},
		{"a client that was restarted", good(func(r *recording, n int) {
			if n == 5 {
				r.client, r.bytes = 0, 0
			}
		}), Impossible, true, "the counters of the client's port went down"},
		// A stopped client answers nobody: one look takes as long as the pause.
		{"a client that was stopped", good(func(r *recording, n int) {
			if n == 5 {
				r.pass(300*time.Millisecond, 0)
				r.usage.Client.Ran -= 300 * time.Millisecond
			}
		}), Paused, true, "the client stood still for 300 ms, from 1.5 s on"},
		{"a machine that was stopped", good(func(r *recording, n int) {
			if n >= 5 && n < 8 {
				r.usage.Guest.Ran -= 100 * time.Millisecond
				r.usage.Guest.Stopped = true
				r.guest, r.wire, r.client, r.bytes = r.guest-r.perLook, r.wire-r.perLook, r.client-r.perLook, r.bytes-64*r.perLook
			} else {
				r.usage.Guest.Stopped = false
			}
		}), Paused, true, "the guest stood still for 300 ms, from 1.5 s on: it neither ran nor waited for a CPU, because a signal had stopped it"},
		{"a guest that sleeps while its packets go", good(func(r *recording, _ int) { r.usage.Guest.Ran -= 80 * time.Millisecond }), "", false, ""},
		// The kernel says what a wait was once it is over.
		{"kept off its CPU", good(func(r *recording, n int) {
			if n >= 5 && n < 8 {
				r.usage.Client.Ran -= 100 * time.Millisecond
			}
			if n == 8 {
				r.usage.Client.Waited += 300 * time.Millisecond
			}
		}).with(func(r *recording) { r.Shared = true }), Descheduled, false, "the client was kept off its CPU for more than 150 ms at a time"},
		{"waiting for a CPU is no pause", good(func(r *recording, _ int) {
			r.usage.Client.Ran -= 60 * time.Millisecond
			r.usage.Client.Waited += 60 * time.Millisecond
		}).with(func(r *recording) { r.Shared = true }), "", false, ""},
		{"taken off its CPU", good(func(r *recording, _ int) {
			r.usage.Forwarder.Ran -= 3 * time.Millisecond
			r.usage.Forwarder.Waited += 3 * time.Millisecond
		}), Descheduled, false, "the forwarder was taken off its CPU"},
		{"taken off its CPU again and again", good(func(r *recording, _ int) { r.usage.Client.Involuntary += 6 }),
			Descheduled, false, "the client was taken off its CPU more than 50 times a second"},
		{"a few times", good(func(r *recording, _ int) { r.usage.Client.Involuntary += 5 }), "", false, ""},
		{"no frame was seen", good(nil).with(func(r *recording) { r.Frames = nil }), Address, false, "none of the boot's first frames was seen"},
		{"stolen", good(nil).with(func(r *recording) { r.Stolen = 0.05 }), Stolen, false, "a hypervisor took"},
		{"foreign load", good(nil).with(func(r *recording) { r.Foreign = []string{"cc1 (pid 7) was busy"} }), Foreign, false, "cc1 (pid 7)"},
		{"another address", good(nil).with(func(r *recording) { r.Frames[0].Destination = "02:00:00:00:00:99" }), Address, false, "the guest sends to 02:00:00:00:00:99, not to 02:00:00:00:00:00"},
		{"a link that is down", good(nil).with(func(r *recording) { r.Down = []string{"the client's port"} }), Link, true, "the link of the client's port is down"},
		{"refused", good(nil).with(func(r *recording) {
			r.Failure, r.Refusal = "the guest refuses size 2000", true
		}), Refused, true, "refuses size 2000"},
		{"a step", good(func(r *recording, n int) {
			if n == 8 {
				r.perLook = 130_000
			}
		}), Unsteady, true, "unsteady: 1 Mpps, then from 0.8 s on 1.3: two"},
		{"a large step on a shared CPU", good(func(r *recording, n int) {
			if n == 8 {
				r.perLook = 310_000
			}
		}).with(func(r *recording) { r.Shared = true }), Unsteady, true, "unsteady: 1 Mpps, then from 0.8 s on 3.1: two"},
		{"a step that is the neighbour's doing", good(func(r *recording, n int) {
			if n == 8 {
				r.perLook = 200_000
			}
		}).with(func(r *recording) { r.Shared = true }), "", false, ""},
		{"observers", good(nil).with(func(r *recording) {
			shown := uint64(900_000)
			r.Shows = []sample.Reading{{}, {ShownPps: &shown}}
		}), Disagree, false, "1000000 packets/s by the counters, 900000"},
		{"pipes that never drain", good(nil).with(func(r *recording) { r.Looks = r.Looks[:len(r.Looks)-1] }), Impossible, true, "not empty two seconds after"},
	} {
		got := Judge(&tt.r.Tape)
		if tt.kind == "" {
			if got.Error != "" || len(got.Findings) > 0 || got.RxPps == 0 {
				t.Errorf("%s: %+v", tt.name, got)
			}
			continue
		}
		if len(got.Findings) != 1 || got.Findings[0].Kind != tt.kind || got.Findings[0].Void != tt.void || !strings.Contains(got.Findings[0].Text, tt.says) {
			t.Errorf("%s: findings %+v; want one, %s, with %q", tt.name, got.Findings, tt.kind, tt.says)
		}
		if (got.Error != "") != tt.void || (got.RxPps == 0) != tt.void {
			t.Errorf("%s: rate %v, error %q", tt.name, got.RxPps, got.Error)
		}
	}
}

// with changes a recording that is whole.
func (r *recording) with(change func(r *recording)) *recording { change(r); return r }

// bytesOf gives every frame that arrived this length.
func (r *recording) bytesOf(length uint64) {
	for i := range r.Looks {
		r.Looks[i].Client.RxBytes = r.Looks[i].Client.RxPackets * length
	}
}

// A process that ended in the middle: what was read until then makes no rate.
func TestFailure(t *testing.T) {
	r := good(nil)
	r.Failure = "the server ended in the middle of the trial"
	r.Caveats = []string{"an emulator"}
	got := Judge(&r.Tape)
	if got.Error != r.Failure || got.RxPps != 0 || got.Ledger != nil {
		t.Errorf("%+v", got)
	}
	if len(got.Findings) != 1 || got.Findings[0] != (Finding{Kind: Caveat, Text: "an emulator"}) {
		t.Errorf("findings %+v", got.Findings)
	}
	if got := Judge(&tape.Tape{Trial: plan.Trial{Size: 64}}); got.Error == "" {
		t.Error("an empty tape has no error")
	}
}

func TestResidual(t *testing.T) {
	l := Ledger{GuestSent: 100, ServerReceived: 98, ServerSent: 90, ServerDropped: 5, ClientReceived: 80, ClientMissed: 4, ClientErrors: 3, ClientNombuf: 2}
	if got, want := l.Residual(), (Residual{Attachment: 2, Forwarder: 3, Wire: 1}); got != want {
		t.Errorf("residual %+v; want %+v", got, want)
	}
}
