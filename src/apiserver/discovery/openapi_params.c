/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_params.h"

#include "base/banned.h"
#include "base/encode.h"
#include "json/order.h"

enum {
    WRITES = PARAM_WRITE | PARAM_PATCH,
    DELETES = PARAM_DELETE | PARAM_DELETE_COLLECTION,
    LISTS = PARAM_LIST | PARAM_DELETE_COLLECTION,
    STREAMS = PARAM_ATTACH | PARAM_EXEC,
};

/* By name, as documents have them. */
#define PARAMS(X)                                                                      \
    X("allowWatchBookmarks", "query", "boolean", PARAM_LIST)                           \
    X("command", "query", "string", PARAM_EXEC)                                        \
    X("container", "query", "string", STREAMS | PARAM_LOG)                             \
    X("continue", "query", "string", LISTS)                                            \
    X("dryRun", "query", "string", WRITES | DELETES)                                   \
    X("fieldManager", "query", "string", WRITES)                                       \
    X("fieldSelector", "query", "string", LISTS)                                       \
    X("fieldValidation", "query", "string", WRITES)                                    \
    X("follow", "query", "boolean", PARAM_LOG)                                         \
    X("force", "query", "boolean", PARAM_PATCH)                                        \
    X("gracePeriodSeconds", "query", "integer", DELETES)                               \
    X("ignoreStoreReadErrorWithClusterBreakingPotential", "query", "boolean", DELETES) \
    X("insecureSkipTLSVerifyBackend", "query", "boolean", PARAM_LOG)                   \
    X("labelSelector", "query", "string", LISTS)                                       \
    X("limit", "query", "integer", LISTS)                                              \
    X("limitBytes", "query", "integer", PARAM_LOG)                                     \
    X("name", "path", "string", PARAM_NAME)                                            \
    X("namespace", "path", "string", PARAM_NAMESPACE)                                  \
    X("orphanDependents", "query", "boolean", DELETES)                                 \
    X("path", "path", "string", PARAM_PATH)                                            \
    X("path", "query", "string", PARAM_PROXY)                                          \
    X("ports", "query", "integer", PARAM_PORTS)                                        \
    X("pretty", "query", "string", PARAM_PRETTY)                                       \
    X("previous", "query", "boolean", PARAM_LOG)                                       \
    X("propagationPolicy", "query", "string", DELETES)                                 \
    X("resourceVersion", "query", "string", LISTS | PARAM_READ)                        \
    X("resourceVersionMatch", "query", "string", LISTS)                                \
    X("sendInitialEvents", "query", "boolean", LISTS)                                  \
    X("sinceSeconds", "query", "integer", PARAM_LOG)                                   \
    X("stderr", "query", "boolean", STREAMS)                                           \
    X("stdin", "query", "boolean", STREAMS)                                            \
    X("stdout", "query", "boolean", STREAMS)                                           \
    X("stream", "query", "string", PARAM_LOG)                                          \
    X("tailLines", "query", "integer", PARAM_LOG)                                      \
    X("timeoutSeconds", "query", "integer", LISTS)                                     \
    X("timestamps", "query", "boolean", PARAM_LOG)                                     \
    X("tty", "query", "boolean", STREAMS)                                              \
    X("watch", "query", "boolean", PARAM_LIST)

static const struct param {
    str name, in, type;
    unsigned sets;
} params[] = {
#define X(name, in, type, sets) { STR_INIT(name), STR_INIT(in), STR_INIT(type), sets },
    PARAMS(X)
#undef X
};
enum { NPARAMS = sizeof(params) / sizeof(*params) };
_Static_assert((int)NPARAMS <= (int)OPENAPI_PARAMS_MAX, "a mask has a bit for each");

uint64_t openapi_params_of(unsigned sets)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < NPARAMS; i++)
        if (params[i].sets & sets)
            mask |= (uint64_t)1 << i;
    return mask;
}

static void add_str(struct json_object *o, str name, str value)
{
    json_add(o, name, json_of_str(value));
}

/*
 * {"$ref": "#/parameters/limit-1NfNmdNH"}: behind the name a hash of what it is.
 * k8s: kube-openapi/pkg/builder/parameters.go
 */
static struct json share(struct openapi_params *p, str name, struct json value)
{
    struct arena *a = p->s->arena;
    struct json_object ref = json_object_new(a);
    uint64_t hash = str_hash(json_text(a, &value), 0, 0);
    str text = base64_encode(a, BASE64_URL, (str){ (const char *)&hash, 6 }),
        full = str_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(text));
    size_t i = 0;

    while (i < p->nshared && !str_eq(p->shared[i].name, full))
        i++;
    if (i == sizeof(p->shared) / sizeof(*p->shared))
        return value; /* a CRD may have the names of ours */
    if (i == p->nshared)
        p->shared[p->nshared++] = (struct json_member){ .name = full, .value = value };
    add_str(&ref, STR("$ref"), str_printf(a, "#/parameters/%.*s", STR_ARG(full)));
    return json_object_value(&ref);
}

/* Old kubectls look for these in the operation itself; a name is described by its kind. */
static bool stays(str name)
{
    return str_is(name, "dryRun") || str_is(name, "fieldValidation") || str_is(name, "name");
}

static struct json make(struct openapi_params *p, const struct param *row)
{
    struct json_object o = json_object_new(p->s->arena), schema = json_object_new(p->s->arena);
    struct json_object *typed = p->s->form == OPENAPI_V2 ? &o : &schema;

    add_str(&o, STR("name"), row->name);
    add_str(&o, STR("in"), row->in);
    if (str_is(row->in, "path"))
        json_add(&o, STR("required"), json_true);
    add_str(typed, STR("type"), row->type);
    json_add(typed, STR("uniqueItems"), json_true);
    if (p->s->form == OPENAPI_V3)
        json_add(&o, STR("schema"), json_object_value(&schema));
    else if (!stays(row->name))
        return share(p, row->name, json_object_value(&o));
    return json_object_value(&o);
}

struct json openapi_params_list(struct openapi_params *p, uint64_t mask, const struct json *body)
{
    struct json_array r = json_array_new(p->s->arena);

    if (body)
        json_push(&r, *body);
    for (size_t i = 0; i < NPARAMS; i++) {
        if (!(mask & (uint64_t)1 << i))
            continue;
        if (p->made[i].type == JSON_NULL)
            p->made[i] = make(p, &params[i]);
        json_push(&r, p->made[i]);
    }
    return json_array_value(&r);
}

struct json openapi_params_body(struct openapi_params *p, struct json ref, bool required)
{
    struct json_object o = json_object_new(p->s->arena);

    add_str(&o, STR("name"), STR("body"));
    add_str(&o, STR("in"), STR("body"));
    if (required)
        json_add(&o, STR("required"), json_true);
    json_add(&o, STR("schema"), ref);
    if (str_starts(json_str(&ref.members[0].value), STR("#/definitions/io.k8s.apimachinery")))
        return share(p, STR("body"), json_object_value(&o));
    return json_object_value(&o);
}

struct json openapi_params_shared(const struct openapi_params *p)
{
    struct json_object o = json_object_new(p->s->arena);
    struct json all;

    for (size_t i = 0; i < p->nshared; i++)
        json_add(&o, p->shared[i].name, p->shared[i].value);
    all = json_object_value(&o);
    return json_by_name(p->s->arena, &all);
}
