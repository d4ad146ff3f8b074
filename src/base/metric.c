/* SPDX-License-Identifier: Apache-2.0 */
#include "base/metric.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/metric_process.h"

/* Two loops and some workers seldom meet in one of 8. */
enum { SHARDS = 8, LINE = 64, PER_LINE = LINE / sizeof(metric_slot) };

static struct metric *first; /* by name; frozen when main() begins */

void metric_register(struct metric *m)
{
    struct metric **at = &first;

    while (*at && strcmp((*at)->spec.name, m->spec.name) < 0)
        at = &(*at)->next;
    m->next = *at;
    *at = m;
}

/* ---- slots ---- */

static size_t cells_of(const struct metric_spec *s)
{
    size_t n = 1;

    for (size_t i = 0; i < METRIC_LABELS && s->labels[i].name; i++)
        n *= s->labels[i].n;
    return n;
}

static size_t slots_of_cell(const struct metric_spec *s)
{
    return s->type == METRIC_HISTOGRAM || s->type == METRIC_SUMMARY ? s->nbounds + 2 : 1;
}

size_t metric_slots(const struct metric_spec *s)
{
    return cells_of(s) * slots_of_cell(s);
}

static void add(metric_slot *slot, int64_t n)
{
    atomic_fetch_add_explicit(slot, n, memory_order_relaxed);
}

static int64_t get(const metric_slot *slot)
{
    return atomic_load_explicit(slot, memory_order_relaxed);
}

/* A clock that jumped back counts as no time. */
static void observe(const struct metric_spec *s, metric_slot *slots, int64_t value)
{
    size_t i = 0;

    while (i < s->nbounds && value > s->bounds[i])
        i++;
    add(&slots[i], 1);
    add(&slots[s->nbounds + 1], value > 0 ? value : 0);
}

void metric_observe(struct metric *m, int64_t value)
{
    observe(&m->spec, m->slots, value);
}

/* ---- printing ---- */

void metric_head(struct buf *out, const struct metric_spec *s)
{
    static const char *const types[] = { [METRIC_COUNTER] = "counter",
                                         [METRIC_GAUGE] = "gauge",
                                         [METRIC_HISTOGRAM] = "histogram",
                                         [METRIC_SUMMARY] = "summary" };

    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", s->name, s->help, s->name, types[s->type]);
}

static void print_word(struct buf *out, const char *label, str word, bool is_first)
{
    buf_printf(out, "%s%s=\"", is_first ? "{" : ",", label);
    for (size_t i = 0; i < word.n; i++)
        if (word.p[i] == '\n')
            buf_lit(out, "\\n");
        else {
            if (word.p[i] == '"' || word.p[i] == '\\')
                buf_byte(out, '\\');
            buf_byte(out, word.p[i]);
        }
    buf_byte(out, '"');
}

/* The name and the labels; le is "" but for a bucket. */
static void print_name(struct buf *out, const struct metric_spec *s, const char *suffix,
                       const str *words, const char *le)
{
    size_t n = 0;

    buf_printf(out, "%s%s", s->name, suffix);
    for (; n < METRIC_LABELS && s->labels[n].name; n++)
        print_word(out, s->labels[n].name, words[n], n == 0);
    if (*le)
        print_word(out, "le", str_of(le), n == 0);
    if (n || *le)
        buf_byte(out, '}');
    buf_byte(out, ' ');
}

static void print_value(struct buf *out, const struct metric_spec *s, int64_t value)
{
    int digits = 0;

    for (int64_t part = s->per; part > 1; part /= 10)
        digits++;
    if (digits)
        buf_printf(out, "%.*f\n", digits, (double)value / (double)s->per);
    else
        buf_printf(out, "%" PRId64 "\n", value);
}

void metric_row(struct buf *out, const struct metric_spec *s, const str *words, int64_t value)
{
    if (value == METRIC_NONE || (s->sparse && value == 0))
        return;
    print_name(out, s, "", words, "");
    print_value(out, s, value);
}

static void print_bucket(struct buf *out, const struct metric_spec *s, const str *words, size_t i,
                         int64_t n)
{
    char le[32] = "+Inf";

    if (i < s->nbounds && s->per > 1)
        (void)snprintf(le, sizeof(le), "%g", (double)s->bounds[i] / (double)s->per);
    else if (i < s->nbounds)
        (void)snprintf(le, sizeof(le), "%" PRId64, s->bounds[i]);
    print_name(out, s, "_bucket", words, le);
    buf_printf(out, "%" PRId64 "\n", n);
}

static void print_distribution(struct buf *out, const struct metric_spec *s, const str *words,
                               const int64_t *slots)
{
    int64_t n = 0;

    for (size_t i = 0; i <= s->nbounds; i++) {
        n += slots[i];
        if (s->type == METRIC_HISTOGRAM)
            print_bucket(out, s, words, i, n);
    }
    print_name(out, s, "_sum", words, "");
    print_value(out, s, slots[s->nbounds + 1]);
    print_name(out, s, "_count", words, "");
    buf_printf(out, "%" PRId64 "\n", n);
}

/* The words of a cell. */
static void spell(const struct metric_spec *s, size_t cell, str words[METRIC_LABELS])
{
    for (size_t i = METRIC_LABELS; i-- > 0;) {
        const struct metric_label *l = &s->labels[i];

        words[i] = l->name ? str_of(l->words[cell % l->n]) : STR_NONE;
        cell /= l->name ? l->n : 1;
    }
}

void metric_rows(struct buf *out, const struct metric_spec *s, const int64_t *slots)
{
    size_t cells = cells_of(s), each = slots_of_cell(s);
    str words[METRIC_LABELS];

    metric_head(out, s);
    for (size_t i = 0; i < cells; i++) {
        spell(s, i, words);
        if (each == 1)
            metric_row(out, s, words, slots[i]);
        else
            print_distribution(out, s, words, slots + i * each);
    }
}

void metric_each(struct buf *out, const struct metric_spec *specs, size_t n, const int64_t *values)
{
    for (size_t i = 0; i < n; i++)
        metric_rows(out, &specs[i], &values[i]);
}

static void print_one(struct buf *out, const struct metric *m)
{
    size_t n = m->slots ? metric_slots(&m->spec) : 0;
    int64_t *values;

    if (m->read) {
        m->read(out, &m->spec);
        return;
    }
    values = mem_alloc(n * sizeof(*values));
    for (size_t i = 0; i < n; i++)
        values[i] = get(&m->slots[i]);
    metric_rows(out, &m->spec, values);
    free(values);
}

void metric_print(struct buf *out)
{
    for (const struct metric *m = first; m; m = m->next)
        print_one(out, m);
    metric_process_print(out);
}

/* ---- a set ---- */

struct metric_set {
    const struct metric_spec *specs;
    size_t nspecs, stride; /* slots of a shard, whole lines */
    metric_slot *slots;
    size_t start[]; /* of each spec, in a shard */
};

struct metric_set *metric_set_new(const struct metric_spec *specs, size_t n)
{
    struct metric_set *s = mem_zalloc(sizeof(*s) + n * sizeof(*s->start));
    size_t size, at = 0;
    void *p;

    s->specs = specs;
    s->nspecs = n;
    for (size_t i = 0; i < n; i++) {
        s->start[i] = at;
        at += metric_slots(&specs[i]);
    }
    s->stride = (at + PER_LINE - 1) / PER_LINE * PER_LINE;
    size = SHARDS * s->stride * sizeof(*s->slots);
    if (posix_memalign(&p, LINE, size) != 0)
        mem_exhausted();
    s->slots = memset(p, 0, size);
    return s;
}

void metric_set_free(struct metric_set *s)
{
    if (!s)
        return;
    free(s->slots);
    free(s);
}

static metric_slot *own_slots(struct metric_set *s, size_t spec, size_t cell)
{
    static atomic_uint next;
    static _Thread_local unsigned mine; /* one more than the index */

    if (mine == 0)
        mine = 1 + atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) % SHARDS;
    return s->slots + (mine - 1) * s->stride + s->start[spec] +
           cell * slots_of_cell(&s->specs[spec]);
}

void metric_set_add(struct metric_set *s, size_t spec, size_t cell, int64_t n)
{
    add(own_slots(s, spec, cell), n);
}

void metric_set_observe(struct metric_set *s, size_t spec, size_t cell, int64_t value)
{
    observe(&s->specs[spec], own_slots(s, spec, cell), value);
}

/* A gauge may rise on one shard and fall on another: only the sums mean something. */
void metric_set_print(const struct metric_set *s, struct buf *out)
{
    int64_t *sums = mem_alloc(s->stride * sizeof(*sums));

    memset(sums, 0, s->stride * sizeof(*sums));
    for (size_t i = 0; i < SHARDS * s->stride; i++)
        sums[i % s->stride] += get(&s->slots[i]);
    for (size_t i = 0; i < s->nspecs; i++)
        metric_rows(out, &s->specs[i], sums + s->start[i]);
    free(sums);
}
