#include "machine.h"
#include "io.h"
#include "../../guest/c/pc.h"

/* The first serial port, a 16550 UART (its data sheet's register names). */
enum {
	COM1 = 0x3f8,
	RBR = COM1,     /* receive buffer; THR, transmit holding, when written */
	IER = COM1 + 1, /* interrupt enable */
	FCR = COM1 + 2, /* FIFO control */
	LCR = COM1 + 3, /* line control */
	MCR = COM1 + 4, /* modem control */
	LSR = COM1 + 5, /* line status */
	LSR_DATA_READY = 0x01,
	LSR_THR_EMPTY = 0x20,
	LCR_DIVISOR = 0x80,
	LCR_8N1 = 0x03,
};

void serial_init(void)
{
	out8(IER, 0); /* it is polled */
	out8(LCR, LCR_DIVISOR | LCR_8N1);
	out8(RBR, 1); /* 115200 baud */
	out8(IER, 0);
	out8(LCR, LCR_8N1);
	out8(FCR, 0x07); /* FIFOs on and empty */
	out8(MCR, 0x03); /* ready */
}

int serial_input(void)
{
	return in8(LSR) & LSR_DATA_READY ? in8(RBR) : -1;
}

void serial_output(const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		while (!(in8(LSR) & LSR_THR_EMPTY))
			;
		out8(RBR, (uint8_t)text[i]);
	}
}

void power_off(void)
{
	/* ACPI's power-off (ACPI 6.5, 4.8.3.2.1) where QEMU's "pc" has it:
	 * PM1a_CNT at 0x604, SLP_EN with the sleep type 0. */
	out16(0x604, 0x2000);
	/* A machine without ACPI: a reset by the keyboard's controller, which
	 * QEMU's -no-reboot makes an end. */
	out8(0x64, 0xfe);
	for (;;)
		__asm__ volatile("hlt");
}
