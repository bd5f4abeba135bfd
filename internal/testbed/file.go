package testbed

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"

	"sweep/sizes"
)

// File is a testbed as it is written in YAML (docs/testbed.md): the machine
// that sends, the one that counts, and the cable between two of their NICs.
type File struct {
	Path      string  `yaml:"-"`
	Link      string  `yaml:"link"`       // such as 10GbE; none where its rate is not known
	SSHConfig string  `yaml:"ssh_config"` // in the place of ~/.ssh/config; it starts at the file's folder
	Sender    Machine `yaml:"sender"`
	Receiver  Machine `yaml:"receiver"`
}

// Machine is one of the two.
type Machine struct {
	Host string `yaml:"host"` // "local", or a destination of OpenSSH's
	Sudo bool   `yaml:"sudo"` // the agent becomes root there by sudo

	NIC          string `yaml:"nic"`           // a PCI address or an interface's name
	NICAgain     string `yaml:"nic_again"`     // once more, for a NIC that the machine itself uses
	KernelDriver string `yaml:"kernel_driver"` // what drives it now, where empty
	DPDKDriver   string `yaml:"dpdk_driver"`   // vfio-pci, where empty
	NoIOMMU      bool   `yaml:"no_iommu"`      // vfio on a machine without an IOMMU
	IOVA         string `yaml:"iova"`          // "pa", "va", or as DPDK finds it

	CPUs      CPUs      `yaml:"cpus"`
	Hugepages Hugepages `yaml:"hugepages"`
	Governor  string    `yaml:"governor"` // of the pollers' CPUs; as it is, where empty
}

// CPUs are those that the user chose; what is left out is chosen from the
// topology.
type CPUs struct {
	Forwarder *int  `yaml:"forwarder"`
	Guest     *int  `yaml:"guest"`
	Client    *int  `yaml:"client"`
	House     []int `yaml:"house"`
}

// Hugepages are how many of which size the run is to find free.
type Hugepages struct {
	Size  string `yaml:"size"` // 2M or 1G
	Count int    `yaml:"count"`
}

// KiB is the size of a page.
func (h Hugepages) KiB() int {
	if h.Size == "1G" {
		return 1 << 20
	}
	return 2 << 10
}

// Local says whether it is the machine that this program runs on.
func (m Machine) Local() bool { return m.Host == "local" }

// NamedTwice says whether the user wants the NIC although the machine itself
// uses it.
func (m Machine) NamedTwice() bool { return m.NICAgain != "" && m.NICAgain == m.NIC }

// LinkBps is the cable's rate in bits a second; 0 where it isn't known.
func (f File) LinkBps() float64 { return sizes.LinkRate(f.Link) }

// Need is what a machine must have. node is its NIC's NUMA node, -1 where it has
// none; taps says whether the kernel is to serve guests on it, too.
func (m Machine) Need(node int, pollers []int, taps bool) Need {
	n := Need{
		NoIOMMU: m.NoIOMMU, Pages: m.Hugepages.Count, PageKiB: m.Hugepages.KiB(), Node: node,
		Governor: m.Governor, Pollers: pollers,
	}
	switch m.DPDKDriver {
	case "vfio-pci":
		// The first on its own, or unloading vfio-pci would leave it.
		n.Modules = append(n.Modules, "vfio_iommu_type1", "vfio-pci")
	case "uio_pci_generic", "igb_uio":
		n.Modules = append(n.Modules, m.DPDKDriver)
	}
	if taps {
		n.Modules = append(n.Modules, "macvtap", "vhost_net")
	}
	return n
}

// mostBytes is the longest file that is taken for a testbed.
const mostBytes = 1 << 20

// ReadFile reads a testbed's file. All that is wrong with it is returned.
func ReadFile(name string) (File, []error) {
	f, err := os.Open(name)
	if err != nil {
		return File{}, []error{fmt.Errorf("read the testbed: %w", err)}
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("more than %d KiB: a testbed is a page of YAML", mostBytes>>10)
	}
	if err != nil {
		return File{}, []error{fmt.Errorf("read the testbed %s: %w", name, err)}
	}
	return ParseFile(name, text)
}

// ParseFile reads a testbed. Its paths start at the folder of name.
func ParseFile(name string, text []byte) (File, []error) {
	f := File{Path: name}
	var wrong []error
	say := func(format string, a ...any) { wrong = append(wrong, fmt.Errorf(name+": "+format, a...)) }
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	switch err := dec.Decode(&f); {
	case errors.Is(err, io.EOF):
		say("the testbed is empty; sweep testbed init writes one")
		return f, wrong
	case err != nil:
		for _, what := range yamlWords(err) {
			say("%s", what)
		}
		return f, wrong
	}
	if err := dec.Decode(new(File)); !errors.Is(err, io.EOF) {
		say("a second document begins; a file holds one testbed")
	}
	if f.SSHConfig != "" && !filepath.IsAbs(f.SSHConfig) {
		f.SSHConfig = filepath.Join(filepath.Dir(name), f.SSHConfig)
	}
	if f.Link != "none" && f.LinkBps() == 0 {
		say("link: %q is no rate of a link; write 10GbE, 25GbE, 100GbE, or none where nobody knows", f.Link)
	}
	for _, at := range []struct {
		name string
		m    *Machine
	}{{"sender", &f.Sender}, {"receiver", &f.Receiver}} {
		at.m.DPDKDriver = cmp.Or(at.m.DPDKDriver, "vfio-pci")
		for _, what := range at.m.wrong() {
			say("%s: %s", at.name, what)
		}
	}
	if f.Sender.CPUs.Client != nil {
		say("sender: cpus: the client runs on the receiver: its CPU stands there")
	}
	if f.Receiver.CPUs.Forwarder != nil || f.Receiver.CPUs.Guest != nil {
		say("receiver: cpus: forwarder and guest run on the sender: their CPUs stand there")
	}
	if f.Sender.Host != "" && f.Sender.Host == f.Receiver.Host && f.Sender.NIC == f.Receiver.NIC {
		say("sender and receiver are the same NIC of the same machine; the cable needs two")
	}
	return f, wrong
}

var (
	yamlLine  = regexp.MustCompile(`^line (\d+): (.*)$`)
	yamlField = regexp.MustCompile(`^field (\S+) not found in type testbed\.(\w+)$`)
	yamlKind  = regexp.MustCompile("^cannot unmarshal !!(\\w+)(?: `([^`]*)`)? into (.+)$")
)

// yamlWords are the errors of the YAML parser in words about a testbed.
func yamlWords(err error) []string {
	var typed *yaml.TypeError
	if !errors.As(err, &typed) {
		return []string{"no YAML: " + strings.TrimPrefix(err.Error(), "yaml: ")}
	}
	var out []string
	for _, e := range typed.Errors {
		line, what := "", e
		if m := yamlLine.FindStringSubmatch(e); m != nil {
			line, what = "line "+m[1]+": ", m[2]
		}
		if m := yamlField.FindStringSubmatch(what); m != nil {
			what = fmt.Sprintf("unknown key %q; there are %s", m[1], strings.Join(keysOf(m[2]), ", "))
		} else if m := yamlKind.FindStringSubmatch(what); m != nil {
			what = fmt.Sprintf("%q is not what this key takes (%s)", m[2], m[3])
		}
		out = append(out, line+what)
	}
	return out
}

// keysOf are the keys of a part of the file, by the name of its type.
func keysOf(part string) []string {
	switch part {
	case "File":
		return []string{"link", "ssh_config", "sender", "receiver"}
	case "CPUs":
		return []string{"forwarder", "guest", "client", "house"}
	case "Hugepages":
		return []string{"size", "count"}
	}
	return []string{"host", "sudo", "nic", "nic_again", "kernel_driver", "dpdk_driver", "no_iommu", "iova", "cpus", "hugepages", "governor"}
}

var driverName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]*$`)

// wrong is what is wrong with a machine.
func (m Machine) wrong() []string {
	var out []string
	say := func(format string, a ...any) { out = append(out, fmt.Sprintf(format, a...)) }
	if why := badHost(m.Host); why != "" {
		say("host: %s; write local, or what ssh takes: a name of ~/.ssh/config, host, user@host", why)
	}
	if why := badNIC(m.NIC); why != "" {
		say("nic: %s; write a PCI address such as 0000:3b:00.0, or an interface's name", why)
	}
	if m.NICAgain != "" && m.NICAgain != m.NIC {
		say("nic_again: %q is not the %q of nic: it is for naming the very same NIC twice, where the machine itself uses it", m.NICAgain, m.NIC)
	}
	for _, d := range []struct{ key, name string }{{"kernel_driver", m.KernelDriver}, {"dpdk_driver", m.DPDKDriver}, {"governor", m.Governor}} {
		if d.name != "" && !driverName.MatchString(d.name) {
			say("%s: %q is no name of one", d.key, d.name)
		}
	}
	if !slices.Contains([]string{"", "pa", "va"}, m.IOVA) {
		say("iova: %q; there are pa and va, and without it DPDK chooses", m.IOVA)
	}
	h := m.Hugepages
	if h.Count < 0 || h.Count > 0 && h.Size != "2M" && h.Size != "1G" {
		say("hugepages: size %q, count %d: the size is 2M or 1G, the count how many", h.Size, h.Count)
	}
	return append(out, m.CPUs.wrong()...)
}

func (c CPUs) wrong() []string {
	var out []string
	taken := map[int]string{}
	for _, p := range []struct {
		name string
		cpu  *int
	}{{"forwarder", c.Forwarder}, {"guest", c.Guest}, {"client", c.Client}} {
		switch {
		case p.cpu == nil:
		case *p.cpu < 0:
			out = append(out, fmt.Sprintf("cpus: %s: there is no CPU %d", p.name, *p.cpu))
		case taken[*p.cpu] != "":
			out = append(out, fmt.Sprintf("cpus: CPU %d is the %s's and the %s's: each polls and needs one of its own", *p.cpu, taken[*p.cpu], p.name))
		default:
			taken[*p.cpu] = p.name
		}
	}
	for _, cpu := range c.House {
		if cpu < 0 {
			out = append(out, fmt.Sprintf("cpus: house: there is no CPU %d", cpu))
		}
	}
	return out
}

// badHost is what keeps a text from being a host; the agent's dialling looks
// closer.
func badHost(host string) string {
	switch {
	case host == "":
		return "it is missing"
	case strings.HasPrefix(host, "-"):
		return strconv.Quote(host) + " begins with -, as options do"
	case strings.ContainsFunc(host, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || strings.ContainsRune("'\"`$;&<>|(){}\\", r)
	}):
		return strconv.Quote(host) + " has a sign in it that no host's name has"
	}
	return ""
}

// badNIC is what keeps a text from being a NIC's name (Linux: dev_valid_name in
// net/core/dev.c).
func badNIC(name string) string {
	switch {
	case name == "":
		return "it is missing"
	case pciName.MatchString(name):
		return ""
	case len(name) > 15, name == ".", name == "..", strings.ContainsAny(name, "/:"),
		strings.ContainsFunc(name, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return strconv.Quote(name) + " is neither"
	}
	return ""
}

// Describe writes what a testbed asks for, in words.
func (f File) Describe(w io.Writer) error {
	var b strings.Builder
	rate := "of no known rate: no point will be said to show the cable"
	if f.LinkBps() > 0 {
		rate = f.Link + fmt.Sprintf(": at most %.3f Mpps of 64 B", sizes.LineRate(64, f.LinkBps())/1e6)
	}
	fmt.Fprintf(&b, "cable     %s\n", rate)
	for _, at := range []struct {
		name string
		m    Machine
	}{{"sender", f.Sender}, {"receiver", f.Receiver}} {
		m := at.m
		how := "by ssh " + m.Host
		if m.Local() {
			how = "this machine"
		}
		if m.Sudo {
			how += ", as root by sudo -n"
		}
		fmt.Fprintf(&b, "%-9s %s\n", at.name, how)
		bound := "bound to " + m.DPDKDriver + " for DPDK, and given back to " + cmp.Or(m.KernelDriver, "the driver that it has now")
		if m.DPDKDriver == m.KernelDriver {
			bound = "left with " + m.KernelDriver + ", beside which DPDK works"
		}
		fmt.Fprintf(&b, "          NIC %s, %s\n", m.NIC, bound)
		if m.NamedTwice() {
			b.WriteString("          named twice: it is taken even where the machine itself uses it\n")
		}
		if m.NoIOMMU {
			b.WriteString("          vfio without an IOMMU, for the time of the run\n")
		}
		if m.Hugepages.Count > 0 {
			fmt.Fprintf(&b, "          %d hugepages of %s, reserved where fewer are free, and given back\n", m.Hugepages.Count, m.Hugepages.Size)
		}
		if m.Governor != "" {
			fmt.Fprintf(&b, "          the pollers' CPUs with the governor %s, and given back\n", m.Governor)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}
