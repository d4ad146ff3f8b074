/* SPDX-License-Identifier: Apache-2.0 */

/* The reader of HTTP/1.1 replies: the first byte says how the rest is cut. */

#include <stdlib.h>

#include "base/arena.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "http/client_h1_reader.h"

static void on_head(void *arg, int status, const struct http_header *h, size_t n)
{
    buf_printf(arg, "%d\n", status);
    for (size_t i = 0; i < n; i++)
        buf_printf(arg, "%.*s=%.*s\n", STR_ARG(h[i].name), STR_ARG(h[i].value));
}

static void on_data(void *arg, str bytes)
{
    buf_str_append(arg, bytes);
}

static int read_reply(struct arena *a, str text, size_t step, bool may_switch, struct buf *out)
{
    static const bool go_on = false;
    struct h1_reader r;
    struct status st;
    size_t used;
    int rc = 0;

    status_init(&st, a);
    h1_reader_init(&r);
    r.head = on_head;
    r.data = on_data;
    r.arg = out;
    h1_reader_next(&r, false);
    r.may_switch = may_switch;
    while (text.n && rc == 0 && r.state != H1_DONE) {
        str bytes = str_sub(text, 0, step);

        rc = h1_reader_feed(&r, bytes, &used, &go_on, &st);
        if (rc == 0 && used < bytes.n && r.state != H1_DONE)
            abort(); /* it must use all or be done */
        text = str_from(text, step);
    }
    rc = rc < 0 ? -1 : (int)r.state;
    h1_reader_release(&r);
    return rc;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    scoped_buf whole, cut;
    str text;

    buf_init(&whole, 1 << 24);
    buf_init(&cut, 1 << 24);
    if (!size)
        return 0;
    text = (str){ (const char *)data + 1, size - 1 };
    if (read_reply(a, text, SIZE_MAX, data[0] & 128, &whole) !=
            read_reply(a, text, 1 + data[0] % 64, data[0] & 128, &cut) ||
        !str_eq(buf_str(&whole), buf_str(&cut)))
        abort();
    return 0;
}
