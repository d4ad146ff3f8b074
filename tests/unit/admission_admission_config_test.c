/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admission_config.h"
#include "tap.h"

/* What an operator may say to plugins, and how they are told what is wrong with it. */

#define HEAD  "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
#define RATES "apiVersion: eventratelimit.admission.k8s.io/v1alpha1, kind: Configuration"
#define QUOTA "apiVersion: apiserver.config.k8s.io/v1, kind: ResourceQuotaConfiguration"

static int file(struct arena *a, void *arg, str path, str *out, struct status *st)
{
    (void)a;
    (void)arg;
    if (!str_is(path, "rates.yaml"))
        return status_set(st, REASON_BAD_REQUEST, "there is no file %.*s", STR_ARG(path));
    *out = STR("{" RATES ", limits: [{type: User, qps: 5, burst: 6, cacheSize: 7}]}");
    return 0;
}

TEST(limits_and_resources)
{
    static const char text[] =
        HEAD "- name: EventRateLimit\n"
             "  path: rates.yaml\n"
             "- name: ResourceQuota\n"
             "  configuration:\n"
             "    apiVersion: apiserver.config.k8s.io/v1\n"
             "    kind: ResourceQuotaConfiguration\n"
             "    limitedResources:\n"
             "    - resource: pods\n"
             "      matchContains: [nvidia.com]\n"
             "      matchScopes:\n"
             "      - {scopeName: PriorityClass, operator: In, values: [vip]}\n";
    scoped_arena a = arena_new();
    struct admission_config c;
    struct status st;

    status_init(&st, a);
    REQUIRE(admission_config_read(a, str_of(text), file, NULL, &c, &st) == 0);
    REQUIRE(c.nlimits == 1);
    CHECK(c.limits[0].type == EVENT_LIMIT_USER && c.limits[0].qps == 5);
    CHECK(c.limits[0].burst == 6 && c.limits[0].cache == 7);
    CHECK(json_len(c.limited) == 1);
    CHECK(str_is(json_get_str(json_at(c.limited, 0), "resource"), "pods"));

    REQUIRE(admission_config_read(a,
                                  STR(HEAD "- name: EventRateLimit\n  configuration: {" RATES
                                           ", limits: [{type: Server, qps: 1, burst: 2}]}\n"),
                                  file, NULL, &c, &st) == 0);
    CHECK(c.nlimits == 1 && c.limits[0].cache == 4096 && !c.limited);
}

TEST(what_is_wrong_is_said)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        { "kind: AdmissionConfiguration\n", "it is a \"AdmissionConfiguration\" of \"\"" },
        { HEAD "- name: PodSecurity\n  path: x\n",
          "there is no admission plugin \"PodSecurity\" that takes a configuration here: "
          "EventRateLimit and ResourceQuota do" },
        { HEAD "- name: ResourceQuota\n", "it has neither a path nor a configuration" },
        { HEAD "- name: ResourceQuota\n  path: x\n  configuration: {a: b}\n",
          "it has a path and a configuration" },
        { HEAD "- name: EventRateLimit\n  path: x\n", "there is no file x" },
        { HEAD "- name: EventRateLimit\n  paths: x\n", "unknown field \"plugins[0].paths\"" },
        { HEAD "- name: EventRateLimit\n  name: x\n", "already set" },
        { HEAD "- name: ResourceQuota\n  configuration: {" RATES "}\n",
          "must be a ResourceQuotaConfiguration of apiserver.config.k8s.io/v1" },
        { HEAD "- name: ResourceQuota\n  configuration: {" QUOTA ", limits: []}\n",
          "unknown field \"limits\"" },
        { HEAD "- name: ResourceQuota\n  configuration: {" QUOTA ", limitedResources: [{}]}\n",
          "limitedResources[0].resource: Required value" },
        { HEAD "- name: ResourceQuota\n  configuration: {" QUOTA ", limitedResources: [{resource: "
               "pods, matchScopes: [{scopeName: PriorityClass, operator: Is}]}]}\n",
          "limitedResources[0].matchScopes.operator: Unsupported value: \"Is\"" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES "}\n",
          "limits: Invalid value: {}: must not be empty" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES ", limits: [{type: X}]}\n",
          "limits[0].type: Unsupported value: \"X\": supported values: \"Namespace\", "
          "\"Server\", \"SourceAndObject\", \"User\"" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES
               ", limits: [{type: User, burst: 1}]}\n",
          "limits[0].qps: Invalid value: 0: must be positive" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES
               ", limits: [{type: User, qps: 1, burst: -1, cacheSize: -1}]}\n",
          "limits[0].cacheSize: Invalid value: -1: must not be negative" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES
               ", limits: [{type: User, qps: 1, burst: 1, cacheSize: 9999999}]}\n",
          "limits[0].cacheSize: Invalid value: 9999999: must be less than or equal to 1048576" },
        { HEAD "- name: EventRateLimit\n  configuration: {" RATES
               ", limits: [{type: User, qps: 1, burst: 1}, {type: User, qps: 1, burst: 1}]}\n",
          "limits[1].type: Duplicate value: \"User\"" },
        { HEAD "- name: EventRateLimit\n  path: rates.yaml\n"
               "- name: EventRateLimit\n  path: rates.yaml\n",
          "the plugin \"EventRateLimit\" is there twice" },
        { "[", "" },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        struct admission_config c;
        struct status st;

        status_init(&st, a);
        if (!CHECK(admission_config_read(a, str_of(rows[i].text), file, NULL, &c, &st) < 0 &&
                   str_contains(st.message, str_of(rows[i].why))))
            printf("# %s\n# said: %.*s\n", rows[i].text, STR_ARG(st.message));
    }
}
