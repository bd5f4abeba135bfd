#include "pktgen.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "nic.h"

#define CONTROL "/proc/net/pktgen/pgctrl"
#define THREAD "/proc/net/pktgen/kpktgend_0" /* the first CPU's */

enum { HEADER = 16 }; /* what pktgen writes at the start of the payload */

static struct {
	char device[64]; /* the file of the NIC */
	pid_t starter;
	struct sweep_counters seen;      /* as read last, in this run */
	struct sweep_counters *counters; /* where they are added up */
} gen;

/* tell writes a command to one of pktgen's files. It returns -1 with errno. */
static int tell(const char *path, const char *command)
{
	char line[96];
	/* With its newline, in one write: CONTROL cuts the last character off. */
	const int n = snprintf(line, sizeof(line), "%s\n", command);
	int fd = open(path, O_WRONLY);

	if (fd < 0)
		return -1;
	ssize_t wrote = write(fd, line, (size_t)n);
	const int error = errno;

	close(fd);
	errno = error;
	return wrote < 0 ? -1 : 0;
}

const char *pktgen_open(void)
{
	snprintf(gen.device, sizeof(gen.device), "/proc/net/pktgen/%s", nic_name());
	return access(CONTROL, W_OK) ? failed("the kernel's packet generator") : NULL;
}

/* set tells the NIC's file one of its settings. */
__attribute__((format(printf, 1, 2))) static const char *set(const char *format, ...)
{
	char command[64], step[80];
	va_list values;

	va_start(values, format);
	vsnprintf(command, sizeof(command), format, values);
	va_end(values);
	snprintf(step, sizeof(step), "pktgen's \"%s\"", command);
	return tell(gen.device, command) ? failed(step) : NULL;
}

static const char *set_ip(const char *key, uint32_t ip)
{
	return set("%s %u.%u.%u.%u", key, ip >> 24, ip >> 16 & 0xff, ip >> 8 & 0xff, ip & 0xff);
}

const char *pktgen_prepare(const struct sweep_params *p, uint32_t size)
{
	const uint8_t *mac = p->peer;
	char add[64];
	const char *why;

	if (size < SWEEP_SIZE_MIN + HEADER)
		return "pktgen writes 16 bytes of its own into each packet, so its frames have 58 to 1514 bytes, without FCS";
	/* Anew each time, so that its counters begin at 0. */
	snprintf(add, sizeof(add), "add_device %s", nic_name());
	if (tell(THREAD, "rem_device_all") || tell(THREAD, add))
		return failed("giving the NIC to pktgen");
	memset(&gen.seen, 0, sizeof(gen.seen));
	gen.counters = NULL;

	if ((why = set("count 0")) || (why = set("delay 0")) || (why = set("pkt_size %u", size)) ||
	    (why = set_ip("src_min", p->ip[0])) || (why = set_ip("src_max", p->ip[0])) ||
	    (why = set_ip("dst_min", p->ip[1])) || (why = set_ip("dst_max", p->ip[1])) ||
	    (why = set("udp_src_min %u", p->udp[0])) || (why = set("udp_src_max %u", p->udp[0])) ||
	    (why = set("udp_dst_min %u", p->udp[1])) || (why = set("udp_dst_max %u", p->udp[1])) ||
	    (why = set("dst_mac %02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5])))
		return why;
	return set("burst %u", p->burst);
}

/* reap looks whether "start" has returned, and counts an error where it failed
 * or came to an end by itself. */
static void reap(int options, int expected)
{
	int status = 0;

	if (gen.starter > 0 && waitpid(gen.starter, &status, options) == 0)
		return; /* it goes on */
	if (gen.starter && (gen.starter < 0 || status || !expected))
		gen.counters->errors++;
	gen.starter = 0;
}

/* look adds what was sent since the last look. */
static void look(void)
{
	char text[4096];
	int fd = open(gen.device, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n < 0) {
		gen.counters->errors++;
		return;
	}
	text[n] = '\0';
	const char *sent = strstr(text, "pkts-sofar: "), *errors = strstr(text, "errors: ");

	if (!sent || !errors) {
		gen.counters->errors++;
		return;
	}
	const struct sweep_counters now = {
		.packets = strtoull(strchr(sent, ' '), NULL, 10),
		.errors = strtoull(strchr(errors, ' '), NULL, 10),
	};

	gen.counters->packets += now.packets - gen.seen.packets;
	gen.counters->errors += now.errors - gen.seen.errors;
	gen.seen = now;
}

void pktgen_begin(void)
{
	/* "start" returns when it has been stopped. */
	gen.starter = fork();
	if (gen.starter == 0)
		_exit(tell(CONTROL, "start") ? errno : 0);
}

void pktgen_burst(uint32_t n, struct sweep_counters *c)
{
	const struct timespec nap = { .tv_nsec = 1000 * 1000 };

	(void)n;
	gen.counters = c;
	nanosleep(&nap, NULL);
	reap(WNOHANG, 0);
	look();
}

void pktgen_end(void)
{
	struct sweep_counters none = { 0, 0, 0 };

	/* sweep_serve's counters are still there, and are shown after this. */
	if (!gen.counters)
		gen.counters = &none;
	/* Again and again: what is told before the child has told "start" is
	 * lost. */
	while (gen.starter > 0) {
		const struct timespec nap = { .tv_nsec = 1000 * 1000 };

		tell(CONTROL, "stop");
		nanosleep(&nap, NULL);
		reap(WNOHANG, 1);
	}
	reap(0, 1);
	look();
}
