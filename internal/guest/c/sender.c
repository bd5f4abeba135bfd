#include "sender.h"
#include "text.h"

#define LINE 512

/* The console is looked at so often while packets are sent: a look is an exit
 * from the virtual machine, thousands of times the cost of a packet. */
#define LOOKS_A_SECOND 100

static void say(const struct sweep_machine *m, struct sweep_text *t)
{
	/* The end of the line must come whatever was left out. */
	if (t->n + 2 > t->room)
		t->n = t->room - 2;
	sweep_text_word(t, "\n");
	m->output(t->to, t->n);
}

static void open_line(struct sweep_text *t, char *line, const char *event)
{
	sweep_text_start(t, line, LINE);
	sweep_text_word(t, "sweep-guest: ");
	sweep_text_word(t, event);
}

static void say_words(const struct sweep_machine *m, const char *event, const char *words)
{
	char line[LINE];
	struct sweep_text t;

	open_line(&t, line, event);
	if (words[0]) {
		sweep_text_word(&t, " ");
		sweep_text_word(&t, words);
	}
	say(m, &t);
}

void sweep_hello(const struct sweep_machine *m)
{
	char line[LINE];
	struct sweep_text t;

	open_line(&t, line, "boot guest=");
	sweep_text_word(&t, m->guest);
	if (m->about[0]) {
		sweep_text_word(&t, " ");
		sweep_text_word(&t, m->about);
	}
	say(m, &t);
}

void sweep_fail(const struct sweep_machine *m, const char *why)
{
	say_words(m, "error", why);
}

/* nanoseconds of so many ticks, without overflow: ticks of a day times 10^9 are
 * too many for 64 bits. */
static uint64_t nanoseconds(const struct sweep_machine *m, uint64_t ticks)
{
	uint64_t seconds = ticks / m->hz, rest = ticks % m->hz;

	return seconds * 1000000000u + rest * 1000000000u / m->hz;
}

static void say_counters(const struct sweep_machine *m, const char *event, uint32_t size,
			 const struct sweep_counters *c, uint64_t ticks)
{
	char line[LINE];
	struct sweep_text t;

	open_line(&t, line, event);
	sweep_text_value(&t, "size", size);
	sweep_text_value(&t, "packets", c->packets);
	sweep_text_value(&t, "full", c->full);
	sweep_text_value(&t, "errors", c->errors);
	sweep_text_value(&t, "ns", nanoseconds(m, ticks));
	sweep_text_value(&t, "ticks", ticks);
	say(m, &t);
}

/* input_line is a line that comes in from the console, a character at a time. */
struct input_line {
	char text[80];
	size_t n;
};

/* read_line takes what has come in and says whether a line is whole. Of one that
 * is longer than there is room for, the beginning could be another command: it
 * is made one that there isn't. */
static int read_line(const struct sweep_machine *m, struct input_line *in)
{
	int c;

	while ((c = m->input()) >= 0) {
		if (c == '\r' || c == '\n')
			return 1;
		if (in->n < sizeof(in->text))
			in->text[in->n++] = (char)c;
		else
			in->text[0] = '\0';
	}
	return 0;
}

/* transmit sends frames of a size until so many packets or seconds are over (0:
 * no such end) or "stop" comes in. It returns -1 where it could not begin. */
static int transmit(const struct sweep_machine *m, const struct sweep_params *p, uint32_t size,
		    uint64_t packets, uint64_t seconds)
{
	struct sweep_counters c = { 0, 0, 0 };
	struct input_line in = { .n = 0 };
	const char *why = m->prepare(p, size);
	char line[LINE];
	struct sweep_text t;

	if (why) {
		say_words(m, "refused", why);
		return -1;
	}
	open_line(&t, line, "sending");
	sweep_text_value(&t, "size", size);
	say(m, &t);

	const uint64_t begun = sweep_ticks();
	const uint64_t look = m->hz / LOOKS_A_SECOND;
	const uint64_t end = seconds ? begun + seconds * m->hz : UINT64_MAX;
	uint64_t now = begun, next_look = begun + look, next_second = begun + m->hz;

	if (m->begin)
		m->begin();
	while (now < end && (!packets || c.packets < packets)) {
		uint32_t n = p->burst;

		if (packets && packets - c.packets < n)
			n = (uint32_t)(packets - c.packets);
		m->burst(n, &c);
		now = sweep_ticks();
		if (now < next_look)
			continue;
		next_look = now + look;
		if (read_line(m, &in)) {
			if (sweep_text_equal(in.text, in.n, "stop"))
				break;
			if (in.n)
				say_words(m, "refused", "while it sends, a guest takes only stop");
			in.n = 0;
		}
		if (now >= next_second) {
			next_second += m->hz;
			say_counters(m, "second", size, &c, now - begun);
		}
	}
	now = sweep_ticks();
	if (m->end)
		m->end();
	say_counters(m, "stopped", size, &c, now - begun);
	return 0;
}

static void wait_ticks(uint64_t ticks)
{
	const uint64_t begun = sweep_ticks();

	while (sweep_ticks() - begun < ticks)
		__asm__ volatile("pause");
}

/* count says how many ticks so many packets took, in stretches that are counted
 * one by one. Under icount a tick is an instruction. */
static void count(const struct sweep_machine *m, const struct sweep_params *p, uint32_t size)
{
	/* The device gets this long to take what a stretch sent; longer, up to
	 * ten times, where that is too short. And so often may it be late. */
	const uint64_t pause = m->hz / 50000, pause_most = m->hz / 5000;
	const uint32_t tries = 20000;

	const uint32_t n = m->stretch_packets ? m->stretch_packets : p->burst;
	uint64_t sum = 0, least = UINT64_MAX, most = 0, wait = pause;
	uint32_t got = 0, full = 0, uneven = 0;
	enum sweep_stretch how = SWEEP_COUNTS;
	const char *why = m->prepare(p, size);
	char line[LINE];
	struct sweep_text t;

	if (why) {
		say_words(m, "refused", why);
		return;
	}
	/* What reading the clock costs is no part of a packet. */
	uint64_t clock = UINT64_MAX;

	for (int i = 0; i < 16; i++) {
		uint64_t t0 = sweep_ticks(), t1 = sweep_ticks();

		if (t1 - t0 < clock)
			clock = t1 - t0;
	}
	if (m->begin)
		m->begin();
	for (uint32_t i = 0; i < tries && got < m->stretches; i++) {
		uint64_t ticks = 0;

		wait_ticks(wait);
		how = m->stretch(n, &ticks);
		/* The first finds caches cold and rings empty. */
		if (i == 0 && how != SWEEP_BROKEN)
			continue;
		switch (how) {
		case SWEEP_COUNTS:
			ticks -= clock;
			sum += ticks;
			got++;
			least = ticks < least ? ticks : least;
			most = ticks > most ? ticks : most;
			wait = pause;
			continue;
		case SWEEP_UNEVEN:
			uneven++;
			break;
		case SWEEP_FULL:
			full++;
			break;
		case SWEEP_BROKEN:
			i = tries - 1;
			break;
		}
		wait = wait * 2 < pause_most ? wait * 2 : pause_most;
	}
	if (m->end)
		m->end();
	if (how == SWEEP_BROKEN) {
		say_words(m, "refused", "the device refuses packets with an error");
		return;
	}

	open_line(&t, line, got == m->stretches ? "counted" : "uncounted");
	sweep_text_value(&t, "size", size);
	sweep_text_value(&t, "packets", (uint64_t)got * n);
	sweep_text_value(&t, "ticks", sum);
	sweep_text_value(&t, "least", got ? least : 0);
	sweep_text_value(&t, "most", most);
	sweep_text_value(&t, "stretches", got);
	sweep_text_value(&t, "uneven", uneven);
	sweep_text_value(&t, "full", full);
	say(m, &t);
}

/* command does what a line says and returns whether that was to quit. */
static int command(const struct sweep_machine *m, const struct sweep_params *p, const char *s, size_t n)
{
	size_t verb = 0;
	uint64_t numbers[2] = { 0, 0 };
	int count_of = 0;

	while (verb < n && s[verb] != ' ')
		verb++;
	for (size_t at = verb; at < n;) {
		size_t len = 0;

		at++; /* the blank */
		while (at + len < n && s[at + len] != ' ')
			len++;
		if (count_of == 2 || sweep_number(s + at, len, UINT64_MAX, &numbers[count_of])) {
			say_words(m, "refused", "a command is followed by one or two numbers");
			return 0;
		}
		count_of++;
		at += len;
	}
	const uint64_t size = numbers[0];
	const int sends = sweep_text_equal(s, verb, "send");

	if (sweep_text_equal(s, verb, "quit"))
		return 1;
	if (sweep_text_equal(s, verb, "stop")) {
		say_words(m, "refused", "it doesn't send");
	} else if (!sends && !sweep_text_equal(s, verb, "count")) {
		say_words(m, "refused", "there is no such command; there are send, stop, count, quit");
	} else if (count_of == 0 || size < SWEEP_SIZE_MIN || size > SWEEP_SIZE_MAX) {
		say_words(m, "refused", "a frame has 42 to 1514 bytes, without FCS");
	} else if (sends) {
		transmit(m, p, (uint32_t)size, numbers[1], 0);
	} else if (!m->stretch) {
		say_words(m, "refused", "this guest can't count");
	} else {
		count(m, p, (uint32_t)size);
	}
	return 0;
}

void sweep_serve(const struct sweep_machine *m, struct sweep_params *p)
{
	struct input_line in = { .n = 0 };

	if (p->size) {
		transmit(m, p, p->size, p->packets, p->seconds);
		return;
	}
	if (p->packets || p->seconds) {
		sweep_fail(m, "sweep.packets and sweep.seconds need sweep.size beside them");
		return;
	}
	say_words(m, "ready", m->stretch ? "count=yes" : "count=no");
	for (;;) {
		/* Each look is an exit from the virtual machine. */
		while (!read_line(m, &in))
			wait_ticks(m->hz / LOOKS_A_SECOND);
		if (in.n && command(m, p, in.text, in.n))
			return;
		in.n = 0;
	}
}
