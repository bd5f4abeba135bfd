package testpmd

import "testing"

func TestParseCycles(t *testing.T) {
	const text = "  ++++++++\n\n  CPU cycles/packet=418.40 (total cycles=4184000 / total txonly packets=10000) at 1000 MHz Clock\r\n\r\nDone.\r\ntestpmd> "
	c, ok := ParseCycles([]byte(text))
	if !ok || c.Total != 4184000 || c.Packets != 10000 {
		t.Errorf("ParseCycles = %+v, %v", c, ok)
	}
	for _, none := range []string{"", "CPU cycles/packet=", "CPU cycles/packet=1.00 (total cycles=99999999999999999999 / total txonly packets=1) at"} {
		if c, ok := ParseCycles([]byte(none)); ok {
			t.Errorf("ParseCycles(%q) = %+v", none, c)
		}
	}
}
