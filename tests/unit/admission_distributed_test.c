/* SPDX-License-Identifier: Apache-2.0 */
#include "server_fixture.h"

/* Who deletes what others depend on is told so, also by a dry run; and how much it is. */

#define INSTANCES "/apis/tenancy.kairship.io/v1alpha1/instances"
#define I         "/clusters/demo"
#define CLUSTERS  I "/apis/cluster.karmada.io/v1alpha1/clusters"
#define POLICIES  I "/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies"
#define BINDINGS  I "/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings"
#define WORKS     I "/apis/work.karmada.io/v1alpha1/namespaces/karmada-es-m1/works"

/* Bodies have ' for ". */
static void make(struct host *h, const char *path, char *body)
{
    for (char *p = body; *p; p++)
        if (*p == '\'')
            *p = '"';
    CHECK_STR(code_of(ask_body(ask(h, "POST", path), body)), "201");
}

static const char *warning(struct host *h, const char *path)
{
    struct ask *a = ask(h, "DELETE", path);
    const char *text;

    CHECK_STR(answer(a), "200");
    text = answer_header(a, "warning");
    text = arena_printf(h->arena, "%s", text ? text : "");
    ask_free(a);
    return text;
}

static const char *policy_id(struct host *h)
{
    struct ask *a = ask(h, "GET", POLICIES "/p");
    const struct json *v = NULL;
    struct status st;

    status_init(&st, h->arena);
    CHECK_STR(answer(a), "200");
    CHECK(json_parse(h->arena, str_dup(h->arena, buf_str(&a->text)), NULL, &v, &st) == 0);
    ask_free(a);
    return str_z(h->arena, json_str(json_get(json_path(v, "metadata.labels"),
                                             STR("propagationpolicy.karmada.io/permanent-id"))));
}

static struct host *open_host(void)
{
    struct host *h = host_new(0, 0);

    make(h, INSTANCES,
         arena_printf(h->arena, "{'metadata':{'name':'demo'},'spec':{'release':'Orphan'}}"));
    make(h, CLUSTERS,
         arena_printf(h->arena, "{'metadata':{'name':'m1'},'spec':{'syncMode':'Push'}}"));
    make(h, POLICIES,
         arena_printf(h->arena,
                      "{'metadata':{'name':'p'},'spec':{'resourceSelectors':[{'apiVersion'"
                      ":'apps/v1','kind':'Deployment'}],'placement':{}}}"));
    make(h, I "/api/v1/namespaces",
         arena_printf(h->arena, "{'metadata':{'name':'karmada-es-m1'}}"));
    return h;
}

TEST(a_deletion_tells_what_it_is_about)
{
    struct host *h = open_host();

    CHECK_STR(warning(h, POLICIES "/p?dryRun=All"), "");
    CHECK_STR(warning(h, CLUSTERS "/m1?dryRun=All"), "");
    for (int i = 0; i < 22; i++) {
        make(h, BINDINGS,
             arena_printf(h->arena,
                          "{'metadata':{'name':'w%02d','labels':{'propagationpolicy.karmada.io/"
                          "permanent-id':'%s'}},'spec':{'resource':{'apiVersion':'apps/v1','kind':"
                          "'Deployment','namespace':'default','name':'w%02d'}}}",
                          i, policy_id(h), i));
        make(h, WORKS,
             arena_printf(h->arena,
                          "{'metadata':{'name':'w%02d'},'spec':{'workload':{'manifests':[{"
                          "'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'w%02d',"
                          "'namespace':'default'}}]}}}",
                          i, i));
    }
    CHECK(strstr(warning(h, POLICIES "/p?dryRun=All"),
                 "the policy is used by 22 objects (Deployment default/w00, Deployment "));
    CHECK(strstr(warning(h, POLICIES "/p?dryRun=All"), "Deployment default/w19 and 2 more); they"));
    CHECK(strstr(warning(h, CLUSTERS "/m1?dryRun=All"),
                 "is deleted there: 22 objects (ConfigMap default/w00, ConfigMap default/w01, "));
    CHECK(
        strstr(warning(h, INSTANCES "/demo?dryRun=All"),
               "this deletes the instance with its 1 member cluster (m1) and 0 workloads; what it "
               "has distributed stays in the members"));
    CHECK(strstr(warning(h, POLICIES "/p"), "is used by 22 objects"));
    CHECK(strstr(warning(h, CLUSTERS "/m1"), "is deleted there: 22 objects"));
    host_free(h);
}
