/* SPDX-License-Identifier: Apache-2.0 */
#include "object/cel/cel_fault_walk.h"

#include "base/banned.h"
#include "base/buf.h"

/* ---- telling ---- */

static void syntax(struct walk *w, int64_t at, const char *why)
{
    if (w->over)
        return;
    if (w->reports++ < REPORTS_MAX) {
        cel_fault(w->out, at, "Syntax error: %s", why);
        return;
    }
    cel_fault(w->out, at, "Syntax error: More than %d syntax errors", REPORTS_MAX);
    w->over = true;
}

static void limit(struct walk *w, const char *why)
{
    if (!w->over)
        cel_fault(w->out, CEL_NOWHERE, "%s", why);
    w->over = true;
}

void walk_meaning(struct walk *w, int64_t at, const char *why)
{
    if (w->nmeanings == w->meanings_cap) {
        size_t cap = w->meanings_cap ? 2 * w->meanings_cap : 8;
        struct cel_fault *all = arena_array(w->arena, struct cel_fault, cap);

        if (w->nmeanings)
            memcpy(all, w->meanings, w->nmeanings * sizeof(*all));
        w->meanings = all;
        w->meanings_cap = cap;
    }
    w->meanings[w->nmeanings++] = (struct cel_fault){ .why = why, .at = at };
}

/* ---- words ---- */

static void read_word(struct walk *w)
{
    struct cel_word next;

    do {
        next = cel_word_at(w->text, w->read);
        w->read = next.end;
        if (next.type == WORD_BAD)
            syntax(w, (int64_t)next.at,
                   arena_printf(w->arena, "token recognition error at: '%.*s'",
                                STR_ARG(str_sub(w->text, next.at, next.end - next.at))));
    } while (next.type == WORD_BLANK || next.type == WORD_COMMENT || next.type == WORD_BAD);
    if (w->nwords == w->words_cap) {
        size_t cap = w->words_cap ? 2 * w->words_cap : 64;
        struct cel_word *all = arena_array(w->arena, struct cel_word, cap);

        if (w->nwords)
            memcpy(all, w->words, w->nwords * sizeof(*all));
        w->words = all;
        w->words_cap = cap;
    }
    w->words[w->nwords++] = next;
}

struct cel_word walk_word(struct walk *w, size_t ahead)
{
    while (!w->over && w->nwords <= w->at + ahead &&
           (!w->nwords || w->words[w->nwords - 1].type != WORD_END))
        read_word(w);
    if (w->over)
        return (struct cel_word){ .type = WORD_END, .at = w->text.n, .end = w->text.n };
    return w->words[w->at + ahead < w->nwords ? w->at + ahead : w->nwords - 1];
}

enum cel_word_type walk_type(struct walk *w)
{
    return walk_word(w, 0).type;
}

int64_t walk_here(struct walk *w)
{
    return w->text.n ? (int64_t)walk_word(w, 0).at : CEL_BEFORE;
}

static void skip(struct walk *w)
{
    if (walk_type(w) != WORD_END)
        w->at++;
    (void)walk_word(w, 0);
}

static void matched(struct walk *w)
{
    w->recovering = false;
    w->failed_at = SIZE_MAX;
    memset(w->failed_in, 0, sizeof(w->failed_in));
}

int64_t walk_take(struct walk *w)
{
    int64_t at = walk_here(w);

    matched(w);
    skip(w);
    return at;
}

/* Words from one to another as they stand, without what is none. */
static str shown(struct walk *w, struct cel_word from, struct cel_word to)
{
    scoped_buf b = { .max = 2 * w->text.n + 16 };

    if (from.type == WORD_END)
        return STR("<EOF>");
    for (size_t at = from.at; at < to.end;) {
        struct cel_word next = cel_word_at(w->text, at);

        for (at = next.end; next.type != WORD_BAD && next.at < next.end; next.at++) {
            char c = w->text.p[next.at];
            const char *name = c == '\t' ? "\\t" : c == '\n' ? "\\n" : c == '\r' ? "\\r" : NULL;

            buf_str_append(&b, name ? str_of(name) : str_sub(w->text, next.at, 1));
        }
    }
    return str_dup(w->arena, buf_str(&b));
}

static const char *set_text(struct arena *a, set s)
{
    static const char *const names[] = {
#define X(name, text) text,
        CEL_WORDS(X)
#undef X
    };
    scoped_buf b = { .max = 1024 };
    size_t n = 0;

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        if (!(s >> i & 1))
            continue;
        buf_str_append(&b, n++ ? STR(", ") : STR_NONE);
        buf_str_append(&b, str_of(names[i]));
    }
    return arena_printf(a, n > 1 ? "{%.*s}" : "%.*s", STR_ARG(buf_str(&b)));
}

/* ---- going on behind a fault ---- */

/* What may stand here, given what the rule allows. */
static set expected(const struct walk *w, set s)
{
    return s & REST ? (s & ~REST) | w->frame.behind : s;
}

/* The first fault since a word was as expected is told, others come of it. */
static bool first_fault(struct walk *w)
{
    bool first = !w->recovering;

    w->recovering = true;
    return first && !w->over;
}

static void unwanted(struct walk *w, set s)
{
    if (first_fault(w))
        syntax(w, walk_here(w),
               arena_printf(w->arena, "extraneous input '%.*s' expecting %s",
                            STR_ARG(shown(w, walk_word(w, 0), walk_word(w, 0))),
                            set_text(w->arena, expected(w, s))));
}

static void count_recovery(struct walk *w)
{
    if (w->recoveries++ != RECOVERIES_MAX || w->over)
        return;
    syntax(w, walk_here(w), "error recovery attempt limit exceeded: 30");
    w->over = true;
}

static void skip_counted(struct walk *w)
{
    if (w->skipped++ >= SKIPPED_MAX)
        limit(w, "error recovery token lookahead limit exceeded: 256");
    skip(w);
}

/* To a word that can follow.  A second fault at the same word and place skips that one. */
static void recover(struct walk *w, unsigned state)
{
    uint64_t bit = (uint64_t)1 << (state & 63), *in = &w->failed_in[state / 64];

    count_recovery(w);
    w->skipped = 0;
    if (w->failed_at == w->at && *in & bit)
        skip_counted(w);
    w->failed_at = w->at;
    *in |= bit;
    while (walk_type(w) != WORD_END && !has(w->frame.recovery, walk_type(w)))
        skip_counted(w);
}

/* Always false: the rule ends here. */
static bool mismatch(struct walk *w, unsigned state, set s)
{
    if (first_fault(w))
        syntax(w, walk_here(w),
               arena_printf(w->arena, "mismatched input '%.*s' expecting %s",
                            STR_ARG(shown(w, walk_word(w, 0), walk_word(w, 0))),
                            set_text(w->arena, expected(w, s))));
    recover(w, state);
    return false;
}

bool walk_no_form(struct walk *w, unsigned state, size_t ahead)
{
    struct cel_word last = walk_word(w, ahead);
    str text = shown(w, walk_word(w, 0), last),
        named = str_sub(w->text, last.at, last.end - last.at);
    bool reserved = last.type == WORD_TRUE || last.type == WORD_FALSE || last.type == WORD_NULL;

    if (first_fault(w)) /* k8s: cel-go reservedIdentifier: after one character only */
        syntax(
            w, w->text.n ? (int64_t)last.at : CEL_BEFORE,
            reserved && text.n == named.n + 1
                ? arena_printf(w->arena, "mismatched input '%.*s' expecting IDENTIFIER",
                               STR_ARG(named))
                : arena_printf(w->arena, "no viable alternative at input '%.*s'", STR_ARG(text)));
    recover(w, state);
    return false;
}

/* A word too many is left out, if the one behind it fits. */
static bool leave_out(struct walk *w, set s)
{
    if (!has(expected(w, s), walk_word(w, 1).type) || w->over)
        return false;
    unwanted(w, s);
    skip(w);
    matched(w);
    return true;
}

bool walk_choose(struct walk *w, unsigned state, set s)
{
    if (w->recovering || s & REST || has(s, walk_type(w)) || leave_out(w, s))
        return true;
    return mismatch(w, state, s);
}

void walk_go_round(struct walk *w, set s)
{
    if (w->recovering || has(s, walk_type(w)))
        return;
    unwanted(w, s);
    while (walk_type(w) != WORD_END && !has(expected(w, s) | w->frame.recovery, walk_type(w)))
        skip(w);
}

bool walk_need(struct walk *w, unsigned state, enum cel_word_type wanted, set then)
{
    set s = (set)1 << wanted;

    if (walk_type(w) == wanted && !w->over) {
        (void)walk_take(w);
        return true;
    }
    count_recovery(w);
    if (leave_out(w, s)) {
        skip(w);
        return true;
    }
    if (!has(expected(w, then), walk_type(w)))
        return mismatch(w, state, s);
    if (first_fault(w))
        syntax(w, walk_here(w),
               arena_printf(w->arena, "missing %s at '%.*s'", set_text(w->arena, s),
                            STR_ARG(shown(w, walk_word(w, 0), walk_word(w, 0)))));
    return true;
}

struct frame walk_enter(struct walk *w, enum rule rule, set follow)
{
    struct frame was = w->frame;

    w->frame.behind = expected(w, follow);
    w->frame.recovery |= follow & ~REST;
    if (++w->depth[rule] > CEL_DEPTH_MAX)
        limit(w, "expression recursion limit exceeded: 250");
    return was;
}

void walk_leave(struct walk *w, enum rule rule, struct frame was)
{
    w->frame = was;
    if (w->depth[rule])
        w->depth[rule]--;
}
