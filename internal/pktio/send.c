//go:build dpdk

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "pktio.h"

/* due is how many frames should be out so long after the first deadline was
 * set. In integers: a rate that is a little off is off by more each second. */
static uint64_t due(uint64_t rate, uint64_t ns)
{
	const uint64_t second = 1000000000u;

	return ns / second * rate + ns % second * rate / second;
}

/* backlog is how many frames are due now and not out yet. Who comes late sends
 * what it missed, so that the mean rate holds; more than a second of it would
 * be a flood and no paced sender any more, and is given up, and counted. */
static uint64_t backlog(struct pktio_sender *s, uint64_t now)
{
	uint64_t behind = due(s->rate, now - s->begun) - s->packets - s->skipped;

	if (behind > s->rate) {
		s->skipped += behind - s->rate;
		behind = s->rate;
	}
	if (behind > s->behind)
		s->behind = behind;
	/* The one whose turn it is, and those of a millisecond. */
	const int late = behind > 1 + s->rate / 1000;

	if (late && !s->is_late)
		s->late++;
	s->is_late = late;
	return behind;
}

/* offer hands up to so many frames to the driver. */
static void offer(struct pktio_sender *s, uint64_t most)
{
	if (s->first == s->end) {
		s->first = s->end = 0;
		/* Past rte_pktmbuf_alloc, which would reset what was filled. */
		if (rte_mempool_get_bulk(s->pool, (void **)s->ready, (unsigned int)most) == 0)
			s->end = (uint32_t)most;
	}
	uint32_t n = s->end - s->first;

	if (n > most)
		n = (uint32_t)most;
	/* With no frame left all of them are in the ring, and a driver looks
	 * for those that are done only when it is called. */
	const uint16_t taken = rte_eth_tx_burst(s->port, 0, s->ready + s->first, (uint16_t)n);

	s->first += taken;
	s->packets += taken;
	if (taken < n || n == 0)
		s->full++;
}

void pktio_send(struct pktio_sender *s, uint64_t until)
{
	s->now = pktio_now();
	while (s->now < until && (!s->count || s->packets < s->count)) {
		uint64_t n = s->rate ? backlog(s, s->now) : PKTIO_BURST;

		if (n > PKTIO_BURST)
			n = PKTIO_BURST;
		if (s->count && n > s->count - s->packets)
			n = s->count - s->packets;
		if (n)
			offer(s, n);
		else
			rte_pause();
		s->now = pktio_now();
	}
}

void pktio_send_end(struct pktio_sender *s)
{
	/* Not rte_pktmbuf_free: its prefree is for frames that somebody sent. */
	if (s->end > s->first)
		rte_mempool_put_bulk(s->pool, (void **)(s->ready + s->first), s->end - s->first);
	s->first = s->end = 0;
}
