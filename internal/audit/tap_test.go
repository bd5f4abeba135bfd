package audit

import (
	"strings"
	"testing"
	"time"

	"sweep/internal/plan"
)

// tapped is a good trial over vhost-net, which is worked into another by change
// at each look of the window.
func tapped(change func(r *recording, n int)) *recording {
	r := good(change)
	r.System = plan.System{Guest: "bare", Attachment: "vhost-net"}
	r.Expect, r.Frames = "", nil
	return r
}

// On the way over a tap a drop is counted once, whoever counted it: 300 of the
// tap's own, and 200 of the interface's under it.
func TestTapLedger(t *testing.T) {
	for _, tt := range []struct {
		name                   string
		given, tapDrops, under uint64 // by how much they grew beside the 3,010,000 that the interface sent
		residual               Residual
		dropped                uint64
	}{
		{"no drop", 0, 0, 0, Residual{}, 0},
		{"the tap's", 0, 300, 0, Residual{}, 300},
		{"the interface's, which the tap believes sent", 200, 300, 200, Residual{}, 500},
		{"the interface's, which the tap counted, too", 0, 300, 200, Residual{}, 300},
		{"lost between the two", 200, 0, 50, Residual{Forwarder: 150}, 50},
	} {
		r := tapped(nil)
		last := &r.Looks[len(r.Looks)-1]
		last.Guest.RxPackets += tt.given
		last.Guest.RxMissed += tt.tapDrops
		last.Wire.TxErrors += tt.under
		r.Counted.Sent += tt.given + tt.tapDrops
		got := Judge(&r.Tape)
		if got.Ledger == nil || got.Ledger.ServerDropped != tt.dropped || *got.Residual != tt.residual {
			t.Errorf("%s: ledger %+v, residual %+v; want %d dropped, %+v", tt.name, got.Ledger, got.Residual, tt.dropped, tt.residual)
		}
		if lost := tt.residual.Forwarder != 0; lost != (got.Error != "") ||
			lost && !strings.Contains(got.Error, "150 packets were lost between the tap and the interface under it, 1 in 20068, without a counter: the tap took or dropped 3010200, the interface sent, and they dropped 3010050") {
			t.Errorf("%s: error %q", tt.name, got.Error)
		}
	}
}

// The vhost thread may sleep when there is nothing to move; that it slept while
// packets passed says that it was not what moved them.
func TestServedByTheKernel(t *testing.T) {
	ran := func(share float64) *recording {
		r := tapped(nil)
		for i := range r.Looks {
			r.Looks[i].Usage.Forwarder.Ran = time.Duration(share * float64(r.Looks[i].Usage.Forwarder.Ran))
		}
		return r
	}
	if got := Judge(&ran(0.3).Tape); got.Error != "" || len(got.Findings) > 0 {
		t.Errorf("a thread that ran for a third of the time: %+v", got)
	}
	// Two million packets in the window; 20 ms would be 10 ns each.
	for share, bad := range map[float64]bool{0: true, 0.009: true, 0.011: false} {
		got := Judge(&ran(share).Tape)
		if bad != (got.Error != "") || bad && !strings.Contains(got.Error, "while 2000000 packets passed, the kernel's vhost thread ran for ") {
			t.Errorf("a thread that ran for %g of the time: %q", share, got.Error)
		}
	}
	// testpmd that sleeps is broken.
	r := good(nil)
	for i := range r.Looks {
		r.Looks[i].Usage.Forwarder.Ran = 0
	}
	if got := Judge(&r.Tape); !strings.Contains(got.Error, "the forwarder stood still") {
		t.Errorf("a forwarder that sleeps: %q", got.Error)
	}
}
