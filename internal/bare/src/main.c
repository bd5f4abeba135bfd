/* The smallest guest there is: no operating system, one virtual CPU, one
 * device. It speaks the protocol of docs/guests.md. */
#include <stddef.h>
#include <stdint.h>

#include "machine.h"
#include "net.h"
#include "../../guest/c/pc.h"

/* Xen's public/arch-x86/hvm/start_info.h: what the PVH protocol passes. */
struct start_info {
	uint32_t magic; /* START_MAGIC */
	uint32_t version;
	uint32_t flags;
	uint32_t nr_modules;
	uint64_t modlist_paddr;
	uint64_t cmdline_paddr;
	uint64_t rsdp_paddr;
	/* from version 1 on */
	uint64_t memmap_paddr;
	uint32_t memmap_entries;
	uint32_t reserved;
};

struct memmap_entry {
	uint64_t addr;
	uint64_t size;
	uint32_t type; /* MEMMAP_RAM is what can be used */
	uint32_t reserved;
};

enum { START_MAGIC = 0x336ec578, MEMMAP_RAM = 1 };

extern const char image_end[]; /* bare.ld */

/* memory_end is where the memory ends in which this program lies. */
static uintptr_t memory_end(const struct start_info *start)
{
	const struct memmap_entry *map = (const struct memmap_entry *)start->memmap_paddr;

	for (uint32_t i = 0; start->version >= 1 && i < start->memmap_entries; i++) {
		if (map[i].type == MEMMAP_RAM && map[i].addr < (uintptr_t)image_end &&
		    map[i].addr + map[i].size >= (uintptr_t)image_end)
			return map[i].addr + map[i].size;
	}
	return 0;
}

_Noreturn void main(const struct start_info *start)
{
	struct sweep_machine m = {
		.guest = "bare",
		.about = "",
		.input = serial_input,
		.output = serial_output,
		.prepare = net_prepare,
		.burst = net_burst,
		.stretch = net_stretch,
		.stretches = 64,
	};
	struct sweep_params p;
	char why[256];
	const char *wrong = NULL;

	serial_init();
	sweep_params_default(&p);
	if (start->magic != START_MAGIC) {
		wrong = "it was not booted by QEMU's -kernel (PVH)";
	} else if (start->cmdline_paddr && sweep_params_line(&p, (const char *)start->cmdline_paddr, why, sizeof(why))) {
		wrong = why;
	} else {
		m.hz = sweep_tsc_hz();
		wrong = net_open((uintptr_t)image_end, memory_end(start), 2 * m.hz, p.burst);
		m.about = net_about();
	}
	sweep_hello(&m);
	if (wrong)
		sweep_fail(&m, wrong);
	else
		sweep_serve(&m, &p);
	power_off();
}
