/* SPDX-License-Identifier: Apache-2.0 */
#include "rpc/recorded.h"

#include <string.h>

#include "base/banned.h"

#define INSTANCES "tenancy.kairship.io/v1alpha1/instances"

/* "group/version/resource", "group/version/resource/subresource", or "*". */
static void set_object(struct mount_deed *out, const char *object)
{
    str *const parts[] = { &out->group, &out->version, &out->resource, &out->subresource };
    str rest = str_of(object);

    out->object = true;
    if (strcmp(object, "*") == 0)
        return;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        (void)str_split(&rest, '/', parts[i]);
}

static str verb_of(const struct rpc_method *m, const struct rpc_recorded *r)
{
    static const struct {
        const char *method, *verb;
    } verbs[] = {
        { "POST", "create" },   { "PUT", "update" }, { "PATCH", "patch" },
        { "DELETE", "delete" }, { "GET", "get" },
    };

    if (r && *r->verb)
        return str_of(r->verb);
    for (size_t i = 0; m->nrules && i < sizeof(verbs) / sizeof(*verbs); i++)
        if (strcmp(verbs[i].method, m->rules->verb) == 0)
            return str_of(verbs[i].verb);
    return STR_NONE;
}

static void set(const struct rpc_method *m, const struct rpc_recorded *r, struct mount_deed *out)
{
    *out = (struct mount_deed){ .verb = verb_of(m, r) };
    if (!r)
        return;
    out->event = str_of(r->event);
    set_object(out, r->object);
}

void recorded_of_method(const struct rpc_method *m, struct mount_deed *out)
{
    set(m, m->nrecorded ? &m->recorded[m->nrecorded - 1] : NULL, out);
}

/* "field=VALUE"; empty: any. */
static bool fits(const char *when, const struct json *request)
{
    str rest = str_of(when), field;
    char path[64];

    if (!rest.n)
        return true;
    (void)str_split(&rest, '=', &field);
    if (field.n >= sizeof(path))
        return false;
    memcpy(path, field.p, field.n);
    path[field.n] = '\0';
    return str_eq(json_get_str(request, path), rest);
}

static const struct rpc_recorded *record_of(const struct rpc_method *m, const struct json *request)
{
    for (size_t i = 0; i < m->nrecorded; i++)
        if (fits(m->recorded[i].when, request))
            return &m->recorded[i];
    return NULL;
}

void recorded_of_request(const struct rpc_method *m, const struct json *request,
                         struct mount_deed *out)
{
    const struct rpc_recorded *r = record_of(m, request);

    set(m, r, out);
    if (!r)
        return;
    if (strcmp(r->object, "*") == 0) {
        out->group = json_get_str(request, "group");
        out->version = json_get_str(request, "version");
        out->resource = json_get_str(request, "resource");
    }
    out->namespace_ = json_get_str(request, "namespace");
    out->name = json_get_str(request, *r->name ? r->name : "name");
    if (!out->name.n)
        out->name = json_get_str(request, "data.metadata.name");
    out->instance = json_get_str(request, "instance");
    if (!out->instance.n && str_starts(str_of(r->object), STR(INSTANCES)))
        out->instance = out->name;
}

str recorded_inner_name(struct arena *a, const struct rpc_method *m, const struct json *request)
{
    const struct json *obj;
    struct status st;

    status_init(&st, a);
    if (!m->nrecorded || json_parse(a, json_get_str(request, "data"), NULL, &obj, &st) < 0)
        return STR_NONE;
    return json_get_str(obj, "metadata.name");
}
