/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The end of a Work: what it made in the member is deleted, or let go, and then its finalizer.
 *
 * karmada: pkg/controllers/execution, handleWorkDelete
 */

#include "base/banned.h"
#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"

static void next_end(struct job *j);

static void on_released(struct job *j, const struct json *none, const struct status *why)
{
    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND)) {
        sync_job_failed(j, why); /* a conflict, too: it is looked at again */
        return;
    }
    j->at++;
    next_end(j);
}

static void on_looked(struct job *j, const struct json *observed, const struct status *why)
{
    struct client_ref ref = sync_work_place(j, j->wanted);
    struct client_query q = sync_manager_query();

    if (why && !status_is(why, REASON_NOT_FOUND)) {
        sync_job_failed(j, why);
        return;
    }
    if (why || !sync_manifest_is_ours(observed, STR_NONE, STR_NONE)) {
        j->at++; /* gone, or somebody else's */
        next_end(j);
        return;
    }
    j->syncer->stats.writes++;
    if (json_bool(json_path(j->object, "spec.preserveResourcesOnDeletion")))
        sync_job_target(
            j,
            client_request_update(j->arena, &ref, &q, sync_manifest_released(j->arena, observed)),
            on_released);
    else
        sync_job_target(
            j, client_request_delete(j->arena, &ref, NULL, sync_delete_options(j->arena, observed)),
            on_released);
}

static void on_mapped(struct job *j, const struct json *none, const struct status *why)
{
    struct client_ref ref;

    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND)) {
        sync_job_failed(j, why);
        return;
    }
    if (why) { /* the member has no such kind, so no such object */
        j->at++;
        next_end(j);
        return;
    }
    ref = sync_work_place(j, j->wanted);
    sync_job_target(j, client_request_get(j->arena, &ref), on_looked);
}

static void on_finalized(struct job *j, const struct json *none, const struct status *why)
{
    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND))
        sync_job_failed(j, why);
    else
        sync_job_gone(j);
}

static void drop_finalizer(struct job *j)
{
    struct client_ref ref = sync_source_ref(j->syncer, j->item);
    struct client_query q = sync_manager_query();
    struct json_array left = json_array_new(j->arena);
    const struct json *patch = &json_empty_object;

    json_for_each (f, json_path(j->object, "metadata.finalizers"))
        if (!str_is(json_str(f), KARMADA_WORK_FINALIZER))
            json_push(&left, *f);
    patch = json_set(j->arena, patch, "metadata.finalizers", json_array_done(&left));
    patch = json_set(j->arena, patch, "metadata.resourceVersion",
                     json_path(j->object, "metadata.resourceVersion"));
    sync_job_source(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                    on_finalized);
}

static void next_end(struct job *j)
{
    const struct json *m = json_at(json_path(j->object, "spec.workload.manifests"), j->at);

    if (!m || j->syncer->mode == SYNCER_ABANDONED) {
        drop_finalizer(j);
        return;
    }
    j->wanted = m;
    if (!json_get_str(m, "metadata.name").n || !json_get_str(m, "kind").n) {
        j->at++; /* it was never made */
        next_end(j);
        return;
    }
    sync_job_map(j, json_get_str(m, "apiVersion"), json_get_str(m, "kind"), on_mapped);
}

/* The watch must not take what comes now for drift. */
void sync_work_delete(struct job *j)
{
    for (size_t i = 0; i < j->item->ntargets; i++)
        sync_target_free(j->item->targets[i]);
    j->item->ntargets = 0;
    next_end(j);
}
