package server

import (
	"testing"

	"sweep/internal/sample"
)

// A table as Linux 6.1 prints it.
const table = `Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:     120       2    0    0    0     0          0         0      120       2    0    0    0     0       0          0
sweept0:    640      10    0    1    0     0          0         0   640000   10000    2    5    0     0       0          0
  eth1: 99999999999   7    3    4    0     0          0         0   640000   10000    0    8    0     0       0          0
`

func TestInterfaceCounters(t *testing.T) {
	for name, want := range map[string]sample.Port{
		"sweept0": {RxBytes: 640, RxPackets: 10, RxMissed: 1, TxBytes: 640000, TxPackets: 10000, TxErrors: 7},
		"eth1":    {RxBytes: 99999999999, RxPackets: 7, RxErrors: 3, RxMissed: 4, TxBytes: 640000, TxPackets: 10000, TxErrors: 8},
	} {
		if got, err := interfaceCounters(table, name); err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", name, got, err, want)
		}
	}
	for _, name := range []string{"eth", "eth10", "face"} {
		if got, err := interfaceCounters(table, name); err == nil {
			t.Errorf("%s: %+v; want an error", name, got)
		}
	}
	if _, err := interfaceCounters("  eth1: 1 2 3\n", "eth1"); err == nil {
		t.Error("a short line is no error")
	}
}
