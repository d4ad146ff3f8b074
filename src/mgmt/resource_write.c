/* SPDX-License-Identifier: Apache-2.0 */

/* Writing objects of an instance, under the name of the caller. */

#include "base/banned.h"
#include "mgmt/resource.h"

#define MANAGER "kairship"

struct client_ref resource_ref(const struct resource_call *c, const struct resource *what, str name)
{
    struct client_ref ref = what->ref;

    ref.instance = c->instance;
    ref.namespace = what->cluster_scoped ? STR_NONE : c->namespace;
    ref.name = name;
    return ref;
}

/* ---- what clients send ---- */

struct expected {
    const char *path;
    str value;
};

/* Puts in what is missing; a cause if it is something else. */
static const struct json *expect(struct resource_call *c, const char *field, const struct json *obj,
                                 struct expected want, struct status *st)
{
    const struct json *v = json_path(obj, want.path);
    struct json value = json_of_str(want.value);
    str at = str_printf(c->arena, "%s.%s", field, want.path);

    if (json_is(v, JSON_STRING) && v->n && !str_eq(json_str(v), want.value))
        status_cause(st, CAUSE_INVALID, at, json_text(c->arena, v), "must be \"%.*s\", or left out",
                     STR_ARG(want.value));
    else if (v && v->type != JSON_NULL && v->type != JSON_STRING)
        status_cause(st, CAUSE_TYPE_INVALID, at, json_text(c->arena, v), "must be a string");
    return json_set(c->arena, obj, want.path, json_box(c->arena, value));
}

int resource_check(struct resource_call *c, const struct resource *what, const char *field,
                   const struct json *obj, const struct json **out, struct status *st)
{
    str version = what->ref.group.n ? str_printf(c->arena, "%.*s/%.*s", STR_ARG(what->ref.group),
                                                 STR_ARG(what->ref.version))
                                    : what->ref.version;
    const struct json *metadata = json_get(obj, STR("metadata"));

    if (metadata && !json_is(metadata, JSON_OBJECT)) {
        status_cause(st, CAUSE_TYPE_INVALID, str_printf(c->arena, "%s.metadata", field),
                     json_text(c->arena, metadata), "must be an object");
        return status_invalid(st, what->ref.group, str_of(what->kind), STR_NONE);
    }
    obj = expect(c, field, obj, (struct expected){ "apiVersion", version }, st);
    obj = expect(c, field, obj, (struct expected){ "kind", str_of(what->kind) }, st);
    if (!what->cluster_scoped)
        obj = expect(c, field, obj, (struct expected){ "metadata.namespace", c->namespace }, st);
    *out = obj;
    return status_invalid(st, what->ref.group, str_of(what->kind),
                          json_get_str(obj, "metadata.name"));
}

static int checked_data(struct resource_call *c, const struct json **out, struct status *st)
{
    const struct json *obj;

    if (mgmt_data(c->arena, c->request, &obj, st) < 0)
        return -1;
    return resource_check(c, c->what, "data", obj, out, st);
}

/* ---- verbs ---- */

int resource_make(struct resource_call *c, const struct client_ref *ref, const struct json *obj,
                  bool dry_run, const struct json **out, struct status *st)
{
    struct client_query q = { .field_manager = STR(MANAGER), .dry_run = dry_run };
    struct client_request req = client_request_create(c->arena, ref, &q, obj);

    return mgmt_do(c->p, c->ctx, &req, out, st);
}

int resource_create(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, STR_NONE);
    const struct json *obj, *made;

    if (checked_data(c, &obj, st) < 0 || resource_make(c, &ref, obj, false, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

int resource_update(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_query q = { .field_manager = STR(MANAGER) };
    struct client_request req;
    const struct json *obj, *made;

    if (checked_data(c, &obj, st) < 0)
        return -1;
    obj = expect(c, "data", obj, (struct expected){ "metadata.name", c->name }, st);
    if (status_invalid(st, ref.group, str_of(c->what->kind), c->name) < 0 ||
        (c->what->before_update && c->what->before_update(c, &obj, st) < 0))
        return -1;
    req = client_request_update(c->arena, &ref, &q, obj);
    if (mgmt_do(c->p, c->ctx, &req, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

/* {"data": {"key": "value"}}: of what has data, keys of it; of others members, as JSON. */
static int patch_of_map(struct resource_call *c, const struct json *map, const struct json **out,
                        struct status *st)
{
    struct json_object o = json_object_new(c->arena);
    const struct json *v;

    if (str_is(c->what->ref.resource, "configmaps") || str_is(c->what->ref.resource, "secrets")) {
        json_add(&o, STR("data"), *map);
        *out = json_object_done(&o);
        return 0;
    }
    json_for_each_member (m, map) {
        if (json_parse(c->arena, json_str(&m->value), NULL, &v, st) < 0)
            return status_wrap(st, "data.%.*s: must be JSON", STR_ARG(m->name));
        json_add(&o, m->name, *v);
    }
    *out = json_object_done(&o);
    return 0;
}

int resource_patch_of(struct resource_call *c, const struct json **out, struct status *st)
{
    const struct json *data = json_get(c->request, STR("data"));

    if (json_is(data, JSON_OBJECT))
        return patch_of_map(c, data, out, st);
    if (!json_str(data).n)
        return message_refuse(st, STR("data"), "must be a patch as JSON");
    if (json_parse(c->arena, json_str(data), NULL, out, st) < 0)
        return status_wrap(st, "data");
    if (!json_is(*out, JSON_OBJECT) && !json_is(*out, JSON_ARRAY))
        return message_refuse(st, STR("data"), "must be a patch as JSON");
    return 0;
}

/* An array is a JSON patch, an object is merged as `kubectl patch` does it. */
int resource_patch(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_query q = { .field_manager = STR(MANAGER) };
    struct client_request req;
    const struct json *patch, *made;

    if (resource_patch_of(c, &patch, st) < 0)
        return -1;
    req = client_request_patch(
        c->arena, &ref, &q, json_is(patch, JSON_ARRAY) ? CLIENT_PATCH_JSON : CLIENT_PATCH_STRATEGIC,
        patch);
    if (mgmt_do(c->p, c->ctx, &req, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

int resource_change(struct resource_call *c, const char *path, struct json value,
                    const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct client_query q = { .field_manager = STR(MANAGER) };
    const struct json *patch =
        json_set(c->arena, &json_empty_object, path, json_box(c->arena, value));
    struct client_request req = client_request_patch(c->arena, &ref, &q, CLIENT_PATCH_MERGE, patch);
    const struct json *made;

    if (mgmt_do(c->p, c->ctx, &req, &made, st) < 0)
        return -1;
    return resource_answer(c, made, response, st);
}

int resource_delete(struct resource_call *c, const struct json **response, struct status *st)
{
    struct client_ref ref = resource_ref(c, c->what, c->name);
    struct json background = json_of_str(STR("Background"));
    const struct json *options =
        json_set(c->arena, &json_empty_object, "propagationPolicy", &background);
    struct client_request req = client_request_delete(c->arena, &ref, NULL, options);

    (void)response;
    if (c->what->before_delete && c->what->before_delete(c, st) < 0)
        return -1;
    return mgmt_do(c->p, c->ctx, &req, NULL, st);
}
