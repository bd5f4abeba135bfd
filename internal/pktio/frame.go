package pktio

import (
	"encoding/binary"
	"net"
)

// The sizes of a frame without FCS: its headers are 42 bytes, and an MTU of
// 1500 has room for 1514.
const (
	SizeMin = 42
	SizeMax = 1514
)

// Frame is what every guest of the kit sends: UDP (RFC 768) in IPv4 (RFC 791) in
// Ethernet, 198.18.0.1 to 198.18.0.2 (RFC 2544's addresses for benchmarks), port
// 9 to port 9 (discard), a payload of zeros, and no UDP checksum. size is in
// bytes without FCS, SizeMin to SizeMax.
func Frame(size int, from, to net.HardwareAddr) []byte {
	const ethernet, header = 14, 20
	f := make([]byte, size)
	copy(f, to)
	copy(f[6:], from)
	binary.BigEndian.PutUint16(f[12:], 0x0800) // EtherType: IPv4

	ip := f[ethernet:]
	ip[0] = 0x45 // version 4, five words of header
	binary.BigEndian.PutUint16(ip[2:], uint16(size-ethernet))
	ip[8] = 64 // time to live
	ip[9] = 17 // UDP
	copy(ip[12:], []byte{198, 18, 0, 1})
	copy(ip[16:], []byte{198, 18, 0, 2})
	binary.BigEndian.PutUint16(ip[10:], checksum(ip[:header]))

	udp := ip[header:]
	binary.BigEndian.PutUint16(udp, 9)
	binary.BigEndian.PutUint16(udp[2:], 9)
	binary.BigEndian.PutUint16(udp[4:], uint16(size-ethernet-header))
	return f
}

// checksum is RFC 1071's, of an even number of bytes: the one's complement of
// their one's complement sum.
func checksum(b []byte) uint16 {
	var sum uint32
	for i := 0; i < len(b); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(b[i:]))
	}
	for sum>>16 != 0 {
		sum = sum&0xffff + sum>>16
	}
	return ^uint16(sum)
}
