package testbed

import (
	"context"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"sweep/internal/agent"
)

// machine is a machine of which only files are there, and changes are noted.
type machine struct {
	agent.Agent
	files   map[string]string
	changes []string
}

func (m *machine) Read(_ context.Context, paths ...string) ([]agent.Reading, error) {
	var out []agent.Reading
	for _, p := range paths {
		r := agent.Reading{Path: p, Data: []byte(m.files[p])}
		if _, ok := m.files[p]; !ok {
			r.Err = "no such file"
		}
		out = append(out, r)
	}
	return out, nil
}

func (m *machine) Find(_ context.Context, names ...string) error {
	for _, n := range names {
		for f := range m.files {
			if strings.HasPrefix(f, n) {
				return nil
			}
		}
	}
	return fs.ErrNotExist
}

func (m *machine) Apply(_ context.Context, c agent.Change) (uint64, error) {
	what := c.Kind + " " + c.Name + c.Path
	if c.Now != "" {
		what += " " + c.Now
	}
	m.changes = append(m.changes, what)
	return uint64(len(m.changes)), nil
}

func TestPrepare(t *testing.T) {
	const (
		node = "/sys/devices/system/node/node1/hugepages/hugepages-2048kB/"
		all  = "/sys/kernel/mm/hugepages/hugepages-2048kB/"
		gov  = "/sys/devices/system/cpu/cpu3/cpufreq/scaling_governor"
	)
	files := map[string]string{
		node + "nr_hugepages": "100\n", node + "free_hugepages": "60\n",
		all + "nr_hugepages": "100\n", all + "free_hugepages": "100\n",
		gov: "powersave\n",
	}
	for _, tt := range []struct {
		name string
		need Need
		want []string
		err  string
	}{
		{"nothing", Need{}, nil, ""},
		{"as many more as are short on the node", Need{Pages: 256, PageKiB: 2048, Node: 1}, []string{"file " + node + "nr_hugepages 296"}, ""},
		{"enough are free", Need{Pages: 60, PageKiB: 2048, Node: 1}, nil, ""},
		{"no node, and enough anywhere", Need{Pages: 100, PageKiB: 2048, Node: -1}, nil, ""},
		{"a machine without that node", Need{Pages: 101, PageKiB: 2048, Node: 7}, []string{"file " + all + "nr_hugepages 101"}, ""},
		{"pages that the kernel doesn't have", Need{Pages: 1, PageKiB: 1048576, Node: -1}, nil, "has none of that size"},
		{
			"all", Need{Modules: []string{"vfio-pci", "vhost_net"}, NoIOMMU: true, Governor: "performance", Pollers: []int{3, 4}},
			[]string{
				"module vfio-pci", "module vhost_net", "file /sys/module/vfio/parameters/enable_unsafe_noiommu_mode Y",
				"file " + gov + " performance",
			}, "",
		},
	} {
		m := &machine{files: files}
		err := Prepare(t.Context(), m, tt.need)
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v; want %q", tt.name, err, tt.err)
		}
		if fmt.Sprint(m.changes) != fmt.Sprint(tt.want) {
			t.Errorf("%s: changed %q; want %q", tt.name, m.changes, tt.want)
		}
	}
}

// The ends of a cable are had for one attachment at a time, and given back.
func TestCableLease(t *testing.T) {
	near, far := &cableMachine{}, &cableMachine{}
	c := &Cable{
		Sender:   CableEnd{PCI: "0000:01:00.0", KernelDriver: "ixgbe", DPDKDriver: "vfio-pci", NamedTwice: true},
		Receiver: CableEnd{PCI: "0000:02:00.0", KernelDriver: "i40e", DPDKDriver: "vfio-pci"},
	}
	e := Ends{Sender: near, Receiver: far}
	for _, attachment := range []string{"vhost-user", "vhost-user", "vhost-net"} {
		if err := c.Lease(t.Context(), e, attachment); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(near.did), "[0000:01:00.0 to vfio-pci, twice true back 1 0000:01:00.0 to ixgbe, twice true back 2]"; got != want {
		t.Errorf("sender: %s; want %s", got, want)
	}
	if got, want := fmt.Sprint(far.did), "[0000:02:00.0 to vfio-pci, twice false back 1 0000:02:00.0 to vfio-pci, twice false back 2]"; got != want {
		t.Errorf("receiver: %s; want %s", got, want)
	}
}

// cableMachine is a machine whose bindings are noted.
type cableMachine struct {
	agent.Agent
	did []string
	n   uint64
}

func (m *cableMachine) Apply(_ context.Context, c agent.Change) (uint64, error) {
	m.n++
	m.did = append(m.did, fmt.Sprintf("%s to %s, twice %v", c.Name, c.Now, c.NamedTwice))
	return m.n, nil
}

func (m *cableMachine) Revert(_ context.Context, id uint64) error {
	m.did = append(m.did, fmt.Sprintf("back %d", id))
	return nil
}
