/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Service Audit: what people did, from the records of root (apiserver/audit/audit_records.h), which
 * lists give the newest first.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "mgmt/mgmt_internal.h"

enum { CHUNK = 500, PAGE_USUAL = 100, PAGE_MOST = 1000, FILTER_MAX = 1024 };

static const struct client_ref records = { .group = STR_INIT("audit.kairship.io"),
                                           .version = STR_INIT("v1alpha1"),
                                           .resource = STR_INIT("records") };

struct search {
    const struct mgmt_parts *p;
    struct rpc_context *ctx;
    struct client_query query;
    int64_t from_s, to_s; /* 0: no bound */
    uint64_t skip, size, seen;
    struct json_array items;
    bool over; /* what follows is older than from_s */
};

/* ---- who may ---- */

/* Of an instance that had this name before, its Admin of today sees nothing. */
static int instance_uid(const struct mgmt_parts *p, struct rpc_context *ctx, str instance, str *out,
                        struct status *st)
{
    struct client_ref ref = mgmt_named(mgmt_instances, instance);
    const struct json *obj;

    if (mgmt_require(p, ctx, instance, IAM_ADMIN, st) < 0 || mgmt_look(p, ctx, &ref, &obj, st) < 0)
        return -1;
    *out = json_get_str(obj, "metadata.uid");
    return 0;
}

/* k8s: apimachinery/pkg/fields/selector.go EscapeValue */
static str escaped(struct arena *a, str value)
{
    char *p = arena_alloc(a, value.n * 2);
    size_t n = 0;

    for (size_t i = 0; i < value.n; i++) {
        if (str_find(STR("\\,="), value.p[i], 0) >= 0)
            p[n++] = '\\';
        p[n++] = value.p[i];
    }
    return (str){ p, n };
}

static void narrow(struct search *s, const char *field, str value)
{
    struct arena *a = s->ctx->arena;
    str *sel = &s->query.field_selector;

    if (value.n)
        *sel = str_printf(a, "%.*s%sspec.%s=%.*s", STR_ARG(*sel), sel->n ? "," : "", field,
                          STR_ARG(escaped(a, value)));
}

static int narrow_to_allowed(struct search *s, str instance, struct status *st)
{
    str uid;

    if (mgmt_role(s->p, s->ctx, STR_NONE) >= IAM_PLATFORM) {
        narrow(s, "instance", instance);
        return 0;
    }
    if (!instance.n)
        return mgmt_require(s->p, s->ctx, STR_NONE, IAM_PLATFORM, st);
    if (instance_uid(s->p, s->ctx, instance, &uid, st) < 0)
        return -1;
    narrow(s, "instanceUID", uid);
    return 0;
}

/* ---- the search ---- */

static struct json shape(struct arena *a, const struct json *record)
{
    static const char *const fields[][2] = {
        { "time", "time" },           { "event", "event" },
        { "person", "person" },       { "impersonated", "impersonated" },
        { "verb", "verb" },           { "group", "group" },
        { "resource", "resource" },   { "subresource", "subresource" },
        { "namespace", "namespace" }, { "name", "name" },
        { "instance", "instance" },   { "code", "code" },
        { "reason", "reason" },       { "sourceIps", "sourceIPs" },
        { "auditId", "auditID" },
    };
    const struct json *spec = json_get(record, STR("spec"));
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        mgmt_copy(&o, fields[i][0], spec, fields[i][1]);
    return json_object_value(&o);
}

static bool in_time(struct search *s, const struct json *record)
{
    int64_t us = 0;

    if (!time_parse_micro(json_get_str(record, "spec.time"), &us))
        return false;
    s->over = s->from_s && us < s->from_s * 1000000;
    return !s->over && (!s->to_s || us <= s->to_s * 1000000);
}

static void take(struct search *s, const struct json *list)
{
    json_for_each (record, json_get(list, STR("items"))) {
        struct json item;

        if (!in_time(s, record))
            continue;
        s->seen++;
        if (s->seen <= s->skip || s->seen > s->skip + s->size)
            continue;
        item = shape(s->ctx->arena, record);
        json_push(&s->items, *json_dup(s->ctx->arena, &item)); /* the list goes */
    }
}

/* Adds what is left, without looking at it, where all that is left counts. */
static bool know_the_rest(struct search *s, const struct json *list)
{
    int64_t left = json_int(json_path(list, "metadata.remainingItemCount"), 0);

    if (left <= 0 || s->seen < s->skip + s->size || s->from_s || s->to_s)
        return false;
    s->seen += (uint64_t)left;
    return true;
}

static int run(struct search *s, struct status *st)
{
    s->query.limit = CHUNK;
    for (;;) {
        scoped_arena a = arena_new(); /* of this part of the list */
        struct rpc_context ctx = *s->ctx;
        struct client_request req = client_request_list(a, &records, &s->query);
        const struct json *list;

        ctx.arena = a;
        if (mgmt_do_own(s->p, &ctx, &req, &list, st) < 0)
            return -1;
        take(s, list);
        s->query.continue_token = str_dup(s->ctx->arena, json_get_str(list, "metadata.continue"));
        if (!s->query.continue_token.n || s->over || know_the_rest(s, list))
            return 0;
    }
}

/* ---- the RPC ---- */

static int64_t seconds(const struct json *request, const char *field, struct status *st)
{
    int64_t s = json_int(json_path(request, field), 0);

    if (s < 0 || s > INT64_MAX / 1000000)
        status_cause(st, CAUSE_INVALID, str_of(field), STR_NONE, "must be seconds since 1970");
    return s;
}

static void check_filters(const struct json *request, struct status *st)
{
    static const char *const fields[] = { "person", "verb", "object", "event", "instance" };

    for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
        if (json_get_str(request, fields[i]).n > FILTER_MAX)
            status_cause(st, CAUSE_TOO_LONG, str_of(fields[i]), STR_NONE,
                         "may not be more than %d bytes", FILTER_MAX);
}

static int read_bounds(struct search *s, const struct json *request, struct mgmt_page *page,
                       struct status *st)
{
    if (mgmt_page_read(request, page, st) < 0)
        return -1;
    if (page->size == 0)
        page->size = PAGE_USUAL;
    if (page->size > PAGE_MOST)
        page->size = PAGE_MOST;
    s->size = (uint64_t)page->size;
    s->skip = (uint64_t)(page->page - 1) * s->size;
    s->from_s = seconds(request, "from", st);
    s->to_s = seconds(request, "to", st);
    check_filters(request, st);
    return status_invalid(st, STR_NONE, STR("ListAuditsRequest"), STR_NONE);
}

static int list_audits(void *arg, struct rpc_context *ctx, const struct json *request,
                       const struct json **response, struct status *st)
{
    struct search s = { .ctx = ctx, .items = json_array_new(ctx->arena) };
    struct json_object o = json_object_new(ctx->arena);
    str object = json_get_str(request, "object"), resource = STR_NONE;
    struct mgmt_parts *p;
    struct mgmt_page page;

    if (mgmt_parts_of(arg, &p, st) < 0)
        return -1;
    s.p = p;
    if (narrow_to_allowed(&s, json_get_str(request, "instance"), st) < 0 ||
        read_bounds(&s, request, &page, st) < 0)
        return -1;
    (void)str_split(&object, '/', &resource);
    narrow(&s, "resource", resource);
    narrow(&s, "name", object);
    narrow(&s, "person", json_get_str(request, "person"));
    narrow(&s, "verb", json_get_str(request, "verb"));
    narrow(&s, "event", json_get_str(request, "event"));
    if (run(&s, st) < 0)
        return -1;
    json_add(&o, STR("items"), json_array_value(&s.items));
    json_add(&o, STR("pagination"), mgmt_pagination(ctx->arena, &page, s.seen));
    *response = json_object_done(&o);
    return 0;
}

static const struct rpc_handler handlers[] = { { .method = "ListAudits", .fn = list_audits } };

const struct mgmt_service audit_service = { "Audit", handlers,
                                            sizeof(handlers) / sizeof(*handlers) };
