/* The sender pktgen: the kernel's own packet generator, which hands packets to
 * the driver without a system call or a socket. The functions are those of a
 * sweep_machine. It sends for as long as it is let, so it may pass the number
 * of packets that it was to end after by what it sends in some milliseconds. */
#ifndef SENDER_PKTGEN_H
#define SENDER_PKTGEN_H

#include "../../guest/c/sender.h"

/* pktgen_open says why there is no packet generator; NULL where there is. */
const char *pktgen_open(void);

const char *pktgen_prepare(const struct sweep_params *p, uint32_t size);
void pktgen_begin(void);
void pktgen_end(void);
void pktgen_burst(uint32_t n, struct sweep_counters *c);

#endif
