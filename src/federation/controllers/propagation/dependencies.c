/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a template needs follows it: ConfigMaps, Secrets, ServiceAccounts, claims, and whatever a
 * script of its kind names, get bindings of their own, attached to the template's, and go where
 * that goes (spec/karmada 2.13).
 *
 * Keys are of ResourceBindings, and "dependency Kind name" of objects that may be needed: a kind is
 * watched from when the first of it is needed.  Objects that are needed and not there, or not even
 * their kind, are remembered, and looked for when they come; after a restart all bindings are
 * looked at, so that nothing is forgotten.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "client/finalizer.h"
#include "federation/controllers/propagation/propagator.h"
#include "object/meta/karmada.h"

enum { MISSING_MAX = 10000, PAGE = 500 };

#define DEPENDENCY "dependency"
#define ARRIVED    "arrived"

struct dependencies_job { /* the binding at hand: what depends */
    struct propagator *p;
    struct client *client;
    struct arena *a;
    const struct informer_key *key;
    str instance;
    struct client_ref ref;
    const struct json *binding;
    str label, id; /* on those that are attached */
};

/* ---- what is not there yet ---- */

struct missing { /* a value of p->missing, and of p->followed */
    size_t n;
    char key[];
};

static str missing_key(struct arena *a, str instance, str namespace, str kind, str name)
{
    return str_printf(a, "%.*s/%.*s/%.*s/%.*s", STR_ARG(instance), STR_ARG(namespace),
                      STR_ARG(kind), STR_ARG(name));
}

static void wait_for(const struct dependencies_job *j, str key)
{
    struct missing *m = mem_alloc(sizeof(*m) + key.n);

    m->n = key.n;
    memcpy(m->key, key.p, key.n);
    (void)pthread_mutex_lock(&j->p->mu);
    if (map_size(&j->p->missing) < MISSING_MAX)
        m = map_put(&j->p->missing, (str){ m->key, m->n }, m);
    (void)pthread_mutex_unlock(&j->p->mu);
    free(m);
}

/* On the loop: most objects are nobody's, and cost a look into a map. */
static void on_object(void *arg, struct controller *c, const struct informer_key *k,
                      const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct propagator *p = arg;
    str kind = json_get_str(object, "kind");
    struct informer_key key = { .instance = k->instance, .namespace = k->namespace };
    struct missing *m;

    if (!object || deleted || propagator_skips(k->namespace))
        return;
    (void)pthread_mutex_lock(&p->mu);
    m = map_remove(&p->missing, missing_key(a, k->instance, k->namespace, kind, k->name));
    (void)pthread_mutex_unlock(&p->mu);
    key.name =
        str_printf(a, "%s %.*s %.*s", m ? ARRIVED : DEPENDENCY, STR_ARG(kind), STR_ARG(k->name));
    free(m);
    controller_wake(c, &key);
}

/* A new kind may be one that somebody needs. */
static void on_crd(void *arg, struct controller *c, const struct informer_key *k,
                   const struct json *object, bool deleted)
{
    scoped_arena a = arena_new();
    struct propagator *p = arg;
    str kind = json_get_str(object, "spec.names.kind");
    struct informer_key key = { .instance = k->instance };
    struct missing *m;

    if (!object || deleted)
        return;
    (void)pthread_mutex_lock(&p->mu);
    m = map_remove(&p->missing, missing_key(a, k->instance, STR_NONE, kind, STR_NONE));
    (void)pthread_mutex_unlock(&p->mu);
    key.name = str_printf(a, ARRIVED " %.*s", STR_ARG(kind));
    if (m)
        controller_wake(c, &key);
    free(m);
}

static bool is_followed(struct propagator *p, str key)
{
    bool followed;

    (void)pthread_mutex_lock(&p->mu);
    followed = map_get(&p->followed, key) != NULL;
    (void)pthread_mutex_unlock(&p->mu);
    return followed;
}

static void note_followed(struct propagator *p, str key)
{
    struct missing *f = mem_alloc(sizeof(*f) + key.n);

    f->n = key.n;
    memcpy(f->key, key.p, key.n);
    (void)pthread_mutex_lock(&p->mu);
    f = map_put(&p->followed, (str){ f->key, f->n }, f);
    (void)pthread_mutex_unlock(&p->mu);
    free(f);
}

/* Changes of these are told from now on, of all instances; what is read later is not older. */
static void follow(struct propagator *p, struct arena *a, struct controller_source *what)
{
    str key = str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(what->ref.group), STR_ARG(what->ref.version),
                         STR_ARG(what->ref.resource));

    if (!p->dependencies || is_followed(p, key))
        return;
    what->ref.instance = STR("*");
    controller_watch(p->dependencies, what);
    note_followed(p, key); /* last: who comes meanwhile waits for the watch as well */
}

/* Objects of the kind that is needed; if nobody serves it, the kinds that come. */
static int follow_kind(const struct dependencies_job *j, const struct json *dependency,
                       struct status *st)
{
    struct controller_source objects = { .map = on_object };
    struct controller_source crds = { .ref = { .group = STR("apiextensions.k8s.io"),
                                               .version = STR("v1"),
                                               .resource = STR("customresourcedefinitions") },
                                      .map = on_crd };
    str kind = json_get_str(dependency, "kind");
    int found = 0;

    for (int i = 0; i < 2 && !found; i++) { /* again: it may have come meanwhile */
        found = propagator_resource(j->p, j->client, j->a, j->instance,
                                    json_get_str(dependency, "apiVersion"), kind, &objects.ref, st);
        if (found == 0) {
            wait_for(j, missing_key(j->a, j->key->instance, STR_NONE, kind, STR_NONE));
            follow(j->p, j->a, &crds);
        }
    }
    if (found > 0)
        follow(j->p, j->a, &objects);
    return found < 0 ? -1 : 0;
}

/* ---- attached bindings ---- */

static bool is_mine(const struct dependencies_job *j, const struct json *by)
{
    return str_eq(json_get_str(by, "namespace"), j->ref.namespace) &&
           str_eq(json_get_str(by, "name"), j->ref.name);
}

static bool has_cluster(const struct json_array *list, str name)
{
    for (uint32_t i = 0; i < list->n; i++)
        if (str_eq(json_get_str(&list->items[i], "name"), name))
            return true;
    return false;
}

/*
 * Where copies of the binding run: in the clusters that it is scheduled to, and as long as an
 * eviction lasts in those that it leaves.  What a copy needs stays as long as it.
 */
static const struct json *clusters_of(const struct dependencies_job *j)
{
    struct json_array all = json_array_new(j->a);

    json_for_each (c, json_path(j->binding, "spec.clusters"))
        json_push(&all, *c);
    json_for_each (task, json_path(j->binding, "spec.gracefulEvictionTasks")) {
        struct json_object o = json_object_new(j->a);
        str name = json_get_str(task, "fromCluster");

        if (has_cluster(&all, name))
            continue;
        json_add(&o, STR("name"), json_of_str(name));
        if (json_get(task, STR("replicas")))
            json_add(&o, STR("replicas"), *json_get(task, STR("replicas")));
        json_push(&all, json_object_value(&o));
    }
    return json_array_done(&all);
}

/* requiredBy with this binding's clusters, or without it. */
static struct json required_by(const struct dependencies_job *j, const struct json *attached,
                               bool yes)
{
    const struct json *clusters = clusters_of(j);
    struct json_array list = json_array_new(j->a);
    struct json_object o = json_object_new(j->a);
    bool done = !yes;

    json_add(&o, STR("namespace"), json_of_str(j->ref.namespace));
    json_add(&o, STR("name"), json_of_str(j->ref.name));
    if (json_len(clusters))
        json_add(&o, STR("clusters"), *clusters);
    json_for_each (by, json_path(attached, "spec.requiredBy")) {
        if (!is_mine(j, by)) {
            json_push(&list, *by);
        } else if (!done) {
            json_push(&list, json_object_value(&o));
            done = true;
        }
    }
    if (!done)
        json_push(&list, json_object_value(&o));
    return json_array_value(&list);
}

static bool is_claimed(const struct json *binding)
{
    return karmada_label(binding, KARMADA_PP_ID).n || karmada_label(binding, KARMADA_CPP_ID).n;
}

/*
 * The attached binding as it should be.  Its template is the policy's affair where a policy has
 * claimed it; else it is kept up here.
 */
static const struct json *attached_now(const struct dependencies_job *j, const struct json *old,
                                       const struct json *object, bool yes)
{
    struct json_object labels = propagator_map(j->a, old, "metadata.labels");
    struct json required = required_by(j, old, yes);
    const struct json *now = old;
    bool preserve;

    if (yes)
        json_put(&labels, j->label, json_of_str(j->id));
    else
        json_remove(&labels, j->label);
    now = json_set(j->a, now, "metadata.labels", json_object_done(&labels));
    now = json_set(j->a, now, "spec.requiredBy", required.n ? json_box(j->a, required) : NULL);
    if (!yes || is_claimed(old))
        return now;
    preserve = json_bool(json_path(j->binding, "spec.preserveResourcesOnDeletion")) ||
               (required.n > 1 && json_bool(json_path(old, "spec.preserveResourcesOnDeletion")));
    now = json_set(j->a, now, "spec.resource", json_box(j->a, propagator_reference(j->a, object)));
    if (str_is(json_get_str(j->binding, "spec.conflictResolution"), "Overwrite"))
        now = json_set(j->a, now, "spec.conflictResolution",
                       json_box(j->a, json_of_str(STR("Overwrite"))));
    return json_set(j->a, now, "spec.preserveResourcesOnDeletion",
                    preserve ? &json_true : &json_false);
}

static const struct json *blank(struct arena *a, const struct client_ref *ref,
                                const struct json *owner)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a);
    struct json_array finalizers = json_array_new(a);

    json_push(&finalizers, json_of_str(STR(KARMADA_RB_FINALIZER)));
    json_add(&meta, STR("name"), json_of_str(ref->name));
    json_add(&meta, STR("namespace"), json_of_str(ref->namespace));
    json_add(&meta, STR("finalizers"), json_array_value(&finalizers));
    json_add(&meta, STR("ownerReferences"), propagator_owners(a, owner));
    json_add(&o, STR("apiVersion"), json_of_str(STR("work.karmada.io/v1alpha2")));
    json_add(&o, STR("kind"), json_of_str(STR("ResourceBinding")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    return json_object_done(&o);
}

static int write_attached(const struct dependencies_job *j, const struct client_ref *ref,
                          const struct json *old, const struct json *now, struct status *st)
{
    struct client_ref all = *ref;

    all.name = STR_NONE;
    if (!old)
        return client_create(j->client, j->a, &all, now, NULL, st);
    return json_equal(old, now) ? 0 : client_update(j->client, j->a, ref, now, NULL, st);
}

static int attach(const struct dependencies_job *j, const struct json *dependency,
                  struct status *st)
{
    struct client_ref at, ref;
    const struct json *object, *old = NULL;
    int found;

    if (follow_kind(j, dependency, st) < 0)
        return -1;
    found = propagator_object(j->p, j->client, j->a, j->instance, dependency, &at, &object, st);
    if (found < 0)
        return -1;
    if (!found || propagator_deleting(object)) {
        wait_for(j,
                 missing_key(j->a, j->key->instance, json_get_str(dependency, "namespace"),
                             json_get_str(dependency, "kind"), json_get_str(dependency, "name")));
        return 0;
    }
    ref = propagator_binding_ref(
        j->instance, at.namespace,
        karmada_binding_name(j->a, at.name, json_get_str(dependency, "kind")));
    if (client_get(j->client, j->a, &ref, &old, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        old = NULL;
    }
    if (old && propagator_deleting(old))
        return status_set(st, REASON_CONFLICT, "binding %.*s is being deleted", STR_ARG(ref.name));
    return write_attached(j, &ref, old,
                          attached_now(j, old ? old : blank(j->a, &ref, object), object, true), st);
}

static bool is_listed(const struct json *dependencies, const struct json *attached)
{
    const struct json *what = json_path(attached, "spec.resource");

    if (!dependencies)
        return false;
    json_for_each (d, dependencies)
        if (str_eq(json_get_str(d, "kind"), json_get_str(what, "kind")) &&
            str_eq(json_get_str(d, "name"), json_get_str(what, "name")))
            return true;
    return false;
}

/* Those that are attached and not, or no longer, needed. */
static int detach(const struct dependencies_job *j, const struct json *dependencies,
                  struct status *st)
{
    struct client_ref all = propagator_binding_ref(j->instance, j->ref.namespace, STR_NONE);
    struct client_query q = { .limit = PAGE };
    const struct json *list;

    if (j->id.n == 0)
        return 0;
    q.label_selector = str_printf(j->a, "%.*s=%.*s", STR_ARG(j->label), STR_ARG(j->id));
    do {
        if (client_list(j->client, j->a, &all, &q, &list, st) < 0)
            return -1;
        json_for_each (b, json_get(list, STR("items"))) {
            struct client_ref ref = all;

            if (is_listed(dependencies, b))
                continue;
            ref.name = json_get_str(b, "metadata.name");
            if (write_attached(j, &ref, b, attached_now(j, b, NULL, false), st) < 0 &&
                !status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

/* ---- a binding ---- */

static int release(const struct dependencies_job *j, struct status *st)
{
    const struct json *b = j->binding;

    if (!finalizer_has(b, KARMADA_DEPS_FINALIZER))
        return 0;
    if (detach(j, NULL, st) < 0)
        return -1;
    return finalizer_remove(j->client, j->a, &j->ref, KARMADA_DEPS_FINALIZER, b, st);
}

/* Which they are is told on the binding. */
static int note(struct dependencies_job *j, const struct json *dependencies, struct status *st)
{
    struct json_object notes = propagator_map(j->a, j->binding, "metadata.annotations");
    str text = json_text(j->a, dependencies);
    const struct json *now;

    if (str_eq(karmada_annotation(j->binding, KARMADA_DEPENDENCIES), text))
        return 0;
    json_put(&notes, STR(KARMADA_DEPENDENCIES), json_of_str(text));
    now = json_set(j->a, j->binding, "metadata.annotations", json_object_done(&notes));
    return client_update(j->client, j->a, &j->ref, now, &j->binding, st);
}

static int dependencies_of(struct dependencies_job *j, const struct json *template,
                           const struct json **out, struct status *st)
{
    const struct scripts *scripts;

    if (propagator_scripts(j->p, j->a, j->instance, template, &scripts, st) < 0)
        return -1;
    if (scripts_dependencies(scripts, j->a, template, out, st) == 0)
        return 0;
    propagator_tell(j->p, j->instance, template, RECORDER_WARNING, "GetDependenciesFailed",
                    st->message);
    return -1;
}

static int distribute(struct dependencies_job *j, struct status *st)
{
    const struct json *template, *dependencies;
    struct client_ref at;
    int found;

    found = propagator_object(j->p, j->client, j->a, j->instance,
                              json_path(j->binding, "spec.resource"), &at, &template, st);
    if (found <= 0)
        return found;
    if (dependencies_of(j, template, &dependencies, st) < 0)
        return -1;
    if (finalizer_add(j->client, j->a, &j->ref, KARMADA_DEPS_FINALIZER, &j->binding, st) < 0 ||
        note(j, dependencies, st) < 0 || detach(j, dependencies, st) < 0)
        return -1;
    json_for_each (d, dependencies) { /* docs/compat.md: those by label are told, not followed */
        str name = json_get_str(d, "name");

        if (name.n && !propagator_is_everywhere(json_get_str(d, "kind"), j->ref.namespace, name) &&
            attach(j, d, st) < 0)
            return -1;
    }
    return 0;
}

static int reconcile_binding(struct propagator *p, struct client *client, struct arena *a,
                             const struct informer_key *k, struct status *st)
{
    struct dependencies_job j = { .p = p,
                                  .client = client,
                                  .a = a,
                                  .key = k,
                                  .instance = propagator_instance(k),
                                  .label = karmada_depended_by(a, k->namespace, k->name) };

    j.ref = propagator_binding_ref(j.instance, k->namespace, k->name);
    if (client_get(client, a, &j.ref, &j.binding, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    j.id = propagator_id(j.binding);
    if (propagator_deleting(j.binding) || !json_bool(json_path(j.binding, "spec.propagateDeps")))
        return release(&j, st);
    if (json_len(json_path(j.binding, "spec.clusters")) == 0 &&
        !finalizer_has(j.binding, KARMADA_DEPS_FINALIZER))
        return 0; /* not scheduled yet */
    return distribute(&j, st);
}

/* ---- an object that is needed ---- */

static int reconcile_object(struct propagator *p, struct client *client, struct arena *a,
                            const struct informer_key *k, str kind, str name, struct status *st)
{
    str instance = propagator_instance(k);
    struct client_ref ref =
        propagator_binding_ref(instance, k->namespace, karmada_binding_name(a, name, kind));
    struct client_ref at;
    const struct json *binding, *object, *now;
    int found;

    if (client_get(client, a, &ref, &binding, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1; /* it is nobody's, as most are */
    if (propagator_deleting(binding) || is_claimed(binding) ||
        json_len(json_path(binding, "spec.requiredBy")) == 0)
        return 0;
    found = propagator_object(p, client, a, instance, json_path(binding, "spec.resource"), &at,
                              &object, st);
    if (found <= 0)
        return found;
    now = json_set(a, binding, "spec.resource", json_box(a, propagator_reference(a, object)));
    return json_equal(now, binding) ? 0 : client_update(client, a, &ref, now, NULL, st);
}

/* It was waited for, or its kind (then the name is empty): by bindings that say so. */
static int reconcile_arrival(struct propagator *p, struct client *client, struct arena *a,
                             const struct informer_key *k, str kind, str name, struct status *st)
{
    struct client_ref all = { .instance = propagator_instance(k),
                              .group = STR("work.karmada.io"),
                              .version = STR("v1alpha2"),
                              .resource = STR("resourcebindings"),
                              .namespace = k->namespace };
    struct client_query q = { .limit = PAGE };
    str quoted = str_printf(a, "\"kind\":\"%.*s\"", STR_ARG(kind));
    str named = name.n ? str_printf(a, "\"name\":\"%.*s\"", STR_ARG(name)) : STR_NONE;
    const struct json *list;

    do {
        if (client_list(client, a, &all, &q, &list, st) < 0)
            return -1;
        json_for_each (b, json_get(list, STR("items"))) {
            struct informer_key key = { .instance = k->instance,
                                        .namespace = json_get_str(b, "metadata.namespace"),
                                        .name = json_get_str(b, "metadata.name") };
            str said = karmada_annotation(b, KARMADA_DEPENDENCIES);

            if (str_contains(said, quoted) && str_contains(said, named))
                controller_wake(p->dependencies, &key);
        }
        q.continue_token = json_get_str(list, "metadata.continue");
    } while (q.continue_token.n);
    return 0;
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    str rest = k->name, words[3] = { STR_NONE, STR_NONE, STR_NONE };
    size_t n = 0;

    while (n < 3 && str_split(&rest, ' ', &words[n]))
        n++;
    if (str_is(words[0], ARRIVED))
        return reconcile_arrival(arg, client, a, k, words[1], words[2], st);
    if (n == 3)
        return reconcile_object(arg, client, a, k, words[1], words[2], st);
    return reconcile_binding(arg, client, a, k, st);
}

static void started(void *arg, struct controller *c)
{
    struct propagator *p = arg;

    p->dependencies = c;
}

const struct controller_spec dependencies_controller = {
    .name = "dependencies",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("work.karmada.io"),
             .version = STR_INIT("v1alpha2"),
             .resource = STR_INIT("resourcebindings") },
    .spec_only = true,
    .workers = 2,
    .reconcile = reconcile,
    .started = started,
};
