#define _GNU_SOURCE /* sendmmsg */
#include "udp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "nic.h"

static struct {
	int fd;
	uint32_t burst; /* packets a system call in a stretch */
	struct iovec payload;
	struct mmsghdr messages[SWEEP_BURST_MAX];
} udp;

static const char *set(int level, int option, int value, const char *step)
{
	return setsockopt(udp.fd, level, option, &value, sizeof(value)) ? failed(step) : NULL;
}

static struct sockaddr_in end(uint32_t ip, uint16_t port)
{
	return (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(ip),
		.sin_port = htons(port),
	};
}

const char *udp_open(const struct sweep_params *p)
{
	const struct sockaddr_in source = end(p->ip[0], p->udp[0]);
	const struct sockaddr_in destination = end(p->ip[1], p->udp[1]);
	const char *why, *name = nic_name();

	udp.fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	if (udp.fd < 0)
		return failed("a UDP socket");
	/* The other guests' frames have neither a UDP checksum nor the bit
	 * "don't fragment". */
	why = set(SOL_SOCKET, SO_NO_CHECK, 1, "turning UDP's checksum off");
	if (!why)
		why = set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT, "turning path MTU discovery off");
	/* Without it, a packet that finds the queue before the device full is
	 * dropped, and the call says that it was sent. */
	if (!why)
		why = set(IPPROTO_IP, IP_RECVERR, 1, "asking for errors");
	if (why)
		return why;
	/* On this interface every destination is on the link, as far as the
	 * kernel is concerned. */
	if (setsockopt(udp.fd, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name)))
		return failed("binding the socket to the NIC");
	if (bind(udp.fd, (const struct sockaddr *)&source, sizeof(source)))
		return failed("binding the socket to the source of sweep.ip and sweep.udp");
	if (connect(udp.fd, (const struct sockaddr *)&destination, sizeof(destination)))
		return failed("connecting the socket to the destination of sweep.ip and sweep.udp");
	return NULL;
}

/* memory is about what the kernel takes for a packet: its header (struct
 * sk_buff), and the frame with what stands before and after it, in a block of
 * one of the allocator's sizes. */
static int memory(uint32_t size)
{
	enum { SK_BUFF = 256, AROUND = 384 };
	uint32_t block = 512;

	while (block < size + AROUND)
		block *= 2;
	return (int)(SK_BUFF + block);
}

const char *udp_prepare(const struct sweep_params *p, uint32_t size)
{
	static uint8_t zeros[SWEEP_SIZE_MAX];
	/* The kernel's default lets a socket have some 270 short packets on
	 * their way, or 90 long ones. That is a part of the ring, and the device
	 * would run dry while the guest hears that packets were sent. As many as
	 * the ring holds keep it full, and the queue before it short. The kernel
	 * doubles what it is told. */
	const char *why = set(SOL_SOCKET, SO_SNDBUFFORCE, (int)nic_ring() * memory(size) / 2, "setting the socket's memory");

	if (why)
		return why;
	udp.burst = p->burst;
	udp.payload.iov_base = zeros;
	udp.payload.iov_len = size - SWEEP_SIZE_MIN;
	for (uint32_t i = 0; i < SWEEP_BURST_MAX; i++) {
		udp.messages[i].msg_hdr.msg_iov = &udp.payload;
		udp.messages[i].msg_hdr.msg_iovlen = 1;
	}
	return NULL;
}

void udp_burst(uint32_t n, struct sweep_counters *c)
{
	const int sent = sendmmsg(udp.fd, udp.messages, n, 0);

	if (sent >= 0) {
		c->packets += (uint32_t)sent;
		/* Why it stopped short is not said; the next call would say it. */
		if ((uint32_t)sent < n)
			c->full++;
	} else if (errno == EAGAIN || errno == ENOBUFS) {
		c->full++;
	} else {
		c->errors++;
	}
}

enum sweep_stretch udp_stretch(uint32_t n, uint64_t *ticks)
{
	struct sweep_counters c = { 0, 0, 0 };
	const uint64_t begun = sweep_ticks();

	while (c.packets < n && !c.full && !c.errors)
		udp_burst(n - c.packets < udp.burst ? n - (uint32_t)c.packets : udp.burst, &c);
	*ticks = sweep_ticks() - begun;
	if (c.errors)
		return SWEEP_BROKEN;
	return c.full ? SWEEP_FULL : SWEEP_COUNTS;
}
