/* The PCI bus, as far as a virtio device has to be found on it. Section numbers
 * are of the virtio specification, version 1.2. */
#ifndef BARE_PCI_H
#define BARE_PCI_H

#include <stdint.h>

/* virtio_pci is where the parts of a virtio device are in memory (4.1.4). */
struct virtio_pci {
	uintptr_t common; /* 4.1.4.3, common configuration */
	uintptr_t notify; /* 4.1.4.4, notifications */
	uint32_t notify_multiplier;
	uintptr_t device; /* 4.1.4.6, device-specific configuration */
};

/* pci_find_virtio finds the first device of the bus that is a virtio device of a
 * kind, by its transitional and its modern device ID, and lets it use memory.
 * It returns NULL, or why it found none. */
const char *pci_find_virtio(uint16_t transitional, uint16_t modern, struct virtio_pci *out);

#endif
