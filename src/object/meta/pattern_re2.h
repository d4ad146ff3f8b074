/* SPDX-License-Identifier: Apache-2.0 */
#ifndef OBJECT_META_PATTERN_RE2_H
#define OBJECT_META_PATTERN_RE2_H

/* Only for object/meta/pattern.c: RE2's grammar, checked and rewritten for PCRE2. */

#include "base/buf.h"

struct arena;
struct bits;

enum {
    RE2_NESTING_MAX = 200,
    RE2_REPEAT_MAX = 1000, /* Go's limit, of nested counts multiplied, too */
};

struct re2_form {
    bool anchored; /* it can match at the beginning only */
    const struct bits
        *bits; /* the same as a small automaton (object/meta/pattern_bits.h), or NULL */
};

/*
 * Appends to out a pattern that means to PCRE2 (with UTF, newline LF) what text
 * means to Go, without captures.  False and Go's sentence in *why when text is no pattern.
 */
bool re2_translate(struct arena *a, str text, struct buf *out, struct re2_form *form, str *why);

#endif
