package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestBlocks(t *testing.T) {
	p := Plan{
		Sizes:   []int{64, 1500},
		Systems: []System{{"unikraft", "vhost-user"}, {"linux-dpdk", "vhost-user"}, {"bare", "vhost-user"}},
		Trials:  60,
		Seed:    7,
	}
	first := map[System]int{}
	for i, b := range p.Boots() {
		if b.Number != i+1 || b.Round != i/3+1 {
			t.Errorf("boot %d of block %d is number %d of block %d", i+1, i/3+1, b.Number, b.Round)
		}
		for _, trial := range b.Trials {
			if trial.System != b.System || trial.Boot != b.Number || trial.Round != b.Round {
				t.Errorf("%+v in %+v", trial, b)
			}
		}
		if i%3 == 0 {
			first[b.System]++
		}
	}
	for round := 1; round <= p.Trials; round++ {
		seen := map[System]bool{}
		for _, b := range p.Block(round) {
			seen[b.System] = true
		}
		if len(seen) != 3 {
			t.Errorf("block %d has %v", round, seen)
		}
	}
	// A third of 60 blocks each, give or take 3.7.
	for _, s := range p.Systems {
		if first[s] < 8 || first[s] > 32 {
			t.Errorf("%s is first in %d of 60 blocks", s, first[s])
		}
	}
	b, err := json.Marshal(Trial{System: p.Systems[0], Boot: 3, Round: 2, Size: 64})
	if want := `{"system":"unikraft/vhost-user","boot":3,"round":2,"size":64}`; err != nil || string(b) != want {
		t.Errorf("%s, %v; want %s", b, err, want)
	}
}

// Each boot sees every size once, in an order of its own, which the seed gives.
func TestSizesAreShuffled(t *testing.T) {
	p := Plan{Sizes: []int{64, 128, 256, 512, 1024, 1500}, Systems: Known()[:1], Trials: 720, Seed: 1}
	order := func(b Boot) string {
		var sizes []int
		for _, trial := range b.Trials {
			sizes = append(sizes, trial.Size)
		}
		sorted := slices.Sorted(slices.Values(sizes))
		if !slices.Equal(sorted, p.Sizes) {
			t.Errorf("boot %d sees %v", b.Number, sizes)
		}
		return fmt.Sprint(sizes)
	}
	first := map[int]int{}
	seen := map[string]bool{}
	again := p.Boots()
	for i, b := range p.Boots() {
		seen[order(b)] = true
		first[b.Trials[0].Size]++
		if order(b) != order(again[i]) {
			t.Errorf("boot %d has another order the second time", b.Number)
		}
	}
	// 720 orders are possible. 720 draws see 455 of them, give or take 13;
	// each size is first in 120, give or take 10.
	if len(seen) < 390 || len(seen) > 520 {
		t.Errorf("%d different orders in 720 boots", len(seen))
	}
	for _, size := range p.Sizes {
		if first[size] < 70 || first[size] > 170 {
			t.Errorf("%d is first in %d of 720 boots", size, first[size])
		}
	}
	p.Seed = 2
	if other := p.Boots(); fmt.Sprint(other) == fmt.Sprint(again) {
		t.Error("another seed gives the same orders")
	}
}

func TestParseSystems(t *testing.T) {
	got, err := ParseSystems("linux-dpdk/vhost-user, unikraft/vhost-net", Known())
	if err != nil || len(got) != 2 || got[0].FileName() != "linux-dpdk-vhost-user" || got[1].FileName() != "unikraft-vhost-net" {
		t.Errorf("ParseSystems = %v, %v", got, err)
	}
	for list, want := range map[string][]string{
		"":                                  {`"" is unknown`},
		"linux-dpdk":                        {`"linux-dpdk" is unknown`, "linux-dpdk/vhost-user"},
		"freebsd/vhost-user,linux-dpdk/tap": {`"freebsd/vhost-user"`, `"linux-dpdk/tap"`},
		"linux-dpdk/vhost-user,linux-dpdk/vhost-user":   {"twice"},
		"Linux-DPDK/vhost-user":                         {"is unknown"},
		"linux-dpdk/vhost-user;rm -rf /,bare/vhost-net": {"is unknown"},
	} {
		_, err := ParseSystems(list, Known())
		if err == nil {
			t.Errorf("ParseSystems(%q): no error", list)
			continue
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("ParseSystems(%q): %v; want %q in it", list, err, w)
			}
		}
	}
}
