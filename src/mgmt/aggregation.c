/* SPDX-License-Identifier: Apache-2.0 */

/* Service Aggregation: resources and their policies in one call, all or none of them. */

#include "base/banned.h"
#include "mgmt/resource.h"

enum { ITEMS_MAX = 100 };

/* What one of the lists of a request is about, and what the answer calls it.  Overrides come
 * first and resources last, so that nothing is sent out that is not as it should be. */
struct list {
    const char *field;
    const struct resource *what; /* NULL: any, by `gvr` */
};

struct plan {
    struct batch_item items[ITEMS_MAX];
    size_t n;
};

static int parse(struct resource_call *c, const char *field, const struct json *text,
                 const struct json **out, struct status *st)
{
    if (json_parse(c->arena, json_str(text), NULL, out, st) < 0)
        return status_wrap(st, "%s", field);
    if (!json_is(*out, JSON_OBJECT))
        return message_refuse(st, str_of(field), "must be an object as JSON");
    return 0;
}

/* Is `plural` what resources of that kind are called? "NetworkPolicy", "networkpolicies" */
static bool is_plural(str kind, str plural)
{
    size_t stem = kind.n;

    if (kind.n && (kind.p[kind.n - 1] == 'y' || kind.p[kind.n - 1] == 'Y'))
        stem--;
    return stem && plural.n >= stem &&
           str_eq_nocase(str_sub(plural, 0, stem), str_sub(kind, 0, stem));
}

static str version_of(struct arena *a, const struct json *gvr)
{
    str group = json_get_str(gvr, "group"), version = json_get_str(gvr, "version");

    return group.n ? str_printf(a, "%.*s/%.*s", STR_ARG(group), STR_ARG(version)) : version;
}

/* The type of a resource: the one of `gvr` that has its version, and its name if several have. */
static const struct json *type_of(struct resource_call *c, const struct json *obj)
{
    str version = json_get_str(obj, "apiVersion"), kind = json_get_str(obj, "kind");
    const struct json *found = NULL;

    json_for_each (gvr, json_get(c->request, STR("gvr")))
        if (str_eq(version_of(c->arena, gvr), version) &&
            is_plural(kind, json_get_str(gvr, "resource")))
            found = gvr;
    return found;
}

/* Any kind: a resource by what `gvr` says. */
static int describe(struct resource_call *c, const char *field, const struct json *obj,
                    struct resource *out, struct status *st)
{
    const struct json *gvr = type_of(c, obj);

    if (!gvr) {
        status_cause(st, CAUSE_NOT_FOUND, STR("gvr"), STR_NONE,
                     "must have group, version and resource of %s: kind \"%.*s\" of \"%.*s\"",
                     field, STR_ARG(json_get_str(obj, "kind")),
                     STR_ARG(json_get_str(obj, "apiVersion")));
        return status_invalid(st, STR_NONE, json_get_str(obj, "kind"),
                              json_get_str(obj, "metadata.name"));
    }
    *out = (struct resource){ .ref = { .group = json_get_str(gvr, "group"),
                                       .version = json_get_str(gvr, "version"),
                                       .resource = json_get_str(gvr, "resource") },
                              .kind = str_z(c->arena, json_get_str(obj, "kind")),
                              .cluster_scoped = !c->namespace.n };
    return 0;
}

static int add(struct resource_call *c, struct plan *plan, const char *field,
               const struct resource *known, const struct json *text, struct status *st)
{
    struct batch_item *item = &plan->items[plan->n];
    struct resource any;
    const struct json *obj;

    if (plan->n == ITEMS_MAX)
        return message_refuse(st, str_of(field), "at most %d objects in one call", ITEMS_MAX);
    if (parse(c, field, text, &obj, st) < 0 || (!known && describe(c, field, obj, &any, st) < 0))
        return -1;
    if (!known)
        known = &any;
    *item = (struct batch_item){ .ref = resource_ref(c, known, STR_NONE), .field = field };
    if (resource_check(c, known, field, obj, &item->obj, st) < 0)
        return -1;
    plan->n++;
    return 0;
}

static const struct json *texts_of(struct resource_call *c, const char *field)
{
    return json_get(json_get(c->request, STR("data")), str_of(field));
}

static int create(struct resource_call *c, const struct list lists[3], const struct json **response,
                  struct status *st)
{
    struct plan *plan = arena_new_of(c->arena, struct plan);
    struct json_object answer = json_object_new(c->arena);
    size_t at = 0;

    for (size_t l = 0; l < 3; l++) {
        const struct json *texts = texts_of(c, lists[l].field);

        for (size_t i = 0; i < json_len(texts); i++)
            if (add(c, plan, arena_printf(c->arena, "data.%s[%zu]", lists[l].field, i),
                    lists[l].what, json_at(texts, i), st) < 0)
                return -1;
    }
    if (plan->n == 0)
        return message_refuse(st, STR("data"), "has neither resources nor policies");
    if (batch_make(c, plan->items, plan->n, st) < 0)
        return -1;
    for (size_t l = 0; l < 3; l++) {
        struct json_array made = json_array_new(c->arena);

        for (size_t n = json_len(texts_of(c, lists[l].field)); n; n--)
            json_push(&made, json_of_str(json_text(c->arena, plan->items[at++].made)));
        json_add(&answer, str_of(lists[l].field), json_array_value(&made));
    }
    *response = json_object_done(&answer);
    return 0;
}

static int create_namespaced(struct resource_call *c, const struct json **response,
                             struct status *st)
{
    static const struct list lists[] = {
        { "overridepolicies", &resource_override_policies },
        { "popagrationpolicies", &resource_propagation_policies },
        { "resources", NULL },
    };

    return create(c, lists, response, st);
}

static int create_cluster_scoped(struct resource_call *c, const struct json **response,
                                 struct status *st)
{
    static const struct list lists[] = {
        { "clusteroverridepolicies", &resource_cluster_override_policies },
        { "clusterpopagrationpolicies", &resource_cluster_propagation_policies },
        { "resources", NULL },
    };

    return create(c, lists, response, st);
}

#define RPCS(X)                                                         \
    X("CreateAggregationResource", NULL, create_namespaced, IAM_VIEWER) \
    X("CreateClusterAggregationResource", NULL, create_cluster_scoped, IAM_VIEWER)

RESOURCE_SERVICE(aggregation_service, "Aggregation", RPCS)
