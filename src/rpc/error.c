/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/error.h"

#include "base/arena.h"
#include "base/banned.h"
#include "base/pbwire.h"
#include "json/json.h"

#define BAD_REQUEST_TYPE "type.googleapis.com/google.rpc.BadRequest"

enum { MESSAGE_MAX = 4096 }; /* of a header; clients cut off longer ones */

int error_http(const struct status *st)
{
    static const int codes[] = { 200, 499, 500, 400, 504, 404, 409, 403, 429,
                                 400, 409, 400, 501, 500, 503, 500, 401 };

    if (st->reason == REASON_TOO_LARGE) /* 429 would say: try it again */
        return 413;
    return codes[status_grpc(st)];
}

void error_print(struct buf *b, const struct status *st)
{
    buf_printf(b, "{\"code\":%d,\"message\":", status_grpc(st));
    json_print_string(b, st->message);
    buf_lit(b, ",\"details\":[");
    if (st->causes)
        buf_lit(b, "{\"@type\":\"" BAD_REQUEST_TYPE "\",\"fieldViolations\":[");
    for (const struct cause *c = st->causes; c; c = c->next) {
        buf_lit(b, "{\"field\":");
        json_print_string(b, c->field);
        buf_lit(b, ",\"description\":");
        json_print_string(b, c->message);
        buf_str_append(b, c->next ? STR("},") : STR("}]}"));
    }
    buf_lit(b, "]}");
}

static void encode_bad_request(struct buf *b, const struct status *st)
{
    for (const struct cause *c = st->causes; c; c = c->next) {
        size_t mark = pb_begin(b, 1);

        pb_put_bytes(b, 1, c->field);
        pb_put_bytes(b, 2, c->message);
        pb_end(b, mark);
    }
}

void error_encode(struct buf *b, const struct status *st)
{
    size_t any, value;

    pb_put_uint(b, 1, (uint64_t)status_grpc(st));
    pb_put_bytes(b, 2, st->message);
    if (!st->causes)
        return;
    any = pb_begin(b, 3);
    pb_put_bytes(b, 1, STR(BAD_REQUEST_TYPE));
    value = pb_begin(b, 2);
    encode_bad_request(b, st);
    pb_end(b, value);
    pb_end(b, any);
}

str error_message(struct arena *a, const struct status *st)
{
    static const char hex[] = "0123456789ABCDEF";
    str s = str_sub(st->message, 0, MESSAGE_MAX);
    char *p = arena_alloc_raw(a, 3 * s.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];

        if (c >= 0x20 && c < 0x7f && c != '%') {
            p[n++] = (char)c;
            continue;
        }
        p[n++] = '%';
        p[n++] = hex[c >> 4];
        p[n++] = hex[c & 15];
    }
    return (str){ p, n };
}
