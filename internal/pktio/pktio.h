//go:build dpdk

/* What Go asks of DPDK: a handful of functions of plain integers. Everything
 * here is called on one thread, the one that pktio_eal was called on.
 *
 * Times are nanoseconds of CLOCK_MONOTONIC, which is what the kit measures
 * with, and which the kernel makes of the time-stamp counter without a system
 * call. DPDK's own idea of that counter's rate is rounded to 10 MHz (up to
 * 0.2 % off), too rough for a rate that others are measured against.
 */
#ifndef PKTIO_H
#define PKTIO_H

#include <stdint.h>
#include <time.h>

/* As many frames as are handed to a driver, or taken from it, at a time:
 * testpmd's own choice. */
enum { PKTIO_BURST = 32 };

struct rte_mbuf;
struct rte_mempool;

static inline uint64_t pktio_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t); /* can't fail for this clock */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* pktio_eal starts DPDK with arguments as main has them and returns the number
 * of ports, or a negative errno. */
int pktio_eal(int argc, char **argv);

/* pktio_open makes a port ready, with one queue each way, and frames to receive
 * into. It returns 0 or a negative errno. */
int pktio_open(uint16_t port, uint32_t frames);
void pktio_close(uint16_t port);

/* pktio_link says whether the port has a peer. */
int pktio_link(uint16_t port);
void pktio_mac(uint16_t port, uint8_t mac[6]);
const char *pktio_driver(uint16_t port);
const char *pktio_version(void);
const char *pktio_error(int negative);
uint64_t pktio_ticks(void);

/* pktio_pool makes a pool of so many frames, each a copy of frame, NULL where
 * there is no memory. They are filled here and never again: what is sent is
 * taken from the pool, and the driver puts it back as it is. */
struct rte_mempool *pktio_pool(uint32_t number, uint32_t frames, const uint8_t *frame, uint32_t size);
int pktio_pool_is_full(struct rte_mempool *pool);
void pktio_pool_free(struct rte_mempool *pool);

struct pktio_sender {
	uint16_t port;
	struct rte_mempool *pool;
	uint64_t rate;  /* frames a second; 0 is as fast as it can */
	uint64_t count; /* frames to hand over; 0 is no end */
	uint64_t begun; /* when the first deadline was set */

	uint64_t now;     /* when what follows was true */
	uint64_t packets; /* handed to the driver */
	uint64_t full;    /* times that it had not room for all it was offered */
	uint64_t late;    /* times that it came more than a millisecond late */
	uint64_t skipped; /* deadlines given up, more than a second late */
	uint64_t behind;  /* the most frames that were due and not out at a time */

	/* Taken from the pool and not yet handed over: [first, end). */
	struct rte_mbuf *ready[PKTIO_BURST];
	uint32_t first, end;
	int is_late;
};

/* pktio_send sends until the time, or until count is reached. */
void pktio_send(struct pktio_sender *s, uint64_t until);

/* pktio_send_end puts back what was not handed over. */
void pktio_send_end(struct pktio_sender *s);

struct pktio_relay {
	uint16_t from, to;

	/* The faults that hold; 0 is none. */
	uint64_t drop;        /* every so manieth frame */
	uint64_t short_every; /* of every so manieth frame ... */
	uint32_t short_bytes; /* ... so many bytes */
	uint64_t delay;       /* ns */
	int hold;
	int readdress;
	uint8_t address[6];

	uint64_t received;
	uint64_t sent;
	uint64_t dropped;     /* by drop and hold */
	uint64_t shortened;
	uint64_t too_short;   /* to shorten: passed as they were */
	uint64_t readdressed;
	uint64_t full;        /* times that the peer's ring had no room: nothing is lost by it */

	/* Frames that were received since drop, or short, was last changed. */
	uint64_t since_drop, since_short;

	/* The frames that wait, oldest first, and when each may go: a ring of
	 * room places, of which n from first on are taken. */
	struct rte_mbuf **waiting;
	uint64_t *due;
	uint32_t room, first, n;
};

/* pktio_relay_open gives the relay room for so many frames (a power of two).
 * It returns 0 or a negative errno. */
int pktio_relay_open(struct pktio_relay *r, uint32_t room);

/* pktio_relay passes frames on until the time. */
void pktio_relay(struct pktio_relay *r, uint64_t until);

#endif
