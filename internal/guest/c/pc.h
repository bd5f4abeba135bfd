/* The clock of a PC, for guests that may speak to its ports. */
#ifndef SWEEP_PC_H
#define SWEEP_PC_H

#include <stdint.h>

static inline void out8(uint16_t port, uint8_t v)
{
	__asm__ volatile("outb %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint8_t in8(uint16_t port)
{
	uint8_t v;

	__asm__ volatile("inb %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

/* sweep_tsc_hz measures how many ticks a second the time-stamp counter takes,
 * against the machine's timer, for a
 * hundredth of a second, five times. */
uint64_t sweep_tsc_hz(void);

#endif
