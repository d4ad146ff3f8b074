/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/special.h"

#include "apiserver/auth/review.h"
#include "apiserver/outbound/proxy.h"
#include "apiserver/server/dispatch_check.h"
#include "base/banned.h"

/* What is forwarded to a node in other control planes. */
#define PROXIED(resource)                                          \
    { "", resource, "proxy", VERB_GET, pod_needs_kubelet },        \
        { "", resource, "proxy", VERB_CREATE, pod_needs_kubelet }, \
        { "", resource, "proxy", VERB_UPDATE, pod_needs_kubelet }, \
        { "", resource, "proxy", VERB_PATCH, pod_needs_kubelet },  \
    {                                                              \
        "", resource, "proxy", VERB_DELETE, pod_needs_kubelet      \
    }

#define MEMBER_PROXY(verb)                                             \
    {                                                                  \
        "cluster.karmada.io", "clusters", "proxy", verb, cluster_proxy \
    }

static const struct {
    const char *group, *resource, *subresource;
    enum verb verb;
    call_handler *serve;
} specials[] = {
    { "", "serviceaccounts", "token", VERB_CREATE, token_request },
    { "authentication.k8s.io", "tokenreviews", "", VERB_CREATE, token_review },
    { "authentication.k8s.io", "selfsubjectreviews", "", VERB_CREATE, self_subject_review },
    { "authorization.k8s.io", "subjectaccessreviews", "", VERB_CREATE, subject_access_review },
    { "authorization.k8s.io", "localsubjectaccessreviews", "", VERB_CREATE,
      local_subject_access_review },
    { "authorization.k8s.io", "selfsubjectaccessreviews", "", VERB_CREATE,
      self_subject_access_review },
    { "authorization.k8s.io", "selfsubjectrulesreviews", "", VERB_CREATE,
      self_subject_rules_review },
    { "", "bindings", "", VERB_CREATE, pod_binding },
    { "", "pods", "binding", VERB_CREATE, pod_binding },
    { "", "pods", "eviction", VERB_CREATE, pod_evict },
    { "", "pods", "log", VERB_GET, pod_needs_kubelet },
    { "", "pods", "attach", VERB_GET, pod_needs_kubelet },
    { "", "pods", "attach", VERB_CREATE, pod_needs_kubelet },
    { "", "pods", "exec", VERB_GET, pod_needs_kubelet },
    { "", "pods", "exec", VERB_CREATE, pod_needs_kubelet },
    { "iam.kairship.io", "logins", "", VERB_CREATE, login },
    { "", "pods", "portforward", VERB_GET, pod_needs_kubelet },
    { "", "pods", "portforward", VERB_CREATE, pod_needs_kubelet },
    PROXIED("pods"),
    PROXIED("nodes"),
    PROXIED("services"),
    MEMBER_PROXY(VERB_GET),
    MEMBER_PROXY(VERB_CREATE),
    MEMBER_PROXY(VERB_UPDATE),
    MEMBER_PROXY(VERB_PATCH),
    MEMBER_PROXY(VERB_DELETE),
    { NULL, NULL, NULL, 0, NULL },
};

call_handler *special_find(const struct kind *k, str subresource, enum verb verb)
{
    for (size_t i = 0; specials[i].group; i++)
        if (specials[i].verb == verb && str_is(k->plural, specials[i].resource) &&
            str_is(k->group, specials[i].group) && str_is(subresource, specials[i].subresource))
            return specials[i].serve;
    return NULL;
}

/* All but what is passed on, what is not served here, and passwords. */
static bool is_judged(call_handler *serve)
{
    return serve != cluster_proxy && serve != pod_needs_kubelet && serve != login;
}

void special_serve(struct call *c)
{
    call_handler *serve = special_find(c->rest.kind, c->rest.subresource, c->rest.verb);
    struct status *st = call_status(c);
    int rc = is_judged(serve) ? special_admit(c, st) : 0;

    if (rc == REST_WAIT)
        return;
    if (rc < 0)
        call_fail(c, st);
    else
        serve(c);
}

/* A kind of that name, in whatever version, takes the verb there. */
static bool is_served(const struct catalog *c, size_t i)
{
    for (size_t k = 0; k < c->nkinds; k++) {
        const struct kind *kind = c->kinds[k];
        const struct subresource *sub;

        if (!str_is(kind->group, specials[i].group) || !str_is(kind->plural, specials[i].resource))
            continue;
        sub = kind_subresource(kind, str_of(specials[i].subresource));
        return specials[i].verb & (*specials[i].subresource ? (sub ? sub->verbs : 0) : kind->verbs);
    }
    return false;
}

int specials_check(const struct catalog *c, struct status *st)
{
    for (size_t i = 0; specials[i].group; i++)
        if (!specials[i].serve || !is_served(c, i))
            return status_set(st, REASON_INTERNAL, "%s/%s is served and yet no resource",
                              specials[i].resource, specials[i].subresource);
    return 0;
}
