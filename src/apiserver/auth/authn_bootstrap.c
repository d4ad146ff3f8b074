/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tokens by which a node or a member begins: Secrets bootstrap-token-ID of kube-system.
 *
 * k8s: plugin/pkg/auth/authenticator/token/bootstrap
 */

#include "apiserver/auth/authn_token.h"
#include "base/banned.h"
#include "base/encode.h"
#include "rest/lookup.h"

enum { ID = 6, SECRET = 16, TOKEN = ID + 1 + SECRET, GROUPS_MAX = 64, GROUP_MAX = 256 };

#define TYPE         "bootstrap.kubernetes.io/token"
#define GROUP        "system:bootstrappers"
#define GROUP_PREFIX GROUP ":"

static bool is_word(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= 'a' && s.p[i] <= 'z') || (s.p[i] >= '0' && s.p[i] <= '9')))
            return false;
    return true;
}

bool authn_bootstrap_is(secret token)
{
    str text = secret_reveal(token);

    return text.n == TOKEN && text.p[ID] == '.' && is_word(str_sub(text, 0, ID)) &&
           is_word(str_from(text, ID + 1));
}

static str field(struct arena *a, const struct json *kept, const char *name)
{
    str out = STR_NONE;

    (void)base64_decode(a, BASE64_GO, json_str(json_get(json_get(kept, STR("data")), str_of(name))),
                        &out);
    return out;
}

/* k8s: bootstrap/util.ValidateBootstrapGroupName */
static bool group_ok(str g)
{
    str rest = str_from(g, sizeof(GROUP_PREFIX) - 1);

    if (!str_starts(g, STR(GROUP_PREFIX)) || rest.n == 0 || rest.n > GROUP_MAX ||
        !is_word(str_from(rest, rest.n - 1)))
        return false;
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i] != ':' && rest.p[i] != '-' && !is_word(str_sub(rest, i, 1)))
            return false;
    return true;
}

/* False when one of the extra groups is none that a bootstrap token may give. */
static bool read_groups(struct arena *a, str extra, struct identity *who)
{
    str *groups = arena_array(a, str, GROUPS_MAX + 2);
    size_t n = 0;

    groups[n++] = STR(GROUP);
    for (str rest = extra, g; rest.n && str_split(&rest, ',', &g);) {
        if (!group_ok(g) || n > GROUPS_MAX)
            return false;
        groups[n++] = g;
    }
    groups[n++] = STR("system:authenticated");
    who->groups = groups;
    who->ngroups = n;
    return true;
}

static bool expired(str when, int64_t now_s)
{
    int64_t until;

    /* What cannot be read is over. */
    return when.n && (!time_parse_seconds(when, &until) || until <= now_s);
}

static bool accepts(struct arena *a, const struct json *kept, str id, secret given, int64_t now_s)
{
    str right = field(a, kept, "token-secret");

    return str_is(json_get_str(kept, "type"), TYPE) &&
           json_get_str(kept, "metadata.deletionTimestamp").n == 0 && right.n == SECRET &&
           secret_eq(secret_of(right), given) && str_eq(field(a, kept, "token-id"), id) &&
           !expired(field(a, kept, "expiration"), now_s) &&
           str_is(field(a, kept, "usage-bootstrap-authentication"), "true");
}

int authn_bootstrap_check(struct rest *r, struct arena *a, const struct instance *i,
                          const struct kind *secrets, secret token, int64_t now_s,
                          struct identity *out, struct status *st)
{
    str id = str_sub(secret_reveal(token), 0, ID);
    secret given = secret_of(str_from(secret_reveal(token), ID + 1));
    const struct json *kept;
    struct identity who = { .user = str_printf(a, "system:bootstrap:%.*s", STR_ARG(id)) };
    int found = lookup_get(r, a, i, secrets, STR("kube-system"),
                           str_printf(a, "bootstrap-token-%.*s", STR_ARG(id)), &kept, st);

    if (found < 0)
        return -1;
    if (!found || !accepts(a, kept, id, given, now_s) ||
        !read_groups(a, field(a, kept, "auth-extra-groups"), &who))
        return status_set(st, REASON_UNAUTHORIZED, "invalid bearer token");
    *out = who;
    return 0;
}
