/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "fleet/syncer_internal.h"
#include "object/meta/karmada.h"

/* ---- hashes: members count in any order ---- */

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15u)) * 0xff51afd7ed558ccdu;

    return x ^ (x >> 32);
}

uint64_t sync_text_hash(const struct syncer *s, str text)
{
    return str_hash(text, s->k0, s->k1);
}

static uint64_t scalar_hash(const struct syncer *s, const struct json *v)
{
    uint64_t bits = 0;

    if (v->type == JSON_STRING)
        return sync_text_hash(s, json_str(v));
    if (v->type == JSON_BOOL)
        bits = v->b;
    else if (v->type != JSON_NULL)
        memcpy(&bits, &v->i, sizeof(bits));
    return mix(s->k0 + v->type, bits);
}

static uint64_t hash_of(const struct syncer *s, const struct json *v)
{
    uint64_t h;

    if (v->type != JSON_OBJECT && v->type != JSON_ARRAY)
        return scalar_hash(s, v);
    h = s->k1 + v->type;
    if (v->type == JSON_ARRAY) {
        json_for_each (item, v)
            h = mix(h, hash_of(s, item));
        return h;
    }
    json_for_each_member (m, v)
        h += mix(sync_text_hash(s, m->name), hash_of(s, &m->value));
    return mix(h, v->n);
}

static uint64_t not_zero(uint64_t h)
{
    return h ? h : 1;
}

uint64_t sync_manifest_hash(const struct syncer *s, const struct json *v)
{
    return not_zero(hash_of(s, v));
}

/* Karmada's own always are. */
static bool is_listed(str list, str name)
{
    if (str_contains(name, STR("karmada.io/")))
        return true;
    for (str part; str_split(&list, ',', &part);)
        if (str_eq(part, name))
            return true;
    return false;
}

/* Labels or annotations of which the listed ones are ours; others may add to them what they like
 * (a Deployment's revision, say), and that stays.  No list: all count. */
static uint64_t owned_hash(const struct syncer *s, const struct json *map, str list)
{
    uint64_t h = s->k1;

    if (!list.n)
        return hash_of(s, map);
    json_for_each_member (m, map)
        if (is_listed(list, m->name))
            h += mix(sync_text_hash(s, m->name), hash_of(s, &m->value));
    return h;
}

/* Without what changes by itself, or with every write. */
static uint64_t metadata_hash(const struct syncer *s, const struct json *meta)
{
    static const char *const passing[] = { "resourceVersion", "managedFields", "generation", NULL };
    const struct json *notes = json_get(meta, STR("annotations"));
    uint64_t h = s->k1, value;

    json_for_each_member (m, meta) {
        if (str_is_any(m->name, passing))
            continue;
        if (str_is(m->name, "labels"))
            value =
                owned_hash(s, &m->value, json_str(json_get(notes, STR(KARMADA_MANAGED_LABELS))));
        else if (&m->value == notes)
            value =
                owned_hash(s, notes, json_str(json_get(notes, STR(KARMADA_MANAGED_ANNOTATIONS))));
        else
            value = hash_of(s, &m->value);
        h += mix(sync_text_hash(s, m->name), value);
    }
    return h;
}

uint64_t sync_content_hash(const struct syncer *s, const struct json *object)
{
    uint64_t h = s->k0;

    json_for_each_member (m, object) {
        if (str_is(m->name, "status") || str_is(m->name, "kind") || str_is(m->name, "apiVersion"))
            continue; /* lists leave the kind out */
        h += str_is(m->name, "metadata") ? metadata_hash(s, &m->value)
                                         : mix(sync_text_hash(s, m->name), hash_of(s, &m->value));
    }
    return not_zero(h);
}

/* ---- objects ---- */

static const struct json *without(struct arena *a, const struct json *v, const char *const *names)
{
    struct json_object o = json_object_new(a);

    json_for_each_member (m, v)
        if (!str_is_any(m->name, names))
            json_add(&o, m->name, m->value);
    return json_object_done(&o);
}

/* Without what belongs to the cluster it was read in. */
const struct json *sync_manifest_bare(struct arena *a, const struct json *object)
{
    static const char *const local[] = { "resourceVersion",
                                         "uid",
                                         "creationTimestamp",
                                         "deletionTimestamp",
                                         "deletionGracePeriodSeconds",
                                         "generation",
                                         "managedFields",
                                         "selfLink",
                                         "ownerReferences",
                                         "finalizers",
                                         "clusterName",
                                         NULL };
    static const char *const status[] = { "status", NULL };

    return json_set(a, without(a, object, status), "metadata",
                    without(a, json_get(object, STR("metadata")), local));
}

static const struct json *with_member(struct arena *a, const struct json *v, const char *key,
                                      str value)
{
    struct json_object o = json_object_from(a, v ? v : &json_empty_object);

    json_put(&o, str_of(key), json_of_str(value));
    return json_object_done(&o);
}

/* As Karmada's admission prepares a manifest; again here for Works that are made by hand. */
const struct json *sync_manifest_owned(struct arena *a, const struct json *manifest,
                                       str work_namespace, str work_name)
{
    const struct json *v = sync_manifest_bare(a, manifest);
    const struct json *notes = json_path(v, "metadata.annotations");

    notes = with_member(a, notes, KARMADA_WORK_NAMESPACE, work_namespace);
    notes = with_member(a, notes, KARMADA_WORK_NAME, work_name);
    v = json_set(a, v, "metadata.labels",
                 with_member(a, json_path(v, "metadata.labels"), KARMADA_MANAGED, STR("true")));
    return json_set(a, v, "metadata.annotations", notes);
}

/* By the Work's own id, which no other has; older ones and those made by hand have none. */
static bool is_of(const struct syncer *s, const struct json *wanted, const struct json *observed,
                  str work)
{
    str id = karmada_label(observed, KARMADA_WORK_ID);

    if (id.n)
        return str_eq(id, karmada_label(wanted, KARMADA_WORK_ID));
    return str_eq(karmada_annotation(observed, KARMADA_WORK_NAME), work) &&
           str_eq(karmada_annotation(observed, KARMADA_WORK_NAMESPACE), s->namespace);
}

enum claim sync_manifest_claim(const struct syncer *s, const struct json *wanted,
                               const struct json *observed, str work)
{
    str owner = owner_of(observed, s->o.owner.name);

    if (owner.n)
        return str_eq(owner, s->o.owner.name) ? CLAIM_OURS : CLAIM_OTHERS;
    if (!str_is(karmada_label(observed, KARMADA_MANAGED), "true") &&
        !karmada_annotation(observed, KARMADA_WORK_NAME).n)
        return CLAIM_FREE;
    /* An older program, ours or Karmada's; of a copied store it was the original. */
    return s->o.owner.origin != INSTALLATION_COPIED && is_of(s, wanted, observed, work)
               ? CLAIM_OURS
               : CLAIM_OTHERS;
}

/* The member's own labels stay; those that we brought and bring no more (`list`) go. */
static const struct json *merged(struct arena *a, const struct json *ours,
                                 const struct json *theirs, str list)
{
    struct json_object o = json_object_from(a, theirs ? theirs : &json_empty_object);

    for (str rest = list, key; str_split(&rest, ',', &key);)
        json_remove(&o, key);
    json_for_each_member (m, ours)
        json_put(&o, m->name, m->value);
    return json_object_done(&o);
}

/* karmada: util/objectwatcher, Update */
int sync_manifest_over(const struct syncer *s, struct arena *a, const struct json *wanted,
                       const struct json *observed, const struct json **out, struct status *st)
{
    static const char *const kept[] = { "metadata.resourceVersion", "metadata.finalizers",
                                        "metadata.ownerReferences" };
    const struct json *v, *had;

    if (s->o.ops->retain(s->o.ops_arg, a, s->o.instance, wanted, observed, &v, st) < 0)
        return -1;
    v = json_set(a, v, "metadata.labels",
                 merged(a, json_path(wanted, "metadata.labels"),
                        json_path(observed, "metadata.labels"),
                        karmada_annotation(observed, KARMADA_MANAGED_LABELS)));
    v = json_set(a, v, "metadata.annotations",
                 merged(a, json_path(wanted, "metadata.annotations"),
                        json_path(observed, "metadata.annotations"),
                        karmada_annotation(observed, KARMADA_MANAGED_ANNOTATIONS)));
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if ((had = json_path(observed, kept[i])))
            v = json_set(a, v, kept[i], had);
    if (!str_eq(owner_of(observed, s->o.owner.name), s->o.owner.name))
        v = json_set(a, v, "metadata.managedFields",
                     owner_marked(a, observed,
                                  &(struct owner_mark){ .own = s->o.owner.name,
                                                        .label = KARMADA_MANAGED,
                                                        .now = syncer_now(s, a) }));
    had = json_get(observed, STR("status")); /* where it is no subresource a PUT would lose it */
    *out = had ? json_set(a, v, "status", had) : v;
    return 0;
}

/* Left in the member when its Work goes; karmada keeps the conflict-resolution annotation. */
const struct json *sync_manifest_released(const struct syncer *s, struct arena *a,
                                          const struct json *observed)
{
    static const char *const labels[] = {
        KARMADA_MANAGED, KARMADA_PP_ID, KARMADA_CPP_ID, KARMADA_RB_ID, KARMADA_CRB_ID,
        KARMADA_WORK_ID, NULL
    };
    static const char *const notes[] = { KARMADA_PP_NAMESPACE,
                                         KARMADA_PP_NAME,
                                         KARMADA_CPP_NAME,
                                         KARMADA_RB_NAMESPACE,
                                         KARMADA_RB_NAME,
                                         KARMADA_CRB_NAME,
                                         KARMADA_WORK_NAMESPACE,
                                         KARMADA_WORK_NAME,
                                         KARMADA_TEMPLATE_UID,
                                         KARMADA_TEMPLATE_GENERATION,
                                         KARMADA_MANAGED_LABELS,
                                         KARMADA_MANAGED_ANNOTATIONS,
                                         NULL };
    const struct json *v = observed;

    v = json_set(a, v, "metadata.labels", without(a, json_path(v, "metadata.labels"), labels));
    v = json_set(a, v, "metadata.managedFields", owner_unmarked(a, observed, s->o.owner.name));
    return json_set(a, v, "metadata.annotations",
                    without(a, json_path(v, "metadata.annotations"), notes));
}

/* This very object, and what it owns by the garbage collector. */
const struct json *sync_delete_options(struct arena *a, const struct json *observed)
{
    struct json_object o = json_object_new(a), uid = json_object_new(a);

    json_add(&uid, STR("uid"), json_of_str(json_get_str(observed, "metadata.uid")));
    json_add(&o, STR("kind"), json_of_str(STR("DeleteOptions")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("propagationPolicy"), json_of_str(STR("Background")));
    json_add(&o, STR("preconditions"), json_object_value(&uid));
    return json_object_done(&o);
}

/* ---- keys ---- */

str sync_join_key(struct arena *a, str namespace, str name)
{
    return str_printf(a, "%.*s/%.*s", STR_ARG(namespace), STR_ARG(name));
}

void sync_split_key(str key, str *namespace, str *name)
{
    *name = key;
    (void)str_split(name, '/', namespace);
}
