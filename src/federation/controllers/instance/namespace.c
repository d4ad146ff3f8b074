/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Empties namespaces that are being deleted, then lets them go.
 *
 * k8s: pkg/controller/namespace/deletion.  Only terminating namespaces are watched, so a fleet of
 * idle instances costs nothing.
 */

#include "base/banned.h"
#include "base/clock.h"
#include "federation/controllers/frame/controller.h"

enum {
    LOOK_AGAIN_MS = 500, /* while finalizers of others hold objects */
    PAGE = 100,          /* objects deleted, or looked at, at once */
};

struct namespace_content { /* what stands in the way */
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    str remaining, finalizers; /* "configmaps. has 2 resource instances" … */
};

static int get_path(struct namespace_content *c, str path, const struct json **out,
                    struct status *st)
{
    str prefix = c->key->instance.n && !str_is(c->key->instance, "root")
                     ? str_printf(c->arena, "/clusters/%.*s", STR_ARG(c->key->instance))
                     : STR_NONE;
    struct client_request req = {
        .method = STR("GET"),
        .path = str_printf(c->arena, "%.*s%.*s", STR_ARG(prefix), STR_ARG(path)),
    };

    return client_do(c->client, c->arena, &req, out, st);
}

static str own_instance(const struct informer_key *k)
{
    return str_is(k->instance, "root") ? STR_NONE : k->instance;
}

static bool has_verb(const struct json *verbs, const char *verb)
{
    json_for_each (v, verbs)
        if (str_is(json_str(v), verb))
            return true;
    return false;
}

static str join(struct arena *a, str list, str item)
{
    return list.n ? str_printf(a, "%.*s, %.*s", STR_ARG(list), STR_ARG(item)) : item;
}

static void note_remaining(struct namespace_content *c, const struct client_ref *ref,
                           const struct json *list)
{
    const struct json *items = json_get(list, STR("items"));
    long long n = (long long)json_len(items);

    if (n == 0)
        return;
    n += json_int(json_path(list, "metadata.remainingItemCount"), 0);
    c->remaining = join(c->arena, c->remaining,
                        str_printf(c->arena, "%.*s.%.*s has %lld resource instances",
                                   STR_ARG(ref->resource), STR_ARG(ref->group), n));
    json_for_each (item, items)
        json_for_each (f, json_path(item, "metadata.finalizers"))
            if (!str_contains(c->finalizers, json_str(f)))
                c->finalizers = join(c->arena, c->finalizers, json_str(f));
}

/* Page by page: each answers with what it deleted. */
static int delete_all(struct namespace_content *c, const struct client_ref *ref, struct status *st)
{
    struct json background = json_of_str(STR("Background"));
    str token = STR_NONE;

    do {
        scoped_arena a = arena_new();
        struct client_query q = { .limit = PAGE, .continue_token = token };
        const struct json *options =
            json_set(a, &json_empty_object, "propagationPolicy", &background);
        struct client_request r = client_request_delete(a, ref, &q, options);
        const struct json *deleted;

        if (client_do(c->client, a, &r, &deleted, st) < 0)
            return -1;
        token = str_dup(c->arena, json_get_str(deleted, "metadata.continue"));
    } while (token.n);
    return 0;
}

static int empty_resource(struct namespace_content *c, str group, str version, str resource,
                          struct status *st)
{
    struct client_ref ref = { .instance = own_instance(c->key),
                              .group = group,
                              .version = version,
                              .resource = resource,
                              .namespace = c->key->name };
    struct client_query q = { .limit = PAGE };
    const struct json *list;

    if (delete_all(c, &ref, st) < 0 || client_list(c->client, c->arena, &ref, &q, &list, st) < 0)
        return -1;
    note_remaining(c, &ref, list);
    return 0;
}

static bool can_be_emptied(const struct json *r)
{
    return json_bool(json_get(r, STR("namespaced"))) &&
           str_find(json_get_str(r, "name"), '/', 0) < 0 &&
           has_verb(json_get(r, STR("verbs")), "deletecollection");
}

static bool has_resource(const struct json *list, str name)
{
    json_for_each (r, json_get(list, STR("resources")))
        if (str_eq(json_get_str(r, "name"), name) && can_be_emptied(r))
            return true;
    return false;
}

/* Adds what this version has and those before it, in `lists`, have not. */
static int empty_version(struct namespace_content *c, str group, str version,
                         const struct json **lists, size_t n, struct status *st)
{
    str path = str_printf(c->arena, "/apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version));

    if (get_path(c, path, &lists[n], st) < 0)
        return -1;
    json_for_each (r, json_get(lists[n], STR("resources"))) {
        str name = json_get_str(r, "name");
        bool done = !can_be_emptied(r);

        for (size_t i = 0; i < n && !done; i++)
            done = has_resource(lists[i], name);
        if (!done && empty_resource(c, group, version, name, st) < 0)
            return -1;
    }
    return 0;
}

/* Not each resource is in the version that is preferred: Works are in v1alpha1 alone. */
static int empty_group(struct namespace_content *c, const struct json *g, struct status *st)
{
    str group = json_get_str(g, "name"), first = json_get_str(g, "preferredVersion.version");
    const struct json *versions = json_get(g, STR("versions"));
    const struct json **lists = arena_array(c->arena, const struct json *, json_len(versions) + 1);
    size_t n = 0;

    if (empty_version(c, group, first, lists, n++, st) < 0)
        return -1;
    json_for_each (v, versions) {
        str version = json_get_str(v, "version");

        if (!str_eq(version, first) && empty_version(c, group, version, lists, n++, st) < 0)
            return -1;
    }
    return 0;
}

/*
 * k8s: what pods may still need, such as the policies of their network, goes when they are gone.
 * An instance may serve no pods.
 */
static int empty_core(struct namespace_content *c, struct status *st)
{
    const struct json *list;

    if (get_path(c, STR("/api/v1"), &list, st) < 0)
        return -1;
    json_for_each (r, json_get(list, STR("resources")))
        if (str_is(json_get_str(r, "name"), "pods") && can_be_emptied(r) &&
            empty_resource(c, STR_NONE, STR("v1"), STR("pods"), st) < 0)
            return -1;
    if (c->remaining.n)
        return 0;
    json_for_each (r, json_get(list, STR("resources")))
        if (can_be_emptied(r) &&
            empty_resource(c, STR_NONE, STR("v1"), json_get_str(r, "name"), st) < 0)
            return -1;
    return 0;
}

static int empty_all(struct namespace_content *c, struct status *st)
{
    const struct json *groups;
    bool pods_remain;

    if (empty_core(c, st) < 0)
        return -1;
    pods_remain = str_starts(c->remaining, STR("pods. "));
    if (pods_remain || get_path(c, STR("/apis"), &groups, st) < 0)
        return pods_remain ? 0 : -1;
    json_for_each (g, json_get(groups, STR("groups")))
        if (empty_group(c, g, st) < 0)
            return -1;
    return 0;
}

/* ---- conditions ---- */

static struct json condition(struct arena *a, const char *type, bool bad, const char *reason,
                             str message)
{
    struct json_object o = json_object_new(a);
    char *now = arena_alloc(a, TIME_TEXT_SIZE);

    json_add(&o, STR("type"), json_of_str(str_of(type)));
    json_add(&o, STR("status"), json_of_str(bad ? STR("True") : STR("False")));
    json_add(&o, STR("reason"), json_of_str(str_of(reason)));
    json_add(&o, STR("message"), json_of_str(message));
    json_add(&o, STR("lastTransitionTime"),
             json_of_str((str){ now, time_format_seconds(now, clock_wall_s(clock_real())) }));
    return json_object_value(&o);
}

static const struct json *conditions(const struct namespace_content *c)
{
    struct json_array r = json_array_new(c->arena);
    str left = str_printf(c->arena, "Some resources are remaining: %.*s", STR_ARG(c->remaining));
    str held = str_printf(c->arena, "Some content in the namespace has finalizers remaining: %.*s",
                          STR_ARG(c->finalizers));

    json_push(&r, condition(c->arena, "NamespaceDeletionDiscoveryFailure", false,
                            "ResourcesDiscovered", STR("All resources successfully discovered")));
    json_push(&r,
              condition(c->arena, "NamespaceDeletionContentFailure", false, "ContentDeleted",
                        STR("All content successfully deleted, may be waiting on finalization")));
    json_push(&r, condition(c->arena, "NamespaceContentRemaining", c->remaining.n > 0,
                            c->remaining.n ? "SomeResourcesRemain" : "ContentRemoved",
                            c->remaining.n ? left : STR("All content successfully removed")));
    json_push(
        &r, condition(c->arena, "NamespaceFinalizersRemaining", c->finalizers.n > 0,
                      c->finalizers.n ? "SomeFinalizersRemain" : "ContentHasNoFinalizers",
                      c->finalizers.n ? held : STR("All content-preserving finalizers finished")));
    return json_array_done(&r);
}

/* Only when something else is to be said: a status that is written again would come back to us. */
static bool says_the_same(const struct json *a, const struct json *b)
{
    if (json_len(a) != json_len(b))
        return false;
    for (size_t i = 0; i < json_len(a); i++)
        if (!str_eq(json_get_str(json_at(a, i), "message"), json_get_str(json_at(b, i), "message")))
            return false;
    return true;
}

static int report(struct namespace_content *c, const struct client_ref *ref, const struct json *ns,
                  struct status *st)
{
    struct client_ref status = *ref;
    const struct json *now = conditions(c);

    if (says_the_same(json_path(ns, "status.conditions"), now))
        return 0;
    status.subresource = STR("status");
    return client_update(c->client, c->arena, &status,
                         json_set(c->arena, ns, "status.conditions", now), NULL, st);
}

static int finalize(struct namespace_content *c, const struct client_ref *ref,
                    const struct json *ns, struct status *st)
{
    struct client_ref sub = *ref;
    struct json_array left = json_array_new(c->arena);

    json_for_each (f, json_path(ns, "spec.finalizers"))
        if (!str_is(json_str(f), "kubernetes"))
            json_push(&left, *f);
    sub.subresource = STR("finalize");
    return client_update(c->client, c->arena, &sub,
                         json_set(c->arena, ns, "spec.finalizers", json_array_done(&left)), NULL,
                         st);
}

static bool is_ours(const struct json *ns)
{
    json_for_each (f, json_path(ns, "spec.finalizers"))
        if (str_is(json_str(f), "kubernetes"))
            return true;
    return false;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = { .instance = own_instance(k),
                              .version = STR("v1"),
                              .resource = STR("namespaces"),
                              .name = k->name };
    struct namespace_content c = { .client = client, .arena = a, .key = k };
    const struct json *ns;
    int rc;

    (void)arg;
    if (client_get(client, a, &ref, &ns, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (!json_path(ns, "metadata.deletionTimestamp") || !is_ours(ns))
        return 0;
    if (empty_all(&c, st) < 0)
        return -1;
    if (c.remaining.n)
        return report(&c, &ref, ns, st) < 0 ? -1 : LOOK_AGAIN_MS;
    rc = finalize(&c, &ref, ns, st);
    return rc < 0 && status_is(st, REASON_NOT_FOUND) ? 0 : rc;
}

const struct controller_spec namespace_controller = {
    .name = "namespace-controller",
    .ref = { .instance = STR_INIT("*"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("namespaces") },
    .field_selector = STR_INIT("status.phase=Terminating"),
    .reconcile = reconcile,
};
