/* A guest that sends: what it says and hears on its console (docs/guests.md is
 * the protocol), and the loop that sends. What differs between guests, the
 * machine, is a handful of functions.
 */
#ifndef SWEEP_SENDER_H
#define SWEEP_SENDER_H

#include <stddef.h>
#include <stdint.h>

#include "params.h"

/* sweep_counters are what a guest counts while it sends. */
struct sweep_counters {
	uint64_t packets; /* handed to the device */
	uint64_t full;    /* times that the device had no room */
	uint64_t errors;  /* refused for another reason */
};

/* How a stretch of packets went that sweep_machine.stretch counted. */
enum sweep_stretch {
	SWEEP_COUNTS,   /* as many packets were reclaimed as were sent */
	SWEEP_UNEVEN,   /* more, or fewer: once more, a little later */
	SWEEP_FULL,     /* the ring was full: once more, a little later */
	SWEEP_BROKEN,   /* an error of the device */
};

struct sweep_machine {
	const char *guest; /* its name, as in "sweep-guest: boot guest=NAME" */
	const char *about; /* more words of that line, or "" */
	uint64_t hz;       /* ticks a second */

	/* input returns the next character from the console, -1 for none yet. */
	int (*input)(void);
	void (*output)(const char *text, size_t n);

	/* prepare makes ready to send frames of a size. It returns why it can't,
	 * or NULL. */
	const char *(*prepare)(const struct sweep_params *p, uint32_t size);

	/* begin and end stand around a stretch of bursts, where there is
	 * something to do; else NULL. */
	void (*begin)(void);
	void (*end)(void);

	/* burst hands up to n packets to the device and counts them. */
	void (*burst)(uint32_t n, struct sweep_counters *c);

	/* stretch does the same between two readings of the clock, for
	 * instructions to be counted under icount: n packets. NULL where the
	 * guest can't. stretches of stretch_packets each make a figure;
	 * stretch_packets of 0 are a burst. */
	enum sweep_stretch (*stretch)(uint32_t n, uint64_t *ticks);
	uint32_t stretches, stretch_packets;
};

/* sweep_ticks reads the time-stamp counter. */
static inline uint64_t sweep_ticks(void)
{
	uint32_t low, high;

	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* sweep_hello says that the guest has come up: the first line of all. */
void sweep_hello(const struct sweep_machine *m);

/* sweep_fail says why the guest can't go on, in one line. The caller powers the
 * machine off. */
void sweep_fail(const struct sweep_machine *m, const char *why);

/* sweep_serve sends as the parameters say, or else does what it is told on the
 * console. It returns when the machine is to be powered off. */
void sweep_serve(const struct sweep_machine *m, struct sweep_params *p);

#endif
