/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/pattern.h"

#include <math.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/banned.h"

#include "base/arena.h"
#include "base/mem.h"
#include "object/meta/pattern_bits.h"
#include "object/meta/pattern_re2.h"

enum {
    SMALL_INTS = 640,      /* of the matcher's memory: enough for nearly all */
    INTS_MAX = 240 * 1000, /* for 40,000 states */
    INTS_MIN = 20,         /* pcre2_dfa_match wants that much */
    INTS_PER_STATE = 6,    /* three, in each of two lists */
    TRANSLATED_MAX = 1 << 20,
    FIND_WORK_MAX = 2 * 1000 * 1000, /* tries of one search */
};

struct pattern {
    pcre2_code *code;
    const struct bits *bits; /* or NULL */
};

static void free_code(void *arg)
{
    pcre2_code_free(arg);
}

static pcre2_code *compile(str text, str source, struct arena *a, str *why)
{
    /* Go's . knows \n only. */
    const uint32_t options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NO_AUTO_CAPTURE |
                             PCRE2_NO_AUTO_POSSESS | PCRE2_ANCHORED | PCRE2_NEVER_BACKSLASH_C;
    pcre2_compile_context *c = pcre2_compile_context_create(NULL);
    pcre2_code *code;
    PCRE2_SIZE at;
    int err;

    if (!c)
        mem_exhausted();
    (void)pcre2_set_newline(c, PCRE2_NEWLINE_LF);
    code = pcre2_compile((PCRE2_SPTR)text.p, text.n, options, &err, &at, c);
    pcre2_compile_context_free(c);
    if (code)
        return code;
    if (err == PCRE2_ERROR_HEAP_FAILED)
        mem_exhausted();
    *why = str_printf(a, "error parsing regexp: %s: `%.*s`",
                      err == PCRE2_ERROR_UNKNOWN_UNICODE_PROPERTY ? "invalid character class range"
                                                                  : "expression too large",
                      STR_ARG(source));
    return NULL;
}

/* With `find` what matches is a group, behind the text before it. */
static const struct pattern *make(struct arena *a, str text, bool find, str *why)
{
    scoped_buf out;
    struct pattern *p;
    struct re2_form form;
    str all;

    if (text.n > PATTERN_BYTES_MAX) {
        *why = STR("error parsing regexp: expression too large");
        return NULL;
    }
    /* One pass over the text instead of one from each of its characters: the search is a part of
     * the pattern, which itself must match at the beginning. */
    buf_init(&out, TRANSLATED_MAX);
    buf_lit(&out, "(?s:.*?)");
    buf_str_append(&out, find ? STR("(?<m>") : STR("(?:"));
    if (!re2_translate(a, text, &out, &form, why))
        return NULL;
    buf_byte(&out, ')');
    if (buf_overflown(&out)) {
        *why = STR("error parsing regexp: expression too large");
        return NULL;
    }
    all = buf_str(&out);
    p = arena_new_of(a, struct pattern);
    p->code = compile(form.anchored ? str_from(all, sizeof("(?s:.*?)") - 1) : all, text, a, why);
    if (!p->code)
        return NULL;
    arena_defer(a, free_code, p->code);
    p->bits = form.bits;
    return p;
}

const struct pattern *pattern_compile(struct arena *a, str text, str *why)
{
    return make(a, text, false, why);
}

const struct pattern *pattern_compile_find(struct arena *a, str text, str *why)
{
    return make(a, text, true, why);
}

enum pattern_result pattern_find(const struct pattern *p, str text, size_t at, size_t *from,
                                 size_t *to)
{
    pcre2_match_data *data = pcre2_match_data_create(2, NULL);
    pcre2_match_context *c = pcre2_match_context_create(NULL);
    const PCRE2_SIZE *found;
    int rc;

    if (!data || !c)
        mem_exhausted();
    (void)pcre2_set_match_limit(c, FIND_WORK_MAX);
    rc = pcre2_match(p->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, at,
                     PCRE2_NO_UTF_CHECK | PCRE2_ANCHORED, data, c);
    found = pcre2_get_ovector_pointer(data);
    if (rc > 0) {
        *from = found[2];
        *to = found[3];
    }
    pcre2_match_context_free(c);
    pcre2_match_data_free(data);
    if (rc > 0)
        return PATTERN_YES;
    return rc == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_TOO_COMPLEX;
}

/* A step compares states pairwise at the worst: how many there may be for a text of n bytes. */
static size_t ints_for(size_t n)
{
    double states = sqrt((double)PATTERN_WORK_MAX / (double)(n + 1));
    size_t ints = INTS_MIN + INTS_PER_STATE * (size_t)states;

    return ints < INTS_MAX ? ints : INTS_MAX;
}

static int match(const struct pattern *p, str text, pcre2_match_data *data, int *memory, size_t n)
{
    return pcre2_dfa_match(p->code, (PCRE2_SPTR)(text.p ? text.p : ""), text.n, 0,
                           PCRE2_NO_UTF_CHECK | PCRE2_DFA_SHORTEST | PCRE2_ANCHORED, data, NULL,
                           memory, n);
}

static enum pattern_result match_any(const struct pattern *p, str text)
{
    size_t most = ints_for(text.n);
    int small[SMALL_INTS], rc;
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);

    if (!data)
        mem_exhausted();
    rc = match(p, text, data, small, most < SMALL_INTS ? most : SMALL_INTS);
    for (size_t n = 8 * SMALL_INTS; rc == PCRE2_ERROR_DFA_WSSIZE && most > SMALL_INTS; n *= 8) {
        size_t count = n < most ? n : most;
        int *memory = mem_alloc(count * sizeof(int));

        rc = match(p, text, data, memory, count);
        free(memory);
        if (count == most)
            break;
    }
    pcre2_match_data_free(data);
    if (rc >= 0)
        return PATTERN_YES;
    return rc == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_TOO_COMPLEX;
}

bool pattern_is_quick(const struct pattern *p)
{
    return p->bits != NULL;
}

enum pattern_result pattern_match(const struct pattern *p, str text)
{
    switch (p->bits ? bits_match(p->bits, text) : BITS_NOT_ASCII) {
    case BITS_NO:
        return PATTERN_NO;
    case BITS_YES:
        return PATTERN_YES;
    case BITS_NOT_ASCII:
        break;
    }
    return match_any(p, text);
}
