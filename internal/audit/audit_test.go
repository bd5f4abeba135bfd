package audit

import (
	"strings"
	"testing"

	"sweep/internal/agent"
	"sweep/internal/sample"
)

func reading(ms int64, packets, bytes uint64) sample.Reading {
	return sample.Reading{Before: agent.Time(ms * 1e6), After: agent.Time(ms * 1e6), Packets: packets, Bytes: bytes}
}

func TestWatched(t *testing.T) {
	for _, tt := range []struct {
		name string
		size int
		rs   []sample.Reading
		want string // in the error; none where empty
	}{
		{"as it should be", 64, []sample.Reading{reading(0, 0, 0), reading(1000, 100, 6400), reading(2000, 200, 12800)}, ""},
		// The bytes were read a burst later than the packets.
		{"between two bursts", 64, []sample.Reading{reading(0, 0, 0), reading(1000, 100000, 6400000+32*64)}, ""},
		{"one reading", 64, []sample.Reading{reading(0, 0, 0)}, "read 1 times"},
		{"a client that was restarted", 64, []sample.Reading{reading(0, 100, 6400), reading(1000, 50, 3200)}, "went down"},
		{"a stall", 64, []sample.Reading{reading(0, 100, 6400), reading(1000, 100, 6400), reading(2000, 200, 12800)}, "no packet arrived for 1s"},
		// The published data has such a log: 520 B in a file for 256.
		{"another size", 256, []sample.Reading{reading(0, 0, 0), reading(1000, 100, 52000)}, "520.00 B arrived, not of 256"},
		{"FCS counted", 64, []sample.Reading{reading(0, 0, 0), reading(1000, 100, 6800)}, "68.00 B"},
	} {
		check(t, tt.name, Watched(tt.size, tt.rs), tt.want)
	}
}

func TestDrained(t *testing.T) {
	good := Ledger{GuestSent: 100, GuestDropped: 7, ServerReceived: 100, ServerSent: 90, ClientReceived: 90, ClientBytes: 5760}
	for _, tt := range []struct {
		name   string
		change func(*Ledger)
		want   string
	}{
		{"as it should be", func(*Ledger) {}, ""},
		{"nothing", func(l *Ledger) { l.ClientReceived, l.ClientBytes = 0, 0 }, "no packet arrived: the guest sent 100, the forwarder received 100 and sent 90"},
		{"a byte too many", func(l *Ledger) { l.ClientBytes++ }, "64.01 B"},
		{"more than was sent", func(l *Ledger) { l.GuestSent = 99 }, "100 packets of the 99"},
		{"more than was forwarded", func(l *Ledger) { l.ServerReceived = 89 }, "90 packets arrived of the 89"},
	} {
		l := good
		tt.change(&l)
		check(t, tt.name, Drained(64, l), tt.want)
	}
}

func check(t *testing.T, name string, err error, want string) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%s: no error; want %q", name, want)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("%s: %v; want %q", name, err, want)
	}
}

func TestObservers(t *testing.T) {
	if w := Observers(1e6, 1.02e6, 0.98e6); len(w) != 0 {
		t.Errorf("observers within 3 %%: %v", w)
	}
	if w := Observers(1e6, 0, 0); len(w) != 0 {
		t.Errorf("observers that saw nothing: %v", w)
	}
	w := Observers(1e6, 1.04e6, 0.5e6)
	if len(w) != 2 || !strings.Contains(w[0], "1040000 from telemetry") || !strings.Contains(w[1], "500000 from the printed") {
		t.Errorf("observers that disagree: %q", w)
	}
}
