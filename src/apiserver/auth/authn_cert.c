/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/authn_cert.h"

#include "base/banned.h"
#include "http/pki.h"

#define CREDENTIAL_ID "authentication.kubernetes.io/credential-id" /* k8s: user.CredentialIDKey */

static const str name_follows = STR_INIT("?=");

str authn_cert_uri(struct arena *a, const struct instance *i)
{
    return str_printf(a, AUTHN_CERT_URI "%.*s%.*s%.*s", STR_ARG(i->uid),
                      STR_ARG(i->name.n ? name_follows : STR_NONE), STR_ARG(i->name));
}

str authn_cert_instance(const struct http_peer *peer)
{
    ptrdiff_t at = peer->nuris == 1 && str_starts(peer->uris[0], STR(AUTHN_CERT_URI))
                       ? str_find(peer->uris[0], '?', 0)
                       : -1;
    str rest = at < 0 ? STR_NONE : str_from(peer->uris[0], (size_t)at);

    return str_starts(rest, name_follows) ? str_from(rest, name_follows.n) : STR_NONE;
}

static bool is_in_force(const struct http_peer *p, int64_t now_s)
{
    return p->not_before <= now_s && p->not_after > now_s && !p->not_for_clients;
}

/* The uid of its instance; false when there is more than one, or another kind of URI. */
static bool bound_to(const struct http_peer *p, str root_uid, str *uid)
{
    str prefix = STR(AUTHN_CERT_URI);
    ptrdiff_t end;

    if (p->nuris == 0) {
        *uid = root_uid;
        return true;
    }
    if (p->nuris != 1 || !str_starts(p->uris[0], prefix))
        return false;
    *uid = str_from(p->uris[0], prefix.n);
    end = str_find(*uid, '?', 0);
    if (end >= 0)
        *uid = str_sub(*uid, 0, (size_t)end);
    return uid->n > 0;
}

bool authn_cert_is_of_root(const struct http_peer *peer, str root_uid)
{
    str uid;

    return bound_to(peer, root_uid, &uid) && str_eq(uid, root_uid);
}

static bool in_group(const struct http_peer *p, const char *group)
{
    for (size_t i = 0; i < p->norgs; i++)
        if (str_is(p->orgs[i], group))
            return true;
    return false;
}

static bool opens(const struct http_peer *p, const struct instance *i, str root_uid)
{
    str uid;

    if (!bound_to(p, root_uid, &uid))
        return false;
    if (i->id == INSTANCE_ROOT)
        return str_eq(uid, root_uid);
    /* What does not exist has no uid, and no certificate but the platform admin's opens it. */
    if (str_eq(uid, root_uid))
        return in_group(p, "system:masters");
    return i->id != STORE_ALL && i->id != INSTANCE_TEMPLATE && str_eq(uid, i->uid);
}

/* k8s: apiserver/pkg/authentication/request/x509 CommonNameUserConversion */
bool authn_cert_map(struct arena *a, const struct http_peer *peer, const struct instance *instance,
                    str root_uid, int64_t now_s, struct identity *out)
{
    str *groups;
    struct identity_extra *extra;

    if (peer->cn.n == 0 || !is_in_force(peer, now_s) || !opens(peer, instance, root_uid))
        return false;
    groups = arena_array(a, str, peer->norgs + 1);
    for (size_t i = 0; i < peer->norgs; i++)
        groups[i] = peer->orgs[i];
    groups[peer->norgs] = STR("system:authenticated");
    *out = (struct identity){
        .user = peer->cn,
        .uid = peer->uid,
        .groups = groups,
        .ngroups = peer->norgs + 1,
        .since_s = peer->not_before + PKI_BACKDATE_S,
    };
    if (peer->credential_id.n) {
        extra = arena_new_of(a, struct identity_extra);
        *extra = (struct identity_extra){ .key = STR(CREDENTIAL_ID),
                                          .values = &peer->credential_id,
                                          .nvalues = 1 };
        out->extra = extra;
        out->nextra = 1;
    }
    return true;
}
