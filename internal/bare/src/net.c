/* A driver of virtio-net that does no more than the specification asks for to
 * keep the device sending: what arrives when a guest costs next to nothing is
 * what an attachment and a wire can take.
 *
 * Section numbers are of the virtio specification, version 1.2.
 */
#include <stddef.h>

#include "io.h"
#include "net.h"
#include "pci.h"
#include "../../guest/c/frame.h"
#include "../../guest/c/text.h"

/* 4.1.2: device IDs on the PCI bus. */
enum { NET_TRANSITIONAL = 0x1000, NET_MODERN = 0x1041 };

/* 4.1.4.3: the common configuration. */
enum {
	DEVICE_FEATURE_SELECT = 0x00,
	DEVICE_FEATURE = 0x04,
	DRIVER_FEATURE_SELECT = 0x08,
	DRIVER_FEATURE = 0x0c,
	DEVICE_STATUS = 0x14,
	QUEUE_SELECT = 0x16,
	QUEUE_SIZE = 0x18,
	QUEUE_ENABLE = 0x1c,
	QUEUE_NOTIFY_OFF = 0x1e,
	QUEUE_DESC = 0x20,
	QUEUE_DRIVER = 0x28,
	QUEUE_DEVICE = 0x30,
};

/* 2.1: the device's status. */
enum { ACKNOWLEDGE = 1, DRIVER = 2, DRIVER_OK = 4, FEATURES_OK = 8, FAILED = 128 };

/* 5.1.3 and 6: the features that are asked for. Without VIRTIO_F_EVENT_IDX the
 * two flags of the rings say who wants to be told; without VIRTIO_F_IN_ORDER
 * the device may give descriptors back in any order, and is taken at its word. */
#define VIRTIO_NET_F_MAC (1ull << 5)
#define VIRTIO_F_VERSION_1 (1ull << 32)
#define VIRTIO_F_ACCESS_PLATFORM (1ull << 33)

/* 5.1.2: the queues of a device without multiqueue. */
enum { RECEIVEQ = 0, TRANSMITQ = 1 };

/* 2.7: the three parts of a split virtqueue. */
struct descriptor { /* 2.7.5 */
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t next;
};

struct available { /* 2.7.6 */
	uint16_t flags;
	uint16_t idx;
	uint16_t ring[];
};

enum { AVAIL_NO_INTERRUPT = 1, USED_NO_NOTIFY = 1 };

struct used { /* 2.7.8 */
	uint16_t flags;
	uint16_t idx;
	struct {
		uint32_t id;
		uint32_t len;
	} ring[];
};

struct queue {
	struct descriptor *desc;
	struct available *avail;
	struct used *used;
	uint16_t size; /* a power of 2 (2.7) */
	uintptr_t doorbell;
};

/* 5.1.6: the header before each frame, all zeros: no checksum to fill in, no
 * segmentation. With VIRTIO_F_VERSION_1 it has 12 bytes. */
enum { HEADER = 12 };

/* A buffer holds a header and the longest frame. It lies in one page and starts
 * at a cache line of its own. */
enum { BUFFER = 2048 };

static struct {
	struct virtio_pci pci;
	struct queue tx;
	uint8_t mac[6];
	uint8_t *buffers; /* one for each descriptor */

	/* The driver's own place in the two rings. They run freely and are
	 * taken modulo the queue's size where they index it (2.7.6). */
	uint16_t next_avail, last_used;
	uint32_t fresh; /* descriptors that the device has never had */

	uint64_t patience; /* ticks */

	char about[128];
} net;

static void reset(void)
{
	/* 4.1.4.3.2: the reset is over when the status reads 0. */
	write8(net.pci.common + DEVICE_STATUS, 0);
	while (read8(net.pci.common + DEVICE_STATUS))
		;
}

static void add_status(uint8_t bits)
{
	write8(net.pci.common + DEVICE_STATUS, read8(net.pci.common + DEVICE_STATUS) | bits);
}

static uint64_t device_features(void)
{
	uint64_t all = 0;

	for (uint32_t half = 0; half < 2; half++) {
		write32(net.pci.common + DEVICE_FEATURE_SELECT, half);
		all |= (uint64_t)read32(net.pci.common + DEVICE_FEATURE) << 32 * half;
	}
	return all;
}

static void accept_features(uint64_t features)
{
	for (uint32_t half = 0; half < 2; half++) {
		write32(net.pci.common + DRIVER_FEATURE_SELECT, half);
		write32(net.pci.common + DRIVER_FEATURE, (uint32_t)(features >> 32 * half));
	}
}

/* take returns zeroed memory of a size and advances *memory; NULL where there
 * is none left. */
static void *take(uintptr_t *memory, uintptr_t end, size_t size, size_t align)
{
	uintptr_t at = (*memory + align - 1) & ~(align - 1);

	size = (size + 7) & ~(size_t)7;
	if (at + size < at || at + size > end)
		return NULL;
	*memory = at + size;
	/* A byte at a time would take a while under emulation. */
	for (uintptr_t p = at; p < at + size; p += 8)
		*(volatile uint64_t *)p = 0;
	return (void *)at;
}

/* open_queue is 4.1.5.1.3, "Virtqueue Configuration". */
static const char *open_queue(uint16_t index, struct queue *q, uintptr_t *memory, uintptr_t end)
{
	const uintptr_t common = net.pci.common;

	write16(common + QUEUE_SELECT, index);
	q->size = read16(common + QUEUE_SIZE);
	if (q->size == 0)
		return "the virtio-net device has no such queue";
	/* 2.7: alignments of 16, 2 and 4. */
	q->desc = take(memory, end, sizeof(*q->desc) * q->size, 64);
	q->avail = take(memory, end, sizeof(*q->avail) + sizeof(q->avail->ring[0]) * q->size + 8, 64);
	q->used = take(memory, end, sizeof(*q->used) + sizeof(q->used->ring[0]) * q->size + 8, 64);
	if (!q->desc || !q->avail || !q->used)
		return "not enough memory for the rings: give the machine 16 MiB";
	/* 2.7.7: the driver looks at the ring itself. */
	q->avail->flags = AVAIL_NO_INTERRUPT;
	write64(common + QUEUE_DESC, (uintptr_t)q->desc);
	write64(common + QUEUE_DRIVER, (uintptr_t)q->avail);
	write64(common + QUEUE_DEVICE, (uintptr_t)q->used);
	/* 4.1.4.4: where its notifications go. */
	q->doorbell = net.pci.notify + (uintptr_t)read16(common + QUEUE_NOTIFY_OFF) * net.pci.notify_multiplier;
	write16(common + QUEUE_ENABLE, 1);
	return NULL;
}

/* net_open is 3.1.1, "Driver Requirements: Device Initialization", step by
 * step. */
const char *net_open(uintptr_t memory, uintptr_t end, uint64_t patience, uint32_t burst)
{
	const char *why = pci_find_virtio(NET_TRANSITIONAL, NET_MODERN, &net.pci);
	struct queue rx;

	if (why)
		return why;
	reset();                 /* step 1 */
	add_status(ACKNOWLEDGE); /* step 2 */
	add_status(DRIVER);      /* step 3 */
	uint64_t offered = device_features(); /* step 4 */
	uint64_t accepted = offered & (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_NET_F_MAC);

	if (!(accepted & VIRTIO_F_VERSION_1)) {
		add_status(FAILED);
		return "the virtio-net device doesn't offer VIRTIO_F_VERSION_1";
	}
	accept_features(accepted);
	add_status(FEATURES_OK); /* step 5 */
	if (!(read8(net.pci.common + DEVICE_STATUS) & FEATURES_OK)) { /* step 6 */
		add_status(FAILED);
		return "the virtio-net device doesn't take the features that it offers";
	}

	/* Step 7. The receive queue gets no buffers: nothing is received. It has
	 * to be there all the same, for a vhost-user device works only once all
	 * of its queues are set up. */
	if ((why = open_queue(RECEIVEQ, &rx, &memory, end)) ||
	    (why = open_queue(TRANSMITQ, &net.tx, &memory, end))) {
		add_status(FAILED);
		return why;
	}
	net.buffers = take(&memory, end, (size_t)BUFFER * net.tx.size, 4096);
	if (!net.buffers) {
		add_status(FAILED);
		return "not enough memory for a packet for each descriptor: give the machine 16 MiB";
	}
	for (uint32_t i = 0; i < net.tx.size; i++) {
		net.tx.desc[i].addr = (uintptr_t)(net.buffers + (size_t)BUFFER * i);
		net.tx.avail->ring[i] = (uint16_t)i;
	}
	net.fresh = net.tx.size;
	net.patience = patience;
	/* 5.1.4: the MAC is the first field of the configuration. Without one, a
	 * locally administered one. */
	for (int i = 0; i < 6; i++)
		net.mac[i] = accepted & VIRTIO_NET_F_MAC ? read8(net.pci.device + (uintptr_t)i) : (uint8_t)(i ? i : 2);
	add_status(DRIVER_OK); /* step 8 */

	struct sweep_text t;

	sweep_text_start(&t, net.about, sizeof(net.about));
	sweep_text_word(&t, "driver=own interface=modern");
	sweep_text_value(&t, "queue", net.tx.size);
	sweep_text_word(&t, " descriptors_a_packet=1 packets_a_call=");
	sweep_text_number(&t, burst);
	return NULL;
}

const char *net_about(void) { return net.about; }

/* used_idx is how many descriptors the device has given back. What it wrote
 * before is there for whoever has seen the index: loads aren't reordered with
 * loads on x86, so that the compiler is all there is to hold back (2.7.13). */
static inline uint16_t used_idx(void)
{
	return __atomic_load_n(&net.tx.used->idx, __ATOMIC_ACQUIRE);
}

/* publish makes descriptors available: 2.7.13, "Supplying Buffers to The
 * Device", from step 5 on. */
static inline void publish(void)
{
	/* The entries of the ring before the index (2.7.13.3.1). */
	__atomic_store_n(&net.tx.avail->idx, net.next_avail, __ATOMIC_RELEASE);
	/* The index before the look at the flag, or both sides could wait for
	 * each other (2.7.13.4.1). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!(__atomic_load_n(&net.tx.used->flags, __ATOMIC_RELAXED) & USED_NO_NOTIFY))
		write16(net.tx.doorbell, TRANSMITQ); /* 4.1.5.2 */
}

/* turn hands n descriptors that the device has given back to it again, in the
 * order in which they came back. They point to the same frames as ever. */
static inline void turn(uint32_t n)
{
	const uint16_t mask = (uint16_t)(net.tx.size - 1);
	uint16_t from = net.last_used, to = net.next_avail;

	for (uint32_t i = 0; i < n; i++) {
		/* 2.7.14: id is the head of the chain that was used. */
		net.tx.avail->ring[to++ & mask] = (uint16_t)net.tx.used->ring[from++ & mask].id;
	}
	net.last_used = from;
	net.next_avail = to;
	publish();
}

/* give hands n descriptors to the device that it has never had. */
static inline void give(uint32_t n)
{
	/* Their entries in the ring have been there since net_open. */
	net.fresh -= n;
	net.next_avail = (uint16_t)(net.next_avail + n);
	publish();
}

const char *net_prepare(const struct sweep_params *p, uint32_t size)
{
	/* The buffers are the device's until it has given all of them back. */
	const uint64_t begun = sweep_ticks();

	while (used_idx() != net.next_avail) {
		if (sweep_ticks() - begun > net.patience)
			return "the device still holds packets of the size before: nothing takes them";
		__asm__ volatile("pause");
	}
	for (uint32_t i = 0; i < net.tx.size; i++) {
		sweep_frame(net.buffers + (size_t)BUFFER * i + HEADER, size, net.mac, p);
		net.tx.desc[i].len = HEADER + size;
	}
	return NULL;
}

void net_burst(uint32_t n, struct sweep_counters *c)
{
	if (net.fresh) {
		if (n > net.fresh)
			n = net.fresh;
		give(n);
		c->packets += n;
		return;
	}
	uint32_t back = (uint16_t)(used_idx() - net.last_used);

	if (back == 0) {
		c->full++;
		return;
	}
	if (back > n)
		back = n;
	turn(back);
	c->packets += back;
}

enum sweep_stretch net_stretch(uint32_t n, uint64_t *ticks)
{
	struct sweep_counters c = { 0, 0, 0 };

	/* It begins with the ring once filled, and drained: the device has
	 * nothing left to do. */
	if (net.fresh || used_idx() != net.next_avail) {
		while (net.fresh)
			net_burst(net.fresh, &c);
		return SWEEP_UNEVEN;
	}
	const uint64_t begun = sweep_ticks();

	net_burst(n, &c);
	*ticks = sweep_ticks() - begun;
	/* Each packet sent was one reclaimed. */
	return c.packets == n ? SWEEP_COUNTS : SWEEP_UNEVEN;
}
