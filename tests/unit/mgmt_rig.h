/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MGMT_RIG_H
#define MGMT_RIG_H

/*
 * A server, its index and the services of the management API, called as their callers are served:
 * requests and answers are JSON, and go through the tables of the messages.
 *
 *     struct bed b;
 *
 *     bed_open(&b);
 *     v = bed_call(&b, &bed_admin, "Apps/GetDeployment", "{\"instance\":\"demo\", …}");
 *     bed_close(&b);
 */

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "mgmt/mgmt.h"
#include "rpc/api.h"
#include "server_rig.h"

struct bed {
    struct rig rig;
    struct search *search;
    struct mgmt *mgmt;
    struct fleet *fleet;
    char dir[32];
    str warning; /* of the last call */
};

static const str bed_masters[] = { STR_INIT("system:masters"), STR_INIT("system:authenticated") };
static const str bed_people[] = { STR_INIT("system:authenticated") };
static const struct identity bed_admin = { .user = STR_INIT("admin"),
                                           .groups = bed_masters,
                                           .ngroups = 2 };
static const struct identity bed_jane = { .user = STR_INIT("jane"),
                                          .groups = bed_people,
                                          .ngroups = 1 };

static inline uint64_t bed_head(void *arg)
{
    return store_head(&((struct bed *)arg)->rig.host->wrap->store);
}

static inline bool bed_served(void *arg, uint64_t revision)
{
    struct rig *r = &((struct bed *)arg)->rig;

    return server_local_watched(r->host->server, r->host->loop) >= revision;
}

static inline int bed_look(void *arg, struct arena *a, const struct client_ref *ref,
                           const struct json **out, struct status *st)
{
    return server_local_look(arg, a, ref, out, st);
}

static inline str bed_address(void *arg, struct arena *a)
{
    (void)arg;
    (void)a;
    return STR("kairship.example:6443");
}

static inline void bed_post(struct bed *b, const char *path, const char *body)
{
    if (!CHECK(ask_api(&b->rig, "POST", path, body, NULL) == 200))
        printf("# %s: %.*s\n", path, STR_ARG(b->rig.st.message));
}

static inline void bed_open(struct bed *b)
{
    struct rig *r = &b->rig;

    *b = (struct bed){ .dir = "/tmp/mgmt_rig.XXXXXX", .mgmt = mgmt_new() };
    if (!mkdtemp(b->dir))
        exit(1);
    rig_open(r);
    server_start_collecting(r->host->server);
    b->search = search_new(&(struct search_options){ .dir = b->dir,
                                                     .clock = clock_real(),
                                                     .instances = true,
                                                     .head = bed_head,
                                                     .served = bed_served,
                                                     .store_arg = b },
                           &r->st);
    if (!b->search)
        exit(1);
    search_start(b->search, r->client, NULL);
    b->fleet = fleet_new(r->client, NULL);
    mgmt_start(b->mgmt, &(struct mgmt_parts){ .client = r->client,
                                              .look = bed_look,
                                              .look_arg = r->host->server,
                                              .search = b->search,
                                              .fleet = b->fleet,
                                              .address = bed_address,
                                              .permissions = server_permissions(r->host->server) });
    bed_post(b, "/apis/tenancy.kairship.io/v1alpha1/instances",
             "{\"metadata\":{\"name\":\"demo\"},\"spec\":{\"profile\":\"karmada\"}}");
    (void)search_wait(b->search, 20000); /* slow machines: what begins, takes its time */
}

static inline void bed_free_fleet(void *arg)
{
    fleet_free(arg);
}

static inline void bed_close(struct bed *b)
{
    static const char *const names[] = { "search.db", "search.db-wal", "search.db-shm" };

    mgmt_free(b->mgmt);
    loop_call_wait(b->rig.host->loop, bed_free_fleet, b->fleet);
    search_stop(b->search);
    search_free(b->search);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlink(arena_printf(b->rig.arena, "%s/%s", b->dir, names[i]));
    (void)rmdir(b->dir);
    server_stop_collecting(b->rig.host->server);
    rig_close(&b->rig);
}

static inline const struct rpc_method *bed_method(str path)
{
    for (size_t f = 0; f < kairship_api.nfiles; f++)
        for (size_t s = 0; s < kairship_api.files[f].nservices; s++) {
            const struct rpc_service *service = &kairship_api.files[f].services[s];

            for (size_t m = 0; m < service->nmethods; m++)
                if (str_starts(path, service->name) && path.p[service->name.n] == '/' &&
                    str_eq(str_from(path, service->name.n + 1), service->methods[m].name))
                    return &service->methods[m];
        }
    return NULL;
}

static inline int bed_run(struct bed *b, struct rpc_context *ctx, const struct json *request,
                          const struct json **out)
{
    size_t n;
    const struct rpc_implementation *all = mgmt_implementations(b->mgmt, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t h = 0; h < all[i].nhandlers; h++)
            if (str_eq(str_printf(b->rig.arena, "%s/%s", all[i].service, all[i].handlers[h].method),
                       ctx->method))
                return all[i].handlers[h].fn(all[i].arg, ctx, request, out, &b->rig.st);
    return status_set(&b->rig.st, REASON_METHOD_NOT_ALLOWED, "nobody answers");
}

/* "Apps/GetDeployment"; NULL: it failed, rig.st says how. */
static inline const struct json *bed_call(struct bed *b, const struct identity *who,
                                          const char *method, const char *request)
{
    struct arena *a = b->rig.arena;
    struct timespec now;
    struct rpc_context ctx = { .arena = a, .who = who };
    const struct rpc_method *m;
    const struct json *in, *out = &json_empty_object;
    scoped_buf text;

    (void)ask_api(&b->rig, "GET", "/version", "",
                  NULL); /* any: the chain brings roles up to date */
    ctx.method = str_printf(a, "kairship.io.api.v1alpha1.%s", method);
    m = bed_method(ctx.method);
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    ctx.deadline_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 30000;
    buf_init(&text, 64 << 20);
    status_reset(&b->rig.st);
    if (!CHECK(m) || json_parse(a, str_of(request), NULL, &in, &b->rig.st) < 0 ||
        message_read(a, m->input, in, &in, &b->rig.st) < 0 || bed_run(b, &ctx, in, &out) < 0)
        return NULL;
    b->warning = ctx.warning;
    message_print(&text, m->output, out);
    if (!CHECK(json_parse(a, str_dup(a, buf_str(&text)), NULL, &out, &b->rig.st) == 0))
        return NULL;
    return out;
}

/* A call that must go well, and one that must not. */
static inline const struct json *bed_ok(struct bed *b, const struct identity *who,
                                        const char *method, const char *request)
{
    const struct json *v = bed_call(b, who, method, request);

    if (!CHECK(v))
        printf("# %s: %.*s\n", method, STR_ARG(b->rig.st.message));
    return v;
}

static inline void bed_refused(struct bed *b, const struct identity *who, const char *method,
                               const char *request, enum reason why)
{
    if (!CHECK(!bed_call(b, who, method, request) && b->rig.st.reason == why))
        printf("# %s: %s %.*s\n", method, status_reason(&b->rig.st), STR_ARG(b->rig.st.message));
}

/* {"instance":"demo","namespace":"default","data":"…"} with an object in it; more: other members,
 * with a comma behind. */
static inline const char *bed_data(struct bed *b, const char *more, const char *object)
{
    struct json text = json_of_str(str_of(object));

    return arena_printf(b->rig.arena, "{\"instance\":\"demo\",%s\"data\":%.*s}", more,
                        STR_ARG(json_text(b->rig.arena, &text)));
}

/* "a b c": names of the items, in their order. */
static inline const char *bed_names(struct bed *b, const struct json *list)
{
    char *out = arena_printf(b->rig.arena, "%s", "");

    json_for_each (item, json_get(list, STR("items")))
        out = arena_printf(b->rig.arena, "%s%s%.*s", out, *out ? " " : "",
                           STR_ARG(json_get_str(item, "metadata.name")));
    return out;
}

/* Jane's role in demo, from now on. */
static inline void bed_role(struct bed *b, const char *role)
{
    static const char base[] = "/apis/iam.kairship.io/v1alpha1";
    struct arena *a = b->rig.arena;
    const char *spec = arena_printf(
        a,
        "\"spec\":{\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}],"
        "\"members\":[{\"kind\":\"User\",\"name\":\"jane\",\"role\":\"%s\"}]}",
        role);
    const char *path = arena_printf(a, "%s/workspaces/team", base);
    enum iam_role now;

    if (ask_api(&b->rig, "PATCH", path, arena_printf(a, "{%s}", spec), NULL) != 200) {
        bed_post(b, arena_printf(a, "%s/users", base), "{\"metadata\":{\"name\":\"jane\"}}");
        bed_post(b, arena_printf(a, "%s/gproductresources", base),
                 "{\"metadata\":{\"name\":\"kairship.demo\"},\"spec\":{\"gproduct\":\"kairship\","
                 "\"resourceType\":\"Kairship\",\"resourceName\":\"demo\"}}");
        bed_post(b, arena_printf(a, "%s/workspaces", base),
                 arena_printf(a, "{\"metadata\":{\"name\":\"team\"},%s}", spec));
    }
    (void)ask_api(&b->rig, "GET", path, "", NULL);
    epoch_enter();
    now = permissions_role(server_permissions(b->rig.host->server), &bed_jane, STR("demo"));
    epoch_exit();
    CHECK_STR(iam_role_name(now), role);
}

#endif
