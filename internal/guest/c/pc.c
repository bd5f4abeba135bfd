#include "pc.h"
#include "sender.h"

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

static uint64_t measure(void)
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

uint64_t sweep_tsc_hz(void)
{
	uint64_t hz = measure();

	/* A virtual CPU that had to wait for a real one as the time was up has
	 * counted too many: the least is the nearest. */
	for (int i = 0; i < 4; i++) {
		uint64_t again = measure();

		if (again < hz)
			hz = again;
	}
	return hz;
}
