/* The guest of the published experiment: a unikernel that sends through
 * Unikraft's uknetdev API (lib/uknetdev in Unikraft v0.17) and speaks the
 * protocol of docs/guests.md.
 *
 * Only the public API is used. uk_netdev_tx_one takes one packet, and on
 * success it is the driver's, which frees it inside a later uk_netdev_tx_one.
 * So packets come from a pool of their own and go back there when the driver
 * frees them, by their destructor: that is cheaper than an allocation each.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <uk/alloc.h>
#include <uk/essentials.h>
#include <uk/netbuf.h>
#include <uk/netdev.h>
#include <uk/plat/console.h>

#include "frame.h"
#include "params.h"
#include "pc.h"
#include "sender.h"
#include "text.h"

/* A buffer holds the driver's header and the longest frame, and lies within a
 * page: the driver gives a buffer that crosses one a descriptor more. */
#define BUFFER 2048

/* How many descriptors the transmit ring is asked to have. The device says how
 * many it has at most. */
#define DESCRIPTORS 1024

static struct {
	struct uk_netdev *dev;
	uint8_t mac[6];
	uint16_t headroom; /* in front of a frame, for the driver's header */

	struct uk_netbuf *bufs;
	uint8_t *memory;
	uint32_t count;

	/* The packets that the driver doesn't hold: the last that came back is
	 * the next to go, while it is still in the cache. */
	struct uk_netbuf **idle;
	uint32_t n_idle;

	uint16_t size; /* of the frames that are in them */
	char about[160];
} app;

/* recycle is the destructor of a packet. The driver has pushed its header in
 * front of the frame and dropped the last reference. */
static void recycle(struct uk_netbuf *b)
{
	b->data = (uint8_t *)b->buf + app.headroom;
	b->len = app.size;
	uk_refcount_init(&b->refcount, 1);
	app.idle[app.n_idle++] = b;
}

/* no_buffers is asked for packets to receive into. There are none. */
static uint16_t no_buffers(void *arg __unused, struct uk_netbuf *pkts[] __unused, uint16_t count __unused)
{
	return 0;
}

/* make_pool makes as many packets as the ring can hold and a burst. */
static const char *make_pool(struct uk_alloc *a, uint32_t count)
{
	app.count = count;
	app.bufs = uk_calloc(a, count, sizeof(*app.bufs));
	app.idle = uk_calloc(a, count, sizeof(*app.idle));
	app.memory = uk_memalign(a, 4096, (size_t)BUFFER * count);
	if (!app.bufs || !app.idle || !app.memory)
		return "not enough memory for the packets of a full ring: give the machine 16 MiB";
	for (uint32_t i = 0; i < count; i++) {
		struct uk_netbuf *b = &app.bufs[i];

		/* Without an allocator: nothing frees it but its destructor. */
		uk_netbuf_init_indir(b, app.memory + (size_t)BUFFER * i, BUFFER, app.headroom, NULL, recycle);
		app.idle[app.n_idle++] = b;
	}
	return NULL;
}

/* open_device brings the first network device up, in the order that
 * uk/netdev.h gives: probe, configure, queues, start. */
static const char *open_device(struct uk_alloc *a)
{
	struct uk_netdev_info info;
	struct uk_netdev_queue_info tx;
	struct uk_netdev_conf conf = { .nb_rx_queues = 1, .nb_tx_queues = 1 };
	struct uk_netdev_rxqueue_conf rxq = { .a = a, .alloc_rxpkts = no_buffers };
	struct uk_netdev_txqueue_conf txq = { .a = a };
	const struct uk_hwaddr *mac;
	const char *why;

	if (uk_netdev_count() == 0)
		return "no network device: give QEMU a virtio-net-pci, one that speaks legacy too (disable-legacy=off)";
	app.dev = uk_netdev_get(0);
	if (uk_netdev_state_get(app.dev) == UK_NETDEV_UNPROBED && uk_netdev_probe(app.dev) < 0)
		return "uk_netdev_probe refuses the network device";
	if (uk_netdev_state_get(app.dev) != UK_NETDEV_UNCONFIGURED)
		return "the network device is in use by another part of this image: build it without a network stack";
	uk_netdev_info_get(app.dev, &info);
	app.headroom = info.nb_encap_tx;
	if (uk_netdev_configure(app.dev, &conf) < 0)
		return "uk_netdev_configure refuses one queue to send and one to receive";
	if (uk_netdev_txq_info_get(app.dev, 0, &tx) < 0)
		return "uk_netdev_txq_info_get doesn't say how long the ring can be";
	const uint16_t descriptors = tx.nb_max < DESCRIPTORS ? tx.nb_max : DESCRIPTORS;

	if (uk_netdev_rxq_configure(app.dev, 0, 0, &rxq) < 0)
		return "uk_netdev_rxq_configure fails: is there enough memory?";
	if (uk_netdev_txq_configure(app.dev, 0, descriptors, &txq) < 0)
		return "uk_netdev_txq_configure fails: is there enough memory?";
	why = make_pool(a, descriptors + SWEEP_BURST_MAX);
	if (why)
		return why;
	if (uk_netdev_start(app.dev) < 0)
		return "uk_netdev_start fails";
	mac = uk_netdev_hwaddr_get(app.dev);
	if (mac)
		memcpy(app.mac, mac->addr_bytes, sizeof(app.mac));

	struct sweep_text t;

	sweep_text_start(&t, app.about, sizeof(app.about));
	sweep_text_word(&t, "unikraft=" STRINGIFY(UK_FULLVERSION) " api=uk_netdev_tx_one interface=legacy");
	sweep_text_value(&t, "queue", descriptors);
	/* The driver's header has a descriptor of its own. */
	sweep_text_word(&t, " descriptors_a_packet=2 packets_a_call=1");
	return NULL;
}

static int input(void)
{
	char c;

	return ukplat_cink(&c, 1) == 1 ? (unsigned char)c : -1;
}

static void output(const char *text, size_t n)
{
	ukplat_coutk(text, (unsigned int)n);
}

static const char *prepare(const struct sweep_params *p, uint32_t size)
{
	/* Those that the driver still holds were sent long ago, or will go out
	 * with the length that their descriptor says. */
	app.size = (uint16_t)size;
	for (uint32_t i = 0; i < app.count; i++)
		sweep_frame((uint8_t *)app.bufs[i].buf + app.headroom, size, app.mac, p);
	for (uint32_t i = 0; i < app.n_idle; i++)
		app.idle[i]->len = app.size;
	return NULL;
}

static void burst(uint32_t n, struct sweep_counters *c)
{
	for (uint32_t i = 0; i < n; i++) {
		/* Taken out first, for the driver puts others in. */
		struct uk_netbuf *b = app.idle[--app.n_idle];
		const int status = uk_netdev_tx_one(app.dev, 0, b);

		if (likely(uk_netdev_status_successful(status)))
			continue;
		app.idle[app.n_idle++] = b;
		if (status < 0)
			c->errors++;
		else
			c->full++;
		c->packets += i;
		return;
	}
	c->packets += n;
}

static enum sweep_stretch stretch(uint32_t n, uint64_t *ticks)
{
	struct sweep_counters c = { 0, 0, 0 };
	const uint32_t idle = app.n_idle;
	const uint64_t begun = sweep_ticks();

	burst(n, &c);
	*ticks = sweep_ticks() - begun;
	if (c.errors)
		return SWEEP_BROKEN;
	if (c.full)
		return SWEEP_FULL;
	/* The driver reclaims inside of uk_netdev_tx_one what the device is done
	 * with. Where the pool is as full as it was, that were n packets too. */
	return app.n_idle == idle ? SWEEP_COUNTS : SWEEP_UNEVEN;
}

int main(int argc, char *argv[])
{
	struct sweep_machine m = {
		.guest = "unikraft",
		.about = "unikraft=" STRINGIFY(UK_FULLVERSION),
		.input = input,
		.output = output,
		.prepare = prepare,
		.burst = burst,
		.stretch = stretch,
		.stretches = 64,
	};
	struct sweep_params p;
	char why[256];
	const char *wrong = NULL;

	sweep_params_default(&p);
	for (int i = 0; i < argc && !wrong; i++) {
		if (sweep_params_word(&p, argv[i], strlen(argv[i]), why, sizeof(why)))
			wrong = why;
	}
	if (!wrong) {
		/* Not by ukplat_monotonic_clock: with a counter of 10^9 ticks a
		 * second or fewer, which is what icount has, its factor from ticks
		 * to nanoseconds (plat/kvm/x86/tscclock.c) has no room in its 32
		 * bits, and the clock stands still. */
		m.hz = sweep_tsc_hz();
		wrong = open_device(uk_alloc_get_default());
		if (!wrong)
			m.about = app.about;
	}
	sweep_hello(&m);
	if (wrong)
		sweep_fail(&m, wrong);
	else
		sweep_serve(&m, &p);
	/* Unikraft powers the machine off after main. */
	return wrong ? 1 : 0;
}
