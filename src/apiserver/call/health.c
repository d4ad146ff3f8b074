/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/health.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "apiserver/call/reqinfo.h"
#include "base/banned.h"
#include "base/buf.h"
#include "base/mem.h"

enum { CHECKS_MAX = 32, EXCLUDES_MAX = 32 };

struct health {
    struct health_check checks[CHECKS_MAX];
    size_t n;
    atomic_bool draining;
};

static const struct {
    str name;
    enum health_endpoint bit;
} endpoints[] = {
    { STR_INIT("healthz"), HEALTH_HEALTHZ },
    { STR_INIT("livez"), HEALTH_LIVEZ },
    { STR_INIT("readyz"), HEALTH_READYZ },
};

static int check_ping(void *arg, struct status *st)
{
    (void)arg;
    (void)st;
    return 0;
}

static int check_shutdown(void *arg, struct status *st)
{
    struct health *h = arg;

    if (atomic_load_explicit(&h->draining, memory_order_relaxed))
        return status_set(st, REASON_UNAVAILABLE, "process is shutting down");
    return 0;
}

struct health *health_new(void)
{
    struct health *h = mem_zalloc(sizeof(*h));

    atomic_init(&h->draining, false);
    health_add(h, (struct health_check){ STR("ping"), HEALTH_HEALTHZ | HEALTH_LIVEZ | HEALTH_READYZ,
                                         check_ping, NULL });
    health_add(h, (struct health_check){ STR("shutdown"), HEALTH_READYZ, check_shutdown, h });
    return h;
}

void health_free(struct health *h)
{
    free(h);
}

void health_add(struct health *h, struct health_check check)
{
    assert(h->n < CHECKS_MAX);
    h->checks[h->n++] = check;
}

void health_drain(struct health *h)
{
    atomic_store_explicit(&h->draining, true, memory_order_relaxed);
}

/* The names of ?exclude=, each crossed out when it was met. */
struct excludes {
    str names[EXCLUDES_MAX];
    bool met[EXCLUDES_MAX];
    size_t n;
};

static void read_excludes(struct arena *a, str query, struct excludes *out)
{
    str value;

    out->n = 0;
    for (str rest = query, pair; out->n < EXCLUDES_MAX && str_split(&rest, '&', &pair);) {
        if (!query_get(a, pair, STR("exclude"), &value))
            continue;
        out->met[out->n] = false;
        out->names[out->n++] = value;
    }
}

static bool is_excluded(struct excludes *e, str name)
{
    bool found = false;

    for (size_t i = 0; i < e->n; i++) {
        if (!str_eq(e->names[i], name))
            continue;
        e->met[i] = true;
        found = true;
    }
    return found;
}

static void print_unmet(struct buf *b, const struct excludes *e)
{
    bool any = false;

    for (size_t i = 0; i < e->n; i++) {
        if (e->met[i])
            continue;
        if (!any)
            buf_lit(b, "warn: some health checks cannot be excluded: no matches for ");
        buf_printf(b, "%s\"%.*s\"", any ? ", " : "", STR_ARG(e->names[i]));
        any = true;
    }
    if (any)
        buf_byte(b, '\n');
}

/* False when one of the checks fails; the lines of all go to b. */
static bool run_all(const struct health *h, struct arena *a, unsigned bit, struct excludes *e,
                    struct buf *b)
{
    bool ok = true;

    for (size_t i = 0; i < h->n; i++) {
        const struct health_check *c = &h->checks[i];
        struct status st;

        if (!(c->endpoints & bit))
            continue;
        status_init(&st, a);
        if (is_excluded(e, c->name)) {
            buf_printf(b, "[+]%.*s excluded: ok\n", STR_ARG(c->name));
        } else if (c->fn(c->arg, &st) < 0) {
            /* The endpoint is public: why it failed is only told where the check is asked for. */
            buf_printf(b, "[-]%.*s failed: reason withheld\n", STR_ARG(c->name));
            ok = false;
        } else {
            buf_printf(b, "[+]%.*s ok\n", STR_ARG(c->name));
        }
    }
    print_unmet(b, e);
    return ok;
}

static void serve_all(const struct health *h, struct arena *a, size_t endpoint, str query,
                      struct health_answer *out)
{
    scoped_buf b = { .max = 256 << 10 };
    struct excludes e;
    str name = endpoints[endpoint].name, value;
    bool ok;

    read_excludes(a, query, &e);
    ok = run_all(h, a, endpoints[endpoint].bit, &e, &b);
    out->code = ok ? 200 : 500;
    if (ok && !query_get(a, query, STR("verbose"), &value)) {
        out->body = STR("ok");
        return;
    }
    buf_printf(&b, "%.*s check %s\n", STR_ARG(name), ok ? "passed" : "failed");
    out->body = str_dup(a, buf_str(&b));
}

static void serve_one(const struct health *h, struct arena *a, size_t endpoint, str name,
                      struct health_answer *out)
{
    for (size_t i = 0; i < h->n; i++) {
        const struct health_check *c = &h->checks[i];
        struct status st;

        if (!(c->endpoints & endpoints[endpoint].bit) || !str_eq(c->name, name))
            continue;
        status_init(&st, a);
        if (c->fn(c->arg, &st) < 0) {
            out->code = 500;
            out->body = str_printf(a, "internal server error: %.*s\n", STR_ARG(st.message));
        } else {
            out->code = 200;
            out->body = STR("ok");
        }
        return;
    }
    out->code = 404;
    out->body = STR("404 page not found\n");
}

bool health_serve(const struct health *h, struct arena *a, str path, str query,
                  struct health_answer *out)
{
    for (size_t i = 0; i < sizeof(endpoints) / sizeof(*endpoints); i++) {
        str rest;

        if (!str_starts(str_from(path, 1), endpoints[i].name))
            continue;
        rest = str_from(path, 1 + endpoints[i].name.n);
        if (rest.n > 0 && rest.p[0] != '/')
            continue;
        out->content_type = STR("text/plain; charset=utf-8");
        if (rest.n <= 1)
            serve_all(h, a, i, query, out);
        else
            serve_one(h, a, i, str_from(rest, 1), out);
        return true;
    }
    return false;
}
