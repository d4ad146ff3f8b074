/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a Work is told of its life in the member: the conditions Dispatching and Applied, and status
 * and health of each object.  Written last, in one piece, and only when it says something new.
 *
 * karmada: pkg/controllers/execution, pkg/controllers/status/work_status_controller.go
 */

#include "base/banned.h"
#include "fleet/syncer_internal.h"
#include "object/meta/condition.h"
#include "object/meta/karmada.h"

/* ---- one object's ---- */

static struct json identifier(struct arena *a, const struct target *t)
{
    struct json_object o = json_object_new(a);
    str namespace, name;

    sync_split_key(t->key, &namespace, &name);
    json_add(&o, STR("ordinal"), json_of_int((int64_t)t->ordinal));
    if (t->watch->ref.group.n)
        json_add(&o, STR("group"), json_of_str(t->watch->ref.group));
    json_add(&o, STR("version"), json_of_str(t->watch->ref.version));
    json_add(&o, STR("kind"), json_of_str(t->watch->kind));
    json_add(&o, STR("resource"), json_of_str(STR("")));
    if (namespace.n)
        json_add(&o, STR("namespace"), json_of_str(namespace));
    json_add(&o, STR("name"), json_of_str(name));
    return json_object_value(&o);
}

str sync_work_status_text(const struct target *t, struct arena *a, const struct json *observed)
{
    const struct syncer_options *by = &t->item->syncer->o;
    struct json_object typed = json_object_from(a, observed), o = json_object_new(a);
    const struct json *status;

    json_put(&typed, STR("kind"), json_of_str(t->watch->kind));
    json_put(&typed, STR("apiVersion"), json_of_str(t->watch->api_version));
    observed = json_object_done(&typed);
    status = by->ops->reflect(by->ops_arg, a, by->instance, observed);
    json_add(&o, STR("identifier"), identifier(a, t));
    if (status)
        json_add(&o, STR("status"), *status);
    json_add(&o, STR("health"),
             json_of_str(str_of(by->ops->health(by->ops_arg, a, by->instance, observed))));
    return json_text(a, json_object_done(&o));
}

static struct target *target_of(const struct item *i, size_t ordinal)
{
    for (size_t n = 0; n < i->ntargets; n++)
        if (i->targets[n]->ordinal == ordinal)
            return i->targets[n];
    return NULL;
}

static const struct json *told_before(const struct json *work, size_t ordinal)
{
    json_for_each (s, json_path(work, "status.manifestStatuses"))
        if (json_int(json_path(s, "identifier.ordinal"), -1) == (int64_t)ordinal)
            return s;
    return NULL;
}

/* What is new of each, else what was told before. */
static const struct json *manifest_statuses(struct job *j)
{
    size_t n = json_len(json_path(j->object, "spec.workload.manifests"));
    struct json_array all = json_array_new(j->arena);
    struct status st;

    status_init(&st, j->arena);
    for (size_t i = 0; i < n; i++) {
        struct target *t = target_of(j->item, i);
        const struct json *v = told_before(j->object, i);
        str text = t && t->status ? str_dup(j->arena, str_of(t->status)) : STR_NONE;

        if (text.n && json_parse(j->arena, text, NULL, &v, &st) == 0)
            t->telling = sync_text_hash(j->syncer, text);
        if (v)
            json_push(&all, *v);
    }
    return json_array_done(&all);
}

/* ---- conditions ---- */

struct work_condition {
    const char *type, *status, *reason;
    str message;
};

static struct json condition_value(struct job *j, const struct work_condition *c,
                                   const struct json *was)
{
    struct json_object o = json_object_new(j->arena);
    const struct json *since = json_get(was, STR("lastTransitionTime"));
    bool same = since && str_is(json_get_str(was, "status"), c->status);

    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    json_add(&o, STR("status"), json_of_str(str_of(c->status)));
    json_add(&o, STR("lastTransitionTime"),
             same ? *since : json_of_str(syncer_now(j->syncer, j->arena)));
    json_add(&o, STR("reason"), json_of_str(str_of(c->reason)));
    json_add(&o, STR("message"), json_of_str(c->message));
    return json_object_value(&o);
}

static const struct json *condition_of(const struct json *work, const char *type)
{
    return condition_find(json_path(work, "status.conditions"), type);
}

/* The Work's, with these in their place, or behind. */
static const struct json *conditions(struct job *j, const struct work_condition *mine, size_t n)
{
    struct json_array all = json_array_new(j->arena);

    json_for_each (c, json_path(j->object, "status.conditions")) {
        size_t i = 0;

        while (i < n && !str_is(json_get_str(c, "type"), mine[i].type))
            i++;
        json_push(&all, i < n ? condition_value(j, &mine[i], c) : *c);
    }
    for (size_t i = 0; i < n; i++)
        if (!condition_of(j->object, mine[i].type))
            json_push(&all, condition_value(j, &mine[i], NULL));
    return json_array_done(&all);
}

static struct work_condition applied(const struct job *j)
{
    size_t n = json_len(json_path(j->object, "spec.workload.manifests"));

    if (!j->nfailures)
        return (struct work_condition){ "Applied", "True", "AppliedSuccessful",
                                        STR("Manifest has been successfully applied") };
    return (struct work_condition){ "Applied", "False", "AppliedFailed",
                                    str_printf(j->arena,
                                               "Failed to apply all manifests (%zu/%zu): "
                                               "%s%.*s%s",
                                               j->applied, n, j->nfailures > 1 ? "[" : "",
                                               STR_ARG(j->failures), j->nfailures > 1 ? "]" : "") };
}

static const struct json *all_conditions(struct job *j)
{
    bool suspended = json_bool(json_path(j->object, "spec.suspendDispatching")) ||
                     j->syncer->mode == SYNCER_SUSPENDED;
    struct work_condition mine[2] = { { "Dispatching", "True", "Dispatching",
                                        STR("Work is being dispatched to member clusters.") } };

    if (suspended) {
        mine[0] = (struct work_condition){ "Dispatching", "False", "SuspendDispatching",
                                           STR("Work dispatching is in a suspended state.") };
        return conditions(j, mine, 1);
    }
    mine[1] = applied(j);
    return conditions(j, mine, 2);
}

/* ---- events: when something fails, and when it works again ---- */

static void tell_event(struct job *j, const struct recorder_object *on)
{
    struct recorder *r = j->syncer->o.recorder;

    if (j->nfailures)
        recorder_tell(r, on, RECORDER_WARNING, "SyncFailed", "Failed to apply all manifests: %.*s",
                      STR_ARG(j->failures));
    else
        recorder_tell(r, on, RECORDER_NORMAL, "SyncSucceed", "Successfully applied to cluster %.*s",
                      STR_ARG(j->syncer->o.cluster));
}

static void tell_events(struct job *j)
{
    const struct json *was = condition_of(j->object, "Applied");
    const struct json *m = json_at(json_path(j->object, "spec.workload.manifests"), 0);
    struct recorder_object on;

    if (!j->syncer->o.recorder || (!j->nfailures && !was) ||
        str_is(json_get_str(was, "status"), j->nfailures ? "False" : "True"))
        return;
    on = recorder_object_of(j->syncer->o.instance, j->object);
    on.api_version = STR("work.karmada.io/v1alpha1");
    on.kind = STR("Work");
    tell_event(j, &on);
    on = recorder_object_of(j->syncer->o.instance, m);
    on.uid = karmada_annotation(m, KARMADA_TEMPLATE_UID);
    on.resource_version = STR_NONE;
    if (on.uid.n)
        tell_event(j, &on);
}

/* ---- the write ---- */

static void finish(struct job *j)
{
    if (j->nfailures)
        sync_job_failed(j, &j->failed);
    else
        sync_job_done(j);
}

/* All is well, and it says so for the first time. */
static bool is_first(const struct job *j)
{
    return !json_len(json_path(j->object, "status.conditions")) && !j->nfailures &&
           !json_bool(json_path(j->object, "spec.suspendDispatching"));
}

/*
 * What is known of it is enough to tell its next news without it; not when it has changed since it
 * was read.
 */
static void note_settled(struct job *j)
{
    j->item->settled = !j->item->dirty && !j->nfailures && j->applied == 1 &&
                       j->item->ntargets == 1 &&
                       json_len(json_path(j->object, "spec.workload.manifests")) == 1 &&
                       !json_bool(json_path(j->object, "spec.suspendDispatching"));
}

void sync_work_tell(struct job *j)
{
    const struct json *conds = all_conditions(j), *all = manifest_statuses(j), *patch;
    const struct json *had = json_path(j->object, "status.manifestStatuses");
    bool same = json_equal(conds, json_path(j->object, "status.conditions"));
    bool first = is_first(j);
    struct client_ref ref = sync_source_ref(j->syncer, j->item);
    struct client_query q = sync_source_query();

    note_settled(j);
    if (same && json_equal(all, had ? had : &json_empty_array)) {
        sync_news_on_told(j, NULL, NULL);
        return;
    }
    if (first)
        sync_news_hold(j->item, json_text(j->arena, conds));
    if ((same || first) && sync_news_wait(j->item) > 0) {
        j->again_ms = sync_news_wait(j->item); /* more may have come by then */
        finish(j);
        return;
    }
    tell_events(j);
    j->item->told_ms = loop_now_ms(j->syncer->loop);
    sync_wrote(j->syncer, false);
    patch = json_set(j->arena, &json_empty_object, "status.conditions", conds);
    if (json_len(all) || had)
        patch = json_set(j->arena, patch, "status.manifestStatuses", all);
    ref.subresource = STR("status");
    sync_job_tell(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                  sync_news_on_told);
}
