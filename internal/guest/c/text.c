#include "text.h"

void sweep_text_start(struct sweep_text *t, char *to, size_t room)
{
	t->to = to;
	t->room = room;
	t->n = 0;
	to[0] = '\0';
}

void sweep_text_bytes(struct sweep_text *t, const char *s, size_t n)
{
	for (size_t i = 0; i < n && t->n + 1 < t->room; i++)
		t->to[t->n++] = s[i];
	t->to[t->n] = '\0';
}

void sweep_text_word(struct sweep_text *t, const char *s)
{
	size_t n = 0;

	while (s[n])
		n++;
	sweep_text_bytes(t, s, n);
}

void sweep_text_number(struct sweep_text *t, uint64_t v)
{
	char digits[20]; /* 2^64 has as many */
	size_t first = sizeof(digits);

	do {
		digits[--first] = (char)('0' + v % 10);
		v /= 10;
	} while (v);
	sweep_text_bytes(t, digits + first, sizeof(digits) - first);
}

void sweep_text_value(struct sweep_text *t, const char *key, uint64_t v)
{
	sweep_text_word(t, " ");
	sweep_text_word(t, key);
	sweep_text_word(t, "=");
	sweep_text_number(t, v);
}

int sweep_text_equal(const char *s, size_t n, const char *want)
{
	size_t i = 0;

	while (i < n && want[i] && s[i] == want[i])
		i++;
	return i == n && !want[i];
}
