/* SPDX-License-Identifier: Apache-2.0 */

/* AuthenticationConfiguration: refused with a reason, or whole and safe to map claims by. */

#include <assert.h>

#include "apiserver/auth/authn_claims.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"

#define CLAIMS(issuer)                                                                            \
    "{\"iss\":\"%.*s\",\"aud\":\"%.*s\",\"exp\":9,\"sub\":\"system:s\",\"groups\":[\"g\"],"       \
    "\"email\":\"e\",\"email_verified\":true,\"realm_access\":{\"roles\":[\"system:masters\"]}}", \
        STR_ARG((issuer)->url), STR_ARG((issuer)->audiences[0])

static void map(struct arena *a, const struct authn_issuer *i)
{
    const struct json *claims;
    struct identity who;
    struct status st;
    int64_t expires;

    status_init(&st, a);
    if (json_parse(a, str_printf(a, CLAIMS(i)), NULL, &claims, &st) < 0)
        return; /* the URL has quotes */
    if (authn_claims_map(a, i, claims, 1, &who, &expires, &st) < 0) {
        assert(st.reason == REASON_UNAUTHORIZED && st.message.n);
        return;
    }
    assert(who.user.n && expires == 9 && !str_starts(who.user, STR("system:")));
    assert(who.ngroups > 0 && str_is(who.groups[who.ngroups - 1], "system:authenticated"));
    assert(!identity_in_group(&who, "system:masters"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct authn_config *c;
    struct status st;

    status_init(&st, a);
    c = authn_config_read((str){ (const char *)data, size }, STR("https://own"), &st);
    if (!c) {
        assert((st.reason == REASON_INVALID || st.reason == REASON_BAD_REQUEST) && st.message.n);
        return 0;
    }
    assert(c->nissuers <= AUTHN_ISSUERS_MAX);
    for (size_t i = 0; i < c->nissuers; i++) {
        const struct authn_issuer *one = &c->issuers[i];

        assert(str_starts(one->url, STR("https://")) && one->naudiences);
        assert(one->username.claim.n || one->username.program);
        map(a, one);
    }
    authn_config_free(c);
    return 0;
}
