/* SPDX-License-Identifier: Apache-2.0 */

/* Custom resources of 2 KB, created and applied; the CRDs that describe them. */

#include <stdio.h>
#include <unistd.h>

#include "base/banned.h"
#include "bench/work.h"

enum { APPLIED = 5000, ROUTES = 6, SETTINGS = 15, SERVED_MS = 10000, GROUP = 10 };

/* ---- the CRD ---- */

str bench_crd_group(struct arena *a, unsigned n)
{
    return str_printf(a, "g%03u.bench.kairship.io", n / GROUP);
}

str bench_crd_plural(struct arena *a, unsigned n)
{
    return str_printf(a, "backends%04u", n);
}

/* Objects in objects, lists that are maps, enums, patterns, limits and defaults. */
static const char schema[] =
    "{\"type\":\"object\",\"description\":\"A Backend is what a gateway sends requests to.\","
    "\"required\":[\"spec\"],\"properties\":{\"apiVersion\":{\"type\":\"string\"},\"kind\":{"
    "\"type\":\"string\"},\"metadata\":{\"type\":\"object\"},\"spec\":{\"type\":\"object\","
    "\"description\":\"What it should be.\",\"required\":[\"image\",\"routes\"],\"properties\":{"
    "\"replicas\":{\"type\":\"integer\",\"format\":\"int32\",\"minimum\":0,\"maximum\":10000,"
    "\"default\":1},\"image\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":512,\"pattern\":"
    "\"^[a-z0-9.-]+(/[a-z0-9._-]+)*(:[A-Za-z0-9._-]+)?$\"},\"policy\":{\"type\":\"string\","
    "\"enum\":[\"Always\",\"IfNotPresent\",\"Never\"],\"default\":\"IfNotPresent\"},"
    "\"resources\":{\"type\":\"object\",\"properties\":{\"cpu\":{\"x-kubernetes-int-or-string\":"
    "true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]},\"memory\":{"
    "\"x-kubernetes-int-or-string\":true,\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]}"
    "}},\"selector\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\","
    "\"maxLength\":63},\"x-kubernetes-map-type\":\"atomic\"},\"routes\":{\"type\":\"array\","
    "\"maxItems\":64,\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],"
    "\"items\":{\"type\":\"object\",\"required\":[\"name\",\"port\"],\"properties\":{\"name\":{"
    "\"type\":\"string\",\"pattern\":\"^[a-z]([-a-z0-9]*[a-z0-9])?$\"},\"port\":{\"type\":"
    "\"integer\",\"minimum\":1,\"maximum\":65535},\"protocol\":{\"type\":\"string\",\"enum\":["
    "\"HTTP\",\"HTTPS\",\"TCP\"],\"default\":\"HTTP\"},\"path\":{\"type\":\"string\",\"maxLength\":"
    "1024,\"pattern\":\"^/.*$\"},\"timeout\":{\"type\":\"object\",\"properties\":{\"request\":{"
    "\"type\":\"string\",\"pattern\":\"^[0-9]+(ms|s|m)$\"},\"idle\":{\"type\":\"string\","
    "\"default\":\"60s\"}}},\"weight\":{\"type\":\"integer\",\"default\":100}}}},\"settings\":{"
    "\"type\":\"array\",\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":["
    "\"name\"],\"items\":{\"type\":\"object\",\"required\":[\"name\"],\"properties\":{\"name\":{"
    "\"type\":\"string\",\"pattern\":\"^[A-Z][A-Z0-9_]*$\"},\"value\":{\"type\":\"string\"}}}},"
    "\"zones\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"set\",\"items\":{\"type\":"
    "\"string\"}}}},\"status\":{\"type\":\"object\",\"properties\":{\"ready\":{\"type\":"
    "\"integer\"},\"conditions\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"type\"],\"items\":{\"type\":\"object\",\"required\":["
    "\"type\",\"status\"],\"properties\":{\"type\":{\"type\":\"string\"},\"status\":{\"type\":"
    "\"string\",\"enum\":[\"True\",\"False\",\"Unknown\"]},\"message\":{\"type\":\"string\"}}}}}}}"
    "}";

static void crd_body(struct buf *out, unsigned n)
{
    scoped_arena a = arena_new();
    str group = bench_crd_group(a, n), plural = bench_crd_plural(a, n);

    buf_printf(
        out,
        "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"CustomResourceDefinition\","
        "\"metadata\":{\"name\":\"%.*s.%.*s\"},\"spec\":{\"group\":\"%.*s\",\"scope\":"
        "\"Namespaced\",\"names\":{\"plural\":\"%.*s\",\"singular\":\"backend%04u\",\"kind\":"
        "\"Backend%04u\",\"listKind\":\"Backend%04uList\",\"shortNames\":[\"be%u\"],"
        "\"categories\":[\"bench\"]},\"versions\":[{\"name\":\"v1\",\"served\":true,"
        "\"storage\":true,\"subresources\":{\"status\":{}},\"additionalPrinterColumns\":[{"
        "\"name\":\"Image\",\"type\":\"string\",\"jsonPath\":\".spec.image\"}],\"schema\":{"
        "\"openAPIV3Schema\":%s}}]}}",
        STR_ARG(plural), STR_ARG(group), STR_ARG(group), STR_ARG(plural), n, n, n, n, schema);
}

static str prefix_of(struct arena *a, str instance)
{
    return instance.n ? str_printf(a, "/clusters/%.*s", STR_ARG(instance)) : STR_NONE;
}

static bool is_served(struct bench *b, str instance, unsigned n)
{
    scoped_arena a = arena_new();
    struct client_query q = { .limit = 1 };
    struct client_ref ref = { .instance = instance,
                              .group = bench_crd_group(a, n),
                              .version = STR("v1"),
                              .resource = bench_crd_plural(a, n),
                              .namespace = STR("default") };
    const struct json *list;
    struct status st;

    status_init(&st, a);
    return client_list(b->client, a, &ref, &q, &list, &st) == 0;
}

int bench_crd_make(struct bench *b, str instance, unsigned n, int64_t *took_ns, struct status *st)
{
    scoped_arena a = arena_new();
    scoped_buf text = { .max = 1 << 20 };
    struct client_request req = { .method = STR("POST"), .content_type = STR("application/json") };
    int64_t accepted;

    crd_body(&text, n);
    req.path = str_printf(a, "%.*s/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                          STR_ARG(prefix_of(a, instance)));
    req.body = buf_str(&text);
    if (client_do(b->client, a, &req, NULL, st) < 0) {
        if (!status_is(st, REASON_ALREADY_EXISTS))
            return status_wrap(st, "making a CRD");
        status_reset(st);
    }
    accepted = bench_now_ns();
    while (!is_served(b, instance, n)) {
        if (bench_now_ns() - accepted > (int64_t)SERVED_MS * 1000000)
            return status_set(st, REASON_TIMEOUT, "a CRD is not served after ten seconds");
        (void)usleep(100);
    }
    *took_ns = bench_now_ns() - accepted;
    return 0;
}

/* ---- its objects ---- */

struct custom {
    struct bench *b;
    unsigned objects;
    str path;        /* of the collection */
    struct buf body; /* of a create: the same for all */
};

static void body(struct buf *out, const char *name_member, unsigned replicas)
{
    scoped_arena a = arena_new();

    buf_printf(
        out,
        "{\"apiVersion\":\"%.*s/v1\",\"kind\":\"Backend0000\",\"metadata\":{%s,\"labels\":{"
        "\"app\":\"bench\",\"team\":\"platform\",\"tier\":\"backend\"},\"annotations\":{"
        "\"bench.kairship.io/note\":\"made by kairship-bench\"}},\"spec\":{\"replicas\":%u,"
        "\"image\":\"registry.example.com/bench/app:1.2.3\",\"policy\":\"Always\","
        "\"resources\":{\"cpu\":\"250m\",\"memory\":\"128Mi\"},\"selector\":{\"app\":"
        "\"bench\",\"tier\":\"backend\"},\"zones\":[\"eu-1\",\"eu-2\",\"us-1\"],\"routes\":[",
        STR_ARG(bench_crd_group(a, 0)), name_member, replicas);
    for (unsigned i = 0; i < ROUTES; i++)
        buf_printf(out,
                   "%s{\"name\":\"route-%02u\",\"port\":%u,\"protocol\":\"HTTPS\",\"path\":"
                   "\"/api/v%u/things\",\"timeout\":{\"request\":\"30s\"}}",
                   i ? "," : "", i, 8080 + i, i);
    buf_lit(out, "],\"settings\":[");
    for (unsigned i = 0; i < SETTINGS; i++)
        buf_printf(out,
                   "%s{\"name\":\"SETTING_%02u\",\"value\":\"the value of this setting, %02u\"}",
                   i ? "," : "", i, i);
    buf_lit(out, "]}}");
}

static bool next_create(struct bench_load *l, struct bench_slot *s)
{
    struct custom *x = l->user;

    s->call.method = STR("POST");
    s->call.path = x->path;
    s->call.body = buf_str(&x->body);
    return true;
}

static bool next_apply(struct bench_load *l, struct bench_slot *s)
{
    struct custom *x = l->user;
    unsigned object = bench_pick(x->b, x->objects);
    char name[32];

    (void)snprintf(name, sizeof(name), "\"name\":\"c-%06u\"", object);
    buf_printf(&s->path, "%.*s/c-%06u?fieldManager=bench&force=true", STR_ARG(x->path), object);
    body(&s->body, name, (unsigned)(l->started % 1000));
    s->call.method = STR("PATCH");
    s->call.path = buf_str(&s->path);
    s->call.body = buf_str(&s->body);
    return true;
}

/* The defaults are there, and who set what. */
static bool check(struct bench_load *l, struct bench_slot *s)
{
    (void)l;
    return str_contains(buf_str(&s->reply), STR("\"managedFields\":[{")) &&
           str_contains(buf_str(&s->reply), STR("\"weight\":100")) && s->bytes > 2048;
}

static int run(struct bench *b, struct bench_load *l, struct bench_result *r, struct status *st)
{
    struct custom *x = arena_new_of(b->arena, struct custom);
    scoped_buf create = { .max = 1 << 20 };
    int64_t unused;

    if (bench_objects(b, 0, st) < 0 || bench_crd_make(b, STR_NONE, 0, &unused, st) < 0)
        return -1;
    *x = (struct custom){ .b = b, .objects = bench_or(b->o.objects, APPLIED) };
    body(&create, "\"generateName\":\"c-\"", 3);
    x->body = create;
    x->path = str_printf(b->arena, "%.*s/apis/%.*s/v1/namespaces/%s/%.*s",
                         STR_ARG(b->target.prefix), STR_ARG(bench_crd_group(b->arena, 0)),
                         b->o.namespace, STR_ARG(bench_crd_plural(b->arena, 0)));
    l->check = check;
    l->sample_every = 64;
    l->reply_max = 16 << 10;
    l->user = x;
    (void)snprintf(r->setup, sizeof(r->setup), "%u connections x %u in flight, %zu bytes each",
                   l->connections, l->streams, create.n);
    return bench_load_run(l, r, st);
}

int bench_cr_create(struct bench *b, struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(b, 4, 16);

    l.next = next_create;
    return run(b, &l, r, st);
}

int bench_cr_apply(struct bench *b, struct bench_result *r, struct status *st)
{
    struct bench_load l = bench_load_of(b, 4, 16);
    struct bench_target target = b->target;

    for (size_t i = 0; i < target.nheaders; i++)
        if (str_is(target.headers[i].name, "content-type"))
            target.headers[i].value = STR("application/apply-patch+yaml");
    l.target = &target;
    l.next = next_apply;
    return run(b, &l, r, st);
}
