/* SPDX-License-Identifier: Apache-2.0 */
#include "search/registry.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/map.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "client/http_transport.h"
#include "client/informer.h"
#include "search/custom_types.h"
#include "search/pedia_spec.h"
#include "search/search.h"

enum { CONNECT_MS = 5000, AGAIN_MS = 5000, LOST_MS = 30000, WANTS_MAX = 256 };

/* One cluster by the name of one kind of object. */
struct place {
    struct registry *registry;
    char *name;
    char *uid, *spec;      /* as it was read */
    char *server;          /* its address, of a PediaCluster */
    bool pedia, apart;     /* apart: an attached instance */
    bool known;            /* to the index */
    struct client *client; /* its own, of a PediaCluster */
    struct member *member; /* of the fleet's */
    struct source *source;
    struct fleet_lookup lookup;
    struct arena *looking; /* a question to the fleet is under way */
    struct loop_timer again;
};

struct registry {
    struct registry_options o;
    struct loop *loop;
    struct http_transport_bounds bounds;
    struct fleet *fleet;
    struct informer *pedias, *members, *instances;
    struct map places;                 /* struct place, by name */
    struct source *inside;             /* of instances: what is built in, */
    struct custom_types *custom_types; /* … and their own kinds */
    struct report *reports;
    struct search_release *releases;
    struct forgetting *forgettings;
};

/* ---- what is written: the status of PediaClusters, the end of virtual clusters ---- */

struct report {
    struct client_call call;
    struct arena *arena;
    struct registry *registry;
    struct report *next, **prev;
};

static void report_end(struct report *r)
{
    *r->prev = r->next;
    if (r->next)
        r->next->prev = r->prev;
    arena_free(r->arena); /* and itself */
}

static void report_done(struct client_call *call, const struct json *object,
                        const struct status *why)
{
    (void)object;
    if (why && !status_is(why, REASON_NOT_FOUND))
        log_warn("what a cluster is told of its index was not written", log_status(why));
    report_end(call->user);
}

/* Takes the arena. */
static void report_send(struct registry *r, struct arena *a, const struct client_ref *ref,
                        const struct json *patch)
{
    struct report *n = arena_new_of(a, struct report);

    n->arena = a;
    n->registry = r;
    n->next = r->reports;
    n->prev = &r->reports;
    if (n->next)
        n->next->prev = &n->next;
    r->reports = n;
    n->call = (struct client_call){ .arena = a, .done = report_done, .user = n };
    n->call.req = client_request_patch(a, ref, NULL, CLIENT_PATCH_MERGE, patch);
    client_call(r->o.root, &n->call);
}

static struct json condition(struct arena *a, const char *type, bool holds, const char *reason,
                             str message, str now)
{
    struct json_object c = json_object_new(a);

    json_add(&c, STR("type"), json_of_str(str_of(type)));
    json_add(&c, STR("status"), json_of_str(holds ? STR("True") : STR("False")));
    json_add(&c, STR("reason"), json_of_str(str_of(reason)));
    json_add(&c, STR("message"), json_of_str(message));
    json_add(&c, STR("lastTransitionTime"), json_of_str(now));
    return json_object_value(&c);
}

static struct json conditions(struct arena *a, bool valid, bool healthy, str message, str now)
{
    struct json_array list = json_array_new(a);

    json_push(&list, condition(a, "Validated", valid, valid ? "Validated" : "InvalidConfig",
                               valid ? STR_NONE : message, now));
    json_push(&list, condition(a, "SynchroRunning", valid, valid ? "Running" : "InitialFailed",
                               STR_NONE, now));
    json_push(&list, condition(a, "ClusterHealthy", healthy, healthy ? "Healthy" : "NotReachable",
                               healthy ? STR_NONE : message, now));
    json_push(&list, condition(a, "Ready", valid && healthy,
                               valid && healthy ? "Ready" : "NotReady", STR_NONE, now));
    return json_array_value(&list);
}

static void report(struct place *p, bool valid, bool healthy, str message, str version)
{
    struct registry *r = p->registry;
    struct arena *a = arena_new();
    struct json_object status = json_object_new(a), patch = json_object_new(a);
    struct client_ref ref = { .group = STR("cluster.clusterpedia.io"),
                              .version = STR("v1alpha2"),
                              .resource = STR("pediaclusters"),
                              .name = str_of(p->name),
                              .subresource = STR("status") };
    char *now = arena_alloc(a, TIME_TEXT_SIZE);

    (void)time_format_seconds(now, clock_wall_s(r->o.clock));
    if (p->server)
        json_add(&status, STR("apiserver"), json_of_str(str_dup(a, str_of(p->server))));
    json_add(&status, STR("version"), json_of_str(str_dup(a, version)));
    json_add(&status, STR("conditions"),
             conditions(a, valid, healthy, str_dup(a, message), str_of(now)));
    json_add(&patch, STR("status"), json_object_value(&status));
    report_send(r, a, &ref, json_object_done(&patch));
}

/* ---- a place's source ---- */

static void place_stop(struct place *p)
{
    if (p->looking) {
        fleet_lookup_cancel(&p->lookup);
        arena_free(p->looking);
        p->looking = NULL;
    }
    loop_timer_cancel(p->registry->loop, &p->again);
    source_free(p->source);
    p->source = NULL;
    client_free(p->client);
    p->client = NULL;
    if (p->member)
        member_unref(p->member);
    p->member = NULL;
}

static void place_free(struct place *p)
{
    place_stop(p);
    free(p->name);
    free(p->uid);
    free(p->spec);
    free(p->server);
    free(p);
}

static void source_state(void *arg, bool healthy, str reason, str version)
{
    struct place *p = arg;

    if (p->pedia)
        report(p, true, healthy, reason, version);
    else if (!healthy)
        loop_timer_set(p->registry->loop, &p->again, LOST_MS);
    else
        loop_timer_cancel(p->registry->loop, &p->again);
}

static void start_source(struct place *p, struct client *client, const struct source_want *wants,
                         size_t n, bool all_custom)
{
    struct source_options o = { .client = client,
                                .search_index = p->registry->o.search_index,
                                .cluster = str_of(p->name),
                                .wants = wants,
                                .nwants = n,
                                .all_custom = all_custom,
                                .apart = p->apart,
                                .state = source_state,
                                .arg = p };

    p->source = source_new(&o);
}

static void place_known(const struct place *p, str reason)
{
    struct search_index_cluster c = { .name = str_of(p->name),
                                      .uid = str_of(p->uid),
                                      .hidden = p->apart,
                                      .apart = p->apart,
                                      .reason = reason };

    search_index_cluster_put(p->registry->o.search_index, &c);
    search_index_submit(search_index_batch_new(p->registry->o.search_index), NULL, NULL);
}

static void instance_known(struct registry *r, str name)
{
    struct search_index_cluster c = { .name = name, .hidden = true }, was;
    scoped_arena a = arena_new();

    if (search_index_cluster(r->o.search_index, a, name, &was) && was.hidden && !was.apart)
        return;
    search_index_cluster_put(r->o.search_index, &c);
    search_index_submit(search_index_batch_new(r->o.search_index), NULL, NULL);
}

static void pedia_start(struct place *p, const struct json *spec)
{
    struct registry *r = p->registry;
    scoped_arena a = arena_new();
    struct source_want *wants = arena_array(a, struct source_want, WANTS_MAX);
    size_t n = pedia_wants(a, json_get(spec, STR("syncResources")), wants, WANTS_MAX);
    struct client_transport *t = NULL;
    struct kubeconfig k;
    struct status st;

    status_init(&st, a);
    if (pedia_kubeconfig(a, spec, &k, &st) == 0)
        t = http_transport_guarded(r->loop, &k, &r->bounds, &st);
    if (!t) {
        place_known(p, st.message);
        report(p, false, false, st.message, STR_NONE);
        return;
    }
    p->client = client_new(t);
    free(p->server);
    p->server = mem_strdup(str_z(a, k.server));
    start_source(p, p->client, wants, n, json_bool(json_get(spec, STR("syncAllCustomResources"))));
}

/* ---- members of the fleet ---- */

static const str everything[] = { STR_INIT("*") };
static const struct source_want want_all = { .group = STR_INIT("*"),
                                             .resources = everything,
                                             .nresources = 1 };

static void ask_fleet(struct place *p);

static void fleet_answers(struct fleet_lookup *l, struct member *m, const struct status *why)
{
    struct place *p = l->user;

    if (m) {
        p->member = m;
        start_source(p, member_client(m), &want_all, 1, true);
    } else {
        place_known(p, why->message);
        loop_timer_set(p->registry->loop, &p->again, AGAIN_MS);
    }
    arena_free(p->looking);
    p->looking = NULL;
}

static void ask_fleet(struct place *p)
{
    struct member_name name = { .cluster = str_of(p->name), .door = MEMBER_REGISTRY };

    p->looking = arena_new();
    p->lookup = (struct fleet_lookup){ .arena = p->looking, .done = fleet_answers, .user = p };
    fleet_lookup(p->registry->fleet, &name, &p->lookup);
}

/* Where it is, or how it is reached, may have changed. */
static void on_again(struct loop_timer *t)
{
    struct place *p = (struct place *)(void *)((char *)t - offsetof(struct place, again));

    place_stop(p);
    ask_fleet(p);
}

/* ---- rows go ---- */

/*
 * The rows of a cluster that is gone.  Until they are, nothing is collected under its name: another
 * cluster that gets it would go on where this one was, and be shown with what this one had.
 */
struct forgetting {
    struct loop_msg msg;       /* first: loops get this */
    struct registry *registry; /* NULL: it has ended meanwhile */
    struct loop *loop;
    struct forgetting *next, **prev;
    char name[];
};

static void place_start(struct place *p);

static bool is_forgotten(const struct registry *r, str name)
{
    for (const struct forgetting *f = r->forgettings; f; f = f->next)
        if (str_is(name, f->name))
            return true;
    return false;
}

static void forgetting_end(struct forgetting *f)
{
    *f->prev = f->next;
    if (f->next)
        f->next->prev = f->prev;
    f->registry = NULL;
}

static void on_forgotten(struct loop_msg *msg)
{
    struct forgetting *f = (struct forgetting *)(void *)msg;
    struct registry *r = f->registry;
    struct place *p;

    if (r) {
        forgetting_end(f);
        p = map_get(&r->places, str_of(f->name));
        if (p && !is_forgotten(r, str_of(f->name)))
            place_start(p);
    }
    free(f);
}

static void forgotten(void *arg) /* on the writer */
{
    struct forgetting *f = arg;

    loop_post(f->loop, &f->msg);
}

static void forget_cluster(struct registry *r, str name)
{
    struct search_index_batch *b = search_index_batch_new(r->o.search_index);
    struct forgetting *f = mem_zalloc(sizeof(*f) + name.n + 1);

    f->msg.fn = on_forgotten;
    f->registry = r;
    f->loop = r->loop;
    memcpy(f->name, name.p, name.n);
    f->next = r->forgettings;
    f->prev = &r->forgettings;
    if (f->next)
        f->next->prev = &f->next;
    r->forgettings = f;
    search_index_drop(b, 0, name);
    search_index_submit(b, forgotten, f);
}

/* ---- objects come and go ---- */

static void place_start(struct place *p)
{
    scoped_arena a = arena_new();
    const struct json *spec;
    struct status st;

    status_init(&st, a);
    if (!p->known)
        place_known(p, STR("it was not reached yet"));
    p->known = true;
    if (!p->pedia)
        ask_fleet(p);
    else if (json_parse(a, str_of(p->spec), NULL, &spec, &st) == 0)
        pedia_start(p, spec);
}

/* The rows are of one that had the name before: also in an index of an earlier start. */
static bool is_another(struct registry *r, const struct place *p)
{
    scoped_arena a = arena_new();
    struct search_index_cluster was;

    return search_index_cluster(r->o.search_index, a, str_of(p->name), &was) &&
           !str_is(was.uid, p->uid);
}

static struct place *place_new(struct registry *r, str name, bool pedia, bool apart)
{
    scoped_arena a = arena_new();
    struct place *p = mem_zalloc(sizeof(*p));

    p->registry = r;
    p->name = mem_strdup(str_z(a, name));
    p->pedia = pedia;
    p->apart = apart;
    p->again.fn = on_again;
    (void)map_put(&r->places, str_of(p->name), p);
    return p;
}

static void place_is(struct registry *r, str name, const struct json *now, bool pedia, bool apart)
{
    scoped_arena a = arena_new();
    struct place *p = map_get(&r->places, name);
    str text = json_text(a, json_get(now, STR("spec"))), uid = json_get_str(now, "metadata.uid");

    if (p && (p->pedia != pedia || (str_is(text, p->spec) && str_is(uid, p->uid))))
        return;
    if (!p)
        p = place_new(r, name, pedia, apart);
    place_stop(p);
    free(p->uid);
    free(p->spec);
    p->uid = mem_strdup(str_z(a, uid));
    p->spec = mem_strdup(str_z(a, text));
    if (!is_forgotten(r, name) && is_another(r, p))
        forget_cluster(r, name);
    p->known = p->known && !is_forgotten(r, name);
    if (!is_forgotten(r, name))
        place_start(p);
}

static void place_gone(struct registry *r, str name, bool pedia)
{
    struct place *p = map_get(&r->places, name);

    if (!p || p->pedia != pedia)
        return;
    (void)map_remove(&r->places, name);
    forget_cluster(r, name);
    place_free(p);
}

static void pedia_is(void *arg, const struct informer_key *k, const struct json *now)
{
    place_is(arg, k->name, now, true, false);
}

static void pedia_gone(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    place_gone(arg, k->name, true);
}

/* ---- the end of an instance ---- */

/*
 * A virtual cluster that is to go waits until its rows are gone, if its instance ends: one that
 * somebody else has deleted comes back.
 */
struct search_release {
    struct loop_msg msg;       /* first: loops get this */
    struct registry *registry; /* NULL: it has ended meanwhile */
    struct loop *loop;
    struct arena *arena;
    struct client_call call; /* about the instance */
    bool asked;              /* and it has been answered */
    str name;
    const struct json *finalizers; /* what is left of them */
    struct search_release *next, **prev;
};

static void release_end(struct search_release *e)
{
    *e->prev = e->next;
    if (e->next)
        e->next->prev = e->prev;
}

static void on_released(struct loop_msg *msg)
{
    struct search_release *e = (struct search_release *)(void *)msg;
    struct client_ref ref = { .group = STR("fleet.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = e->name };

    if (!e->registry) {
        arena_free(e->arena);
        return;
    }
    release_end(e);
    report_send(e->registry, e->arena, &ref,
                json_set(e->arena, &json_empty_object, "metadata.finalizers", e->finalizers));
}

static void rows_gone(void *arg) /* on the writer */
{
    struct search_release *e = arg;

    loop_post(e->loop, &e->msg);
}

static void instance_answered(struct client_call *call, const struct json *instance,
                              const struct status *why)
{
    struct search_release *e = call->user;
    struct search_index_batch *b = search_index_batch_new(e->registry->o.search_index);

    e->asked = true;
    if (why ? status_is(why, REASON_NOT_FOUND) : is_deleting(instance))
        search_index_drop(b, 0, e->name);
    search_index_submit(b, rows_gone, e);
}

static const struct json *other_finalizers(struct arena *a, const struct json *now)
{
    struct json_array left = json_array_new(a);

    json_for_each (f, json_path(now, "metadata.finalizers"))
        if (!str_is(json_str(f), FINALIZER_INDEX))
            json_push(&left, json_of_str(str_dup(a, json_str(f))));
    return json_array_done(&left);
}

static bool is_released(const struct registry *r, str name)
{
    for (const struct search_release *e = r->releases; e; e = e->next)
        if (str_eq(e->name, name))
            return true;
    return false;
}

static void release(struct registry *r, str name, const struct json *now)
{
    struct arena *a = arena_new();
    struct search_release *e = arena_new_of(a, struct search_release);
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances"),
                              .name = str_dup(a, json_get_str(now, "spec.instance")) };

    *e = (struct search_release){ .msg.fn = on_released,
                                  .registry = r,
                                  .loop = r->loop,
                                  .arena = a,
                                  .call = { .arena = a, .done = instance_answered, .user = e },
                                  .name = str_dup(a, name),
                                  .finalizers = other_finalizers(a, now),
                                  .next = r->releases,
                                  .prev = &r->releases };
    if (e->next)
        e->next->prev = &e->next;
    r->releases = e;
    e->call.req = client_request_get(a, &ref);
    client_call(r->o.root, &e->call);
}

static void stop_releases(struct registry *r)
{
    while (r->releases) {
        struct search_release *e = r->releases;

        release_end(e);
        e->registry = NULL;
        if (e->asked)
            continue; /* it comes back from the writer */
        client_call_cancel(&e->call);
        arena_free(e->arena);
    }
}

static void member_is(void *arg, const struct informer_key *k, const struct json *now)
{
    bool virtual = str_is(json_get_str(now, "spec.type"), "Virtual");

    if (is_deleting(now) && finalizer_has(now, FINALIZER_INDEX)) {
        place_gone(arg, k->name, false);
        if (!is_released(arg, k->name))
            release(arg, k->name, now);
        return;
    }
    if (!json_path(now, "spec.secretRef") && json_path(now, "status.leftBehind"))
        place_gone(arg, k->name, false); /* a member that has left all instances */
    else if (!virtual || json_path(now, "spec.secretRef"))
        place_is(arg, k->name, now, false, virtual);
}

static void member_gone(void *arg, const struct informer_key *k, const struct json *last)
{
    (void)last;
    place_gone(arg, k->name, false);
}

static void instance_is(void *arg, const struct informer_key *k, const struct json *now)
{
    scoped_arena a = arena_new();

    if (!json_path(now, "spec.attach"))
        instance_known(arg, search_cluster_name(a, k->name));
}

static void instance_gone(void *arg, const struct informer_key *k, const struct json *last)
{
    scoped_arena a = arena_new();

    (void)last;
    forget_cluster(arg, search_cluster_name(a, k->name));
}

/* What was in the index before this start and is no more named. */
static void members_synced(void *arg)
{
    struct registry *r = arg;
    scoped_arena a = arena_new();
    size_t n;
    struct search_index_cluster *all = search_index_clusters(r->o.search_index, a, &n);

    if (!informer_has_synced(r->pedias) || !informer_has_synced(r->members))
        return;
    for (size_t i = 0; i < n; i++)
        if (!all[i].hidden && !map_get(&r->places, all[i].name))
            forget_cluster(r, all[i].name);
}

static void instances_synced(void *arg)
{
    struct registry *r = arg;
    scoped_arena a = arena_new();
    struct map named = { 0 };
    size_t n, nkeys;
    struct search_index_cluster *all = search_index_clusters(r->o.search_index, a, &n);
    struct informer_key *keys = informer_keys(r->instances, a, &nkeys);

    for (size_t i = 0; i < nkeys; i++)
        (void)map_put(&named, search_cluster_name(a, keys[i].name), r);
    for (size_t i = 0; i < n; i++)
        if (all[i].hidden && !map_get(&named, all[i].name))
            forget_cluster(r, all[i].name);
    map_release(&named);
}

/* ---- kinds inside of instances ---- */

static bool is_built_in(void *arg, str group, str resource)
{
    return source_has_resource(((struct registry *)arg)->inside, group, resource);
}

/* Rows of kinds that no instance has any more. */
static void drop_leftovers(void *arg)
{
    struct registry *r = arg;
    scoped_arena a = arena_new();
    struct search_index_batch *b;
    struct search_index_type *types;
    size_t n;

    if (!custom_types_has_synced(r->custom_types))
        return;
    types = search_index_types_of(r->o.search_index, a, STR_NONE, &n);
    b = search_index_batch_new(r->o.search_index);
    for (size_t i = 0; i < n; i++)
        if (!source_has(r->inside, types[i].id) && !custom_types_has(r->custom_types, types[i].id))
            search_index_drop(b, types[i].id, STR_NONE);
    search_index_submit(b, NULL, NULL);
}

static void inside_looked(void *arg)
{
    struct registry *r = arg;

    if (r->custom_types)
        drop_leftovers(r);
    else
        r->custom_types =
            custom_types_new(&(struct custom_types_options){ .client = r->o.root,
                                                             .search_index = r->o.search_index,
                                                             .known = is_built_in,
                                                             .synced = drop_leftovers,
                                                             .arg = r });
}

static struct informer *follow(struct registry *r, const char *group, const char *version,
                               const char *resource, struct informer_options o)
{
    o.client = r->o.root;
    o.ref = (struct client_ref){ .group = str_of(group),
                                 .version = str_of(version),
                                 .resource = str_of(resource) };
    o.arg = r;
    return informer_new(&o);
}

struct registry *registry_new(const struct registry_options *o)
{
    struct registry *r = mem_zalloc(sizeof(*r));
    struct fleet_options fleet = { .egress = o->egress };

    r->o = *o;
    r->loop = client_loop(o->root);
    r->bounds = (struct http_transport_bounds){
        .guard = egress_guard(o->egress ? o->egress : &egress_default), .connect_ms = CONNECT_MS
    };
    r->fleet = fleet_new(o->root, &fleet);
    r->pedias = follow(r, "cluster.clusterpedia.io", "v1alpha2", "pediaclusters",
                       (struct informer_options){ .added = pedia_is,
                                                  .updated = pedia_is,
                                                  .deleted = pedia_gone,
                                                  .synced = members_synced });
    r->members = follow(r, "fleet.kairship.io", "v1alpha1", "clusters",
                        (struct informer_options){ .added = member_is,
                                                   .updated = member_is,
                                                   .deleted = member_gone,
                                                   .synced = members_synced });
    informer_start(r->pedias);
    informer_start(r->members);
    if (!o->instances)
        return r;
    r->instances =
        follow(r, "tenancy.kairship.io", "v1alpha1", "instances",
               (struct informer_options){
                   .added = instance_is, .deleted = instance_gone, .synced = instances_synced });
    informer_start(r->instances);
    r->inside = source_new(&(struct source_options){ .client = o->root,
                                                     .search_index = o->search_index,
                                                     .wildcard = true,
                                                     .wants = &want_all,
                                                     .nwants = 1,
                                                     .all_custom = true,
                                                     .looked = inside_looked,
                                                     .arg = r });
    return r;
}

void registry_free(struct registry *r)
{
    str key;
    void *p;

    if (!r)
        return;
    informer_free(r->pedias);
    informer_free(r->members);
    if (r->instances)
        informer_free(r->instances);
    custom_types_free(r->custom_types);
    source_free(r->inside);
    for (size_t at = 0; map_each(&r->places, &at, &key, &p);)
        place_free(p);
    map_release(&r->places);
    stop_releases(r);
    while (r->forgettings)
        forgetting_end(r->forgettings); /* they come back from the writer */
    while (r->reports) {
        client_call_cancel(&r->reports->call);
        report_end(r->reports);
    }
    fleet_free(r->fleet);
    free(r);
}

void registry_instances_flush(struct registry *r)
{
    source_flush(r->inside);
    if (r->custom_types)
        custom_types_flush(r->custom_types);
}

bool registry_instances_live(const struct registry *r)
{
    return r->inside && source_is_live(r->inside) && r->custom_types &&
           custom_types_is_live(r->custom_types);
}
