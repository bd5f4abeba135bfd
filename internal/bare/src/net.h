/* The virtio-net device, as far as it sends. */
#ifndef BARE_NET_H
#define BARE_NET_H

#include <stdint.h>

#include "../../guest/c/sender.h"

/* net_open finds and initialises the device. memory is where nothing else is;
 * end is the end of it. patience is how long, in ticks, the device may take to
 * give a packet back, burst how many packets are handed to it at a time. It
 * returns NULL, or why it can't. */
const char *net_open(uintptr_t memory, uintptr_t end, uint64_t patience, uint32_t burst);

/* net_about says what the device and the driver settled on, as words of the
 * first line. */
const char *net_about(void);

/* The rest are the functions of a sweep_machine. */
const char *net_prepare(const struct sweep_params *p, uint32_t size);
void net_burst(uint32_t n, struct sweep_counters *c);
enum sweep_stretch net_stretch(uint32_t n, uint64_t *ticks);

#endif
