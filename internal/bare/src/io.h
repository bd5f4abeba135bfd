/* Ports and memory-mapped registers, but for the ports of a byte (pc.h). */
#ifndef BARE_IO_H
#define BARE_IO_H

#include <stdint.h>

static inline void out16(uint16_t port, uint16_t v)
{
	__asm__ volatile("outw %0, %1" : : "a"(v), "Nd"(port));
}

static inline void out32(uint16_t port, uint32_t v)
{
	__asm__ volatile("outl %0, %1" : : "a"(v), "Nd"(port));
}

static inline uint32_t in32(uint16_t port)
{
	uint32_t v;

	__asm__ volatile("inl %1, %0" : "=a"(v) : "Nd"(port));
	return v;
}

static inline uint8_t read8(uintptr_t at) { return *(volatile uint8_t *)at; }
static inline uint16_t read16(uintptr_t at) { return *(volatile uint16_t *)at; }
static inline uint32_t read32(uintptr_t at) { return *(volatile uint32_t *)at; }
static inline void write8(uintptr_t at, uint8_t v) { *(volatile uint8_t *)at = v; }
static inline void write16(uintptr_t at, uint16_t v) { *(volatile uint16_t *)at = v; }
static inline void write32(uintptr_t at, uint32_t v) { *(volatile uint32_t *)at = v; }

/* A 64-bit register is written as two halves (virtio 1.2, 4.1.3.1). */
static inline void write64(uintptr_t at, uint64_t v)
{
	write32(at, (uint32_t)v);
	write32(at + 4, (uint32_t)(v >> 32));
}

#endif
