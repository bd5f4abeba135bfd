// Package vhost is the host's side of a guest's NIC: what the forwarder needs
// to offer it and what QEMU needs to attach to it.
package vhost

import "fmt"

// Port is where a guest's NIC ends on the host.
type Port interface {
	// Netdev are QEMU's arguments for a network backend with the given id.
	Netdev(id string) []string
	// Files are what QEMU must be started with open, as its descriptors from
	// 3 on.
	Files() []string
	// MaxQueue is the most descriptors that QEMU gives the guest's transmit
	// ring on such a port.
	MaxQueue() int
}

// NIC is the virtio device that the guest sees. It is the same for every guest
// of a run, so that they differ in nothing but themselves.
type NIC struct {
	MAC string
	// Queue is the length of the receive and the transmit ring, in
	// descriptors (virtio 1.2, 2.7); see [Port.MaxQueue].
	Queue int
	// NoMSIX has the device interrupt by its pin. QEMU 7.2 without KVM crashes
	// when a guest masks a vhost-user device's MSI-X vectors, as Linux's own
	// driver does; to guests that poll it makes no difference.
	NoMSIX bool
}

// Device are QEMU's arguments for the NIC on the backend with the given id.
func (n NIC) Device(id string) []string {
	device := fmt.Sprintf("virtio-net-pci,netdev=%s,mac=%s,rx_queue_size=%d,tx_queue_size=%d",
		id, n.MAC, n.Queue, n.Queue)
	if n.NoMSIX {
		device += ",vectors=0"
	}
	return []string{"-device", device}
}
