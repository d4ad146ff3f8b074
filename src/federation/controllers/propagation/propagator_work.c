/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A Work out of an object, and what there is of a binding already.  What Karmada's admission adds
 * to its manifest is added here, where it is made; ids are derived from names, so that doing it
 * again gives the same. karmada: pkg/controllers/ctrlutil/work.go, pkg/webhook/work
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/uuid.h"
#include "federation/controllers/propagation/propagator_view.h"
#include "federation/interp/interp.h"
#include "object/meta/karmada.h"

/* The Work's own id: for life, and the same however often it is made. */
static str work_id(struct arena *a, const struct work_order *o, str namespace, str name,
                   const struct json *existing)
{
    static const char space[] = "8f2c4d1e-6b9a-4c53-9d7e-0a1b2c3d4e5f";
    str had = karmada_label(existing, KARMADA_WORK_ID);
    char id[UUID_SIZE];

    if (had.n)
        return had;
    (void)uuid_v5(id, str_of(space),
                  str_printf(a, "%.*s %.*s %.*s",
                             STR_ARG(json_get_str(o->template, "metadata.uid")), STR_ARG(namespace),
                             STR_ARG(name)));
    return str_dup(a, str_of(id));
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* "a,b,c": the names of an object's members, in order. */
static str names_of(struct arena *a, const struct json_object *o)
{
    str *names = arena_array(a, str, o->n + 1);
    size_t n = 0;
    char *text, *p;

    for (uint32_t i = 0; i < o->n; i++) {
        names[i] = o->members[i].name;
        n += names[i].n + 1;
    }
    if (o->n > 1)
        qsort(names, o->n, sizeof(*names), by_text);
    text = p = arena_alloc_raw(a, n + 1);
    for (uint32_t i = 0; i < o->n; i++) {
        memcpy(p, names[i].p, names[i].n);
        p += names[i].n;
        *p++ = ',';
    }
    return (str){ text, n ? n - 1 : 0 };
}

/* What members need to know about the object: whose it is, and which of its metadata are ours. */
static struct json manifest_of(struct arena *a, const struct work_order *o, str namespace, str name,
                               str id)
{
    const struct json *m = interp_prune(a, o->manifest);
    struct json_object labels = propagator_map(a, m, "metadata.labels");
    struct json_object notes = propagator_map(a, m, "metadata.annotations");
    str conflict = json_str(json_get(&o->annotations, STR(KARMADA_CONFLICT)));
    str uid = json_get_str(o->template, "metadata.uid");

    json_put(&labels, STR(KARMADA_MANAGED), json_of_str(STR("true")));
    json_put(&labels, STR(KARMADA_WORK_ID), json_of_str(id));
    if (o->id.n)
        json_put(&labels, o->id_label, json_of_str(o->id));
    json_put(&notes, STR(KARMADA_TEMPLATE_UID), json_of_str(uid));
    json_put(&notes, STR(KARMADA_WORK_NAME), json_of_str(name));
    json_put(&notes, STR(KARMADA_WORK_NAMESPACE), json_of_str(namespace));
    if (conflict.n)
        json_put(&notes, STR(KARMADA_CONFLICT), json_of_str(conflict));
    json_put(&notes, STR(KARMADA_MANAGED_ANNOTATIONS), json_null);
    json_put(&notes, STR(KARMADA_MANAGED_LABELS), json_of_str(names_of(a, &labels)));
    json_put(&notes, STR(KARMADA_MANAGED_ANNOTATIONS), json_of_str(names_of(a, &notes)));
    m = json_set(a, m, "metadata.labels", json_object_done(&labels));
    return *json_set(a, m, "metadata.annotations", json_object_done(&notes));
}

static struct json spec_of(struct arena *a, const struct work_order *o, struct json manifest)
{
    struct json_object spec = json_object_new(a), load = json_object_new(a);
    struct json_array list = json_array_new(a);

    json_push(&list, manifest);
    json_add(&load, STR("manifests"), json_array_value(&list));
    json_add(&spec, STR("workload"), json_object_value(&load));
    json_add(&spec, STR("suspendDispatching"), json_of_bool(o->suspended));
    json_add(&spec, STR("preserveResourcesOnDeletion"), json_of_bool(o->preserved));
    return json_object_value(&spec);
}

static struct json labels_of(struct arena *a, const struct work_order *o, str id)
{
    struct json_object l = json_object_new(a);

    json_add(&l, STR(KARMADA_WORK_ID), json_of_str(id));
    if (o->id.n)
        json_add(&l, o->id_label, json_of_str(o->id));
    json_for_each_member (m, &o->labels)
        json_add(&l, m->name, m->value);
    return json_object_value(&l);
}

static const struct json *new_work(struct arena *a, const struct work_order *o, str namespace,
                                   str name, str id, struct json spec)
{
    struct json_object w = json_object_new(a), meta = json_object_new(a);
    struct json_array finalizers = json_array_new(a);

    json_push(&finalizers, json_of_str(STR(KARMADA_WORK_FINALIZER)));
    json_add(&meta, STR("name"), json_of_str(name));
    json_add(&meta, STR("namespace"), json_of_str(namespace));
    json_add(&meta, STR("labels"), labels_of(a, o, id));
    if (o->annotations.n)
        json_add(&meta, STR("annotations"), o->annotations);
    json_add(&meta, STR("finalizers"), json_array_value(&finalizers));
    if (o->owners.type == JSON_ARRAY)
        json_add(&meta, STR("ownerReferences"), o->owners);
    json_add(&w, STR("apiVersion"), json_of_str(STR("work.karmada.io/v1alpha1")));
    json_add(&w, STR("kind"), json_of_str(STR("Work")));
    json_add(&w, STR("metadata"), json_object_value(&meta));
    json_add(&w, STR("spec"), spec);
    return json_object_done(&w);
}

/* Karmada's annotations are ours alone: one that is not said any more goes. */
static struct json notes_of(struct arena *a, const struct work_order *o,
                            const struct json *existing)
{
    struct json_object notes = propagator_map(a, existing, "metadata.annotations");

    json_remove(&notes, STR(KARMADA_APPLIED_OVERRIDES));
    json_remove(&notes, STR(KARMADA_APPLIED_CLUSTER_OVERRIDES));
    json_for_each_member (m, &o->annotations)
        json_put(&notes, m->name, m->value);
    return json_object_value(&notes);
}

static int update(struct arena *a, const struct client_ref *ref, const struct work_order *o,
                  const struct json *existing, str id, struct json spec, struct client_request *out,
                  struct status *st)
{
    struct json labels = labels_of(a, o, id), notes = notes_of(a, o, existing);
    const struct json *had = json_path(existing, "metadata.annotations");
    const struct json *now = existing;

    if (propagator_deleting(existing))
        return status_set(st, REASON_CONFLICT, "work %.*s/%.*s is being deleted",
                          STR_ARG(ref->namespace), STR_ARG(ref->name));
    if (json_equal(&spec, json_get(existing, STR("spec"))) &&
        json_equal(&labels, json_path(existing, "metadata.labels")) &&
        (had ? json_equal(&notes, had) : notes.n == 0))
        return 0;
    now = json_set(a, now, "metadata.labels", json_box(a, labels));
    now = json_set(a, now, "metadata.annotations", json_box(a, notes));
    now = json_set(a, now, "spec", json_box(a, spec));
    *out = client_request_update(a, ref, NULL, now);
    return 1;
}

static struct client_ref ref_of(struct arena *a, str instance, const struct work_order *o)
{
    return propagator_work_ref(instance, karmada_execution_namespace(a, o->cluster),
                               karmada_work_name(a, json_get_str(o->template, "metadata.namespace"),
                                                 json_get_str(o->template, "metadata.name"),
                                                 json_get_str(o->template, "kind")));
}

int propagator_work_request(struct arena *a, str instance, const struct work_order *o,
                            const struct json *existing, struct client_request *out,
                            struct status *st)
{
    struct client_ref ref = ref_of(a, instance, o), all = ref;
    struct json spec;
    str id;

    if (existing) /* it keeps its name */
        ref.name = json_get_str(existing, "metadata.name");
    id = work_id(a, o, ref.namespace, ref.name, existing);
    spec = spec_of(a, o, manifest_of(a, o, ref.namespace, ref.name, id));
    if (existing)
        return update(a, &ref, o, existing, id, spec, out, st);
    all.name = STR_NONE;
    *out = client_request_create(a, &all, NULL, new_work(a, o, ref.namespace, ref.name, id, spec));
    return 1;
}

int propagator_work(struct client *client, struct arena *a, str instance,
                    const struct work_order *o, const struct json *existing, struct status *st)
{
    struct client_ref ref = ref_of(a, instance, o);
    struct client_request req;
    int wanted = propagator_work_request(a, instance, o, existing, &req, st);

    if (wanted <= 0 || client_do(client, a, &req, NULL, st) == 0)
        return wanted < 0 ? -1 : 0;
    if (existing || !status_is(st, REASON_ALREADY_EXISTS))
        return -1;
    status_reset(st); /* one that nobody knew of: it is taken over */
    if (client_get(client, a, &ref, &existing, st) < 0)
        return -1;
    wanted = propagator_work_request(a, instance, o, existing, &req, st);
    return wanted <= 0 ? wanted : client_do(client, a, &req, NULL, st);
}

/* ---- all of a binding ---- */

enum { WORKS_PAGE = 500 };

struct propagator_questions {
    struct client *client;
    struct arena *a;
    str instance;
    struct client_item items[4];
    size_t n;
    struct client_item *works, *template, *cluster, *namespaced;
};

static struct client_item *ask(struct propagator_questions *q, struct client_request req)
{
    struct client_item *i = &q->items[q->n++];

    i->req = req;
    return i;
}

static struct client_item *ask_overrides(struct propagator_questions *q, const char *resource,
                                         str namespace)
{
    struct client_ref ref = { .instance = q->instance,
                              .group = STR("policy.karmada.io"),
                              .version = STR("v1alpha1"),
                              .resource = str_of(resource),
                              .namespace = namespace };

    return ask(q, client_request_list(q->a, &ref, NULL));
}

/* The list's items; all were asked, the first that failed counts. */
static int items_of(const struct client_item *i, const struct json **out, struct status *st)
{
    if (!i)
        return 0;
    if (i->rc < 0) {
        status_copy(st, &i->st);
        return -1;
    }
    *out = json_get(i->object, STR("items"));
    return 0;
}

static int take_template(const struct propagator_questions *q, struct propagator_view *v,
                         struct status *st)
{
    if (!q->template)
        return 0;
    if (q->template->rc == 0) {
        v->template = q->template->object;
        return 0;
    }
    if (status_is(&q->template->st, REASON_NOT_FOUND))
        return 0;
    status_copy(st, &q->template->st);
    return -1;
}

static int take(const struct propagator_questions *q, const struct json *binding,
                struct propagator_view *v, struct status *st)
{
    if (items_of(q->works, &v->works, st) < 0 || take_template(q, v, st) < 0 ||
        items_of(q->cluster, &v->overrides.cluster, st) < 0 ||
        items_of(q->namespaced, &v->overrides.namespaced, st) < 0)
        return -1;
    if (q->works && json_get_str(q->works->object, "metadata.continue").n) /* of very many */
        return propagator_works(q->client, q->a, q->instance, binding, &v->works, st);
    return 0;
}

int propagator_look(struct propagator *p, struct client *client, struct arena *a, str instance,
                    const struct json *binding, bool overrides, struct propagator_view *v,
                    struct status *st)
{
    const struct json *what = json_path(binding, "spec.resource");
    struct client_ref works = propagator_work_ref(instance, STR_NONE, STR_NONE);
    struct client_query query = { .limit = WORKS_PAGE };
    struct propagator_questions q = { .client = client, .a = a, .instance = instance };
    str namespace = json_get_str(binding, "metadata.namespace");
    struct client_ref at = { .instance = instance };
    int found = propagator_resource(p, client, a, instance, json_get_str(what, "apiVersion"),
                                    json_get_str(what, "kind"), &at, st);

    if (found < 0)
        return -1;
    *v = (struct propagator_view){ .works = &json_empty_array,
                                   .at = at,
                                   .overrides = { &json_empty_array, &json_empty_array } };
    v->at.namespace = json_get_str(what, "namespace");
    v->at.name = json_get_str(what, "name");
    query.label_selector =
        str_printf(a, "%s=%.*s", propagator_id_label(binding), STR_ARG(propagator_id(binding)));
    if (propagator_id(binding).n)
        q.works = ask(&q, client_request_list(a, &works, &query));
    if (found && v->at.name.n) /* a get without a name would be a list */
        q.template = ask(&q, client_request_get(a, &v->at));
    if (overrides)
        q.cluster = ask_overrides(&q, "clusteroverridepolicies", STR_NONE);
    if (overrides && namespace.n)
        q.namespaced = ask_overrides(&q, "overridepolicies", namespace);
    client_do_all(client, a, q.items, q.n);
    return take(&q, binding, v, st);
}
