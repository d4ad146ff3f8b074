/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/objects.h"

#include <assert.h>

#include "base/banned.h"
#include "base/clock.h"
#include "object/meta/selector.h"

const struct json *obj_str(struct arena *a, str s)
{
    return json_box(a, json_of_str(s));
}

static const struct json *obj_int(struct arena *a, int64_t i)
{
    return json_box(a, json_of_int(i));
}

const struct json *obj_of(struct arena *a, const char *text)
{
    const struct json *v = NULL;
    struct status st;
    int rc;

    status_init(&st, a);
    rc = json_parse(a, str_of(text), NULL, &v, &st);
    assert(rc == 0);
    (void)rc;
    return v;
}

const struct json *obj_set_str(struct arena *a, const struct json *v, const char *path, str s)
{
    return json_set(a, v, path, obj_str(a, s));
}

const struct json *obj_set_int(struct arena *a, const struct json *v, const char *path, int64_t i)
{
    return json_set(a, v, path, obj_int(a, i));
}

const struct json *obj_put(struct arena *a, const struct json *v, const char *path, str name,
                           struct json value)
{
    const struct json *at = json_path(v, path);
    struct json_object o = json_object_from(a, json_is(at, JSON_OBJECT) ? at : &json_empty_object);

    json_put(&o, name, value);
    return json_set(a, v, path, json_object_done(&o));
}

struct json obj_time(struct arena *a, int64_t wall_s)
{
    char *text = arena_alloc(a, TIME_TEXT_SIZE);
    size_t n = time_format_seconds(text, wall_s);

    return json_of_str((str){ text, n });
}

const struct json *obj_owned(struct arena *a, const char *api_version, const char *kind,
                             const struct json *owner, const char *owner_version,
                             const char *owner_kind)
{
    struct json_object ref = json_object_new(a), meta = json_object_new(a),
                       obj = json_object_new(a);
    struct json_array refs = json_array_new(a);
    str namespace = json_get_str(owner, "metadata.namespace");

    json_add(&ref, STR("apiVersion"), json_of_str(str_of(owner_version)));
    json_add(&ref, STR("kind"), json_of_str(str_of(owner_kind)));
    json_add(&ref, STR("name"), json_of_str(obj_name(owner)));
    json_add(&ref, STR("uid"), json_of_str(obj_uid(owner)));
    json_add(&ref, STR("controller"), json_true);
    json_add(&ref, STR("blockOwnerDeletion"), json_true);
    json_push(&refs, json_object_value(&ref));
    if (namespace.n)
        json_add(&meta, STR("namespace"), json_of_str(namespace));
    json_add(&meta, STR("ownerReferences"), json_array_value(&refs));
    json_add(&obj, STR("kind"), json_of_str(str_of(kind)));
    json_add(&obj, STR("apiVersion"), json_of_str(str_of(api_version)));
    json_add(&obj, STR("metadata"), json_object_value(&meta));
    return json_object_done(&obj);
}

/* k8s: apimachinery/pkg/util/rand, SafeEncodeString: no vowels, so no words */
str obj_hash(struct arena *a, const struct json *v)
{
    static const char safe[] = "bcdfghjklmnpqrstvwxz2456789";
    scoped_buf b = { .max = 64 << 20 };
    char *text = arena_alloc(a, 11);
    uint64_t h;

    json_print_canonical(&b, v);
    h = str_hash(buf_str(&b), 0x73696d, 0);
    for (size_t i = 0; i < 10; i++, h /= sizeof(safe) - 1)
        text[i] = safe[h % (sizeof(safe) - 1)];
    return (str){ text, 10 };
}

/* ---- conditions ---- */

static struct json condition(struct arena *a, const struct json *old, const struct obj_condition *c,
                             int64_t wall_s)
{
    struct json_object o = json_object_new(a);
    struct json now = obj_time(a, wall_s);
    str status = c->holds ? STR("True") : STR("False");
    bool same = str_eq(json_get_str(old, "status"), status);
    bool equal = same && str_eq(json_get_str(old, "reason"), c->reason) &&
                 str_eq(json_get_str(old, "message"), c->message);

    if (equal)
        return *old;
    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    json_add(&o, STR("status"), json_of_str(status));
    if (c->updates)
        json_add(&o, STR("lastUpdateTime"), now);
    json_add(&o, STR("lastTransitionTime"),
             same && json_path(old, "lastTransitionTime") ? *json_path(old, "lastTransitionTime")
                                                          : now);
    if (c->reason.n)
        json_add(&o, STR("reason"), json_of_str(c->reason));
    if (c->message.n)
        json_add(&o, STR("message"), json_of_str(c->message));
    return json_object_value(&o);
}

const struct json *obj_condition(struct arena *a, const struct json *conditions,
                                 const struct obj_condition *c, int64_t wall_s)
{
    struct json_array out = json_array_new(a);
    bool found = false;

    json_for_each (old, conditions) {
        bool it = str_is(json_get_str(old, "type"), c->type);

        json_push(&out, it ? condition(a, old, c, wall_s) : *old);
        found |= it;
    }
    if (!found)
        json_push(&out, condition(a, NULL, c, wall_s));
    return json_array_done(&out);
}

/* ---- looking ---- */

str obj_name(const struct json *v)
{
    return json_get_str(v, "metadata.name");
}

str obj_uid(const struct json *v)
{
    return json_get_str(v, "metadata.uid");
}

bool obj_deleting(const struct json *v)
{
    return json_path(v, "metadata.deletionTimestamp") != NULL;
}

const struct json *obj_controller(const struct json *v)
{
    json_for_each (r, json_path(v, "metadata.ownerReferences"))
        if (json_bool(json_get(r, STR("controller"))))
            return r;
    return NULL;
}

bool obj_selects(const struct json *selector, const struct json *labels)
{
    json_for_each_member (m, selector) {
        const struct json *v = json_get(labels, m->name);

        if (!v || !str_eq(json_str(v), json_str(&m->value)))
            return false;
    }
    return true;
}

static bool obj_is_controlled_by(const struct json *v, const struct json *owner)
{
    const struct json *ref = obj_controller(v);

    return ref && str_eq(json_get_str(ref, "uid"), obj_uid(owner));
}

/* ---- pods ---- */

bool pod_is_ready(const struct json *pod)
{
    return condition_holds(json_path(pod, "status.conditions"), "Ready");
}

bool pod_is_over(const struct json *pod)
{
    str phase = json_get_str(pod, "status.phase");

    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

bool pod_is_active(const struct json *pod)
{
    return !obj_deleting(pod) && !pod_is_over(pod);
}

bool pod_is_available(const struct json *pod, int64_t min_ready_s, int64_t now_s, int *wait_ms)
{
    const struct json *ready = condition_find(json_path(pod, "status.conditions"), "Ready");
    int64_t since, left;

    if (!pod_is_ready(pod))
        return false;
    if (min_ready_s <= 0 || !time_parse_seconds(json_get_str(ready, "lastTransitionTime"), &since))
        return true;
    left = since + min_ready_s - now_s;
    if (left <= 0)
        return true;
    if (*wait_ms == 0 || left * 1000 < *wait_ms)
        *wait_ms = (int)(left > 3600 ? 3600000 : left * 1000);
    return false;
}

/* ---- the API ---- */

struct client_ref obj_ref_named(const struct informer_key *k, const char *group,
                                const char *resource, str name)
{
    return (struct client_ref){ .instance = k->instance,
                                .group = str_of(group),
                                .version = STR("v1"),
                                .resource = str_of(resource),
                                .namespace = k->namespace,
                                .name = name };
}

struct client_ref obj_ref(const struct informer_key *k, const char *group, const char *resource)
{
    return obj_ref_named(k, group, resource, k->name);
}

int obj_get(struct client *c, struct arena *a, const struct client_ref *ref,
            const struct json **out, struct status *st)
{
    if (client_get(c, a, ref, out, st) == 0)
        return 1;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int obj_put_status(struct client *c, struct arena *a, struct client_ref ref,
                   const struct json *object, const struct json *status, struct status *st)
{
    if (json_equal(json_path(object, "status"), status))
        return 0;
    ref.subresource = STR("status");
    if (client_update(c, a, &ref, json_set(a, object, "status", status), NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

int obj_delete(struct client *c, struct arena *a, const struct client_ref *ref, str uid,
               int64_t grace_s, struct status *st)
{
    const struct json *o = &json_empty_object;

    if (uid.n)
        o = obj_set_str(a, o, "preconditions.uid", uid);
    if (grace_s >= 0)
        o = obj_set_int(a, o, "gracePeriodSeconds", grace_s);
    o = obj_set_str(a, o, "propagationPolicy", STR("Background"));
    if (client_delete(c, a, ref, o, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND) && !(uid.n && status_is(st, REASON_CONFLICT)))
        return -1;
    status_reset(st);
    return 0;
}

int obj_post(struct client *c, struct arena *a, const struct client_ref *ref,
             const struct json *object, const struct json **out, struct status *st)
{
    const struct client_request req = { .method = STR("POST"),
                                        .path = client_path(a, ref, NULL),
                                        .content_type = STR("application/json"),
                                        .body = json_text(a, object) };
    const struct json *got;

    return client_do(c, a, &req, out ? out : &got, st);
}

int obj_list_owned(struct client *c, struct arena *a, struct client_ref ref,
                   const struct json *owner, struct obj_list *out, struct status *st)
{
    struct client_query q = { .label_selector =
                                  selector_print(a, json_path(owner, "spec.selector")) };
    const struct json *list, *items;

    ref.name = STR_NONE;
    *out = (struct obj_list){ 0 };
    if (client_list(c, a, &ref, &q, &list, st) < 0)
        return -1;
    items = json_get(list, STR("items"));
    out->items = arena_array(a, const struct json *, json_len(items) + 1);
    json_for_each (i, items)
        if (obj_is_controlled_by(i, owner))
            out->items[out->n++] = i;
    return 0;
}

const struct json *obj_pod(struct arena *a, const struct json *owner, const char *owner_version,
                           const char *owner_kind)
{
    static const char *const kept[] = { "labels", "annotations", "finalizers" };
    const struct json *pod = obj_owned(a, "v1", "Pod", owner, owner_version, owner_kind);
    const struct json *template = json_path(owner, "spec.template");
    const struct json *meta = json_get(pod, STR("metadata"));

    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++) {
        const struct json *v = json_get(json_get(template, STR("metadata")), str_of(kept[i]));

        if (v)
            meta = json_set(a, meta, kept[i], v);
    }
    meta = obj_set_str(a, meta, "generateName", str_printf(a, "%.*s-", STR_ARG(obj_name(owner))));
    return json_set(a, json_set(a, pod, "metadata", meta), "spec", json_get(template, STR("spec")));
}

int obj_create(struct client *c, struct arena *a, const struct informer_key *k, const char *group,
               const char *resource, const struct json *object, struct status *st)
{
    struct client_ref ref = obj_ref_named(k, group, resource, STR_NONE);

    return client_create(c, a, &ref, object, NULL, st);
}
