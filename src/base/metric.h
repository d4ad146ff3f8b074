/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_METRIC_H
#define BASE_METRIC_H

/*
 * The registry of metrics, and the only place that knows how Prometheus wants them printed.
 *
 * A metric of the process is defined in the file that counts, and is registered before main():
 *
 *     METRIC(evictions, METRIC_COUNTER, "kairship_evictions_total", "Workloads evicted.")
 *     …
 *     metric_add(&evictions, 1);
 *
 * METRIC_BY has a label, METRIC_HISTOGRAM_OF has buckets, METRIC_READ is read at the scrape.
 *
 * Parts of which a process has several (API servers in a simulation), or that count on each
 * request, have a set of their own: a table of specs, and slots for them that threads do not share.
 *
 * The words of a label are a fixed table, never the name of an instance, an object or a person, so
 * memory and the scrape stay small however much is served.  Counting takes no lock and allocates
 * nothing.  Values are integers; `per` says which part of the metric's unit they are.
 */

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

struct buf;

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM, METRIC_SUMMARY };

enum { METRIC_LABELS = 2 };
#define METRIC_NONE INT64_MIN /* in the place of a value: it is left out */

struct metric_label {
    const char *name;         /* NULL: there is none */
    const char *const *words; /* NULL: metric_row() is given them */
    size_t n;
};

struct metric_spec {
    const char *name, *help;
    enum metric_type type;
    struct metric_label labels[METRIC_LABELS];
    int64_t per;           /* 1000000: microseconds, printed as seconds; a power of ten, 0 is 1 */
    const int64_t *bounds; /* of a histogram, rising; the last bucket, +Inf, has none */
    size_t nbounds;
    bool sparse; /* what is 0 is left out */
};

/* A spec without labels and buckets. */
#define METRIC_PLAIN(type_, name_, help_)                 \
    {                                                     \
        .name = (name_), .help = (help_), .type = (type_) \
    }

/*
 * A metric's values: one for each word of its label, for each pair of words if it has two (cell =
 * word of the first * words of the second + word of the second).  A cell of a histogram or a
 * summary is its buckets (not cumulated), the one of +Inf, and the sum.
 */
size_t metric_slots(const struct metric_spec *s);

/* ---- metrics of the process ---- */

typedef _Atomic int64_t metric_slot;

struct metric {
    struct metric_spec spec;
    metric_slot *slots;
    void (*read)(struct buf *out, const struct metric_spec *s); /* instead: prints all rows */
    struct metric *next;
};

#define METRIC_DEFINE(id, slots, read, ...)                            \
    static struct metric id = { { __VA_ARGS__ }, (slots), (read), 0 }; \
    __attribute__((constructor)) static void register_##id(void)       \
    {                                                                  \
        metric_register(&id);                                          \
    }
#define METRIC(id, type_, name_, help_) \
    static metric_slot id##_slots[1];   \
    METRIC_DEFINE(id, id##_slots, NULL, .name = (name_), .help = (help_), .type = (type_))
/* The words follow; a word's place in them is its cell. */
#define METRIC_BY(id, type_, name_, help_, label_, ...)                                    \
    static const char *const id##_words[] = { __VA_ARGS__ };                               \
    static metric_slot id##_slots[sizeof(id##_words) / sizeof(*id##_words)];               \
    METRIC_DEFINE(id, id##_slots, NULL, .name = (name_), .help = (help_), .type = (type_), \
                  .labels[0] = { (label_), id##_words, sizeof(id##_words) / sizeof(*id##_words) })
/* The bounds follow. */
#define METRIC_HISTOGRAM_OF(id, name_, help_, per_, ...)                           \
    static const int64_t id##_bounds[] = { __VA_ARGS__ };                          \
    static metric_slot id##_slots[sizeof(id##_bounds) / sizeof(*id##_bounds) + 2]; \
    METRIC_DEFINE(id, id##_slots, NULL, .name = (name_), .help = (help_),          \
                  .type = METRIC_HISTOGRAM, .per = (per_), .bounds = id##_bounds,  \
                  .nbounds = sizeof(id##_bounds) / sizeof(*id##_bounds))
/* read() calls metric_rows() or metric_row(); any thread. */
#define METRIC_READ(id, read_, type_, name_, help_, label_)                           \
    METRIC_DEFINE(id, NULL, read_, .name = (name_), .help = (help_), .type = (type_), \
                  .labels[0] = { .name = (label_) })

void metric_register(struct metric *m); /* before there are threads; it stays for ever */

/* Any thread. */
static inline void metric_add_at(struct metric *m, size_t cell, int64_t n)
{
    atomic_fetch_add_explicit(&m->slots[cell], n, memory_order_relaxed);
}
static inline void metric_add(struct metric *m, int64_t n)
{
    metric_add_at(m, 0, n);
}
void metric_observe(struct metric *m, int64_t value);

/* Appends all of them and those of the process itself, ordered by name.  Any thread. */
void metric_print(struct buf *out);

/* ---- a set ---- */

struct metric_set;

struct metric_set *metric_set_new(const struct metric_spec *specs, size_t n); /* kept */
void metric_set_free(struct metric_set *s);

/* Of the spec at that place in the table.  Any thread. */
void metric_set_add(struct metric_set *s, size_t spec, size_t cell, int64_t n);
void metric_set_observe(struct metric_set *s, size_t spec, size_t cell, int64_t value);
void metric_set_print(const struct metric_set *s, struct buf *out);

/* ---- printing values that are kept elsewhere ---- */

#define METRIC_CONTENT_TYPE "text/plain; version=0.0.4; charset=utf-8"

/* The metric with all its cells, from metric_slots() values. */
void metric_rows(struct buf *out, const struct metric_spec *s, const int64_t *slots);
/* Several without labels: one value each. */
void metric_each(struct buf *out, const struct metric_spec *specs, size_t n, const int64_t *values);

/* Where the words are known now only: its head once, then a row for each. */
void metric_head(struct buf *out, const struct metric_spec *s);
void metric_row(struct buf *out, const struct metric_spec *s, const str *words, int64_t value);

#endif
