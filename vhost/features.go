package vhost

import (
	"fmt"
	"regexp"
	"strconv"
)

// Features are what a guest's driver and the device settled on, a bit each
// (virtio 1.2, 5.1.3 "Feature bits" and 6 "Reserved Feature Bits").
type Features uint64

// negotiated is DPDK's line about it (lib/vhost/vhost_user.c).
var negotiated = regexp.MustCompile(`negotiated Virtio features: 0x([0-9a-f]+)`)

// Negotiated finds the features in what a testpmd with a vhost-user port
// printed: the last, for a driver may start over.
func Negotiated(console []byte) (f Features, ok bool) {
	all := negotiated.FindAllSubmatch(console, -1)
	if len(all) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(string(all[len(all)-1][1]), 16, 64)
	return Features(n), err == nil
}

// protocolFeatures is a bit between QEMU and the vhost-user device, and none of
// the guest's (QEMU's docs/interop/vhost-user.rst).
const protocolFeatures = 30

// Names are the features' names without VIRTIO_NET_F_ or VIRTIO_F_, from the
// lowest bit on.
func (f Features) Names() []string {
	names := map[int]string{
		0: "CSUM", 1: "GUEST_CSUM", 2: "CTRL_GUEST_OFFLOADS", 3: "MTU", 5: "MAC", 6: "GSO",
		7: "GUEST_TSO4", 8: "GUEST_TSO6", 9: "GUEST_ECN", 10: "GUEST_UFO",
		11: "HOST_TSO4", 12: "HOST_TSO6", 13: "HOST_ECN", 14: "HOST_UFO", 15: "MRG_RXBUF",
		16: "STATUS", 17: "CTRL_VQ", 18: "CTRL_RX", 19: "CTRL_VLAN", 20: "CTRL_RX_EXTRA",
		21: "GUEST_ANNOUNCE", 22: "MQ", 23: "CTRL_MAC_ADDR", 24: "NOTIFY_ON_EMPTY",
		27: "ANY_LAYOUT", 28: "INDIRECT_DESC", 29: "EVENT_IDX", 32: "VERSION_1",
		33: "ACCESS_PLATFORM", 34: "RING_PACKED", 35: "IN_ORDER", 36: "ORDER_PLATFORM",
		37: "SR_IOV", 38: "NOTIFICATION_DATA", 40: "RING_RESET",
	}
	var out []string
	for bit := range 64 {
		if f&(1<<bit) == 0 || bit == protocolFeatures {
			continue
		}
		name, ok := names[bit]
		if !ok {
			name = fmt.Sprintf("bit %d", bit)
		}
		out = append(out, name)
	}
	return out
}
