/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/cron.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/* A schedule that is good stays so with a blank at either end, and is never empty. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    str fault = cron_fault(a, text);

    assert(size || fault.n);
    if (fault.n == 0 && size && data[0] != '@' && data[0] != 'T' && data[0] != 'C')
        assert(cron_fault(a, str_printf(a, " %.*s ", STR_ARG(text))).n == 0 ||
               memchr(data, 0, size));
    (void)cron_zone_is_valid(text);
    return 0;
}
