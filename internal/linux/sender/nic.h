/* The network interface, set up so that no frame leaves it but those that are
 * counted. */
#ifndef SENDER_NIC_H
#define SENDER_NIC_H

#include "../../guest/c/params.h"

/* nic_open finds the first Ethernet interface and brings it up. It returns
 * NULL, or why it can't. */
const char *nic_open(const struct sweep_params *p);

/* nic_name is its name, such as eth0. */
const char *nic_name(void);

/* nic_ring is how many packets its ring for sending holds. */
uint32_t nic_ring(void);

/* failed says that a step didn't work, and what errno says of it. */
const char *failed(const char *step);

#endif
