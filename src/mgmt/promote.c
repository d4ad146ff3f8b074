/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Taking over what a member has into the instance: the object, what it needs, and a policy that
 * pins it to where it is, so that nothing there changes.  Read from the member itself, since the
 * index has no values of Secrets.
 */

#include "base/banned.h"
#include "mgmt/resource.h"

enum { NEEDS_MAX = 64 };

struct promotion {
    struct resource_call *call;
    struct client *member;
    struct batch_item items[NEEDS_MAX + 8];
    size_t n;
    struct json_array selectors;
};

/* ---- objects, as if they had never been anywhere ---- */

static const struct json *without(struct arena *a, const struct json *obj, const char *const *paths,
                                  size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (json_path(obj, paths[i]))
            obj = json_set(a, obj, paths[i], NULL);
    return obj;
}

static const struct json *without_notes(struct arena *a, const struct json *obj)
{
    static const char *const of_place[] = { "deployment.kubernetes.io/revision",
                                            "kubectl.kubernetes.io/last-applied-configuration" };
    struct json_object notes = json_object_from(a, json_path(obj, "metadata.annotations"));

    for (size_t i = 0; i < sizeof(of_place) / sizeof(*of_place); i++)
        json_remove(&notes, str_of(of_place[i]));
    return json_set(a, obj, "metadata.annotations", notes.n ? json_object_done(&notes) : NULL);
}

const struct json *resource_cleaned(struct arena *a, const struct json *obj)
{
    static const char *const of_place[] = {
        "status",
        "metadata.uid",
        "metadata.resourceVersion",
        "metadata.creationTimestamp",
        "metadata.generation",
        "metadata.managedFields",
        "metadata.ownerReferences",
        "metadata.selfLink",
        "metadata.finalizers",
    };

    obj = without(a, obj, of_place, sizeof(of_place) / sizeof(*of_place));
    return without_notes(a, obj);
}

/* Addresses are each cluster's own. */
static const struct json *cleaned_service(struct arena *a, const struct json *obj)
{
    static const char *const of_place[] = { "spec.clusterIP", "spec.clusterIPs",
                                            "spec.healthCheckNodePort" };
    struct json_array ports = json_array_new(a);

    json_for_each (port, json_path(obj, "spec.ports")) {
        struct json_object o = json_object_from(a, port);

        json_remove(&o, STR("nodePort"));
        json_push(&ports, json_object_value(&o));
    }
    if (!str_is(json_get_str(obj, "spec.clusterIP"), "None"))
        obj = without(a, obj, of_place, sizeof(of_place) / sizeof(*of_place));
    return json_set(a, resource_cleaned(a, obj), "spec.ports", json_array_done(&ports));
}

/* ---- reading ---- */

static int read_member(struct promotion *m, const struct resource *what, str name,
                       const struct json **out, struct status *st)
{
    struct client_ref ref = resource_ref(m->call, what, name);

    ref.instance = STR_NONE;
    if (client_get(m->member, m->call->arena, &ref, out, st) < 0)
        return status_wrap(st, "cluster \"%.*s\"",
                           STR_ARG(json_get_str(m->call->request, "cluster")));
    return 0;
}

static struct batch_item *add(struct promotion *m, const struct resource *what,
                              const struct json *obj)
{
    struct batch_item *item = &m->items[m->n++];
    str name = json_get_str(obj, "metadata.name");

    *item = (struct batch_item){ .ref = resource_ref(m->call, what, STR_NONE),
                                 .obj = obj,
                                 .field = arena_printf(m->call->arena, "%s \"%.*s\"", what->kind,
                                                       STR_ARG(name)) };
    return item;
}

static void add_namespace(struct promotion *m)
{
    struct json name = json_of_str(m->call->namespace);

    add(m, &resource_namespaces,
        json_set(m->call->arena, &json_empty_object, "metadata.name",
                 json_box(m->call->arena, name)))
        ->existing = true;
}

static int add_service(struct promotion *m, str name, struct status *st)
{
    const struct json *obj;

    if (read_member(m, &resource_services, name, &obj, st) < 0)
        return -1;
    json_push(&m->selectors, policy_selector(m->call->arena, &resource_services, name));
    (void)add(m, &resource_services, cleaned_service(m->call->arena, obj));
    return 0;
}

/* ---- what a pod needs ---- */

static bool is_planned(const struct promotion *m, const struct resource *what, str name)
{
    for (size_t i = 0; i < m->n; i++)
        if (str_eq(m->items[i].ref.resource, what->ref.resource) &&
            str_eq(json_get_str(m->items[i].obj, "metadata.name"), name))
            return true;
    return false;
}

/* The instance may have it from another workload; if it is not the same, nobody can say which one
 * is meant. */
static int is_there(struct promotion *m, const struct resource *what, const struct json *obj,
                    bool *there, struct status *st)
{
    struct client_ref ref = resource_ref(m->call, what, json_get_str(obj, "metadata.name"));
    struct client_request req = client_request_get(m->call->arena, &ref);
    const struct json *now;

    *there = false;
    if (mgmt_do(m->call->p, m->call->ctx, &req, &now, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    *there = true;
    if (json_equal(json_get(now, STR("data")), json_get(obj, STR("data"))) &&
        json_equal(json_get(now, STR("binaryData")), json_get(obj, STR("binaryData"))))
        return 0;
    return status_conflict(st, ref.group, ref.resource, ref.name,
                           "the instance has another one of that name; make them equal first");
}

static int add_need(struct promotion *m, const struct resource *what, str name, bool optional,
                    struct status *st)
{
    const struct json *obj;
    bool there;

    if (!name.n || is_planned(m, what, name))
        return 0;
    if (m->n >= NEEDS_MAX)
        return status_set(st, REASON_BAD_REQUEST, "the workload needs more than %d objects",
                          NEEDS_MAX);
    if (read_member(m, what, name, &obj, st) < 0) {
        if (!optional || !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    if (is_there(m, what, obj, &there, st) < 0)
        return -1;
    if (!there)
        (void)add(m, what, resource_cleaned(m->call->arena, obj));
    return 0;
}

/* Where a volume, a variable or a source of variables names something. */
static const struct {
    const char *path, *name;
    const struct resource *what;
} places[] = {
    { "configMap", "configMap.name", &resource_configmaps },
    { "secret", "secret.secretName", &resource_secrets },
    { "secret", "secret.name", &resource_secrets }, /* of a projected volume */
    { "configMapRef", "configMapRef.name", &resource_configmaps },
    { "secretRef", "secretRef.name", &resource_secrets },
    { "valueFrom.configMapKeyRef", "valueFrom.configMapKeyRef.name", &resource_configmaps },
    { "valueFrom.secretKeyRef", "valueFrom.secretKeyRef.name", &resource_secrets },
};

static int add_named(struct promotion *m, const struct json *list, struct status *st)
{
    json_for_each (item, list)
        for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
            const struct json *ref = json_path(item, places[i].path);

            if (add_need(m, places[i].what, json_get_str(item, places[i].name),
                         json_bool(json_get(ref, STR("optional"))), st) < 0)
                return -1;
        }
    return 0;
}

static int add_pod_needs(struct promotion *m, const struct json *pod, struct status *st)
{
    static const char *const lists[] = { "containers", "initContainers" };

    if (add_named(m, json_get(pod, STR("volumes")), st) < 0)
        return -1;
    json_for_each (v, json_get(pod, STR("volumes")))
        if (add_named(m, json_path(v, "projected.sources"), st) < 0)
            return -1;
    for (size_t i = 0; i < 2; i++)
        json_for_each (container, json_path(pod, lists[i]))
            if (add_named(m, json_get(container, STR("env")), st) < 0 ||
                add_named(m, json_get(container, STR("envFrom")), st) < 0)
                return -1;
    json_for_each (s, json_get(pod, STR("imagePullSecrets")))
        if (add_need(m, &resource_secrets, json_get_str(s, "name"), true, st) < 0)
            return -1;
    return 0;
}

/* ---- all of it ---- */

static void add_policy(struct promotion *m, str name)
{
    struct arena *a = m->call->arena;
    struct json_array names = json_array_new(a);
    const struct json *placement;

    json_push(&names, *json_get(m->call->request, STR("cluster")));
    placement =
        json_set(a, &json_empty_object, "clusterAffinity.clusterNames", json_array_done(&names));
    (void)add(m, &resource_propagation_policies,
              policy_for(m->call, name, json_array_done(&m->selectors), placement, true));
}

/* What runs in a member comes under the instance's power: a door of entry (docs/security.md). */
static int check_source(struct resource_call *c, struct status *st)
{
    const struct json *entry;

    if (resource_at_member(c, st) < 0 ||
        mgmt_registered(c->p, c->ctx, c->instance, json_get_str(c->request, "cluster"), &entry,
                        st) < 0)
        return -1;
    return mgmt_require_cluster(c->p, c->ctx, c->cluster, entry, st);
}

static int promote(struct resource_call *c, int (*plan)(struct promotion *m, struct status *st),
                   struct status *st)
{
    struct promotion *m = arena_new_of(c->arena, struct promotion);
    struct member *member;
    int rc;

    if (check_source(c, st) < 0 ||
        fleet_member(c->p->fleet, c->arena,
                     &(struct member_name){ .instance = c->instance,
                                            .cluster = json_get_str(c->request, "cluster") },
                     &member, st) < 0)
        return -1;
    m->call = c;
    m->member = member_client(member);
    m->selectors = json_array_new(c->arena);
    add_namespace(m);
    rc = plan(m, st);
    member_unref(member);
    return rc < 0 ? -1 : batch_make(c, m->items, m->n, st);
}

static int plan_deployment(struct promotion *m, struct status *st)
{
    struct resource_call *c = m->call;
    const struct json *obj, *services = json_get(c->request, STR("services"));

    if (json_len(services) > NEEDS_MAX / 2)
        return message_refuse(st, STR("services"), "at most %d", NEEDS_MAX / 2);
    if (read_member(m, c->what, c->name, &obj, st) < 0 ||
        add_pod_needs(m, json_path(obj, "spec.template.spec"), st) < 0)
        return -1;
    json_push(&m->selectors, policy_selector(c->arena, c->what, c->name));
    json_for_each (service, services)
        if (add_service(m, json_str(service), st) < 0)
            return -1;
    add_policy(m, str_printf(c->arena, "%.*s-pp", STR_ARG(c->name)));
    (void)add(m, c->what, resource_cleaned(c->arena, obj));
    return 0;
}

int promote_deployment(struct resource_call *c, const struct json **response, struct status *st)
{
    (void)response;
    return promote(c, plan_deployment, st);
}

static int plan_service(struct promotion *m, struct status *st)
{
    if (add_service(m, m->call->name, st) < 0)
        return -1;
    add_policy(m, str_printf(m->call->arena, "service-%.*s", STR_ARG(m->call->name)));
    return 0;
}

int promote_service(struct resource_call *c, const struct json **response, struct status *st)
{
    (void)response;
    return promote(c, plan_service, st);
}

/* With the certificates that it names. */
static int plan_ingress(struct promotion *m, struct status *st)
{
    struct resource_call *c = m->call;
    const struct json *obj;

    if (read_member(m, c->what, c->name, &obj, st) < 0)
        return -1;
    json_push(&m->selectors, policy_selector(c->arena, c->what, c->name));
    json_for_each (tls, json_path(obj, "spec.tls"))
        if (add_need(m, &resource_secrets, json_get_str(tls, "secretName"), true, st) < 0)
            return -1;
    add_policy(m, str_printf(c->arena, "ingress-%.*s", STR_ARG(c->name)));
    (void)add(m, c->what, resource_cleaned(c->arena, obj));
    return 0;
}

int promote_ingress(struct resource_call *c, const struct json **response, struct status *st)
{
    (void)response;
    return promote(c, plan_ingress, st);
}
