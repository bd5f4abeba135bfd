#include "params.h"
#include "text.h"

static int complain(char *why, size_t room, const char *word, size_t n, const char *what)
{
	struct sweep_text t;

	sweep_text_start(&t, why, room);
	sweep_text_bytes(&t, word, n);
	sweep_text_word(&t, ": ");
	sweep_text_word(&t, what);
	return -1;
}

int sweep_number(const char *s, size_t n, uint64_t max, uint64_t *out)
{
	uint64_t v = 0;

	if (n == 0)
		return -1;
	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9')
			return -1;
		uint64_t digit = (uint64_t)(s[i] - '0');

		if (v > (max - digit) / 10)
			return -1;
		v = v * 10 + digit;
	}
	*out = v;
	return 0;
}

/* cut returns where sep first is in s, n where it isn't there. */
static size_t cut(const char *s, size_t n, char sep)
{
	size_t i = 0;

	while (i < n && s[i] != sep)
		i++;
	return i;
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static int parse_mac(const char *s, size_t n, uint8_t *mac)
{
	if (n != 17)
		return -1;
	for (size_t i = 0; i < 6; i++) {
		int high = hex_digit(s[3 * i]), low = hex_digit(s[3 * i + 1]);

		if (high < 0 || low < 0 || (i < 5 && s[3 * i + 2] != ':'))
			return -1;
		mac[i] = (uint8_t)(high << 4 | low);
	}
	return 0;
}

static int parse_ip(const char *s, size_t n, uint32_t *ip)
{
	uint32_t all = 0;

	for (int part = 0; part < 4; part++) {
		size_t len = part < 3 ? cut(s, n, '.') : n;
		uint64_t v;

		if (len > 3 || sweep_number(s, len, 255, &v) || (part < 3 && len == n))
			return -1;
		all = all << 8 | (uint32_t)v;
		s += len + (part < 3);
		n -= len + (part < 3);
	}
	*ip = all;
	return 0;
}

static int parse_ips(const char *s, size_t n, uint32_t *ips)
{
	size_t len = cut(s, n, ',');

	if (len == n)
		return -1;
	return parse_ip(s, len, &ips[0]) || parse_ip(s + len + 1, n - len - 1, &ips[1]) ? -1 : 0;
}

static int parse_ports(const char *s, size_t n, uint16_t *ports)
{
	size_t len = cut(s, n, ',');
	uint64_t first, second;

	if (len == n || sweep_number(s, len, 65535, &first) ||
	    sweep_number(s + len + 1, n - len - 1, 65535, &second))
		return -1;
	ports[0] = (uint16_t)first;
	ports[1] = (uint16_t)second;
	return 0;
}

void sweep_params_default(struct sweep_params *p)
{
	static const uint8_t peer[6] = { 0x02, 0, 0, 0, 0, 0 };

	p->size = 0;
	p->packets = 0;
	p->seconds = 0;
	p->burst = 32;
	for (int i = 0; i < 6; i++)
		p->peer[i] = peer[i];
	p->ip[0] = 198u << 24 | 18u << 16 | 1; /* RFC 2544's addresses for benchmarks */
	p->ip[1] = p->ip[0] + 1;
	p->udp[0] = p->udp[1] = 9; /* discard */
}

int sweep_params_word(struct sweep_params *p, const char *word, size_t n, char *why, size_t room)
{
	static const char prefix[] = "sweep.";
	const size_t skip = sizeof(prefix) - 1;

	if (n < skip || !sweep_text_equal(word, skip, prefix))
		return 0;
	const char *key = word + skip;
	size_t len = cut(key, n - skip, '=');

	if (len == n - skip)
		return complain(why, room, word, n, "a parameter is sweep.KEY=VALUE");
	const char *s = key + len + 1;
	size_t m = n - skip - len - 1;
	uint64_t v;

	if (sweep_text_equal(key, len, "size")) {
		if (sweep_number(s, m, SWEEP_SIZE_MAX, &v) || v < SWEEP_SIZE_MIN)
			return complain(why, room, word, n, "a frame has 42 to 1514 bytes, without FCS");
		p->size = (uint32_t)v;
	} else if (sweep_text_equal(key, len, "packets")) {
		if (sweep_number(s, m, UINT64_MAX, &v) || v == 0)
			return complain(why, room, word, n, "it takes a number of packets, 1 or more");
		p->packets = v;
	} else if (sweep_text_equal(key, len, "seconds")) {
		if (sweep_number(s, m, 1000000, &v) || v == 0)
			return complain(why, room, word, n, "it takes a number of seconds, 1 to 1000000");
		p->seconds = (uint32_t)v;
	} else if (sweep_text_equal(key, len, "burst")) {
		if (sweep_number(s, m, SWEEP_BURST_MAX, &v) || v == 0)
			return complain(why, room, word, n, "it takes 1 to 256 packets");
		p->burst = (uint32_t)v;
	} else if (sweep_text_equal(key, len, "peer")) {
		if (parse_mac(s, m, p->peer))
			return complain(why, room, word, n, "it takes a MAC such as 02:00:00:00:00:02");
	} else if (sweep_text_equal(key, len, "ip")) {
		if (parse_ips(s, m, p->ip))
			return complain(why, room, word, n, "it takes two IPv4 addresses such as 198.18.0.1,198.18.0.2");
	} else if (sweep_text_equal(key, len, "udp")) {
		if (parse_ports(s, m, p->udp))
			return complain(why, room, word, n, "it takes two UDP ports such as 9,9");
	} else {
		return complain(why, room, word, n,
				"there is no such parameter; there are size, packets, seconds, burst, peer, ip, udp");
	}
	return 0;
}

int sweep_params_line(struct sweep_params *p, const char *line, char *why, size_t room)
{
	for (;;) {
		size_t n = 0;

		while (*line == ' ' || *line == '\t' || *line == '\n')
			line++;
		while (line[n] && line[n] != ' ' && line[n] != '\t' && line[n] != '\n')
			n++;
		if (n == 0)
			return 0;
		if (sweep_params_word(p, line, n, why, room))
			return -1;
		line += n;
	}
}
