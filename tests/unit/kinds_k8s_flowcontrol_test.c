/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

/* What a kube-apiserver 1.35.4 says of the same schemas and levels. */

#define SCHEMA(subject, rules)                                                                \
    "{'metadata':{'name':'x'},'spec':{'matchingPrecedence':500,'priorityLevelConfiguration':" \
    "{'name':'l'},'rules':[{'subjects':[" subject "]," rules "}]}}"
#define USER           "{'kind':'User','user':{'name':'u'}}"
#define PATHS(more)    "'nonResourceRules':[{" more "}]"
#define URLS(url)      SCHEMA(USER, PATHS("'verbs':['get'],'nonResourceURLs':['" url "']"))
#define RESOURCES(now) SCHEMA(USER, "'resourceRules':[{" now "}]")
#define ACCOUNT(name, namespace)                                      \
    SCHEMA("{'kind':'ServiceAccount','serviceAccount':{'name':'" name \
           "','namespace':'" namespace "'}}",                         \
           PATHS("'verbs':['*'],'nonResourceURLs':['*']"))
#define VERBS                                                                             \
    "supported values: \"create\", \"delete\", \"deletecollection\", \"get\", \"list\", " \
    "\"patch\", \"proxy\", \"update\", \"watch\""

static const struct {
    const char *manifest, *faults; /* the beginning */
} schemas[] = {
    { URLS("/"), "" },
    { URLS("/a/*"), "" },
    { URLS("/a*"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"/a*\": "
                   "wildcard can only do suffix matching" },
    { URLS("/a b"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "
                    "\"/a b\": must not contain white-space" },
    { URLS("/a//b"), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "
                     "\"/a//b\": must not contain double slash" },
    { URLS(""), "spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: \"\": must "
                "not be empty" },
    { SCHEMA(USER, PATHS("'verbs':['FOO'],'nonResourceURLs':['*']")),
      "spec.rules[0].nonResourceRules[0].verbs: Unsupported value: [\"FOO\"]: " VERBS },
    { RESOURCES("'verbs':['get'],'apiGroups':[],'resources':[],'clusterScope':true"),
      "spec.rules[0].resourceRules[0].apiGroups: Required value: resource rules must supply at "
      "least one api group; spec.rules[0].resourceRules[0].resources: Required value: resource "
      "rules must supply at least one resource" },
    { RESOURCES("'verbs':['get'],'apiGroups':['*'],'resources':['*'],'namespaces':['a','*']"),
      "spec.rules[0].resourceRules[0].namespaces: Invalid value: [\"a\",\"*\"]: if '*' is present, "
      "must not specify other namespaces" },
    { RESOURCES("'verbs':['get'],'apiGroups':['*'],'resources':['*'],'namespaces':['A!']"),
      "spec.rules[0].resourceRules[0].namespaces[0]: Invalid value: \"A!\": each member of this "
      "list must be '*' or a DNS-1123 label; a lowercase RFC 1123 label" },
    { SCHEMA("{'kind':'x','user':{'name':'u'}}", PATHS("'verbs':['*'],'nonResourceURLs':['*']")),
      "spec.rules[0].subjects[0].kind: Unsupported value: \"x\": supported values: \"Group\", "
      "\"ServiceAccount\", \"User\"" },
    { "{'metadata':{'name':'x'},'spec':{'matchingPrecedence':500,'distinguisherMethod':{'type':"
      "'a b'},'priorityLevelConfiguration':{'name':'l'}}}",
      "spec.distinguisherMethod.type: Unsupported value: \"a b\": supported values: "
      "\"ByNamespace\", \"ByUser\"" },
    { "{'metadata':{'name':'x'},'spec':{'matchingPrecedence':500,'priorityLevelConfiguration':{"
      "'name':'l'}},'status':{'conditions':[{'type':'x'},{'type':'x'},{}]}}",
      "status.conditions[1].type: Duplicate value: \"x\"; status.conditions[2].type: Required "
      "value" },
    { ACCOUNT("*", "n"), "" },
    { ACCOUNT("", ""),
      "spec.rules[0].subjects[0].serviceAccount.name: Required value; "
      "spec.rules[0].subjects[0].serviceAccount.namespace: Required value: must specify namespace "
      "for service account" },
    { ACCOUNT("a", "*"),
      "spec.rules[0].subjects[0].serviceAccount.namespace: Invalid value: \"*\": "
      "a lowercase RFC 1123 label" },
};

static void check_all(struct fixture *f, const char *manifest, const char *faults)
{
    const char *got = fixture_faults(f, fixture_read(f, fixture_quotes(f, manifest)), NULL);

    if (!CHECK(*faults ? strncmp(got, faults, strlen(faults)) == 0 : !*got))
        printf("#  got: %s\n# want: %s\n", got, faults);
}

TEST(schemas_that_are_not_taken)
{
    struct fixture f = fixture_new("flowcontrol.apiserver.k8s.io", "v1", "flowschemas");

    for (size_t i = 0; i < sizeof(schemas) / sizeof(*schemas); i++)
        check_all(&f, schemas[i].manifest, schemas[i].faults);
    fixture_release(&f);
}

TEST(levels_that_are_not_taken)
{
#define QUEUES(queues, hand)                                                                \
    "{'metadata':{'name':'x'},'spec':{'type':'Limited','limited':{'limitResponse':{'type':" \
    "'Queue','queuing':{'queues':" queues ",'handSize':" hand ",'queueLengthLimit':1}}}}}"
    struct fixture f =
        fixture_new("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations");

    check_all(&f, QUEUES("64", "6"), "");
    check_all(&f, QUEUES("1024", "6"), ""); /* 60 bits */
    check_all(
        &f, QUEUES("1025", "6"),
        "spec.limited.limitResponse.queuing.handSize: Invalid value: 6: required entropy bits "
        "of deckSize 1025 and handSize 6 should not be greater than 60");
    check_all(&f, "{'metadata':{'name':'x'},'spec':{'type':'Exempt'}}",
              "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is "
              "'exempt'");
    check_all(&f,
              "{'metadata':{'name':'exempt'},'spec':{'type':'Exempt','exempt':{"
              "'nominalConcurrencyShares':-1}}}",
              "spec.exempt.nominalConcurrencyShares: Invalid value: -1: must be a non-negative "
              "integer");
    fixture_release(&f);
}

TEST(what_is_mandatory_stays_as_it_is)
{
#define CATCH_ALL(shares)                                                                \
    "{'metadata':{'name':'catch-all'},'spec':{'type':'Limited','limited':{"              \
    "'nominalConcurrencyShares':" shares ",'lendablePercent':0,'limitResponse':{'type':" \
    "'Reject'}}}}"
    struct fixture f =
        fixture_new("flowcontrol.apiserver.k8s.io", "v1", "prioritylevelconfigurations");
    const struct json *old = fixture_read(&f, fixture_quotes(&f, CATCH_ALL("5")));

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK(strstr(fixture_faults(&f, fixture_read(&f, fixture_quotes(&f, CATCH_ALL("6"))), old),
                 "spec of 'catch-all' must equal the fixed value"));
    fixture_release(&f);
}
