/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The feed of labelled objects: each has a copy in the member, of the same name and labels, in a
 * namespace whose name tells the instance and the namespace it comes from, so that nothing of two
 * instances can meet.  Written by server-side apply; the copy's status goes back.
 *
 * The copies have no finalizer in the instance: one whose object went while no syncer was there is
 * found by its label and its locator.
 *
 * kcp: v0.2 … v0.5, pkg/syncer
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "fleet/syncer_internal.h"

enum { TRIES_MAX = 3 };

/* ---- the copy ---- */

static struct client_ref copy_ref(const struct job *j)
{
    struct client_ref ref = sync_source_ref(j->syncer, j->item);

    ref.instance = STR_NONE;
    ref.namespace = sync_place_name(j);
    return ref;
}

static const struct json *copy_of(const struct job *j)
{
    struct client_ref ref = copy_ref(j);
    const struct json *v = sync_manifest_bare(j->arena, j->object);
    const struct json *notes = json_path(v, "metadata.annotations");
    struct json_object o = json_object_from(j->arena, notes ? notes : &json_empty_object);

    json_put(&o, STR(SYNCER_LOCATOR), json_of_str(sync_place_locator(j)));
    v = json_set(j->arena, v, "metadata.annotations", json_object_done(&o));
    return json_set(j->arena, v, "metadata.namespace",
                    json_box(j->arena, json_of_str(ref.namespace)));
}

/* ---- status ---- */

/* A status of an older spec does not say which one it has observed. */
str sync_label_status_text(struct arena *a, const struct json *observed)
{
    const struct json *status = json_get(observed, STR("status"));
    const struct json *seen = json_get(status, STR("observedGeneration"));

    if (seen && json_int(seen, 0) < json_int(json_path(observed, "metadata.generation"), 0))
        status = json_set(a, status, "observedGeneration", NULL);
    return status ? json_text(a, status) : STR_NONE;
}

/*
 * Generations are counted on each side for itself: what the member has observed is this object's
 * generation, since the copy is made of it; else it is what it was.
 */
static const struct json *in_our_terms(const struct job *j, const struct json *status)
{
    const struct json *before = json_path(j->object, "status.observedGeneration");
    const struct json *now = json_path(j->object, "metadata.generation");

    if (!json_is(status, JSON_OBJECT))
        return status;
    if (json_get(status, STR("observedGeneration")))
        return now ? json_set(j->arena, status, "observedGeneration", now) : status;
    return before ? json_set(j->arena, status, "observedGeneration", before) : status;
}

static void tell(struct job *j)
{
    struct target *t = j->target;
    struct client_ref ref = sync_source_ref(j->syncer, j->item);
    struct client_query q = sync_source_query();
    const struct json *status;
    int64_t wait = sync_news_wait(j->item);
    struct status st;
    str text = t->status ? str_dup(j->arena, str_of(t->status)) : STR_NONE;

    status_init(&st, j->arena);
    if (!text.n || json_parse(j->arena, text, NULL, &status, &st) < 0) {
        sync_job_done(j);
        return;
    }
    t->telling = sync_text_hash(j->syncer, text);
    status = in_our_terms(j, status);
    if (json_equal(status, json_get(j->object, STR("status")))) {
        sync_news_on_told(j, NULL, NULL);
        return;
    }
    if (wait > 0) {
        j->again_ms = wait;
        sync_job_done(j);
        return;
    }
    j->item->told_ms = loop_now_ms(j->syncer->loop);
    sync_wrote(j->syncer, false);
    ref.subresource = STR("status");
    sync_job_source(
        j,
        client_request_update(j->arena, &ref, &q, json_set(j->arena, j->object, "status", status)),
        sync_news_on_told);
}

/* The instance is suspended: what the member has is seen, and stays so. */
static void on_seen(struct job *j, const struct json *observed, const struct status *why)
{
    if (why || !str_eq(sync_locator_of(observed), sync_place_locator(j))) {
        sync_job_done(j);
        return;
    }
    sync_job_observe(j, observed);
    sync_target_fixed(j->target);
    tell(j);
}

static void tell_as_it_is(struct job *j)
{
    struct client_ref ref = copy_ref(j);

    sync_job_target(j, client_request_get(j->arena, &ref), on_seen);
}

/* ---- writing ---- */

static void on_there(struct job *j, const struct json *none, const struct status *why);

static void on_applied(struct job *j, const struct json *object, const struct status *why)
{
    if (why && status_is(why, REASON_NOT_FOUND) && j->tries++ < TRIES_MAX) {
        sync_place_lost(j); /* it has been deleted */
        sync_place_need(j, on_there);
        return;
    }
    if (why) {
        sync_job_failed(j, why);
        return;
    }
    if (j->target->drifted && j->target->manifest == sync_manifest_hash(j->syncer, j->wanted))
        sync_target_fixed(j->target);
    j->target->told = 0; /* the same status is of another generation now */
    sync_job_observe(j, object);
    j->target->manifest = sync_manifest_hash(j->syncer, j->wanted);
    tell(j);
}

static void apply(struct job *j)
{
    struct client_ref ref = copy_ref(j);
    struct client_query q = sync_target_query(j->syncer);

    q.force = true;
    sync_wrote(j->syncer, true);
    sync_job_target(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_APPLY, j->wanted),
                    on_applied);
}

static void on_taken_over(struct job *j, const struct json *none, const struct status *why)
{
    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND))
        sync_job_failed(j, why); /* a conflict, too: it is looked at again */
    else
        apply(j);
}

/* What an older program applied is ours to take away. */
static void on_old_copy(struct job *j, const struct json *observed, const struct status *why)
{
    struct client_ref ref = copy_ref(j);
    struct client_query q = sync_target_query(j->syncer);
    const struct json *patch = &json_empty_object, *managers;

    managers = why ? NULL : owner_applied(j->arena, observed, q.field_manager);
    if (!managers) {
        on_taken_over(j, NULL, why);
        return;
    }
    patch = json_set(j->arena, patch, "metadata.managedFields", managers);
    patch = json_set(j->arena, patch, "metadata.resourceVersion",
                     json_path(observed, "metadata.resourceVersion"));
    sync_job_target(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                    on_taken_over);
}

static void on_there(struct job *j, const struct json *none, const struct status *why)
{
    struct client_ref ref = copy_ref(j);

    (void)none, (void)why;
    if (sync_place_is_old(j) && !j->target->content)
        sync_job_target(j, client_request_get(j->arena, &ref), on_old_copy);
    else
        apply(j);
}

/* ---- deleting ---- */

static void on_removed(struct job *j, const struct json *none, const struct status *why)
{
    (void)none;
    if (why && !status_is(why, REASON_NOT_FOUND))
        sync_job_failed(j, why);
    else
        sync_job_gone(j);
}

static void on_copy(struct job *j, const struct json *observed, const struct status *why)
{
    struct client_ref ref = copy_ref(j);

    if (why || !str_eq(sync_locator_of(observed), sync_place_locator(j)) ||
        json_path(observed, "metadata.deletionTimestamp")) {
        on_removed(j, NULL, why);
        return;
    }
    sync_wrote(j->syncer, true);
    sync_job_target(
        j, client_request_delete(j->arena, &ref, NULL, sync_delete_options(j->arena, observed)),
        on_removed);
}

static void remove_copy(struct job *j)
{
    struct client_ref ref = copy_ref(j);

    for (size_t i = 0; i < j->item->ntargets; i++)
        sync_target_free(j->item->targets[i]);
    j->item->ntargets = 0;
    sync_job_target(j, client_request_get(j->arena, &ref), on_copy);
}

/* ---- an object of the source ---- */

/* Every namespace of a member has these already, made by the member itself. */
static bool is_members_own(const struct job *j)
{
    str namespace, name;

    sync_split_key(j->item->key, &namespace, &name);
    return (str_is(name, "kube-root-ca.crt") &&
            str_is(j->item->feed->type.resource, "configmaps")) ||
           (str_is(name, "default") && str_is(j->item->feed->type.resource, "serviceaccounts"));
}

/*
 * Whether the source says that there is no such object.  An instance or a type that is not served,
 * maybe only now, is a 404 as well, which names another thing: nobody has deleted anything then.
 */
static bool is_absent(const struct job *j, const struct status *why)
{
    return why && status_is(why, REASON_NOT_FOUND) &&
           str_eq(why->name, sync_source_ref(j->syncer, j->item).name);
}

/* NULL: there is to be no copy. */
static void on_place(struct job *j, const struct json *none, const struct status *why)
{
    struct client_ref ref = copy_ref(j);
    struct target *t;

    (void)none, (void)why;
    if (!j->object) {
        remove_copy(j);
        return;
    }
    j->wanted = copy_of(j);
    t = j->target = sync_target_at(j->item, &ref, NULL);
    if (t->content && !t->drifted && t->manifest == sync_manifest_hash(j->syncer, j->wanted))
        tell(j);
    else if (t->content && j->syncer->mode == SYNCER_SUSPENDED)
        tell_as_it_is(j);
    else
        sync_place_need(j, on_there);
}

static void on_object(struct job *j, const struct json *object, const struct status *why)
{
    const struct json *labels = json_path(object, "metadata.labels");
    str cluster = json_str(json_get(labels, STR(SYNCER_CLUSTER_LABEL)));

    if (why && !is_absent(j, why)) {
        sync_job_failed(j, why);
        return;
    }
    if (why || !str_eq(cluster, j->syncer->o.cluster) ||
        json_path(object, "metadata.deletionTimestamp"))
        object = NULL;
    if (object && is_members_own(j)) {
        sync_job_done(j);
        return;
    }
    j->object = object;
    sync_place_find(j, on_place);
}

void sync_label_start(struct job *j)
{
    struct client_ref ref = sync_source_ref(j->syncer, j->item);

    sync_job_source(j, client_request_get(j->arena, &ref), on_object);
}

/* ---- what is heard ---- */

static void on_source(void *arg, const struct informer_key *k, const struct json *now)
{
    scoped_arena a = arena_new();
    struct sync_feed *f = arg;
    str key = sync_join_key(a, k->namespace, k->name);
    struct item *i = map_get(&f->items, key);
    uint64_t version = now ? sync_content_hash(f->syncer, now) : 0;

    if (!k->namespace.n || (i && version && version == i->version))
        return;
    if (!i)
        i = sync_item_new(f->syncer, f, key);
    i->version = version;
    sync_item_wake(i, true);
}

static void on_deleted(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    on_source(arg, k, NULL);
}

static bool is_type(const struct sync_feed *f, const struct syncer_type *t)
{
    return str_eq(f->type.resource, t->resource) && str_eq(f->type.group, t->group) &&
           str_eq(f->type.version, t->version);
}

/* Old copies are of no known installation: whose they are, their namespace says. */
static bool may_be_ours(const struct syncer *s, const struct syncer_origin *from)
{
    return str_eq(from->logical, s->o.logical) &&
           (from->installation.n ? str_eq(from->installation, s->o.owner.installation)
                                 : s->o.owner.origin == INSTALLATION_UPGRADED);
}

/* A copy that no object is known for, yet or any more. */
void sync_label_stray(struct watch *w, const struct json *observed)
{
    scoped_arena a = arena_new();
    struct syncer_type type = { w->ref.group, w->ref.version, w->ref.resource };
    struct sync_feed *f = w->syncer->feeds;
    struct syncer_origin from;
    str key;

    while (f && !is_type(f, &type))
        f = f->next;
    if (!f || !syncer_origin_read(a, sync_locator_of(observed), &from) ||
        !may_be_ours(w->syncer, &from))
        return;
    key = sync_join_key(a, from.namespace, json_get_str(observed, "metadata.name"));
    if (!map_get(&f->items, key))
        sync_item_wake(sync_item_new(w->syncer, f, key), true);
}

/* ---- types ---- */

static void feed_start(struct syncer *s, const struct syncer_type *type)
{
    scoped_arena a = arena_new();
    struct sync_feed *f = mem_zalloc(sizeof(*f));
    struct client_ref ref;
    struct informer_options o = { .client = s->o.source,
                                  .label_selector = str_printf(a, SYNCER_CLUSTER_LABEL "=%.*s",
                                                               STR_ARG(s->o.cluster)),
                                  .added = on_source,
                                  .updated = on_source,
                                  .deleted = on_deleted,
                                  .arg = f };

    f->syncer = s;
    f->arena = arena_new();
    f->type =
        (struct syncer_type){ str_dup(f->arena, type->group), str_dup(f->arena, type->version),
                              str_dup(f->arena, type->resource) };
    f->next = s->feeds;
    s->feeds = f;
    ref = (struct client_ref){ .group = f->type.group,
                               .version = f->type.version,
                               .resource = f->type.resource };
    sync_watch_ensure(s, &ref);
    ref.instance = s->o.instance;
    o.ref = ref;
    f->informer = informer_new(&o);
    informer_start(f->informer);
}

static void feed_free(struct sync_feed *f)
{
    informer_free(f->informer);
    sync_items_free(f->syncer, &f->items);
    arena_free(f->arena);
    free(f);
}

void syncer_set_types(struct syncer *s, const struct syncer_type *types, size_t n)
{
    for (struct sync_feed **p = &s->feeds; *p;) {
        struct sync_feed *f = *p;
        size_t i = 0;

        while (i < n && !is_type(f, &types[i]))
            i++;
        if (i < n) {
            p = &f->next;
            continue;
        }
        *p = f->next;
        feed_free(f);
    }
    for (size_t i = 0; i < n; i++) {
        struct sync_feed *f = s->feeds;

        while (f && !is_type(f, &types[i]))
            f = f->next;
        if (!f)
            feed_start(s, &types[i]);
    }
}
