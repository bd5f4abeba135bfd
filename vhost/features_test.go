package vhost

import (
	"reflect"
	"testing"
)

func TestNegotiated(t *testing.T) {
	const console = "VHOST_CONFIG: (/tmp/v.sock) negotiated Vhost-user protocol features: 0x10cbf\r\n" +
		"VHOST_CONFIG: (/tmp/v.sock) negotiated Virtio features: 0x40000000\r\n" +
		"VHOST_CONFIG: (/tmp/v.sock) negotiated Virtio features: 0x8060200043\r\n"
	f, ok := Negotiated([]byte(console))
	if !ok || f != 0x8060200043 {
		t.Fatalf("Negotiated = %#x, %v", uint64(f), ok)
	}
	// Bits 0, 1, 6, 21, 29, 39, and 30, which is none of the guest's.
	want := []string{"CSUM", "GUEST_CSUM", "GSO", "GUEST_ANNOUNCE", "EVENT_IDX", "bit 39"}
	if got := f.Names(); !reflect.DeepEqual(got, want) {
		t.Errorf("Names = %q; want %q", got, want)
	}
	if _, ok := Negotiated([]byte("negotiated Vhost-user protocol features: 0x1")); ok {
		t.Error("features where there are none")
	}
}
