/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/mount_requests.h"

#include "apiserver/audit/audit.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/negotiate.h"
#include "apiserver/server/dispatch_check.h"
#include "base/banned.h"

enum { NAME_SHOWN = 253 }; /* bytes of a name that are recorded; no name of Kubernetes is longer */

struct mounted {
    struct mount_call call; /* first: the mount gets this */
    struct call *of;
    struct rest_sink *sink; /* of an open end */
};

static struct call *call_of(struct mount_call *m)
{
    return ((struct mounted *)(void *)m)->of;
}

/* ---- which ---- */

static bool is_below(str prefix, str path)
{
    return str_starts(path, prefix) &&
           (prefix.n == 0 || path.n == prefix.n || path.p[prefix.n] == '/');
}

/* Mostly of root alone: what a caller is in another instance, an admin even, says nothing there. */
static bool is_for(const struct mount *m, const struct call *c)
{
    if (c->info.instance.n && (!m->instances || c->rest.instance.id == STORE_ALL))
        return false;
    if (m->content_type && !str_starts(call_header(c, "content-type"), str_of(m->content_type)))
        return false;
    return is_below(str_of(m->prefix), c->info.path);
}

/* What a client says is the name of something may be anything, of any length. */
static str name_of(struct call *c, str name)
{
    size_t n = name.n < NAME_SHOWN ? name.n : NAME_SHOWN;

    while (n < name.n && n > 0 && ((unsigned char)name.p[n] & 0xc0) == 0x80)
        n--; /* not within a character */
    return str_dup(c->arena, str_sub(name, 0, n));
}

static str method_verb(struct arena *a, str method)
{
    char *p = arena_alloc(a, method.n + 1);

    for (size_t i = 0; i < method.n; i++)
        p[i] = (char)(method.p[i] >= 'A' && method.p[i] <= 'Z' ? method.p[i] | 0x20 : method.p[i]);
    return (str){ p, method.n };
}

/* Strings of tables stay; those of a request are copied. */
static void set_deed(struct call *c, const struct mount_deed *d)
{
    struct reqinfo *i = &c->deed->info;

    c->deed->event = str_dup(c->arena, d->event);
    if (d->verb.n)
        i->verb = str_dup(c->arena, d->verb);
    i->is_resource = d->object;
    i->group = name_of(c, d->group);
    i->version = name_of(c, d->version);
    i->resource = name_of(c, d->resource);
    i->subresource = name_of(c, d->subresource);
    i->namespace_ = name_of(c, d->namespace_);
    i->name = name_of(c, d->name);
    if (d->instance.n)
        i->instance = name_of(c, d->instance);
}

static void describe(struct call *c)
{
    struct mount_deed d = { .verb = STR_NONE };

    if (!c->mount->describe)
        return;
    c->mount->describe(c->mount->arg, c->method, c->info.path, &d);
    if (!d.object && !d.verb.n)
        return;
    c->deed = arena_new_of(c->arena, struct call_deed);
    c->deed->info = c->info;
    set_deed(c, &d);
}

void mount_take(struct call *c)
{
    for (size_t i = 0; i < c->server->nmounts && !c->mount; i++)
        if (is_for(&c->server->mounts[i], c))
            c->mount = &c->server->mounts[i];
    if (!c->mount)
        return;
    c->info = (struct reqinfo){ .instance = c->info.instance,
                                .prefix = c->info.prefix,
                                .path = c->info.path,
                                .verb = method_verb(c->arena, c->method) };
    describe(c);
}

/* ---- answers ---- */

static str add_headers(struct call *c, const struct http_header *h, size_t nh)
{
    str type = STR_NONE;

    for (size_t i = 0; i < nh; i++) {
        if (str_is(h[i].name, "content-type"))
            type = h[i].value;
        else
            call_header_add(c, h[i].name, h[i].value);
    }
    return type;
}

static void give_answer(struct mount_call *m, int code, const struct http_header *h, size_t nh,
                        const str *pieces, size_t npieces)
{
    struct call *c = call_of(m);
    str type = add_headers(c, h, nh);

    c->gzip = !c->body_follows && accepts_gzip(call_header(c, "accept-encoding"));
    c->mounted = NULL;
    call_answer(c, code, type, pieces, npieces);
}

static void give_failure(struct mount_call *m, const struct status *st)
{
    struct call *c = call_of(m);

    c->mounted = NULL;
    call_fail(c, st);
}

bool mount_refuse(struct call *c, const struct status *st)
{
    struct http_header h[MOUNT_REFUSAL];

    if (!c->mount || !c->mount->refusal)
        return false;
    c->outcome = status_http(st);
    call_answer(c, 200, add_headers(c, h, c->mount->refusal(c->arena, st, h)), NULL, 0);
    return true;
}

static void tell(struct mount_call *m, const struct mount_deed *d)
{
    struct call *c = call_of(m);

    if (!c->deed)
        return;
    set_deed(c, d);
    if (c->audit)
        audit_told(c);
}

static void failed(struct mount_call *m, int code, const struct status *why)
{
    struct call *c = call_of(m);
    struct status *st = call_status(c);

    status_copy(st, why);
    st->code = (unsigned)code;
    c->outcome = code;
    c->server->chain->failed(c, st);
}

static void give_trailers(struct mount_call *m, const struct http_header *h, size_t n)
{
    struct call *c = call_of(m);

    if (c->ops->trailers)
        c->ops->trailers(c, h, n);
}

/* ---- open ends ---- */

static void closed(struct call *c)
{
    struct mount_call *m = c->mounted;

    c->mounted = NULL;
    call_watch_ended(c);
    if (m && m->gone)
        m->gone(m);
}

static void give_open(struct mount_call *m, const struct http_header *h, size_t nh)
{
    struct call *c = call_of(m);
    str type = add_headers(c, h, nh);
    bool held = c->holders > 0;

    ((struct mounted *)(void *)m)->sink = call_open(c, type, closed);
    if (held)
        call_release(c);
}

static bool push(struct mount_call *m, struct bytes *b)
{
    struct rest_sink *sink = ((struct mounted *)(void *)m)->sink;

    return sink->push(sink, b);
}

static void end(struct mount_call *m)
{
    struct rest_sink *sink = ((struct mounted *)(void *)m)->sink;

    call_of(m)->mounted = NULL;
    sink->end(sink);
}

/* ---- bodies ---- */

static str peek(struct mount_call *m, bool *whole)
{
    struct call *c = call_of(m);

    if (c->body_follows)
        return c->ops->peek(c, whole);
    *whole = true;
    return m->body;
}

static void consume(struct mount_call *m, size_t n)
{
    struct call *c = call_of(m);

    if (c->body_follows)
        c->ops->consume(c, n);
    else
        m->body = str_from(m->body, n);
}

void mount_more(struct call *c)
{
    struct mount_call *m = c->mounted;

    m->body_too_large = c->body_too_large;
    if (m->more)
        m->more(m);
}

void mount_gone(struct call *c)
{
    struct mount_call *m = c->mounted;

    if (m->gone)
        m->gone(m);
}

static const struct mount_ops ops = { .answer = give_answer,
                                      .fail = give_failure,
                                      .tell = tell,
                                      .failed = failed,
                                      .trailers = give_trailers,
                                      .open = give_open,
                                      .push = push,
                                      .end = end,
                                      .peek = peek,
                                      .consume = consume };

void mount_serve(struct call *c)
{
    struct mounted *m = arena_new_of(c->arena, struct mounted);

    *m = (struct mounted){
        .of = c,
        .call = { .ops = &ops,
                  .arena = c->arena,
                  .loop = c->loop,
                  .method = c->method,
                  .path = c->info.path,
                  .instance = c->info.instance,
                  .query = c->query,
                  .headers = c->headers,
                  .nheaders = c->nheaders,
                  .body = c->body,
                  .body_too_large = c->body_too_large,
                  .body_follows = c->body_follows,
                  .who = c->who,
                  .audit_id = c->audit_id,
                  .deadline_ms = c->deadline_ms },
    };
    c->mounted = &m->call;
    c->mount->serve(c->mount->arg, &m->call);
}

/* ---- before it begins ---- */

static bool hides_a_kind(const struct reqinfo *i, const struct catalog *c)
{
    for (size_t k = 0; k < c->nkinds; k++)
        if (str_eq(c->kinds[k]->group, i->group))
            return true;
    return false;
}

static bool hides_a_document(str prefix)
{
    const char *pattern;

    for (size_t i = 0; (pattern = document_path(i)); i++) {
        str stem = str_of(pattern);

        if (str_ends(stem, STR("*")))
            stem.n--;
        if (is_below(prefix, stem) || (stem.n > 1 && str_starts(prefix, stem)))
            return true;
    }
    return false;
}

static int check_prefix(struct arena *a, str prefix, const struct catalog *c, struct status *st)
{
    struct reqinfo info;
    bool hides;

    if (reqinfo_parse(a, STR("GET"), str_printf(a, "%.*s/v1/x", STR_ARG(prefix)), STR_NONE, &info,
                      st) < 0)
        return -1;
    hides = info.is_resource ? hides_a_kind(&info, c) : hides_a_document(prefix);
    if (hides || info.instance.n || str_ends(prefix, STR("/")))
        return status_set(st, REASON_INTERNAL, "%.*s is not free for another part to answer",
                          STR_ARG(prefix));
    return 0;
}

int mounts_check(struct arena *a, const struct mount *mounts, size_t n, const struct catalog *c,
                 struct status *st)
{
    for (size_t i = 0; i < n; i++) {
        str prefix = str_of(mounts[i].prefix);

        if ((prefix.n == 0 || mounts[i].early) && !mounts[i].content_type)
            return status_set(st, REASON_INTERNAL, "a mount without a prefix needs a content type");
        if (prefix.n && check_prefix(a, prefix, c, st) < 0)
            return -1;
    }
    return 0;
}
