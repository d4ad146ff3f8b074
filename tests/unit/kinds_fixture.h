/* SPDX-License-Identifier: Apache-2.0 */
#ifndef KINDS_FIXTURE_H
#define KINDS_FIXTURE_H

/*
 * What the tests of kinds/ share: the kinds, read once, and a request's worth of context.
 *
 *     struct fixture f = fixture_new("", "v1", "configmaps");
 *     const struct json *obj = fixture_read(&f, "{…}");
 *     CHECK_STR(fixture_faults(&f, obj, NULL), "data[a b]: Invalid value: …");
 *     fixture_release(&f);
 */

#include <stdlib.h>

#include "kinds/kinds.h"
#include "tap.h"

struct fixture {
    const struct kind *kind;
    struct kind_context c;
    struct status st;
};

static inline uint32_t fixture_type_id(void *arg, str group, str plural)
{
    (void)group;
    (void)plural;
    return ++*(uint32_t *)arg;
}

static inline void fixture_kinds(void)
{
    static uint32_t types;
    static bool ready;
    struct arena *a;
    struct status st;

    if (ready)
        return;
    ready = true;
    a = arena_new();
    status_init(&st, a);
    if (kinds_init(fixture_type_id, &types, &st) < 0) {
        printf("Bail out! kinds_init: %.*s\n", STR_ARG(st.message));
        exit(1);
    }
    arena_free(a);
    (void)atexit(kinds_free);
}

static inline struct fixture fixture_new(const char *group, const char *version, const char *plural)
{
    struct fixture f = { .c = { .namespace_ = STR_INIT("ns"), .name = STR_INIT("x") } };

    fixture_kinds();
    f.kind = catalog_find(kinds_catalog_root(), str_of(group), str_of(version), str_of(plural));
    f.c.kind = f.kind;
    f.c.arena = arena_new();
    f.c.now_s = 1577934245; /* 2020-01-02T03:04:05Z */
    status_init(&f.st, f.c.arena);
    if (!f.kind) {
        printf("Bail out! no %s\n", plural);
        exit(1);
    }
    return f;
}

static inline void fixture_release(struct fixture *f)
{
    arena_free(f->c.arena);
}

/* Decoded by the schema, with the defaults of table and strategy: what the strategy sees. */
static inline const struct json *fixture_read(struct fixture *f, const char *text)
{
    const struct json *in = &json_null, *out = &json_null;

    if (json_parse(f->c.arena, str_of(text), NULL, &in, &f->st) < 0 ||
        schema_decode(f->c.arena, f->kind->schema, in, NULL, &out, &f->st) < 0) {
        printf("# %.*s\n", STR_ARG(f->st.message));
        tap_failed = 1;
    }
    return f->kind->ops->defaults ? f->kind->ops->defaults(&f->c, out) : out;
}

/* What validation says, faults parted by "; ", in order; old is NULL on create. */
static inline const char *fixture_faults(struct fixture *f, const struct json *obj,
                                         const struct json *old)
{
    const struct kind_ops *ops = f->kind->ops;
    str out = STR_NONE;

    f->c.create = !old;
    status_reset(&f->st);
    if (ops->validate)
        ops->validate(&f->c, obj, &f->st);
    if (old && ops->validate_update)
        ops->validate_update(&f->c, obj, old, &f->st);
    for (const struct cause *c = f->st.causes; c; c = c->next)
        out = str_printf(f->c.arena, "%.*s%s%.*s: %.*s", STR_ARG(out), out.n ? "; " : "",
                         STR_ARG(c->field), STR_ARG(c->message));
    return str_z(f->c.arena, out);
}

/* fixture_faults of a text on create. */
static inline const char *fixture_create_faults(struct fixture *f, const char *text)
{
    return fixture_faults(f, fixture_read(f, text), NULL);
}

/* The text with ' for ": JSON that can be read in C. */
static inline const char *fixture_quotes(struct fixture *f, const char *text)
{
    char *out = str_z(f->c.arena, str_of(text));

    for (char *p = out; *p; p++)
        if (*p == '\'')
            *p = '"';
    return out;
}

/* A manifest and what is wrong with it; "" for a good one. */
struct fixture_row {
    const char *manifest, *faults;
};

/* `frame` holds a %s for the manifest of each row; both are written with ' for ". */
static inline void fixture_rows(struct fixture *f, const char *frame,
                                const struct fixture_row *rows, size_t n)
{
    const char *hole = strstr(frame, "%s");

    for (size_t i = 0; i < n; i++) {
        str text = str_printf(f->c.arena, "%.*s%s%s", (int)(hole - frame), frame, rows[i].manifest,
                              hole + 2);

        CHECK_STR(fixture_create_faults(f, fixture_quotes(f, str_z(f->c.arena, text))),
                  rows[i].faults);
    }
}
#define FIXTURE_ROWS(f, frame, rows) \
    fixture_rows((f), (frame), (rows), sizeof(rows) / sizeof(*(rows)))

/* The change from one text to another, on update. */
static inline const char *fixture_update_faults(struct fixture *f, const char *was, const char *now)
{
    const struct json *old = fixture_read(f, fixture_quotes(f, was));

    return fixture_faults(f, fixture_read(f, fixture_quotes(f, now)), old);
}

static inline const char *fixture_print(struct fixture *f, const struct json *v)
{
    scoped_buf b;

    buf_init(&b, 1 << 20);
    json_print_canonical(&b, v ? v : &json_null);
    return str_z(f->c.arena, buf_str(&b));
}

/* The cells of the object as JSON. */
static inline const char *fixture_cells(struct fixture *f, const char *text)
{
    struct json_array cells = json_array_new(f->c.arena);

    f->kind->ops->cells(f->c.arena, fixture_read(f, text), f->c.now_s, &cells);
    return str_z(f->c.arena, json_text(f->c.arena, json_array_done(&cells)));
}

#endif
