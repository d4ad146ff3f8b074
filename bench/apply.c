/* SPDX-License-Identifier: Apache-2.0 */

/* Server-side apply of a Deployment of 2 KB: each changes a field of one that exists. */

#include <stdio.h>

#include "base/banned.h"
#include "bench/work.h"

enum { APPLIED = 5000, VARIABLES = 24 }; /* many: two that meet begin again */

struct apply {
    struct bench *b;
    unsigned objects;
};

static void body(struct buf *out, unsigned object, unsigned replicas)
{
    buf_printf(out,
               "{\"apiVersion\":\"apps/v1\",\"kind\":\"Deployment\",\"metadata\":{\"name\":"
               "\"p-%06u\",\"labels\":{\"app\":\"bench\",\"team\":\"platform\",\"tier\":"
               "\"backend\"},\"annotations\":{\"bench.kairship.io/note\":\"applied by kairship "
               "bench\"}},\"spec\":{\"replicas\":%u,\"selector\":{\"matchLabels\":{\"app\":\"p\"}},"
               "\"template\":{\"metadata\":{\"labels\":{\"app\":\"p\"}},\"spec\":{"
               "\"serviceAccountName\":\"default\",\"containers\":[{\"name\":\"main\",\"image\":"
               "\"example.com/bench/app:1.2.3\",\"args\":[\"--port=8080\",\"--log=info\"],"
               "\"ports\":[{\"name\":\"http\",\"containerPort\":8080},{\"name\":\"metrics\","
               "\"containerPort\":9090}],\"resources\":{\"requests\":{\"cpu\":\"100m\",\"memory\":"
               "\"64Mi\"},\"limits\":{\"memory\":\"128Mi\"}},\"env\":[",
               object, replicas);
    for (unsigned i = 0; i < VARIABLES; i++)
        buf_printf(out, "%s{\"name\":\"SETTING_%02u\",\"value\":\"value of setting %02u\"}",
                   i ? "," : "", i, i);
    buf_lit(out, "]}]}}}}");
}

static bool next_apply(struct bench_load *l, struct bench_slot *s)
{
    struct apply *x = l->user;
    unsigned object = bench_pick(x->b, x->objects);

    buf_clear(&s->path);
    buf_clear(&s->body);
    buf_printf(&s->path,
               "%.*s/apis/apps/v1/namespaces/%s/deployments/p-%06u?fieldManager=bench&force=true",
               STR_ARG(x->b->target.prefix), x->b->o.namespace, object);
    body(&s->body, object, (unsigned)(l->started % 1000));
    s->call.method = STR("PATCH");
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&s->body);
    return true;
}

static bool check_apply(struct bench_load *l, struct bench_slot *s)
{
    (void)l;
    return str_contains(buf_str(&s->reply), STR("\"managedFields\":[{")) && s->bytes > 2048;
}

int bench_apply(struct bench *b, struct bench_result *r, struct status *st)
{
    struct apply x = { b, bench_or(b->o.objects, APPLIED) };
    struct bench_target target = b->target;
    struct bench_load l = bench_load_of(b, 4, 16);

    if (bench_objects(b, 0, st) < 0)
        return -1;
    for (size_t i = 0; i < target.nheaders; i++)
        if (str_is(target.headers[i].name, "content-type"))
            target.headers[i].value = STR("application/apply-patch+yaml");
    l.target = &target;
    l.next = next_apply;
    l.check = check_apply;
    l.sample_every = 64;
    l.reply_max = 16 << 10;
    l.user = &x;
    (void)snprintf(r->setup, sizeof(r->setup), "%u connections x %u in flight, of %u Deployments",
                   l.connections, l.streams, x.objects);
    return bench_load_run(&l, r, st);
}
