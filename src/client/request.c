/* SPDX-License-Identifier: Apache-2.0 */
#include "client/request.h"

#include "base/banned.h"
#include "base/encode.h"

enum { PATH_MAX_BYTES = 1 << 20 }; /* continue tokens and selectors may be long */

/* ---- paths ---- */

static void segment(struct arena *a, struct buf *b, str s)
{
    buf_byte(b, '/');
    buf_str_append(b, percent_encode(a, s));
}

static void param(struct arena *a, struct buf *b, char *sep, const char *name, str value)
{
    if (!value.n)
        return;
    buf_byte(b, *sep);
    buf_printf(b, "%s=", name);
    buf_str_append(b, percent_encode(a, value));
    *sep = '&';
}

static str number(struct arena *a, uint32_t n)
{
    return n ? str_printf(a, "%u", n) : STR_NONE;
}

static str flag(bool on, str value)
{
    return on ? value : STR_NONE;
}

static void query(struct arena *a, struct buf *b, const struct client_query *q)
{
    char sep = '?';

    param(a, b, &sep, "watch", flag(q->watch, STR("true")));
    param(a, b, &sep, "allowWatchBookmarks", flag(q->bookmarks, STR("true")));
    param(a, b, &sep, "sendInitialEvents", flag(q->initial_events, STR("true")));
    param(a, b, &sep, "labelSelector", q->label_selector);
    param(a, b, &sep, "fieldSelector", q->field_selector);
    param(a, b, &sep, "resourceVersion", q->resource_version);
    param(a, b, &sep, "resourceVersionMatch", q->resource_version_match);
    param(a, b, &sep, "limit", number(a, q->limit));
    param(a, b, &sep, "continue", q->continue_token);
    param(a, b, &sep, "timeoutSeconds", number(a, q->timeout_s));
    param(a, b, &sep, "fieldManager", q->field_manager);
    param(a, b, &sep, "force", flag(q->force, STR("true")));
    param(a, b, &sep, "dryRun", flag(q->dry_run, STR("All")));
    param(a, b, &sep, "fieldValidation", q->field_validation);
}

str client_path(struct arena *a, const struct client_ref *ref, const struct client_query *q)
{
    scoped_buf b;

    buf_init(&b, PATH_MAX_BYTES);
    if (str_is(ref->instance, "*")) {
        buf_lit(&b, "/clusters/*");
    } else if (ref->instance.n) {
        buf_lit(&b, "/clusters");
        segment(a, &b, ref->instance);
    }
    if (ref->group.n) {
        buf_lit(&b, "/apis");
        segment(a, &b, ref->group);
    } else {
        buf_lit(&b, "/api");
    }
    segment(a, &b, ref->version);
    if (ref->namespace.n) {
        buf_lit(&b, "/namespaces");
        segment(a, &b, ref->namespace);
    }
    segment(a, &b, ref->resource);
    if (ref->name.n)
        segment(a, &b, ref->name);
    if (ref->subresource.n) {
        buf_byte(&b, '/');
        buf_str_append(&b, ref->subresource);
    }
    if (q)
        query(a, &b, q);
    return str_dup(a, buf_str(&b));
}

/* ---- requests ---- */

static struct client_request request(struct arena *a, const char *method,
                                     const struct client_ref *ref, const struct client_query *q)
{
    return (struct client_request){ .method = str_of(method), .path = client_path(a, ref, q) };
}

static struct client_request with_body(struct arena *a, struct client_request r,
                                       const char *content_type, const struct json *body)
{
    r.content_type = str_of(content_type);
    r.body = json_text(a, body);
    return r;
}

/* The collection: what is created has its name in the body. */
static struct client_ref collection(const struct client_ref *ref)
{
    struct client_ref c = *ref;

    if (!c.subresource.n)
        c.name = STR_NONE;
    return c;
}

struct client_request client_request_get(struct arena *a, const struct client_ref *ref)
{
    return request(a, "GET", ref, NULL);
}

struct client_request client_request_list(struct arena *a, const struct client_ref *ref,
                                          const struct client_query *q)
{
    return request(a, "GET", ref, q);
}

struct client_request client_request_watch(struct arena *a, const struct client_ref *ref,
                                           const struct client_query *q)
{
    struct client_query w = q ? *q : (struct client_query){ 0 };
    struct client_request r;

    w.watch = true;
    r = request(a, "GET", ref, &w);
    r.timeout_ms = -1;
    return r;
}

struct client_request client_request_create(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q, const struct json *obj)
{
    struct client_ref c = collection(ref);

    return with_body(a, request(a, "POST", &c, q), "application/json", obj);
}

struct client_request client_request_update(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q, const struct json *obj)
{
    return with_body(a, request(a, "PUT", ref, q), "application/json", obj);
}

struct client_request client_request_patch(struct arena *a, const struct client_ref *ref,
                                           const struct client_query *q,
                                           enum client_patch_type type, const struct json *patch)
{
    static const char *const types[] = {
        [CLIENT_PATCH_JSON] = "application/json-patch+json",
        [CLIENT_PATCH_MERGE] = "application/merge-patch+json",
        [CLIENT_PATCH_STRATEGIC] = "application/strategic-merge-patch+json",
        [CLIENT_PATCH_APPLY] = "application/apply-patch+yaml", /* JSON is YAML */
    };

    return with_body(a, request(a, "PATCH", ref, q), types[type], patch);
}

struct client_request client_request_delete(struct arena *a, const struct client_ref *ref,
                                            const struct client_query *q,
                                            const struct json *options)
{
    struct client_request r = request(a, "DELETE", ref, q);

    return options ? with_body(a, r, "application/json", options) : r;
}
