/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/fleet.h"

#include <stdio.h>

#include "base/banned.h"
#include "cmd/text_file.h"
#include "fleet/join.h"

enum { READY_MS = 30000, POLL_MS = 50 };

static struct client_ref instances(str name)
{
    return (struct client_ref){ .group = STR("tenancy.kairship.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("instances"),
                                .name = name };
}

static struct client_ref clusters(void)
{
    return (struct client_ref){ .instance = STR(BENCH_INSTANCE),
                                .group = STR("cluster.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("clusters") };
}

static int make_instance(struct bench *b, struct status *st)
{
    static const char object[] =
        "{\"apiVersion\":\"tenancy.kairship.io/v1alpha1\",\"kind\":\"Instance\",\"metadata\":{"
        "\"name\":\"" BENCH_INSTANCE "\"},\"spec\":{\"release\":\"Destroy\"}}";
    struct client_ref ref = instances(STR_NONE);
    const struct json *v;

    if (json_parse(b->arena, str_of(object), NULL, &v, st) < 0)
        return -1;
    if (client_create(b->client, b->arena, &ref, v, NULL, st) < 0 &&
        !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st);
    return 0;
}

static int read_members(struct bench *b, struct bench_fleet *f, struct status *st)
{
    const struct json *v;
    str text;

    if (!b->o.members)
        return status_set(st, REASON_BAD_REQUEST,
                          "--members is missing: members.json in the folder of kairship simulate");
    if (text_file_read(b->arena, b->o.members, &text, st) < 0 ||
        json_parse(b->arena, text, NULL, &v, st) < 0)
        return -1;
    v = json_get(v, STR("members"));
    f->members = arena_array(b->arena, struct bench_member, json_len(v) + 1);
    json_for_each (m, v) {
        struct bench_member *to = &f->members[f->n++];

        to->name = json_get_str(m, "name");
        if (kubeconfig_load(b->arena, str_z(b->arena, json_get_str(m, "kubeconfig")), STR_NONE,
                            &to->k, st) < 0)
            return -1;
    }
    return 0;
}

static int join(struct bench *b, const struct bench_member *m, struct status *st)
{
    scoped_arena a = arena_new();
    struct join j = { .control = b->client,
                      .instance = STR(BENCH_INSTANCE),
                      .name = m->name,
                      .server = m->k.server,
                      .ca_pem = m->k.ca_pem };
    int rc;

    j.member = client_open(NULL, &m->k, st);
    if (!j.member)
        return -1;
    rc = join_member(&j, a, NULL, st);
    client_free(j.member);
    return rc < 0 ? status_wrap(st, "%.*s", STR_ARG(m->name)) : 0;
}

/* How many Clusters there are, and how many of them are Ready. */
static int count(struct bench *b, size_t *ready, struct status *st)
{
    scoped_arena a = arena_new();
    struct client_ref ref = clusters();
    const struct json *list;
    size_t n = 0;

    *ready = 0;
    if (client_list(b->client, a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (c, json_get(list, STR("items"))) {
        n++;
        json_for_each (d, json_path(c, "status.conditions"))
            *ready += str_is(json_get_str(d, "type"), "Ready") &&
                      str_is(json_get_str(d, "status"), "True");
    }
    return (int)n;
}

static int wait_ready(struct bench *b, size_t n, struct status *st)
{
    size_t ready = 0;

    for (int ms = 0; ms < READY_MS; ms += POLL_MS) {
        if (count(b, &ready, st) < 0)
            return -1;
        if (ready >= n)
            return 0;
        bench_sleep(b, POLL_MS);
    }
    return status_set(st, REASON_TIMEOUT, "%zu of %zu members are ready", ready, n);
}

static int join_some(struct bench *b, const struct bench_fleet *f, size_t from, size_t to,
                     double *rss_kib, struct status *st)
{
    for (size_t i = from; i < to; i++)
        if (join(b, &f->members[i], st) < 0)
            return -1;
    if (wait_ready(b, to, st) < 0)
        return -1;
    bench_quiet(b);
    *rss_kib = (double)bench_proc_read(&b->pids).rss / 1024;
    return 0;
}

int bench_fleet_open(struct bench *b, struct bench_fleet *f, struct status *st)
{
    double before, half, all;
    size_t ready, n;
    int had;

    if (read_members(b, f, st) < 0 || make_instance(b, st) < 0)
        return -1;
    had = count(b, &ready, st);
    n = had > 0 ? 0 : f->n / 2; /* those that are there need not be counted */
    if (had < 0 || join_some(b, f, 0, 0, &before, st) < 0)
        return -1;
    half = before;
    if (n && join_some(b, f, 0, n, &half, st) < 0)
        return -1;
    if (join_some(b, f, n, f->n, &all, st) < 0)
        return -1;
    if (had == 0 && f->n && b->pids.n) {
        f->kib_each = (all - half) / (double)(f->n - n);
        f->kib_all = (all - before) / (double)f->n;
    }
    return 0;
}

void bench_fleet_clean(struct bench *b)
{
    struct client_ref ref = instances(STR(BENCH_INSTANCE));
    struct status st;

    if (b->o.keep)
        return;
    status_init(&st, b->arena);
    if (client_delete(b->client, b->arena, &ref, NULL, &st) < 0)
        (void)fprintf(stderr, "kairship-bench: %.*s\n", STR_ARG(st.message));
}
