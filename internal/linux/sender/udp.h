/* The sender sendmmsg: a UDP socket, so many packets a system call. The
 * functions are those of a sweep_machine. */
#ifndef SENDER_UDP_H
#define SENDER_UDP_H

#include "../../guest/c/sender.h"

/* udp_open makes the socket. It returns NULL, or why it can't. */
const char *udp_open(const struct sweep_params *p);

const char *udp_prepare(const struct sweep_params *p, uint32_t size);
void udp_burst(uint32_t n, struct sweep_counters *c);
enum sweep_stretch udp_stretch(uint32_t n, uint64_t *ticks);

#endif
