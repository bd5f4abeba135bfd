#include "machine.h"
#include "io.h"
#include "../../guest/c/sender.h"

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

/* Channel 2 of the 8254 timer, which counts 1193182 times a second and whose
 * output can be read at port 0x61. */
enum {
	PIT_HZ = 1193182,
	PIT_CHANNEL2 = 0x42,
	PIT_COMMAND = 0x43,
	PIT_CHANNEL2_ONESHOT = 0xb0, /* channel 2, low and high byte, mode 0 */
	PORT_B = 0x61,
	PORT_B_GATE2 = 0x01,
	PORT_B_SPEAKER = 0x02,
	PORT_B_OUT2 = 0x20,
	CALIBRATION = PIT_HZ / 100, /* 10 ms */
};

uint64_t tsc_hz(void)
{
	out8(PORT_B, (in8(PORT_B) & ~PORT_B_SPEAKER) | PORT_B_GATE2);
	out8(PIT_COMMAND, PIT_CHANNEL2_ONESHOT);
	out8(PIT_CHANNEL2, CALIBRATION & 0xff);
	out8(PIT_CHANNEL2, CALIBRATION >> 8); /* it starts */
	uint64_t begun = sweep_ticks();

	while (!(in8(PORT_B) & PORT_B_OUT2))
		;
	return (sweep_ticks() - begun) * PIT_HZ / CALIBRATION;
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
