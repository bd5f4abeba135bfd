package agent

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// kernel is a faked /sys under a folder, which does with a driver's files what
// the kernel does.
type kernel struct {
	t       *testing.T
	h       host
	refuses string   // a driver that takes no device
	wrote   []string // in that order
}

const pci = "0000:3b:00.0"

func newKernel(t *testing.T) *kernel {
	t.Helper()
	k := &kernel{t: t}
	k.h = host{root: t.TempDir(), write: k.write, modprobe: k.modprobe}
	k.file(pciDevices+pci+"/driver_override", "(null)\n")
	for _, d := range []string{"ixgbe", "vfio-pci", "uio_pci_generic"} {
		k.file("/sys/bus/pci/drivers/"+d+"/bind", "")
		k.file("/sys/bus/pci/drivers/"+d+"/unbind", "")
	}
	k.file("/sys/bus/pci/drivers_probe", "")
	k.file("/proc/sys/kernel/osrelease", "6.1.0\n")
	k.file("/lib/modules/6.1.0/modules.dep", "kernel/drivers/net/macvtap.ko.xz: kernel/drivers/net/tap.ko.xz kernel/drivers/net/macvlan.ko.xz\n")
	k.file("/sys/module/macvlan/refcnt", "0\n")
	k.file("/lib/modules/6.1.0/modules.builtin", "kernel/drivers/net/tun.ko\n")
	k.driver("ixgbe")
	return k
}

func (k *kernel) file(path, text string) {
	k.t.Helper()
	path = k.h.path(path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		k.t.Fatal(err)
	}
}

// driver is the one that the device has now; none where empty.
func (k *kernel) driver(name string) {
	k.t.Helper()
	link := k.h.path(pciDevices, pci, "driver")
	_ = os.Remove(link)
	if name == "" {
		return
	}
	if err := os.Symlink(k.h.path("/sys/bus/pci/drivers", name), link); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kernel) write(path, value string) error {
	rel := strings.TrimPrefix(path, strings.TrimSuffix(k.h.root, "/"))
	k.wrote = append(k.wrote, rel+" <- "+strings.TrimSpace(value))
	switch filepath.Base(rel) {
	case "unbind":
		k.driver("")
	case "drivers_probe":
		want, err := k.h.override(pci)
		if err != nil {
			return err
		}
		if want == "" {
			want = "ixgbe" // whose table has the device's id
		}
		if want != k.refuses {
			k.driver(want)
		}
	case "driver_override":
		k.file(rel, strings.TrimSpace(value)+"\n")
	case "nr_hugepages":
		if value == "512" {
			value = "300" // memory is in pieces
		}
		k.file(rel, value+"\n")
	default:
		k.file(rel, value+"\n")
	}
	return nil
}

func (k *kernel) modprobe(_ context.Context, args ...string) error {
	k.wrote = append(k.wrote, "modprobe "+strings.Join(args, " "))
	if args[0] == "-r" {
		return os.RemoveAll(k.h.path("/sys/module", args[2]))
	}
	if args[1] == "absent" {
		return errors.New("FATAL: Module absent not found")
	}
	k.file("/sys/module/"+args[1]+"/refcnt", "0\n")
	if args[1] == "macvtap" {
		k.file("/sys/module/tap/refcnt", "0\n")
	}
	return nil
}

// local is an agent of the faked machine.
func (k *kernel) local() (*Local, string) {
	l, dir := newLocal(k.t)
	l.host = k.h
	return l, dir
}

func TestBindIsUndone(t *testing.T) {
	k := newKernel(t)
	l, dir := k.local()
	ctx := context.Background()
	id, err := l.Apply(ctx, BindDriver(pci, "vfio-pci"))
	if err != nil || id == 0 {
		t.Fatalf("Apply = %d, %v", id, err)
	}
	if is, _ := k.h.linked(pciDevices + pci + "/driver"); is != "vfio-pci" {
		t.Fatalf("the driver is %q", is)
	}
	boot, _ := bootID()
	want := []Change{{ID: id, Kind: ChangeBind, Boot: boot, Name: pci, Now: "vfio-pci", Was: "ixgbe"}}
	if got := journalled(t, dir); !reflect.DeepEqual(got, want) {
		t.Errorf("journal:\n%+v, want\n%+v", got, want)
	}
	if again, err := l.Apply(ctx, BindDriver(pci, "vfio-pci")); again != 0 || err != nil {
		t.Errorf("what is so already: Apply = %d, %v", again, err)
	}
	if err := l.Revert(ctx, id); err != nil {
		t.Fatal(err)
	}
	wantWrites := []string{
		pciDevices + pci + "/driver_override <- vfio-pci", pciDevices + pci + "/driver/unbind <- " + pci, "/sys/bus/pci/drivers_probe <- " + pci,
		pciDevices + pci + "/driver_override <- ", pciDevices + pci + "/driver/unbind <- " + pci, "/sys/bus/pci/drivers_probe <- " + pci,
	}
	if !reflect.DeepEqual(k.wrote, wantWrites) {
		t.Errorf("wrote:\n%s\nwant:\n%s", strings.Join(k.wrote, "\n"), strings.Join(wantWrites, "\n"))
	}
	if is, _ := k.h.linked(pciDevices + pci + "/driver"); is != "ixgbe" {
		t.Errorf("the driver is %q afterwards", is)
	}
	if left := journalled(t, dir); len(left) != 0 {
		t.Errorf("left in the journal: %+v", left)
	}
}

// Wherever an agent was killed between two writes, undoing brings the device
// back, and does nothing the second time.
func TestBindIsUndoneFromAnywhere(t *testing.T) {
	boot, err := bootID()
	if err != nil {
		t.Fatal(err)
	}
	for _, was := range []string{"ixgbe", ""} {
		c := Change{ID: 1, Kind: ChangeBind, Boot: boot, Name: pci, Now: "vfio-pci", Was: was}
		for _, at := range []struct{ driver, override string }{
			{was, ""}, {was, "vfio-pci"}, {"", "vfio-pci"}, {"vfio-pci", "vfio-pci"}, {"", ""},
		} {
			k := newKernel(t)
			k.driver(at.driver)
			k.file(pciDevices+pci+"/driver_override", at.override+"\n")
			did, err := c.undo(context.Background(), k.h)
			driver, _ := k.h.linked(pciDevices + pci + "/driver")
			override, _ := k.h.override(pci)
			if err != nil || driver != was || override != "" || did != (at.driver != was || at.override != "") {
				t.Errorf("%q, from %+v: %v, %v; driver %q, override %q", was, at, did, err, driver, override)
			}
			if did, err := c.undo(context.Background(), k.h); did || err != nil {
				t.Errorf("%q, from %+v, again: %v, %v", was, at, did, err)
			}
		}
	}
}

func TestBindRefused(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses string
		c       Change
		want    string
	}{
		{"no such device", "", BindDriver("0000:3b:00.1", "vfio-pci"), "there is no PCI device 0000:3b:00.1 on this machine"},
		{"no address", "", BindDriver("../../x", "vfio-pci"), `"../../x" is no PCI address, such as 0000:3b:00.0`},
		{"no driver's name", "", BindDriver(pci, "../x"), `"../x" is no name of a driver`},
		{"no driver", "", BindDriver(pci, "igb_uio"), "the kernel has no driver igb_uio: is its module loaded (modprobe igb_uio)?"},
		{"without an IOMMU", "vfio-pci", BindDriver(pci, "vfio-pci"), "vfio-pci does not take " + pci + " (its driver is none now): dmesg has the kernel's words; the machine's IOMMU is off: intel_iommu=on"},
	} {
		k := newKernel(t)
		k.refuses = tt.refuses
		l, dir := k.local()
		id, err := l.Apply(context.Background(), tt.c)
		if id != 0 || err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("%s: Apply = %d, %v; want %s", tt.name, id, err, tt.want)
		}
		if is, _ := k.h.linked(pciDevices + pci + "/driver"); is != "ixgbe" {
			t.Errorf("%s: the driver is %q afterwards", tt.name, is)
		}
		if left := journalled(t, dir); len(left) != 0 {
			t.Errorf("%s: left in the journal: %+v", tt.name, left)
		}
	}
}

func TestFilesAndModules(t *testing.T) {
	const pages = "/sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages"
	k := newKernel(t)
	k.file(pages, "8\n")
	k.file("/sys/module/vfio/refcnt", "1\n")
	l, dir := k.local()
	ctx := context.Background()
	for _, tt := range []struct {
		c       Change
		changed bool
		want    string
	}{
		{WriteFile(pages, "8"), false, ""},
		{WriteFile(pages, "512"), false, "the kernel made it 300 of the 512 that was written to " + pages},
		{WriteFile(pages, "256"), true, ""},
		{WriteFile("/etc/passwd", "x"), false, "/etc/passwd is no file of /sys or /proc/sys"},
		{WriteFile("/sys/../etc/passwd", "x"), false, "/sys/../etc/passwd is no file of /sys or /proc/sys"},
		{LoadModule("vfio"), false, ""},
		{LoadModule("tun"), false, ""}, // built in
		{LoadModule("macvtap"), true, ""},
		{LoadModule("absent"), false, "load the module absent: FATAL: Module absent not found"},
		{LoadModule("-r"), false, `"-r" is no name of a kernel module`},
	} {
		id, err := l.Apply(ctx, tt.c)
		if (id != 0) != tt.changed || (err == nil) != (tt.want == "") || err != nil && err.Error() != tt.want {
			t.Errorf("%s %s: Apply = %d, %v; want %q", tt.c.Kind, tt.c.Path+tt.c.Name, id, err, tt.want)
		}
		if v, _ := k.h.value(pages); v == "300" {
			t.Error("a part of what could not be had is kept")
		}
	}
	if n := len(journalled(t, dir)); n != 2 {
		t.Errorf("%d changes in the journal, want 2", n)
	}
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	// macvlan, which macvtap needs as well, was there before.
	if v, _ := k.h.value(pages); v != "8" || k.h.exists("/sys/module/macvtap") || k.h.exists("/sys/module/tap") || !k.h.exists("/sys/module/macvlan") {
		t.Errorf("after Close: %s pages, macvtap %v, tap %v, macvlan %v", v,
			k.h.exists("/sys/module/macvtap"), k.h.exists("/sys/module/tap"), k.h.exists("/sys/module/macvlan"))
	}
}

// What the kernel forgot at a reboot is not undone after it.
func TestChangesOfAnEarlierBoot(t *testing.T) {
	k := newKernel(t)
	k.driver("vfio-pci") // by the admin, in this boot
	k.file("/sys/module/macvtap/refcnt", "0\n")
	for _, c := range []Change{
		{Kind: ChangeBind, Name: pci, Now: "vfio-pci", Was: "ixgbe"},
		{Kind: ChangeModule, Name: "macvtap"},
		{Kind: ChangeLink, Name: "lo", Link: &Link{}, LinkWas: &Link{MTU: 9000}},
		{Kind: ChangeMacvtap, Name: "lo"},
	} {
		c.Boot = "00000000-0000-0000-0000-000000000000"
		if did, err := c.undo(context.Background(), k.h); did || err != nil {
			t.Errorf("%s: %v, %v", c.Kind, did, err)
		}
	}
	if len(k.wrote) != 0 {
		t.Errorf("wrote %v", k.wrote)
	}
}

// inNamespace gives the test a network of its own: lo, and nothing else.
func inNamespace(t *testing.T) host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a network namespace needs root")
	}
	runtime.LockOSThread() // and never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	return thisHost()
}

func addLink(t *testing.T, l netlink.Link) {
	t.Helper()
	if err := netlink.LinkAdd(l); err != nil {
		t.Fatal(err)
	}
}

func named(name string) netlink.LinkAttrs {
	a := netlink.NewLinkAttrs()
	a.Name = name
	return a
}

func address(t *testing.T, name, addr string) {
	t.Helper()
	a, err := netlink.ParseAddr(addr)
	if err != nil {
		t.Fatal(err)
	}
	l, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.AddrAdd(l, a)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestLinksAndMacvtaps(t *testing.T) {
	h := inNamespace(t)
	addLink(t, &netlink.Veth{LinkAttrs: named("d0"), PeerName: "p0"})
	l, dir := newLocal(t)
	l.host = h
	ctx := context.Background()
	was, _, err := linkState(h, "d0")
	if err != nil {
		t.Fatal(err)
	}
	if want := (Link{MTU: 1500, IPv6: was.IPv6}); was != want {
		t.Fatalf("d0 is %+v, want %+v", was, want)
	}
	for _, c := range []Change{
		SetLink("d0", Link{Up: true, Promisc: true, MTU: 9000}),
		AddMacvtap("d0", "t0", "02:00:00:00:00:01"),
		SetLink("t0", Link{Up: true}),
	} {
		if id, err := l.Apply(ctx, c); id == 0 || err != nil {
			t.Fatalf("%s %s: %d, %v", c.Kind, c.Name, id, err)
		}
	}
	if is, _, err := linkState(h, "d0"); err != nil || is != (Link{Up: true, Promisc: true, MTU: 9000}) {
		t.Errorf("d0 is %+v, %v", is, err)
	}
	tap, err := netlink.LinkByName("t0")
	if err != nil || tap.Type() != "macvtap" || tap.Attrs().HardwareAddr.String() != "02:00:00:00:00:01" {
		t.Fatalf("t0: %+v, %v", tap, err)
	}
	if _, err := os.Stat(fmt.Sprintf("/dev/tap%d", tap.Attrs().Index)); err != nil {
		t.Error(err)
	}
	if _, err := l.Apply(ctx, AddMacvtap("d0", "t0", "02:00:00:00:00:01")); err == nil || !strings.Contains(err.Error(), "there is an interface t0 already (macvtap)") {
		t.Errorf("the same again: %v", err)
	}
	if n := len(journalled(t, dir)); n != 3 {
		t.Errorf("%d changes in the journal, want 3", n)
	}
	// In this goroutine, whose thread is in the namespace.
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if is, _, err := linkState(h, "d0"); err != nil || is != was {
		t.Errorf("d0 is %+v afterwards, %v; was %+v", is, err, was)
	}
	if _, err := netlink.LinkByName("t0"); !isNoLink(err) {
		t.Errorf("t0 is still there: %v", err)
	}
}

func TestProtected(t *testing.T) {
	h := inNamespace(t)
	h.root = t.TempDir() // for the PCI devices; the network is real
	k := &kernel{t: t, h: h}
	addLink(t, &netlink.Veth{LinkAttrs: named("d0"), PeerName: "p0"})
	addLink(t, &netlink.Veth{LinkAttrs: named("d1"), PeerName: "p1"})
	addLink(t, &netlink.Veth{LinkAttrs: named("d2"), PeerName: "p2"})
	addLink(t, &netlink.Bridge{LinkAttrs: named("br0")})
	for _, name := range []string{"d0", "d1", "d2", "br0"} {
		l, err := netlink.LinkByName(name)
		if err == nil {
			err = netlink.LinkSetUp(l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d1, _ := netlink.LinkByName("d1")
	br, _ := netlink.LinkByName("br0")
	if err := netlink.LinkSetMaster(d1, br); err != nil {
		t.Fatal(err)
	}
	address(t, "d0", "198.18.0.1/24")
	address(t, "br0", "198.18.1.1/24")
	d0, _ := netlink.LinkByName("d0")
	if err := netlink.RouteAdd(&netlink.Route{LinkIndex: d0.Attrs().Index, Gw: []byte{198, 18, 0, 254}}); err != nil {
		t.Fatal(err)
	}
	k.file(pciDevices+pci+"/net/d1/ifindex", "")
	k.file(pciDevices+"0000:3b:00.1/net/d2/ifindex", "")
	k.file(pciDevices+"0000:00:02.0/virtio1/net/d0/ifindex", "")
	const ssh = "198.18.1.9 50000 198.18.1.1 22"
	for _, tt := range []struct{ device, want string }{
		{"d0", "d0 carries the default route (via 198.18.0.254), d0 has the address 198.18.0.1/24 in use"},
		{"0000:00:02.0", "d0 carries the default route (via 198.18.0.254), d0 has the address 198.18.0.1/24 in use"}, // a virtio NIC
		{"d2", ""},
		{"0000:3b:00.1", ""},
		{"d1", "br0 carries this ssh connection (198.18.1.1/24)"}, // over the bridge
		{pci, "br0 carries this ssh connection (198.18.1.1/24)"},
	} {
		reasons, err := reasonsOf(k.h, tt.device, ssh)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range reasons {
			got = append(got, r.String())
		}
		if text := strings.Join(got, ", "); text != tt.want {
			t.Errorf("%s: %q, want %q", tt.device, text, tt.want)
		}
	}
	l, dir := newLocal(t)
	l.host.root = h.root
	for _, c := range []Change{BindDriver(pci, "vfio-pci"), SetLink("d0", Link{}), AddMacvtap("d0", "t0", "02:00:00:00:00:01")} {
		var protected *ErrProtected
		if _, err := l.Apply(context.Background(), c); !errors.As(err, &protected) {
			t.Errorf("%s of %s: %v, want that it is not taken", c.Kind, c.Name, err)
		}
	}
	if left := journalled(t, dir); len(left) != 0 {
		t.Errorf("something was begun: %+v", left)
	}
}
