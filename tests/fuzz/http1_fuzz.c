/* SPDX-License-Identifier: Apache-2.0 */

/* All bytes that a client sends on an HTTP/1.1 connection, whole and cut in two. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "unit/http_testlib.h"

static void talk(const uint8_t *data, size_t size, size_t cut)
{
    struct http_limits limits = HTTP_LIMITS_DEFAULT;
    struct wire w;

    limits.headers = 4096;
    limits.body = 4096;
    wire_open(&w, &h1_proto, &limits);
    wire_write(&w, data, cut);
    wire_write(&w, data + cut, size - cut);
    for (unsigned i = 0; i < app.nheld; i++)
        if (app.held[i])
            http_reply(app.held[i], 200, NULL, 0, NULL, 0);
    app.nheld = 0;
    if (app.watch)
        (void)push_text(app.watch, "event\n");
    wire_eof(&w);
    wire_release(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    talk(data, size, size);
    talk(data, size, size / 2);
    return 0;
}
