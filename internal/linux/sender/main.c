/* The program of the guest "linux-kernel": it sends through the Linux kernel's
 * own virtio_net, out of a UDP socket or with the kernel's packet generator. It
 * is started by image/init, with the words of the kernel's command line that
 * are its own as arguments, and speaks the protocol of docs/guests.md on the
 * serial line, its standard input and output.
 */
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "../../guest/c/sender.h"
#include "../../guest/c/text.h"
#include "nic.h"
#include "pktgen.h"
#include "udp.h"

/* raw makes the serial line pass characters on as they are, without an echo. A
 * read takes what is there and waits for nothing. */
static void raw(void)
{
	struct termios t;

	if (tcgetattr(STDIN_FILENO, &t))
		return; /* no terminal: a pipe, in a test */
	cfmakeraw(&t);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 0;
	tcsetattr(STDIN_FILENO, TCSANOW, &t);
}

static int input(void)
{
	unsigned char c;

	return read(STDIN_FILENO, &c, 1) == 1 ? c : -1;
}

static void output(const char *text, size_t n)
{
	while (n) {
		ssize_t wrote = write(STDOUT_FILENO, text, n);

		if (wrote < 0)
			return; /* there is nowhere left to say so */
		text += wrote;
		n -= (size_t)wrote;
	}
}

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* tsc_hz measures the time-stamp counter by the kernel's clock. */
static uint64_t tsc_hz(void)
{
	const struct timespec nap = { .tv_nsec = 50 * 1000 * 1000 };
	const uint64_t ns = clock_ns(), ticks = sweep_ticks();

	nanosleep(&nap, NULL);
	const uint64_t took = clock_ns() - ns;

	return (uint64_t)((double)(sweep_ticks() - ticks) * 1e9 / (double)took);
}

/* read_words reads the parameters: sweep.sender is this program's, the others
 * are those of every guest. It returns NULL, or why it can't. */
static const char *read_words(char **words, struct sweep_params *p, const char **sender)
{
	static const char key[] = "sweep.sender=";
	static char why[256];

	for (; *words; words++) {
		if (!strncmp(*words, key, strlen(key))) {
			*sender = *words + strlen(key);
		} else if (sweep_params_line(p, *words, why, sizeof(why))) {
			return why;
		}
	}
	if (strcmp(*sender, "sendmmsg") && strcmp(*sender, "pktgen")) {
		snprintf(why, sizeof(why), "sweep.sender=%s: it takes sendmmsg or pktgen", *sender);
		return why;
	}
	return NULL;
}

/* elsewhere says so where this isn't the guest: what follows takes over the NIC. */
static const char *elsewhere(void)
{
	char line[4096] = "";
	FILE *f = fopen("/proc/cmdline", "r");

	if (f) {
		if (!fgets(line, sizeof(line), f))
			line[0] = '\0';
		fclose(f);
	}
	return strstr(line, "sweep.guest=linux-kernel") ? NULL : "this machine wasn't booted as the guest linux-kernel";
}

int main(int argc, char **argv)
{
	struct sweep_machine m = {
		.guest = "linux-kernel",
		.hz = tsc_hz(),
		.input = input,
		.output = output,
	};
	const char *sender = "sendmmsg";
	static char about[256];
	struct sweep_params p;
	struct utsname kernel = { .release = "unknown" };

	(void)argc;
	raw();
	sweep_params_default(&p);
	const char *wrong = read_words(argv + 1, &p, &sender);

	const int pktgen = !strcmp(sender, "pktgen");

	uname(&kernel);
	/* One descriptor: the driver puts its header in front of a packet that
	 * lies in one piece (can_push in drivers/net/virtio_net.c). A system call
	 * takes a burst of messages, and the driver is handed each by itself;
	 * pktgen tells it that more will come. */
	snprintf(about, sizeof(about), "kernel=%s driver=virtio_net sender=%s descriptors_a_packet=1 packets_a_call=%u",
		 kernel.release, sender, pktgen ? p.burst : 1);
	m.about = about;
	sweep_hello(&m);

	if (!wrong)
		wrong = elsewhere();
	if (!wrong)
		wrong = nic_open(&p);
	if (!wrong && pktgen) {
		m.prepare = pktgen_prepare;
		m.begin = pktgen_begin;
		m.end = pktgen_end;
		m.burst = pktgen_burst;
		wrong = pktgen_open();
	} else if (!wrong) {
		m.prepare = udp_prepare;
		m.burst = udp_burst;
		m.stretch = udp_stretch;
		m.stretches = 8;
		m.stretch_packets = 2048;
		wrong = udp_open(&p);
	}
	if (wrong)
		sweep_fail(&m, wrong);
	else
		sweep_serve(&m, &p);
	tcdrain(STDOUT_FILENO); /* the machine is powered off at once */
	return wrong != NULL;
}
