/* SPDX-License-Identifier: Apache-2.0 */

/*
 * /apis/cluster.karmada.io/v1alpha1/clusters/<member>/proxy/…: a member's own API, as the caller.
 * /clusters/<instance>/… of an instance that is attached: the API of what it is elsewhere.
 * What an APIService says another server serves (apiserver/outbound/aggregate.h): that server, as
 * the caller.
 *
 * Who may is decided before (verb on clusters/proxy, or what is asked for itself); towards the
 * member we are its impersonator account and say for whom we ask, so that the member's own rules
 * apply; for an admin of the instance (system:masters) we are the account by which it works there.
 * Towards an attached instance we are the account by which it is attached for all who have a role
 * here: it knows nothing of these, and the chain has decided (docs/adr/0020).
 * To an aggregated server we are the front proxy of the instance, and say who asks.
 * Of the caller's headers only those of the content go on, of the member's answer as well: no
 * credential, no redirect and no hop-by-hop header passes in either direction.  The path is made
 * anew of what was parsed.
 *
 * Answers of any size pass with little memory: a member that is faster than the caller is paused.
 *
 * karmada: pkg/util/proxy/proxy.go
 */

#include <stdlib.h>

#include "apiserver/call/instance_limits.h"
#include "apiserver/call/internal.h"
#include "apiserver/call/local.h"
#include "apiserver/outbound/front_proxy.h"
#include "apiserver/outbound/proxy.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "fleet/member.h"

enum {
    PROXY_HIGH = 1 << 20,  /* bytes that wait for one side: the other is paused, */
    PROXY_LOW = 256 << 10, /* … and goes on */
    PROXY_LOOK_MS = 5,     /* how often that is looked at meanwhile */
    PROXY_UPGRADES = 1000, /* connections that were upgraded, on each loop */
    PROXY_UPGRADE_HEADERS = 16,
};

struct proxies { /* of one loop */
    struct client *control;
    struct fleet *fleet;
    struct proxied *first;
    unsigned upgrades;
    bool stopped;
};

struct proxied {
    struct proxied *next, **prev;
    struct proxies *all;
    struct call *call; /* NULL: answered in full, or nobody listens any more */
    str whom;          /* the member's name, in the arena */
    bool held;         /* the chain's hold on the call is ours */
    struct arena *arena;
    struct loop *loop;
    struct loop_timer timer; /* until the head has come; then: while paused */

    struct fleet_lookup lookup;
    struct member *member;
    struct peer *peer; /* of an aggregated server, in the place of a member */
    struct client_transport *transport;
    struct http_call http;
    bool asking, paused;
    bool ourselves;         /* we ask in our own name */
    struct rest_sink *sink; /* once the head was passed on */

    str protocol;     /* that is asked for, in the arena; empty: HTTP as it is */
    bool upgraded;    /* and was given */
    bool hushed;      /* the caller is paused */
    int64_t moved_ms; /* when bytes last passed, either way */
};

enum {
    WINDOW = 512 << 10, /* what a member may send after it was paused */
    WHOLE_MS = 600000,  /* of an answer that is not a watch */
    GROUPS_MAX = 100,
    HEADERS_MAX = PROXY_UPGRADE_HEADERS + 16 + FRONT_PROXY_HEADERS,
};

#define CONTAINER(p, type, member) ((type *)((char *)(p) - __builtin_offsetof(type, member)))

/* ---- the end ---- */

static void proxied_free(struct proxied *p)
{
    p->all->upgrades -= p->protocol.n > 0;
    *p->prev = p->next;
    if (p->next)
        p->next->prev = p->prev;
    loop_timer_cancel(p->loop, &p->timer);
    fleet_lookup_cancel(&p->lookup);
    if (p->asking)
        p->transport->cancel(p->transport, &p->http);
    member_unref(p->member);
    peer_unref(p->peer);
    arena_free(p->arena);
    free(p);
}

/* Before the head was passed on. */
static void fail(struct proxied *p, const struct status *why)
{
    struct call *c = p->call;
    struct status *st = call_status(c);
    struct rest_reply reply = { .failure = st };
    bool plain = p->peer && why->reason == REASON_UNAVAILABLE && !c->timed_out;

    status_copy(st, why);
    proxied_free(p);
    if (plain) /* k8s: the proxy speaks no JSON */
        call_answer_text(
            c, 503,
            str_printf(c->arena, "error trying to reach service: %.*s\n", STR_ARG(st->message)));
    else
        call_answer_rest(c, &reply); /* knows of calls whose time is over */
}

/* The stream is over, whoever ended it. */
static void leave(struct proxied *p)
{
    struct call *c = p->call;
    bool held = p->held;

    c->watch = NULL;
    proxied_free(p);
    if (held)
        call_release(c);
}

static struct proxied *proxied_find(const struct call *c)
{
    for (size_t i = 0; i < c->server->nloops; i++) {
        if (c->server->loops[i].loop != c->loop || !c->server->loops[i].proxies)
            continue;
        for (struct proxied *p = c->server->loops[i].proxies->first; p; p = p->next)
            if (p->call == c)
                return p;
    }
    return NULL;
}

static void proxied_closed(struct call *c)
{
    struct proxied *p = proxied_find(c);

    call_watch_ended(c);
    if (p)
        leave(p);
}

static void proxied_fail(struct proxied *p, enum reason reason, const char *what)
{
    struct status st;

    status_init(&st, p->arena);
    (void)status_set(&st, reason, "%s", what);
    if (p->whom.n)
        (void)status_wrap(&st, "cluster \"%.*s\"", STR_ARG(p->whom));
    fail(p, &st);
}

static void proxied_pause(struct proxied *p, bool paused)
{
    struct client_transport *t = p->transport;

    if (p->paused == paused || !t->pause)
        return;
    p->paused = paused;
    t->pause(t, &p->http, paused);
}

static void proxied_end(struct proxied *p)
{
    struct rest_sink *sink = p->sink;
    struct call *c = p->call;
    bool held = p->held;

    proxied_free(p);
    sink->end(sink); /* with it the call may be gone, if it is not held */
    if (held)
        call_release(c);
}

/* ---- connections that become another protocol: exec, attach, port-forward ---- */

/*
 * The caller's connection is given away only after the other side has said 101, to just what was
 * asked for; any other answer is an answer, and both connections end with it.  Then bytes pass both
 * ways as they come, each side held up while the other is slow.
 *
 * k8s: apimachinery/pkg/util/proxy/upgradeaware.go
 */
enum { IDLE_MS = 4 * 3600 * 1000 }; /* k8s: streamingConnectionIdleTimeout */

/* What is spoken to kubelets. */
static const char *const protocols[] = { "websocket", "SPDY/3.1" };

static const char *const asked[] = { "sec-websocket-key", "sec-websocket-version",
                                     "sec-websocket-extensions", "x-stream-protocol-version",
                                     NULL };
static const char *const given[] = { "sec-websocket-accept", "sec-websocket-protocol",
                                     "sec-websocket-extensions", "x-stream-protocol-version",
                                     NULL };

/* k8s: a token may stand among the protocols that a browser offers */
#define BEARER "base64url.bearer.authorization.k8s.io."

static bool upgrade_wanted(const struct call *c)
{
    for (size_t i = 0; i < c->nheaders; i++) {
        str rest = c->headers[i].value, word;

        if (!str_is(c->headers[i].name, "connection"))
            continue;
        while (str_split(&rest, ',', &word))
            if (str_eq_nocase(str_trim(word), STR("upgrade")))
                return call_header(c, "upgrade").n > 0;
    }
    return false;
}

static const char *find_protocol(str name)
{
    for (size_t i = 0; i < sizeof(protocols) / sizeof(*protocols); i++)
        if (str_eq_nocase(name, str_of(protocols[i])))
            return protocols[i];
    return NULL;
}

static int enter(struct proxied *p, struct status *st)
{
    struct call *c = p->call;

    if (!call_can_upgrade(c))
        return status_set(st, REASON_BAD_REQUEST, "Upgrade request required: use HTTP/1.1");
    if (p->all->upgrades >= PROXY_UPGRADES)
        return status_set(st, REASON_TOO_MANY_REQUESTS,
                          "too many connections are open through the proxy, try again later");
    if (c->rest.instance.id != INSTANCE_ROOT &&
        !limits_enter(c->server->limits, &c->rest.instance, &c->who, LIMITS_WATCHES,
                      &c->counted_watch, st))
        return -1;
    return 0;
}

/* Without what is a credential of the caller. */
static str clean_protocols(struct arena *a, str list)
{
    scoped_buf b = { .max = 8 << 10 };
    str word;

    while (str_split(&list, ',', &word)) {
        word = str_trim(word);
        if (!word.n || str_starts(word, STR(BEARER)))
            continue;
        if (b.n)
            buf_lit(&b, ", ");
        buf_str_append(&b, word);
    }
    return buf_overflown(&b) ? STR_NONE : str_dup(a, buf_str(&b));
}

static int upgrade_ask(struct proxied *p, struct http_header *h, size_t *n, struct status *st)
{
    struct call *c = p->call;
    const char *protocol = find_protocol(call_header(c, "upgrade"));
    size_t end = *n + PROXY_UPGRADE_HEADERS - 1;

    if (!protocol)
        return status_set(st, REASON_BAD_REQUEST,
                          "a connection can be upgraded to websocket or SPDY/3.1");
    if (c->body.n)
        return status_set(st, REASON_BAD_REQUEST, "what is upgraded has no body");
    if (enter(p, st) < 0)
        return -1;
    p->protocol = str_of(protocol);
    p->all->upgrades++;
    p->http.upgrade = true;
    p->http.timeout_ms = 0;
    h[(*n)++] = (struct http_header){ STR("upgrade"), p->protocol };
    for (size_t i = 0; i < c->nheaders && *n < end; i++) {
        str name = c->headers[i].name, value = c->headers[i].value;

        if (str_is(name, "sec-websocket-protocol"))
            value = clean_protocols(p->arena, value);
        else if (!str_is_any(name, asked))
            continue;
        if (value.n)
            h[(*n)++] = (struct http_header){ str_dup(p->arena, name), str_dup(p->arena, value) };
    }
    return 0;
}

static void arm(struct proxied *p)
{
    bool slow = p->paused || p->hushed;

    loop_timer_set(p->loop, &p->timer, slow ? PROXY_LOOK_MS : IDLE_MS);
}

static void from_caller(struct call *c, str bytes)
{
    struct proxied *p = proxied_find(c);
    struct client_transport *t;

    if (!p)
        return;
    t = p->transport;
    p->moved_ms = loop_now_ms(p->loop);
    t->send(t, &p->http, bytes);
    if (p->hushed || t->unsent(t, &p->http) < PROXY_HIGH)
        return;
    p->hushed = true;
    call_pause(c, true);
    arm(p);
}

static void upgrade_look(struct proxied *p)
{
    struct client_transport *t = p->transport;

    if (p->paused && p->sink->queued(p->sink) <= PROXY_LOW)
        proxied_pause(p, false);
    if (p->hushed && t->unsent(t, &p->http) <= PROXY_LOW) {
        p->hushed = false;
        call_pause(p->call, false);
    }
    if (loop_now_ms(p->loop) - p->moved_ms >= IDLE_MS)
        proxied_end(p);
    else
        arm(p);
}

static str header_of(const struct http_header *h, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(h[i].name, name))
            return h[i].value;
    return STR_NONE;
}

static void upgrade_begin(struct proxied *p, const struct http_header *h, size_t n)
{
    struct call *c = p->call;

    if (!str_eq_nocase(header_of(h, n, "upgrade"), p->protocol)) {
        proxied_fail(p, REASON_UNAVAILABLE, "switches to a protocol that was not asked for");
        return;
    }
    call_header_add(c, STR("upgrade"), p->protocol);
    for (size_t i = 0; i < n; i++)
        if (str_is_any(h[i].name, given))
            call_header_add(c, str_dup(c->arena, h[i].name), str_dup(c->arena, h[i].value));
    p->upgraded = true;
    p->moved_ms = loop_now_ms(p->loop);
    arm(p);
    p->sink = call_upgrade(c, from_caller, proxied_closed);
}

/* ---- headers ---- */

static const char *const to_member[] = {
    "accept",   "accept-encoding", "content-type",      "user-agent",
    "if-match", "if-none-match",   "if-modified-since", NULL
};
static const char *const to_caller[] = { "content-type", "content-encoding", "cache-control",
                                         "etag",         "last-modified",    "retry-after",
                                         "vary",         "warning",          NULL };

static bool fits_header(str value)
{
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < 0x20 || value.p[i] == 0x7f)
            return false;
    return true;
}

/* What the member gives a user by itself. */
static bool goes_without_saying(const struct identity *who, str group)
{
    return str_is(group, "system:authenticated") || str_is(group, "system:unauthenticated") ||
           (str_starts(who->user, STR("system:serviceaccount:")) &&
            str_starts(group, STR("system:serviceaccounts")));
}

/*
 * An admin of the instance has the member's Secrets anyway, so there is nobody to be: and servers
 * like ours let no impersonator be of system:masters.
 */
static bool is_admin(const struct call *c)
{
    return identity_in_group(&c->who, "system:masters");
}

/* These groups are had by a role alone (apiserver/auth/people.h). */
static bool has_role(const struct call *c)
{
    return identity_in_group(&c->who, "kairship:viewers") ||
           identity_in_group(&c->who, "kairship:admins");
}

static int add_identity(struct proxied *p, struct http_header *h, size_t *n, struct status *st)
{
    const struct identity *who = &p->call->who;

    if (!who->user.n || !fits_header(who->user) || who->ngroups > GROUPS_MAX)
        return status_set(st, REASON_FORBIDDEN, "a user of this name cannot act in a member");
    h[(*n)++] = (struct http_header){ STR("impersonate-user"), str_dup(p->arena, who->user) };
    for (size_t i = 0; i < who->ngroups; i++) {
        if (goes_without_saying(who, who->groups[i]))
            continue;
        if (!fits_header(who->groups[i]))
            return status_set(st, REASON_FORBIDDEN, "a group of this name cannot act in a member");
        h[(*n)++] =
            (struct http_header){ STR("impersonate-group"), str_dup(p->arena, who->groups[i]) };
    }
    return 0;
}

static void pass_headers(struct proxied *p, struct http_header *h, size_t *n)
{
    for (size_t i = 0; i < p->call->nheaders && *n < 16; i++)
        if (str_is_any(p->call->headers[i].name, to_member))
            h[(*n)++] = (struct http_header){ str_dup(p->arena, p->call->headers[i].name),
                                              str_dup(p->arena, p->call->headers[i].value) };
}

/* who: for an aggregated server; NULL: for a member. */
static int make_headers(struct proxied *p, const struct identity *who, struct status *st)
{
    struct http_header *h = arena_array(p->arena, struct http_header, HEADERS_MAX);
    size_t n = 0;

    pass_headers(p, h, &n);
    if (upgrade_wanted(p->call) && upgrade_ask(p, h, &n, st) < 0)
        return -1;
    if (who ? front_proxy_headers(p->arena, who, h, &n, st) < 0
            : !p->ourselves && add_identity(p, h, &n, st) < 0)
        return -1;
    p->http.headers = h;
    p->http.nheaders = n;
    return 0;
}

static str make_path(struct proxied *p, str rest)
{
    scoped_buf b = { .max = 64 << 10 };
    str part;

    while (str_split(&rest, '/', &part)) {
        buf_byte(&b, '/');
        buf_str_append(&b, percent_encode(p->arena, part));
    }
    if (!b.n)
        buf_byte(&b, '/');
    if (p->call->query.n) {
        buf_byte(&b, '?');
        buf_str_append(&b, p->call->query);
    }
    return str_dup(p->arena, buf_str(&b));
}

/* ---- the answer ---- */

/* An answer that must not reach the caller; true: he has another one. */
static bool refuse_head(struct proxied *p, int status)
{
    struct call *c = p->call;
    bool redirect = status >= 300 && status < 400 && status != 304;

    if (p->peer && redirect) {
        proxied_free(p);
        call_answer_text(c, 502,
                         STR("the backend attempted to redirect this request, which is not "
                             "permitted\n"));
        return true;
    }
    if (p->peer || (status != 401 && !redirect))
        return false;
    proxied_fail(p, REASON_UNAVAILABLE,
                 redirect ? "answers with a redirect, which is not followed"
                          : "does not accept the credentials of its impersonator");
    return true;
}

static void on_head(struct http_call *http, int status, const struct http_header *h, size_t n)
{
    struct proxied *p = http->user;

    if (p->call->timed_out)
        return; /* answered; what comes is dropped */
    loop_timer_cancel(p->loop, &p->timer);
    if (status == 101) {
        upgrade_begin(p, h, n);
        return;
    }
    if (refuse_head(p, status))
        return;
    for (size_t i = 0; i < n; i++)
        if (str_is_any(h[i].name, to_caller) && fits_header(h[i].value))
            call_header_add(p->call, str_dup(p->call->arena, h[i].name),
                            str_dup(p->call->arena, h[i].value));
    p->sink = call_open_as(p->call, status, proxied_closed);
}

static void on_data(struct http_call *http, str bytes)
{
    struct proxied *p = http->user;
    struct bytes *b;
    bool room;

    if (!p->sink || !bytes.n)
        return;
    p->moved_ms = loop_now_ms(p->loop);
    b = bytes_new(bytes.n);
    memcpy(b->p, bytes.p, bytes.n);
    room = p->sink->push(p->sink, b); /* false: `closed` comes */
    bytes_unref(b);
    if (!room || p->sink->queued(p->sink) < PROXY_HIGH)
        return;
    proxied_pause(p, true);
    loop_timer_set(p->loop, &p->timer, PROXY_LOOK_MS);
}

static void on_end(struct http_call *http, const struct status *why)
{
    struct proxied *p = http->user;
    struct status st;

    p->asking = false;
    if (!p->sink) {
        status_init(&st, p->arena);
        if (why)
            status_copy(&st, why);
        else
            (void)status_set(&st, REASON_UNAVAILABLE, "the answer has no head");
        if (p->whom.n)
            (void)status_wrap(&st, "cluster \"%.*s\"", STR_ARG(p->whom));
        fail(p, &st);
        return;
    }
    proxied_end(p);
}

/* ---- the question ---- */

static void on_timer(struct loop_timer *t)
{
    struct proxied *p = CONTAINER(t, struct proxied, timer);

    if (!p->sink) {
        proxied_fail(p, REASON_TIMEOUT, "did not answer in time");
        return;
    }
    if (p->upgraded) {
        upgrade_look(p);
        return;
    }
    if (p->sink->queued(p->sink) > PROXY_LOW)
        loop_timer_set(p->loop, t, PROXY_LOOK_MS);
    else
        proxied_pause(p, false);
}

static void ask(struct proxied *p, struct client_transport *t)
{
    p->transport = t;
    p->asking = true;
    t->call(t, &p->http);
}

static void on_member(struct fleet_lookup *l, struct member *m, const struct status *why)
{
    struct proxied *p = l->user;

    if (!m) {
        struct status st;

        status_init(&st, p->arena);
        status_copy(&st, why);
        if (!status_is(why, REASON_NOT_FOUND)) { /* nothing that the caller could put right */
            st.reason = REASON_UNAVAILABLE;
            (void)status_wrap(&st, "cluster \"%.*s\"", STR_ARG(p->whom));
        }
        fail(p, &st);
        return;
    }
    p->member = m;
    ask(p, member_transport(m));
}

static bool is_watch(struct call *c)
{
    return query_bool(c->arena, c->query, STR("watch")) ||
           query_bool(c->arena, c->query, STR("follow"));
}

static struct proxies *proxies_of(struct call *c)
{
    for (size_t i = 0; i < c->server->nloops; i++) {
        struct server_loop *l = &c->server->loops[i];

        if (l->loop != c->loop)
            continue;
        if (!l->proxies) {
            l->proxies = mem_zalloc(sizeof(*l->proxies));
            l->proxies->control = client_new(
                server_local_transport(c->server, l->loop, STR("system:kairship:fleet")));
            l->proxies->fleet = fleet_new(
                l->proxies->control,
                &(struct fleet_options){ .egress = &c->server->egress, .window = WINDOW });
        }
        return l->proxies;
    }
    abort(); /* a call on a loop that is not the server's */
}

static struct proxied *proxied_new(struct call *c)
{
    struct proxied *p = mem_zalloc(sizeof(*p));

    p->all = proxies_of(c);
    p->call = c;
    p->held = c->holders > 0;
    p->arena = arena_new();
    p->loop = c->loop;
    p->timer.fn = on_timer;
    p->next = p->all->first;
    p->prev = &p->all->first;
    if (p->next)
        p->next->prev = &p->next;
    p->all->first = p;
    p->http = (struct http_call){ .method = str_dup(p->arena, c->method),
                                  .body = c->body,
                                  .timeout_ms = is_watch(c) ? 0 : WHOLE_MS,
                                  .head = on_head,
                                  .data = on_data,
                                  .end = on_end,
                                  .user = p };
    p->lookup = (struct fleet_lookup){ .arena = p->arena, .done = on_member, .user = p };
    return p;
}

/* NULL: answered. */
static struct proxied *begin(struct call *c, str rest, const struct identity *who, bool ourselves)
{
    struct status *st = call_status(c);
    int64_t left = c->deadline_ms - loop_now_ms(c->loop);
    struct proxied *p;

    if (c->body_too_large)
        (void)status_set(st, REASON_TOO_LARGE, "Request entity too large: limit is %d", 3 << 20);
    if (st->reason != REASON_OK) {
        call_fail(c, st);
        return NULL;
    }
    p = proxied_new(c);
    p->ourselves = ourselves;
    p->http.path = make_path(p, rest);
    if (p->all->stopped)
        (void)status_set(st, REASON_UNAVAILABLE, "the server is stopping");
    else
        (void)make_headers(p, who, st);
    if (st->reason != REASON_OK) {
        fail(p, st);
        return NULL;
    }
    if (!c->mutating) /* writes are watched by the chain */
        loop_timer_set(c->loop, &p->timer, left > 0 ? left : 0);
    return p;
}

static void pass_on(struct call *c, const struct member_name *name, bool ourselves, str rest)
{
    struct proxied *p = begin(c, rest, NULL, ourselves);

    if (!p)
        return;
    p->whom = str_dup(p->arena, name->cluster);
    fleet_lookup(p->all->fleet, name, &p->lookup);
}

void proxy_backend(struct call *c, const struct proxy_backend *b, str rest)
{
    struct proxied *p = begin(c, rest, b->who, false);
    struct status *st;

    if (!p)
        return;
    st = call_status(c);
    p->peer = peer_get(peers_of(c->server, c->loop), &b->peer, st);
    if (p->peer)
        ask(p, peer_transport(p->peer));
    else
        fail(p, st);
}

void cluster_proxy(struct call *c)
{
    struct member_name name = { .instance = c->info.instance,
                                .cluster = c->info.name,
                                .impersonator = !is_admin(c) };

    pass_on(c, &name, is_admin(c), c->info.rest);
}

/* Its virtual cluster has the credentials. */
void instance_proxy(struct call *c)
{
    str instance = c->rest.instance.name;
    struct member_name name = { .door = MEMBER_REGISTRY,
                                .cluster =
                                    str_starts(instance, STR("k-"))
                                        ? instance
                                        : str_printf(c->arena, "k-%.*s", STR_ARG(instance)) };

    pass_on(c, &name, is_admin(c) || has_role(c), str_from(c->info.path, 1));
}

/* ---- the server's end ---- */

void proxies_stop(void *server_loop)
{
    struct proxies *all = ((struct server_loop *)server_loop)->proxies;

    if (!all)
        return;
    all->stopped = true;
    for (struct proxied *p = all->first, *next; p; p = next) {
        next = p->next;
        if (!p->sink)
            proxied_fail(p, REASON_UNAVAILABLE, "the server is stopping");
    }
}

void proxies_free(struct proxies *all)
{
    if (!all)
        return;
    for (struct proxied *p = all->first, *next; p; p = next) {
        struct call *c = p->call;
        bool held = p->held;

        next = p->next;
        proxied_free(p);
        if (held)
            call_release(c);
    }
    fleet_free(all->fleet);
    client_free(all->control);
    free(all);
}
