/* SPDX-License-Identifier: Apache-2.0 */

/* All bytes that a client sends on an HTTP/2 connection behind the preface. */

#include <errno.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "unit/http_h2lib.h"
#include "unit/http_testlib.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct wire w;

    limits.headers = 4096;
    limits.body = 4096;
    limits.streams = 8;
    limits.stream_queue = 1 << 20;
    wire_open(&w, &h2_proto, &limits);
    w.shard.early = app_early;
    wire_write(&w, h2_preface, sizeof(h2_preface) - 1);
    wire_write(&w, data, size / 2);
    if (app.watch)
        (void)push_zeros(app.watch, 100000);
    wire_write(&w, data + size / 2, size - size / 2);
    for (unsigned i = 0; i < app.nheld; i++)
        if (app.held[i])
            http_reply(app.held[i], 200, NULL, 0, NULL, 0);
    app.nheld = 0;
    if (app.watch)
        (void)push_text(app.watch, "event\n");
    wire_eof(&w);
    wire_release(&w);
    return 0;
}
