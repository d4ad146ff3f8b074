/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* What the status of a policy says of its expressions, kept against a whole server. */

#define POLICIES "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
#define CRDS     "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static const char *policy(struct rig *r, const char *rules, const char *rest)
{
    return arena_printf(r->arena,
                        "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"matchConstraints\":{"
                        "\"resourceRules\":[%s]},%s}}",
                        rules, rest);
}

#define RULE(group, resources)                                                             \
    "{\"operations\":[\"CREATE\"],\"apiGroups\":[\"" group "\"],\"apiVersions\":[\"v1\"]," \
    "\"resources\":[" resources "]}"

/* The status of the policy, once it is of its generation; NULL after ten seconds. */
static const struct json *status_of(struct rig *r, const char *path, int64_t generation)
{
    for (int i = 0; i < 1000; i++) {
        const struct json *v = NULL;

        if (ask_api(r, "GET", path, "", &v) == 200 &&
            json_int(json_path(v, "status.observedGeneration"), 0) == generation)
            return json_path(v, "status");
        (void)usleep(10000);
    }
    return NULL;
}

static const char *warning(struct rig *r, const struct json *status, size_t i, const char *field)
{
    return str_z(
        r->arena,
        json_get_str(json_at(json_path(status, "typeChecking.expressionWarnings"), i), field));
}

TEST(a_policy_says_what_is_wrong_with_its_expressions)
{
    const struct json *s;
    struct rig r;

    rig_open(&r);
    r.own = client_new(server_local_transport(r.host->server, r.host->loop,
                                              STR("system:kairship:admission-policy")));
    r.controller = controller_start(&admission_policy_controller, r.own);
    CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"metadata\":{\"name\":\"t\"}}", NULL) == 200);
    CHECK(ask_api(&r, "POST", "/clusters/t" POLICIES,
                  policy(&r, RULE("apps", "\"statefulsets\",\"deployments\",\"deployments/scale\""),
                         "\"variables\":[{\"name\":\"n\",\"expression\":\"object.spec.replicas\"}],"
                         "\"validations\":[{\"expression\":\"variables.n > 1\"},"
                         "{\"expression\":\"object.spec.strategy == object\","
                         "\"messageExpression\":\"'a' + variables.n\"}]"),
                  NULL) == 200);
    s = status_of(&r, "/clusters/t" POLICIES "/p", 1);
    CHECK(json_len(json_path(s, "typeChecking.expressionWarnings")) == 2);
    CHECK_STR(warning(&r, s, 0, "fieldRef"), "spec.validations[1].expression");
    CHECK_STR(warning(&r, s, 0, "warning"),
              "apps/v1, Kind=Deployment: ERROR: <input>:1:22: found no matching overload for "
              "'_==_' applied to '(Deployment0.spec.strategy, Deployment0)'\n"
              " | object.spec.strategy == object\n"
              " | .....................^\n\n"
              "apps/v1, Kind=StatefulSet: ERROR: <input>:1:12: undefined field 'strategy'\n"
              " | object.spec.strategy == object\n"
              " | ...........^\n");
    CHECK_STR(warning(&r, s, 1, "fieldRef"), "spec.validations[1].messageExpression");
    CHECK(ask_api(&r, "PATCH", "/clusters/t" POLICIES "/p",
                  policy(&r, RULE("", "\"jobs\",\"nothing\""),
                         "\"validations\":[{\"expression\":\"object.spec.foo == 1\"}]"),
                  NULL) == 200);
    s = status_of(&r, "/clusters/t" POLICIES "/p", 2);
    CHECK_STR(warning(&r, s, 0, "warning"),
              "batch/v1, Kind=Job: ERROR: <input>:1:12: undefined field 'foo'\n"
              " | object.spec.foo == 1\n"
              " | ...........^\n");
    CHECK(ask_api(&r, "PATCH", "/clusters/t" POLICIES "/p",
                  policy(&r, RULE("apps", "\"*\""),
                         "\"validations\":[{\"expression\":\"object.spec.foo == 2\"}]"),
                  NULL) == 200);
    s = status_of(&r, "/clusters/t" POLICIES "/p", 3);
    CHECK(s && !json_path(s, "typeChecking"));
    controller_stop(r.controller);
    rig_close(&r);
}

TEST(types_and_parameters_may_be_those_of_crds)
{
    const struct json *s;
    struct rig r;

    rig_open(&r);
    r.own = client_new(server_local_transport(r.host->server, r.host->loop,
                                              STR("system:kairship:admission-policy")));
    r.controller = controller_start(&admission_policy_controller, r.own);
    CHECK(ask_api(&r, "POST", CRDS,
                  "{\"metadata\":{\"name\":\"widgets.x.io\"},\"spec\":{\"group\":\"x.io\","
                  "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},"
                  "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
                  "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"spec\":{"
                  "\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\"}}}}}}}]}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "PATCH", CRDS "/widgets.x.io/status",
                  "{\"status\":{\"acceptedNames\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},"
                  "\"storedVersions\":[\"v1\"],\"conditions\":[{\"type\":\"NamesAccepted\","
                  "\"status\":\"True\"},{\"type\":\"Established\",\"status\":\"True\"}]}}",
                  NULL) == 200);
    CHECK(ask_api(&r, "POST", POLICIES,
                  policy(&r, RULE("x.io", "\"widgets\""),
                         "\"paramKind\":{\"apiVersion\":\"x.io/v1\",\"kind\":\"Widget\"},"
                         "\"validations\":[{\"expression\":\"object.spec.size == 'a'\"},"
                         "{\"expression\":\"params.spec.nope == 1\"}]"),
                  NULL) == 200);
    s = status_of(&r, POLICIES "/p", 1);
    CHECK_STR(warning(&r, s, 0, "warning"),
              "x.io/v1, Kind=Widget: ERROR: <input>:1:18: found no matching overload for '_==_' "
              "applied to '(int, string)'\n"
              " | object.spec.size == 'a'\n"
              " | .................^\n");
    CHECK_STR(warning(&r, s, 1, "warning"),
              "x.io/v1, Kind=Widget: ERROR: <input>:1:12: undefined field 'nope'\n"
              " | params.spec.nope == 1\n"
              " | ...........^\n");
    controller_stop(r.controller);
    rig_close(&r);
}
