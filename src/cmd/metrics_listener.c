/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/metrics_listener.h"

#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"
#include "base/metric.h"
#include "http/address.h"
#include "http/listen.h"

enum { TEXT_MAX = 1 << 20, BODY_MAX = 4 << 10, HEADERS_MAX = 16 << 10, CONNECTIONS_MAX = 64 };

static const struct http_header plain_headers[] = {
    { STR_INIT("content-type"), STR_INIT(METRIC_CONTENT_TYPE) },
    { STR_INIT("x-content-type-options"), STR_INIT("nosniff") },
};

static void answer(struct http_request *req, int code, str type, str body)
{
    struct http_header headers[] = { plain_headers[0], plain_headers[1] };

    headers[0].value = type;
    http_reply(req, code, headers, 2, &body, 1);
}

static void answer_metrics(struct http_request *req)
{
    scoped_buf b = { .max = TEXT_MAX };

    metric_print(&b);
    answer(req, 200, STR(METRIC_CONTENT_TYPE), str_dup(req->arena, buf_str(&b)));
}

static void serve(struct http_request *req, void *arg)
{
    const struct metrics_listener *m = arg;
    struct health_answer a;
    str text = STR("text/plain; charset=utf-8");

    if (!str_is(req->method, "GET") && !str_is(req->method, "HEAD"))
        answer(req, 405, text, STR("GET or HEAD\n"));
    else if (str_is(req->path, "/metrics"))
        answer_metrics(req);
    else if (health_serve(m->health, req->arena, req->path, req->query, &a))
        answer(req, a.code, a.content_type, a.body);
    else
        answer(req, 404, text, STR("/metrics, /healthz, /livez, /readyz\n"));
}

int metrics_listener_open(struct metrics_listener *m, const char *address, struct status *st)
{
    const char *where = m->listen ? m->listen : address;
    struct host_port at;

    if (strcmp(where, "none") == 0)
        return 0;
    if (address_parse(str_of(where), &at, st) < 0)
        return status_wrap(st, "--metrics-listen %s", where);
    if (!address_is_loopback(at.host) && !m->plain)
        return status_set(st, REASON_BAD_REQUEST,
                          "--metrics-listen %s: other machines would read it without TLS and "
                          "authentication; add --metrics-plain-http if they may",
                          where);
    m->socket = listen_bind(str_of(where), st);
    if (m->socket >= 0)
        return 0;
    m->socket = 0;
    if (m->listen)
        return status_wrap(st, "--metrics-listen %s", where);
    log_warn("no metrics and no health checks are served: choose another --metrics-listen",
             log_str("why", st->message));
    status_reset(st);
    return 0;
}

int metrics_listener_start(struct metrics_listener *m, struct loop *l, struct health_check check,
                           struct status *st)
{
    struct http_server_options o = { .listener = m->socket,
                                     .plain = true,
                                     .loops = &l,
                                     .nloops = 1,
                                     .limits = HTTP_LIMITS_DEFAULT,
                                     .handler = serve,
                                     .arg = m };

    if (!m->socket)
        return 0;
    o.limits.body = BODY_MAX;
    o.limits.headers = HEADERS_MAX;
    o.limits.connections = CONNECTIONS_MAX;
    m->health = health_new();
    health_add(m->health, check);
    m->socket = 0; /* the server's from here on */
    m->server = http_server_new(&o, st);
    if (!m->server)
        return -1;
    log_info("metrics", log_str("listen", http_server_address(m->server)));
    return 0;
}

void metrics_listener_release(struct metrics_listener *m)
{
    if (m->socket)
        (void)close(m->socket);
    http_server_free(m->server);
    health_free(m->health);
}
