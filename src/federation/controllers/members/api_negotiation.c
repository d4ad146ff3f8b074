/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What all clusters of an instance can agree upon of a type.  The imports of a type become one
 * NegotiatedAPIResource, and that a CRD; each import is told whether it is Compatible with it, and
 * whether the type is Available.  A cluster whose schema does not fit is left out, with the reason.
 *
 * While a type is served its schema is what new imports are held against; one may narrow it only
 * with the strategy UpdatePublished.  Within that the schema is the most that all compatible ones
 * have in common, so it widens by itself when one goes or is upgraded.  When none fits any more it
 * begins anew.  The result does not depend on the order of events, only on the age of imports.
 *
 * A CRD that we did not make rules (Enforced).  A type that the instance has by itself needs no
 * negotiation.  When its last import goes the type goes, unless objects of it are left: a person's
 * objects are not deleted because a cluster has left.
 *
 * kcp: pkg/reconciler/apiresource
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/members/api_publish.h"
#include "object/meta/compat.h"
#include "object/meta/condition.h"

enum { IMPORTS_MAX = 1000, LEFT_MS = 5000, MESSAGE_MAX = 1000 };

struct vote { /* of an import */
    const struct json *import;
    bool compatible;
    str why; /* not */
};

struct talk {
    struct client *client;
    struct arena *arena;
    str instance, name;
    struct api_type type;
    struct vote *votes; /* oldest first */
    size_t n;
    const struct json *negotiated, *crd; /* or NULL */
    const struct json *agreed;           /* the spec that all of them have in common */
    bool enforced;                       /* the CRD is somebody else's */
};

/* ---- imports ---- */

static void on_found(void *arg, const struct json *import)
{
    struct talk *t = arg;
    struct api_type type = api_type_of(json_get(import, STR("spec")));

    if (api_type_eq(&type, &t->type) && t->n < IMPORTS_MAX)
        t->votes[t->n++].import = json_dup(t->arena, import);
}

static int by_age(const void *a, const void *b)
{
    const struct json *x = ((const struct vote *)a)->import, *y = ((const struct vote *)b)->import;
    int c = str_cmp(json_get_str(x, "metadata.creationTimestamp"),
                    json_get_str(y, "metadata.creationTimestamp"));

    return c ? c : str_cmp(json_get_str(x, "metadata.name"), json_get_str(y, "metadata.name"));
}

static int find_imports(struct talk *t, struct status *st)
{
    t->votes = arena_array(t->arena, struct vote, IMPORTS_MAX);
    if (api_each_import(t->client, t->instance, on_found, t, st) < 0)
        return -1;
    if (t->n)
        qsort(t->votes, t->n, sizeof(*t->votes), by_age);
    return 0;
}

static const struct json *schema_of(const struct json *object)
{
    return json_path(object, "spec.openAPIV3Schema");
}

static bool has_strategy(const struct vote *v, const char *strategy)
{
    return str_is(json_get_str(v->import, "spec.schemaUpdateStrategy"), strategy);
}

/* ---- agreeing ---- */

static const struct json *meet(struct talk *t, struct vote *v, const struct json *schema,
                               bool narrow)
{
    struct compat_report *r = arena_new_of(t->arena, struct compat_report);
    const struct json *out = compat_schema(t->arena, schema, schema_of(v->import), narrow, r);

    v->compatible = out != NULL;
    if (!out)
        v->why = compat_text(t->arena, r, MESSAGE_MAX);
    return out;
}

/* Names are not negotiated, but they must mean the same. */
static bool has_shape(struct talk *t, struct vote *v, const struct json *spec)
{
    static const char *const parts[] = { "kind", "scope" };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        str is = json_get_str(json_get(v->import, STR("spec")), parts[i]);
        str should = json_get_str(spec, parts[i]);

        if (str_eq(is, should))
            continue;
        v->compatible = false;
        v->why = str_printf(t->arena, "%s is \"%.*s\" and should be \"%.*s\"", parts[i],
                            STR_ARG(is), STR_ARG(should));
        return false;
    }
    return true;
}

/* The common part of an import's spec, with that schema. */
static const struct json *common(struct talk *t, const struct json *spec, const struct json *schema)
{
    spec = json_set(t->arena, spec, "location", NULL);
    spec = json_set(t->arena, spec, "schemaUpdateStrategy", NULL);
    return json_set(t->arena, spec, "openAPIV3Schema", schema);
}

static bool has_part(const struct json *spec, const struct json *part)
{
    json_for_each (p, json_get(spec, STR("subResources")))
        if (str_eq(json_get_str(p, "name"), json_get_str(part, "name")))
            return true;
    return false;
}

/* Subresources that both have. */
static const struct json *parts_of_both(struct talk *t, const struct json *spec,
                                        const struct json *other)
{
    struct json_array both = json_array_new(t->arena);

    json_for_each (p, json_get(spec, STR("subResources")))
        if (has_part(other, p))
            json_push(&both, *p);
    return json_set(t->arena, spec, "subResources", both.n ? json_array_done(&both) : NULL);
}

static void join(struct talk *t, struct vote *v, bool narrow)
{
    const struct json *spec = json_get(v->import, STR("spec")), *schema;

    if (!t->agreed) {
        v->compatible = true;
        t->agreed = common(t, spec, schema_of(v->import));
        return;
    }
    if (!has_shape(t, v, t->agreed))
        return;
    schema = meet(t, v, json_get(t->agreed, STR("openAPIV3Schema")), narrow);
    if (schema)
        t->agreed = common(t, parts_of_both(t, t->agreed, spec), schema);
}

/* Those that fit what is served, and those that may narrow it. */
static void agree_with_served(struct talk *t)
{
    const struct json *spec = json_get(t->negotiated, STR("spec"));

    for (size_t i = 0; i < t->n; i++) {
        struct vote *v = &t->votes[i];

        if (has_shape(t, v, spec))
            (void)meet(t, v, json_get(spec, STR("openAPIV3Schema")), false);
        if (v->compatible || has_strategy(v, "UpdatePublished"))
            join(t, v, true);
    }
}

static void agree(struct talk *t)
{
    const struct json *all = json_path(t->negotiated, "status.conditions");

    if (t->crd && condition_holds(all, "Published") && !condition_holds(all, "Enforced"))
        agree_with_served(t);
    if (t->agreed)
        return;
    for (size_t i = 0; i < t->n; i++)
        join(t, &t->votes[i], !has_strategy(&t->votes[i], "UpdateNever"));
}

static void obey(struct talk *t)
{
    t->enforced = true;
    t->agreed = api_publish_spec(t->arena, t->crd, t->type.version);
    for (size_t i = 0; i < t->n; i++)
        if (has_shape(t, &t->votes[i], t->agreed))
            (void)meet(t, &t->votes[i], json_get(t->agreed, STR("openAPIV3Schema")), false);
}

/* ---- writing ---- */

static int write_negotiated(struct talk *t, struct status *st)
{
    struct client_ref ref = api_negotiated_ref(t->instance, t->name);
    const struct json *publish = json_path(t->negotiated, "spec.publish"), *now;
    struct json_object o = json_object_new(t->arena);

    if (t->enforced || !t->negotiated)
        publish = &json_true;
    t->agreed = json_set(t->arena, t->agreed, "publish", publish);
    if (t->negotiated) {
        now = json_set(t->arena, t->negotiated, "spec", t->agreed);
        return json_equal(now, t->negotiated)
                   ? 0
                   : client_update(t->client, t->arena, &ref, now, &t->negotiated, st);
    }
    json_add(&o, STR("apiVersion"), json_of_str(STR("apiresource.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("NegotiatedAPIResource")));
    now = json_object_done(&o);
    now = json_set(t->arena, now, "metadata.name", json_box(t->arena, json_of_str(t->name)));
    now = json_set(t->arena, now, "spec", t->agreed);
    ref.name = STR_NONE;
    return client_create(t->client, t->arena, &ref, now, &t->negotiated, st);
}

/* The conditions, if they are others than before. */
static int write_conditions(struct talk *t, struct client_ref ref, const struct json *object,
                            const struct condition *conditions, size_t n, struct status *st)
{
    const struct json *was = json_path(object, "status.conditions"), *now = was;

    for (size_t i = 0; i < n; i++)
        now = condition_set(t->arena, now, &conditions[i], clock_wall_s(clock_real()));
    if (now == was)
        return 0;
    ref.subresource = STR("status");
    return client_patch(t->client, t->arena, &ref, CLIENT_PATCH_MERGE,
                        json_set(t->arena, &json_empty_object, "status.conditions", now), NULL, st);
}

static struct condition when(const char *type, bool yes, const char *reason, str message)
{
    return (struct condition){ .type = type,
                               .status = yes ? "True" : "False",
                               .reason = yes ? NULL : reason,
                               .message = yes ? STR_NONE : message };
}

static int tell_imports(struct talk *t, bool available, struct status *st)
{
    for (size_t i = 0; i < t->n; i++) {
        const struct vote *v = &t->votes[i];
        const struct condition all[] = {
            when("Compatible", v->compatible, "IncompatibleSchema", v->why),
            when("Available", available, "NotPublished", STR("the type is not served")),
        };
        struct client_ref ref =
            api_import_ref(t->instance, json_get_str(v->import, "metadata.name"));

        if (write_conditions(t, ref, v->import, all, 2, st) < 0 && !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

/* What cannot be published is said, and not tried again before something changes. */
static int publish(struct talk *t, struct status *st)
{
    bool wanted = json_bool(json_path(t->negotiated, "spec.publish")), published;
    bool submitted = t->enforced;
    struct condition all[3];
    str trouble = STR_NONE;

    if (wanted && !t->enforced) {
        submitted = api_publish(t->client, t->arena, t->instance, t->negotiated, &t->crd, st) == 0;
        if (!submitted && !status_is(st, REASON_INVALID))
            return -1;
        trouble = submitted ? STR_NONE : str_dup(t->arena, st->message);
        status_reset(st);
    }
    published = api_publish_is_served(t->crd);
    all[0] = when("Submitted", submitted, trouble.n ? "CRDRefused" : "NotWanted", trouble);
    all[1] = when("Published", published, "NotServed", trouble);
    all[2] = when("Enforced", t->enforced, NULL, STR_NONE);
    if (write_conditions(t, api_negotiated_ref(t->instance, t->name), t->negotiated, all, 3, st) <
        0)
        return -1;
    return tell_imports(t, published, st);
}

/* ---- the end of a type ---- */

static int has_objects(struct talk *t, bool *out, struct status *st)
{
    struct client_ref ref = { .instance = t->instance,
                              .group = t->type.group,
                              .version = t->type.version,
                              .resource = t->type.plural };
    struct client_query q = { .limit = 1 };
    const struct json *list;

    *out = false;
    if (!t->crd || !api_publish_is_ours(t->crd) || !api_publish_is_served(t->crd))
        return 0;
    if (client_list(t->client, t->arena, &ref, &q, &list, st) < 0) /* 404: not served, yet */
        return -1;
    *out = json_len(json_get(list, STR("items"))) > 0;
    return 0;
}

static int withdraw(struct talk *t, struct status *st)
{
    struct client_ref ref = api_negotiated_ref(t->instance, t->name);
    bool used;

    if (!t->negotiated)
        return 0;
    if (has_objects(t, &used, st) < 0)
        return -1;
    if (used)
        return LEFT_MS;
    if (t->crd && api_publish_is_ours(t->crd) &&
        api_publish_withdraw(t->client, t->arena, t->instance, t->crd, t->type.version, st) < 0)
        return -1;
    if (client_delete(t->client, t->arena, &ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

/* ---- the controller ---- */

static int settle_native(struct talk *t, struct status *st)
{
    for (size_t i = 0; i < t->n; i++)
        t->votes[i].compatible = true;
    return tell_imports(t, true, st);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct talk t = { .client = client, .arena = a, .instance = api_instance(k), .name = k->name };
    struct client_ref negotiated = api_negotiated_ref(t.instance, t.name), crd;
    bool native;

    (void)arg;
    if (!api_type_parse(t.name, &t.type))
        return 0;
    crd = api_crd_ref(t.instance, api_type_crd_name(a, &t.type));
    if (find_imports(&t, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st); /* this profile has no imports */
        return 0;
    }
    if (api_type_is_native(client, a, t.instance, &t.type, &native, st) < 0)
        return -1;
    if (native)
        return settle_native(&t, st);
    if (api_look(client, a, &negotiated, &t.negotiated, st) < 0 ||
        api_look(client, a, &crd, &t.crd, st) < 0)
        return -1;
    if (t.negotiated && is_deleting(t.negotiated))
        return 0;
    if (t.crd && !api_publish_is_ours(t.crd) && api_publish_spec(a, t.crd, t.type.version))
        obey(&t);
    else if (t.n)
        agree(&t);
    if (!t.n || !t.agreed)
        return withdraw(&t, st);
    return write_negotiated(&t, st) < 0 ? -1 : publish(&t, st);
}

static void on_import(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *import, bool deleted)
{
    scoped_arena a = arena_new();
    struct api_type t = api_type_of(json_get(import, STR("spec")));
    struct informer_key key = { .instance = k->instance };
    str rest = k->name, location;

    (void)arg;
    (void)deleted;
    if (!t.plural.n) { /* not known any more: its name tells */
        if (!str_split(&rest, '.', &t.plural) || !str_split(&rest, '.', &location) ||
            !str_split(&rest, '.', &t.version))
            return;
        t.group = str_is(rest, "core") ? STR_NONE : rest;
    }
    key.name = api_type_name(a, &t);
    controller_wake(c, &key);
}

static void on_crd(void *arg, struct controller *c, const struct informer_key *k,
                   const struct json *crd, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance };

    (void)arg;
    (void)deleted;
    json_for_each (v, json_path(crd, "spec.versions")) {
        struct api_type t = { json_get_str(crd, "spec.names.plural"),
                              json_get_str(crd, "spec.group"), json_get_str(v, "name") };

        key.name = api_type_name(a, &t);
        controller_wake(c, &key);
    }
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apiresource.kcp.dev"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("apiresourceimports") },
      .map = on_import },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apiextensions.k8s.io"),
               .version = STR_INIT("v1"),
               .resource = STR_INIT("customresourcedefinitions") },
      .map = on_crd },
};

const struct controller_spec api_negotiation_controller = {
    .name = "api-negotiation",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apiresource.kcp.dev"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("negotiatedapiresources") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .reconcile = reconcile,
};
