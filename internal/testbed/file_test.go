package testbed

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const whole = `link: 10GbE
ssh_config: keys/config
sender:
  host: local
  nic: 0000:3b:00.0
  kernel_driver: ixgbe
  cpus: {forwarder: 2, guest: 4, house: [0, 1]}
  hugepages: {size: 1G, count: 4}
  governor: performance
receiver:
  host: root@receiver
  sudo: true
  nic: ens1f0
  nic_again: ens1f0
  dpdk_driver: uio_pci_generic
  no_iommu: true
  iova: pa
  hugepages: {size: 2M, count: 512}
`

func TestParseFile(t *testing.T) {
	f, errs := ParseFile("lab/testbed.yaml", []byte(whole))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if f.LinkBps() != 10e9 || f.SSHConfig != filepath.Join("lab", "keys", "config") {
		t.Errorf("link %v, ssh_config %q", f.LinkBps(), f.SSHConfig)
	}
	s, r := f.Sender, f.Receiver
	if !s.Local() || s.NamedTwice() || s.DPDKDriver != "vfio-pci" || s.Hugepages.KiB() != 1<<20 || *s.CPUs.Guest != 4 || s.CPUs.Client != nil {
		t.Errorf("sender %+v", s)
	}
	if r.Local() || !r.NamedTwice() || !r.Sudo || r.Hugepages.KiB() != 2048 {
		t.Errorf("receiver %+v", r)
	}
	n := s.Need(1, []int{2, 4}, true)
	if want := []string{"vfio_iommu_type1", "vfio-pci", "macvtap", "vhost_net"}; !slices.Equal(n.Modules, want) ||
		n.Pages != 4 || n.PageKiB != 1<<20 || n.Node != 1 || n.Governor != "performance" {
		t.Errorf("the sender needs %+v", n)
	}
	if n := r.Need(-1, []int{1}, false); !slices.Equal(n.Modules, []string{"uio_pci_generic"}) || !n.NoIOMMU {
		t.Errorf("the receiver needs %+v", n)
	}
}

func TestParseFileRefuses(t *testing.T) {
	for _, tt := range []struct{ name, old, new, want string }{
		{"empty", whole, "", "t.yaml: the testbed is empty; sweep testbed init writes one"},
		{"an unknown key", "  kernel_driver: ixgbe", "  kernel: ixgbe", `t.yaml: line 6: unknown key "kernel"; there are host, sudo, nic, nic_again, kernel_driver, dpdk_driver, no_iommu, iova, cpus, hugepages, governor`},
		{"a text for a number", "count: 4", "count: some", `t.yaml: line 8: "some" is not what this key takes (int)`},
		{"no YAML", "link: 10GbE", "link: [", "t.yaml: no YAML: "},
		{"a rate that is none", "10GbE", "fast", `t.yaml: link: "fast" is no rate of a link; write 10GbE, 25GbE, 100GbE, or none where nobody knows`},
		{"no host", "host: local", "host: ''", "t.yaml: sender: host: it is missing; write local"},
		{"an option for a host", "root@receiver", "-oProxyCommand=reboot", `t.yaml: receiver: host: "-oProxyCommand=reboot" begins with -, as options do`},
		{"a command for a host", "root@receiver", "a$(reboot)", `t.yaml: receiver: host: "a$(reboot)" has a sign in it that no host's name has`},
		{"a line for a host", "root@receiver", `"a\nreboot"`, `t.yaml: receiver: host: "a\nreboot" has a sign in it`},
		{"a path for a NIC", "nic: 0000:3b:00.0", "nic: ../../etc", `t.yaml: sender: nic: "../../etc" is neither; write a PCI address`},
		{"a NIC that is too long", "nic: 0000:3b:00.0", "nic: abcdefghijklmnop", `"abcdefghijklmnop" is neither`},
		{"twice, but another", "nic_again: ens1f0", "nic_again: ens1f1", `t.yaml: receiver: nic_again: "ens1f1" is not the "ens1f0" of nic`},
		{"a path for a driver", "uio_pci_generic", "../x", `t.yaml: receiver: dpdk_driver: "../x" is no name of one`},
		{"an iova", "iova: pa", "iova: x", `t.yaml: receiver: iova: "x"; there are pa and va`},
		{"a page's size", "size: 2M", "size: 4K", `t.yaml: receiver: hugepages: size "4K", count 512: the size is 2M or 1G`},
		{"one CPU for two", "guest: 4", "guest: 2", "t.yaml: sender: cpus: CPU 2 is the forwarder's and the guest's"},
		{"a CPU below none", "guest: 4", "guest: -4", "t.yaml: sender: cpus: guest: there is no CPU -4"},
		{"the client's CPU elsewhere", "guest: 4", "client: 4", "t.yaml: sender: cpus: the client runs on the receiver"},
	} {
		text := strings.Replace(whole, tt.old, tt.new, 1)
		_, errs := ParseFile("t.yaml", []byte(text))
		if len(errs) == 0 || !strings.Contains(errs[0].Error(), tt.want) {
			t.Errorf("%s: %v; want %s", tt.name, errs, tt.want)
		}
	}
}

func TestSameNICTwice(t *testing.T) {
	text := "link: none\nsender: {host: a, nic: eth1}\nreceiver: {host: a, nic: eth1}\n"
	_, errs := ParseFile("t.yaml", []byte(text))
	if len(errs) != 1 || !strings.Contains(errs[0].Error(), "the same NIC of the same machine") {
		t.Error(errs)
	}
}

func TestExamplesParse(t *testing.T) {
	for _, name := range Examples() {
		text, err := Example(name)
		if err != nil {
			t.Fatal(err)
		}
		f, errs := ParseFile(name, text)
		if len(errs) > 0 {
			t.Errorf("%s: %v", name, errs)
		}
		if err := f.Describe(new(strings.Builder)); err != nil {
			t.Error(err)
		}
		// Each line that says something explains itself.
		for line := range strings.Lines(string(text)) {
			key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			if value = strings.TrimSpace(value); value != "" && !strings.HasPrefix(key, "#") && !strings.Contains(value, "#") &&
				strings.Count(string(text), "\n  "+key+":") < 2 {
				t.Errorf("%s: %q is not explained", name, strings.TrimSpace(line))
			}
		}
	}
	if _, err := Example("x"); err == nil {
		t.Error("an example that there isn't")
	}
}
