/* SPDX-License-Identifier: Apache-2.0 */

/* Workloads 1 to 5 and 7 of DESIGN 8: get, create, list, memory. */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

enum { TOUCH_PAGE = 100 };

/* "16 connections x 32 in flight, random of 10000 objects" */
static void setup_text(struct bench_result *r, const struct bench_load *l, const char *before,
                       unsigned n, const char *behind)
{
    (void)snprintf(r->setup, sizeof(r->setup), "%u connections x %u in flight, %s%u%s",
                   l->connections, l->streams, before, n, behind);
}

static void set_get(struct bench_slot *s)
{
    s->call.method = STR("GET");
    s->call.path = buf_str(&s->path);
    s->call.body = STR_NONE;
}

/* Reads all once, by pages: what the server maps of its data is resident then. */
static int touch_all(struct bench *b, struct status *st)
{
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = str_of(b->o.namespace) };
    scoped_buf token;

    buf_init(&token, 64 << 10);
    do {
        scoped_arena a = arena_new();
        struct client_query q = { .limit = TOUCH_PAGE, .continue_token = buf_str(&token) };
        const struct json *list;

        if (client_list(b->client, a, &ref, &q, &list, st) < 0)
            return -1;
        buf_clear(&token);
        buf_str_append(&token, json_get_str(list, "metadata.continue"));
    } while (token.n);
    return 0;
}

/* ---- 1: get ---- */

struct get {
    struct bench *b;
    unsigned objects;
};

static bool next_get(struct bench_load *l, struct bench_slot *s)
{
    struct get *g = l->user;

    s->picked = bench_pick(g->b, g->objects);
    bench_configmaps_path(g->b, s);
    buf_printf(&s->path, "/o-%06llu", (unsigned long long)s->picked);
    set_get(s);
    return true;
}

static bool check_get(struct bench_load *l, struct bench_slot *s)
{
    char name[32];

    (void)l;
    (void)snprintf(name, sizeof(name), "\"name\":\"o-%06llu\"", (unsigned long long)s->picked);
    return str_contains(buf_str(&s->reply), str_of(name)) && s->bytes > 1024;
}

int bench_gets(struct bench *b, unsigned objects, struct bench_result *r, struct status *st)
{
    struct get g = { b, objects };
    struct bench_load l = bench_load_of(b, 16, 32);

    l.next = next_get;
    l.check = check_get;
    l.sample_every = 64;
    l.reply_max = 4096;
    l.user = &g;
    setup_text(r, &l, "random of ", g.objects, " objects");
    return bench_load_run(&l, r, st);
}

int bench_get(struct bench *b, struct bench_result *r, struct status *st)
{
    unsigned objects = bench_or(b->o.objects, 10000);

    return bench_objects(b, objects, st) < 0 ? -1 : bench_gets(b, objects, r, st);
}

/* ---- 2 and 3: create ---- */

struct create {
    struct bench *b;
    struct buf body; /* the same for all: the server makes the name */
};

static bool next_create(struct bench_load *l, struct bench_slot *s)
{
    struct create *c = l->user;

    bench_configmaps_path(c->b, s);
    s->call.method = STR("POST");
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&c->body);
    return true;
}

static bool check_create(struct bench_load *l, struct bench_slot *s)
{
    (void)l;
    return str_contains(buf_str(&s->reply), STR("\"name\":\"c-")) && s->bytes > 1024;
}

static int run_create(struct bench *b, struct bench_load l, struct bench_result *r,
                      struct status *st)
{
    struct create c = { .b = b };
    int rc;

    if (bench_objects(b, 0, st) < 0)
        return -1;
    buf_init(&c.body, 1 << 20);
    bench_object_body(b, &c.body, STR("\"generateName\":\"c-\""), 0, STR("0"));
    l.next = next_create;
    l.check = check_create;
    l.sample_every = 64;
    l.reply_max = 4096;
    l.user = &c;
    setup_text(r, &l, "", (unsigned)c.body.n, " bytes each");
    rc = bench_load_run(&l, r, st);
    buf_release(&c.body);
    return rc;
}

int bench_create(struct bench *b, struct bench_result *r, struct status *st)
{
    return run_create(b, bench_load_of(b, 4, 16), r, st);
}

int bench_create_serial(struct bench *b, struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(b, 1, 1);

    l.connections = l.streams = 1;
    return run_create(b, l, r, st);
}

/* ---- 4: list, whole and by pages ---- */

struct list {
    struct bench *b;
    unsigned objects, page;
};

static bool next_list(struct bench_load *l, struct bench_slot *s)
{
    struct list *x = l->user;

    bench_configmaps_path(x->b, s);
    set_get(s);
    return true;
}

static void per_cpu(struct bench_result *r, const char *name, double amount, const char *unit)
{
    if (r->have_cpu && r->cpu_s > 0)
        bench_figure(r, name, amount / r->cpu_s, unit);
}

static bool check_list(struct bench_load *l, struct bench_slot *s)
{
    struct list *x = l->user;

    return str_starts(buf_str(&s->reply), STR("{\"kind\":\"ConfigMapList\"")) &&
           s->bytes > 1024 * (size_t)x->objects;
}

int bench_list(struct bench *b, struct bench_result *r, struct status *st)
{
    struct list x = { .b = b, .objects = bench_or(b->o.objects, 18000) };
    struct bench_load l = bench_load_of(b, 2, 1);
    uint64_t anon;

    if (bench_objects(b, x.objects, st) < 0 || touch_all(b, st) < 0)
        return -1;
    bench_quiet(b); /* and has given back what the writes took */
    anon = bench_proc_read(&b->pids)
               .rss_anon; /* before the first whole list, so not after warming up */
    l.next = next_list;
    l.check = check_list;
    l.sample_every = 1;
    l.reply_max = 256;
    l.user = &x;
    setup_text(r, &l, "", x.objects, " objects unpaged");
    if (bench_load_run(&l, r, st) < 0)
        return -1;
    per_cpu(r, "MB per server CPU second", (double)r->bytes / 1e6, "MB");
    if (r->have_cpu)
        bench_figure(r, "memory per client",
                     ((double)r->anon_peak - (double)anon) / (l.connections * l.streams) / 1024,
                     "KiB");
    return 0;
}

/* Where the token of the next page stands: in the list's metadata, near the beginning. */
static str continue_token(str reply)
{
    static const char key[] = "\"continue\":\"";
    const char *p = memmem(reply.p, reply.n, key, sizeof(key) - 1);
    ptrdiff_t end;

    if (!p)
        return STR_NONE;
    reply = str_from(reply, (size_t)(p - reply.p) + sizeof(key) - 1);
    end = str_find(reply, '"', 0);
    return end < 0 ? STR_NONE : str_sub(reply, 0, (size_t)end);
}

static void append_escaped(struct buf *b, str text)
{
    for (size_t i = 0; i < text.n; i++) {
        unsigned char c = (unsigned char)text.p[i];

        if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
            c == '-' || c == '_' || c == '.')
            buf_byte(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

static bool next_page(struct bench_load *l, struct bench_slot *s)
{
    struct list *x = l->user;

    bench_configmaps_path(x->b, s);
    buf_printf(&s->path, "?limit=%u", x->page);
    if (s->memo.n) {
        buf_lit(&s->path, "&continue=");
        append_escaped(&s->path, buf_str(&s->memo));
    }
    set_get(s);
    return true;
}

static bool check_page(struct bench_load *l, struct bench_slot *s)
{
    (void)l;
    buf_clear(&s->memo); /* without a token the next page is the first one again */
    buf_str_append(&s->memo, continue_token(buf_str(&s->reply)));
    return str_starts(buf_str(&s->reply), STR("{\"kind\":\"ConfigMapList\"")) && s->bytes > 1024;
}

int bench_list_pages(struct bench *b, struct bench_result *r, struct status *st)
{
    struct list x = { .b = b,
                      .objects = bench_or(b->o.objects, 18000),
                      .page = bench_or(b->o.page, 50) };
    struct bench_load l = bench_load_of(b, 2, 1);

    if (bench_objects(b, x.objects, st) < 0)
        return -1;
    l.next = next_page;
    l.check = check_page;
    l.sample_every = 1;
    l.reply_max = 2048;
    l.user = &x;
    setup_text(r, &l, "pages of ", x.page, "");
    if (bench_load_run(&l, r, st) < 0)
        return -1;
    per_cpu(r, "pages per server CPU second", (double)r->ops, "pages");
    return 0;
}

/* ---- 5: list by label ---- */

static bool next_label(struct bench_load *l, struct bench_slot *s)
{
    struct list *x = l->user;

    s->picked = bench_pick(x->b, x->objects / 10);
    bench_configmaps_path(x->b, s);
    buf_printf(&s->path, "?labelSelector=group%%3Dg-%06llu", (unsigned long long)s->picked);
    set_get(s);
    return true;
}

static bool check_label(struct bench_load *l, struct bench_slot *s)
{
    char label[32];
    str reply = buf_str(&s->reply);
    unsigned n = 0;

    (void)l;
    (void)snprintf(label, sizeof(label), "\"group\":\"g-%06llu\"", (unsigned long long)s->picked);
    for (const char *p; (p = memmem(reply.p, reply.n, label, strlen(label))); n++)
        reply = str_from(reply, (size_t)(p - reply.p) + 1);
    return n >= 10; /* managedFields name labels without their values */
}

int bench_list_label(struct bench *b, struct bench_result *r, struct status *st)
{
    struct list x = { .b = b, .objects = bench_or(b->o.objects, 100000) };
    struct bench_load l = bench_load_of(b, 4, 4);

    if (bench_objects(b, x.objects, st) < 0)
        return -1;
    l.next = next_label;
    l.check = check_label;
    l.sample_every = 64;
    l.reply_max = 64 << 10;
    l.user = &x;
    setup_text(r, &l, "10 of ", x.objects, " objects by label");
    return bench_load_run(&l, r, st);
}

/* ---- 7: memory ---- */

static int object_size(struct bench *b, size_t *out, struct status *st)
{
    scoped_arena a = arena_new();
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = str_of(b->o.namespace),
                              .name = STR("o-000000") };
    const struct json *object;

    if (client_get(b->client, a, &ref, &object, st) < 0)
        return -1;
    *out = json_text(a, object).n;
    return 0;
}

int bench_memory(struct bench *b, struct bench_result *r, struct status *st)
{
    unsigned objects = bench_or(b->o.objects, 100000);
    size_t json = 0;
    double each;

    (void)snprintf(r->setup, sizeof(r->setup), "from 0 to %u objects", objects);
    if (!b->pids.n) {
        r->skipped = "memory is the server's: name its processes with --pids";
        return 0;
    }
    if (bench_objects(b, 0, st) < 0)
        return -1;
    bench_sleep(b, 1000);
    r->before = bench_proc_read(&b->pids);
    if (bench_objects(b, objects, st) < 0 || object_size(b, &json, st) < 0)
        return -1;
    bench_sleep(b, 3000); /* what it does in the background after writes */
    r->after = bench_proc_read(&b->pids);
    r->rss_peak = r->after.rss;
    r->have_cpu = true;
    each = ((double)r->after.rss - (double)r->before.rss) / objects;
    bench_figure(r, "idle memory", (double)r->before.rss / (1 << 20), "MiB");
    bench_figure(r, "memory per object", each, "bytes");
    bench_figure(r, "JSON per object", (double)json, "bytes");
    bench_figure(r, "memory to JSON", each / (double)json, "times");
    bench_figure(r, "anonymous memory per object",
                 ((double)r->after.rss_anon - (double)r->before.rss_anon) / objects, "bytes");
    /* A server that maps its data shows the cost of it only when somebody reads. */
    if (touch_all(b, st) < 0)
        return -1;
    bench_sleep(b, 1000);
    each = ((double)bench_proc_read(&b->pids).rss - (double)r->before.rss) / objects;
    bench_figure(r, "memory per object once read", each, "bytes");
    bench_figure(r, "memory to JSON once read", each / (double)json, "times");
    return 0;
}
