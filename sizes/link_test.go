package sizes

import "testing"

func TestLinkRate(t *testing.T) {
	for name, want := range map[string]float64{
		"10GbE": 10e9, "2.5GbE": 2.5e9, "memif": 0, "veth": 0, "": 0, "GbE": 0, "-1GbE": 0, "NaNGbE": 0, "InfGbE": 0, "unknown": 0,
	} {
		if got := LinkRate(name); got != want {
			t.Errorf("LinkRate(%q) = %v; want %v", name, got, want)
		}
	}
}
