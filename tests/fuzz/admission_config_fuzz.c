/* SPDX-License-Identifier: Apache-2.0 */

/* A configuration that is taken has limits that can be kept; one that is not says why. */

#include <assert.h>

#include "apiserver/admission/admission_config.h"
#include "fuzz.h"

static int file(struct arena *a, void *arg, str path, str *out, struct status *st)
{
    (void)a;
    (void)st;
    *out = path.n % 2 ? *(str *)arg : path;
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct admission_config c = { 0 };
    struct status st;

    status_init(&st, a);
    if (admission_config_read(a, text, file, &text, &c, &st) < 0) {
        assert(st.reason != REASON_OK && st.message.n);
        return 0;
    }
    assert(c.nlimits <= EVENT_LIMITS_MAX);
    for (size_t i = 0; i < c.nlimits; i++)
        assert(c.limits[i].qps > 0 && c.limits[i].burst > 0 && c.limits[i].cache > 0 &&
               c.limits[i].cache <= EVENT_CACHE_MAX);
    json_for_each (l, c.limited)
        assert(json_get_str(l, "resource").n);
    return 0;
}
