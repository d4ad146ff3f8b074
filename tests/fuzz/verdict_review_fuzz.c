/* SPDX-License-Identifier: Apache-2.0 */

/* What webhooks of the operator answer: never a name of the system, and no yes beside a failure. */

#include <assert.h>

#include "apiserver/auth/verdict_review.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

static void check_who(const struct identity *who)
{
    assert(who->user.n && !str_starts(who->user, STR("system:")) && who->ngroups > 0);
    for (size_t i = 0; i + 1 < who->ngroups; i++)
        assert(!str_starts(who->groups[i], STR("system:")));
    assert(str_is(who->groups[who->ngroups - 1], "system:authenticated"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, size };
    struct answer_cache_answer answer;
    struct status st;

    status_init(&st, a);
    if (token_review_read(a, text, STR("https://us"), &answer, &st) < 0)
        assert(st.reason != REASON_OK && !answer.yes);
    else if (answer.yes)
        check_who(&answer.who);
    status_reset(&st);
    if (access_review_read(a, text, STR_NONE, &answer, &st) < 0)
        assert(st.reason == REASON_UNAVAILABLE && !answer.yes);
    return 0;
}
