/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/propagator.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/override.h"
#include "object/meta/karmada.h"

enum {
    RESOURCES_MAX = 10000, /* kinds remembered, of all instances */
    SEEN_MAX = 100000,
    WORKS_PAGE = 500,
};

void propagator_init(struct propagator *p)
{
    (void)pthread_mutex_init(&p->mu, NULL);
    p->silence = silence_new();
}

/* Values begin with their key's bytes' owner: one allocation each. */
static void free_values(struct map *m)
{
    size_t at = 0;
    str key;
    void *value;

    while (map_each(m, &at, &key, &value))
        free(value);
    map_release(m);
}

void propagator_release(struct propagator *p)
{
    free_values(&p->resources);
    free_values(&p->seen);
    free_values(&p->missing);
    free_values(&p->followed);
    silence_free(p->silence);
    (void)pthread_mutex_destroy(&p->mu);
}

int propagator_scripts(struct propagator *p, struct arena *a, str instance,
                       const struct json *object, const struct scripts **out, struct status *st)
{
    if (customizations_wait(p->customizations, st) < 0)
        return -1;
    *out = customizations_of(p->customizations, a, instance, object);
    return 0;
}

/* ---- where things are ---- */

struct client_ref propagator_binding_ref(str instance, str namespace, str name)
{
    return (struct client_ref){
        .instance = instance,
        .group = STR("work.karmada.io"),
        .version = STR("v1alpha2"),
        .resource = namespace.n ? STR("resourcebindings") : STR("clusterresourcebindings"),
        .namespace = namespace,
        .name = name,
    };
}

struct client_ref propagator_work_ref(str instance, str namespace, str name)
{
    return (struct client_ref){ .instance = instance,
                                .group = STR("work.karmada.io"),
                                .version = STR("v1alpha1"),
                                .resource = STR("works"),
                                .namespace = namespace,
                                .name = name };
}

const char *propagator_id_label(const struct json *binding)
{
    return json_get_str(binding, "metadata.namespace").n ? KARMADA_RB_ID : KARMADA_CRB_ID;
}

str propagator_id(const struct json *binding)
{
    return karmada_label(binding, propagator_id_label(binding));
}

struct known_resource { /* a value of p->resources, with its key behind */
    size_t nkey, n;
    char text[];
};

/* Kinds of Kubernetes' own groups are the same everywhere, those of CRDs are an instance's. */
static str resource_key(struct arena *a, str instance, str api_version, str kind)
{
    ptrdiff_t slash = str_find(api_version, '/', 0);
    str group = slash < 0 ? STR_NONE : str_sub(api_version, 0, (size_t)slash);
    bool own = str_find(group, '.', 0) >= 0 && !str_ends(group, STR(".k8s.io"));

    return str_printf(a, "%.*s %.*s %.*s", STR_ARG(own ? instance : STR_NONE), STR_ARG(api_version),
                      STR_ARG(kind));
}

static void remember(struct propagator *p, str key, str resource)
{
    struct known_resource *r = mem_alloc(sizeof(*r) + key.n + resource.n);

    *r = (struct known_resource){ .nkey = key.n, .n = resource.n };
    memcpy(r->text, key.p, key.n);
    if (resource.n) /* of a kind that nobody serves there is none */
        memcpy(r->text + key.n, resource.p, resource.n);
    (void)pthread_mutex_lock(&p->mu);
    if (map_size(&p->resources) >= RESOURCES_MAX)
        free_values(&p->resources);
    free(map_put(&p->resources, (str){ r->text, r->nkey }, r));
    (void)pthread_mutex_unlock(&p->mu);
}

static bool recall(struct propagator *p, struct arena *a, str key, str *resource)
{
    const struct known_resource *r;

    (void)pthread_mutex_lock(&p->mu);
    r = map_get(&p->resources, key);
    if (r)
        *resource = str_dup(a, (str){ r->text + r->nkey, r->n });
    (void)pthread_mutex_unlock(&p->mu);
    return r != NULL;
}

static int discover(struct client *client, struct arena *a, const struct client_ref *gv, str kind,
                    str *resource, struct status *st)
{
    struct client_request req = { .method = STR("GET") };
    const struct json *list;

    req.path = str_printf(a, "%s%.*s%s%.*s%s%.*s", gv->instance.n ? "/clusters/" : "",
                          STR_ARG(gv->instance), gv->group.n ? "/apis/" : "/api",
                          STR_ARG(gv->group), "/", STR_ARG(gv->version));
    if (client_do(client, a, &req, &list, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    json_for_each (r, json_get(list, STR("resources"))) {
        str name = json_get_str(r, "name");

        if (str_eq(json_get_str(r, "kind"), kind) && str_find(name, '/', 0) < 0) {
            *resource = name;
            return 1;
        }
    }
    return 0;
}

int propagator_resource(struct propagator *p, struct client *client, struct arena *a, str instance,
                        str api_version, str kind, struct client_ref *out, struct status *st)
{
    ptrdiff_t slash = str_find(api_version, '/', 0);
    str key = resource_key(a, instance, api_version, kind);
    struct client_ref ref = {
        .instance = instance,
        .group = slash < 0 ? STR_NONE : str_sub(api_version, 0, (size_t)slash),
        .version = str_from(api_version, (size_t)(slash + 1)),
    };

    if (!recall(p, a, key, &ref.resource)) {
        int found = discover(client, a, &ref, kind, &ref.resource, st);

        if (found <= 0)
            return found;
        remember(p, key, ref.resource);
    }
    *out = ref;
    return 1;
}

int propagator_object(struct propagator *p, struct client *client, struct arena *a, str instance,
                      const struct json *reference, struct client_ref *ref,
                      const struct json **object, struct status *st)
{
    int found = propagator_resource(p, client, a, instance, json_get_str(reference, "apiVersion"),
                                    json_get_str(reference, "kind"), ref, st);

    if (found <= 0)
        return found;
    ref->namespace = json_get_str(reference, "namespace");
    ref->name = json_get_str(reference, "name");
    if (ref->name.n == 0)
        return 0; /* a get without a name would be a list */
    if (client_get(client, a, ref, object, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    return 1;
}

bool propagator_is_placed(const struct json *binding)
{
    return json_len(json_path(binding, "spec.clusters")) > 0 &&
           json_int(json_path(binding, "status.schedulerObservedGeneration"), 0) ==
               json_int(json_path(binding, "metadata.generation"), -1);
}

int propagator_works(struct client *client, struct arena *a, str instance,
                     const struct json *binding, const struct json **works, struct status *st)
{
    struct client_ref ref = propagator_work_ref(instance, STR_NONE, STR_NONE);
    struct client_query q = { .limit = WORKS_PAGE };
    struct json_array all = json_array_new(a);
    const struct json *list;

    if (propagator_id(binding).n == 0) {
        *works = &json_empty_array;
        return 0;
    }
    q.label_selector =
        str_printf(a, "%s=%.*s", propagator_id_label(binding), STR_ARG(propagator_id(binding)));
    do {
        if (client_list(client, a, &ref, &q, &list, st) < 0)
            return -1;
        q.continue_token = json_get_str(list, "metadata.continue");
        if (all.n == 0 && q.continue_token.n == 0) {
            *works = json_get(list, STR("items"));
            return 0;
        }
        json_for_each (w, json_get(list, STR("items")))
            json_push(&all, *w);
    } while (q.continue_token.n);
    *works = json_array_done(&all);
    return 0;
}

bool propagator_skips(str namespace)
{
    return karmada_namespace_reserved(namespace) || str_starts(namespace, STR("kube-"));
}

/* karmada: pkg/util/apigroup.go, NewSkippedResourceConfig */
bool propagator_skips_kind(str api_version, str kind)
{
    static const struct {
        const char *group, *version, *kind; /* NULL: any */
    } rows[] = {
        { "cluster.karmada.io", NULL, NULL },
        { "policy.karmada.io", NULL, NULL },
        { "work.karmada.io", NULL, NULL },
        { "config.karmada.io", NULL, NULL },
        { "networking.karmada.io", NULL, NULL },
        { "autoscaling.karmada.io", NULL, NULL },
        { "remedy.karmada.io", NULL, NULL },
        { "apps.karmada.io", NULL, NULL },
        { "events.k8s.io", NULL, NULL },
        { "coordination.k8s.io", "v1", NULL },
        { "", "v1", "Event" },
    };
    ptrdiff_t slash = str_find(api_version, '/', 0);
    str group = slash < 0 ? STR_NONE : str_sub(api_version, 0, (size_t)slash);
    str version = str_from(api_version, (size_t)(slash + 1));

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (str_is(group, rows[i].group) &&
            (!rows[i].version || str_is(version, rows[i].version)) &&
            (!rows[i].kind || str_is(kind, rows[i].kind)))
            return true;
    return false;
}

bool propagator_is_everywhere(str kind, str namespace, str name)
{
    return (str_is(kind, "ConfigMap") && str_is(name, "kube-root-ca.crt")) ||
           (str_is(kind, "ServiceAccount") && str_is(name, "default")) ||
           (str_is(kind, "Service") && str_is(namespace, "default") && str_is(name, "kubernetes"));
}

/* ---- trees ---- */

struct json_object propagator_map(struct arena *a, const struct json *object, const char *path)
{
    const struct json *v = json_path(object, path);

    return json_object_from(a, json_is(v, JSON_OBJECT) ? v : &json_empty_object);
}

bool propagator_deleting(const struct json *object)
{
    return is_deleting(object);
}

struct json propagator_owners(struct arena *a, const struct json *owner)
{
    struct json_array list = json_array_new(a);
    struct json_object o = json_object_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(json_get_str(owner, "apiVersion")));
    json_add(&o, STR("kind"), json_of_str(json_get_str(owner, "kind")));
    json_add(&o, STR("name"), json_of_str(json_get_str(owner, "metadata.name")));
    json_add(&o, STR("uid"), json_of_str(json_get_str(owner, "metadata.uid")));
    json_add(&o, STR("controller"), json_true);
    json_add(&o, STR("blockOwnerDeletion"), json_true);
    json_push(&list, json_object_value(&o));
    return json_array_value(&list);
}

struct json propagator_reference(struct arena *a, const struct json *object)
{
    static const struct {
        const char *name, *path;
    } parts[] = {
        { "apiVersion", "apiVersion" },
        { "kind", "kind" },
        { "namespace", "metadata.namespace" },
        { "name", "metadata.name" },
        { "uid", "metadata.uid" },
        { "resourceVersion", "metadata.resourceVersion" },
    };
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        str v = json_get_str(object, parts[i].path);

        if (v.n)
            json_add(&o, str_of(parts[i].name), json_of_str(v));
    }
    return json_object_value(&o);
}

/* ---- overrides ---- */

static int list_policies(struct client *client, struct arena *a, const struct client_ref *ref,
                         const struct json **items, struct status *st)
{
    const struct json *list;

    if (client_list(client, a, ref, NULL, &list, st) < 0)
        return -1;
    *items = json_get(list, STR("items"));
    return 0;
}

int propagator_overrides(struct client *client, struct arena *a, str instance, str namespace,
                         struct override_policies *out, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("policy.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusteroverridepolicies") };

    *out = (struct override_policies){ &json_empty_array, &json_empty_array };
    if (list_policies(client, a, &ref, &out->cluster, st) < 0)
        return -1;
    if (namespace.n == 0)
        return 0;
    ref.resource = STR("overridepolicies");
    ref.namespace = namespace;
    return list_policies(client, a, &ref, &out->namespaced, st);
}

void propagator_tell(struct propagator *p, str instance, const struct json *object,
                     enum recorder_type type, const char *reason, str message)
{
    struct recorder_object on = recorder_object_of(instance, object);

    if (p->recorder)
        recorder_tell(p->recorder, &on, type, reason, "%.*s", STR_ARG(message));
}

/* One kind of policies, and the annotation that says which were applied. */
struct override_step {
    const struct json *policies;
    const char *what, *key;
};

static int apply_overrides(const struct propagator_at *at, const struct override_step *o,
                           const struct sched_cluster *cluster, const struct json *template,
                           const struct json **manifest, struct json_object *annotations,
                           struct status *st)
{
    struct arena *a = at->a;
    struct override_result r;

    if (override_apply(a, *manifest, o->policies, cluster, &r, st) < 0) {
        str why =
            str_printf(a, "Apply %s override policy(%.*s) for cluster(%.*s) failed: %.*s", o->what,
                       STR_ARG(r.failed), STR_ARG(cluster->name), STR_ARG(st->message));

        propagator_tell(at->p, at->instance, template, RECORDER_WARNING,
                        "ApplyOverridePolicyFailed", why);
        return status_set(st, REASON_INVALID, "%.*s", STR_ARG(why));
    }
    *manifest = r.manifest;
    if (r.applied)
        json_put(annotations, str_of(o->key), json_of_str(json_text(a, r.applied)));
    return 0;
}

int propagator_override(const struct propagator_at *at, str cluster,
                        const struct override_policies *policies, const struct json *template,
                        const struct json **manifest, struct json_object *annotations,
                        struct status *st)
{
    const struct override_step steps[] = {
        { policies->cluster, "cluster", KARMADA_APPLIED_CLUSTER_OVERRIDES },
        { policies->namespaced, "namespaced", KARMADA_APPLIED_OVERRIDES },
    };
    struct client_ref ref = { .instance = at->instance,
                              .group = STR("cluster.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = cluster };
    const struct sched_cluster *it;
    const struct json *object;

    if (json_len(policies->cluster) == 0 && json_len(policies->namespaced) == 0)
        return 0;
    if (client_get(at->client, at->a, &ref, &object, st) < 0)
        return -1;
    it = sched_cluster_parse(at->a, object);
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
        if (apply_overrides(at, &steps[i], it, template, manifest, annotations, st) < 0)
            return -1;
    return 0;
}

/* ---- memory ---- */

struct seen { /* a value of p->seen */
    uint64_t hash;
    size_t n;
    char key[];
};

bool propagator_seen(struct propagator *p, str key, uint64_t hash)
{
    const struct seen *s;
    bool same;

    (void)pthread_mutex_lock(&p->mu);
    s = map_get(&p->seen, key);
    same = s && s->hash == hash;
    (void)pthread_mutex_unlock(&p->mu);
    return same;
}

void propagator_keep(struct propagator *p, str key, uint64_t hash)
{
    struct seen *s;

    (void)pthread_mutex_lock(&p->mu);
    s = map_get(&p->seen, key);
    if (!s) {
        if (map_size(&p->seen) >= SEEN_MAX)
            free_values(&p->seen);
        s = mem_alloc(sizeof(*s) + key.n);
        s->n = key.n;
        memcpy(s->key, key.p, key.n);
        (void)map_put(&p->seen, (str){ s->key, s->n }, s);
    }
    s->hash = hash;
    (void)pthread_mutex_unlock(&p->mu);
}

/* Of what a user says in it: without status, what the server adds, and the policies' claims. */
uint64_t propagator_hash(struct arena *a, const struct json *template)
{
    static const char *const paths[] = { "status", "metadata.managedFields",
                                         "metadata.resourceVersion", "metadata.generation" };
    static const char *const claims[] = { KARMADA_PP_ID, KARMADA_CPP_ID, KARMADA_PP_NAMESPACE,
                                          KARMADA_PP_NAME, KARMADA_CPP_NAME };
    static const char *const maps[] = { "metadata.labels", "metadata.annotations" };
    scoped_buf b;

    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        if (json_path(template, paths[i]))
            template = json_set(a, template, paths[i], NULL);
    for (size_t m = 0; m < sizeof(maps) / sizeof(*maps); m++) {
        struct json_object o = propagator_map(a, template, maps[m]);

        for (size_t i = 0; i < sizeof(claims) / sizeof(*claims); i++)
            json_remove(&o, str_of(claims[i]));
        template = json_set(a, template, maps[m], o.n ? json_object_done(&o) : NULL);
    }
    buf_init(&b, (size_t)64 << 20); /* more than any object */
    json_print_sorted(&b, template);
    return str_hash(buf_str(&b), 0, 0);
}
