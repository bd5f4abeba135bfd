/* The frame that every guest sends: UDP in IPv4 in Ethernet. */
#ifndef SWEEP_FRAME_H
#define SWEEP_FRAME_H

#include <stdint.h>

#include "params.h"

/* sweep_frame writes a frame of size bytes (SWEEP_SIZE_MIN and up, without FCS)
 * from the NIC with the given MAC. The payload is zeros; the UDP checksum is 0,
 * which says that there is none (RFC 768), as testpmd's is. */
void sweep_frame(uint8_t *frame, uint32_t size, const uint8_t mac[6], const struct sweep_params *p);

#endif
