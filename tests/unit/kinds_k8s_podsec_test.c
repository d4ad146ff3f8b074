/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/podspec_security.h"
#include "unit/kinds_fixture.h"

/* What the levels of the Pod Security Standards forbid, as told, and what labels choose. */

enum { LATEST = POD_VERSION_LATEST };

static const struct json *read(struct fixture *f, const char *text)
{
    const struct json *v = NULL;

    CHECK(json_parse(f->c.arena, str_of(fixture_quotes(f, text)), NULL, &v, &f->st) == 0);
    return v;
}

/* What is wrong, or "". */
static const char *told(struct fixture *f, enum pod_level level, int minor, bool details,
                        const char *pod)
{
    const struct json *v = read(f, pod);
    str why = STR_NONE;
    bool bad =
        podspec_forbidden(f->c.arena, (struct pod_policy){ level, minor },
                          json_get(v, STR("metadata")), json_get(v, STR("spec")), details, &why);

    CHECK(bad == (why.n > 0));
    return str_z(f->c.arena, why);
}

struct row {
    int minor;
    const char *pod, *want;
};

#define TELL(f, level, format, rows)                                    \
    for (size_t i_ = 0; i_ < sizeof(rows) / sizeof(*(rows)); i_++)      \
    CHECK_STR(told((f), (level), (rows)[i_].minor, true,                \
                   arena_printf((f)->c.arena, format, (rows)[i_].pod)), \
              (rows)[i_].want)

TEST(baseline_forbids_what_is_known_to_escape)
{
    static const struct row rows[] = {
        { LATEST, "{}", "" },
        { LATEST, "{'spec':{'hostNetwork':true,'hostPID':false,'hostIPC':true}}",
          "host namespaces (hostNetwork=true, hostIPC=true)" },
        { LATEST, "{'spec':{'volumes':[{'name':'a','hostPath':{}},{'name':'b','hostPath':{}}]}}",
          "hostPath volumes (volumes \"a\", \"b\")" },
        { LATEST,
          "{'spec':{'initContainers':[{'name':'i','securityContext':{'privileged':true}}],"
          "'ephemeralContainers':[{'name':'e','securityContext':{'privileged':true}}]}}",
          "privileged (containers \"i\", \"e\" must not set securityContext.privileged=true)" },
        { 0, "{'spec':{'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_rmem'}]}}}",
          "forbidden sysctls (net.ipv4.tcp_rmem)" },
        { 32, "{'spec':{'securityContext':{'sysctls':[{'name':'net.ipv4.tcp_rmem'}]}}}", "" },
        { LATEST,
          "{'spec':{'securityContext':{'windowsOptions':{'hostProcess':true}},'containers':["
          "{'name':'a','securityContext':{'windowsOptions':{'hostProcess':true}}}]}}",
          "hostProcess (pod and container \"a\" must not set "
          "securityContext.windowsOptions.hostProcess=true)" },
        { LATEST,
          "{'metadata':{'annotations':{'container.apparmor.security.beta.kubernetes.io/a':'x'}},"
          "'spec':{'securityContext':{'appArmorProfile':{'type':'Unconfined'}}}}",
          "forbidden AppArmor profiles (pod and annotation must not set AppArmor profile type to "
          "\"Unconfined\", \"container.apparmor.security.beta.kubernetes.io/a=\"x\"\")" },
        { 18, "{'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'x'}}}",
          "seccompProfile (forbidden annotation seccomp.security.alpha.kubernetes.io/pod=\"x\")" },
        { 19, "{'metadata':{'annotations':{'seccomp.security.alpha.kubernetes.io/pod':'x'}}}", "" },
        { LATEST, "{'spec':{'securityContext':{'seccompProfile':{'type':'Unconfined'}}}}",
          "seccompProfile (pod must not set securityContext.seccompProfile.type to "
          "\"Unconfined\")" },
        { LATEST,
          "{'spec':{'securityContext':{'seLinuxOptions':{'type':'b','user':'u'}},'containers':["
          "{'name':'a','securityContext':{'seLinuxOptions':{'type':'a','role':'r'}}}]}}",
          "seLinuxOptions (pod and container \"a\" set forbidden securityContext.seLinuxOptions: "
          "types \"a\", \"b\"; user may not be set; role may not be set)" },
        { 30, "{'spec':{'securityContext':{'seLinuxOptions':{'type':'container_engine_t'}}}}",
          "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "
          "\"container_engine_t\")" },
        { 31, "{'spec':{'securityContext':{'seLinuxOptions':{'type':'container_engine_t'}}}}", "" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    TELL(&f, POD_BASELINE, "%s", rows);
    TELL(&f, POD_PRIVILEGED, "%.0s{'spec':{'hostPID':true}}", ((struct row[]){ { 0, "", "" } }));
    fixture_release(&f);
}

#define ONE "{'spec':{'hostUsers':false,'containers':[{'name':'a',%s}]}}"

TEST(baseline_looks_at_each_container)
{
    static const struct row rows[] = {
        { LATEST, "'ports':[{'hostPort':80},{'hostPort':8080},{'hostPort':80},{}]",
          "hostPort (container \"a\" uses hostPorts 80, 8080)" },
        { 33, "'livenessProbe':{'httpGet':{'host':'h'}}", "" },
        { 34,
          "'livenessProbe':{'httpGet':{'host':'h'}},'lifecycle':{'preStop':{'tcpSocket':"
          "{'host':'g'}}}",
          "probe or lifecycle host (container \"a\" uses probe or lifecycle hosts \"g\", \"h\")" },
        { LATEST, "'securityContext':{'capabilities':{'add':['KILL','SYS_TIME','NET_RAW']}}",
          "non-default capabilities (container \"a\" must not include \"NET_RAW\", \"SYS_TIME\" in "
          "securityContext.capabilities.add)" },
        { 34, "'securityContext':{'procMount':'Unmasked'}",
          "procMount (container \"a\" must not set securityContext.procMount to \"Unmasked\")" },
        { 35, "'securityContext':{'procMount':'Unmasked'}", "" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    TELL(&f, POD_BASELINE, ONE, rows);
    fixture_release(&f);
}

#define STRICT                                                                              \
    "'allowPrivilegeEscalation':false,'capabilities':{'drop':['ALL']},'runAsNonRoot':true," \
    "'seccompProfile':{'type':'RuntimeDefault'}"
#define KEPT "{'spec':{%s'containers':[{'name':'a','securityContext':{" STRICT "}}]}}"

TEST(restricted_wants_to_be_told)
{
    static const struct row bare[] = {
        { 0, "",
          "runAsNonRoot != true (pod or container \"a\" must set "
          "securityContext.runAsNonRoot=true)" },
        { LATEST, "",
          "allowPrivilegeEscalation != false (container \"a\" must set "
          "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
          "\"a\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod "
          "or container \"a\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or "
          "container \"a\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "
          "\"Localhost\")" },
        { LATEST, "'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true},", "" },
        { 24,
          "'os':{'name':'windows'},'securityContext':{'runAsNonRoot':true,'seccompProfile':"
          "{'type':'Localhost'}},",
          "allowPrivilegeEscalation != false (container \"a\" must set "
          "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
          "\"a\" must set securityContext.capabilities.drop=[\"ALL\"])" },
    };
    static const struct row kept[] = {
        { LATEST, "", "" },
        { LATEST, "'securityContext':{'runAsNonRoot':false,'runAsUser':0},",
          "runAsNonRoot != true (pod must not set securityContext.runAsNonRoot=false), "
          "runAsUser=0 (pod must not set runAsUser=0)" },
        { 22, "'securityContext':{'runAsUser':0},", "" },
        { LATEST, "'hostUsers':false,'securityContext':{'runAsNonRoot':false,'runAsUser':0},", "" },
        { LATEST,
          "'volumes':[{'name':'v','nfs':{}},{'name':'w','emptyDir':{}},{'name':'x','new':{}}],",
          "restricted volume types (volumes \"v\", \"x\" use restricted volume types \"nfs\", "
          "\"unknown\")" },
        /* Told once, not by the level below, too. */
        { 0, "'volumes':[{'name':'v','hostPath':{}}],",
          "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")" },
        { LATEST,
          "'initContainers':[{'name':'i','securityContext':{" STRICT
          ",'procMount':'Unmasked'}}],'hostUsers':false,",
          "procMount (container \"i\" must not set securityContext.procMount to \"Unmasked\")" },
    };
    struct fixture f = fixture_new("", "v1", "pods");

    TELL(&f, POD_RESTRICTED, "{'spec':{%s'containers':[{'name':'a'}]}}", bare);
    TELL(&f, POD_RESTRICTED, KEPT, kept);
    CHECK_STR(told(&f, POD_RESTRICTED, LATEST, false,
                   "{'spec':{'hostPID':true,'containers':[{'name':'a','securityContext':{"
                   "'seccompProfile':{'type':'Localhost'},'runAsNonRoot':true,"
                   "'capabilities':{'drop':['ALL'],'add':['KILL','NET_BIND_SERVICE']}}}]}}"),
              "host namespaces, allowPrivilegeEscalation != false, unrestricted capabilities");
    fixture_release(&f);
}

#define L "pod-security.kubernetes.io/"

TEST(labels_choose)
{
    static const struct {
        const char *labels, *want, *faults;
    } rows[] = {
        { "{}", "privileged:latest privileged:latest privileged:latest", "" },
        { "{'" L "enforce':'baseline','" L "enforce-version':'v1.9'}",
          "baseline:v1.9 privileged:latest baseline:v1.9", "" },
        { "{'" L "enforce':'restricted','" L "warn-version':'v1.8','" L "audit':'baseline'}",
          "restricted:latest baseline:latest restricted:v1.8", "" },
        { "{'" L "enforce':'restricted','" L "warn':'privileged'}",
          "restricted:latest privileged:latest privileged:latest", "" },
        { "{'" L "enforce':'x','" L "audit':'','" L "warn':'x','" L "warn-version':'v1.09'}",
          "restricted:latest privileged:latest privileged:latest",
          "metadata.labels[" L "enforce]: Invalid value: \"x\": must be one of privileged, "
          "baseline, restricted; metadata.labels[" L "audit]: Invalid value: \"\": must be one of "
          "privileged, baseline, restricted; metadata.labels[" L
          "warn]: Invalid value: \"x\": must "
          "be one of privileged, baseline, restricted; metadata.labels[" L "warn-version]: Invalid "
          "value: \"v1.09\": must be \"latest\" or \"v1.x\"; " },
        { "{'" L "enforce-version':'v1.99999999999999999999'}",
          "privileged:latest privileged:latest privileged:latest",
          "metadata.labels[" L "enforce-version]: Invalid value: \"v1.99999999999999999999\": must "
          "be \"latest\" or \"v1.x\"; " },
    };
    struct fixture f = fixture_new("", "v1", "namespaces");

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct arena *a = f.c.arena;
        struct pod_policies p;
        const char *faults = "";

        status_reset(&f.st);
        p = pod_policies_of(read(&f, rows[i].labels), &f.st);
        CHECK_STR(arena_printf(a, "%s %s %s", str_z(a, pod_policy_text(a, p.enforce)),
                               str_z(a, pod_policy_text(a, p.audit)),
                               str_z(a, pod_policy_text(a, p.warn))),
                  rows[i].want);
        for (const struct cause *c = f.st.causes; c; c = c->next)
            faults = arena_printf(a, "%s%s; ", faults, str_z(a, cause_text(a, c)));
        CHECK_STR(faults, rows[i].faults);
    }
    fixture_release(&f);
}
