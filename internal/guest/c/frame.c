#include "frame.h"

enum { ETHERNET = 14, IPV4 = 20, UDP = 8 };

static void put16(uint8_t *to, uint32_t v)
{
	to[0] = (uint8_t)(v >> 8);
	to[1] = (uint8_t)v;
}

static void put32(uint8_t *to, uint32_t v)
{
	put16(to, v >> 16);
	put16(to + 2, v);
}

/* RFC 1071: the one's complement of the one's complement sum. */
static uint32_t checksum(const uint8_t *header, uint32_t n)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n; i += 2)
		sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum & 0xffff;
}

void sweep_frame(uint8_t *frame, uint32_t size, const uint8_t mac[6], const struct sweep_params *p)
{
	uint8_t *ip = frame + ETHERNET;
	uint8_t *udp = ip + IPV4;

	for (uint32_t i = 0; i < size; i++)
		frame[i] = 0;
	for (int i = 0; i < 6; i++) {
		frame[i] = p->peer[i];
		frame[6 + i] = mac[i];
	}
	put16(frame + 12, 0x0800); /* EtherType: IPv4 */

	ip[0] = 0x45; /* version 4, five words of header: RFC 791 */
	put16(ip + 2, size - ETHERNET);
	ip[8] = 64; /* time to live */
	ip[9] = 17; /* UDP */
	put32(ip + 12, p->ip[0]);
	put32(ip + 16, p->ip[1]);
	put16(ip + 10, checksum(ip, IPV4));

	put16(udp, p->udp[0]); /* RFC 768 */
	put16(udp + 2, p->udp[1]);
	put16(udp + 4, size - ETHERNET - IPV4);
}
