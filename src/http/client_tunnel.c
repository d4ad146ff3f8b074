/* SPDX-License-Identifier: Apache-2.0 */

/* The way through an HTTP proxy: CONNECT, and then the bytes are the server's. */

#include <errno.h>
#include <unistd.h>

#include "base/banned.h"
#include "http/client_conn.h"

enum { ANSWER_MAX = 8 << 10 };

static int fail(const struct client_conn *conn, struct status *st, const char *why)
{
    const struct http_client_options *o = &conn->client->o;

    return status_set(st, REASON_UNAVAILABLE, "proxy %.*s:%.*s: %s", STR_ARG(o->proxy_host),
                      STR_ARG(o->proxy_port), why);
}

bool client_tunnel_ask(struct client_conn *conn, struct status *st)
{
    const struct http_client_options *o = &conn->client->o;
    bool v6 = str_find(o->host, ':', 0) >= 0;
    str to = str_printf(st->arena, "%s%.*s%s:%.*s", v6 ? "[" : "", STR_ARG(o->host), v6 ? "]" : "",
                        STR_ARG(o->port));
    str ask = str_printf(st->arena, "CONNECT %.*s HTTP/1.1\r\nHost: %.*s\r\n\r\n", STR_ARG(to),
                         STR_ARG(to));

    /* The socket is new: so few bytes have room in it. */
    if (send(conn->fd.fd, ask.p, ask.n, MSG_NOSIGNAL) == (ssize_t)ask.n)
        return true;
    (void)fail(conn, st, "cannot be written to");
    return false;
}

static int judge(const struct client_conn *conn, str head, struct status *st)
{
    ptrdiff_t line = str_find(head, '\r', 0), blank = str_find(head, ' ', 0);
    str first = str_sub(head, 0, line < 0 ? head.n : (size_t)line);

    if (!str_starts(first, STR("HTTP/1.")) || blank < 0)
        return fail(conn, st, "speaks no HTTP");
    if (str_starts(str_from(first, (size_t)blank + 1), STR("200")))
        return 1;
    return fail(conn, st, arena_printf(st->arena, "answers %.*s", STR_ARG(first)));
}

/* The server is silent until it is spoken to, so nothing of it can be behind the answer. */
int client_tunnel_read(struct client_conn *conn, struct status *st)
{
    char chunk[1024];

    for (;;) {
        ssize_t n = recv(conn->fd.fd, chunk, sizeof(chunk), 0);
        str head;

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return 0;
        if (n <= 0)
            return fail(conn, st, "closed the connection");
        buf_append(&conn->out, chunk, (size_t)n);
        head = buf_str(&conn->out);
        if (str_ends(head, STR("\r\n\r\n"))) {
            int rc = judge(conn, head, st);

            buf_clear(&conn->out);
            return rc;
        }
        if (head.n > ANSWER_MAX || str_contains(head, STR("\r\n\r\n")))
            return fail(conn, st, "answers with more than a head");
    }
}
