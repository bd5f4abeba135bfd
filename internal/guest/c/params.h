/* The parameters of a guest that sends, from its kernel's command line: words
 * of the form sweep.KEY=VALUE. Words that don't begin with "sweep." are the
 * kernel's own and are passed over. docs/guests.md is the list for users.
 *
 * Plain C without a library: it is compiled into unikernels, into a guest
 * without an operating system, into Linux programs and into tests.
 */
#ifndef SWEEP_PARAMS_H
#define SWEEP_PARAMS_H

#include <stddef.h>
#include <stdint.h>

#define SWEEP_SIZE_MIN 42   /* Ethernet 14, IPv4 20, UDP 8 */
#define SWEEP_SIZE_MAX 1514 /* an MTU of 1500 and the Ethernet header */
#define SWEEP_BURST_MAX 256

struct sweep_params {
	uint32_t size;     /* bytes a frame, without FCS; 0: wait for commands */
	uint64_t packets;  /* end after so many; 0: no such end */
	uint32_t seconds;  /* end after so many; 0: no such end */
	uint32_t burst;    /* packets between two looks at the clock */
	uint8_t peer[6];   /* Ethernet destination */
	uint32_t ip[2];    /* source and destination, in host order */
	uint16_t udp[2];   /* source and destination ports */
};

/* sweep_params_default sets what a guest sends that is told nothing: the
 * addresses that testpmd's txonly has, so that all guests send alike. */
void sweep_params_default(struct sweep_params *p);

/* sweep_params_line reads a whole command line. It returns 0, or -1 with the
 * reason, NUL-terminated, in why. */
int sweep_params_line(struct sweep_params *p, const char *line, char *why, size_t room);

/* sweep_params_word reads one word of length n in the same way. */
int sweep_params_word(struct sweep_params *p, const char *word, size_t n, char *why, size_t room);

/* sweep_number reads a decimal number of n digits, no more than max. It
 * returns 0, or -1. */
int sweep_number(const char *s, size_t n, uint64_t max, uint64_t *out);

#endif
