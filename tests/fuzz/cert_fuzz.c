/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From a certificate's bytes to a user: refused, or somebody with a name, in force, for this
 * instance and no other.
 */

#include <assert.h>
#include <string.h>

#include "apiserver/auth/authn_cert.h"
#include "base/banned.h"
#include "fuzz/fuzz.h"
#include "http/peer.h"

#define ROOT "11111111-1111-4111-8111-111111111111"
#define ONE  "22222222-2222-4222-8222-222222222222"

static bool is_admin(const struct http_peer *p)
{
    for (size_t i = 0; i < p->norgs; i++)
        if (str_is(p->orgs[i], "system:masters"))
            return true;
    return false;
}

static void check(struct arena *a, const struct http_peer *p, int64_t now_s)
{
    const struct instance root = { .id = INSTANCE_ROOT, .uid = STR(ROOT) };
    const struct instance one = { .id = 16, .uid = STR(ONE) };
    struct identity who;
    bool in_root = authn_cert_map(a, p, &root, STR(ROOT), now_s, &who);
    bool in_one = authn_cert_map(a, p, &one, STR(ROOT), now_s, &who);

    if (!in_root && !in_one)
        return;
    assert(p->cn.n > 0 && p->nuris <= 1 && !p->not_for_clients);
    assert(p->not_before <= now_s && now_s < p->not_after);
    assert(!(in_root && in_one) || is_admin(p));
    assert(!in_root || p->nuris == 0 || str_is(p->uris[0], AUTHN_CERT_URI ROOT));
    assert(who.ngroups == p->norgs + 1 && str_utf8_valid(who.user));
    assert(!memchr(who.user.p, '\0', who.user.n));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct http_peer p;

    if (!peer_of_der(a, (str){ (const char *)data, size }, &p))
        return 0;
    check(a, &p, p.not_before);
    check(a, &p, 1800000000);
    return 0;
}
