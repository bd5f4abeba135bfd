package replay

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sweep/internal/agent"
	"sweep/internal/plan"
	"sweep/internal/results"
	"sweep/internal/sample"
	"sweep/internal/tape"
)

// console is what the client's testpmd printed at the ends of a window.
const console = `testpmd> show port stats 0

  ######################## NIC statistics for port 0  ########################
  RX-packets: 1000       RX-missed: 0          RX-bytes:  64000
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: 0          TX-errors: 0          TX-bytes:  0

  Throughput (since last show)
  Rx-pps:            0          Rx-bps:            0
  Tx-pps:            0          Tx-bps:            0
  ############################################################################
testpmd> show port stats 0

  ######################## NIC statistics for port 0  ########################
  RX-packets: 201000     RX-missed: 0          RX-bytes:  12864000
  RX-errors: 0
  RX-nombuf:  0
  TX-packets: 0          TX-errors: 0          TX-bytes:  0

  Throughput (since last show)
  Rx-pps:       100000          Rx-bps:     51200000
  Tx-pps:            0          Tx-bps:            0
  ############################################################################
testpmd> `

// record writes a run of one trial: 100 000 packets a second for two seconds.
func record(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "run")
	f, err := results.Create(path, results.Run{Kit: "test", Plan: plan.Plan{Trials: 1, Duration: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	log, err := f.Console("001-bare-vhost-user-client")
	do(err)
	_, err = log.Write([]byte(console))
	do(err)

	trial := plan.Trial{System: plan.System{Guest: "bare", Attachment: "vhost-user"}, Boot: 1, Round: 1, Size: 64}
	whole := tape.Tape{Trial: trial, Duration: 2 * time.Second, Driver: "net_memif",
		Counted: &tape.Counted{Sent: 201_000, Forward: tape.Forward{Received: 201_000, Sent: 201_000}}}
	rec := whole
	add := func(l tape.Line) {
		l.Boot, l.Size = 1, 64
		do(f.Record(l))
	}
	look := func(phase tape.Phase, ms int64, n uint64) {
		at := agent.Time(ms * 1e6)
		p := sample.Port{Before: at, After: at + 1000, RxPackets: n, RxBytes: 64 * n}
		l := tape.Look{Phase: phase, Guest: p, Client: p, Wire: sample.Port{Before: at, After: at, TxPackets: n}}
		rec.Looks = append(rec.Looks, l)
		add(tape.Line{Look: &l})
	}
	zero, shown := uint64(0), uint64(100_000)
	add(tape.Line{Begin: true})
	look(tape.Idle, 0, 0)
	for _, s := range []sample.Reading{{Packets: 1000, Bytes: 64_000, ShownPps: &zero}, {Packets: 201_000, Bytes: 12_864_000, ShownPps: &shown}} {
		rec.Shows = append(rec.Shows, s)
		add(tape.Line{Show: &s})
	}
	look(tape.Window, 1000, 1000)
	look(tape.Window, 2000, 101_000)
	look(tape.Window, 3000, 201_000)
	look(tape.Still, 3100, 201_000)
	add(tape.Line{Whole: &whole})
	out := results.Trial{Started: time.Now().UTC(), Took: 3 * time.Second}
	out.Judge(&rec)
	if out.RxPps != 100_000 || out.Error != "" {
		t.Fatalf("the trial's rate is %v, %s", out.RxPps, out.Error)
	}
	do(f.Append(out))
	return path
}

func TestSame(t *testing.T) {
	got, err := Run(record(t))
	if err != nil || len(got.Differences) > 0 || got.Trials != 1 || got.Looks != 5 || got.Shows != 2 {
		t.Errorf("Run = %+v, %v", got, err)
	}
}

// Whatever is changed after the run shows.
func TestDifferences(t *testing.T) {
	for _, tt := range []struct{ file, old, new, want string }{
		{"trials.jsonl", `"rx_pps":100000`, `"rx_pps":100001`, "rx_pps is 100001 in the record, and 100000 by its tape"},
		{"trials.jsonl", `"guest_sent":201000`, `"guest_sent":201001`, "ledger is"},
		{"trials.jsonl", `"size":64`, `"size":128`, "bare/vhost-user at 128 B in boot 1 has no tape"},
		{"tape.jsonl", `"rx_packets":201000`, `"rx_packets":201002`, "rx_pps is 100000 in the record, and not there"},
		{"tape.jsonl", `{"boot":1,"size":64,"whole"`, `{"boot":1,"size":64,"hole"`, "has no tape"},
		{"run.json", `"share": ""`, `"share": "cpu"`, "pollers shared a CPU: true by run.json, false by its tape"},
		{"run.json", `"duration_ns": 2000000000`, `"duration_ns": 1000000000`, "its window was to be 1s by run.json, 2s by its tape"},
		{"bare-vhost-user.csv", "0.100000", "0.200000", "bare-vhost-user.csv is not what the trials say"},
		{"console/001-bare-vhost-user-client.log", "201000", "201003", "does not show 201000 packets"},
	} {
		path := record(t)
		file := filepath.Join(path, tt.file)
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		changed := strings.ReplaceAll(string(b), tt.old, tt.new)
		if changed == string(b) {
			t.Fatalf("%s has no %s:\n%s", tt.file, tt.old, b)
		}
		if err := os.WriteFile(file, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := Run(path)
		if err != nil || !strings.Contains(strings.Join(got.Differences, "\n"), tt.want) {
			t.Errorf("%s in %s: %q, %v; want %q", tt.new, tt.file, got.Differences, err, tt.want)
		}
	}
	var o Outcome
	p := plan.Plan{Sizes: []int{64, 128}, Systems: []plan.System{{Guest: "bare", Attachment: "vhost-user"}}, Trials: 3, Seed: 1}
	var trials []results.Trial
	for _, b := range p.Boots() {
		for _, t := range b.Trials {
			trials = append(trials, results.Trial{Trial: t})
		}
	}
	if o.complete(p, trials[:5]); len(o.Differences) > 0 { // ended in the last block
		t.Errorf("%q", o.Differences)
	}
	if o.complete(p, append(trials[:2:2], trials[3:]...)); len(o.Differences) != 1 || !strings.Contains(o.Differences[0], "in boot 2 is in the plan") {
		t.Errorf("%q", o.Differences)
	}
	if _, err := Run(t.TempDir()); err == nil {
		t.Error("an empty folder can be replayed")
	}
}
