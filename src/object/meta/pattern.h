/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_PATTERN_H
#define OBJECT_META_PATTERN_H

/*
 * Regular expressions with the grammar and meaning of RE2 (Go's regexp), matched in time that is
 * linear in the text: backreferences, lookarounds and possessive repeats are errors, as they are in
 * Go.  A pattern is translated to what PCRE2 understands and run by its DFA matcher.
 *
 * A compiled pattern is frozen and may be used by any thread; it goes with its arena.
 */

#include "base/str.h"

struct arena;
struct pattern;

enum {
    PATTERN_BYTES_MAX = 32 << 10,
    PATTERN_WORK_MAX = 200 * 1000 * 1000, /* steps of one match, at most */
};

/* NULL when it is none; *why is then Go's sentence: "error parsing regexp: missing closing ): `(`".
 */
const struct pattern *pattern_compile(struct arena *a, str text, str *why);

/* Whether a match costs no more than a few steps a character: true of small patterns, for ASCII. */
bool pattern_is_quick(const struct pattern *p);

enum pattern_result { PATTERN_NO, PATTERN_YES, PATTERN_TOO_COMPLEX };

/* Whether it matches anywhere in the text, which is UTF-8.  TOO_COMPLEX: more than PATTERN_WORK_MAX
 * could be needed, which takes a large pattern and a long text. */
enum pattern_result pattern_match(const struct pattern *p, str text);

/*
 * To know where it matches: first from the left, then as Go prefers.  Such a pattern is compiled on
 * its own, and is not for pattern_match().  The search tries alternatives one after another, as
 * often as is allowed; then it is TOO_COMPLEX.
 */
const struct pattern *pattern_compile_find(struct arena *a, str text, str *why);
enum pattern_result pattern_find(const struct pattern *p, str text, size_t at, size_t *from,
                                 size_t *to);

#endif
