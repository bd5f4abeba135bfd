/* The guests' shared C as a program of the host, for c_test.go: a guest whose
 * console is standard input and output, and whose NIC writes each frame to
 * standard error, "frame HEX". Its arguments are the words of a command line.
 *
 * Its clock moves only by what it does, so that all that it says of time can be
 * worked out beforehand: reading it takes a tick, a packet ten.
 *
 * What the environment can ask for:
 *   HOST_RING=N         a ring of N packets, emptied once it has been found full
 *   HOST_PREPARE=WHY    no size can be sent, and this is why
 *   HOST_STRETCHES=ccuf how one stretch after the other goes (the last is for
 *                       all that follow): it counts, C counts five ticks more,
 *                       u is uneven, f full, b broken; "" for a guest that
 *                       can't count
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define sweep_ticks sweep_ticks_of_the_machine
#include "../c/sender.h"
#undef sweep_ticks

enum { HZ = 10000, READING = 1, PACKET = 10 };

static uint64_t ticks;

static uint64_t sweep_ticks(void)
{
	return ticks += READING;
}

#include "../c/sender.c"
#include "../c/frame.h"

static const uint8_t mac[6] = { 0x0a, 0x1b, 0x2c, 0x3d, 0x4e, 0x5f };

static struct {
	uint8_t *frame; /* as long as it is, for the address sanitizer */
	uint32_t size;
	int sending;
	int held; /* what comes in waits until it no longer sends */
	uint64_t ring, used;
	const char *stretch; /* the next one's letter */
	const char *prepare;
} host;

/* input is what comes in, a look at a time: a NUL is a look that finds nothing,
 * a 1 is nothing while the guest sends. A guest that still waits when there is
 * no more would wait for ever. */
static int input(void)
{
	static int looks;
	unsigned char c;

	if (host.held && host.sending)
		return -1;
	host.held = 0;
	if (read(STDIN_FILENO, &c, 1) == 1) {
		host.held = c == 1;
		return c > 1 ? c : -1;
	}
	if (++looks > 10000) {
		fprintf(stderr, "it waits for more\n");
		exit(3);
	}
	return -1;
}

static void output(const char *text, size_t n)
{
	if (write(STDOUT_FILENO, text, n) != (ssize_t)n)
		exit(4);
}

static const char *prepare(const struct sweep_params *p, uint32_t size)
{
	if (host.prepare)
		return host.prepare;
	free(host.frame);
	host.frame = malloc(size);
	if (!host.frame)
		return "no memory";
	memset(host.frame, 0xa5, size); /* what isn't written shows */
	host.size = size;
	sweep_frame(host.frame, size, mac, p);
	return NULL;
}

static void begin(void) { host.sending = 1; }
static void end(void) { host.sending = 0; }

static void burst(uint32_t n, struct sweep_counters *c)
{
	if (host.ring && host.used == host.ring) {
		host.used = 0;
		c->full++;
		return;
	}
	if (host.ring && host.ring - host.used < n)
		n = (uint32_t)(host.ring - host.used);
	host.used += n;
	ticks += (uint64_t)n * PACKET;
	c->packets += n;
	while (n--) {
		fprintf(stderr, "frame ");
		for (uint32_t i = 0; i < host.size; i++)
			fprintf(stderr, "%02x", host.frame[i]);
		fprintf(stderr, "\n");
	}
}

static enum sweep_stretch stretch(uint32_t n, uint64_t *took)
{
	struct sweep_counters c = { 0, 0, 0 };
	const uint64_t begun = sweep_ticks();
	const char how = host.stretch[0];

	if (host.stretch[1])
		host.stretch++;
	if (how == 'u')
		return SWEEP_UNEVEN;
	if (how == 'f')
		return SWEEP_FULL;
	if (how == 'b')
		return SWEEP_BROKEN;
	burst(n, &c);
	ticks += how == 'C' ? 5 : 0;
	*took = sweep_ticks() - begun;
	return SWEEP_COUNTS;
}

int main(int argc, char **argv)
{
	static char err[1 << 16];
	struct sweep_machine m = {
		.guest = "host",
		.about = "queue=0",
		.hz = HZ,
		.input = input,
		.output = output,
		.prepare = prepare,
		.begin = begin,
		.end = end,
		.burst = burst,
		.stretch = stretch,
		.stretches = 4,
	};
	struct sweep_params p;
	char why[256];
	size_t room = 1;
	const char *ring = getenv("HOST_RING");

	setvbuf(stderr, err, _IOFBF, sizeof(err));
	host.ring = ring ? strtoull(ring, NULL, 10) : 0;
	host.prepare = getenv("HOST_PREPARE");
	host.stretch = getenv("HOST_STRETCHES");
	if (!host.stretch)
		host.stretch = "c";
	else if (!host.stretch[0])
		m.stretch = NULL;

	/* One line, as a kernel gets it. */
	for (int i = 1; i < argc; i++)
		room += strlen(argv[i]) + 1;
	char *line = calloc(room, 1);

	if (!line)
		return 4;
	for (int i = 1; i < argc; i++) {
		strcat(line, argv[i]);
		if (i + 1 < argc)
			strcat(line, " ");
	}
	sweep_params_default(&p);
	sweep_hello(&m);
	if (sweep_params_line(&p, line, why, sizeof(why)))
		sweep_fail(&m, why);
	else
		sweep_serve(&m, &p);
	free(line);
	free(host.frame);
	fflush(stderr);
	return 0;
}
