/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The feed of Works: each manifest becomes an object of the member.  It is made by create and
 * replaced by update, not applied: what somebody else adds to it in the member goes away again
 * (labels and annotations apart), as recorded of Karmada.
 *
 * karmada: pkg/controllers/execution, pkg/util/objectwatcher
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"

enum {
    MANIFESTS_MAX = 64,
    TRIES_MAX = 5, /* when others write the same object */
    PAGE = 500,
    LIST_AGAIN_MS = 1000,
};

static void next_manifest(struct job *j);

static const struct json *manifests_of(const struct job *j)
{
    return json_path(j->object, "spec.workload.manifests");
}

static bool is_suspended(const struct job *j)
{
    return json_bool(json_path(j->object, "spec.suspendDispatching"));
}

/* ---- one manifest ---- */

/* It stays as it is; the others are tried. */
static void manifest_failed(struct job *j, const struct status *why)
{
    if (!j->nfailures++) {
        status_init(&j->failed, j->arena);
        status_copy(&j->failed, why);
        j->failures = j->failed.message;
    } else {
        j->failures =
            str_printf(j->arena, "%.*s, %.*s", STR_ARG(j->failures), STR_ARG(why->message));
    }
    j->at++;
    next_manifest(j);
}

/* True when that was the end of it. */
static bool over(struct job *j, const struct status *why)
{
    if (!why)
        return false;
    if (sync_status_silent(why))
        sync_job_failed(j, why);
    else
        manifest_failed(j, why);
    return true;
}

static void manifest_applied(struct job *j, const struct json *observed)
{
    struct target *t = j->target;

    if (observed) {
        if (t->drifted && t->manifest == sync_manifest_hash(j->syncer, j->wanted) && j->wrote)
            sync_target_fixed(t);
        sync_job_observe(j, observed);
        t->manifest = sync_manifest_hash(j->syncer, j->wanted);
    }
    j->applied++;
    j->at++;
    next_manifest(j);
}

static struct client_ref place_of(const struct job *j, const struct json *manifest)
{
    str version = json_get_str(manifest, "apiVersion"), group;
    struct client_ref ref = { .resource = j->mapping->resource,
                              .name = json_get_str(manifest, "metadata.name") };

    (void)str_split(&version, '/', &group);
    ref.group = version.p ? group : STR_NONE;
    ref.version = version.p ? version : group;
    if (j->mapping->namespaced)
        ref.namespace = json_get_str(manifest, "metadata.namespace");
    return ref;
}

static void look(struct job *j);

/*
 * A member may refuse what it has already before it says that it has it: the object's own port is
 * taken, the quota that counts it is full, a webhook does not let it in twice.
 */
static bool may_be_there(const struct job *j, const struct status *why)
{
    return !status_is(why, REASON_NOT_FOUND) && !sync_status_silent(why) && j->tries < TRIES_MAX;
}

static void on_created(struct job *j, const struct json *object, const struct status *why)
{
    if (why && status_is(why, REASON_NOT_FOUND))
        sync_mapping_doubt(j->syncer, j->mapping); /* or its namespace is missing */
    if (why && may_be_there(j, why)) {
        j->tries++;
        status_init(&j->refused, j->arena);
        if (!status_is(why, REASON_ALREADY_EXISTS))
            status_copy(&j->refused, why);
        look(j);
    } else if (!over(j, why)) {
        manifest_applied(j, object);
    }
}

static void create(struct job *j)
{
    struct client_ref ref = place_of(j, j->wanted);
    struct client_query q = sync_target_query(j->syncer);

    ref.name = STR_NONE;
    j->wrote = true;
    sync_wrote(j->syncer, true);
    pace_count(&j->syncer->made, loop_now_ms(j->syncer->loop));
    sync_job_target(j, client_request_create(j->arena, &ref, &q, j->wanted), on_created);
}

static void on_replaced(struct job *j, const struct json *object, const struct status *why)
{
    if (why && status_is(why, REASON_CONFLICT) && j->tries++ < TRIES_MAX)
        look(j);
    else if (why && status_is(why, REASON_NOT_FOUND) && j->tries++ < TRIES_MAX)
        create(j);
    else if (!over(j, why))
        manifest_applied(j, object);
}

static void replace(struct job *j, const struct json *observed)
{
    struct client_ref ref = place_of(j, j->wanted);
    struct client_query q = sync_target_query(j->syncer);
    const struct json *now;
    struct status st;

    status_init(&st, j->arena);
    if (sync_manifest_over(j->syncer, j->arena, j->wanted, observed, &now, &st) < 0) {
        manifest_failed(j, &st);
        return;
    }
    j->wrote = true;
    sync_wrote(j->syncer, true);
    sync_job_target(j, client_request_update(j->arena, &ref, &q, now), on_replaced);
}

/* "resource(kind=Deployment, default/web)" */
static str named(const struct job *j, const struct json *observed)
{
    str name = json_get_str(observed, "metadata.name");

    if (j->mapping->namespaced)
        name = sync_join_key(j->arena, json_get_str(observed, "metadata.namespace"), name);
    return str_printf(j->arena, "resource(kind=%.*s, %.*s)",
                      STR_ARG(json_get_str(j->wanted, "kind")), STR_ARG(name));
}

/* karmada's words, with its empty value: it shows what the object says, which says nothing. */
static void refuse_free(struct job *j, const struct json *observed)
{
    struct status st;

    status_init(&st, j->arena);
    (void)status_set(&st, REASON_ALREADY_EXISTS,
                     "%.*s already exists in the cluster %.*s and the " KARMADA_CONFLICT
                     " strategy value is empty, Karmada will not manage this resource",
                     STR_ARG(named(j, observed)), STR_ARG(j->syncer->o.cluster));
    manifest_failed(j, &st);
}

/* Who it is, as far as the object says it. */
static str owner_named(const struct job *j, const struct json *observed)
{
    str owner = owner_of(observed, j->syncer->o.owner.name);

    if (owner.n)
        return owner_words(j->arena, owner);
    return str_printf(j->arena, "another control plane (by its Work %.*s/%.*s)",
                      STR_ARG(karmada_annotation(observed, KARMADA_WORK_NAMESPACE)),
                      STR_ARG(karmada_annotation(observed, KARMADA_WORK_NAME)));
}

static void refuse_others(struct job *j, const struct json *observed)
{
    struct status st;

    status_init(&st, j->arena);
    (void)status_set(&st, REASON_ALREADY_EXISTS,
                     "%.*s in the cluster %.*s is owned by %.*s: it stays as it is until it is "
                     "deleted or released there",
                     STR_ARG(named(j, observed)), STR_ARG(j->syncer->o.cluster),
                     STR_ARG(owner_named(j, observed)));
    manifest_failed(j, &st);
}

static enum claim claim_on(const struct job *j, const struct json *observed)
{
    return sync_manifest_claim(j->syncer, j->wanted, observed, j->item->key);
}

/* False: it was refused. */
static bool may_take(struct job *j, const struct json *observed)
{
    enum claim claim = claim_on(j, observed);

    if (claim == CLAIM_OTHERS) {
        refuse_others(j, observed);
        return false;
    }
    if (claim == CLAIM_FREE &&
        !str_is(karmada_annotation(j->wanted, KARMADA_CONFLICT), "overwrite")) {
        refuse_free(j, observed);
        return false;
    }
    return true;
}

/* The instance is suspended: it is seen as it is, and stays so. */
static void hold(struct job *j, const struct json *observed, const struct status *why)
{
    if (why && !status_is(why, REASON_NOT_FOUND) && over(j, why))
        return;
    if (!why && claim_on(j, observed) == CLAIM_OURS) {
        sync_job_observe(j, observed);
        sync_target_fixed(j->target); /* who looks for drift comes afterwards */
    }
    j->at++;
    next_manifest(j);
}

static void on_looked(struct job *j, const struct json *observed, const struct status *why)
{
    struct target *t = j->target;

    if (j->syncer->mode == SYNCER_SUSPENDED) {
        hold(j, observed, why);
        return;
    }
    if (why && status_is(why, REASON_NOT_FOUND)) {
        if (!status_is(&j->refused, REASON_OK)) { /* for another reason */
            manifest_failed(j, &j->refused);
            return;
        }
        if (j->tries++ < TRIES_MAX) {
            create(j);
            return;
        }
    }
    if (over(j, why))
        return;
    if (!may_take(j, observed))
        return;
    if (json_path(observed, "metadata.deletionTimestamp") ||
        (t->manifest == sync_manifest_hash(j->syncer, j->wanted) &&
         t->content == sync_content_hash(j->syncer, observed)))
        manifest_applied(j, observed); /* its end is told by the watch, and it is made again then */
    else
        replace(j, observed);
}

static void look(struct job *j)
{
    struct client_ref ref = place_of(j, j->wanted);

    sync_job_target(j, client_request_get(j->arena, &ref), on_looked);
}

static bool is_there(const struct job *j)
{
    const struct target *t = j->target;

    return t->content && !t->drifted && t->manifest == sync_manifest_hash(j->syncer, j->wanted);
}

static void on_mapped(struct job *j, const struct json *none, const struct status *why)
{
    struct client_ref ref;

    (void)none;
    if (over(j, why))
        return;
    ref = place_of(j, j->wanted);
    j->target = sync_target_at(j->item, &ref, j->mapping);
    j->target->wanted = true;
    j->target->ordinal = j->at;
    j->tries = 0;
    j->wrote = false;
    status_init(&j->refused, j->arena);
    if (is_suspended(j)) {
        sync_target_quiet(j->target);
        j->at++;
        next_manifest(j);
    } else if (is_there(j)) {
        manifest_applied(j, NULL);
    } else if (j->target->content || j->target->seen) {
        look(j);
    } else if (j->syncer->mode == SYNCER_SUSPENDED) {
        j->at++;
        next_manifest(j);
    } else {
        create(j);
    }
}

static const char *manifest_fault(const struct json *m, size_t n)
{
    if (n > MANIFESTS_MAX)
        return "too many manifests";
    if (!json_get_str(m, "kind").n || !json_get_str(m, "apiVersion").n)
        return "a manifest without kind and apiVersion";
    return json_get_str(m, "metadata.name").n ? NULL : "a manifest without a name";
}

/* Targets of manifests that the Work has no more. */
static void drop_unwanted(struct item *i)
{
    size_t n = 0;

    for (size_t at = 0; at < i->ntargets; at++)
        if (i->targets[at]->wanted)
            i->targets[n++] = i->targets[at];
        else
            sync_target_free(i->targets[at]);
    i->ntargets = n;
}

static void next_manifest(struct job *j)
{
    const struct json *all = manifests_of(j), *m = json_at(all, j->at);
    const char *fault;
    struct status st;

    if (!m) {
        drop_unwanted(j->item);
        sync_work_tell(j);
        return;
    }
    fault = manifest_fault(m, json_len(all));
    if (fault) {
        j->at = json_len(all); /* of none of them: the Work is wrong */
        j->applied = 0;
        status_init(&st, j->arena);
        (void)status_set(&st, REASON_BAD_REQUEST, "%s", fault);
        manifest_failed(j, &st);
        return;
    }
    j->wanted = sync_manifest_owned(j->arena, m, j->syncer->namespace, j->item->key);
    sync_job_map(j, json_get_str(m, "apiVersion"), json_get_str(m, "kind"), on_mapped);
}

/* ---- the end of a Work: what it made is deleted, or let go, and then its finalizer ---- */

/* karmada: pkg/controllers/execution, handleWorkDelete */

static void next_end(struct job *j);

static void end_released(struct job *j, const struct json *none, const struct status *why)
{
    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND)) {
        sync_job_failed(j, why); /* a conflict, too: it is looked at again */
        return;
    }
    j->at++;
    next_end(j);
}

static void end_looked(struct job *j, const struct json *observed, const struct status *why)
{
    struct client_ref ref = place_of(j, j->wanted);
    struct client_query q = { .field_manager = STR(OWNER_RELEASED) };

    if (why && !status_is(why, REASON_NOT_FOUND)) {
        sync_job_failed(j, why);
        return;
    }
    if (why || claim_on(j, observed) != CLAIM_OURS) {
        j->at++; /* gone, or somebody else's */
        next_end(j);
        return;
    }
    sync_wrote(j->syncer, true);
    if (json_bool(json_path(j->object, "spec.preserveResourcesOnDeletion")))
        sync_job_target(
            j,
            client_request_update(j->arena, &ref, &q,
                                  sync_manifest_released(j->syncer, j->arena, observed)),
            end_released);
    else
        sync_job_target(
            j, client_request_delete(j->arena, &ref, NULL, sync_delete_options(j->arena, observed)),
            end_released);
}

static void end_mapped(struct job *j, const struct json *none, const struct status *why)
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
    ref = place_of(j, j->wanted);
    sync_job_target(j, client_request_get(j->arena, &ref), end_looked);
}

static void end_finalized(struct job *j, const struct json *none, const struct status *why)
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
    struct client_query q = sync_source_query();
    struct json_array left = json_array_new(j->arena);
    const struct json *patch = &json_empty_object;

    json_for_each (f, json_path(j->object, "metadata.finalizers"))
        if (!str_is(json_str(f), KARMADA_WORK_FINALIZER))
            json_push(&left, *f);
    patch = json_set(j->arena, patch, "metadata.finalizers", json_array_done(&left));
    patch = json_set(j->arena, patch, "metadata.resourceVersion",
                     json_path(j->object, "metadata.resourceVersion"));
    sync_job_source(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                    end_finalized);
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
    sync_job_map(j, json_get_str(m, "apiVersion"), json_get_str(m, "kind"), end_mapped);
}

/* The watch must not take what comes now for drift. */
static void end_work(struct job *j)
{
    for (size_t i = 0; i < j->item->ntargets; i++)
        sync_target_free(j->item->targets[i]);
    j->item->ntargets = 0;
    next_end(j);
}

/* ---- the Work ---- */

static void on_work(struct job *j, const struct json *work, const struct status *why);

/* Before the first write to the member: from now on the Work does not go without us. */
static void add_finalizer(struct job *j)
{
    struct client_ref ref = sync_source_ref(j->syncer, j->item);
    struct client_query q = sync_source_query();
    const struct json *patch = finalizer_patch(j->arena, j->object, KARMADA_WORK_FINALIZER);

    sync_job_source(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                    on_work);
}

static void on_work(struct job *j, const struct json *work, const struct status *why)
{
    if (why && status_is(why, REASON_NOT_FOUND)) {
        sync_job_gone(j);
        return;
    }
    if (why) {
        sync_job_failed(j, why);
        return;
    }
    j->object = work;
    for (size_t i = 0; i < j->item->ntargets; i++)
        j->item->targets[i]->wanted = false;
    if (json_path(work, "metadata.deletionTimestamp")) {
        if (finalizer_has(work, KARMADA_WORK_FINALIZER))
            end_work(j);
        else
            sync_job_gone(j);
    } else if (j->syncer->mode == SYNCER_ABANDONED) {
        drop_unwanted(j->item);
        sync_job_done(j);
    } else if (!finalizer_has(work, KARMADA_WORK_FINALIZER)) {
        add_finalizer(j);
    } else {
        next_manifest(j);
    }
}

void sync_work_start(struct job *j)
{
    struct client_ref ref = sync_source_ref(j->syncer, j->item);

    if (sync_news_tell(j))
        return;
    sync_news_release(j->item);
    sync_job_source(j, client_request_get(j->arena, &ref), on_work);
}

/* ---- those that were there before ---- */

struct lister {
    struct syncer *syncer;
    struct client_call call;
    struct arena *arena;
    struct loop_timer timer;
};

static void list_page(struct lister *l, str token);

static void on_page(struct client_call *call, const struct json *list, const struct status *why)
{
    struct lister *l = call->user;
    scoped_arena page = l->arena;
    str token = str_dup(page, json_get_str(list, "metadata.continue"));

    l->arena = NULL;
    json_for_each (work, json_get(list, STR("items")))
        syncer_work(l->syncer, json_get_str(work, "metadata.name"), work);
    if (why)
        loop_timer_set(l->syncer->loop, &l->timer, LIST_AGAIN_MS);
    else if (token.n)
        list_page(l, token);
}

static void list_page(struct lister *l, str token)
{
    struct syncer *s = l->syncer;
    struct client_ref ref = { .instance = s->o.instance,
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("works"),
                              .namespace = s->namespace };
    struct client_query q = { .limit = PAGE, .continue_token = token };

    l->arena = arena_new();
    l->call = (struct client_call){ .req = client_request_list(l->arena, &ref, &q),
                                    .arena = l->arena,
                                    .done = on_page,
                                    .user = l };
    client_call(s->o.source, &l->call);
}

static void on_list_timer(struct loop_timer *t)
{
    struct lister *l =
        (struct lister *)(void *)((char *)t - __builtin_offsetof(struct lister, timer));

    list_page(l, STR_NONE);
}

void sync_works_list(struct syncer *s)
{
    s->lister = mem_zalloc(sizeof(*s->lister));
    s->lister->syncer = s;
    s->lister->timer.fn = on_list_timer;
    list_page(s->lister, STR_NONE);
}

void sync_lister_free(struct lister *l)
{
    if (!l)
        return;
    loop_timer_cancel(l->syncer->loop, &l->timer);
    client_call_cancel(&l->call);
    arena_free(l->arena);
    free(l);
}
