package testpmd

import (
	"reflect"
	"testing"
)

// As DPDK 22.11 prints it, an event in between.
func TestParseVerbose(t *testing.T) {
	got := ParseVerbose([]byte(`testpmd> start
port 0/queue 0: received 2 packets
  src=02:00:00:00:00:01 - dst=02:00:00:00:00:00 - pool=mb_pool_0 - type=0x0800 - length=64 - nb_segs=1 - sw ptype: L2_ETHER L3_IPV4 L4_UDP  - l2_len=14 - l3_len=20 - l4_len=8 - Receive queue=0x0
  ol_flags: RTE_MBUF_F_RX_L4_CKSUM_UNKNOWN RTE_MBUF_F_RX_IP_CKSUM_UNKNOWN RTE_MBUF_F_RX_OUTER_L4_CKSUM_UNKNOWN 
Port 1: link state change event
  src=02:00:00:00:00:01 - dst=FF:FF:FF:FF:FF:FF - pool=mb_pool_0 - type=0x86dd - length=1500 - nb_segs=1
port 1/queue 0: sent 1 packets
  src=02:00:00:00:00:09 - dst=02:00:00:00:00:01 - type=0x0800 - length=64 - nb_segs=1
`))
	want := []Frame{
		{Source: "02:00:00:00:00:01", Destination: "02:00:00:00:00:00", EtherType: 0x0800, Length: 64},
		{Source: "02:00:00:00:00:01", Destination: "FF:FF:FF:FF:FF:FF", EtherType: 0x86dd, Length: 1500},
		{Source: "02:00:00:00:00:09", Destination: "02:00:00:00:00:01", EtherType: 0x0800, Length: 64, Sent: true, Port: 1},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("frames %+v; want %+v", got, want)
	}
	if got := ParseVerbose([]byte("port 0/queue 0: received 1 packets\n  src=02:00:00")); got != nil {
		t.Errorf("a frame that is cut: %+v", got)
	}
}
