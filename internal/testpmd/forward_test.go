package testpmd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseForward(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	for name, want := range map[string]Forward{
		"15-A-missed-errors-and-RX-error-label.txt": {
			Ports: []ForwardPort{{Port: 0}, {Port: 1, RxErrors: n(2), RxNombufs: n(0)}},
			Total: &ForwardPort{},
		},
		"17-A-per-queue-forward-stats.txt": {
			Ports: []ForwardPort{{RxPackets: 3, RxTotal: 3, TxPackets: 3, TxTotal: 3}},
			Streams: []ForwardStream{
				{RxPackets: 1, TxPackets: 1},
				{RxQueue: 1, TxQueue: 1, RxPackets: 1, TxPackets: 1},
				{RxQueue: 2, TxQueue: 2, RxPackets: 1, TxPackets: 1},
			},
		},
		"18-A-csum-engine-extra-lines.txt": {
			Ports: []ForwardPort{
				{Port: 0, TxPackets: 4, TxTotal: 4, BadIPCsum: n(0), BadL4Csum: n(0), BadOuterL4Csum: n(0), BadOuterIPCsum: n(0)},
				{Port: 1, RxPackets: 4, RxTotal: 4, BadIPCsum: n(0), BadL4Csum: n(4), BadOuterL4Csum: n(0), BadOuterIPCsum: n(0)},
			},
			Total: &ForwardPort{RxPackets: 4, RxTotal: 4, TxPackets: 4, TxTotal: 4},
		},
		"21-A-txonly-dropped-more-than-sent.txt": {
			Ports: []ForwardPort{{TxPackets: 27903808, TxDropped: 60519424, TxTotal: 88423232}},
			Streams: []ForwardStream{
				{TxPackets: 6984480, TxDropped: 15122976},
				{RxQueue: 1, TxQueue: 1, TxPackets: 6953216, TxDropped: 15154368},
				{RxQueue: 2, TxQueue: 2, TxPackets: 6974176, TxDropped: 15133472},
				{RxQueue: 3, TxQueue: 3, TxPackets: 6999328, TxDropped: 15108448},
			},
			Total: &ForwardPort{TxPackets: 27903808, TxDropped: 60519424, TxTotal: 88423232},
		},
		"23-A-verbose-and-many-link-events.txt": {
			Ports:   []ForwardPort{{RxPackets: 1, RxTotal: 1}},
			Streams: []ForwardStream{{RxQueue: 1, TxQueue: 1, RxPackets: 1}},
		},
		"28-A-vhost-log-interleaved-peer-closed.txt": {},
		"29-A-pipe-echo-before-output.txt": {
			Ports: []ForwardPort{{TxPackets: 34720, TxTotal: 34720}},
			Total: &ForwardPort{TxPackets: 34720, TxTotal: 34720},
		},
	} {
		text, err := os.ReadFile(filepath.Join("testdata", "cases", name))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, ParseForward(text)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestForwardKinds(t *testing.T) {
	const (
		title    = "  ---------------------- Forward statistics for port 2  ----------------------\n"
		counters = "  RX-packets: 5              RX-dropped: 1             RX-total: 6\n  TX-packets: 4              TX-dropped: 3             TX-total: 7\n"
	)
	port := ForwardPort{Port: 2, RxPackets: 5, RxDropped: 1, RxTotal: 6, TxPackets: 4, TxDropped: 3, TxTotal: 7}
	for _, tt := range []struct {
		name, text string
		want       Forward
	}{
		{"mapped queues", title + "  RX-packets:                          5    RX-dropped:             1    RX-total:             6\n" +
			"  TX-packets:                          4    TX-dropped:             3    TX-total:             7\n" +
			"  Stats reg  0 RX-packets:             9     RX-errors:             0    RX-bytes:           576\n", Forward{Ports: []ForwardPort{port}}},
		{"quoted, with an event inside", "> " + title + "> " + counters[:20] + "\nPort 2: link state change event\n" + counters[20:], Forward{Ports: []ForwardPort{port}}},
		{"streams without a newline (before 18.11)", "\n  ------- Forward Stats for RX Port= 0/Queue=10 -> TX Port= 1/Queue= 3 -------\n  RX-packets: 5              TX-packets: 4              TX-dropped: 1             \n" + title + counters,
			Forward{Ports: []ForwardPort{port}, Streams: []ForwardStream{{RxQueue: 10, TxPort: 1, TxQueue: 3, RxPackets: 5, TxPackets: 4, TxDropped: 1}}}},
		{"a block behind it", title + counters + whole, Forward{Ports: []ForwardPort{port}}},
		{"a block before it", whole + title + counters, Forward{Ports: []ForwardPort{port}}},
		{"two stops", "+++ Accumulated forward statistics for all ports+++\n" + counters + "+++ Accumulated forward statistics for all ports+++\n  RX-packets: 0 RX-dropped: 0 RX-total: 0\n  TX-packets: 1 TX-dropped: 0 TX-total: 1\n",
			Forward{Total: &ForwardPort{TxPackets: 1, TxTotal: 1}}},

		{"cut", title + counters[:66] + "\n", Forward{Problems: []Problem{
			{1, "forward statistics without TX-packets, TX-dropped, TX-total: they are cut"}}}},
		{"no number", title + "  RX-packets: x              RX-dropped: 1             RX-total: 6\n" + counters[66:], Forward{Problems: []Problem{
			{2, `RX-packets: "x" is no number`}, {1, "forward statistics without RX-packets: they are cut"}}}},
		{"sums that aren't", title + "  RX-packets: 5              RX-dropped: 1             RX-total: 7\n" + counters[66:], Forward{
			Ports:    []ForwardPort{{Port: 2, RxPackets: 5, RxDropped: 1, RxTotal: 7, TxPackets: 4, TxDropped: 3, TxTotal: 7}},
			Problems: []Problem{{1, "forward statistics whose packets and dropped are not the total"}}}},
		{"below zero", title + "  RX-packets: 5              RX-dropped: 18446744073709551615             RX-total: 4\n" + counters[66:], Forward{
			Ports:    []ForwardPort{{Port: 2, RxPackets: 5, RxDropped: 1<<64 - 1, RxTotal: 4, TxPackets: 4, TxDropped: 3, TxTotal: 7}},
			Problems: []Problem{{2, "RX-dropped is 18446744073709551615: a number that went below zero"}}}},
		{"a port that is none", "---- Forward statistics for port x ----\n" + counters, Forward{Problems: []Problem{{1, `forward statistics without a port: "x" is no number`}}}},
		{"queues that are none", "---- Forward Stats for RX Port= 0/Queue -> ----\n  RX-packets: 1 TX-packets: 1 TX-dropped: 0\n", Forward{
			Problems: []Problem{{1, `forward statistics of unknown queues: "RX Port= 0/Queue -> ----"`}}}},
	} {
		if d := cmp.Diff(tt.want, ParseForward([]byte(tt.text))); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
	}
}
