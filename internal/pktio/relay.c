//go:build dpdk

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pktio.h"

/* The shortest that a frame is made: its Ethernet header. */
enum { HEADER = RTE_ETHER_HDR_LEN };

int pktio_relay_open(struct pktio_relay *r, uint32_t room)
{
	r->waiting = calloc(room, sizeof(*r->waiting));
	r->due = calloc(room, sizeof(*r->due));
	r->room = room;
	return r->waiting && r->due ? 0 : -ENOMEM;
}

/* spoil plants the faults in a frame and says whether it is to be dropped. */
static int spoil(struct pktio_relay *r, struct rte_mbuf *m)
{
	if (r->hold)
		return 1;
	if (r->drop && ++r->since_drop % r->drop == 0)
		return 1;
	if (r->short_every && ++r->since_short % r->short_every == 0) {
		if (m->pkt_len >= HEADER + r->short_bytes && rte_pktmbuf_trim(m, (uint16_t)r->short_bytes) == 0)
			r->shortened++;
		else
			r->too_short++;
	}
	if (r->readdress) {
		memcpy(rte_pktmbuf_mtod(m, void *), r->address, sizeof(r->address));
		r->readdressed++;
	}
	return 0;
}

/* receive takes a burst, where there is room for it, to wait for its time. */
static void receive(struct pktio_relay *r, uint64_t now)
{
	/* Without a delay nothing is kept: a peer that is slow is to be felt by
	 * the other, whose ring fills, and not hidden behind a queue. */
	const uint32_t most = r->delay ? r->room : PKTIO_BURST;
	struct rte_mbuf *got[PKTIO_BURST];

	if (r->n + PKTIO_BURST > most)
		return;
	const uint16_t n = rte_eth_rx_burst(r->from, 0, got, PKTIO_BURST);

	r->received += n;
	for (uint16_t i = 0; i < n; i++) {
		if (spoil(r, got[i])) {
			r->dropped++;
			rte_pktmbuf_free(got[i]);
			continue;
		}
		const uint32_t at = (r->first + r->n++) & (r->room - 1);

		r->waiting[at] = got[i];
		r->due[at] = now + r->delay;
	}
}

/* pass sends a burst of those whose time has come, in their order. */
static void pass(struct pktio_relay *r, uint64_t now)
{
	const uint32_t at = r->first & (r->room - 1);
	uint16_t n = 0;

	/* The burst must lie in one piece. */
	while (n < PKTIO_BURST && n < r->n && at + n < r->room && r->due[at + n] <= now)
		n++;
	if (n == 0)
		return;
	const uint16_t taken = rte_eth_tx_burst(r->to, 0, r->waiting + at, n);

	r->first += taken;
	r->n -= taken;
	r->sent += taken;
	if (taken < n)
		r->full++;
}

void pktio_relay(struct pktio_relay *r, uint64_t until)
{
	uint64_t now;

	while ((now = pktio_now()) < until) {
		receive(r, now);
		pass(r, now);
	}
}
