/* SPDX-License-Identifier: Apache-2.0 */

/* Any text as Accept, Content-Type, Accept-Encoding, User-Agent. */

#include <assert.h>

#include "apiserver/call/negotiate.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const str offers[] = { STR_INIT("application/json"), STR_INIT("application/x.y+z") };
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct status st;
    enum content content;

    status_init(&st, a);
    for (int e = ACCEPT_PLAIN; e <= ACCEPT_DISCOVERY; e++) {
        struct accept out;

        if (accept_negotiate(text, (enum accept_endpoint)e, &out, &st) < 0) {
            assert(status_is(&st, REASON_NOT_ACCEPTABLE));
            continue;
        }
        assert(out.content_type.n > 0);
        assert((out.transform == TRANSFORM_NONE) == (out.version.n == 0));
        assert(out.transform != TRANSFORM_DISCOVERY || e == ACCEPT_DISCOVERY);
        assert(out.media == MEDIA_JSON || e != ACCEPT_WATCH);
    }
    assert(accept_offer(text, offers, 2) < 2);
    if (content_of_body(text, &content, &st) == 0)
        assert(content <= CONTENT_PROTOBUF);
    if (content_of_patch(text, &content, &st) == 0)
        assert(content >= CONTENT_JSON_PATCH);
    (void)accepts_gzip(text);
    (void)wants_pretty(a, STR(""), text);
    return 0;
}
