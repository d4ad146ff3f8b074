/* SPDX-License-Identifier: Apache-2.0 */

/* What a webhook may answer: read, applied to an object, and told to a client. */

#include <assert.h>

#include "apiserver/admission/hook_review.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scoped_arena a = arena_new();
    const struct json *doc, *out = NULL;
    struct review_answer answer;
    struct status st;
    int rc;

    status_init(&st, a);
    rc = json_parse(a, STR("{\"metadata\":{\"name\":\"x\"},\"data\":{\"k\":\"v\"}}"), NULL, &doc,
                    &st);
    assert(rc == 0);
    if (review_answer_read(a, (str){ (const char *)data, n }, n % 2 ? REVIEW_V1BETA1 : REVIEW_V1,
                           STR("u"), true, &answer, &st) < 0) {
        assert(st.reason == REASON_INTERNAL && st.message.n);
        return 0;
    }
    assert(!answer.patch || json_is(answer.patch, JSON_ARRAY));
    if (answer.patch && json_patch(a, doc, answer.patch, &out, &st) == 0)
        assert(out);
    status_reset(&st);
    if (!answer.allowed) {
        rc = review_refuse(&st, STR("w.example.com"), answer.status);
        assert(rc < 0 && status_http(&st) >= 400 && status_http(&st) < 600);
    }
    return 0;
}
