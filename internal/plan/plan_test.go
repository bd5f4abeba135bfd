package plan

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestBootsTakeTurns(t *testing.T) {
	p := Plan{
		Sizes:   []int{64, 1500},
		Systems: []System{{"unikraft", "vhost-user"}, {"linux-dpdk", "vhost-user"}},
		Trials:  2,
	}
	var got []string
	for _, b := range p.Boots() {
		for _, trial := range b.Trials {
			s, err := json.Marshal(trial)
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, string(s))
		}
	}
	want := []string{
		`{"system":"unikraft/vhost-user","boot":1,"round":1,"size":64}`,
		`{"system":"unikraft/vhost-user","boot":1,"round":1,"size":1500}`,
		`{"system":"linux-dpdk/vhost-user","boot":2,"round":1,"size":64}`,
		`{"system":"linux-dpdk/vhost-user","boot":2,"round":1,"size":1500}`,
		`{"system":"unikraft/vhost-user","boot":3,"round":2,"size":64}`,
		`{"system":"unikraft/vhost-user","boot":3,"round":2,"size":1500}`,
		`{"system":"linux-dpdk/vhost-user","boot":4,"round":2,"size":64}`,
		`{"system":"linux-dpdk/vhost-user","boot":4,"round":2,"size":1500}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("order:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestParseSystems(t *testing.T) {
	got, err := ParseSystems("linux-dpdk/vhost-user, unikraft/vhost-net")
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
		_, err := ParseSystems(list)
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

func TestCheckSaysAll(t *testing.T) {
	good := Plan{Sizes: []int{64}, Trials: 1, Duration: 5 * time.Second}
	if err := good.Check(); err != nil {
		t.Errorf("Check = %v", err)
	}
	err := Plan{Trials: 0, Duration: time.Millisecond}.Check()
	for _, w := range []string{"no size", "--trials 0", "--duration 1ms"} {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("Check = %v; want %q in it", err, w)
		}
	}
}
