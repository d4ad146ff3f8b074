/* SPDX-License-Identifier: Apache-2.0 */

/* Options of searches: whatever they say, they are read or refused, and bounded. */

#include "search/query.h"

#include <stdlib.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct query q;
    struct status st;

    status_init(&st, a);
    if (query_parse(a, text, &q, &st) < 0) {
        if (st.reason != REASON_BAD_REQUEST && st.reason != REASON_INVALID)
            abort();
        return 0;
    }
    if (q.norders > QUERY_ORDERS_MAX || q.owner_seniority < 0 ||
        q.owner_seniority > QUERY_SENIORITY_MAX || q.limit < 0 || q.offset < 0)
        abort();
    for (size_t i = 0; i < q.fields.n; i++)
        if (q.fields.terms[i].npath == 0)
            abort();
    return 0;
}
