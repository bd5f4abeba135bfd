//go:build dpdk

#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "pktio.h"

/* Descriptors of a queue. Drivers whose ring is given with the device (memif's
 * rsize, virtio's queue_size) have that. */
enum { DESCRIPTORS = 1024 };

int pktio_eal(int argc, char **argv)
{
	if (rte_eal_init(argc, argv) < 0)
		return -rte_errno;
	return rte_eth_dev_count_avail();
}

int pktio_open(uint16_t port, uint32_t frames)
{
	const struct rte_eth_conf conf = { 0 };
	uint16_t rx = DESCRIPTORS, tx = DESCRIPTORS;
	char name[RTE_MEMPOOL_NAMESIZE];
	struct rte_mempool *pool;
	int err;

	snprintf(name, sizeof(name), "rx-%u", port);
	pool = rte_pktmbuf_pool_create(name, frames, 256, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	if (!pool)
		return -rte_errno;
	if ((err = rte_eth_dev_configure(port, 1, 1, &conf)))
		return err;
	if ((err = rte_eth_dev_adjust_nb_rx_tx_desc(port, &rx, &tx)))
		return err;
	if ((err = rte_eth_rx_queue_setup(port, 0, rx, SOCKET_ID_ANY, NULL, pool)))
		return err;
	if ((err = rte_eth_tx_queue_setup(port, 0, tx, SOCKET_ID_ANY, NULL)))
		return err;
	return rte_eth_dev_start(port);
}

void pktio_close(uint16_t port)
{
	rte_eth_dev_stop(port);
	rte_eth_dev_close(port);
}

int pktio_link(uint16_t port)
{
	struct rte_eth_link link;

	return rte_eth_link_get_nowait(port, &link) == 0 && link.link_status == RTE_ETH_LINK_UP;
}

void pktio_mac(uint16_t port, uint8_t mac[6])
{
	struct rte_ether_addr address = { { 0 } };

	rte_eth_macaddr_get(port, &address);
	memcpy(mac, address.addr_bytes, 6);
}

const char *pktio_driver(uint16_t port)
{
	struct rte_eth_dev_info info;

	return rte_eth_dev_info_get(port, &info) ? "unknown" : info.driver_name;
}

const char *pktio_version(void)
{
	return rte_version();
}

const char *pktio_error(int negative)
{
	return rte_strerror(-negative);
}

uint64_t pktio_ticks(void)
{
	return rte_rdtsc();
}

struct content {
	const uint8_t *frame;
	uint32_t size;
};

static void fill(struct rte_mempool *pool, void *arg, void *object, unsigned int index)
{
	const struct content *c = arg;
	struct rte_mbuf *m = object;

	(void)pool;
	(void)index;
	rte_pktmbuf_reset(m);
	m->data_len = (uint16_t)c->size;
	m->pkt_len = c->size;
	memcpy(rte_pktmbuf_mtod(m, void *), c->frame, c->size);
}

struct rte_mempool *pktio_pool(uint32_t number, uint32_t frames, const uint8_t *frame, uint32_t size)
{
	struct content content = { frame, size };
	struct rte_mempool *pool;
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "frames-%u", number);
	pool = rte_pktmbuf_pool_create(name, frames, 256, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + size), SOCKET_ID_ANY);
	if (pool)
		rte_mempool_obj_iter(pool, fill, &content);
	return pool;
}

int pktio_pool_is_full(struct rte_mempool *pool)
{
	return rte_mempool_full(pool);
}

void pktio_pool_free(struct rte_mempool *pool)
{
	rte_mempool_free(pool);
}
