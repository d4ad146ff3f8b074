/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_PATTERN_BITS_H
#define OBJECT_META_PATTERN_BITS_H

/*
 * Only for object/meta/pattern.c and pattern_re2.c: small patterns as an automaton whose states are
 * the bits of one word (Glushkov's: one state for each character that stands in the pattern).  Most
 * patterns of CRDs are small, and for ASCII this is ten times as fast as PCRE2's DFA.
 *
 * The parser makes parts from the inside out; once something does not fit, `off` is set and all
 * that follows is without meaning.
 */

#include "base/str.h"

struct arena;

enum { BITS_STATES = 64, BITS_CHARS = 128 };

struct bits_set { /* of ASCII characters */
    uint64_t half[2];
};

struct bits_part {
    uint64_t first, last; /* states it may begin and end with */
    bool empty;           /* it matches nothing, too */
    unsigned from;        /* its first state; all up to the newest are its own while it is made */
};

struct bits_builder {
    bool off;
    bool caret, dollar; /* all alternatives have ^ before them, $ behind them */
    unsigned n;
    struct bits_set sets[BITS_STATES];
    uint64_t follow[BITS_STATES];
};

void bits_set_range(struct bits_set *s, uint32_t lo, uint32_t hi);
struct bits_part bits_nothing(const struct bits_builder *b);
struct bits_part bits_atom(struct bits_builder *b, const struct bits_set *set);
struct bits_part bits_then(struct bits_builder *b, struct bits_part x, struct bits_part y);
struct bits_part bits_or(struct bits_part x, struct bits_part y);
/* max < 0: any number. */
struct bits_part bits_repeat(struct bits_builder *b, struct bits_part x, long min, long max);

struct bits;
/* NULL when it is off. */
const struct bits *bits_done(struct arena *a, const struct bits_builder *b, struct bits_part all);

enum bits_result { BITS_NO, BITS_YES, BITS_NOT_ASCII };
enum bits_result bits_match(const struct bits *b, str text);

#endif
