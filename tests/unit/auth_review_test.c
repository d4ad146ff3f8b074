/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* Access reviews and who-am-I through the whole chain. */

#define AUTHZ "/apis/authorization.k8s.io/v1/"
#define RBAC  "/apis/rbac.authorization.k8s.io/v1/"

static struct ask *post(struct host *h, const char *user, const char *path, const char *body)
{
    struct ask *a = ask_body(ask(h, "POST", path), body);

    return user ? ask_header(a, "impersonate-user", user) : a;
}

/* What a field of the answer to a review says. */
static const char *review(struct host *h, const char *user, const char *path, const char *spec,
                          const char *field)
{
    struct ask *a = post(h, user, path, arena_printf(h->arena, "{\"spec\":%s}", spec));
    const char *code = answer(a), *got = answer_field(a, field);

    if (strcmp(code, "201") != 0)
        got = arena_printf(h->arena, "%s: %s", code, answer_field(a, "message"));
    ask_free(a);
    return got;
}

/* Alice may get configmaps of the namespace default. */
static struct host *host_with_alice(void)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(post(h, NULL, RBAC "namespaces/default/roles",
                           "{\"metadata\":{\"name\":\"r\"},\"rules\":[{\"apiGroups\":[\"\"],"
                           "\"resources\":[\"configmaps\"],\"verbs\":[\"get\"]}]}")),
              "201");
    CHECK_STR(code_of(post(h, NULL, RBAC "namespaces/default/rolebindings",
                           "{\"metadata\":{\"name\":\"b\"},\"roleRef\":{\"kind\":\"Role\","
                           "\"name\":\"r\"},\"subjects\":[{\"kind\":\"User\",\"name\":\"alice\"},"
                           "{\"kind\":\"Group\",\"name\":\"team\"}]}")),
              "201");
    return h;
}

#define RESOURCE(verb, ns)                     \
    "\"resourceAttributes\":{\"verb\":\"" verb \
    "\",\"resource\":\"configmaps\",\"namespace\":\"" ns "\"}"

TEST(who_may_what)
{
    static const struct {
        const char *user, *path, *spec, *allowed;
    } rows[] = {
        { NULL, AUTHZ "selfsubjectaccessreviews", "{" RESOURCE("delete", "x") "}", "true" },
        { "alice", AUTHZ "selfsubjectaccessreviews", "{" RESOURCE("get", "default") "}", "true" },
        { "alice", AUTHZ "selfsubjectaccessreviews", "{" RESOURCE("list", "default") "}", "false" },
        { "alice", AUTHZ "selfsubjectaccessreviews", "{" RESOURCE("get", "") "}", "false" },
        { "alice", AUTHZ "selfsubjectaccessreviews",
          "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/healthz\"}}", "true" },
        { "alice", AUTHZ "selfsubjectaccessreviews",
          "{\"nonResourceAttributes\":{\"verb\":\"get\",\"path\":\"/metrics\"}}", "false" },
        { NULL, AUTHZ "subjectaccessreviews", "{\"user\":\"alice\"," RESOURCE("get", "default") "}",
          "true" },
        { NULL, AUTHZ "subjectaccessreviews", "{\"user\":\"bob\"," RESOURCE("get", "default") "}",
          "false" },
        { NULL, AUTHZ "subjectaccessreviews",
          "{\"groups\":[\"other\",\"team\"]," RESOURCE("get", "default") "}", "true" },
        { NULL, AUTHZ "subjectaccessreviews",
          "{\"user\":\"x\",\"groups\":[\"system:masters\"]," RESOURCE("get", "y") "}", "true" },
        { NULL, AUTHZ "namespaces/default/localsubjectaccessreviews",
          "{\"user\":\"alice\"," RESOURCE("get", "default") "}", "true" },
    };
    struct host *h = host_with_alice();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(review(h, rows[i].user, rows[i].path, rows[i].spec, "status.allowed"),
                  rows[i].allowed);
    CHECK_STR(review(h, "alice", AUTHZ "selfsubjectaccessreviews",
                     "{" RESOURCE("get", "default") "}", "status.reason"),
              "RBAC: allowed by RoleBinding \"b/default\" of Role \"r\" to User \"alice\"");
    CHECK_STR(review(h, "alice", AUTHZ "subjectaccessreviews",
                     "{\"user\":\"alice\"," RESOURCE("get", "default") "}", "status.allowed"),
              "403 Forbidden: subjectaccessreviews.authorization.k8s.io is forbidden: User "
              "\"alice\" cannot create resource \"subjectaccessreviews\" in API group "
              "\"authorization.k8s.io\" at the cluster scope");
    host_free(h);
}

TEST(questions_that_make_no_sense)
{
    static const struct {
        const char *path, *spec, *message;
    } rows[] = {
        { "selfsubjectaccessreviews", "{}",
          "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or "
          "resourceAttributes must be specified" },
        { "selfsubjectaccessreviews",
          "{\"resourceAttributes\":{},\"nonResourceAttributes\":{\"path\":\"/\"}}",
          "spec.nonResourceAttributes: Invalid value: {\"path\":\"/\"}: cannot be specified in "
          "combination with resourceAttributes" },
        { "selfsubjectaccessreviews", "{\"resourceAttributes\":{\"labelSelector\":{}}}",
          "spec.resourceAttributes.labelSelector.requirements: Required value: when "
          "spec.resourceAttributes.labelSelector is specified, requirements or rawSelector is "
          "required" },
        { "selfsubjectaccessreviews",
          "{\"resourceAttributes\":{\"fieldSelector\":{\"rawSelector\":\"a=b\",\"requirements\":"
          "[{\"key\":\"a\",\"operator\":\"Exists\"}]}}}",
          "spec.resourceAttributes.fieldSelector.rawSelector: Invalid value: \"a=b\": may not "
          "specified at the same time as requirements" },
        { "subjectaccessreviews", "{\"resourceAttributes\":{}}",
          "spec.user: Invalid value: \"\": at least one of user or group must be specified" },
        { "namespaces/default/localsubjectaccessreviews",
          "{\"user\":\"u\"," RESOURCE("get", "other") "}",
          "spec.resourceAttributes.namespace: Invalid value: \"other\": must match "
          "metadata.namespace" },
        { "namespaces/default/localsubjectaccessreviews",
          "{\"user\":\"u\",\"nonResourceAttributes\":{\"path\":\"/\"}}",
          "spec.nonResourceAttributes: Invalid value: {\"path\":\"/\"}: disallowed on this kind of "
          "request" },
    };
    struct host *h = host_new(0, 0);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        CHECK_STR(review(h, NULL, arena_printf(h->arena, AUTHZ "%s", rows[i].path), rows[i].spec,
                         "status"),
                  arena_printf(h->arena, "422 Invalid: .authorization.k8s.io \"\" is invalid: %s",
                               rows[i].message));
    CHECK_STR(code_of(post(h, NULL, AUTHZ "selfsubjectaccessreviews",
                           "{\"metadata\":{\"name\":\"x\"},\"spec\":{" RESOURCE("get", "") "}}")),
              "422 Invalid");
    CHECK_STR(code_of(post(h, NULL, AUTHZ "namespaces/default/localsubjectaccessreviews",
                           "{\"metadata\":{\"namespace\":\"n\"},\"spec\":{\"user\":\"u\"," RESOURCE(
                               "get", "default") "}}")),
              "400 BadRequest");
    CHECK_STR(code_of(post(h, NULL, AUTHZ "subjectaccessreviews", "[]")), "400 BadRequest");
    host_free(h);
}

TEST(reviews_are_answered_and_forgotten)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(ask(h, "GET", AUTHZ "subjectaccessreviews")), "405 MethodNotAllowed");
    CHECK_STR(code_of(ask(h, "DELETE", AUTHZ "subjectaccessreviews")), "405 MethodNotAllowed");
    CHECK_STR(code_of(ask(h, "GET", AUTHZ "subjectaccessreviews/x")), "404 NotFound");
    host_free(h);
}

TEST(a_review_is_no_row_of_a_table)
{
    static const char table[] = "application/json;as=Table;v=v1;g=meta.k8s.io";
    struct host *h = host_new(0, 0);
    const char *spec = "{\"spec\":{" RESOURCE("get", "x") "}}", *path;

    path = AUTHZ "selfsubjectaccessreviews";
    CHECK_STR(code_of(ask_header(post(h, NULL, path, spec), "accept", table)), "406 NotAcceptable");
    CHECK_STR(code_of(ask_header(post(h, NULL, path, spec), "accept",
                                 arena_printf(h->arena, "%s,application/json", table))),
              "201");
    host_free(h);
}

TEST(the_rules_of_a_user)
{
    struct host *h = host_with_alice();
    const char *rules;

    rules = review(h, "alice", AUTHZ "selfsubjectrulesreviews", "{\"namespace\":\"default\"}",
                   "status.resourceRules");
    CHECK(
        strstr(rules, "{\"verbs\":[\"get\"],\"apiGroups\":[\"\"],\"resources\":[\"configmaps\"]}"));
    rules = review(h, "alice", AUTHZ "selfsubjectrulesreviews", "{\"namespace\":\"other\"}",
                   "status.resourceRules");
    CHECK(!strstr(rules, "configmaps") && strstr(rules, "selfsubjectreviews"));
    rules = review(h, "alice", AUTHZ "selfsubjectrulesreviews", "{\"namespace\":\"other\"}",
                   "status.nonResourceRules");
    CHECK(strstr(rules, "/openapi/*"));
    CHECK_STR(review(h, "alice", AUTHZ "selfsubjectrulesreviews", "{\"namespace\":\"other\"}",
                     "status.incomplete"),
              "false");
    CHECK_STR(review(h, "alice", AUTHZ "selfsubjectrulesreviews", "{}", "status"),
              "400 BadRequest: no namespace on request");
    host_free(h);
}

TEST(who_am_i)
{
    struct host *h = host_new(0, 0);
    struct ask *a = post(h, "alice", "/apis/authentication.k8s.io/v1/selfsubjectreviews", "{}");

    (void)ask_header(a, "impersonate-group", "g1");
    (void)ask_header(a, "impersonate-uid", "u-7");
    (void)ask_header(a, "impersonate-extra-scopes", "a");
    CHECK_STR(answer(a), "201");
    CHECK_STR(answer_field(a, "kind"), "SelfSubjectReview");
    CHECK_STR(answer_field(a, "metadata"), "{\"creationTimestamp\":\"2020-01-02T03:04:05Z\"}");
    CHECK_STR(answer_field(a, "status.userInfo.username"), "alice");
    CHECK_STR(answer_field(a, "status.userInfo.uid"), "u-7");
    CHECK_STR(answer_field(a, "status.userInfo.groups"), "[\"g1\",\"system:authenticated\"]");
    CHECK_STR(answer_field(a, "status.userInfo.extra"), "{\"scopes\":[\"a\"]}");
    ask_free(a);
    host_free(h);
}

/* A role of one instance says nothing in another. */
TEST(an_instance_answers_for_itself)
{
    struct host *h = host_with_alice();
    static const char spec[] = "{\"user\":\"alice\"," RESOURCE("get", "default") "}";

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(review(h, NULL, AUTHZ "subjectaccessreviews", spec, "status.allowed"), "true");
    CHECK_STR(review(h, NULL, "/clusters/one" AUTHZ "subjectaccessreviews", spec, "status.allowed"),
              "false");
    host_free(h);
}
