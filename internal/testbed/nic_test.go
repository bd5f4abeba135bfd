package testbed

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"sweep/internal/agent"
)

// rooted is an agent of a machine whose /sys is below a folder. It can look, and
// nothing else.
type rooted struct {
	agent.Agent
	root string
}

func (r rooted) Read(ctx context.Context, paths ...string) ([]agent.Reading, error) {
	under := make([]string, len(paths))
	for i, p := range paths {
		under[i] = r.root + p
	}
	return agent.NewLocal(nil).Read(ctx, under...)
}

func (r rooted) List(ctx context.Context, patterns ...string) ([]agent.Entry, error) {
	var out []agent.Entry
	for _, p := range patterns {
		found, err := agent.NewLocal(nil).List(ctx, r.root+p)
		if err != nil {
			return nil, err
		}
		for _, e := range found {
			e.Path = strings.TrimPrefix(e.Path, r.root)
			out = append(out, e)
		}
	}
	return out, nil
}

func sysOf(t *testing.T, files map[string]string) rooted {
	t.Helper()
	r := rooted{root: t.TempDir()}
	for path, text := range files {
		path = r.root + path
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if target, link := strings.CutPrefix(text, "-> "); err == nil && link {
			err = os.Symlink(target, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestNICs(t *testing.T) {
	const x520, virtio, disk, bound = pciDevices + "0000:3b:00.0/", pciDevices + "0000:00:03.0/", pciDevices + "0000:00:1f.2/", pciDevices + "0000:3b:00.1/"
	a := sysOf(t, map[string]string{
		x520 + "class": "0x020000\n", x520 + "vendor": "0x8086\n", x520 + "device": "0x10fb\n", x520 + "numa_node": "1\n",
		x520 + "driver": "-> ../../../../bus/pci/drivers/ixgbe", x520 + "net/enp59s0f0/mtu": "1500\n",
		"/sys/class/net/enp59s0f0/speed": "10000\n",
		virtio + "class":                 "0x020000\n", virtio + "vendor": "0x1af4\n", virtio + "device": "0x1041\n", virtio + "numa_node": "-1\n",
		virtio + "driver": "-> ../../../bus/pci/drivers/virtio-pci", virtio + "virtio0/net/eth0/mtu": "1500\n",
		"/sys/class/net/eth0/speed": "-1\n",
		disk + "class":              "0x010601\n",
		bound + "class":             "0x020000\n", bound + "vendor": "0x8086\n", bound + "device": "0x10fb\n", bound + "numa_node": "1\n",
		bound + "driver": "-> ../../../../bus/pci/drivers/vfio-pci",
	})
	ctx := context.Background()
	got, err := NICs(ctx, a)
	want := []NIC{
		{PCI: "0000:00:03.0", ID: "1af4:1041", Driver: "virtio-pci", Interface: "eth0", Node: -1},
		{PCI: "0000:3b:00.0", ID: "8086:10fb", Driver: "ixgbe", Interface: "enp59s0f0", Node: 1, SpeedMbps: 10000},
		{PCI: "0000:3b:00.1", ID: "8086:10fb", Driver: "vfio-pci", Node: 1},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("NICs = %+v, %v", got, err)
	}
	for name, at := range map[string]int{"enp59s0f0": 1, "0000:3B:00.0": 1, "3b:00.1": 2, "eth0": 0} {
		if n, err := FindNIC(ctx, a, name); err != nil || n.PCI != want[at].PCI {
			t.Errorf("FindNIC(%s) = %+v, %v", name, n, err)
		}
	}
	const none = "there is no NIC eth9; there are 0000:00:03.0 (eth0), 0000:3b:00.0 (enp59s0f0), 0000:3b:00.1"
	if _, err := FindNIC(ctx, a, "eth9"); err == nil || err.Error() != none {
		t.Errorf("FindNIC(eth9): %v; want %s", err, none)
	}
	if _, err := FindNIC(ctx, sysOf(t, nil), "eth9"); err == nil || !strings.Contains(err.Error(), "this machine has none on PCI") {
		t.Error(err)
	}

	text, err := Init(ctx, [2]string{"local", "server2"}, [2]agent.Agent{a, a}, func(_ agent.Agent, n NIC) (string, error) {
		if n.Interface == "eth0" {
			return "eth0 carries the default route (via 198.18.0.1)", nil
		}
		return "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"  # not   0000:00:03.0       # 1af4:1041, eth0: eth0 carries the default route (via 198.18.0.1)\n",
		"  nic: 0000:3b:00.0       # 8086:10fb, enp59s0f0, 10000 Mb/s\n  kernel_driver: ixgbe\n",
		"  # or    0000:3b:00.1       # 8086:10fb\n",
		"  host: server2\n",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("want %q in\n%s", want, text)
		}
	}
	if f, errs := ParseFile("t.yaml", text); len(errs) > 0 || f.Sender.NIC != "0000:3b:00.0" {
		t.Errorf("what Init writes: %v, %+v", errs, f)
	}
}
