/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/override.h"
#include "tap.h"

/* Texts with ' for ". */
static const struct json *tree(struct arena *a, const char *text)
{
    const struct json *v = NULL;
    char *z = str_z(a, str_of(text));
    struct status st;

    status_init(&st, a);
    for (char *p = z; *p; p++)
        if (*p == '\'')
            *p = '"';
    if (json_parse(a, str_of(z), NULL, &v, &st) < 0)
        printf("# %s: %.*s\n", z, STR_ARG(st.message));
    return v;
}

static bool same(struct arena *a, const struct json *got, const char *want)
{
    const struct json *w = tree(a, want);

    if (got && json_equal(got, w))
        return true;
    printf("#  got: %s\n# want: %s\n", got ? json_text(a, got).p : "nothing", want);
    return false;
}

TEST(parts_of_an_images_name)
{
    static const struct {
        const char *image, *host, *repository, *tag, *digest;
    } cases[] = {
        { "nginx", "", "nginx", "", "" },
        { "nginx:1.19", "", "nginx", "1.19", "" },
        { "lib/nginx", "", "lib/nginx", "", "" },
        { "reg.example/lib/nginx:1", "reg.example", "lib/nginx", "1", "" },
        { "localhost/x", "localhost", "x", "", "" },
        { "host:5000/x:2", "host:5000", "x", "2", "" },
        { "x@sha256:abababababababababababababababababababababababababababababababab", "", "x", "",
          "sha256:abababababababababababababababababababababababababababababababab" },
        { "x:1@sha256:abababababababababababababababababababababababababababababababab", "", "x",
          "1", "" },
    };
    static const char *const bad[] = {
        "", "Nginx", "x:", "x:a b", "/x", "x/", "x@sha256:1", "x y"
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct override_image p;

        REQUIRE(override_image_parse(str_of(cases[i].image), &p));
        CHECK(str_is(p.host, cases[i].host) && str_is(p.repository, cases[i].repository));
        CHECK(str_is(p.tag, cases[i].tag) && str_is(p.digest, cases[i].digest));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct override_image p;

        if (!CHECK(!override_image_parse(str_of(bad[i]), &p)))
            printf("# %s\n", bad[i]);
    }
}

#define POD                                                                                  \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'labels':{'a':'1'}},'spec':{'containers':[" \
    "{'name':'web','image':'reg.example/lib/nginx:1.19','command':['run','keep'],'args':["   \
    "'-a','-b']},{'name':'side','image':'busybox:1.0'}]}}"

/* One overrider of each kind and operator; what is looked at is under the path. */
TEST(each_overrider)
{
    static const struct {
        const char *object, *overriders, *path, *want;
    } cases[] = {
        { POD,
          "{'imageOverrider':[{'component':'Registry','operator':'replace','value':"
          "'mirror.local:5000'}]}",
          "spec.containers",
          "[{'name':'web','image':'mirror.local:5000/lib/nginx:1.19','command':['run','keep'],"
          "'args':['-a','-b']},{'name':'side','image':'mirror.local:5000/busybox:1.0'}]" },
        { POD,
          "{'imageOverrider':[{'component':'Tag','operator':'replace','value':'2.0'},"
          "{'component':'Repository','operator':'add','value':'-x'},{'component':'Registry',"
          "'operator':'remove'}],'commandOverrider':[{'containerName':'web','operator':'add',"
          "'value':['more']},{'containerName':'web','operator':'remove','value':['run']}],"
          "'argsOverrider':[{'containerName':'side','operator':'add','value':['-z']},"
          "{'containerName':'nope','operator':'add','value':['q']}]}",
          "spec.containers",
          "[{'name':'web','image':'lib/nginx-x:2.0','command':['keep','more'],'args':['-a','-b']},"
          "{'name':'side','image':'busybox-x:2.0','args':['-z']}]" },
        { POD,
          "{'imageOverrider':[{'predicate':{'path':'/spec/containers/1/image'},'component':'Tag',"
          "'operator':'remove'},{'predicate':{'path':'/spec/containers/1/image'},'component':"
          "'Registry','operator':'add','value':'quay.io'}],'plaintext':[{'path':"
          "'/spec/containers/0','operator':'remove'}]}",
          "spec.containers", "[{'name':'side','image':'quay.io/busybox'}]" },
        { POD,
          "{'labelsOverrider':[{'operator':'add','value':{'b/c':'2'}},{'operator':'replace',"
          "'value':{'a':'3','none':'x'}},{'operator':'remove','value':{'gone':''}}],"
          "'annotationsOverrider':[{'operator':'add','value':{'n':'1'}}]}",
          "metadata", "{'labels':{'a':'3','b/c':'2'},'annotations':{'n':'1'}}" },
        { POD, "{'labelsOverrider':[{'operator':'remove','value':{'a':''}}]}", "metadata",
          "{'labels':{}}" },
        { "{'kind':'ConfigMap','data':{'j.json':'{\\'db\\':{\\'host\\':\\'h1\\',\\'port\\':1},"
          "\\'z\\':1}','y/y':'# no\\nlist: [a, b]\\nb: 1\\n'}}",
          "{'fieldOverrider':[{'fieldPath':'/data/j.json','json':[{'subPath':'/db/host',"
          "'operator':'replace','value':'h2'},{'subPath':'/db/new','operator':'add','value':{'a':"
          "[1,true]}},{'subPath':'/db/port','operator':'remove'}]},{'fieldPath':'/data/y~1y',"
          "'yaml':[{'subPath':'/list/0','operator':'replace','value':'zz'},{'subPath':'/k',"
          "'operator':'add','value':7}]}]}",
          "data",
          "{'j.json':'{\\'db\\':{\\'host\\':\\'h2\\',\\'new\\':{\\'a\\':[1,true]}},\\'z\\':1}',"
          "'y/y':'b: 1\\nk: 7\\nlist:\\n- zz\\n- b\\n'}" },
        { "{'kind':'ConfigMap','data':{}}",
          "{'imageOverrider':[{'component':'Tag','operator':'remove'}],'commandOverrider':[{"
          "'containerName':'x','operator':'add','value':['y']}],'plaintext':[{'path':'/data/a',"
          "'operator':'add','value':'b'}]}",
          "data", "{'a':'b'}" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        const struct json *out = NULL;
        struct status st;

        status_init(&st, a);
        if (!CHECK(override_apply_overriders(a, tree(a, cases[i].object),
                                             tree(a, cases[i].overriders), &out, &st) == 0))
            printf("# case %zu: %.*s\n", i, STR_ARG(st.message));
        CHECK(same(a, json_path(out, cases[i].path), cases[i].want));
    }
}

TEST(overriders_that_cannot_be_applied)
{
    static const struct {
        const char *object, *overriders;
    } cases[] = {
        { POD, "{'plaintext':[{'path':'/spec/none/such','operator':'replace','value':'x'}]}" },
        { POD,
          "{'imageOverrider':[{'predicate':{'path':'/spec/containers/7/image'},'component':'Tag',"
          "'operator':'remove'}]}" },
        { POD, "{'imageOverrider':[{'component':'Colour','operator':'remove'}]}" },
        { "{'kind':'Pod','spec':{'containers':[{'image':'No Image'}]}}",
          "{'imageOverrider':[{'component':'Tag','operator':'remove'}]}" },
        { POD, "{'fieldOverrider':[{'fieldPath':'/spec','json':[]}]}" },
        { "{'kind':'ConfigMap','data':{'x':'{'}}",
          "{'fieldOverrider':[{'fieldPath':'/data/x','json':[{'subPath':'/"
          "a','operator':'add'}]}]}" },
        { "{'kind':'ConfigMap','data':{'x':'{}'}}",
          "{'fieldOverrider':[{'fieldPath':'data/x','json':[]}]}" },
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        scoped_arena a = arena_new();
        const struct json *out = NULL;
        struct status st;

        status_init(&st, a);
        if (!CHECK(override_apply_overriders(a, tree(a, cases[i].object),
                                             tree(a, cases[i].overriders), &out, &st) < 0))
            printf("# case %zu\n", i);
        CHECK(st.message.n > 0 && !out);
    }
}

#define RULE(clusters, key)                                                               \
    "{'targetCluster':{'clusterNames':[" clusters "]},'overriders':{'labelsOverrider':[{" \
    "'operator':'add','value':{'who':'" key "','" key "':'1'}}]}}"
#define POLICY(name, selectors, rules)                                        \
    "{'metadata':{'name':'" name "'},'spec':{'resourceSelectors':[" selectors \
    "],'overrideRules':[" rules "]}}"

/* More exact ones have the last word; the record is by name. */
TEST(the_order_of_policies)
{
    scoped_arena a = arena_new();
    const struct json *policies = tree(
        a,
        "[" POLICY("z-any", "", RULE("'m1'", "any")) "," POLICY(
            "b-name", "{'apiVersion':'v1','kind':'Pod','name':'x'}",
            RULE("'m1'",
                 "bn")) "," POLICY("a-name", "{'apiVersion':'v1','kind':'Pod','name':'x'}",
                                   RULE("'m1','m2'",
                                        "an")) "," POLICY("c-kind",
                                                          "{'apiVersion':'v1','kind':'Pod'}",
                                                          RULE("'m2'",
                                                               "kind")) "," POLICY("other",
                                                                                   "{'apiVersion':'"
                                                                                   "v1','kind':'"
                                                                                   "Service'}",
                                                                                   RULE("'m1'",
                                                                                        "no")) "]");
    const struct json *pod = tree(a, "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'x'}}");
    const struct sched_cluster *m1 =
        sched_cluster_parse(a, tree(a, "{'metadata':{'name':'m1'},'spec':{}}"));
    struct override_result r;
    struct status st;

    status_init(&st, a);
    REQUIRE(override_apply(a, pod, policies, m1, &r, &st) == 0);
    CHECK(same(a, json_path(r.manifest, "metadata.labels"),
               "{'any':'1','an':'1','bn':'1','who':'bn'}"));
    REQUIRE(json_len(r.applied) == 3);
    CHECK(str_is(json_get_str(json_at(r.applied, 0), "policyName"), "a-name"));
    CHECK(str_is(json_get_str(json_at(r.applied, 2), "policyName"), "z-any"));
    CHECK_STR(json_text(a, json_at(r.applied, 2)).p,
              "{\"policyName\":\"z-any\",\"overriders\":{\"labelsOverrider\":[{\"operator\":"
              "\"add\",\"value\":{\"who\":\"any\",\"any\":\"1\"}}]}}");

    policies = tree(a, "[{'metadata':{'name':'p'},'spec':{'overrideRules':[{'overriders':{"
                       "'plaintext':[{'operator':'remove','path':'/kind'}],'fieldOverrider':[]}}]"
                       "}}]");
    REQUIRE(override_apply(a, pod, policies, m1, &r, &st) == 0);
    CHECK_STR(json_text(a, r.applied).p,
              "[{\"policyName\":\"p\",\"overriders\":{\"plaintext\":[{\"path\":\"/kind\","
              "\"operator\":\"remove\",\"value\":null}]}}]");
    REQUIRE(override_apply(a, pod, &json_empty_array, m1, &r, &st) == 0);
    CHECK(r.manifest == pod && !r.applied);
    policies = tree(a, "[{'metadata':{'name':'old'},'spec':{'overriders':{'plaintext':[{'path':"
                       "'/no/such','operator':'remove'}]}}}]");
    CHECK(override_apply(a, pod, policies, m1, &r, &st) < 0);
    CHECK(str_is(r.failed, "old"));
    status_reset(&st);
    policies = tree(a, "[{'metadata':{'name':'gap'},'spec':{'overriders':{'plaintext':[{'path':"
                       "'/spec','operator':'replace','value':{}}]}}}]");
    CHECK(override_apply(a, pod, policies, m1, &r, &st) < 0);
    CHECK_STR(st.message.p,
              "replace operation does not apply: doc is missing key: /spec: missing value");
}
