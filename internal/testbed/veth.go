package testbed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"sweep/internal/agent"
	"sweep/internal/console"
	"sweep/internal/testpmd"
	"sweep/sizes"
	"sweep/vhost"
)

// Veth is a pair of the kernel's virtual Ethernet ends in a network namespace
// of the run's own, which nothing can be routed out of; DPDK speaks to them
// through packet sockets (net_af_packet). It is slow, and it is the kernel's:
// what a NIC with a kernel driver would be.
type Veth struct {
	// Rootless makes the namespace inside a user namespace, which needs no
	// root where the kernel allows it.
	Rootless bool
}

func (Veth) Name() string     { return "veth" }
func (Veth) Path() sizes.Path { return sizes.Path{Max: maxLab} }

func (Veth) Ports(string) (server, client testpmd.Device) {
	end := func(iface string) testpmd.Device {
		return testpmd.Device{Name: "net_af_packet0", Args: []testpmd.Arg{{Key: "iface", Value: iface}}}
	}
	return end(vethNear), end("sweep1")
}

// Holder implements [Wire].
func (v Veth) Holder() []string {
	// No IPv6: its router solicitations would be counted as frames.
	const script = `set -e
ip link add sweep0 type veth peer name sweep1
for end in sweep0 sweep1; do
	echo 1 >/proc/sys/net/ipv6/conf/$end/disable_ipv6 2>/dev/null || ip link set $end addrgenmode none
	ip link set $end up
done
echo ` + wireIsUp + `
exec sleep infinity`
	argv := []string{"unshare", "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--map-root-user")
	}
	return append(argv, "sh", "-c", script)
}

// Enter implements [Wire].
func (v Veth) Enter(holder string) []string {
	argv := []string{"nsenter", "--target", holder, "--net"}
	if v.Rootless {
		argv = append(argv, "--user", "--preserve-credentials")
	}
	return argv
}

// The interfaces of a veth wire.
const (
	vethNear = "sweep0"
	vethTap  = "sweept0"
)

var errRootless = errors.New("vhost-net needs root on the wire veth, because a tap's device is root's: sudo ./sweep")

// Tap implements [Tappable]: a macvtap over the wire's near end, in the wire's
// namespace, which it lives and dies with. Its character device is the whole
// machine's.
func (v Veth) Tap(ctx context.Context, a agent.Agent, holder, mac string) (t vhost.Tap, down func(context.Context) error, err error) {
	if v.Rootless {
		return t, nil, errRootless
	}
	// A device's node is called by the number of its interface, and numbers are
	// the namespace's: it could be that of an interface of the machine's. So
	// what sysfs says of it there is held against the node.
	const script = `set -e
ip link add link ` + vethNear + ` name ` + vethTap + ` address "$1" type macvtap mode bridge
echo 1 >/proc/sys/net/ipv6/conf/` + vethTap + `/disable_ipv6 2>/dev/null || ip link set ` + vethTap + ` addrgenmode none
ip link set ` + vethTap + ` up
mount -t sysfs sysfs /sys
node=/dev/tap$(cat /sys/class/net/` + vethTap + `/ifindex)
is=$(printf '%d:%d' "0x$(stat -c %t "$node")" "0x$(stat -c %T "$node")")
[ "$is" = "$(cat /sys/class/net/` + vethTap + `/tap*/dev)" ] || { echo "$node is another interface's"; exit 1; }
echo "tap-is-up $node."`
	argv := append(v.Enter(holder), "unshare", "--mount", "sh", "-c", script, "sh", mac)
	proc, err := a.Start(ctx, agent.Spec{Name: "tap", Argv: argv})
	if err != nil {
		return t, nil, err
	}
	con := console.New("tap", proc, io.Discard)
	text, err := con.Wait(ctx, 0, "the macvtap", func(text []byte) bool {
		_, said, ok := bytes.Cut(text, []byte("tap-is-up "))
		return ok && bytes.Contains(said, []byte("."))
	})
	if err != nil {
		return t, nil, fmt.Errorf("make a macvtap over %s: %w", vethNear, err)
	}
	_, node, _ := strings.Cut(string(text), "tap-is-up ")
	node, _, _ = strings.Cut(node, ".")
	t = vhost.Tap{Device: node, Name: vethTap, Over: vethNear, Table: "/proc/" + holder + "/net/dev"}
	return t, func(context.Context) error { return nil }, nil // it goes with the holder
}
