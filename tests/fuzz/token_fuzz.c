/* SPDX-License-Identifier: Apache-2.0 */

/* Continue tokens: refused, or such that writing and reading them again changes nothing. */

#include <assert.h>

#include "base/banned.h"
#include "base/encode.h"
#include "fuzz/fuzz.h"
#include "rest/token.h"
#include "store/store.h"

static void check(struct arena *a, str text)
{
    struct token t, again;
    struct status st;

    status_init(&st, a);
    if (token_parse(a, text, &t, &st) < 0) {
        assert(status_is(&st, REASON_BAD_REQUEST));
        return;
    }
    assert(t.after.n > 0 && t.after.n <= STORE_KEY_MAX);
    assert(token_parse(a, token_print(a, &t), &again, &st) == 0);
    assert(again.rev == t.rev && again.instance == t.instance && again.left == t.left);
    assert(str_eq(again.after, t.after));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str in = { (const char *)data, size };

    check(a, in);
    check(a, base64_encode(a, BASE64_URL, in)); /* so that the inside is reached, too */
    return 0;
}
