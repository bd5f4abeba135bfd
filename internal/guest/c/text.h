/* A line of text that is put together in a buffer, for machines without a
 * printf. What doesn't fit is left out. */
#ifndef SWEEP_TEXT_H
#define SWEEP_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct sweep_text {
	char *to;
	size_t room; /* of to, with the NUL at the end; at least 1 */
	size_t n;
};

void sweep_text_start(struct sweep_text *t, char *to, size_t room);
void sweep_text_bytes(struct sweep_text *t, const char *s, size_t n);
void sweep_text_word(struct sweep_text *t, const char *s);
void sweep_text_number(struct sweep_text *t, uint64_t v);

/* sweep_text_value adds " key=v". */
void sweep_text_value(struct sweep_text *t, const char *key, uint64_t v);

/* sweep_text_equal says whether the n bytes at s are the string want. */
int sweep_text_equal(const char *s, size_t n, const char *want);

#endif
