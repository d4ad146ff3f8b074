/* SPDX-License-Identifier: Apache-2.0 */
#include "tap.h"

#include "apiserver/call/internal.h"
#include "fleet_rig.h"

/* Policies and webhooks of an instance have their say in its writes, from the next write on. */

#define ADMISSION "/apis/admissionregistration.k8s.io/v1/"
#define MAPS      "/api/v1/namespaces/default/configmaps"
#define RULES(name)                                                                            \
    "\"" name "\":[{\"apiGroups\":[\"\"],\"apiVersions\":[\"v1\"],\"operations\":[\"CREATE\"," \
    "\"UPDATE\"],\"resources\":[\"configmaps\"]}]"
#define POLICY(more)                                                         \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"          \
    "\"ValidatingAdmissionPolicy\",\"metadata\":{\"name\":\"p\"},\"spec\":{" \
    "\"matchConstraints\":{" RULES("resourceRules") "}," more "}}"
#define BINDING(actions)                                                            \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                 \
    "\"ValidatingAdmissionPolicyBinding\",\"metadata\":{\"name\":\"b\"},\"spec\":{" \
    "\"policyName\":\"p\",\"validationActions\":[" actions "]}}"
#define HOOK(client, more)                                                                    \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                           \
    "\"MutatingWebhookConfiguration\",\"metadata\":{\"name\":\"w\"},\"webhooks\":[{\"name\":" \
    "\"w.example.com\",\"clientConfig\":{" client                                             \
    "}," RULES("rules") ",\"sideEffects\":\"None\",\"admissionReviewVersions\":[\"v1\"]" more \
                        "}]}"
#define MAP(name, data)                                                            \
    "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"" name \
    "\"},\"data\":{" data "}}"

static int make(struct rig *r, const char *where, const char *body)
{
    return ask_api(r, "POST", where, body, NULL);
}

static bool says(struct rig *r, const char *part)
{
    bool found = str_contains(r->st.message, str_of(part));

    if (!found)
        printf("# %.*s\n", STR_ARG(r->st.message));
    return found;
}

TEST(a_policy_holds_from_the_next_write_on)
{
    struct rig r;

    rig_open(&r);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"variables\":[{\"name\":\"n\",\"expression\":\"object.data.size()\"},"
                      "{\"name\":\"broken\",\"expression\":\"object.nope.x\"}],"
                      "\"validations\":[{\"expression\":\"variables.n < 2\","
                      "\"messageExpression\":\"'has ' + string(variables.n)\",\"reason\":"
                      "\"Forbidden\"}]")) == 200);
    CHECK(make(&r, MAPS, MAP("free", "\"a\":\"1\",\"b\":\"2\"")) == 200);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicybindings", BINDING("\"Deny\"")) == 200);
    CHECK(make(&r, MAPS, MAP("many", "\"a\":\"1\",\"b\":\"2\"")) == 403);
    CHECK(says(&r, "configmaps \"many\" is forbidden: ValidatingAdmissionPolicy 'p' with binding "
                   "'b' denied request: has 2"));
    CHECK(make(&r, MAPS, MAP("one", "\"a\":\"1\"")) == 200);
    CHECK(ask_api(&r, "DELETE", ADMISSION "validatingadmissionpolicybindings/b", "", NULL) == 200);
    CHECK(make(&r, MAPS, MAP("again", "\"a\":\"1\",\"b\":\"2\"")) == 200);
    rig_close(&r);
}

TEST(a_policy_asks_the_authorizer)
{
    struct rig r;

    rig_open(&r);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"validations\":[{\"expression\":\"authorizer.group('').resource('pods')"
                      ".namespace('default').check('delete').allowed() && "
                      "authorizer.requestResource.check('get').allowed()\"},{\"expression\":"
                      "\"object.metadata.name != 'x' || authorizer.serviceAccount('default', "
                      "'default').group('').resource('pods').check('delete').allowed()\","
                      "\"message\":\"the account may not\"}]")) == 200);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicybindings", BINDING("\"Deny\"")) == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 200);
    CHECK(make(&r, MAPS, MAP("x", "")) == 422);
    CHECK(says(&r, "the account may not"));
    rig_close(&r);
}

TEST(what_does_not_compile_is_not_taken)
{
    struct rig r;

    rig_open(&r);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"validations\":[{\"expression\":\"thing.x\"}]")) == 422);
    CHECK(says(&r, "undeclared reference to 'thing'"));
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"validations\":[{\"expression\":\"1 + 1\"}]")) == 422);
    CHECK(says(&r, "must evaluate to bool"));
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"validations\":[{\"expression\":\"variables.none\"}]")) == 422);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"validations\":[{\"expression\":\"params.x\"}]")) == 422);
    rig_close(&r);
}

TEST(what_cannot_be_said_is_failure_policy)
{
    struct rig r;

    rig_open(&r);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicies",
               POLICY("\"failurePolicy\":\"Ignore\",\"validations\":[{\"expression\":"
                      "\"object.nope.x == 1\"}]")) == 200);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicybindings", BINDING("\"Deny\"")) == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 200);
    CHECK(ask_api(&r, "PATCH", ADMISSION "validatingadmissionpolicies/p",
                  "{\"spec\":{\"failurePolicy\":\"Fail\"}}", NULL) == 200);
    CHECK(make(&r, MAPS, MAP("b", "")) == 422);
    CHECK(says(&r, "resulted in error"));
    rig_close(&r);
}

/* No server here may be called at loopback, and there is no such service. */
TEST(a_webhook_that_cannot_be_called)
{
    struct rig r;

    rig_open(&r);
    CHECK(make(&r, ADMISSION "mutatingwebhookconfigurations",
               HOOK("\"url\":\"https://127.0.0.1:1/x\"", "")) == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 500);
    CHECK(says(&r, "failed calling webhook \"w.example.com\": failed to call webhook"));
    CHECK(says(&r, "loopback"));
    CHECK(ask_api(&r, "DELETE", ADMISSION "mutatingwebhookconfigurations/w", "", NULL) == 200);
    CHECK(make(&r, ADMISSION "mutatingwebhookconfigurations",
               HOOK("\"service\":{\"namespace\":\"n\",\"name\":\"s\"}", "")) == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 500);
    CHECK(says(&r, "Post \"https://s.n.svc:443/?timeout=10s\": service \"s\" not found"));
    CHECK(ask_api(&r, "DELETE", ADMISSION "mutatingwebhookconfigurations/w", "", NULL) == 200);
    CHECK(make(&r, ADMISSION "mutatingwebhookconfigurations",
               HOOK("\"url\":\"https://127.0.0.1:1/x\"", ",\"failurePolicy\":\"Ignore\"")) == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 200);
    rig_close(&r);
}

#define JUDGES(group, resource, expression)                                          \
    "{\"apiVersion\":\"admissionregistration.k8s.io/v1\",\"kind\":"                  \
    "\"ValidatingAdmissionPolicy\",\"metadata\":{\"name\":\"p\"},\"spec\":{"         \
    "\"matchConstraints\":{\"resourceRules\":[{\"apiGroups\":[\"" group              \
    "\"],\"apiVersions\":[\"v1\"],\"operations\":[\"*\"],\"resources\":[\"" resource \
    "\"]}]},\"validations\":[{\"expression\":\"" expression "\"}]}}"

static void judge_by(struct rig *r, const char *policy)
{
    (void)ask_api(r, "DELETE", ADMISSION "validatingadmissionpolicies/p", "", NULL);
    CHECK(make(r, ADMISSION "validatingadmissionpolicies", policy) == 200);
}

/* A Scale is judged as such, and so is what is not stored at all. */
TEST(what_a_subresource_speaks_of_is_what_is_judged)
{
#define TOKEN(seconds)                                                                  \
    "{\"apiVersion\":\"authentication.k8s.io/v1\",\"kind\":\"TokenRequest\",\"spec\":{" \
    "\"expirationSeconds\":" seconds "}}"
    static const char token[] = "/api/v1/namespaces/default/serviceaccounts/default/token";
    static const char dep[] = "/apis/apps/v1/namespaces/default/deployments";
    static const char scale[] = "/apis/apps/v1/namespaces/default/deployments/d/scale";
    struct rig r;

    rig_open(&r);
    CHECK(
        make(&r, dep,
             "{\"metadata\":{\"name\":\"d\",\"labels\":{\"a\":\"b\"}},\"spec\":{\"selector\":{"
             "\"matchLabels\":{\"a\":\"b\"}},\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},"
             "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}") == 200);
    CHECK(make(&r, ADMISSION "validatingadmissionpolicybindings", BINDING("\"Deny\"")) == 200);
    judge_by(&r, JUDGES("apps", "deployments/scale",
                        "object.kind == 'Scale' && !has(object.metadata.labels) && "
                        "object.spec.replicas < 5 && oldObject.kind == 'Scale'"));
#define SCALE(n)                                                                          \
    "{\"kind\":\"Scale\",\"apiVersion\":\"autoscaling/v1\",\"metadata\":{\"name\":\"d\"," \
    "\"namespace\":\"default\"},\"spec\":{\"replicas\":" n "}}"
    CHECK(ask_api(&r, "PUT", scale, SCALE("4"), NULL) == 200);
    CHECK(ask_api(&r, "PUT", scale, SCALE("5"), NULL) == 422);
    CHECK(says(&r, "denied request: failed expression"));
    judge_by(&r, JUDGES("", "serviceaccounts/token",
                        "object.kind == 'TokenRequest' && request.operation == 'CREATE' && "
                        "request.name == 'default' && object.spec.expirationSeconds <= 3600"));
    CHECK(make(&r, token, TOKEN("600")) == 200);
    CHECK(make(&r, token, "{}") == 200);
    CHECK(make(&r, token, TOKEN("7200")) == 422);
    CHECK(says(&r, "denied request: failed expression"));
    CHECK(make(&r, token, "{\"spec\":[]}") == 400);
    /* Questions about rights are no business of policies. */
    judge_by(&r, JUDGES("*", "*", "false"));
    CHECK(make(&r, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
               "{\"spec\":{\"nonResourceAttributes\":{\"path\":\"/\",\"verb\":\"get\"}}}") == 200);
    CHECK(make(&r, MAPS, MAP("a", "")) == 422);
    rig_close(&r);
}

static void allow_loopback(void *arg)
{
    ((struct server *)arg)->egress.loopback = true;
}

/* Whatever it does: an answer in time, which says what is wrong; and other writes go on. */
TEST(a_webhook_that_lies)
{
    static const struct {
        enum fake_mode mode;
        const char *says;
    } lies[] = {
        { FAKE_GARBAGE, "is not JSON" },
        { FAKE_HUGE, "larger than" },
        { FAKE_SICK, "an error on the server" },
        { FAKE_REDIRECTS, "redirect (302), which is not followed" },
        { FAKE_ECHO, "webhook response was absent" },
        { FAKE_HANGS, "/hook?timeout=4s\": context deadline exceeded" },
    };
    struct fake f;
    struct rig r;

    rig_open(&r);
    fake_open(&f);
    loop_call_wait(r.host->loop, allow_loopback, r.host->server);
    CHECK(make(&r, ADMISSION "mutatingwebhookconfigurations",
               arena_printf(r.arena,
                            HOOK("\"url\":\"https://%.*s/hook\",\"caBundle\":\"%.*s\"",
                                 ",\"timeoutSeconds\":4,\"objectSelector\":{\"matchLabels\":"
                                 "{\"seen\":\"yes\"}}"),
                            STR_ARG(http_server_address(f.http)),
                            STR_ARG(base64_encode(r.arena, BASE64_STD, f.ca.cert)))) == 200);
    for (size_t i = 0; i < sizeof(lies) / sizeof(*lies); i++) {
        atomic_store(&f.mode, lies[i].mode);
        f.left = 64 << 20;
        CHECK(make(&r, MAPS, "{\"metadata\":{\"name\":\"a\",\"labels\":{\"seen\":\"yes\"}}}") ==
              500);
        CHECK(says(&r, "failed calling webhook \"w.example.com\""));
        CHECK(says(&r, lies[i].says));
    }
    CHECK(fake_saw(&f, "POST /hook?timeout=4s"));
    CHECK(atomic_load(&f.requests) == sizeof(lies) / sizeof(*lies));
    CHECK(make(&r, MAPS, MAP("other", "")) == 200);
    rig_close(&r);
    fake_close(&f);
}
