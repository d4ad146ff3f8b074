/* SPDX-License-Identifier: Apache-2.0 */

/* Questions that are answered and forgotten: apiserver/server/special.h says who answers. */

#include "base/banned.h"
#include "kinds/k8s/groups.h"

static const struct kind_ops no_ops;

#define REVIEW(name, resource, one, in_namespaces)                                              \
    {                                                                                           \
        .kind = STR_INIT(name), .plural = STR_INIT(resource), .singular = STR_INIT(one),        \
        .namespaced = (in_namespaces), .verbs = VERB_CREATE, .transient = true, .ops = &no_ops, \
    }

static struct kind authentication_kinds[] = {
    REVIEW("SelfSubjectReview", "selfsubjectreviews", "selfsubjectreview", false),
    REVIEW("TokenReview", "tokenreviews", "tokenreview", false),
};

const struct group group_authentication = {
    .name = STR_INIT("authentication.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.authentication.v1",
    .kinds = authentication_kinds,
    .n = GROUP_LEN(authentication_kinds),
};

static struct kind authorization_kinds[] = {
    REVIEW("LocalSubjectAccessReview", "localsubjectaccessreviews", "localsubjectaccessreview",
           true),
    REVIEW("SelfSubjectAccessReview", "selfsubjectaccessreviews", "selfsubjectaccessreview", false),
    REVIEW("SelfSubjectRulesReview", "selfsubjectrulesreviews", "selfsubjectrulesreview", false),
    REVIEW("SubjectAccessReview", "subjectaccessreviews", "subjectaccessreview", false),
};

const struct group group_authorization = {
    .name = STR_INIT("authorization.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.authorization.v1",
    .kinds = authorization_kinds,
    .n = GROUP_LEN(authorization_kinds),
};
