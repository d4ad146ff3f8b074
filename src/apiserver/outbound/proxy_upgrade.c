/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Connections that become another protocol through the proxy: exec, attach, port-forward.
 *
 * The caller's connection is given away only after the other side has said 101, to just what was
 * asked for; any other answer is an answer, and both connections end with it.  Then bytes pass both
 * ways as they come, each side held up while the other is slow.
 *
 * k8s: apimachinery/pkg/util/proxy/upgradeaware.go
 */

#include "apiserver/call/instance_limits.h"
#include "apiserver/call/internal.h"
#include "apiserver/outbound/proxy_internal.h"
#include "base/banned.h"

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

bool upgrade_wanted(const struct call *c)
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

/* ---- asking ---- */

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

int upgrade_ask(struct proxied *p, struct http_header *h, size_t *n, struct status *st)
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

/* ---- passing ---- */

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
    c->ops->pause(c, true);
    arm(p);
}

void upgrade_look(struct proxied *p)
{
    struct client_transport *t = p->transport;

    if (p->paused && p->sink->queued(p->sink) <= PROXY_LOW)
        proxied_pause(p, false);
    if (p->hushed && t->unsent(t, &p->http) <= PROXY_LOW) {
        p->hushed = false;
        p->call->ops->pause(p->call, false);
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

void upgrade_begin(struct proxied *p, const struct http_header *h, size_t n)
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
