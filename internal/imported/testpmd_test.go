package imported

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// readCase is a real log, of those that package testpmd is tested with.
func readCase(t *testing.T, name string) File {
	t.Helper()
	path := "../testpmd/testdata/cases/" + name + ".txt"
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return File{name, b}
}

// What the real logs hold was read off them by hand.
func TestRealLogs(t *testing.T) {
	type point struct {
		Size int
		Pps  float64
		Mark string // begins one of its warnings
	}
	any := Hand{System: ukUser, Port: AnyPort}
	at := func(size int) Hand { return Hand{System: ukUser, Port: AnyPort, Size: size} }
	on := func(port int) Hand { return Hand{System: ukUser, Port: port} }
	for _, tt := range []struct {
		log  string
		by   Hand
		want []point
		said string // begins a line
		err  string
	}{
		// The file is labelled 128 B; its frames are 136. The second show's
		// window covers the start.
		{"01-A-tty-script-redraw-esc", any, []point{{136, 305_654, "imported: of one show"}}, ":20: no point: the traffic began", ""},
		{"01-A-tty-script-redraw-esc", at(128), nil, ":32: void: frames of 136.00 B arrived, not of 128", ""},
		// Port 0 is idle. The only rate is that of the show after the first.
		{"04-A-two-ports-all-first-show-zero", any, []point{{520, 160_050, "the traffic began"}}, ": port 1 is taken, the only one", ""},
		{"04-A-two-ports-all-first-show-zero", on(1), []point{{520, 160_050, "the traffic began"}}, "", ""},
		{"04-A-two-ports-all-first-show-zero", on(0), nil, "", "no answer to `show port stats` in it makes a point"},
		{"04-A-two-ports-all-first-show-zero", on(2), nil, "", "it has no block of port 2, but of ports 0, 1"},
		// Totals of a whole sweep: 82.78 B a packet.
		{"06-A-counters-not-cleared-between-sizes", any, nil, "", "82.78 B on average: say with --size"},
		{"06-A-counters-not-cleared-between-sizes", at(64), []point{{64, 14_204_107, "imported: no ledger"}}, "", ""},
		{"08-A-dpdk1x-short-block", any, nil, "", "it has no Rx-pps: testpmd prints one since DPDK 16.07"},
		{"09-A-badcrc-badlen-2014", any, nil, "", "ports 0, 2 received packets: say with --port"},
		// 534705080 bit/s and 1044345 packets/s are 64.0 B a packet.
		{"13-A-stats-period-glued-header", any, []point{{64, 1_044_345, "imported: of one show"}}, "", ""},
		{"15-A-missed-errors-and-RX-error-label", any, nil, "", "its Rx-pps is 0"},
		{"25-A-dpdk-proc-info-look-alike", any, nil, "", "it has no Rx-pps"},
		{"27-A-pktgen-main-page", any, nil, "", "no NIC statistics block"},
		// Of 31284 and 31923 the median; the fourth show is after the peer left.
		{"28-A-vhost-log-interleaved-peer-closed", any, []point{{128, 31_603.5, "imported: testpmd's own Rx-pps"}}, ":57: no point: the vhost peer had left", ""},
		{"29-A-pipe-echo-before-output", any, nil, "", "it counts no bytes: say the frames' size with --size"},
	} {
		t.Run(fmt.Sprintf("%s/%d/%d", tt.log, tt.by.Port, tt.by.Size), func(t *testing.T) {
			got, err := Testpmd([]File{readCase(t, tt.log)}, tt.by)
			if (tt.err == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("%v; want %q", err, tt.err)
			}
			var points []point
			for i, x := range got.Trials {
				if x.Error != "" {
					continue
				}
				p := point{x.Size, x.RxPps, ""}
				for _, w := range x.Warnings() {
					if i < len(tt.want) && strings.HasPrefix(w, tt.want[i].Mark) {
						p.Mark = tt.want[i].Mark
					}
				}
				points = append(points, p)
			}
			if len(points)+len(tt.want) > 0 {
				if d := cmp.Diff(tt.want, points); d != "" {
					t.Errorf("%s%q", d, got.Trials[0].Warnings())
				}
			}
			if tt.said != "" && !strings.Contains("\n"+strings.Join(got.Said, "\n"), "\n"+tt.log+tt.said) {
				t.Errorf("it said %q; want %q", got.Said, tt.said)
			}
		})
	}
}

// shows is a log of shows: packets, missed, bytes and Rx-pps each.
func shows(counters ...[4]uint64) string {
	var b strings.Builder
	for _, c := range counters {
		fmt.Fprintf(&b, `testpmd> show port stats 0

  ######################## NIC statistics for port 0  ########################
  RX-packets: %d          RX-missed: %d          RX-bytes:  %d
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: 0          TX-errors: 0          TX-bytes:  0

  Throughput (since last show)
  Rx-pps:   %d
  Tx-pps:            0
  ############################################################################
`, c[0], c[1], c[2], c[3])
	}
	return b.String()
}

// A sweep by hand, two logs of it: 64 B and then 128 B. The first show of each
// size covers the change.
func TestSweepByHand(t *testing.T) {
	log := shows([4]uint64{1_000_000, 0, 64_000_000, 0},
		[4]uint64{2_000_000, 0, 128_000_000, 1_000_000},
		[4]uint64{3_100_000, 50, 198_400_000, 1_100_000},
		[4]uint64{4_000_000, 50, 313_600_000, 600_000}, // 900000 of 128 B
		[4]uint64{5_000_000, 50, 441_600_000, 900_000})
	got, err := Testpmd([]File{{"one.log", []byte(log)}, {"two.log", []byte(log)}}, Hand{System: ukUser, Port: AnyPort})
	if err != nil {
		t.Fatal(err)
	}
	type point struct {
		Size, Round, Boot int
		Pps               float64
	}
	var points []point
	for _, x := range got.Trials {
		points = append(points, point{x.Size, x.Round, x.Boot, x.RxPps})
	}
	want := []point{{64, 1, 1, 1_050_000}, {128, 1, 1, 900_000}, {64, 2, 2, 1_050_000}, {128, 2, 2, 900_000}}
	if d := cmp.Diff(want, points); d != "" {
		t.Errorf("%s\n%q", d, got.Said)
	}
	if got.Run.Plan.Trials != 2 || len(got.Logs) != 2 {
		t.Errorf("%d blocks, %d logs", got.Run.Plan.Trials, len(got.Logs))
	}
	if w := strings.Join(got.Trials[0].Warnings(), "\n"); !strings.Contains(w, "the port missed 50 packets") {
		t.Errorf("missed packets are not said: %q", w)
	}
	if !strings.Contains(strings.Join(got.Said, "\n"), "one.log:39: no point: "+"another size") {
		t.Errorf("the show over the change: %q", got.Said)
	}

	// A NIC that counts the FCS: 68 is a frame of 64.
	kept := shows([4]uint64{1000, 0, 68_000, 0}, [4]uint64{2_000_000, 0, 136_000_000, 7_000})
	got, err = Testpmd([]File{{"fcs.log", []byte(kept)}}, Hand{System: ukUser, Port: 0, FCS: true})
	if err != nil || got.Trials[0].Size != 64 {
		t.Errorf("%+v, %v", got.Trials, err)
	}
}

// A show that can't be right makes no rate, and says why.
func TestImpossibleShow(t *testing.T) {
	log := shows([4]uint64{1000, 0, 64_000, 0}, [4]uint64{3000, 0, 192_000, 4_000_000_000})
	got, err := Testpmd([]File{{"x.log", []byte(log)}}, Hand{System: ukUser, Port: AnyPort})
	if err != nil || len(got.Trials) != 1 || got.Trials[0].RxPps != 0 || !strings.Contains(got.Trials[0].Error, "no port is that fast") {
		t.Errorf("%+v, %v", got.Trials, err)
	}
}
