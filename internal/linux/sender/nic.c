#include "nic.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum {
	MTU = SWEEP_SIZE_MAX - 14,
	LINK_LOOKS = 500, /* 10 ms apart: the host's side may not be there yet */
};

static char name[IFNAMSIZ];
static uint32_t ring = 256; /* QEMU's own choice */

uint32_t nic_ring(void)
{
	return ring;
}

const char *nic_name(void)
{
	return name;
}

const char *failed(const char *step)
{
	static char why[256];

	snprintf(why, sizeof(why), "%s: %s", step, strerror(errno));
	return why;
}

/* no_ipv6 keeps IPv6 from saying on the link that it is there (neighbour
 * discovery, multicast listener reports). A kernel without IPv6 has no such
 * file. */
static const char *no_ipv6(void)
{
	int fd = open("/proc/sys/net/ipv6/conf/all/disable_ipv6", O_WRONLY);

	if (fd < 0)
		return errno == ENOENT ? NULL : failed("turning IPv6 off");
	ssize_t wrote = write(fd, "1\n", 2);

	close(fd);
	return wrote == 2 ? NULL : failed("turning IPv6 off");
}

static struct ifreq request(void)
{
	struct ifreq r;

	memset(&r, 0, sizeof(r));
	memcpy(r.ifr_name, name, sizeof(name));
	return r;
}

/* find finds the first interface that is Ethernet's. */
static const char *find(int fd)
{
	struct if_nameindex *all = if_nameindex();
	const char *why = "the kernel has no Ethernet interface: its virtio_net refused the device (see dmesg)";

	if (!all)
		return failed("listing the interfaces");
	for (struct if_nameindex *i = all; i->if_index && why; i++) {
		snprintf(name, sizeof(name), "%s", i->if_name);
		struct ifreq r = request();

		if (!ioctl(fd, SIOCGIFHWADDR, &r) && r.ifr_hwaddr.sa_family == ARPHRD_ETHER)
			why = NULL;
	}
	if_freenameindex(all);
	return why;
}

/* ask_ring asks the driver for the ring's size; one that doesn't say it leaves
 * it at what it is. */
static void ask_ring(int fd)
{
	struct ethtool_ringparam of = { .cmd = ETHTOOL_GRINGPARAM };
	struct ifreq r = request();

	r.ifr_data = (char *)&of;
	if (!ioctl(fd, SIOCETHTOOL, &r) && of.tx_pending)
		ring = of.tx_pending;
}

static void set_ip(struct sockaddr *to, uint32_t ip)
{
	const struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(ip) };

	memcpy(to, &a, sizeof(a));
}

/* wait_link waits until the kernel hands packets to the device: before, it
 * drops them and doesn't say so. */
static const char *wait_link(int fd)
{
	const struct timespec nap = { .tv_nsec = 10 * 1000 * 1000 };

	for (int i = 0; i < LINK_LOOKS; i++) {
		struct ifreq r = request();

		if (ioctl(fd, SIOCGIFFLAGS, &r))
			return failed("looking at the link");
		if (r.ifr_flags & IFF_RUNNING)
			return NULL;
		nanosleep(&nap, NULL);
	}
	return "the NIC's link is down: the host's side of it isn't connected";
}

static const char *set_up(int fd, const struct sweep_params *p)
{
	struct ifreq r = request();

	r.ifr_mtu = MTU;
	if (ioctl(fd, SIOCSIFMTU, &r))
		return failed("setting an MTU of 1500");
	set_ip(&r.ifr_addr, p->ip[0]);
	if (ioctl(fd, SIOCSIFADDR, &r))
		return failed("sweep.ip: setting the source address");
	set_ip(&r.ifr_netmask, 0xffffff00);
	if (ioctl(fd, SIOCSIFNETMASK, &r))
		return failed("sweep.ip: setting the source's network");
	r = request();
	r.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &r))
		return failed("bringing the NIC up");
	const char *why = wait_link(fd);

	if (why)
		return why;
	/* The peer's MAC is known, so nobody is asked for it. */
	struct arpreq arp;

	memset(&arp, 0, sizeof(arp));
	set_ip(&arp.arp_pa, p->ip[1]);
	arp.arp_ha.sa_family = ARPHRD_ETHER;
	memcpy(arp.arp_ha.sa_data, p->peer, sizeof(p->peer));
	arp.arp_flags = ATF_PERM | ATF_COM;
	memcpy(arp.arp_dev, name, sizeof(name));
	if (ioctl(fd, SIOCSARP, &arp))
		return failed("sweep.peer: telling the kernel the peer's MAC");
	return NULL;
}

const char *nic_open(const struct sweep_params *p)
{
	/* Linux would send these to itself. */
	if (p->ip[0] == p->ip[1])
		return "sweep.ip: source and destination are the same address";
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0)
		return failed("a socket");
	const char *why = no_ipv6();

	if (!why)
		why = find(fd);
	if (!why) {
		ask_ring(fd);
		why = set_up(fd, p);
	}
	close(fd);
	return why;
}
