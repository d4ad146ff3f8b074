/* SPDX-License-Identifier: Apache-2.0 */

/*
 * In which namespace of the member the copies of a namespace of the instance are.  Its name is a
 * hash of where it comes from, the installation included, so that nothing of two instances can
 * meet.  Programs before this one left the installation out: a namespace that such a program of
 * this installation has made keeps its name, and is marked as ours.
 */

#include <stdlib.h>

#include "base/banned.h"
#include "base/encode.h"
#include "base/mem.h"
#include "fleet/syncer_internal.h"
#include "http/sign.h"

enum { TRIES_MAX = 3 };

struct place {
    bool old;  /* named as programs before this one did */
    bool made; /* it is in the member, and ours */
};

/* ---- names ---- */

str syncer_locator(struct arena *a, const struct syncer_origin *from)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("logical-cluster"), json_of_str(from->logical));
    json_add(&o, STR("namespace"), json_of_str(from->namespace));
    if (from->installation.n)
        json_add(&o, STR("installation"), json_of_str(from->installation));
    return json_text(a, json_object_done(&o));
}

str syncer_namespace(struct arena *a, const struct syncer_origin *from)
{
    unsigned char hash[SHA224_SIZE];
    char text[3 + 2 * SHA224_SIZE] = { 'k', 'c', 'p' };

    sign_sha224(syncer_locator(a, from), hash);
    hex_encode(text + 3, hash, sizeof(hash));
    return str_dup(a, (str){ text, sizeof(text) });
}

bool syncer_origin_read(struct arena *a, str locator, struct syncer_origin *out)
{
    const struct json *v;
    struct status st;

    status_init(&st, a);
    if (!locator.n || json_parse(a, locator, NULL, &v, &st) < 0)
        return false;
    out->logical = json_get_str(v, "logical-cluster");
    out->namespace = json_get_str(v, "namespace");
    out->installation = json_get_str(v, "installation");
    return out->logical.n > 0;
}

str sync_locator_of(const struct json *observed)
{
    return json_str(json_get(json_path(observed, "metadata.annotations"), STR(SYNCER_LOCATOR)));
}

/* ---- of a job ---- */

static str from_namespace(const struct job *j)
{
    str namespace, name;

    sync_split_key(j->item->key, &namespace, &name);
    return namespace;
}

static struct place *place_of(const struct job *j)
{
    return map_get(&j->syncer->places, from_namespace(j));
}

static struct syncer_origin origin_of(const struct job *j, bool old)
{
    const struct syncer_options *o = &j->syncer->o;

    return (struct syncer_origin){ old ? STR_NONE : o->owner.installation, o->logical,
                                   from_namespace(j) };
}

bool sync_place_is_old(const struct job *j)
{
    return place_of(j)->old;
}

str sync_place_name(const struct job *j)
{
    struct syncer_origin from = origin_of(j, place_of(j)->old);

    return syncer_namespace(j->arena, &from);
}

str sync_place_locator(const struct job *j)
{
    struct syncer_origin from = origin_of(j, place_of(j)->old);

    return syncer_locator(j->arena, &from);
}

static struct client_ref namespace_ref(str name)
{
    return (struct client_ref){ .version = STR("v1"), .resource = STR("namespaces"), .name = name };
}

static bool is_free_or_ours(const struct job *j, const struct json *namespace)
{
    str owner = owner_of(namespace, j->syncer->o.owner.name);

    return !owner.n || str_eq(owner, j->syncer->o.owner.name);
}

/* ---- which one ---- */

static void settle(struct job *j, bool old)
{
    str from = from_namespace(j);
    struct place *p = mem_zalloc(sizeof(*p) + from.n);
    job_fn *then = j->placed;

    memcpy(p + 1, from.p, from.n);
    p->old = old;
    free(map_put(&j->syncer->places, (str){ (const char *)(p + 1), from.n }, p));
    then(j, NULL, NULL);
}

static void on_old(struct job *j, const struct json *namespace, const struct status *why)
{
    struct syncer_origin from = origin_of(j, true);

    if (why && !status_is(why, REASON_NOT_FOUND))
        sync_job_failed(j, why);
    else
        settle(j, !why && str_eq(sync_locator_of(namespace), syncer_locator(j->arena, &from)) &&
                      is_free_or_ours(j, namespace));
}

void sync_place_find(struct job *j, job_fn *then)
{
    struct syncer_origin from = origin_of(j, true);
    struct client_ref ref;

    j->placed = then;
    if (place_of(j)) {
        then(j, NULL, NULL);
    } else if (j->syncer->o.owner.origin != INSTALLATION_UPGRADED) {
        settle(j, false);
    } else {
        ref = namespace_ref(syncer_namespace(j->arena, &from));
        sync_job_target(j, client_request_get(j->arena, &ref), on_old);
    }
}

/* ---- it is there ---- */

static void on_found(struct job *j, const struct json *namespace, const struct status *why);

static void look(struct job *j)
{
    struct client_ref ref = namespace_ref(sync_place_name(j));

    sync_job_target(j, client_request_get(j->arena, &ref), on_found);
}

static void refuse(struct job *j, const struct json *namespace)
{
    str owner = owner_of(namespace, j->syncer->o.owner.name), name = sync_place_name(j);
    struct status st;

    status_init(&st, j->arena);
    (void)status_set(&st, REASON_CONFLICT, "namespace %.*s of the member is not ours%s%.*s",
                     STR_ARG(name), owner.n ? ": it is owned by " : "",
                     STR_ARG(owner.n ? owner_words(j->arena, owner) : STR_NONE));
    sync_job_failed(j, &st);
}

static void on_marked(struct job *j, const struct json *namespace, const struct status *why)
{
    if (why &&
        (status_is(why, REASON_CONFLICT) || status_is(why, REASON_NOT_FOUND) ||
         status_is(why, REASON_ALREADY_EXISTS)) &&
        j->tries++ < TRIES_MAX)
        look(j);
    else if (why)
        sync_job_failed(j, why);
    else
        on_found(j, namespace, NULL);
}

static void create(struct job *j)
{
    struct client_ref ref = namespace_ref(STR_NONE);
    struct client_query q = sync_target_query(j->syncer);
    struct json_object labels = json_object_new(j->arena), notes = json_object_new(j->arena);
    const struct json *v = &json_empty_object;

    json_add(&labels, STR(SYNCER_CLUSTER_LABEL), json_of_str(j->syncer->o.cluster));
    json_add(&notes, STR(SYNCER_LOCATOR), json_of_str(sync_place_locator(j)));
    v = json_set(j->arena, v, "apiVersion", json_box(j->arena, json_of_str(STR("v1"))));
    v = json_set(j->arena, v, "kind", json_box(j->arena, json_of_str(STR("Namespace"))));
    v = json_set(j->arena, v, "metadata.name", json_box(j->arena, json_of_str(sync_place_name(j))));
    v = json_set(j->arena, v, "metadata.labels", json_object_done(&labels));
    v = json_set(j->arena, v, "metadata.annotations", json_object_done(&notes));
    sync_job_target(j, client_request_create(j->arena, &ref, &q, v), on_marked);
}

/* Made by an older program of ours, or somebody has reset who manages it. */
static void mark(struct job *j, const struct json *namespace)
{
    struct client_ref ref = namespace_ref(sync_place_name(j));
    struct client_query q = sync_target_query(j->syncer);
    const struct json *patch =
        json_set(j->arena, &json_empty_object, "metadata.managedFields",
                 owner_marked(j->arena, namespace,
                              &(struct owner_mark){ .own = j->syncer->o.owner.name,
                                                    .label = SYNCER_CLUSTER_LABEL,
                                                    .now = syncer_now(j->syncer, j->arena) }));

    patch = json_set(j->arena, patch, "metadata.resourceVersion",
                     json_path(namespace, "metadata.resourceVersion"));
    sync_job_target(j, client_request_patch(j->arena, &ref, &q, CLIENT_PATCH_MERGE, patch),
                    on_marked);
}

static void on_found(struct job *j, const struct json *namespace, const struct status *why)
{
    job_fn *then = j->placed;

    if (why && status_is(why, REASON_NOT_FOUND)) {
        create(j);
    } else if (why) {
        sync_job_failed(j, why);
    } else if (!str_eq(sync_locator_of(namespace), sync_place_locator(j)) ||
               !is_free_or_ours(j, namespace)) {
        refuse(j, namespace);
    } else if (!owner_of(namespace, j->syncer->o.owner.name).n && j->tries++ < TRIES_MAX) {
        mark(j, namespace);
    } else {
        place_of(j)->made = true;
        then(j, NULL, NULL);
    }
}

void sync_place_need(struct job *j, job_fn *then)
{
    j->placed = then;
    if (place_of(j)->made)
        then(j, NULL, NULL);
    else
        look(j);
}

void sync_place_lost(struct job *j)
{
    place_of(j)->made = false;
}

void sync_places_free(struct syncer *s)
{
    size_t at = 0;
    void *v;
    str key;

    while (map_each(&s->places, &at, &key, &v))
        free(v);
    map_release(&s->places);
}
