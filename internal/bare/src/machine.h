/* The parts of a PC that the guest needs: a serial line and a power switch. */
#ifndef BARE_MACHINE_H
#define BARE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

void serial_init(void);
int serial_input(void); /* the next character, -1 for none yet */
void serial_output(const char *text, size_t n);

_Noreturn void power_off(void);

#endif
