/* SPDX-License-Identifier: Apache-2.0 */

/* Services over objects of instances: who may, and what answers look like. */

#include "facts.h"
#include "mgmt_rig.h"
#include "tap.h"

#define IN       "\"namespace\":\"default\","
#define AT(name) "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"" name "\"}"

#define DEPLOYMENT                                                                               \
    "{\"metadata\":{\"name\":\"web\"},\"spec\":{\"selector\":{\"matchLabels\":{\"a\":\"b\"}},"   \
    "\"template\":{\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":" \
    "\"c\",\"image\":\"nginx\"}]}}}}"
#define POLICY                                                                                     \
    "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"resourceSelectors\":[{\"apiVersion\":\"apps/v1\"," \
    "\"kind\":\"Deployment\"}],\"placement\":{}}}"

static void create(struct bed *b, const char *method, const char *object)
{
    (void)bed_ok(b, &bed_admin, method, bed_data(b, IN, object));
}

/* ---- who may ---- */

/* The least that each RPC of these services must be asked with. */
static const char full[] =
    "{\"instance\":\"demo\",\"namespace\":\"default\",\"name\":\"x\",\"cluster\":\"m1\","
    "\"kindName\":\"x\",\"cronjob\":\"x\",\"group\":\"example.com\",\"version\":\"v1\","
    "\"resource\":\"xs\",\"data\":%s}";

static bool takes_text(const struct rpc_message *m)
{
    const struct rpc_field *f = message_field(m, STR("data"));

    return f && f->type == RPC_STRING && !(f->flags & RPC_MAP);
}

static bool reads(str method)
{
    return str_starts(method, STR("Get")) || str_starts(method, STR("List"));
}

/* Every RPC, as Jane. */
static void each_as_jane(struct bed *b, void (*check)(str method, const struct status *st))
{
    static const char *const services[] = { "Apps",  "Core",       "Policy",      "Aggregation",
                                            "Batch", "Networking", "Autoscaling", "Apiextensions" };
    size_t n;
    const struct rpc_implementation *all = mgmt_implementations(b->mgmt, &n);

    for (size_t i = 0; i < n; i++)
        for (size_t s = 0; s < sizeof(services) / sizeof(*services); s++)
            for (size_t h = 0;
                 str_ends(str_of(all[i].service), str_printf(b->rig.arena, ".%s", services[s])) &&
                 h < all[i].nhandlers;
                 h++) {
                const char *name =
                    arena_printf(b->rig.arena, "%s/%s", services[s], all[i].handlers[h].method);
                const struct rpc_method *m =
                    bed_method(str_printf(b->rig.arena, "kairship.io.api.v1alpha1.%s", name));

                if (bed_call(b, &bed_jane, name,
                             arena_printf(b->rig.arena, full,
                                          takes_text(m->input)
                                              ? "\"{\\\"metadata\\\":{\\\"name\\\":"
                                                "\\\"x\\\"}}\""
                                              : "{}")))
                    status_reset(&b->rig.st);
                check(str_of(all[i].handlers[h].method), &b->rig.st);
            }
}

static void is_forbidden(str method, const struct status *st)
{
    if (!CHECK(status_is(st, REASON_FORBIDDEN)))
        printf("# %.*s: %.*s\n", STR_ARG(method), STR_ARG(st->message));
}

/* What is not there is looked for, and a read never fails for lack of rights. */
static void may_only_read(str method, const struct status *st)
{
    bool ok = reads(method) && !str_contains(method, STR("Secret"))
                  ? st->reason == REASON_OK || st->reason == REASON_NOT_FOUND
                  : st->reason == REASON_FORBIDDEN || st->reason == REASON_NOT_FOUND ||
                        st->reason == REASON_INVALID || st->reason == REASON_BAD_REQUEST;

    if (!CHECK(ok))
        printf("# %.*s: %.*s\n", STR_ARG(method), STR_ARG(st->message));
}

static void create_as(struct bed *b, const struct identity *who, const char *method,
                      enum reason want)
{
    bool ok = bed_call(b, who, method, bed_data(b, IN, "{\"metadata\":{\"name\":\"by-jane\"}}"));

    CHECK(want == REASON_OK ? ok : !ok && status_is(&b->rig.st, want));
}

TEST(roles_say_who_may)
{
    struct bed b;

    bed_open(&b);
    each_as_jane(&b, is_forbidden);
    bed_refused(&b, &bed_jane, "Apps/ListInstanceDeployments", "{\"instance\":\"none\"}",
                REASON_FORBIDDEN);
    bed_refused(&b, &bed_admin, "Apps/ListInstanceDeployments", "{\"instance\":\"none\"}",
                REASON_NOT_FOUND);
    bed_role(&b, "Viewer");
    each_as_jane(&b, may_only_read);
    create_as(&b, &bed_jane, "Core/CreateConfigMap", REASON_FORBIDDEN);
    bed_refused(&b, &bed_jane, "Core/ListSecrets", AT(""), REASON_FORBIDDEN);
    bed_role(&b, "Editor");
    create_as(&b, &bed_jane, "Core/CreateConfigMap", REASON_OK);
    create_as(&b, &bed_jane, "Core/CreateSecret", REASON_OK);
    create_as(&b, &bed_jane, "Core/CreateNamespace", REASON_FORBIDDEN);
    (void)bed_ok(&b, &bed_jane, "Core/ListSecrets", AT(""));
    bed_close(&b);
}

#define REGISTRY "/apis/fleet.kairship.io/v1alpha1/clusters"

static enum reason joins(struct bed *b, const struct identity *who, const char *cluster)
{
    (void)bed_call(b, who, "Cluster/JoinCluster",
                   arena_printf(b->rig.arena, "{\"instance\":\"demo\",\"name\":\"%s\"}", cluster));
    return b->rig.st.reason;
}

/*
 * A confused deputy: an Admin of an instance of his own names a cluster that is not his, and the
 * server would join it with its own credentials.
 */
TEST(who_joins_a_cluster_by_name_is_its_admin)
{
    static const char work[] = "/apis/iam.kairship.io/v1alpha1/workspaces/team";
    struct bed b;
    enum reason is = REASON_FORBIDDEN;

    bed_open(&b);
    bed_post(&b, REGISTRY,
             "{\"metadata\":{\"name\":\"foreign\"},\"spec\":{\"type\":\"Member\","
             "\"apiEndpoint\":\"https://127.0.0.1:1\"}}");
    bed_role(&b, "Admin");
    CHECK(joins(&b, &bed_jane, "foreign") == REASON_FORBIDDEN);
    CHECK(str_contains(b.rig.st.message, STR("is not Admin of the cluster")));
    CHECK(joins(&b, &bed_jane, "nowhere") == REASON_FORBIDDEN); /* she cannot tell them apart */
    CHECK(joins(&b, &bed_admin, "nowhere") == REASON_NOT_FOUND);
    CHECK(joins(&b, &bed_admin, "foreign") != REASON_FORBIDDEN);
    /* An Admin of an instance that it has joined may hand it on. */
    CHECK(ask_api(&b.rig, "PATCH", REGISTRY "/foreign/status",
                  "{\"status\":{\"instances\":[\"demo\"]}}", NULL) == 200);
    CHECK(joins(&b, &bed_jane, "foreign") != REASON_FORBIDDEN);
    CHECK(ask_api(&b.rig, "PATCH", REGISTRY "/foreign/status", "{\"status\":{\"instances\":[]}}",
                  NULL) == 200);
    CHECK(joins(&b, &bed_jane, "foreign") == REASON_FORBIDDEN);
    /* And so may an Admin of the cluster itself. */
    CHECK(ask_api(&b.rig, "PATCH", work,
                  "{\"spec\":{\"resources\":[{\"resourceType\":\"Kairship\",\"resourceName\":"
                  "\"demo\"},{\"resourceType\":\"Cluster\",\"resourceName\":\"foreign\"}]}}",
                  NULL) == 200);
    for (int i = 0; i < 2000 && is == REASON_FORBIDDEN; i++) {
        is = joins(&b, &bed_jane, "foreign");
        (void)usleep(1000);
    }
    CHECK(is != REASON_FORBIDDEN);
    bed_role(&b, "Viewer");
    CHECK(joins(&b, &bed_jane, "foreign") == REASON_FORBIDDEN);
    bed_close(&b);
}

/* A reader of the whole reference: every member of an answer is declared there, with its type. */

struct reference {
    const struct json *doc;
    struct arena *arena;
};

static void declared(const struct reference *r, const struct json *schema, const struct json *v,
                     const char *at);

static void declared_object(const struct reference *r, const struct json *schema,
                            const struct json *v, const char *at)
{
    const struct json *properties = json_get(schema, STR("properties"));
    const struct json *any = json_get(schema, STR("additionalProperties"));

    json_for_each_member (m, v) {
        const struct json *p = json_get(properties, m->name);
        const char *below = arena_printf(r->arena, "%s.%.*s", at, STR_ARG(m->name));

        if (!CHECK(p || any))
            printf("# %s is not in the reference\n", below);
        else
            declared(r, p ? p : any, &m->value, below);
    }
}

static void declared(const struct reference *r, const struct json *schema, const struct json *v,
                     const char *at)
{
    str ref = json_str(json_get(schema, STR("$ref"))), type;

    if (ref.n)
        schema = json_get(json_get(r->doc, STR("definitions")),
                          str_from(ref, sizeof("#/definitions/") - 1));
    type = json_get_str(schema, "type");
    if (v->type == JSON_NULL)
        return;
    if (json_is(v, JSON_OBJECT)) {
        if (CHECK(str_is(type, "object")))
            declared_object(r, schema, v, at);
    } else if (json_is(v, JSON_ARRAY)) {
        CHECK(str_is(type, "array"));
        json_for_each (item, v)
            declared(r, json_get(schema, STR("items")), item, at);
    } else if (!CHECK(str_is(type, json_is(v, JSON_STRING)  ? "string"
                                   : json_is(v, JSON_BOOL)  ? "boolean"
                                   : str_is(type, "number") ? "number"
                                                            : "integer")))
        printf("# %s is %.*s in the reference\n", at, STR_ARG(type));
}

static const struct json *schema_of(const struct reference *r, str operation)
{
    json_for_each_member (p, json_get(r->doc, STR("paths")))
        json_for_each_member (verb, &p->value)
            if (str_eq(json_get_str(&verb->value, "operationId"), operation))
                return json_get(json_get(json_get(&verb->value, STR("responses")), STR("200")),
                                STR("schema"));
    return NULL;
}

TEST(answers_are_as_the_reference_says)
{
    static const char *const calls[][2] = {
        { "Apps/GetDeployment", AT("web") },
        { "Apps/GetDeploymentJSON", AT("web") },
        { "Apps/ListDeployments", AT("") },
        { "Apps/PauseDeployment", AT("web") },
        { "Policy/ListPropagationPolicies", AT("") },
        { "Policy/GetPropagationPolicy", AT("p") },
        { "Core/ListNamespaceSummary", AT("") },
        { "Core/GetNamespace", "{\"instance\":\"demo\",\"name\":\"n\"}" },
        { "Core/GetConfigMap", AT("c") },
        { "Core/GetSecret", AT("c") },
        { "Core/GetService", AT("c") },
        { "Core/ListInstanceServices", AT("") },
        { "Core/ListInstanceEvents", AT("") },
    };
    scoped_arena a = arena_new();
    struct reference r = { facts_read(a, "reference/kairship-api-v0.23.0.json"), a };
    struct bed b;

    REQUIRE(r.doc);
    bed_open(&b);
    create(&b, "Apps/CreateDeployment", DEPLOYMENT);
    create(&b, "Policy/CreatePropagationPolicy", POLICY);
    create(&b, "Core/CreateConfigMap", "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"b\"}}");
    create(&b, "Core/CreateSecret", "{\"metadata\":{\"name\":\"c\"}}");
    create(&b, "Core/CreateService",
           "{\"metadata\":{\"name\":\"c\"},\"spec\":{\"ports\":[{\"port\":80}]}}");
    (void)bed_ok(&b, &bed_admin, "Core/CreateNamespace",
                 bed_data(&b, "", "{\"metadata\":{\"name\":\"n\"}}"));
    for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
        const struct json *v = bed_ok(&b, &bed_admin, calls[i][0], calls[i][1]);
        char *operation = arena_printf(a, "%s", calls[i][0]);

        *strchr(operation, '/') = '_';
        if (v && CHECK(schema_of(&r, str_of(operation))))
            declared(&r, schema_of(&r, str_of(operation)), v, operation);
    }
    bed_close(&b);
}
