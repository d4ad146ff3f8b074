/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/unserved.h"
#include "server_fixture.h"
#include "unit/kinds_fixture.h"

/*
 * Each row of the table of what is not served: the descriptions of its kind say so, and a write
 * that asks for it is answered with its sentence, and with no other.
 */

#define POLICY     "/apis/policy.karmada.io/v1alpha1/"
#define SELECTORS  "'resourceSelectors':[{'apiVersion':'v1','kind':'ConfigMap','name':'a'}]"
#define IN_ONE     "/clusters/one"
#define DEFAULT_NS "namespaces/default/"

/* In the order of the table: where an object that asks for it is made, and its body. */
static const struct {
    const char *door, *body;
} samples[] = {
    { IN_ONE "/apis/autoscaling.karmada.io/v1alpha1/" DEFAULT_NS "federatedhpas",
      "'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'},"
      "'maxReplicas':3}" },
    { IN_ONE "/apis/autoscaling.karmada.io/v1alpha1/" DEFAULT_NS "cronfederatedhpas",
      "'spec':{'scaleTargetRef':{'apiVersion':'apps/v1','kind':'Deployment','name':'web'},"
      "'rules':[{'name':'a','schedule':'0 6 * * *','targetReplicas':2}]}" },
    { IN_ONE "/apis/networking.karmada.io/v1alpha1/" DEFAULT_NS "multiclusterservices",
      "'spec':{'types':['CrossCluster'],'ports':[{'port':80}]}" },
    { IN_ONE "/apis/networking.karmada.io/v1alpha1/" DEFAULT_NS "multiclusteringresses",
      "'spec':{'defaultBackend':{'service':{'name':'web','port':{'number':80}}}}" },
    { IN_ONE "/apis/remedy.karmada.io/v1alpha1/remedies", "'spec':{'actions':['TrafficControl']}" },
    { IN_ONE "/apis/config.karmada.io/v1alpha1/resourceinterpreterwebhookconfigurations",
      "'webhooks':[{'name':'g.example.com','clientConfig':{'url':'https://192.0.2.1/i'},'rules':[{"
      "'operations':['InterpretReplica'],'apiGroups':['example.com'],'apiVersions':['v1'],'kinds':["
      "'Gadget']}],'interpreterContextVersions':['v1alpha1']}]" },
    { IN_ONE "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations",
      "'spec':{'target':{'apiVersion':'example.com/v1','kind':'Gadget'},'customizations':{"
      "'componentResource':{'luaScript':'function GetComponents(obj) return {} end'}}}" },
#define BOTH(spec)                                                                         \
    { IN_ONE POLICY DEFAULT_NS "propagationpolicies", "'spec':{" SELECTORS "," spec "}" }, \
    {                                                                                      \
        IN_ONE POLICY "clusterpropagationpolicies", "'spec':{" SELECTORS "," spec "}"      \
    }
    BOTH("'association':true"),
    BOTH("'preemption':'Always'"),
    BOTH("'schedulePriority':{'priorityClassSource':'KubePriorityClass','priorityClassName':"
         "'system-cluster-critical'}"),
    BOTH("'propagateDeps':true,'failover':{'application':{'decisionConditions':{'tolerationSeconds'"
         ":5},'purgeMode':'"
         "Gracefully'}}"),
    BOTH("'failover':{'cluster':{'purgeMode':'Gracefully','statePreservation':{'rules':[{"
         "'aliasLabelName':'a','jsonPath':'{.a}'}]}}}"),
    BOTH("'placement':{'workloadAffinity':{'affinity':{'groupByLabelKey':'app'}}}"),
    BOTH("'placement':{'spreadConstraints':[{'spreadByLabel':'rack','minGroups':1}]}"),
    { IN_ONE "/apis/cluster.karmada.io/v1alpha1/clusters",
      "'spec':{'syncMode':'Push','proxyHeader':{'a':'b'}}" },
    { "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters",
      "'spec':{'apiserver':'https://192.0.2.1','syncResources':[],'syncResourcesRefName':'x'}" },
    { "/apis/cluster.clusterpedia.io/v1alpha2/pediaclusters",
      "'spec':{'apiserver':'https://192.0.2.1','syncResources':[],'shardingName':'x'}" },
    { "/apis/tenancy.kairship.io/v1alpha1/instances",
      "'spec':{'settings':{'descheduler':{'enabled':true}}}" },
    { "/apis/tenancy.kairship.io/v1alpha1/instances",
      "'spec':{'settings':{'metricsAdapter':{'enabled':true}}}" },
    { "/apis/tenancy.kairship.io/v1alpha1/instances",
      "'spec':{'settings':{'failover':{'enabled':true,'clusterMonitorPeriod':7}}}" },
};
enum { SAMPLES = sizeof(samples) / sizeof(*samples) };

static struct ask *make(struct host *h, const char *door, const char *name, const char *body)
{
    struct arena *a = h->arena;
    char *text = str_z(a, str_of(arena_printf(a, "{'metadata':{'name':'%s'},%s}", name, body)));

    for (char *c = text; *c; c++)
        if (*c == '\'')
            *c = '"';
    return ask_body(ask(h, "POST", door), text);
}

TEST(a_write_that_asks_for_it_is_warned)
{
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(make(h, "/apis/tenancy.kairship.io/v1alpha1/instances", "one", "'spec':{}")),
              "201");
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct unserved *row = &unserved_rows[i];
        struct ask *a =
            make(h, samples[i].door, arena_printf(h->arena, "s%zu", i), samples[i].body);
        str want = unserved_sentence(h->arena, row);

        REQUIRE(i < unserved_count);
        (void)answer(a);
        if (!CHECK(strcmp(answer_field(a, "kind"), row->kind) == 0))
            printf("# row %zu: %s\n", i, answer_field(a, "message"));
        CHECK_STR(answer_header(a, "warning"),
                  arena_printf(h->arena, "299 - \"%.*s\"", STR_ARG(want)));
        ask_free(a);
    }
    for (size_t i = SAMPLES; i < unserved_count; i++)
        CHECK_STR(unserved_rows[i].group, "rpc"); /* whose test is mgmt_services_test.c */
    host_free(h);
}

TEST(what_asks_for_nothing_is_not_warned)
{
    static const char *const bodies[] = {
        "'spec':{" SELECTORS ",'preemption':'Never','association':false}",
        "'spec':{" SELECTORS ",'failover':{'cluster':{'purgeMode':'Gracefully'}}}",
    };
    struct host *h = host_new(0, 0);

    CHECK_STR(code_of(make(h, "/apis/tenancy.kairship.io/v1alpha1/instances", "one",
                           "'spec':{'settings':{'descheduler':{'enabled':false},'failover':{"
                           "'enabled':true,'clusterMonitorPeriod':5}}}")),
              "201");
    for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++) {
        struct ask *a = make(h, IN_ONE POLICY DEFAULT_NS "propagationpolicies",
                             arena_printf(h->arena, "p%zu", i), bodies[i]);

        (void)answer(a);
        CHECK_STR(answer_field(a, "kind"), "PropagationPolicy");
        CHECK_STR(answer_header(a, "warning"), "");
        ask_free(a);
    }
    host_free(h);
}

/* ---- descriptions ---- */

static bool says_so(str doc)
{
    return str_contains(doc, STR("Not served"));
}

static const struct kind *kind_of(const struct unserved *row)
{
    const struct catalog *const catalogs[] = { kinds_catalog_instance(), kinds_catalog_root() };

    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < catalogs[c]->nkinds; i++)
            if (str_is(catalogs[c]->kinds[i]->group, row->group) &&
                str_is(catalogs[c]->kinds[i]->kind, row->kind))
                return catalogs[c]->kinds[i];
    return NULL;
}

/* NULL: there is none. */
static const struct schema_field *field_of(const struct schema *s, const char *path)
{
    const struct schema_field *f = NULL;
    str rest = str_of(path), word;

    while (rest.p && str_split(&rest, '.', &word)) {
        bool list = str_ends(word, STR("[]"));

        word.n -= list ? 2 : 0;
        f = schema_field(s, word);
        if (!f)
            return NULL;
        s = list ? f->type->items : f->type;
    }
    return f;
}

TEST(descriptions_say_so)
{
    fixture_kinds();
    for (size_t i = 0; i < SAMPLES; i++) {
        const struct unserved *row = &unserved_rows[i];
        const struct kind *k = kind_of(row);
        const struct schema_field *f;

        REQUIRE(k);
        f = row->path ? field_of(k->schema, row->path) : NULL;
        if (!CHECK(row->path ? f && says_so(f->doc) : says_so(k->schema->doc)))
            printf("# %s %s\n", row->kind, row->path ? row->path : "");
    }
}

struct walk {
    const struct schema *seen[8000];
    size_t n;
    const struct schema_field *known[SAMPLES];
};

static void look_at(struct walk *w, const struct schema *s)
{
    for (size_t i = 0; i < w->n; i++)
        if (w->seen[i] == s)
            return;
    REQUIRE(w->n < sizeof(w->seen) / sizeof(*w->seen));
    w->seen[w->n++] = s;
    if (s->items)
        look_at(w, s->items);
    for (size_t i = 0; i < s->nfields; i++) {
        const struct schema_field *f = &s->fields[i];
        bool found = !says_so(f->doc);

        for (size_t k = 0; k < SAMPLES; k++)
            found |= w->known[k] == f;
        if (!CHECK(found))
            printf("# %.*s.%.*s is said not to be served, and has no row\n", STR_ARG(s->name),
                   STR_ARG(f->name));
        look_at(w, f->type);
    }
}

TEST(descriptions_say_so_of_nothing_else)
{
    static struct walk w;
    const struct catalog *catalogs[2];

    fixture_kinds();
    catalogs[0] = kinds_catalog_instance();
    catalogs[1] = kinds_catalog_root();
    for (size_t i = 0; i < SAMPLES; i++)
        if (unserved_rows[i].path)
            w.known[i] = field_of(kind_of(&unserved_rows[i])->schema, unserved_rows[i].path);
    for (size_t c = 0; c < 2; c++)
        for (size_t i = 0; i < catalogs[c]->nkinds; i++) {
            const struct kind *k = catalogs[c]->kinds[i];
            bool row = false;

            for (size_t r = 0; r < SAMPLES; r++)
                row |= !unserved_rows[r].path && str_is(k->kind, unserved_rows[r].kind);
            if (!CHECK(row == says_so(k->schema->doc)))
                printf("# %.*s\n", STR_ARG(k->kind));
            look_at(&w, k->schema);
        }
}
