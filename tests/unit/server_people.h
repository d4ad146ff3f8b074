/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_SERVER_PEOPLE_H
#define TEST_SERVER_PEOPLE_H

/* Who comes to a server (server_fixture.h), and with what: certificates and tokens of instances. */

#include "apiserver/auth/authn_cert.h"
#include "server_fixture.h"

#define INSTANCES  "/apis/tenancy.kairship.io/v1alpha1/instances"
#define ACCOUNTS   "/api/v1/namespaces/default/serviceaccounts"
#define SECRETS    "/api/v1/namespaces/default/secrets"
#define CONFIGMAPS "/api/v1/namespaces/default/configmaps"
#define PODS       "/api/v1/namespaces/default/pods"
#define ROLES      "/apis/rbac.authorization.k8s.io/v1"

static inline const char *post(struct host *h, const char *prefix, const char *path,
                               const char *body)
{
    return code_of(ask_body(ask(h, "POST", arena_printf(h->arena, "%s%s", prefix, path)), body));
}

static inline const char *delete_at(struct host *h, const char *prefix, const char *path)
{
    return code_of(ask(h, "DELETE", arena_printf(h->arena, "%s%s", prefix, path)));
}

/* A field of what is there, as the platform admin sees it. */
static inline const char *field_at(struct host *h, const char *prefix, const char *path,
                                   const char *field)
{
    struct ask *a = ask(h, "GET", arena_printf(h->arena, "%s%s", prefix, path));
    const char *value;

    CHECK_STR(answer(a), "200");
    value = answer_field(a, field);
    ask_free(a);
    return value;
}

static inline const char *uid_of_instance(struct host *h, const char *name)
{
    return field_at(h, INSTANCES "/", name, "metadata.uid");
}

/* A certificate of that instance, as our own authority signs them; of one group. */
static inline struct http_peer *cert_of(struct host *h, const char *instance, const char *cn,
                                        const char *group)
{
    struct http_peer *p = arena_new_of(h->arena, struct http_peer);
    str *org = arena_new_of(h->arena, str), *uri = arena_new_of(h->arena, str);

    *org = str_of(group);
    *uri = authn_cert_uri(h->arena, &(struct instance){ .uid = str_of(uid_of_instance(h, instance)),
                                                        .name = str_of(instance) });
    *p = (struct http_peer){ .cn = str_of(cn),
                             .orgs = org,
                             .norgs = 1,
                             .uris = uri,
                             .nuris = 1,
                             .not_before = clock_wall_s(&h->clock),
                             .not_after = INT64_MAX };
    return p;
}

static inline const char *make_account(struct host *h, const char *prefix, const char *name)
{
    return post(h, prefix, ACCOUNTS,
                arena_printf(h->arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

/* A token of the account, which is made if need be; spec as in a TokenRequest. */
static inline const char *token_of(struct host *h, const char *prefix, const char *account,
                                   const char *spec)
{
    struct ask *a;
    const char *token;

    (void)make_account(h, prefix, account);
    a = ask_body(ask(h, "POST", arena_printf(h->arena, "%s" ACCOUNTS "/%s/token", prefix, account)),
                 arena_printf(h->arena, "{\"spec\":%s}", spec));
    CHECK_STR(answer(a), "201");
    token = answer_field(a, "status.token");
    ask_free(a);
    return token;
}

#endif
