/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

/* What a kube-apiserver 1.35.4 says of the same webhooks. */

#define HOOK(client, rules)                                                              \
    "{'metadata':{'name':'x'},'webhooks':[{'name':'w.example.com','sideEffects':'None'," \
    "'admissionReviewVersions':['v1'],'clientConfig':{" client "},'rules':[" rules "]}]}"
#define RULE(resources) \
    "{'apiGroups':[''],'apiVersions':['v1'],'operations':['CREATE'],'resources':[" resources "]}"
#define URL(url)      HOOK("'url':'" url "'", RULE("'pods'"))
#define SERVICE(more) HOOK("'service':{'name':'s','namespace':'n'" more "}", RULE("'pods'"))
#define RULES(list)   HOOK("'url':'https://a.b/c'", RULE(list))
#define FORM          "; desired format: https://host[/path]"

static const struct {
    const char *manifest, *faults;
} hooks[] = {
    { URL("https://a.b:8443/c/d"), "" },
    { URL("http://a.b/c"), "webhooks[0].clientConfig.url: Invalid value: \"http\": 'https' is the "
                           "only allowed URL scheme" FORM },
    { URL("https://u:p@a.b/c"), "webhooks[0].clientConfig.url: Invalid value: \"u:p\": user "
                                "information is not permitted in the URL" },
    { URL("https://a.b/c?q=1#f"),
      "webhooks[0].clientConfig.url: Invalid value: \"f\": fragments are not permitted in the "
      "URL; webhooks[0].clientConfig.url: Invalid value: \"q=1\": query parameters are not "
      "permitted in the URL" },
    { URL("https:///c"),
      "webhooks[0].clientConfig.url: Invalid value: \"\": host must be specified" FORM },
    { URL("::"), "webhooks[0].clientConfig.url: Required value: url must be a valid URL: parse "
                 "\"::\": missing protocol scheme" FORM },
    { SERVICE(",'path':'/a/b/'"), "" },
    { SERVICE(",'path':''"), "" },
    { SERVICE(",'path':'x'"),
      "webhooks[0].clientConfig.service.path: Invalid value: \"x\": must start with a '/'; "
      "webhooks[0].clientConfig.service.path: Invalid value: \"x\": segment[0] may not be empty" },
    { SERVICE(",'path':'/x//y'"), "webhooks[0].clientConfig.service.path: Invalid value: "
                                  "\"/x//y\": segment[1] may not be empty" },
    { SERVICE(",'port':0"), "webhooks[0].clientConfig.service.port: Invalid value: 0: port is not "
                            "valid: must be between 1 and 65535, inclusive" },
    { RULES("'pods','pods/status','*/scale'"), "" },
    { RULES("'*','pods/status'"), "" },
    { RULES("'*','pods'"),
      "webhooks[0].rules[0].resources: Invalid value: [\"*\",\"pods\"]: if '*' is present, must "
      "not specify other resources without subresources" },
    { RULES("'*/*','pods'"), "webhooks[0].rules[0].resources: Invalid value: [\"*/*\",\"pods\"]: "
                             "if '*/*' is present, must not specify other resources" },
    { RULES("'pods/*','pods/status'"),
      "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/status\": if 'pods/*' is present, "
      "must not specify pods/status" },
    { RULES("'*/scale','pods/scale'"),
      "webhooks[0].rules[0].resources[1]: Invalid value: \"pods/scale\": if '*/scale' is present, "
      "must not specify pods/scale" },
};

TEST(webhooks_that_are_not_taken)
{
    struct fixture f =
        fixture_new("admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations");

    for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++)
        CHECK_STR(fixture_faults(&f, fixture_read(&f, fixture_quotes(&f, hooks[i].manifest)), NULL),
                  hooks[i].faults);
    fixture_release(&f);
}

/* What is not known to give the right thing does not. */
TEST(expressions_say_what_they_give)
{
#define CONDITION(text)                                                            \
    "{'metadata':{'name':'x'},'spec':{'matchConstraints':{'resourceRules':[" RULE( \
        "'pods'") "]},"                                                            \
                  "'validations':[{'expression':'" text "'}]}}"
    static const struct {
        const char *text, *why;
    } cases[] = {
        { CONDITION("object.x == 1"), "" },
        { CONDITION("namespaceObject.metadata.labels.a == namespaceObject.metadata.name"), "" },
        { CONDITION("object.x"), "must evaluate to bool but got dyn" },
        { CONDITION("[1]"), "must evaluate to bool but got list(int)" },
        { CONDITION("namespaceObject.metadata.name"), "must evaluate to bool but got string" },
        { CONDITION("true','messageExpression':'string(object.x)"), "" },
        { CONDITION("true','messageExpression':'string(authorizer)"),
          "undeclared reference to 'authorizer'" },
    };
    struct fixture f =
        fixture_new("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies");

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *got =
            fixture_faults(&f, fixture_read(&f, fixture_quotes(&f, cases[i].text)), NULL);

        if (!CHECK(*cases[i].why ? strstr(got, cases[i].why) != NULL : !*got))
            printf("# %s\n", got);
    }
    fixture_release(&f);
}
