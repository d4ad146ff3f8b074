/* SPDX-License-Identifier: Apache-2.0 */

/*
 * When Global Management binds an instance, or gives or takes roles in a workspace, the instance's
 * members hear of it: the people of the workspace get the same rights there, so that what they may
 * do in the instance they may do in its members, through its proxy.
 *
 * The rights in the instance itself need nothing of this: the API server asks Global Management's
 * permissions on every request (apiserver/auth/people.h).  In a member they are
 * ClusterRoleBindings, and these come there as everything does: as a Work for each member, which
 * goes when the member leaves.
 */

#include "federation/controllers/platform/ghippo_webhook.h"

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"

enum { ROLES = 3 };

/* A role, and the ClusterRole that every Kubernetes has for it. */
static const struct {
    const char *role, *cluster_role;
} roles[ROLES] = {
    { "Admin", "cluster-admin" },
    { "Editor", "edit" },
    { "Viewer", "view" },
};

/* Not one that had the name before. */
static bool binds(const struct json *workspace, const struct json *instance)
{
    json_for_each (r, json_path(workspace, "spec.resources"))
        if (str_is(json_get_str(r, "resourceType"), "Kairship") &&
            str_eq(json_get_str(r, "resourceName"), json_get_str(instance, "metadata.name")) &&
            str_eq(json_get_str(r, "uid"), json_get_str(instance, "metadata.uid")))
            return true;
    return false;
}

/* ---- what is wanted ---- */

static struct json subject(struct arena *a, const struct json *member)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("apiGroup"), json_of_str(STR("rbac.authorization.k8s.io")));
    json_add(&o, STR("kind"), *json_get(member, STR("kind")));
    json_add(&o, STR("name"), *json_get(member, STR("name")));
    return json_object_value(&o);
}

/* The subjects of one role, over all workspaces that have the instance: at most one has. */
static struct json subjects(struct arena *a, const struct json *workspaces,
                            const struct json *instance, const char *role)
{
    struct json_array list = json_array_new(a);

    json_for_each (w, workspaces) {
        if (!binds(w, instance))
            continue;
        json_for_each (m, json_path(w, "spec.members"))
            if (str_is(json_get_str(m, "role"), role))
                json_push(&list, subject(a, m));
    }
    return json_array_value(&list);
}

static const struct json *binding(struct arena *a, str instance, size_t role,
                                  const struct json *subjects)
{
    str name = str_printf(a, "kairship:%.*s:%s", STR_ARG(instance), roles[role].cluster_role);
    const struct json *v = &json_empty_object;

    v = json_set(a, v, "apiVersion", json_box(a, json_of_str(STR("rbac.authorization.k8s.io/v1"))));
    v = json_set(a, v, "kind", json_box(a, json_of_str(STR("ClusterRoleBinding"))));
    v = json_set(a, v, "metadata.name", json_box(a, json_of_str(name)));
    v = json_set(a, v, "roleRef.apiGroup",
                 json_box(a, json_of_str(STR("rbac.authorization.k8s.io"))));
    v = json_set(a, v, "roleRef.kind", json_box(a, json_of_str(STR("ClusterRole"))));
    v = json_set(a, v, "roleRef.name", json_box(a, json_of_str(str_of(roles[role].cluster_role))));
    return json_set(a, v, "subjects", subjects);
}

/* What its Work holds; NULL: nobody has the role. */
static const struct json *manifests(struct arena *a, const struct json *workspaces,
                                    const struct json *instance, size_t role)
{
    struct json_array list = json_array_new(a);
    struct json who = subjects(a, workspaces, instance, roles[role].role);

    if (json_len(&who) == 0)
        return NULL;
    json_push(&list, *binding(a, json_get_str(instance, "metadata.name"), role, &who));
    return json_array_done(&list);
}

/* ---- what is done ---- */

static int put_work(struct client *client, struct arena *a, struct client_ref *ref,
                    const struct json *want, struct status *st)
{
    const struct json *work = &json_empty_object;

    if (client_get(client, a, ref, &work, st) == 0) {
        if (json_equal(json_path(work, "spec.workload.manifests"), want))
            return 0;
        return client_update(client, a, ref, json_set(a, work, "spec.workload.manifests", want),
                             NULL, st);
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    work = json_set(a, &json_empty_object, "apiVersion",
                    json_box(a, json_of_str(STR("work.karmada.io/v1alpha1"))));
    work = json_set(a, work, "kind", json_box(a, json_of_str(STR("Work"))));
    work = json_set(a, work, "metadata.name", json_box(a, json_of_str(ref->name)));
    work = json_set(a, work, "metadata.namespace", json_box(a, json_of_str(ref->namespace)));
    work = json_set(a, work, "spec.workload.manifests", want);
    return client_create(client, a, ref, work, NULL, st);
}

/* A Work for each role: what a Work held before and holds no more would stay in the member. */
static int tell_member(struct client *client, struct arena *a, str instance, str cluster,
                       size_t role, const struct json *want, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works"),
                              .namespace = str_printf(a, "karmada-es-%.*s", STR_ARG(cluster)),
                              .name = str_printf(a, PEOPLE_WORK "%s", roles[role].cluster_role) };

    if (want)
        return put_work(client, a, &ref, want, st);
    if (client_delete(client, a, &ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = instance_ref(k->name);
    struct client_ref spaces = { .group = STR("iam.kairship.io"),
                                 .version = STR("v1alpha1"),
                                 .resource = STR("workspaces") };
    struct client_ref clusters = { .instance = k->name,
                                   .group = STR("cluster.karmada.io"),
                                   .version = STR("v1alpha1"),
                                   .resource = STR("clusters") };
    const struct json *instance, *workspaces, *members, *want;

    (void)arg;
    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(instance))
        return 0; /* its Works go with it */
    if (client_list(client, a, &spaces, NULL, &workspaces, st) < 0)
        return -1;
    if (client_list(client, a, &clusters, NULL, &members, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    for (size_t i = 0; i < ROLES; i++) {
        want = manifests(a, json_get(workspaces, STR("items")), instance, i);
        json_for_each (m, json_get(members, STR("items")))
            if (!is_deleting(m) &&
                tell_member(client, a, k->name, json_get_str(m, "metadata.name"), i, want, st) < 0)
                return -1;
    }
    return 0;
}

/* ---- what it may concern ---- */

/* The instances that a workspace had when we heard of it last. */
struct seen {
    struct arena *arena;
    str name;
    const struct json *resources;
};

static void seen_free(struct seen *s)
{
    if (s)
        arena_free(s->arena); /* with it */
}

static struct seen *seen_new(str name, const struct json *resources)
{
    struct arena *a = arena_new();
    struct seen *s = arena_new_of(a, struct seen);

    *s = (struct seen){ .arena = a, .name = str_dup(a, name), .resources = json_dup(a, resources) };
    return s;
}

static void wake_all(struct controller *c, const struct json *resources)
{
    json_for_each (r, resources) {
        struct informer_key key = { .name = json_get_str(r, "resourceName") };

        controller_wake(c, &key);
    }
}

/* A workspace concerns the instances that it has and those that it had. */
static void wake_bound(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    struct ghippo_webhook *w = arg;
    const struct json *now = deleted ? NULL : json_path(object, "spec.resources");
    struct seen *was = map_remove(&w->seen, k->name), *s;

    wake_all(c, was ? was->resources : NULL);
    wake_all(c, now);
    seen_free(was);
    if (json_len(now) > 0) {
        s = seen_new(k->name, now);
        (void)map_put(&w->seen, s->name, s);
    }
}

void ghippo_webhook_release(struct ghippo_webhook *w)
{
    size_t at = 0;
    void *s;
    str name;

    while (map_each(&w->seen, &at, &name, &s))
        seen_free(s);
    map_release(&w->seen);
}

static void wake_instance(void *arg, struct controller *c, const struct informer_key *k,
                          const struct json *object, bool deleted)
{
    struct informer_key key = { .name = k->instance };

    (void)arg;
    if (object && !deleted && json_int(json_path(object, "metadata.generation"), 1) == 1)
        controller_wake(c, &key);
}

static const struct controller_source also[] = {
    { .ref = { .group = STR_INIT("iam.kairship.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("workspaces") },
      .map = wake_bound },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("cluster.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .spec_only = true,
      .map = wake_instance },
};

const struct controller_spec ghippo_webhook_controller = {
    .name = "ghippo-webhook",
    .ref = INSTANCE_REF,
    .spec_only = true,
    .finalizer = "",
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .reconcile = reconcile,
};
