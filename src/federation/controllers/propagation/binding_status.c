/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What the Works say becomes the binding's status, and what that sums up to the template's
 * (spec/karmada 2.11).
 *
 * A cluster that is silent has not taken anything back: what it said last stays, with health
 * Unknown and since when.  When it falls silent or speaks again, all bindings with a Work for it
 * are looked at once.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "federation/controllers/propagation/propagator_view.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

/* Clusters tell of one object at about the same time: one look is enough for all that come so soon
 * after the first, and later the more there is to look at. */
enum { GATHER_MS = 100, GATHER_EACH_MS = 5, GATHER_MAX_MS = 2000, PAGE = 500 };

#define CLUSTER_KEY "cluster " /* and its name: a key that no binding has */

/* ---- the Works' words ---- */

static const struct json *condition(const struct json *object, const char *type)
{
    return condition_find(json_path(object, "status.conditions"), type);
}

static bool is_it(const struct json *identifier, const struct json *what)
{
    str version = json_get_str(what, "apiVersion");
    ptrdiff_t slash = str_find(version, '/', 0);
    str group = slash < 0 ? STR_NONE : str_sub(version, 0, (size_t)slash);

    return str_eq(json_get_str(identifier, "group"), group) &&
           str_eq(json_get_str(identifier, "version"), str_from(version, (size_t)(slash + 1))) &&
           str_eq(json_get_str(identifier, "kind"), json_get_str(what, "kind")) &&
           str_eq(json_get_str(identifier, "namespace"), json_get_str(what, "namespace")) &&
           str_eq(json_get_str(identifier, "name"), json_get_str(what, "name"));
}

static const struct json *manifest_status(const struct json *work, const struct json *what)
{
    json_for_each (m, json_path(work, "status.manifestStatuses"))
        if (is_it(json_get(m, STR("identifier")), what))
            return m;
    return NULL;
}

/*
 * One member of aggregatedStatus; what is false or empty is left out, as Go does.  since: when its
 * cluster fell silent, or NULL.
 */
static struct json item_of(struct arena *a, const struct json *work, str cluster,
                           const struct json *what, const struct json *since)
{
    const struct json *applied = condition(work, "Applied");
    const struct json *m = manifest_status(work, what), *status = json_get(m, STR("status"));
    struct json_object o = json_object_new(a);
    str health = STR("Unknown");

    json_add(&o, STR("clusterName"), json_of_str(cluster));
    if (!str_is(json_get_str(applied, "status"), "True")) {
        if (json_get_str(applied, "message").n)
            json_add(&o, STR("appliedMessage"), *json_get(applied, STR("message")));
    } else {
        if (status && status->type != JSON_NULL)
            json_add(&o, STR("status"), *status);
        json_add(&o, STR("applied"), json_true);
        if (!since && json_get_str(m, "health").n)
            health = json_get_str(m, "health");
    }
    json_add(&o, STR("health"), json_of_str(health));
    if (since)
        json_add(&o, STR(INTERP_UNKNOWN_SINCE), *since);
    return json_object_value(&o);
}

static int by_cluster(const void *a, const void *b)
{
    return str_cmp(json_get_str(a, "clusterName"), json_get_str(b, "clusterName"));
}

static struct json items_of(struct arena *a, const struct json *works, const struct json *what,
                            const struct json *silent)
{
    struct json_array items = json_array_new(a);

    json_for_each (w, works) {
        str cluster;

        if (!propagator_deleting(w) &&
            karmada_execution_cluster(json_get_str(w, "metadata.namespace"), &cluster))
            json_push(&items, item_of(a, w, cluster, what, json_get(silent, cluster)));
    }
    if (items.n > 1)
        qsort(items.items, items.n, sizeof(*items.items), by_cluster);
    return json_array_value(&items);
}

/* ---- fully applied ---- */

static bool has_item(const struct json *items, str cluster)
{
    json_for_each (i, items)
        if (str_eq(json_get_str(i, "clusterName"), cluster))
            return json_bool(json_get(i, STR("applied")));
    return false;
}

/* Clusters where it should be, each once, counted; false when it is missing in one. */
static bool fully_applied(struct arena *a, const struct json *binding, const struct json *items)
{
    struct json_object names = json_object_new(a);

    json_for_each (t, json_path(binding, "spec.clusters"))
        json_put(&names, json_get_str(t, "name"), json_null);
    json_for_each (by, json_path(binding, "spec.requiredBy"))
        json_for_each (t, json_get(by, STR("clusters")))
            json_put(&names, json_get_str(t, "name"), json_null);
    json_for_each (task, json_path(binding, "spec.gracefulEvictionTasks"))
        if (!str_is(json_get_str(task, "purgeMode"), "Directly"))
            json_put(&names, json_get_str(task, "fromCluster"), json_null);
    if (names.n == 0 || names.n != json_len(items))
        return false;
    for (uint32_t i = 0; i < names.n; i++)
        if (!has_item(items, names.members[i].name))
            return false;
    return true;
}

static struct json verdict(struct arena *a, const struct json *had, bool yes)
{
    struct json_object o = json_object_new(a);
    str status = yes ? STR("True") : STR("False");
    char now[TIME_TEXT_SIZE];

    (void)time_format_seconds(now, clock_wall_s(clock_real()));
    json_add(&o, STR("type"), json_of_str(STR("FullyApplied")));
    json_add(&o, STR("status"), json_of_str(status));
    json_add(&o, STR("reason"),
             json_of_str(yes ? STR("FullyAppliedSuccess") : STR("FullyAppliedFailed")));
    json_add(&o, STR("message"),
             json_of_str(yes ? STR("All works have been successfully applied")
                             : STR("Failed to apply all works, see status.aggregatedStatus for "
                                   "details")));
    json_add(&o, STR("lastTransitionTime"),
             str_eq(json_get_str(had, "status"), status) &&
                     json_get_str(had, "lastTransitionTime").n
                 ? *json_get(had, STR("lastTransitionTime"))
                 : json_of_str(str_dup(a, str_of(now))));
    return json_object_value(&o);
}

static struct json conditions_of(struct arena *a, const struct json *binding, bool yes)
{
    struct json_array list = json_array_new(a);
    const struct json *had = NULL;

    json_for_each (c, json_path(binding, "status.conditions")) {
        if (str_is(json_get_str(c, "type"), "FullyApplied")) {
            had = c;
            json_push(&list, verdict(a, c, yes));
        } else {
            json_push(&list, *c);
        }
    }
    if (!had)
        json_push(&list, verdict(a, NULL, yes));
    return json_array_value(&list);
}

/* ---- a binding ---- */

static const struct json *status_now(struct arena *a, const struct json *binding,
                                     const struct json *items)
{
    const struct json *had = json_get(binding, STR("status"));
    struct json_object o =
        json_object_from(a, json_is(had, JSON_OBJECT) ? had : &json_empty_object);

    struct json conditions = conditions_of(a, binding, fully_applied(a, binding, items));

    json_remove(&o, STR("aggregatedStatus"));
    if (items->n)
        json_add(&o, STR("aggregatedStatus"), *items);
    json_put(&o, STR("conditions"), *interp_unknown(a, json_box(a, conditions), items));
    return json_object_done(&o);
}

/* Before a Work has said anything there is nothing to tell. */
static bool is_untold(const struct json *binding, const struct json *works)
{
    if (condition(binding, "FullyApplied"))
        return false;
    json_for_each (w, works)
        if (json_len(json_path(w, "status.conditions")))
            return false;
    return true;
}

/* An event where it begins, ends, or is about other clusters than before. */
static void tell_silence(struct propagator *p, str instance, const struct json *about,
                         const struct json *was, const struct json *now)
{
    str before = json_get_str(condition_find(was, INTERP_STATUS_UNKNOWN), "message");
    str message = json_get_str(condition_find(now, INTERP_STATUS_UNKNOWN), "message");

    if (str_eq(before, message))
        return;
    if (message.n)
        propagator_tell(p, instance, about, RECORDER_WARNING, INTERP_STATUS_UNKNOWN, message);
    else
        propagator_tell(p, instance, about, RECORDER_NORMAL, "StatusKnown",
                        STR("all clusters that have it are Ready again"));
}

/* What its clusters are to have in all. */
static int64_t wanted(const struct json *binding)
{
    int64_t n = 0;

    json_for_each (t, json_path(binding, "spec.clusters"))
        n += json_int(json_get(t, STR("replicas")), 0);
    return n;
}

static int tell_template(struct propagator *p, struct client *client, struct arena *a, str instance,
                         const struct json *binding, const struct propagator_view *v,
                         const struct json *items, struct status *st)
{
    const struct interp_moment m = { .wanted = wanted(binding),
                                     .now_s = clock_wall_s(clock_real()) };
    const struct json *template = v->template, *now;
    struct client_ref ref = v->at;
    const struct scripts *scripts;

    if (!template || propagator_deleting(template) ||
        !str_eq(json_get_str(template, "metadata.uid"), json_get_str(binding, "spec.resource.uid")))
        return 0;
    if (propagator_scripts(p, a, instance, template, &scripts, st) < 0)
        return -1;
    if (scripts_aggregate(scripts, a, template, items, &m, &now, st) < 0) {
        propagator_tell(p, instance, template, RECORDER_WARNING, "AggregateStatusFailed",
                        st->message);
        return -1;
    }
    if (!now)
        return 0;
    ref.subresource = STR("status");
    if (client_update(client, a, &ref, json_set(a, template, "status", now), NULL, st) == 0)
        return 0;
    if (status_is(st, REASON_NOT_FOUND))
        return 0;
    if (!status_is(st, REASON_CONFLICT))
        propagator_tell(p, instance, template, RECORDER_WARNING, "AggregateStatusFailed",
                        st->message);
    return -1;
}

static int reconcile_binding(struct propagator *p, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    str instance = propagator_instance(k);
    struct client_ref ref = propagator_binding_ref(instance, k->namespace, k->name);
    const struct json *binding, *silent, *was, *now;
    struct propagator_view v;
    struct json items;

    if (client_get(client, a, &ref, &binding, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (propagator_deleting(binding))
        return 0;
    if (propagator_look(p, client, a, instance, binding, false, &v, st) < 0)
        return -1;
    if (is_untold(binding, v.works))
        return 0;
    if (silence_get(p->silence, client, a, instance, &silent, st) < 0)
        return -1;
    items = items_of(a, v.works, json_path(binding, "spec.resource"), silent);
    was = json_get(binding, STR("status"));
    now = status_now(a, binding, &items);
    if (!json_equal(now, was)) {
        ref.subresource = STR("status");
        if (client_update(client, a, &ref, json_set(a, binding, "status", now), NULL, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
        tell_silence(p, instance, v.template ? v.template : binding,
                     json_get(was, STR("conditions")), json_get(now, STR("conditions")));
    }
    return tell_template(p, client, a, instance, binding, &v, &items, st);
}

/* A Work is of the binding that its annotations name; false: of none. */
static bool binding_of(const struct json *work, str instance, struct informer_key *out)
{
    *out = (struct informer_key){ .instance = instance,
                                  .namespace = karmada_annotation(work, KARMADA_RB_NAMESPACE),
                                  .name = karmada_annotation(work, KARMADA_RB_NAME) };
    if (!out->name.n)
        out->name = karmada_annotation(work, KARMADA_CRB_NAME);
    return out->name.n > 0;
}

/* A cluster fell silent, or spoke: each binding that has a Work for it. */
static int wake_bindings(struct propagator *p, struct client *client, struct arena *a,
                         const struct informer_key *k, str cluster, struct status *st)
{
    struct client_ref works = propagator_work_ref(
        propagator_instance(k), karmada_execution_namespace(a, cluster), STR_NONE);
    struct client_query q = { .limit = PAGE };

    do {
        scoped_arena page = arena_new();
        const struct json *list;

        if (client_list(client, page, &works, &q, &list, st) < 0)
            return status_is(st, REASON_NOT_FOUND) ? 0 : -1; /* the instance has gone */
        json_for_each (w, json_get(list, STR("items"))) {
            struct informer_key key;

            if (binding_of(w, k->instance, &key))
                controller_wake(p->status, &key);
        }
        q.continue_token = str_dup(a, json_get_str(list, "metadata.continue"));
    } while (q.continue_token.n);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    if (str_starts(k->name, STR(CLUSTER_KEY)))
        return wake_bindings(arg, client, a, k, str_from(k->name, sizeof(CLUSTER_KEY) - 1), st);
    return reconcile_binding(arg, client, a, k, st);
}

/* What a Work says wakes it the first time; before that there is nothing to sum up. */
static void on_binding(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    (void)arg;
    if (!deleted && condition(object, "FullyApplied"))
        controller_wake(c, k);
}

static void on_work(void *arg, struct controller *c, const struct informer_key *k,
                    const struct json *object, bool deleted)
{
    int64_t now = clock_now_ms(clock_real());
    struct propagator *p = arg;
    struct informer_key key;

    if (!binding_of(object, k->instance, &key) ||
        (!deleted && !json_path(object, "status.conditions")))
        return;
    pace_count(&p->told, now);
    controller_wake_after(c, &key,
                          pace_gather_ms(&p->told, now, GATHER_EACH_MS, GATHER_MS, GATHER_MAX_MS));
}

static void on_cluster(void *arg, struct controller *c, const struct informer_key *k,
                       const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct informer_key key = { .instance = k->instance };
    struct propagator *p = arg;

    if (!silence_note(p->silence, k, deleted ? NULL : object))
        return;
    key.name = str_printf(a, CLUSTER_KEY "%.*s", STR_ARG(k->name));
    controller_wake(c, &key);
}

static void started(void *arg, struct controller *c)
{
    ((struct propagator *)arg)->status = c;
}

#define ALL(v, r)                                                                                \
    {                                                                                            \
        .instance = STR_INIT("*"), .group = STR_INIT("work.karmada.io"), .version = STR_INIT(v), \
        .resource = STR_INIT(r)                                                                  \
    }

static const struct controller_source also[] = {
    { .ref = ALL("v1alpha2", "clusterresourcebindings"), .spec_only = true, .map = on_binding },
    { .ref = ALL("v1alpha1", "works"), .map = on_work },
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("cluster.karmada.io"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("clusters") },
      .map = on_cluster },
};

const struct controller_spec binding_status_controller = {
    .name = "binding-status",
    .ref = ALL("v1alpha2", "resourcebindings"),
    .spec_only = true,
    .map = on_binding,
    .also = also,
    .nalso = sizeof(also) / sizeof(*also),
    .workers = 4,
    .reconcile = reconcile,
    .started = started,
};
