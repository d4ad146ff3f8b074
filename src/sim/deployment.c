/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Deployments: a ReplicaSet for each template they ever had, and replicas that move from the old
 * ones to the new one as sim/rollout.h says.  k8s: pkg/controller/deployment
 */

#include <stdlib.h>

#include "base/banned.h"
#include "object/meta/amounts.h"
#include "sim/rollout.h"
#include "sim/state.h"

#define HASH_LABEL "pod-template-hash"
#define REVISION   "deployment.kubernetes.io/revision"
#define DESIRED    "deployment.kubernetes.io/desired-replicas"
#define MOST       "deployment.kubernetes.io/max-replicas"

enum { SETS_MAX = 1000, GATHER_MS = 5 };

struct work {
    struct sim *sim;
    struct client *client;
    struct arena *arena;
    const struct informer_key *key;
    struct status *st;
    const struct json *deployment;
    const struct json *sets[SETS_MAX + 1]; /* the new one first, then the others, oldest first */
    struct rollout_set counts[SETS_MAX + 1];
    size_t n;
    bool has_new;
    struct rollout rollout;
};

static int64_t number(const struct json *v, const char *path)
{
    return json_int(json_path(v, path), 0);
}

static int64_t revision_of(const struct json *v)
{
    int64_t n = 0;

    (void)str_to_i64(json_str(json_get(json_path(v, "metadata.annotations"), STR(REVISION))), &n);
    return n;
}

static const struct json *without_hash(struct arena *a, const struct json *template)
{
    const struct json *labels = json_path(template, "metadata.labels");
    struct json_object o = json_object_from(a, labels ? labels : &json_empty_object);

    json_remove(&o, STR(HASH_LABEL));
    return json_set(a, template, "metadata.labels", json_object_done(&o));
}

/* ---- what there is ---- */

static int by_age(const void *a, const void *b)
{
    const struct json *x = *(const struct json *const *)a, *y = *(const struct json *const *)b;
    int64_t rx = revision_of(x), ry = revision_of(y);
    int c = str_cmp(json_get_str(x, "metadata.creationTimestamp"),
                    json_get_str(y, "metadata.creationTimestamp"));

    return c ? c : rx < ry ? -1 : rx > ry;
}

static void read_rollout(struct work *w)
{
    const struct json *d = w->deployment;
    const struct json *rolling = json_path(d, "spec.strategy.rollingUpdate");
    struct rollout *r = &w->rollout;

    r->desired = json_int(json_path(d, "spec.replicas"), 1);
    r->recreate = str_is(json_get_str(d, "spec.strategy.type"), "Recreate");
    r->paused = json_bool(json_path(d, "spec.paused"));
    r->max_surge = amounts_int_or_percent(json_get(rolling, STR("maxSurge")), r->desired, true, 1);
    r->max_unavailable =
        amounts_int_or_percent(json_get(rolling, STR("maxUnavailable")), r->desired, false, 0);
    if (r->recreate)
        r->max_surge = r->max_unavailable = 0;
    else if (r->max_surge == 0 && r->max_unavailable == 0)
        r->max_unavailable = 1;
    if (r->max_unavailable > r->desired)
        r->max_unavailable = r->desired;
}

/* sets[0] is left free for the new one. */
static int read_sets(struct work *w)
{
    const struct json *wanted = without_hash(w->arena, json_path(w->deployment, "spec.template"));
    struct obj_list all;

    if (obj_list_owned(w->client, w->arena, obj_ref(w->key, "apps", "replicasets"), w->deployment,
                       &all, w->st) < 0)
        return -1;
    qsort(all.items, all.n, sizeof(*all.items), by_age);
    w->n = 1;
    for (size_t i = 0; i < all.n && i < SETS_MAX; i++) {
        const struct json *template = json_path(all.items[i], "spec.template");

        if (!w->has_new && json_equal(without_hash(w->arena, template), wanted)) {
            w->sets[0] = all.items[i];
            w->has_new = true;
        } else {
            w->sets[w->n++] = all.items[i];
        }
    }
    return 0;
}

static void read_counts(struct work *w)
{
    for (size_t i = 0; i < w->n; i++)
        w->counts[i] = (struct rollout_set){
            .spec = w->sets[i] ? json_int(json_path(w->sets[i], "spec.replicas"), 1) : 0,
            .replicas = number(w->sets[i], "status.replicas"),
            .available = number(w->sets[i], "status.availableReplicas"),
        };
}

/* ---- the new ReplicaSet ---- */

static int64_t next_revision(const struct work *w)
{
    int64_t most = 0;

    for (size_t i = 1; i < w->n; i++)
        if (revision_of(w->sets[i]) > most)
            most = revision_of(w->sets[i]);
    return most + 1;
}

static str decimal(struct arena *a, int64_t n)
{
    return str_printf(a, "%lld", (long long)n);
}

/* What of the Deployment's annotations is the ReplicaSet's, too; and what is its own. */
static const struct json *annotations(struct work *w, int64_t revision)
{
    struct arena *a = w->arena;
    struct json_object o = json_object_new(a);
    const struct rollout *r = &w->rollout;

    json_for_each_member (m, json_path(w->deployment, "metadata.annotations"))
        if (!str_starts(m->name, STR("deployment.kubernetes.io/")) &&
            !str_starts(m->name, STR("kubectl.kubernetes.io/last-applied")))
            json_add(&o, m->name, m->value);
    json_add(&o, STR(DESIRED), json_of_str(decimal(a, r->desired)));
    json_add(&o, STR(MOST), json_of_str(decimal(a, r->desired + r->max_surge)));
    json_add(&o, STR(REVISION), json_of_str(decimal(a, revision)));
    return json_object_done(&o);
}

static const struct json *new_set(struct work *w, str hash)
{
    struct arena *a = w->arena;
    const struct json *d = w->deployment, *template = json_path(d, "spec.template");
    const struct json *rs = obj_owned(a, "apps/v1", "ReplicaSet", d, "apps/v1", "Deployment");
    struct json label = json_of_str(hash);

    template = obj_put(a, template, "metadata.labels", STR(HASH_LABEL), label);
    rs = obj_set_str(a, rs, "metadata.name",
                     str_printf(a, "%.*s-%.*s", STR_ARG(obj_name(d)), STR_ARG(hash)));
    rs = json_set(a, rs, "metadata.labels", json_path(template, "metadata.labels"));
    rs = json_set(a, rs, "metadata.annotations", annotations(w, next_revision(w)));
    rs = json_set(a, rs, "spec.selector", json_path(d, "spec.selector"));
    rs = obj_put(a, rs, "spec.selector.matchLabels", STR(HASH_LABEL), label);
    rs = json_set(a, rs, "spec.template", template);
    if (json_path(d, "spec.minReadySeconds"))
        rs = json_set(a, rs, "spec.minReadySeconds", json_path(d, "spec.minReadySeconds"));
    return obj_set_int(a, rs, "spec.replicas", w->counts[0].want);
}

/* A name that is taken by another: the hash gets another salt, which is kept in the status. */
static int count_collision(struct work *w)
{
    const struct json *status = json_path(w->deployment, "status");
    int64_t n = number(w->deployment, "status.collisionCount") + 1;

    status_reset(w->st);
    status = obj_set_int(w->arena, status ? status : &json_empty_object, "collisionCount", n);
    if (obj_put_status(w->client, w->arena, obj_ref(w->key, "apps", "deployments"), w->deployment,
                       status, w->st) < 0)
        return -1;
    return status_set(w->st, REASON_CONFLICT, "the name of the new ReplicaSet is taken");
}

static int make_new(struct work *w)
{
    struct arena *a = w->arena;
    struct client_ref ref = obj_ref_named(w->key, "apps", "replicasets", STR_NONE);
    const struct json *salted = obj_set_int(a, json_path(w->deployment, "spec.template"), "salt",
                                            number(w->deployment, "status.collisionCount"));
    const struct json *rs = new_set(w, obj_hash(a, salted));

    if (client_create(w->client, a, &ref, rs, &w->sets[0], w->st) == 0) {
        w->counts[0].spec = w->counts[0].want;
        return 0;
    }
    return status_is(w->st, REASON_ALREADY_EXISTS) ? count_collision(w) : -1;
}

/* The Deployment says which revision it is at; a template that comes back is a new one. */
static int put_revision(struct work *w)
{
    int64_t revision = revision_of(w->sets[0]), next = next_revision(w);
    struct client_ref ref = obj_ref_named(w->key, "apps", "replicasets", obj_name(w->sets[0]));
    const struct json *patch, *old = json_path(w->sets[0], "metadata.annotations");

    if (revision < next)
        revision = next;
    patch = annotations(w, revision);
    json_for_each_member (m, patch) {
        if (json_equal(json_get(old, m->name), &m->value))
            continue;
        patch = json_set(w->arena, &json_empty_object, "metadata.annotations", patch);
        if (client_patch(w->client, w->arena, &ref, CLIENT_PATCH_MERGE, patch, &w->sets[0], w->st) <
            0)
            return -1;
        break;
    }
    if (revision_of(w->deployment) == revision)
        return 0;
    ref = obj_ref(w->key, "apps", "deployments");
    patch = obj_put(w->arena, &json_empty_object, "metadata.annotations", STR(REVISION),
                    json_of_str(decimal(w->arena, revision)));
    return client_patch(w->client, w->arena, &ref, CLIENT_PATCH_MERGE, patch, &w->deployment,
                        w->st);
}

/* ---- scale ---- */

static int scale(struct work *w)
{
    for (size_t i = 0; i < w->n; i++) {
        struct client_ref ref = obj_ref_named(w->key, "apps", "replicasets", obj_name(w->sets[i]));
        const struct json *patch;

        if (!w->sets[i] || w->counts[i].want == w->counts[i].spec)
            continue;
        patch = obj_set_int(w->arena, &json_empty_object, "spec.replicas", w->counts[i].want);
        if (client_patch(w->client, w->arena, &ref, CLIENT_PATCH_MERGE, patch, NULL, w->st) < 0)
            return -1;
    }
    return 0;
}

/* Old ReplicaSets stay for `kubectl rollout undo`, but not all of them for ever. */
static int clean_up(struct work *w)
{
    int64_t limit = json_int(json_path(w->deployment, "spec.revisionHistoryLimit"), 10);
    int64_t over = (int64_t)w->n - 1 - limit;

    for (size_t i = 1; i < w->n && over > 0; i++) {
        struct client_ref ref = obj_ref_named(w->key, "apps", "replicasets", obj_name(w->sets[i]));

        if (w->counts[i].spec || w->counts[i].replicas || obj_deleting(w->sets[i]))
            continue;
        if (obj_delete(w->client, w->arena, &ref, obj_uid(w->sets[i]), -1, w->st) < 0)
            return -1;
        over--;
    }
    return 0;
}

/* ---- status ---- */

static const struct json *available(const struct work *w, const struct json *conditions,
                                    int64_t now, int64_t n)
{
    bool enough = n >= w->rollout.desired - w->rollout.max_unavailable;
    struct obj_condition c = {
        .type = "Available",
        .holds = enough,
        .reason = enough ? STR("MinimumReplicasAvailable") : STR("MinimumReplicasUnavailable"),
        .message = enough ? STR("Deployment has minimum availability.")
                          : STR("Deployment does not have minimum availability."),
        .updates = true
    };

    return obj_condition(w->arena, conditions, &c, now);
}

/* Milliseconds until the deadline; 0: it is over, and stays so until something moves; -1: there is
 * none. */
static int64_t deadline_ms(const struct work *w, const struct json *progressing, int64_t now)
{
    int64_t limit = json_int(json_path(w->deployment, "spec.progressDeadlineSeconds"), 600), since;

    if (w->rollout.paused || limit >= INT32_MAX ||
        !time_parse_seconds(json_get_str(progressing, "lastUpdateTime"), &since))
        return -1;
    if (str_is(json_get_str(progressing, "reason"), "ProgressDeadlineExceeded"))
        return 0;
    return since + limit <= now ? 0 : (since + limit - now) * 1000;
}

static const struct json *progressing(const struct work *w, const struct json *conditions,
                                      int64_t now, bool moved, int *wait_ms)
{
    const struct json *old = condition_find(conditions, "Progressing");
    struct obj_condition c = { .type = "Progressing", .holds = true, .updates = true };
    str name = obj_name(w->sets[0]);
    int64_t left = deadline_ms(w, old, now);

    if (rollout_is_complete(&w->rollout, w->counts, w->n)) {
        c.reason = STR("NewReplicaSetAvailable");
        c.message =
            str_printf(w->arena, "ReplicaSet \"%.*s\" has successfully progressed.", STR_ARG(name));
    } else if (!moved && left == 0) {
        c.holds = false;
        c.reason = STR("ProgressDeadlineExceeded");
        c.message =
            str_printf(w->arena, "ReplicaSet \"%.*s\" has timed out progressing.", STR_ARG(name));
    } else {
        *wait_ms = left > 0 && left < INT32_MAX ? (int)left : *wait_ms;
        c.reason = STR("ReplicaSetUpdated");
        c.message = str_printf(w->arena, "ReplicaSet \"%.*s\" is progressing.", STR_ARG(name));
        if (moved) /* its time counts anew */
            conditions = obj_condition(w->arena, conditions,
                                       &(struct obj_condition){ .type = c.type,
                                                                .holds = true,
                                                                .reason = STR("NewReplicaSet"),
                                                                .updates = true },
                                       now);
    }
    return obj_condition(w->arena, conditions, &c, now);
}

static int put_status(struct work *w, bool moved)
{
    const struct json *d = w->deployment, *old = json_path(d, "status");
    int64_t now = sim_now_s(), replicas = 0, ready = 0, n = 0, unavailable;
    struct json_object o = json_object_new(w->arena);
    const struct json *conditions = json_path(d, "status.conditions");
    int wait_ms = 0;

    for (size_t i = 0; i < w->n; i++) {
        replicas += w->counts[i].replicas;
        ready += number(w->sets[i], "status.readyReplicas");
        n += w->counts[i].available;
    }
    unavailable = w->rollout.desired - n;
    moved |= replicas != number(old, "replicas") || n != number(old, "availableReplicas") ||
             w->counts[0].replicas != number(old, "updatedReplicas");
    conditions = available(w, conditions ? conditions : &json_empty_array, now, n);
    conditions = progressing(w, conditions, now, moved, &wait_ms);
    sim_count(&o, "observedGeneration", number(d, "metadata.generation"));
    sim_count(&o, "replicas", replicas);
    sim_count(&o, "updatedReplicas", w->counts[0].replicas);
    sim_count(&o, "readyReplicas", ready);
    sim_count(&o, "availableReplicas", n);
    sim_count(&o, "unavailableReplicas", unavailable > 0 ? unavailable : 0);
    if (json_get(old, STR("collisionCount")))
        json_add(&o, STR("collisionCount"), *json_get(old, STR("collisionCount")));
    json_add(&o, STR("conditions"), *conditions);
    if (obj_put_status(w->client, w->arena, obj_ref(w->key, "apps", "deployments"), d,
                       json_object_done(&o), w->st) < 0)
        return -1;
    return wait_ms;
}

/* ---- all together ---- */

static int roll(struct work *w)
{
    bool moved;

    read_rollout(w);
    if (read_sets(w) < 0)
        return -1;
    read_counts(w);
    moved = rollout_step(&w->rollout, w->counts, w->n);
    if (w->rollout.paused && !w->has_new)
        w->counts[0].want = 0; /* k8s makes none while it is paused; one of none is as good */
    if (!w->has_new && make_new(w) < 0)
        return -1;
    if (put_revision(w) < 0 || scale(w) < 0)
        return -1;
    if (rollout_is_complete(&w->rollout, w->counts, w->n) && clean_up(w) < 0)
        return -1;
    return put_status(w, moved || !w->has_new);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "apps", "deployments");
    struct work *w = arena_new_of(a, struct work);
    int found;

    w->sim = arg;
    w->client = client;
    w->arena = a;
    w->key = k;
    w->st = st;
    found = obj_get(client, a, &ref, &w->deployment, st);
    if (found <= 0)
        return found;
    return obj_deleting(w->deployment) ? 0 : roll(w);
}

static void set_told(void *arg, struct controller *c, const struct informer_key *k,
                     const struct json *rs, bool deleted)
{
    const struct json *ref = obj_controller(rs);
    struct informer_key owner = { k->instance, k->namespace, json_get_str(ref, "name") };

    (void)arg;
    (void)deleted;
    if (str_is(json_get_str(ref, "kind"), "Deployment"))
        controller_wake_after(c, &owner, GATHER_MS);
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apps"),
               .version = STR_INIT("v1"),
               .resource = STR_INIT("replicasets") },
      .map = set_told },
};

const struct controller_spec sim_deployments = {
    .name = "simulated-deployments",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("apps"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("deployments") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .workers = 2,
    .reconcile = reconcile,
};
