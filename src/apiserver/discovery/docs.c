/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/docs.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "apiserver/call/negotiate.h"
#include "apiserver/call/reqinfo.h"
#include "apiserver/call/version.h"
#include "apiserver/discovery/discovery.h"
#include "apiserver/discovery/discovery_merge.h"
#include "apiserver/discovery/openapi.h"
#include "apiserver/discovery/openapi_proto.h"
#include "apiserver/discovery/openapi_site.h"
#include "apiserver/discovery/openapi_v3.h"
#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"

enum {
    TEXT_MAX = 64 << 20,
    YEAR_S = 365 * 24 * 3600,
};

/* ---- the cache ---- */

struct ring {
    struct ring *prev, *next;
};

struct cached_document {
    struct ring ring; /* first: by last use, the newest first */
    struct bytes *bytes;
    size_t nkey;
    char key[];
};

struct docs {
    pthread_mutex_t mu;
    struct map map; /* guarded by mu, as all below */
    struct ring ends;
    size_t bytes, max_bytes;
};

struct docs *docs_new(size_t max_bytes)
{
    struct docs *d = mem_zalloc(sizeof(*d));

    (void)pthread_mutex_init(&d->mu, NULL);
    d->ends.prev = d->ends.next = &d->ends;
    d->max_bytes = max_bytes;
    return d;
}

static size_t cost(const struct cached_document *e)
{
    return sizeof(*e) + e->nkey + sizeof(struct bytes) + e->bytes->n;
}

static struct cached_document *entry_of(struct ring *r)
{
    return (struct cached_document *)(void *)r;
}

static void ring_remove(struct ring *r)
{
    r->prev->next = r->next;
    r->next->prev = r->prev;
}

static void ring_add_first(struct ring *ends, struct ring *r)
{
    r->prev = ends;
    r->next = ends->next;
    r->next->prev = r;
    ends->next = r;
}

static void drop_locked(struct docs *d, struct cached_document *e)
{
    (void)map_remove(&d->map, (str){ e->key, e->nkey });
    ring_remove(&e->ring);
    d->bytes -= cost(e);
    bytes_unref(e->bytes);
    free(e);
}

void docs_free(struct docs *d)
{
    if (!d)
        return;
    while (d->ends.next != &d->ends)
        drop_locked(d, entry_of(d->ends.next));
    map_release(&d->map);
    (void)pthread_mutex_destroy(&d->mu);
    free(d);
}

static struct cached_document *entry_new(uint64_t etag, str name, struct bytes *b)
{
    struct cached_document *e = mem_alloc(sizeof(*e) + sizeof(etag) + name.n);

    e->bytes = bytes_ref(b);
    e->nkey = sizeof(etag) + name.n;
    memcpy(e->key, &etag, sizeof(etag));
    if (name.n)
        memcpy(e->key + sizeof(etag), name.p, name.n);
    return e;
}

enum { KEY_MAX = 1024 }; /* longer names are not kept: no served group is as long */

struct bytes *docs_get(struct docs *d, uint64_t etag, str name)
{
    char key[KEY_MAX];
    struct bytes *found = NULL;
    struct cached_document *e;

    if (name.n > KEY_MAX - sizeof(etag))
        return NULL;
    memcpy(key, &etag, sizeof(etag));
    if (name.n)
        memcpy(key + sizeof(etag), name.p, name.n);
    (void)pthread_mutex_lock(&d->mu);
    e = map_get(&d->map, (str){ key, sizeof(etag) + name.n });
    if (e) {
        ring_remove(&e->ring);
        ring_add_first(&d->ends, &e->ring);
        found = bytes_ref(e->bytes);
    }
    (void)pthread_mutex_unlock(&d->mu);
    return found;
}

void docs_put(struct docs *d, uint64_t etag, str name, struct bytes *b)
{
    struct cached_document *e, *old;

    if (name.n > KEY_MAX - sizeof(etag))
        return;
    e = entry_new(etag, name, b);
    (void)pthread_mutex_lock(&d->mu);
    old = map_get(&d->map, (str){ e->key, e->nkey });
    if (old)
        drop_locked(d, old);
    (void)map_put(&d->map, (str){ e->key, e->nkey }, e);
    ring_add_first(&d->ends, &e->ring);
    d->bytes += cost(e);
    while (d->bytes > d->max_bytes && d->ends.prev != &d->ends)
        drop_locked(d, entry_of(d->ends.prev));
    (void)pthread_mutex_unlock(&d->mu);
}

/* ---- which document ---- */

enum doc_kind {
    DOC_PATHS,
    DOC_VERSION,
    DOC_API, /* /api and /apis, legacy or aggregated */
    DOC_APIS,
    DOC_GROUP,
    DOC_RESOURCES,
    DOC_OPENAPI_V2,
    DOC_OPENAPI_V2_PROTOBUF,
    DOC_OPENAPI_V3_ROOT,
    DOC_OPENAPI_V3,
    DOC_OPENAPI_V3_SITE, /* beside the kinds; the name is also the group, for the cache */
    DOC_NONE,            /* a path below ours where nothing is */
};

struct doc {
    enum doc_kind kind;
    str group, version;
    str aggregated; /* "v2", "v2beta1"; empty: legacy */
    str name;       /* of a v3 document, "api/v1" */
};

static const struct {
    str path;
    enum doc_kind kind;
} exact[] = {
    { STR_INIT("/"), DOC_PATHS },
    { STR_INIT("/version"), DOC_VERSION },
    { STR_INIT("/api"), DOC_API },
    { STR_INIT("/apis"), DOC_APIS },
    { STR_INIT("/openapi/v2"), DOC_OPENAPI_V2 },
    { STR_INIT("/openapi/v3"), DOC_OPENAPI_V3_ROOT },
};

/* "v1" below /api, "g" and "g/v" below /apis */
static struct doc below(bool core, str rest)
{
    struct doc d = { .kind = DOC_NONE };
    ptrdiff_t slash = str_find(rest, '/', 0);

    if (core && slash < 0) {
        d.kind = DOC_RESOURCES;
        d.version = rest;
    } else if (!core && slash < 0) {
        d.kind = DOC_GROUP;
        d.group = rest;
    } else if (!core && slash > 0 && str_find(rest, '/', (size_t)slash + 1) < 0) {
        d.kind = DOC_RESOURCES;
        d.group = str_sub(rest, 0, (size_t)slash);
        d.version = str_from(rest, (size_t)slash + 1);
    }
    return d;
}

static struct doc openapi_below(str name)
{
    struct doc d = { .kind = DOC_NONE };

    if (str_starts(name, STR("api/")))
        d = below(true, str_from(name, 4));
    else if (str_starts(name, STR("apis/")))
        d = below(false, str_from(name, 5));
    if (d.kind == DOC_RESOURCES)
        d.kind = DOC_OPENAPI_V3;
    else
        d = (struct doc){ .kind = DOC_OPENAPI_V3_SITE, .group = name };
    d.name = name;
    return d;
}

/* False when the path is not below one of ours. */
static bool find_doc(str path, struct doc *out)
{
    if (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++) {
        if (!str_eq(path, exact[i].path))
            continue;
        *out = (struct doc){ .kind = exact[i].kind };
        return true;
    }
    if (str_starts(path, STR("/api/")))
        *out = below(true, str_from(path, 5));
    else if (str_starts(path, STR("/apis/")))
        *out = below(false, str_from(path, 6));
    else if (str_starts(path, STR("/openapi/v3/")))
        *out = openapi_below(str_from(path, 12));
    else
        return false;
    return true;
}

bool docs_has(str path)
{
    struct doc unused;

    return find_doc(path, &unused);
}

/* ---- making ---- */

static const struct json *make(struct arena *a, const struct docs_request *r, const struct doc *d)
{
    const struct catalog *c = r->catalog;

    switch (d->kind) {
    case DOC_PATHS:
        return discovery_paths(a, c);
    case DOC_VERSION:
        return version_document(a);
    case DOC_API:
        return d->aggregated.n > 0 ? discovery_aggregated(a, c, true, d->aggregated)
                                   : discovery_api(a, c, r->server);
    case DOC_APIS:
        return d->aggregated.n > 0 ? discovery_aggregated(a, c, false, d->aggregated)
                                   : discovery_apis(a, c);
    case DOC_GROUP:
        return discovery_group(a, c, d->group);
    case DOC_RESOURCES:
        return discovery_resources(a, c, d->group, d->version);
    case DOC_OPENAPI_V2:
    case DOC_OPENAPI_V2_PROTOBUF:
        return openapi_v2(a, c);
    case DOC_OPENAPI_V3_ROOT:
        return openapi_v3_root(a, c, r->prefix);
    case DOC_OPENAPI_V3:
        return openapi_v3(a, c, d->group, d->version);
    case DOC_OPENAPI_V3_SITE:
        return openapi_v3_site(a, c, d->name);
    case DOC_NONE:
        return NULL;
    }
    return NULL;
}

static bool is_merged(const struct docs_request *r, const struct doc *d)
{
    return r->aggregated && (d->kind == DOC_PATHS || d->kind == DOC_APIS || d->kind == DOC_GROUP ||
                             d->kind == DOC_OPENAPI_V3_ROOT);
}

/* With what is served elsewhere. */
static const struct json *make_whole(struct arena *a, const struct docs_request *r,
                                     const struct doc *d)
{
    const struct json *own = make(a, r, d);

    if (!is_merged(r, d))
        return own;
    if (d->kind == DOC_PATHS)
        return merge_paths(a, own, r->aggregated);
    if (d->kind == DOC_GROUP)
        return merge_group(a, own, d->group, r->aggregated);
    if (d->kind == DOC_OPENAPI_V3_ROOT)
        return merge_openapi(a, own, r->prefix, r->aggregated);
    return merge_groups(a, own, r->aggregated);
}

/* A new reference, or NULL when there is no such document. */
static struct bytes *print(const struct docs_request *r, const struct doc *d)
{
    scoped_arena a = arena_new();
    const struct json *tree = make_whole(a, r, d);
    struct bytes *b;
    scoped_buf text = { .max = TEXT_MAX };

    if (!tree)
        return NULL;
    if (d->kind == DOC_OPENAPI_V2_PROTOBUF)
        openapi_proto_print(&text, tree);
    else
        json_print(&text, tree);
    b = bytes_new(text.n);
    memcpy(b->p, text.p, text.n);
    return b;
}

static str cache_name(struct arena *a, const struct docs_request *r, const struct doc *d)
{
    uint64_t others = is_merged(r, d) ? r->aggregated->etag : 0;
    str place = d->kind == DOC_OPENAPI_V3_ROOT           ? r->prefix
                : d->kind == DOC_API && !d->aggregated.n ? r->server
                                                         : STR_NONE;

    return str_printf(a, "%d/%.*s/%.*s/%.*s/%.*s/%llx", d->kind, STR_ARG(d->group),
                      STR_ARG(d->version), STR_ARG(d->aggregated), STR_ARG(place),
                      (unsigned long long)others);
}

static void unref_bytes(void *b)
{
    bytes_unref(b);
}

/* The URLs of the root hold the instance: one entry per instance would push out the others. */
static bool is_kept(const struct doc *d)
{
    return d->kind != DOC_OPENAPI_V3_ROOT;
}

static bool fill(struct docs *docs, struct arena *a, const struct docs_request *r,
                 const struct doc *d, str name, struct docs_answer *out)
{
    struct bytes *b = is_kept(d) ? docs_get(docs, r->catalog->etag, name) : NULL;

    if (!b) {
        b = print(r, d);
        if (b && is_kept(d))
            docs_put(docs, r->catalog->etag, name, b);
    }
    if (!b)
        return false;
    arena_defer(a, unref_bytes, b);
    out->body = bytes_str(b);
    return true;
}

/* ---- answering ---- */

static int negotiate_openapi_v2(str accept, struct doc *d, struct docs_answer *out,
                                struct status *st)
{
    static const str offers[] = { STR_INIT("application/json"), STR_INIT(OPENAPI_V2_PROTOBUF),
                                  STR_INIT(OPENAPI_V2_PROTOBUF_OLD) };
    int choice = accept_offer(accept, offers, sizeof(offers) / sizeof(*offers));

    if (choice < 0)
        return status_set(st, REASON_NOT_ACCEPTABLE,
                          "only the following media types are accepted: application/json, "
                          "application/com.github.proto-openapi.spec.v2.v1.0+protobuf");
    out->json = choice == 0;
    out->content_type = choice == 0 ? offers[0] : offers[1];
    if (choice > 0)
        d->kind = DOC_OPENAPI_V2_PROTOBUF;
    return 0;
}

/* k8s: apiserver/pkg/server/routes/version.go: JSON and nothing else */
static int negotiate_version(str accept, struct docs_answer *out, struct status *st)
{
    static const str offers[] = { STR_INIT("application/json") };

    if (accept_offer(accept, offers, 1) < 0)
        return status_set(st, REASON_NOT_ACCEPTABLE,
                          "406: Not Acceptable\n\nAvailable representations: application/json");
    out->json = true;
    out->content_type = offers[0];
    return 0;
}

static int negotiate(str accept, struct doc *d, struct docs_answer *out, struct status *st)
{
    bool discovery = d->kind == DOC_API || d->kind == DOC_APIS;
    struct accept chosen;

    if (d->kind == DOC_OPENAPI_V2)
        return negotiate_openapi_v2(accept, d, out, st);
    if (d->kind == DOC_VERSION)
        return negotiate_version(accept, out, st);
    if (accept_negotiate(accept, discovery ? ACCEPT_DISCOVERY : ACCEPT_PLAIN, &chosen, st) < 0)
        return -1;
    out->json = true;
    out->content_type = chosen.content_type;
    if (chosen.transform == TRANSFORM_DISCOVERY) {
        d->aggregated = chosen.version;
        out->cache_control = STR("public");
    }
    if (discovery)
        out->vary = STR("Accept");
    return 0;
}

/* The small ones are not worth a second round trip. */
static bool has_etag(const struct doc *d)
{
    return d->aggregated.n > 0 || d->kind == DOC_OPENAPI_V2 || d->kind == DOC_OPENAPI_V2_PROTOBUF ||
           d->kind == DOC_OPENAPI_V3_ROOT || d->kind == DOC_OPENAPI_V3 ||
           d->kind == DOC_OPENAPI_V3_SITE;
}

static bool etag_matches(str if_none_match, str etag)
{
    for (str rest = if_none_match, tag; str_split(&rest, ',', &tag);) {
        tag = str_trim(tag);
        if (str_starts(tag, STR("W/")))
            tag = str_from(tag, 2);
        if (str_eq(tag, etag) || str_eq(tag, STR("*")))
            return true;
    }
    return false;
}

static str http_date(struct arena *a, int64_t s)
{
    time_t t = (time_t)s;
    struct tm tm;
    char text[64];
    size_t n;

    if (!gmtime_r(&t, &tm))
        return STR_NONE;
    n = strftime(text, sizeof(text), "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return str_dup(a, (str){ text, n });
}

/*
 * With the right hash the answer never changes; with another one the client has an old root
 * document, and is sent on.  True when that is the whole answer.
 */
static bool check_hash(struct arena *a, const struct docs_request *r, const struct doc *d,
                       struct docs_answer *out)
{
    char hash[OPENAPI_HASH_LEN + 1];
    str given;

    if (!query_get(a, r->query, STR("hash"), &given) || given.n == 0)
        return false;
    openapi_v3_hash(hash, r->catalog, d->name);
    if (str_is(given, hash)) {
        out->cache_control = STR("public, immutable");
        out->expires = http_date(a, r->now_s + YEAR_S);
        return false;
    }
    *out = (struct docs_answer){
        .code = 301,
        .location = str_printf(a, "%.*s/openapi/v3/%.*s?hash=%s", STR_ARG(r->prefix),
                               STR_ARG(d->name), hash),
    };
    return true;
}

static void not_found(struct docs_answer *out)
{
    *out = (struct docs_answer){
        .code = 404,
        .content_type = STR("text/plain; charset=utf-8"),
        .body = STR("404 page not found\n"),
    };
}

static bool is_served(const struct docs_request *r, const struct doc *d)
{
    bool versioned = d->kind == DOC_RESOURCES || d->kind == DOC_OPENAPI_V3;

    if (d->kind == DOC_NONE)
        return false;
    if (d->kind == DOC_OPENAPI_V3_SITE)
        return openapi_site_has(r->catalog, d->name);
    if (d->kind == DOC_GROUP && r->aggregated && d->group.n &&
        aggregated_has(r->aggregated, d->group, STR_NONE))
        return true;
    if (versioned || d->kind == DOC_GROUP)
        return (!versioned || d->version.n > 0) &&
               catalog_has_group(r->catalog, d->group, d->version);
    return true;
}

/*
 * What CRDs come and go is in most of them; the core group is small and stays as it is, so it is
 * known by its text.
 */
static str tag_of(struct docs *docs, struct arena *a, const struct docs_request *r,
                  const struct doc *d, str name)
{
    char hash[OPENAPI_HASH_LEN + 1];
    struct docs_answer text;

    if (d->kind == DOC_API && fill(docs, a, r, d, name, &text))
        return str_printf(a, "\"%016llX\"", (unsigned long long)str_hash(text.body, 0, 0));
    openapi_v3_hash(hash, r->catalog, name);
    return str_printf(a, "\"%s\"", hash);
}

/* k8s: a group that is built in says itself which versions it lacks; others have no handler. */
static bool is_native(const struct docs_request *r, const struct doc *d)
{
    return d->kind == DOC_RESOURCES && d->version.n && discovery_is_native(r->catalog, d->group);
}

static int unknown_version(struct status *st)
{
    st->empty_details = true;
    return status_set(st, REASON_NOT_FOUND, "the server could not find the requested resource");
}

int docs_serve(struct docs *docs, struct arena *a, const struct docs_request *r,
               struct docs_answer *out, struct status *st)
{
    struct doc d;
    struct docs_answer answer = { .code = 200 };
    str name;

    if (!find_doc(r->path, &d) || !is_served(r, &d)) {
        if (is_native(r, &d))
            return unknown_version(st);
        not_found(out);
        return 0;
    }
    if ((d.kind == DOC_OPENAPI_V3 || d.kind == DOC_OPENAPI_V3_SITE) &&
        check_hash(a, r, &d, &answer)) {
        *out = answer;
        return 0;
    }
    if (negotiate(r->accept, &d, &answer, st) < 0)
        return -1;
    name = cache_name(a, r, &d);
    if (has_etag(&d)) {
        answer.etag = tag_of(docs, a, r, &d, name);
        answer.vary = STR("Accept");
    }
    if (has_etag(&d) && etag_matches(r->if_none_match, answer.etag)) {
        answer.code = 304;
        answer.content_type = STR_NONE;
    } else if (!fill(docs, a, r, &d, name, &answer)) {
        not_found(&answer);
    }
    *out = answer;
    return 0;
}
