/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STORE_HELP_H
#define STORE_HELP_H

/* Short forms for tests of the store, and stores as text, which is easy to compare. */

#include <semaphore.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/epoch.h"
#include "store/store.h"

static inline struct store_op op_put(uint32_t type, uint32_t instance, str name, str value)
{
    return (struct store_op){
        .kind = STORE_PUT, .key = { type, instance, name }, .expect = STORE_ANY, .value = value
    };
}

static inline struct store_op op_of(enum store_op_kind kind, uint32_t type, uint32_t instance,
                                    str name)
{
    return (struct store_op){ .kind = kind, .key = { type, instance, name }, .expect = STORE_ANY };
}

/* The revision, or 0. */
static inline uint64_t commit(struct store *s, struct store_op *ops, size_t n)
{
    struct store_txn txn = { .ops = ops, .nops = n };

    (void)store_commit_wait(s, &txn);
    return txn.rev;
}

static inline uint64_t put(struct store *s, uint32_t type, uint32_t instance, const char *name,
                           const char *value)
{
    struct store_op op = op_put(type, instance, str_of(name), str_of(value));

    return commit(s, &op, 1);
}

static inline uint64_t del(struct store *s, uint32_t type, uint32_t instance, const char *name)
{
    struct store_op op = op_of(STORE_DELETE, type, instance, str_of(name));

    return commit(s, &op, 1);
}

static inline uint64_t drop(struct store *s, uint32_t instance)
{
    struct store_op op = { .kind = STORE_DROP, .key = { .instance = instance } };

    return commit(s, &op, 1);
}

/* The row's value at rev, "" when there is none, or the reason of the failure. */
static inline const char *get(struct store *s, struct arena *a, uint32_t type, uint32_t instance,
                              const char *name, uint64_t rev)
{
    struct store_key key = { type, instance, str_of(name) };
    struct store_row row;
    struct status st;
    int rc;

    status_init(&st, a);
    epoch_enter();
    rc = store_get(s, a, key, rev, &row, &st);
    epoch_exit();
    if (rc < 0)
        return arena_printf(a, "%s", status_reason(&st));
    return rc ? str_z(a, row.value) : "";
}

static inline bool text_row(void *arg, const struct store_row *row)
{
    buf_printf(arg, "%u/%u/%.*s@%llu+%llu=%.*s\n", row->key.type, row->key.instance,
               STR_ARG(row->key.name), (unsigned long long)row->rev,
               (unsigned long long)row->created, STR_ARG(row->value));
    return true;
}

/* A range as text, in the arena. */
static inline const char *text_range(struct store *s, struct arena *a, struct store_range r)
{
    struct buf b;
    struct status st;
    const char *text;
    int rc;

    buf_init(&b, 64 << 20);
    status_init(&st, a);
    epoch_enter();
    rc = store_scan(s, &r, text_row, &b, &st);
    epoch_exit();
    text = rc < 0 ? arena_printf(a, "%s", status_reason(&st)) : str_z(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static inline bool text_event(void *arg, const struct store_event *ev)
{
    buf_printf(arg, "%c%u/%u/%.*s@%llu", "+-x"[ev->kind], ev -> key.type, ev->key.instance,
               STR_ARG(ev->key.name), (unsigned long long)ev->rev);
    buf_printf(arg, "+%llu=%.*s<%llu:%.*s\n", (unsigned long long)ev->created, STR_ARG(ev->value),
               (unsigned long long)ev->prev_rev, STR_ARG(ev->prev_value));
    return true;
}

static inline const char *text_events(struct store *s, struct arena *a, uint32_t type,
                                      uint32_t instance, uint64_t after)
{
    struct buf b;
    struct status st;
    uint64_t upto = 0;
    const char *text;
    int rc;

    buf_init(&b, 64 << 20);
    status_init(&st, a);
    epoch_enter();
    rc = store_events(s, type, instance, after, text_event, &b, &upto, &st);
    epoch_exit();
    buf_printf(&b, "to %llu", (unsigned long long)upto);
    text = rc < 0 ? arena_printf(a, "%s", status_reason(&st)) : str_z(a, buf_str(&b));
    buf_release(&b);
    return text;
}

static inline uint64_t count(struct store *s, struct store_range r)
{
    scoped_arena a = arena_new();
    struct status st;
    uint64_t n = 0;

    status_init(&st, a);
    epoch_enter();
    if (store_count(s, &r, &n, &st) < 0)
        n = UINT64_MAX;
    epoch_exit();
    return n;
}

#endif
