/* SPDX-License-Identifier: Apache-2.0 */

/* The objects of the workloads: made, described, cleared away. */

#include <stdio.h>
#include <unistd.h>

#include "base/banned.h"
#include "bench/work.h"

enum { VALUE = 1024, GROUP = 10 };

void bench_configmaps_path(const struct bench *b, struct bench_slot *s)
{
    buf_str_append(&s->path, b->target.prefix);
    buf_printf(&s->path, "/api/v1/namespaces/%s/configmaps", b->o.namespace);
}

void bench_object_body(const struct bench *b, struct buf *out, str name_member, unsigned group,
                       str at)
{
    char *value;

    buf_printf(out,
               "{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"metadata\":{%.*s,\"namespace\":"
               "\"%s\",\"labels\":{\"app\":\"bench\",\"group\":\"g-%06u\",\"team\":\"platform\","
               "\"tier\":\"backend\"},\"annotations\":{" BENCH_AT
               "%.*s\",\"bench.kairship.io/note\":\"made by kairship-bench\"}},\"data\":{"
               "\"value\":\"",
               STR_ARG(name_member), b->o.namespace, group, STR_ARG(at));
    value = buf_reserve(out, VALUE);
    for (unsigned i = 0; i < VALUE; i++)
        value[i] = (char)('a' + (i * 7 + group) % 26);
    out->n += VALUE;
    buf_lit(out, "\"}}");
}

/* ---- making ---- */

struct making {
    struct bench *b;
    unsigned n;
};

static bool next_object(struct bench_load *l, struct bench_slot *s)
{
    struct making *m = l->user;
    char name[32];

    if (l->started >= m->n)
        return false;
    (void)snprintf(name, sizeof(name), "\"name\":\"o-%06llu\"", (unsigned long long)l->started);
    bench_configmaps_path(m->b, s);
    bench_object_body(m->b, &s->body, str_of(name), (unsigned)l->started / GROUP, STR("0"));
    s->call.method = STR("POST");
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&s->body);
    return true;
}

enum { GONE_MS = 120000, POLL_MS = 50 };

static int make_namespace(struct bench *b, struct status *st)
{
    scoped_arena a = arena_new();
    struct client_ref ref = { .version = STR("v1"), .resource = STR("namespaces") };
    struct json_object o = json_object_new(a), meta = json_object_new(a);
    const struct json *ns;

    json_add(&meta, STR("name"), json_of_str(str_of(b->o.namespace)));
    json_add(&o, STR("kind"), json_of_str(STR("Namespace")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    ns = json_object_done(&o);
    for (unsigned waited = 0; waited < GONE_MS; waited += POLL_MS) {
        if (client_create(b->client, a, &ref, ns, NULL, st) == 0)
            return 0;
        /* The one of the run before may still be on its way out. */
        if (!str_starts(st->message, STR("object is being deleted")))
            break;
        status_reset(st);
        (void)usleep(POLL_MS * 1000);
    }
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return status_wrap(st, "making the namespace %s", b->o.namespace);
    status_reset(st);
    return 0;
}

int bench_objects(struct bench *b, unsigned n, struct status *st)
{
    struct making m = { b, n };
    struct bench_result *r;
    struct bench_load l;
    int rc;

    if (make_namespace(b, st) < 0)
        return -1;
    if (!n)
        return 0;
    l = bench_load_of(b, 4, 16);
    l.connections = 4;
    l.streams = 16;
    l.warm_ms = l.duration_ms = 0;
    l.rate = 0;
    l.next = next_object;
    l.also_good = 409; /* it is there already */
    l.user = &m;
    r = arena_new_of(b->arena, struct bench_result);
    rc = bench_load_run(&l, r, st);
    if (rc == 0 && r->errors)
        return status_set(st, REASON_INTERNAL, "%llu of %u objects could not be made: %s",
                          (unsigned long long)r->errors, n, r->error);
    return rc;
}

/* ---- clearing away ---- */

void bench_clean(struct bench *b)
{
    scoped_arena a = arena_new();
    struct client_ref all = { .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = str_of(b->o.namespace) };
    struct client_ref ns = { .version = STR("v1"),
                             .resource = STR("namespaces"),
                             .name = str_of(b->o.namespace) };
    struct status st;

    if (b->o.keep || !b->client)
        return;
    status_init(&st, a);
    /* The objects first: a bare kube-apiserver has nobody who empties namespaces. */
    if (client_delete(b->client, a, &all, NULL, &st) < 0 ||
        client_delete(b->client, a, &ns, NULL, &st) < 0)
        (void)fprintf(stderr, "bench: clearing the namespace %s away: %.*s\n", b->o.namespace,
                      STR_ARG(st.message));
}
