/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Bindings become Works: one for each cluster that the scheduler has chosen, or that what depends
 * on the object runs in, with its share of replicas and its overrides (spec/karmada 2.8).
 *
 * A cluster for which no Work can be made (an override that does not apply, no execution namespace
 * yet) holds back only itself; the key comes again.
 */

#include "base/banned.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/propagator_view.h"
#include "object/meta/karmada.h"

enum {
    PAGE = 500,
};

#define OVERRIDES "overrides"

struct binding_job { /* the binding at hand */
    struct propagator *p;
    struct client *client;
    struct arena *a;
    str instance;
    struct client_ref ref;
    const struct json *binding, *works, *template;
    struct json targets; /* [{name, replicas}]: clusters, and those of what requires it */
    struct override_policies overrides;
    const struct scripts *scripts; /* of the template's kind */
    bool purging;                  /* no further Work is made before another has gone */
};

/* ---- where it is to be ---- */

static bool has_name(const struct json *list, str name)
{
    json_for_each (t, list)
        if (str_eq(json_get_str(t, "name"), name))
            return true;
    return false;
}

static struct json targets_of(struct arena *a, const struct json *binding)
{
    const struct json *clusters = json_path(binding, "spec.clusters");
    struct json_array all = json_array_new(a);

    json_for_each (t, clusters)
        json_push(&all, *t);
    json_for_each (by, json_path(binding, "spec.requiredBy"))
        json_for_each (t, json_get(by, STR("clusters"))) {
            struct json so_far = { .type = JSON_ARRAY, .n = all.n, .items = all.items };

            if (!has_name(&so_far, json_get_str(t, "name")))
                json_push(&all, *t);
        }
    return json_array_value(&all);
}

static str cluster_of(const struct json *work)
{
    str cluster = STR_NONE;

    (void)karmada_execution_cluster(json_get_str(work, "metadata.namespace"), &cluster);
    return cluster;
}

static int delete_work(const struct binding_job *j, const struct json *work, struct status *st)
{
    struct client_ref ref = propagator_work_ref(
        j->instance, json_get_str(work, "metadata.namespace"), json_get_str(work, "metadata.name"));

    if (propagator_deleting(work) || client_delete(j->client, j->a, &ref, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static const struct json *task_of(const struct json *binding, str cluster)
{
    json_for_each (task, json_path(binding, "spec.gracefulEvictionTasks"))
        if (str_eq(json_get_str(task, "fromCluster"), cluster))
            return task;
    return NULL;
}

/* Works of clusters that it has left; those of evictions end with graceful_eviction.c. */
static int delete_orphans(const struct binding_job *j, struct status *st)
{
    json_for_each (w, j->works) {
        str cluster = cluster_of(w);

        if (!has_name(&j->targets, cluster) && !task_of(j->binding, cluster) &&
            delete_work(j, w, st) < 0)
            return -1;
    }
    return 0;
}

/* Whether a Work is still where it goes before another is made; its end wakes the binding. */
static bool is_purging(const struct binding_job *j)
{
    json_for_each (w, j->works) {
        const struct json *task = task_of(j->binding, cluster_of(w));

        if (task && str_is(json_get_str(task, "purgeMode"), "Directly") &&
            !has_name(&j->targets, cluster_of(w)))
            return true;
    }
    return false;
}

/* ---- one cluster ---- */

static bool is_workload(const struct json *binding)
{
    return json_int(json_path(binding, "spec.replicas"), 0) > 0 ||
           json_path(binding, "spec.replicaRequirements") ||
           json_len(json_path(binding, "spec.components"));
}

static bool is_suspended(const struct json *binding, str cluster)
{
    if (json_bool(json_path(binding, "spec.suspension.dispatching")))
        return true;
    json_for_each (name, json_path(binding, "spec.suspension.dispatchingOnClusters.clusterNames"))
        if (str_eq(json_str(name), cluster))
            return true;
    return false;
}

static str conflict_of(const struct binding_job *j)
{
    str said = karmada_annotation(j->template, KARMADA_CONFLICT);

    if (str_is(said, "overwrite") || str_is(said, "abort"))
        return said;
    return str_is(json_get_str(j->binding, "spec.conflictResolution"), "Overwrite")
               ? STR("overwrite")
               : STR("abort");
}

/* By which members and their Works know the binding. */
static void note_binding(const struct binding_job *j, struct json_object *o)
{
    if (j->ref.namespace.n) {
        json_put(o, STR(KARMADA_RB_NAMESPACE), json_of_str(j->ref.namespace));
        json_put(o, STR(KARMADA_RB_NAME), json_of_str(j->ref.name));
    } else {
        json_put(o, STR(KARMADA_CRB_NAME), json_of_str(j->ref.name));
    }
}

static const struct json *noted(const struct binding_job *j, const struct json *manifest)
{
    int64_t generation = json_int(json_path(j->template, "metadata.generation"), 0);
    struct json_object notes = propagator_map(j->a, manifest, "metadata.annotations");

    note_binding(j, &notes);
    if (generation > 0)
        json_put(&notes, STR(KARMADA_TEMPLATE_GENERATION),
                 json_of_str(str_printf(j->a, "%lld", (long long)generation)));
    return json_set(j->a, manifest, "metadata.annotations", json_object_done(&notes));
}

/* Whatever its name is: older programs had others for objects with a colon in theirs. */
static const struct json *work_at(const struct json *works, str cluster)
{
    json_for_each (w, works)
        if (str_eq(cluster_of(w), cluster))
            return w;
    return NULL;
}

/* What the Work for one cluster is to be. */
static int order(const struct binding_job *j, const struct json *target, int64_t completions,
                 struct work_order *o, struct status *st)
{
    str cluster = json_get_str(target, "name");
    const struct json *m = j->template;
    struct json_object notes = json_object_new(j->a);

    *o = (struct work_order){
        .cluster = cluster,
        .template = j->template,
        .id_label = str_of(propagator_id_label(j->binding)),
        .id = propagator_id(j->binding),
        .suspended = is_suspended(j->binding, cluster),
        .preserved = json_bool(json_path(j->binding, "spec.preserveResourcesOnDeletion")),
    };
    if (is_workload(j->binding) &&
        scripts_revise(j->scripts, j->a, m, json_int(json_get(target, STR("replicas")), 0), &m,
                       st) < 0)
        return -1;
    if (completions >= 0)
        m = json_set(j->a, m, "spec.completions", json_box(j->a, json_of_int(completions)));
    note_binding(j, &notes);
    json_put(&notes, STR(KARMADA_CONFLICT), json_of_str(conflict_of(j)));
    if (propagator_override(&(struct propagator_at){ j->p, j->client, j->a, j->instance }, cluster,
                            &j->overrides, j->template, &m, &notes, st) < 0)
        return -1;
    o->manifest = noted(j, m);
    o->annotations = json_object_value(&notes);
    return 0;
}

/* How many completions of a divided Job are each cluster's; NULL: they are not divided. */
static const int64_t *completions_of(const struct binding_job *j)
{
    const struct json *all = json_path(j->template, "spec.completions");
    int64_t *each;

    if (!str_is(json_get_str(j->template, "kind"), "Job") || !json_is(all, JSON_INT) ||
        json_int(json_path(j->binding, "spec.replicas"), 0) <= 0 ||
        !str_is(json_get_str(j->binding, "spec.placement.replicaScheduling.replicaSchedulingType"),
                "Divided"))
        return NULL;
    each = arena_array(j->a, int64_t, j->targets.n + 1);
    sched_divide_alike(j->a, &j->targets, all->i, json_get_str(j->template, "metadata.uid"), each);
    return each;
}

static void keep_first(struct status *first, struct status *st)
{
    if (status_is(first, REASON_OK))
        status_copy(first, st);
    status_reset(st);
}

/* Requests for all Works that are to be written. */
static size_t requests(const struct binding_job *j, struct client_item *items,
                       struct work_order *orders, struct status *first, struct status *st)
{
    const int64_t *completions = completions_of(j);
    size_t n = 0;

    for (size_t i = 0; i < j->targets.n; i++) {
        const struct json *t = json_at(&j->targets, i), *work;
        str cluster = json_get_str(t, "name");
        int wanted = 0;

        work = work_at(j->works, cluster);
        if (cluster.n == 0 || (j->purging && !work))
            continue;
        if (order(j, t, completions ? completions[i] : -1, &orders[n], st) < 0 ||
            (wanted = propagator_work_request(j->a, j->instance, &orders[n], work, &items[n].req,
                                              st)) < 0)
            keep_first(first, st);
        n += wanted > 0;
    }
    return n;
}

/* All of them together; the first failure is told when all have been tried. */
static int place_all(const struct binding_job *j, struct status *st)
{
    struct client_item *items = arena_array(j->a, struct client_item, j->targets.n + 1);
    struct work_order *orders = arena_array(j->a, struct work_order, j->targets.n + 1);
    struct status first;
    size_t n;

    status_init(&first, j->a);
    n = requests(j, items, orders, &first, st);
    client_do_all(j->client, j->a, items, n);
    for (size_t i = 0; i < n; i++) {
        if (items[i].rc == 0)
            continue;
        if (!status_is(&items[i].st, REASON_ALREADY_EXISTS))
            keep_first(&first, &items[i].st);
        else if (propagator_work(j->client, j->a, j->instance, &orders[i], NULL, st) < 0)
            keep_first(&first, st);
    }
    if (status_is(&first, REASON_OK))
        return 0;
    if (!status_is(&first, REASON_CONFLICT)) {
        propagator_tell(j->p, j->instance, j->binding, RECORDER_WARNING, "SyncWorkFailed",
                        first.message);
        propagator_tell(j->p, j->instance, j->template, RECORDER_WARNING, "SyncWorkFailed",
                        first.message);
    }
    status_copy(st, &first);
    return -1;
}

/* ---- a binding ---- */

static int end(const struct binding_job *j, struct status *st)
{
    json_for_each (w, j->works)
        if (delete_work(j, w, st) < 0)
            return -1;
    return finalizer_remove(j->client, j->a, &j->ref,
                            j->ref.namespace.n ? KARMADA_RB_FINALIZER : KARMADA_CRB_FINALIZER,
                            j->binding, st);
}

static int reconcile_binding(struct propagator *p, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    struct binding_job j = { .p = p, .client = client, .a = a, .instance = propagator_instance(k) };
    struct propagator_view v = { .works = &json_empty_array };
    int rc;

    j.ref = propagator_binding_ref(j.instance, k->namespace, k->name);
    if (client_get(client, a, &j.ref, &j.binding, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    j.targets = targets_of(a, j.binding);
    if (propagator_deleting(j.binding) || j.targets.n == 0)
        rc = propagator_works(client, a, j.instance, j.binding, &v.works, st);
    else
        rc = propagator_look(p, client, a, j.instance, j.binding, true, &v, st);
    if (rc < 0)
        return -1;
    j.works = v.works;
    j.template = v.template;
    j.overrides = v.overrides;
    if (propagator_deleting(j.binding))
        return end(&j, st);
    if (delete_orphans(&j, st) < 0)
        return -1;
    j.purging = is_purging(&j);
    if (!j.template || j.targets.n == 0)
        return 0;
    if (propagator_scripts(p, a, j.instance, j.template, &j.scripts, st) < 0)
        return -1;
    return place_all(&j, st);
}

/* ---- overrides that have changed ---- */

/* Whether the policy can mean what the binding is of; labels are looked at with the template. */
static bool may_mean(const struct json *policy, const struct json *binding)
{
    const struct json *selectors = json_path(policy, "spec.resourceSelectors");
    const struct json *what = json_path(binding, "spec.resource");

    json_for_each (s, selectors) {
        str name = json_get_str(s, "name");

        if (str_eq(json_get_str(s, "apiVersion"), json_get_str(what, "apiVersion")) &&
            str_eq(json_get_str(s, "kind"), json_get_str(what, "kind")) &&
            (name.n == 0 || str_eq(name, json_get_str(what, "name"))))
            return true;
    }
    return json_len(selectors) == 0;
}

static int wake_bindings(struct propagator *p, struct client *client, struct arena *a,
                         const struct informer_key *k, const struct client_ref *ref,
                         const struct json *policy, struct status *st)
{
    struct client_query q = { .limit = PAGE };
    const struct json *list;

    do {
        if (client_list(client, a, ref, &q, &list, st) < 0)
            return -1;
        json_for_each (b, json_get(list, STR("items"))) {
            struct informer_key key = { .instance = k->instance,
                                        .namespace = json_get_str(b, "metadata.namespace"),
                                        .name = json_get_str(b, "metadata.name") };

            if (!policy || may_mean(policy, b))
                controller_wake(p->binding, &key);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

static int reconcile_overrides(struct propagator *p, struct client *client, struct arena *a,
                               const struct informer_key *k, str name, struct status *st)
{
    str instance = propagator_instance(k);
    struct client_ref at = { .instance = instance,
                             .group = STR("policy.karmada.io"),
                             .version = STR("v1alpha1"),
                             .resource = k->namespace.n ? STR("overridepolicies")
                                                        : STR("clusteroverridepolicies"),
                             .namespace = k->namespace,
                             .name = name };
    struct client_ref rbs = propagator_binding_ref(instance, STR("any"), STR_NONE);
    struct client_ref crbs = propagator_binding_ref(instance, STR_NONE, STR_NONE);
    const struct json *policy;

    rbs.namespace = k->namespace;
    if (client_get(client, a, &at, &policy, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        policy = NULL; /* it has gone, and nobody knows what it meant */
    }
    if (wake_bindings(p, client, a, k, &rbs, policy, st) < 0)
        return -1;
    return k->namespace.n ? 0 : wake_bindings(p, client, a, k, &crbs, policy, st);
}

static void on_override(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance, .namespace = k->namespace };

    (void)arg;
    (void)object;
    (void)deleted;
    key.name = str_printf(a, OVERRIDES " %.*s", STR_ARG(k->name));
    controller_wake(c, &key);
}

/* One that is new and was given no cluster has no Works, and gets none before it changes. */
static void on_binding(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    bool is_new = json_int(json_path(object, "metadata.generation"), 0) == 1;

    (void)arg;
    if (deleted || !is_new || json_path(object, "metadata.deletionTimestamp") ||
        json_len(json_path(object, "spec.clusters")) ||
        json_len(json_path(object, "spec.requiredBy")))
        controller_wake(c, k);
}

/* A Work that goes may have to come again. */
static void on_work(void *arg, struct controller *c, const struct informer_key *k,
                    const struct json *object, bool deleted)
{
    struct informer_key key = { .instance = k->instance,
                                .namespace = karmada_annotation(object, KARMADA_RB_NAMESPACE),
                                .name = karmada_annotation(object, KARMADA_RB_NAME) };

    (void)arg;
    if (!deleted || !object)
        return;
    if (!key.name.n)
        key.name = karmada_annotation(object, KARMADA_CRB_NAME);
    if (key.name.n)
        controller_wake(c, &key);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const str overrides = STR(OVERRIDES " ");

    if (str_starts(k->name, overrides))
        return reconcile_overrides(arg, client, a, k, str_from(k->name, overrides.n), st);
    return reconcile_binding(arg, client, a, k, st);
}

static void started(void *arg, struct controller *c)
{
    struct propagator *p = arg;

    p->binding = c;
}

#define ALL(g, v, r)                                                             \
    {                                                                            \
        .instance = STR_INIT("*"), .group = STR_INIT(g), .version = STR_INIT(v), \
        .resource = STR_INIT(r)                                                  \
    }

static const struct controller_source also[] = {
    { .ref = ALL("work.karmada.io", "v1alpha2", "clusterresourcebindings"),
      .spec_only = true,
      .map = on_binding },
    { .ref = ALL("policy.karmada.io", "v1alpha1", "overridepolicies"), .map = on_override },
    { .ref = ALL("policy.karmada.io", "v1alpha1", "clusteroverridepolicies"), .map = on_override },
    { .ref = ALL("work.karmada.io", "v1alpha1", "works"), .map = on_work },
};

const struct controller_spec binding_controller = {
    .name = "binding",
    .ref = ALL("work.karmada.io", "v1alpha2", "resourcebindings"),
    .spec_only = true,
    .map = on_binding,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 4,
    .reconcile = reconcile,
    .started = started,
};
