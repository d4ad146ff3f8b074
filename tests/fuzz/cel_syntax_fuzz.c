/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/cel_syntax.h"

#include <assert.h>

#include "base/arena.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

/* What goes wrong does so inside of the text and has a reason; brackets change nothing. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    const char *why = NULL;
    size_t at = 0;

    if (!cel_syntax_check(text, &at, &why)) {
        assert(why && at <= size);
        return 0;
    }
    assert(!why && at == size);
    if (cel_syntax_check(str_printf(a, "(%.*s\n)", STR_ARG(text)), &at, &why) == false)
        assert(memchr(data, 0, size) || str_is(str_of(why), "nested too deeply"));
    return 0;
}
