/* SPDX-License-Identifier: Apache-2.0 */
#include "server/openapi_paths.h"

#include "base/banned.h"
#include "server/discovery.h"

/* Sets of query parameters. */
enum {
    QUERY_LIST = 1 << 0,
    QUERY_WRITE = 1 << 1, /* create, update */
    QUERY_PATCH = 1 << 2,
    QUERY_DELETE = 1 << 3,
    QUERY_DELETE_COLLECTION = 1 << 4,
    QUERY_WRITES = QUERY_WRITE | QUERY_PATCH,
    QUERY_DELETES = QUERY_DELETE | QUERY_DELETE_COLLECTION,
    QUERY_LISTS = QUERY_LIST | QUERY_DELETE_COLLECTION,
};

static const struct {
    str name, type;
    unsigned sets;
} queries[] = {
    { STR_INIT("allowWatchBookmarks"), STR_INIT("boolean"), QUERY_LIST },
    { STR_INIT("continue"), STR_INIT("string"), QUERY_LISTS },
    { STR_INIT("dryRun"), STR_INIT("string"), QUERY_WRITES | QUERY_DELETES },
    { STR_INIT("fieldManager"), STR_INIT("string"), QUERY_WRITES },
    { STR_INIT("fieldSelector"), STR_INIT("string"), QUERY_LISTS },
    { STR_INIT("fieldValidation"), STR_INIT("string"), QUERY_WRITES },
    { STR_INIT("force"), STR_INIT("boolean"), QUERY_PATCH },
    { STR_INIT("gracePeriodSeconds"), STR_INIT("integer"), QUERY_DELETES },
    { STR_INIT("labelSelector"), STR_INIT("string"), QUERY_LISTS },
    { STR_INIT("limit"), STR_INIT("integer"), QUERY_LISTS },
    { STR_INIT("orphanDependents"), STR_INIT("boolean"), QUERY_DELETES },
    { STR_INIT("propagationPolicy"), STR_INIT("string"), QUERY_DELETES },
    { STR_INIT("resourceVersion"), STR_INIT("string"), QUERY_LISTS },
    { STR_INIT("resourceVersionMatch"), STR_INIT("string"), QUERY_LISTS },
    { STR_INIT("sendInitialEvents"), STR_INIT("boolean"), QUERY_LISTS },
    { STR_INIT("timeoutSeconds"), STR_INIT("integer"), QUERY_LISTS },
    { STR_INIT("watch"), STR_INIT("boolean"), QUERY_LIST },
};

enum body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_DELETE };
enum answer { ANSWER_OBJECT, ANSWER_LIST, ANSWER_DELETED };

struct operation {
    enum verb verb;
    bool collection; /* its path has no name */
    str method, action, id;
    const char *text; /* what it does; %s is the kind */
    unsigned sets;
    enum body body;
    enum answer answer;
    str codes[3];
};

static const struct operation operations[] = {
    { VERB_LIST,
      true,
      STR_INIT("get"),
      STR_INIT("list"),
      STR_INIT("list"),
      "list or watch objects of kind",
      QUERY_LIST,
      BODY_NONE,
      ANSWER_LIST,
      { STR_INIT("200") } },
    { VERB_CREATE,
      true,
      STR_INIT("post"),
      STR_INIT("post"),
      STR_INIT("create"),
      "create",
      QUERY_WRITE,
      BODY_OBJECT,
      ANSWER_OBJECT,
      { STR_INIT("200"), STR_INIT("201"), STR_INIT("202") } },
    { VERB_DELETE_COLLECTION,
      true,
      STR_INIT("delete"),
      STR_INIT("deletecollection"),
      STR_INIT("delete"),
      "delete collection of",
      QUERY_DELETE_COLLECTION,
      BODY_DELETE,
      ANSWER_DELETED,
      { STR_INIT("200") } },
    { VERB_GET,
      false,
      STR_INIT("get"),
      STR_INIT("get"),
      STR_INIT("read"),
      "read the specified",
      0,
      BODY_NONE,
      ANSWER_OBJECT,
      { STR_INIT("200") } },
    { VERB_UPDATE,
      false,
      STR_INIT("put"),
      STR_INIT("put"),
      STR_INIT("replace"),
      "replace the specified",
      QUERY_WRITE,
      BODY_OBJECT,
      ANSWER_OBJECT,
      { STR_INIT("200"), STR_INIT("201") } },
    { VERB_PATCH,
      false,
      STR_INIT("patch"),
      STR_INIT("patch"),
      STR_INIT("patch"),
      "partially update the specified",
      QUERY_PATCH,
      BODY_PATCH,
      ANSWER_OBJECT,
      { STR_INIT("200"), STR_INIT("201") } },
    { VERB_DELETE,
      false,
      STR_INIT("delete"),
      STR_INIT("delete"),
      STR_INIT("delete"),
      "delete",
      QUERY_DELETE,
      BODY_DELETE,
      ANSWER_DELETED,
      { STR_INIT("200"), STR_INIT("202") } },
};
enum { NOPERATIONS = sizeof(operations) / sizeof(*operations) };

static const str media_any[] = { STR_INIT("*/*") };
static const str media_out[] = { STR_INIT("application/json"), STR_INIT("application/yaml") };
static const str media_list[] = { STR_INIT("application/json"), STR_INIT("application/yaml"),
                                  STR_INIT("application/json;stream=watch") };
static const str media_patch[] = { STR_INIT("application/json-patch+json"),
                                   STR_INIT("application/merge-patch+json"),
                                   STR_INIT("application/strategic-merge-patch+json"),
                                   STR_INIT("application/apply-patch+yaml") };
#define LEN(list) (sizeof(list) / sizeof(*(list)))

/* A group version on its way into a document. */
struct paths {
    struct openapi_schemas *s;
    struct json_object *out;
    str group, version;
    str base;                        /* "/apis/apps/v1" */
    str camel;                       /* "AppsV1" */
    struct json tags;                /* ["apps_v1"] */
    struct json params[NOPERATIONS]; /* made once, shared by all kinds */
};

/* What an operation is on. */
struct target {
    const struct kind *kind;
    const struct subresource *sub; /* or NULL */
    bool namespaced;               /* the path has {namespace} */
    bool everywhere;               /* a list over all namespaces */
};

static void add_str(struct json_object *o, str name, str value)
{
    json_add(o, name, json_of_str(value));
}

static struct json strings(struct arena *a, const str *list, size_t n)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(list[i]));
    return json_array_value(&r);
}

/* ---- names ---- */

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

/* "rbac.authorization.k8s.io" -> "RbacAuthorization", or "rbacAuthorization" */
static str camel_case(struct arena *a, str group, bool first)
{
    str k8s = STR(".k8s.io");
    char *p;
    size_t n = 0;

    if (group.n == 0)
        group = STR("core");
    if (str_ends(group, k8s))
        group = str_sub(group, 0, group.n - k8s.n);
    p = arena_alloc_raw(a, group.n + 1);
    for (size_t i = 0; i < group.n; i++) {
        if (group.p[i] == '.' || group.p[i] == '-') {
            first = true;
            continue;
        }
        p[n++] = first ? upper(group.p[i]) : group.p[i];
        first = false;
    }
    p[n] = '\0';
    return (str){ p, n };
}

static str operation_id(const struct paths *p, const struct operation *op, const struct target *t)
{
    struct arena *a = p->s->arena;
    str sub = t->sub ? camel_case(a, t->sub->name, true) : STR("");

    return str_printf(a, "%.*s%.*s%s%s%.*s%.*s%s", STR_ARG(op->id), STR_ARG(p->camel),
                      op->verb == VERB_DELETE_COLLECTION ? "Collection" : "",
                      t->namespaced ? "Namespaced" : "", STR_ARG(t->kind->kind), STR_ARG(sub),
                      t->everywhere ? "ForAllNamespaces" : "");
}

/* ---- parameters ---- */

static struct json parameter(struct openapi_schemas *s, str name, str in, str type)
{
    struct json_object o = json_object_new(s->arena), schema = json_object_new(s->arena);
    struct json_object *typed = s->form == OPENAPI_V2 ? &o : &schema;

    add_str(&o, STR("name"), name);
    add_str(&o, STR("in"), in);
    if (str_eq(in, STR("path")))
        json_add(&o, STR("required"), json_true);
    add_str(typed, STR("type"), type);
    json_add(typed, STR("uniqueItems"), json_true);
    if (s->form == OPENAPI_V3)
        json_add(&o, STR("schema"), json_object_value(&schema));
    return json_object_value(&o);
}

static struct json query_parameters(struct openapi_schemas *s, unsigned sets)
{
    struct json_array r = json_array_new(s->arena);

    for (size_t i = 0; i < LEN(queries); i++) {
        if (queries[i].sets & sets)
            json_push(&r, parameter(s, queries[i].name, STR("query"), queries[i].type));
    }
    return json_array_value(&r);
}

static struct json path_parameters(struct openapi_schemas *s, bool name, bool namespaced)
{
    struct json_array r = json_array_new(s->arena);

    if (name)
        json_push(&r, parameter(s, STR("name"), STR("path"), STR("string")));
    if (namespaced)
        json_push(&r, parameter(s, STR("namespace"), STR("path"), STR("string")));
    json_push(&r, parameter(s, STR("pretty"), STR("query"), STR("string")));
    return json_array_value(&r);
}

/* ---- bodies and answers ---- */

/*
 * What a subresource speaks, if not its parent: a kind of the catalog or, for the ones that are
 * never stored (TokenRequest, Scale), a type by Kubernetes' rule for names.
 */
static struct json sub_ref(struct openapi_schemas *s, const struct subresource *sub)
{
    str group = camel_case(s->arena, sub->group, false);
    str api = sub->group.n == 0
                  ? sub->version
                  : str_printf(s->arena, "%.*s/%.*s", STR_ARG(sub->group), STR_ARG(sub->version));
    const struct kind *k = catalog_find_kind(s->catalog, api, sub->kind);

    if (k && k->schema)
        return openapi_schemas_kind(s, k);
    return openapi_schemas_named(s,
                                 str_printf(s->arena, "io.k8s.api.%.*s.%.*s.%.*s", STR_ARG(group),
                                            STR_ARG(sub->version), STR_ARG(sub->kind)));
}

static struct json object_ref(struct openapi_schemas *s, const struct target *t)
{
    if (t->sub && t->sub->kind.n > 0 && t->sub->version.n > 0)
        return sub_ref(s, t->sub);
    return openapi_schemas_kind(s, t->kind);
}

static struct json body_ref(struct openapi_schemas *s, const struct operation *op,
                            const struct target *t)
{
    if (op->body == BODY_PATCH)
        return openapi_schemas_named(s, STR(OPENAPI_META "Patch"));
    if (op->body == BODY_DELETE)
        return openapi_schemas_named(s, STR(OPENAPI_META "DeleteOptions"));
    return object_ref(s, t);
}

static struct json answer_ref(struct openapi_schemas *s, const struct operation *op,
                              const struct target *t)
{
    if (op->answer == ANSWER_LIST)
        return openapi_schemas_list(s, t->kind);
    if (op->answer == ANSWER_DELETED &&
        (op->verb == VERB_DELETE_COLLECTION || !t->kind->delete_returns_object))
        return openapi_schemas_named(s, STR(OPENAPI_META "Status"));
    return object_ref(s, t);
}

/* {"application/json": {"schema": …}, …} */
static struct json contents(struct arena *a, const str *media, size_t n, struct json ref)
{
    struct json_object o = json_object_new(a), schema = json_object_new(a);
    struct json value;

    json_add(&schema, STR("schema"), ref);
    value = json_object_value(&schema);
    for (size_t i = 0; i < n; i++)
        json_add(&o, media[i], value);
    return json_object_value(&o);
}

static const char *code_text(str code)
{
    static const char *const texts[] = { "OK", "Created", "Accepted" };

    return texts[code.p[2] - '0'];
}

static struct json responses(struct openapi_schemas *s, const struct operation *op, struct json ref)
{
    struct json_object o = json_object_new(s->arena), refused = json_object_new(s->arena);
    bool list = op->answer == ANSWER_LIST;

    for (size_t i = 0; i < LEN(op->codes) && op->codes[i].n > 0; i++) {
        struct json_object r = json_object_new(s->arena);

        add_str(&r, STR("description"), str_of(code_text(op->codes[i])));
        if (s->form == OPENAPI_V2)
            json_add(&r, STR("schema"), ref);
        else
            json_add(&r, STR("content"),
                     contents(s->arena, list ? media_list : media_out,
                              list ? LEN(media_list) : LEN(media_out), ref));
        json_add(&o, op->codes[i], json_object_value(&r));
    }
    add_str(&refused, STR("description"), STR("Unauthorized"));
    json_add(&o, STR("401"), json_object_value(&refused));
    return json_object_value(&o);
}

/* v3: a requestBody. */
static void add_request_body(struct json_object *o, const struct operation *op, struct json ref)
{
    struct json_object body = json_object_new(o->arena);

    if (op->body == BODY_PATCH)
        json_add(&body, STR("content"), contents(o->arena, media_patch, LEN(media_patch), ref));
    else
        json_add(&body, STR("content"), contents(o->arena, media_any, LEN(media_any), ref));
    if (op->body != BODY_DELETE)
        json_add(&body, STR("required"), json_true);
    json_add(o, STR("requestBody"), json_object_value(&body));
}

/* v2: the body is a parameter, in front of the others. */
static struct json with_body(struct arena *a, const struct operation *op, struct json ref,
                             const struct json *params)
{
    struct json_array r = json_array_new(a);
    struct json_object body = json_object_new(a);

    add_str(&body, STR("name"), STR("body"));
    add_str(&body, STR("in"), STR("body"));
    if (op->body != BODY_DELETE)
        json_add(&body, STR("required"), json_true);
    json_add(&body, STR("schema"), ref);
    json_push(&r, json_object_value(&body));
    json_for_each (p, params)
        json_push(&r, *p);
    return json_array_value(&r);
}

/* ---- operations ---- */

static void add_v2_media(struct json_object *o, const struct operation *op)
{
    struct arena *a = o->arena;
    const str https[] = { STR("https") };
    bool list = op->answer == ANSWER_LIST;

    json_add(o, STR("consumes"),
             op->body == BODY_PATCH ? strings(a, media_patch, LEN(media_patch))
                                    : strings(a, media_any, LEN(media_any)));
    json_add(o, STR("produces"),
             list ? strings(a, media_list, LEN(media_list))
                  : strings(a, media_out, LEN(media_out)));
    json_add(o, STR("schemes"), strings(a, https, LEN(https)));
}

static void add_parameters(struct json_object *o, struct paths *p, const struct operation *op,
                           const struct target *t)
{
    struct json *params = &p->params[op - operations];
    struct json ref, all;

    if (params->type == JSON_NULL)
        *params = query_parameters(p->s, op->sets);
    all = *params;
    if (op->body != BODY_NONE) {
        ref = body_ref(p->s, op, t);
        if (p->s->form == OPENAPI_V2)
            all = with_body(o->arena, op, ref, params);
        else
            add_request_body(o, op, ref);
    }
    if (all.n > 0)
        json_add(o, STR("parameters"), all);
}

static struct json operation_gvk(const struct paths *p, const struct target *t)
{
    const struct subresource *sub = t->sub;

    if (sub && sub->kind.n > 0 && sub->version.n > 0)
        return openapi_gvk(p->s->arena, sub->group, sub->version, sub->kind);
    return openapi_gvk(p->s->arena, p->group, p->version, t->kind->kind);
}

static struct json operation_value(struct paths *p, const struct operation *op,
                                   const struct target *t)
{
    struct json_object o = json_object_new(p->s->arena);
    str sub = t->sub ? t->sub->name : STR("");

    add_str(&o, STR("description"),
            str_printf(p->s->arena, "%s %.*s%s%.*s", op->text, STR_ARG(t->kind->kind),
                       sub.n > 0 ? " " : "", STR_ARG(sub)));
    add_str(&o, STR("operationId"), operation_id(p, op, t));
    if (p->s->form == OPENAPI_V2)
        add_v2_media(&o, op);
    add_parameters(&o, p, op, t);
    json_add(&o, STR("responses"), responses(p->s, op, answer_ref(p->s, op, t)));
    json_add(&o, STR("tags"), p->tags);
    add_str(&o, STR("x-kubernetes-action"), op->action);
    json_add(&o, STR("x-kubernetes-group-version-kind"), operation_gvk(p, t));
    return json_object_value(&o);
}

/* ---- paths ---- */

/* A path with the operations that both `verbs` has and the path can have. */
static void add_path(struct paths *p, str path, const struct target *t, unsigned verbs, bool name)
{
    struct json_object item = json_object_new(p->s->arena);

    for (size_t i = 0; i < NOPERATIONS; i++) {
        const struct operation *op = &operations[i];
        bool fits = t->sub ? op->verb != VERB_LIST && op->verb != VERB_DELETE_COLLECTION
                           : op->collection == !name;

        if (fits && (verbs & op->verb))
            json_add(&item, op->method, operation_value(p, op, t));
    }
    if (item.n == 0)
        return;
    json_add(&item, STR("parameters"), path_parameters(p->s, name, t->namespaced));
    json_add(p->out, path, json_object_value(&item));
}

static void add_kind(struct paths *p, const struct kind *k)
{
    struct arena *a = p->s->arena;
    struct target t = { .kind = k, .everywhere = k->namespaced };
    str all = str_printf(a, "%.*s/%.*s", STR_ARG(p->base), STR_ARG(k->plural)), collection = all,
        object;

    if (k->namespaced) {
        add_path(p, all, &t, k->verbs & VERB_LIST, false);
        collection =
            str_printf(a, "%.*s/namespaces/{namespace}/%.*s", STR_ARG(p->base), STR_ARG(k->plural));
    }
    t.everywhere = false;
    t.namespaced = k->namespaced;
    object = str_printf(a, "%.*s/{name}", STR_ARG(collection));
    add_path(p, collection, &t, k->verbs, false);
    add_path(p, object, &t, k->verbs, true);
    for (size_t i = 0; i < k->nsubresources; i++) {
        t.sub = &k->subresources[i];
        add_path(p, str_printf(a, "%.*s/%.*s", STR_ARG(object), STR_ARG(t.sub->name)), &t,
                 t.sub->verbs, true);
    }
}

/* The list of resources itself, at the version's own path. */
static void add_discovery(struct paths *p)
{
    static const struct operation op = { .codes = { STR_INIT("200") } };
    struct arena *a = p->s->arena;
    struct json_object get = json_object_new(a), item = json_object_new(a);

    add_str(&get, STR("description"), STR("get available resources"));
    add_str(&get, STR("operationId"), str_printf(a, "get%.*sAPIResources", STR_ARG(p->camel)));
    if (p->s->form == OPENAPI_V2)
        add_v2_media(&get, &op);
    json_add(
        &get, STR("responses"),
        responses(p->s, &op, openapi_schemas_named(p->s, STR(OPENAPI_META "APIResourceList"))));
    json_add(&get, STR("tags"), p->tags);
    json_add(&item, STR("get"), json_object_value(&get));
    json_add(p->out, str_printf(a, "%.*s/", STR_ARG(p->base)), json_object_value(&item));
}

void openapi_paths_add(struct openapi_schemas *s, struct json_object *paths, str group, str version)
{
    struct arena *a = s->arena;
    str lower = camel_case(a, group, false), upper_ = camel_case(a, group, true),
        v = camel_case(a, version, true),
        tag = str_printf(a, "%.*s_%.*s", STR_ARG(lower), STR_ARG(version));
    struct paths p = { .s = s, .out = paths, .group = group, .version = version };
    const struct kind *const *kinds;
    size_t n = discovery_kinds(a, s->catalog, group, version, &kinds);

    p.base = group.n == 0 ? str_printf(a, "/api/%.*s", STR_ARG(version))
                          : str_printf(a, "/apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version));
    p.camel = str_printf(a, "%.*s%.*s", STR_ARG(upper_), STR_ARG(v));
    p.tags = strings(a, &tag, 1);
    add_discovery(&p);
    for (size_t i = 0; i < n; i++)
        add_kind(&p, kinds[i]);
}
