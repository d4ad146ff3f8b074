/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The syncers of kcp's Clusters: run here (push), brought into the member (pull), or left to
 * somebody else (none); and what is to be thought of a Cluster by what its syncer says.  Each
 * condition has one owner: SyncerReady is the syncer's, or ours when it could not be started;
 * HeartbeatHealthy is ours; Ready is the sum of all.
 *
 * kcp: pkg/reconciler/cluster, v0.4's layout of conditions
 */

#include "federation/controllers/members/syncer_manager.h"

#include "base/banned.h"
#include "base/encode.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"
#include "fleet/syncer_install.h"
#include "fleet/syncer_leave.h"
#include "object/meta/condition.h"
#include "object/meta/release.h"

#define FINALIZER "kairship.io/syncer" /* what was put into the member is taken out again */

enum {
    BEAT_MS = 20000,
    SILENCE_MS = 60000,
    TOKEN_WAIT_MS = 200,
    SILENT_S = 3, /* a member that does not answer keeps its Cluster so long, … */
    ANSWER_MS = 2000,
    LEAVE_S = 30, /* … one whose copies do not go, so long */
    LEAVE_AGAIN_MS = 500,
};

/* Why there is no syncer. */
#define NO_WAY        "InvalidKubeConfig"
#define NO_IMAGE      "NoSyncerImage"
#define NOT_INSTALLED "ErrorInstallingSyncer"

bool syncer_place_parse(str text, enum syncer_place *out)
{
    static const char *const names[] = {
        [SYNCER_PUSH] = "push", [SYNCER_PULL] = "pull", [SYNCER_NONE] = "none"
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (str_is(text, names[i])) {
            *out = (enum syncer_place)i;
            return true;
        }
    return false;
}

/* ---- types, until an import changes ---- */

struct known {
    struct arena *arena;
    struct syncer_types types;
    bool fresh; /* no import has changed since they were looked up */
    str key;
};

static str known_key(struct arena *a, str instance, str cluster)
{
    return str_printf(a, "%.*s/%.*s", STR_ARG(instance), STR_ARG(cluster));
}

static void known_free(struct known *k)
{
    if (k)
        arena_free(k->arena); /* it is in there */
}

void syncer_manager_init(struct syncer_manager *m)
{
    *m = (struct syncer_manager){ 0 };
    (void)pthread_mutex_init(&m->mu, NULL);
}

void syncer_manager_release(struct syncer_manager *m)
{
    size_t at = 0;
    void *k;
    str key;

    while (map_each(&m->known, &at, &key, &k))
        known_free(k);
    map_release(&m->known);
    suspensions_release(&m->suspensions);
    (void)pthread_mutex_destroy(&m->mu);
}

static void forget_types(struct syncer_manager *m, str instance, str cluster)
{
    scoped_arena a = arena_new();
    struct known *k;

    (void)pthread_mutex_lock(&m->mu);
    k = map_remove(&m->known, known_key(a, instance, cluster));
    (void)pthread_mutex_unlock(&m->mu);
    known_free(k);
}

static struct syncer_types copy_types(struct arena *a, const struct syncer_types *from)
{
    struct syncer_types to = { arena_array(a, struct syncer_type, from->n + 1), from->n };

    for (size_t i = 0; i < from->n; i++)
        to.types[i] = (struct syncer_type){ str_dup(a, from->types[i].group),
                                            str_dup(a, from->types[i].version),
                                            str_dup(a, from->types[i].resource) };
    return to;
}

/* True and a copy; else there is an entry now that waits for remember_types(). */
static bool recall_types(struct syncer_manager *m, struct arena *a, str key,
                         struct syncer_types *out)
{
    struct known *k;
    struct arena *own;
    bool fresh;

    (void)pthread_mutex_lock(&m->mu);
    k = map_get(&m->known, key);
    fresh = k && k->fresh;
    if (fresh)
        *out = copy_types(a, &k->types);
    if (!k) {
        own = arena_new();
        k = arena_new_of(own, struct known);
        k->arena = own;
        k->key = str_dup(own, key);
        (void)map_put(&m->known, k->key, k);
    }
    (void)pthread_mutex_unlock(&m->mu);
    return fresh;
}

/* If nothing has changed meanwhile: the entry is still there. */
static void remember_types(struct syncer_manager *m, str key, const struct syncer_types *t)
{
    struct known *k;

    (void)pthread_mutex_lock(&m->mu);
    k = map_get(&m->known, key);
    if (k) {
        k->types = copy_types(k->arena, t);
        k->fresh = true;
    }
    (void)pthread_mutex_unlock(&m->mu);
}

static int look_up_types(struct syncer_manager *m, struct client *client, struct arena *a,
                         const struct informer_key *k, str instance, struct syncer_types *out,
                         struct status *st)
{
    str key = known_key(a, k->instance, k->name);

    if (recall_types(m, a, key, out))
        return 0;
    if (syncer_types_imported(client, a, instance, k->name, out, st) < 0)
        return -1;
    remember_types(m, key, out);
    return 0;
}

/* One look at one Cluster. */
struct look {
    struct syncer_manager *manager;
    struct client *client;
    struct arena *arena;
    struct client_ref ref;
    str logical;
    struct ownership owner; /* of what its syncer makes */
    const struct json *cluster;
    bool suspended; /* its instance */
    struct syncer_types types;
    const char *failed; /* why there is no syncer, in one word; NULL: there is one, or will be */
    str message;
};

static struct clock *clock_of(const struct look *l)
{
    return l->manager->clock ? l->manager->clock : clock_real();
}

static int64_t beat_of(const struct syncer_manager *m)
{
    return m->beat_ms ? m->beat_ms : BEAT_MS;
}

static int64_t silence_of(const struct syncer_manager *m)
{
    return m->silence_ms ? m->silence_ms : SILENCE_MS;
}

static struct member_name member_of(const struct look *l)
{
    return (struct member_name){ .instance = l->ref.instance,
                                 .cluster = l->ref.name,
                                 .door = MEMBER_KCP };
}

static void note_failure(struct look *l, const char *reason, const struct status *st)
{
    l->failed = reason;
    l->message = str_dup(l->arena, st->message);
}

/* ---- push ---- */

static void push(struct look *l, struct status *st)
{
    struct member_name name = member_of(l);
    struct works_order o = { .instance = l->ref.instance,
                             .cluster = l->ref.name,
                             .door = MEMBER_KCP,
                             .mode = l->suspended ? SYNCER_SUSPENDED : SYNCER_RUNNING,
                             .options = { .feeds = SYNCER_LABELS,
                                          .logical = l->logical,
                                          .types = l->types.types,
                                          .ntypes = l->types.n,
                                          .beat_ms = beat_of(l->manager) } };

    o.options.owner = l->owner;
    if (fleet_member(works_fleet(l->manager->works), l->arena, &name, &o.member, st) < 0) {
        works_drop(l->manager->works, l->ref.instance, l->ref.name, MEMBER_KCP);
        note_failure(l, NO_WAY, st);
        return;
    }
    works_keep(l->manager->works, l->client, &o);
}

/* ---- signs of life ---- */

/* *left_ms: until it would be too late for the next one. */
static struct condition heartbeat(const struct look *l, int64_t *left_ms)
{
    str text = json_get_str(l->cluster, "status.lastSyncerHeartbeatTime");
    int64_t last_s, most = silence_of(l->manager);

    *left_ms = most;
    if (!time_parse_seconds(text, &last_s))
        return (struct condition){ "HeartbeatHealthy", "False", "Warning", "ErrorHeartbeat",
                                   .message = STR("No heartbeat yet seen") };
    *left_ms = (last_s - clock_wall_s(clock_of(l))) * 1000 + most;
    if (*left_ms <= 0) {
        *left_ms = most;
        return (struct condition){ "HeartbeatHealthy", "False", "Warning", "ErrorHeartbeat",
                                   .message = str_printf(l->arena, "No heartbeat since %.*s",
                                                         STR_ARG(text)) };
    }
    return (struct condition){ .type = "HeartbeatHealthy", .status = "True" };
}

/* ---- pull ---- */

static struct syncer_install install_of(const struct look *l)
{
    return (struct syncer_install){ .logical = l->logical,
                                    .cluster = l->ref.name,
                                    .uid = json_get_str(l->cluster, "metadata.uid"),
                                    .image = l->manager->image,
                                    .types = &l->types,
                                    .beat_s = beat_of(l->manager) / 1000 };
}

static int apply_all(const struct look *l, struct client *to, str instance,
                     const struct syncer_object *all, size_t n, struct status *st)
{
    for (size_t i = 0; i < n; i++) {
        struct client_ref ref = all[i].ref;

        ref.instance = instance;
        if (client_apply(to, l->arena, &ref, STR("kairship"), all[i].object, NULL, st) < 0)
            return -1;
    }
    return 0;
}

static int delete_all(struct client *at, struct arena *a, str instance,
                      const struct syncer_object *all, size_t n, struct status *st)
{
    for (size_t i = n; i-- > 0;) {
        struct client_ref ref = all[i].ref;

        ref.instance = instance;
        if (client_delete(at, a, &ref, NULL, st) < 0 && !status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
    }
    return 0;
}

/* The syncer's kubeconfig; *out is empty as long as its token has not been made. */
static int own_kubeconfig(const struct look *l, const struct syncer_install *i, secret *out,
                          struct status *st)
{
    struct syncer_object all[SYNCER_ACCOUNT_OBJECTS];
    struct client_ref ref;
    struct kubeconfig k = { .context = l->logical,
                            .ca_pem =
                                l->manager->ca_pem.n ? l->manager->ca_pem : client_ca(l->client) };
    const struct json *kept;
    str plain = STR_NONE;

    *out = SECRET_NONE;
    syncer_install_account(l->arena, i, all);
    if (apply_all(l, l->client, l->ref.instance, all, SYNCER_ACCOUNT_OBJECTS, st) < 0)
        return -1;
    ref = all[SYNCER_ACCOUNT_OBJECTS - 1].ref;
    ref.instance = l->ref.instance;
    if (client_get(l->client, l->arena, &ref, &kept, st) < 0)
        return -1;
    if (!base64_decode(l->arena, BASE64_GO, json_get_str(kept, "data.token"), &plain) || !plain.n)
        return 0;
    k.token = secret_of(plain);
    k.server = l->ref.instance.n ? str_printf(l->arena, "%.*s/clusters/%.*s",
                                              STR_ARG(l->manager->server), STR_ARG(l->logical))
                                 : l->manager->server;
    *out = kubeconfig_write(l->arena, &k, 1);
    return 0;
}

static int install(struct look *l, struct status *st)
{
    struct syncer_install i = install_of(l);
    struct syncer_object all[SYNCER_OBJECTS];
    struct member_name name = member_of(l);
    struct member *m;
    int rc;

    if (own_kubeconfig(l, &i, &i.kubeconfig, st) < 0)
        return -1;
    if (secret_empty(i.kubeconfig))
        return TOKEN_WAIT_MS;
    if (fleet_member(works_fleet(l->manager->works), l->arena, &name, &m, st) < 0)
        return -1;
    syncer_install_member(l->arena, &i, all);
    rc = apply_all(l, member_client(m), STR_NONE, all, SYNCER_OBJECTS, st);
    member_unref(m);
    return rc;
}

/* One that is there and speaks goes on as it is. */
static void miss_image(struct look *l)
{
    int64_t left_ms;

    if (!heartbeat(l, &left_ms).reason)
        return;
    l->failed = NO_IMAGE;
    l->message = STR("No image for the syncer: start the controllers (kairship up or "
                     "controller-manager) with --syncer-image and an image that this cluster can "
                     "pull");
}

/* A syncer without types has nothing to do, and a role without rules no meaning. */
static int pull(struct look *l, struct status *st)
{
    int rc;

    if (!l->manager->image.n) {
        miss_image(l);
        return 0;
    }
    if (!l->types.n)
        return 0;
    rc = install(l, st);
    if (rc < 0)
        note_failure(l, NOT_INSTALLED, st);
    return rc > 0 ? rc : 0;
}

static bool is_overdue(const struct look *l, int64_t limit_s)
{
    int64_t since;

    return !time_parse_seconds(json_get_str(l->cluster, "metadata.deletionTimestamp"), &since) ||
           clock_wall_s(clock_of(l)) - since > limit_s;
}

/* The instance goes, and what it distributed is to stay. */
static bool keeps_copies(struct look *l)
{
    const struct json *instance = instance_ending(l->client, l->arena, l->ref.instance);

    return instance && release_of(instance) != RELEASE_DESTROY;
}

/* One that hangs is not waited for at each of many steps. */
static int greet(const struct look *l, struct client *member, struct status *st)
{
    struct client_ref ref = { .version = STR("v1"),
                              .resource = STR("namespaces"),
                              .name = STR("default") };
    struct client_request req = client_request_get(l->arena, &ref);

    req.timeout_ms = ANSWER_MS;
    return client_do(member, l->arena, &req, NULL, st);
}

/* Out of the member, if it answers: the syncer, then the copies.  1: some are still on their way.
 */
static int leave_member(struct look *l, const struct syncer_object *all, struct status *st)
{
    struct member_name name = member_of(l);
    struct member *m;
    int rc;

    if (fleet_member(works_fleet(l->manager->works), l->arena, &name, &m, st) < 0)
        return -1;
    rc = greet(l, member_client(m), st);
    if (rc == 0)
        rc = delete_all(member_client(m), l->arena, STR_NONE, all, SYNCER_OBJECTS, st);
    if (rc == 0 && !keeps_copies(l))
        rc = syncer_leave(member_client(m), l->arena, &l->owner, l->logical, st);
    member_unref(m);
    return rc;
}

/* It is let go with what is there. */
static void tell_rest(const struct look *l, int rc, const struct status *why)
{
    struct recorder_object on = recorder_object_of(l->ref.instance, l->cluster);
    str message = rc > 0 ? STR("its namespaces are still being deleted") : why->message;

    if (l->manager->recorder)
        recorder_tell(l->manager->recorder, &on, RECORDER_WARNING, "LeftBehind",
                      "What was put into the member may still be there (namespaces with the "
                      "annotation " SYNCER_LOCATOR "): %.*s",
                      STR_ARG(message));
}

/* And out of the instance. */
static int leave(struct look *l, struct status *st)
{
    struct syncer_install i = install_of(l);
    struct syncer_object there[SYNCER_OBJECTS], here[SYNCER_ACCOUNT_OBJECTS];
    int rc;

    syncer_install_member(l->arena, &i, there);
    syncer_install_account(l->arena, &i, here);
    rc = leave_member(l, there, st);
    if (rc && !is_overdue(l, rc < 0 ? SILENT_S : LEAVE_S))
        return rc < 0 ? -1 : LEAVE_AGAIN_MS;
    if (rc)
        tell_rest(l, rc, st);
    status_reset(st);
    if (delete_all(l->client, l->arena, l->ref.instance, here, SYNCER_ACCOUNT_OBJECTS, st) < 0)
        return -1;
    return finalizer_remove(l->client, l->arena, &l->ref, FINALIZER, l->cluster, st);
}

/* ---- conditions ---- */

/* All that are there, and those that must be; the first that does not hold says why. */
static struct condition summary(struct arena *a, const struct json *all)
{
    static const struct {
        const char *type;
        bool needed;
    } parts[] = { { "SyncerReady", true },
                  { "APIImporterReady", false },
                  { "HeartbeatHealthy", true } };

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const struct json *c = condition_find(all, parts[i].type);

        if (!c && !parts[i].needed)
            continue;
        if (!c)
            return (struct condition){ "Ready", "False", "Info", "ClusterStatusUnknown",
                                       .message =
                                           str_printf(a, "%s is not known yet", parts[i].type) };
        if (!str_is(json_get_str(c, "status"), "True"))
            return (struct condition){ "Ready", "False", str_z(a, json_get_str(c, "severity")),
                                       str_z(a, json_get_str(c, "reason")),
                                       .message = json_get_str(c, "message") };
    }
    return (struct condition){ .type = "Ready", .status = "True" };
}

/* What we said when there could be no syncer is not true for longer than that. */
static const struct json *tell_failure(const struct look *l, const struct json *all, int64_t now_s)
{
    static const char *const ours[] = { NO_WAY, NO_IMAGE, NOT_INSTALLED, NULL };
    struct condition c = { "SyncerReady", "False", "Error", l->failed, .message = l->message };
    const struct json *was = condition_find(all, c.type);

    if (l->failed)
        return condition_set(l->arena, all, &c, now_s);
    if (was && str_is_any(json_get_str(was, "reason"), ours))
        return condition_remove(l->arena, all, c.type);
    return all;
}

static int write_status(struct look *l, int64_t *left_ms, struct status *st)
{
    const struct json *all = json_path(l->cluster, "status.conditions"), *now = l->cluster;
    struct condition c = heartbeat(l, left_ms);
    int64_t now_s = clock_wall_s(clock_of(l));

    all = tell_failure(l, all, now_s);
    all = condition_set(l->arena, all, &c, now_s);
    c = summary(l->arena, all);
    if (c.severity && !*c.severity)
        c.severity = NULL;
    all = condition_set(l->arena, all, &c, now_s);
    all = cluster_suspended_set(l->arena, all, l->suspended, now_s);
    now = json_set(l->arena, now, "status.conditions", all);
    if (l->manager->place != SYNCER_NONE)
        now = json_set(l->arena, now, "status.syncedResources",
                       syncer_types_json(l->arena, &l->types));
    if (json_equal(now, l->cluster))
        return 0;
    l->ref.subresource = STR("status");
    return client_update(l->client, l->arena, &l->ref, now, NULL, st);
}

/* ---- the kubeconfig of a Cluster ---- */

static const struct json *owner_of_secret(struct arena *a, const struct json *cluster)
{
    struct json_object o = json_object_new(a);
    struct json_array owners = json_array_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("workload.kcp.dev/v1alpha1")));
    json_add(&o, STR("kind"), json_of_str(STR("Cluster")));
    json_add(&o, STR("name"), json_of_str(json_get_str(cluster, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(cluster, "metadata.uid")));
    json_push(&owners, json_object_value(&o));
    return json_array_done(&owners);
}

static const struct json *secret_of_cluster(struct arena *a, const struct client_ref *ref,
                                            const struct json *cluster, str data)
{
    struct json_object meta = json_object_new(a), o = json_object_new(a);
    struct json text = json_of_str(data);

    json_add(&meta, STR("name"), json_of_str(ref->name));
    json_add(&meta, STR("namespace"), json_of_str(ref->namespace));
    json_add(&meta, STR("ownerReferences"), *owner_of_secret(a, cluster));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("kind"), json_of_str(STR("Secret")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_set(a, json_object_done(&o), "data.kubeconfig", &text);
}

/*
 * As a Secret, cluster-<name> in kube-system, where the credentials of other members are, too.  It
 * follows the Cluster and is deleted with it.  The Cluster itself shows the kubeconfig only to
 * callers who may read this Secret (redact in rest/kind.h).
 */
static int keep_secret(struct client *client, struct arena *a, str instance,
                       const struct json *cluster, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("secrets"),
                              .namespace = STR("kube-system"),
                              .name = str_printf(a, "cluster-%.*s",
                                                 STR_ARG(json_get_str(cluster, "metadata.name"))) };
    str data = base64_encode(a, BASE64_GO, json_get_str(cluster, "spec.kubeconfig"));
    const struct json *now = NULL;

    if (client_get(client, a, &ref, &now, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    if (now && str_eq(json_get_str(now, "data.kubeconfig"), data) &&
        json_equal(json_path(now, "metadata.ownerReferences"), owner_of_secret(a, cluster)))
        return 0;
    status_reset(st);
    return client_apply(client, a, &ref, STR("kairship"), secret_of_cluster(a, &ref, cluster, data),
                        NULL, st);
}

/* ---- the controller ---- */

static int end(struct look *l, struct status *st)
{
    works_drop(l->manager->works, l->ref.instance, l->ref.name, MEMBER_KCP);
    if (l->cluster && finalizer_has(l->cluster, FINALIZER))
        return leave(l, st);
    return 0;
}

static int start(struct look *l, int *soon_ms, struct status *st)
{
    *soon_ms = 0;
    if (finalizer_add(l->client, l->arena, &l->ref, FINALIZER, &l->cluster, st) < 0)
        return -1;
    if (l->manager->place == SYNCER_PUSH)
        push(l, st);
    else
        works_drop(l->manager->works, l->ref.instance, l->ref.name, MEMBER_KCP);
    if (l->manager->place == SYNCER_PULL && !l->suspended)
        *soon_ms = pull(l, st);
    return *soon_ms < 0 ? -1 : 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    bool root = str_is(k->instance, "root");
    struct look l = { .manager = arg,
                      .client = client,
                      .arena = a,
                      .logical = k->instance,
                      .ref = { .instance = root ? STR_NONE : k->instance,
                               .group = STR("workload.kcp.dev"),
                               .version = STR("v1alpha1"),
                               .resource = STR("clusters"),
                               .name = k->name } };
    int64_t left_ms;
    int soon_ms;

    if (!k->name.n)
        return works_wake_all(client, a, l.ref, k, l.manager->controller, st);
    if (instance_suspended(client, a, l.ref.instance, &l.suspended, st) < 0 ||
        owner_read(client, a, STR_NONE, l.ref.instance, l.ref.instance, &l.owner, st) < 0)
        return -1;
    if (client_get(client, a, &l.ref, &l.cluster, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        l.cluster = NULL;
        status_reset(st);
    }
    if (!l.cluster || is_deleting(l.cluster)) {
        forget_types(arg, k->instance, k->name);
        return end(&l, st);
    }
    if (keep_secret(client, a, l.ref.instance, l.cluster, st) < 0 ||
        look_up_types(arg, client, a, k, l.ref.instance, &l.types, st) < 0 ||
        start(&l, &soon_ms, st) < 0)
        return -1;
    status_reset(st);
    if (write_status(&l, &left_ms, st) < 0)
        return -1;
    return soon_ms > 0 && soon_ms < left_ms ? soon_ms : (int)left_ms;
}

/* "<plural>.<location>.<version>.<group>" when the object is not known any more. */
static str location_of(const struct informer_key *k, const struct json *import)
{
    str rest = k->name, part = json_get_str(import, "spec.location");

    if (part.n)
        return part;
    (void)str_split(&rest, '.', &part);
    (void)str_split(&rest, '.', &part);
    return part;
}

static void on_import(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *import, bool deleted)
{
    struct informer_key cluster = { .instance = k->instance, .name = location_of(k, import) };

    (void)deleted;
    if (!cluster.name.n)
        return;
    forget_types(arg, cluster.instance, cluster.name);
    controller_wake(c, &cluster);
}

static void on_instance(void *arg, struct controller *c, const struct informer_key *k,
                        const struct json *instance, bool deleted)
{
    struct syncer_manager *m = arg;
    struct informer_key all = { .instance = k->name };

    if (suspensions_note(&m->suspensions, k->name, deleted ? NULL : instance))
        controller_wake(c, &all);
}

static void started(void *arg, struct controller *c)
{
    ((struct syncer_manager *)arg)->controller = c;
}

static const struct controller_source sources[] = {
    { .ref = { .instance = STR_INIT("*"),
               .group = STR_INIT("apiresource.kcp.dev"),
               .version = STR_INIT("v1alpha1"),
               .resource = STR_INIT("apiresourceimports") },
      .map = on_import },
    { .ref = INSTANCE_REF, .spec_only = true, .map = on_instance },
};

const struct controller_spec syncer_manager_controller = {
    .name = "syncer-manager",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("workload.kcp.dev"),
             .version = STR_INIT("v1alpha1"),
             .resource = STR_INIT("clusters") },
    .also = sources,
    .nalso = sizeof(sources) / sizeof(*sources),
    .reconcile = reconcile,
    .started = started,
};
