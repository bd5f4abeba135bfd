#include <stddef.h>

#include "io.h"
#include "pci.h"

/* Configuration space by the first mechanism of PCI Local Bus 3.0, 3.2.2.3.2. */
enum { CONFIG_ADDRESS = 0xcf8, CONFIG_DATA = 0xcfc };

/* Registers of the configuration space (PCI Local Bus 3.0, 6.1). */
enum {
	VENDOR_ID = 0x00,
	COMMAND = 0x04,
	COMMAND_MEMORY = 0x2,
	COMMAND_BUS_MASTER = 0x4,
	STATUS_CAPABILITIES = 0x10 << 16, /* in the word of COMMAND */
	BAR0 = 0x10,
	CAPABILITIES = 0x34,
	CAP_VENDOR = 0x09,
};

/* 4.1.4: the types of virtio's vendor-specific capabilities. */
enum { CFG_COMMON = 1, CFG_NOTIFY = 2, CFG_DEVICE = 4 };

enum { VIRTIO_VENDOR = 0x1af4 };

static uint32_t config(uint32_t slot, uint32_t reg)
{
	out32(CONFIG_ADDRESS, 1u << 31 | slot << 11 | (reg & 0xfc));
	return in32(CONFIG_DATA);
}

static void config_write(uint32_t slot, uint32_t reg, uint32_t v)
{
	out32(CONFIG_ADDRESS, 1u << 31 | slot << 11 | (reg & 0xfc));
	out32(CONFIG_DATA, v);
}

static uint8_t config8(uint32_t slot, uint32_t reg)
{
	return (uint8_t)(config(slot, reg) >> 8 * (reg & 3));
}

/* bar is the address in a memory BAR, 0 where the firmware put it out of the
 * first 4 GiB, which are all that is mapped here. */
static uintptr_t bar(uint32_t slot, uint32_t i)
{
	uint32_t low = config(slot, BAR0 + 4 * i);

	if (low & 1)
		return 0; /* ports */
	if ((low & 6) == 4 && config(slot, BAR0 + 4 * i + 4))
		return 0;
	return low & ~0xfu;
}

static const char *capabilities(uint32_t slot, struct virtio_pci *out)
{
	if (!(config(slot, COMMAND) & STATUS_CAPABILITIES))
		return "the virtio-net device is legacy only: give it disable-modern=off";
	/* 4.1.4: each is a struct virtio_pci_cap: vndr, next, len, type, bar,
	 * padding, offset at 8, length at 12; the notification's multiplier is at
	 * 16 (4.1.4.4). Of several of a type the first is to be used. */
	for (uint32_t at = config8(slot, CAPABILITIES); at; at = config8(slot, at + 1)) {
		uint8_t type = config8(slot, at + 3), index = config8(slot, at + 4);

		if (config8(slot, at) != CAP_VENDOR || index > 5)
			continue;
		uintptr_t base = bar(slot, index);

		if (!base)
			continue;
		base += config(slot, at + 8);
		if (type == CFG_COMMON && !out->common) {
			out->common = base;
		} else if (type == CFG_NOTIFY && !out->notify) {
			out->notify = base;
			out->notify_multiplier = config(slot, at + 16);
		} else if (type == CFG_DEVICE && !out->device) {
			out->device = base;
		}
	}
	if (!out->common || !out->notify || !out->device)
		return "the virtio-net device has no modern interface below 4 GiB";
	return NULL;
}

const char *pci_find_virtio(uint16_t transitional, uint16_t modern, struct virtio_pci *out)
{
	for (uint32_t slot = 0; slot < 32; slot++) {
		uint32_t id = config(slot, VENDOR_ID);

		if ((id & 0xffff) != VIRTIO_VENDOR || (id >> 16 != transitional && id >> 16 != modern))
			continue;
		config_write(slot, COMMAND, config(slot, COMMAND) | COMMAND_MEMORY | COMMAND_BUS_MASTER);
		*out = (struct virtio_pci){ 0 };
		return capabilities(slot, out);
	}
	return "no virtio-net device on the PCI bus: give QEMU a virtio-net-pci";
}
