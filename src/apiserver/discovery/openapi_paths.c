/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_paths.h"

#include "apiserver/discovery/discovery.h"
#include "base/banned.h"

enum body { BODY_NONE, BODY_OBJECT, BODY_PATCH, BODY_DELETE };
enum answer_kind { ANSWER_OBJECT, ANSWER_LIST, ANSWER_DELETED, ANSWER_EVENT, ANSWER_TEXT };
enum place { COLLECTION, OBJECT, WATCH_COLLECTION, WATCH_OBJECT };

struct operation {
    enum verb verb;
    enum place place; /* what kind of path has it */
    str method, action, id;
    const char *text, *of; /* what it does: "read" [status of] "the specified" Pod */
    unsigned sets;
    enum body body;
    enum answer_kind answer;
    str codes[3];
};

#define OP(verb, place, method, action, id, ...)                                   \
    {                                                                              \
        verb, place, STR_INIT(method), STR_INIT(action), STR_INIT(id), __VA_ARGS__ \
    }
#define CODES_1                                     \
    {                                               \
        STR_INIT("200"), STR_INIT(""), STR_INIT("") \
    }
#define CODES_2                                        \
    {                                                  \
        STR_INIT("200"), STR_INIT("201"), STR_INIT("") \
    }
#define CODES_3                                           \
    {                                                     \
        STR_INIT("200"), STR_INIT("201"), STR_INIT("202") \
    }
#define CODES_DELETE                                   \
    {                                                  \
        STR_INIT("200"), STR_INIT("202"), STR_INIT("") \
    }
#define INSTEAD "deprecated: use the 'watch' parameter with a list operation instead"

static const struct operation operations[] = {
    OP(VERB_LIST, COLLECTION, "get", "list", "list", "list or watch objects of kind", "",
       PARAM_LIST, BODY_NONE, ANSWER_LIST, CODES_1),
    OP(VERB_CREATE, COLLECTION, "post", "post", "create", "create", "a", PARAM_WRITE, BODY_OBJECT,
       ANSWER_OBJECT, CODES_3),
    OP(VERB_DELETE_COLLECTION, COLLECTION, "delete", "deletecollection", "delete",
       "delete collection of", "", PARAM_DELETE_COLLECTION, BODY_DELETE, ANSWER_DELETED, CODES_1),
    OP(VERB_GET, OBJECT, "get", "get", "read", "read", "the specified", 0, BODY_NONE, ANSWER_OBJECT,
       CODES_1),
    OP(VERB_UPDATE, OBJECT, "put", "put", "replace", "replace", "the specified", PARAM_WRITE,
       BODY_OBJECT, ANSWER_OBJECT, CODES_2),
    OP(VERB_DELETE, OBJECT, "delete", "delete", "delete", "delete", "a", PARAM_DELETE, BODY_DELETE,
       ANSWER_DELETED, CODES_DELETE),
    OP(VERB_PATCH, OBJECT, "patch", "patch", "patch", "partially update", "the specified",
       PARAM_PATCH, BODY_PATCH, ANSWER_OBJECT, CODES_2),
    OP(VERB_WATCH, WATCH_COLLECTION, "get", "watchlist", "watch",
       "watch individual changes to a list of", "", PARAM_LIST, BODY_NONE, ANSWER_EVENT, CODES_1),
    OP(VERB_WATCH, WATCH_OBJECT, "get", "watch", "watch", "watch changes to an object of kind", "",
       PARAM_LIST, BODY_NONE, ANSWER_EVENT, CODES_1),
};
enum { NOPERATIONS = sizeof(operations) / sizeof(*operations) };

/*
 * Those of custom resources that differ, in place of the ones with the same verb.
 * k8s: apiextensions-apiserver/pkg/controller/openapi/builder/builder.go
 */
static const struct operation customs[] = {
    OP(VERB_LIST, COLLECTION, "get", "list", "list", "list objects of kind", "", PARAM_LIST,
       BODY_NONE, ANSWER_LIST, CODES_1),
    OP(VERB_DELETE_COLLECTION, COLLECTION, "delete", "deletecollection", "delete",
       "delete collection of", "", PARAM_LIST, BODY_NONE, ANSWER_DELETED, CODES_1),
    OP(VERB_GET, OBJECT, "get", "get", "read", "read", "the specified", PARAM_READ, BODY_NONE,
       ANSWER_OBJECT, CODES_1),
    OP(VERB_PATCH, OBJECT, "patch", "patch", "patch", "partially update", "the specified",
       PARAM_PATCH, BODY_PATCH, ANSWER_OBJECT, CODES_1),
};

/* Subresources that are connected to, and one that is text; the first is for what no row names. */
static const struct stream {
    str name;
    unsigned sets;
    bool every; /* every method, and all paths below */
} streams[] = {
    { STR_INIT("attach"), PARAM_ATTACH, false },
    { STR_INIT("exec"), PARAM_EXEC, false },
    { STR_INIT("portforward"), PARAM_PORTS, false },
    { STR_INIT("proxy"), PARAM_PROXY, true },
};

/* "Connect" is in all ids, the method in its middle. */
static const struct {
    str method, word, upper;
    bool common; /* the others only where every method goes */
} methods[] = {
    { STR_INIT("get"), STR_INIT("Get"), STR_INIT("GET"), true },
    { STR_INIT("put"), STR_INIT("Put"), STR_INIT("PUT"), false },
    { STR_INIT("post"), STR_INIT("Post"), STR_INIT("POST"), true },
    { STR_INIT("delete"), STR_INIT("Delete"), STR_INIT("DELETE"), false },
    { STR_INIT("options"), STR_INIT("Options"), STR_INIT("OPTIONS"), false },
    { STR_INIT("head"), STR_INIT("Head"), STR_INIT("HEAD"), false },
    { STR_INIT("patch"), STR_INIT("Patch"), STR_INIT("PATCH"), false },
};

/* Media types; those of custom resources have no protobuf and no strategic patches. */
struct media_types {
    const str *list;
    size_t n;
};
static const str any_types[] = { STR_INIT("*/*") };
const str openapi_plain_types[OPENAPI_PLAIN_TYPES] = {
    STR_INIT("application/json"), STR_INIT("application/yaml"),
    STR_INIT("application/vnd.kubernetes.protobuf")
};
static const str list_types[] = { STR_INIT("application/json"), STR_INIT("application/yaml"),
                                  STR_INIT("application/vnd.kubernetes.protobuf"),
                                  STR_INIT("application/json;stream=watch"),
                                  STR_INIT("application/vnd.kubernetes.protobuf;stream=watch") };
static const str text_types[] = { STR_INIT("text/plain"), STR_INIT("application/json"),
                                  STR_INIT("application/yaml"),
                                  STR_INIT("application/vnd.kubernetes.protobuf") };
static const str patch_types[] = { STR_INIT("application/json-patch+json"),
                                   STR_INIT("application/merge-patch+json"),
                                   STR_INIT("application/strategic-merge-patch+json"),
                                   STR_INIT("application/apply-patch+yaml") };
static const str custom_patch_types[] = { STR_INIT("application/json-patch+json"),
                                          STR_INIT("application/merge-patch+json"),
                                          STR_INIT("application/apply-patch+yaml") };
#define LEN(list)   (sizeof(list) / sizeof(*(list)))
#define MEDIA(list) ((struct media_types){ list, LEN(list) })
#define PLAIN       ((struct media_types){ openapi_plain_types, OPENAPI_PLAIN_TYPES })

/* A group version on its way into a document. */
struct paths {
    struct openapi_params *params;
    struct openapi_schemas *s;
    struct json_object *out;
    str group, version;
    str base;         /* "/apis/apps/v1" */
    str camel;        /* "AppsV1" */
    struct json tags; /* ["apps_v1"] */
};

/* What an operation is on. */
struct operation_target {
    const struct kind *kind;
    const struct subresource *sub; /* or NULL */
    bool namespaced;               /* the path has {namespace} */
    bool everywhere;               /* a list over all namespaces */
};

static bool is_custom(const struct operation_target *t)
{
    return t->kind->schema_id;
}

static void add_str(struct json_object *o, str name, str value)
{
    json_add(o, name, json_of_str(value));
}

static struct json strings(struct arena *a, struct media_types m)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < m.n; i++)
        json_push(&r, json_of_str(m.list[i]));
    return json_array_value(&r);
}

/* ---- names ---- */

static char upper(char c)
{
    return (char)(c >= 'a' && c <= 'z' ? c - ('a' - 'A') : c);
}

str openapi_camel_case(struct arena *a, str group, bool first)
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

static str sub_word(struct arena *a, const struct operation_target *t)
{
    return t->sub ? openapi_camel_case(a, t->sub->name, true) : STR("");
}

static str operation_id(const struct paths *p, const struct operation *op,
                        const struct operation_target *t)
{
    struct arena *a = p->s->arena;

    return str_printf(a, "%.*s%.*s%s%s%.*s%.*s%s%s", STR_ARG(op->id), STR_ARG(p->camel),
                      op->verb == VERB_DELETE_COLLECTION ? "Collection" : "",
                      t->namespaced ? "Namespaced" : "", STR_ARG(t->kind->kind),
                      STR_ARG(sub_word(a, t)), op->place == WATCH_COLLECTION ? "List" : "",
                      t->everywhere ? "ForAllNamespaces" : "");
}

static bool is_vowel(str word)
{
    return word.n > 0 && str_find(STR("aeiouAEIOU"), word.p[0], 0) >= 0;
}

static str operation_text(const struct paths *p, const struct operation *op,
                          const struct operation_target *t)
{
    struct arena *a = p->s->arena;
    const char *of = strcmp(op->of, "a") == 0 && is_vowel(t->kind->kind) ? "an" : op->of;
    str sub = t->sub ? str_printf(a, " %.*s of", STR_ARG(t->sub->name)) : STR("");

    return str_printf(
        a, "%s%.*s %s%s%.*s%s", op->text, STR_ARG(sub), of, *of ? " " : "", STR_ARG(t->kind->kind),
        op->place == WATCH_COLLECTION ? ". " INSTEAD "."
        : op->place == WATCH_OBJECT
            ? ". " INSTEAD ", filtered to a single item with the 'fieldSelector' parameter."
            : "");
}

/* ---- bodies and answers ---- */

/*
 * What a subresource speaks, if not its parent: a kind of the catalog or, for the ones that are
 * never stored (TokenRequest, Scale), a type by Kubernetes' rule for names.
 */
static struct json sub_ref(struct openapi_schemas *s, const struct subresource *sub)
{
    str group = openapi_camel_case(s->arena, sub->group, false);
    str api = sub->group.n == 0
                  ? sub->version
                  : str_printf(s->arena, "%.*s/%.*s", STR_ARG(sub->group), STR_ARG(sub->version));
    const struct kind *k = catalog_find_kind(s->catalog, api, sub->kind);

    if (k && k->schema)
        return openapi_schemas_kind(s, k);
    return openapi_schemas_sub(s,
                               str_printf(s->arena, "io.k8s.api.%.*s.%.*s.%.*s", STR_ARG(group),
                                          STR_ARG(sub->version), STR_ARG(sub->kind)),
                               sub);
}

static struct json object_ref(struct openapi_schemas *s, const struct operation_target *t)
{
    if (t->sub && t->sub->kind.n > 0 && t->sub->version.n > 0)
        return sub_ref(s, t->sub);
    return openapi_schemas_kind(s, t->kind);
}

static struct json body_ref(struct openapi_schemas *s, const struct operation *op,
                            const struct operation_target *t)
{
    if (op->body == BODY_PATCH)
        return openapi_schemas_named(s, STR(OPENAPI_META "Patch"));
    if (op->body == BODY_DELETE)
        return openapi_schemas_named(s, STR(OPENAPI_META "DeleteOptions"));
    return object_ref(s, t);
}

static struct json text_schema(struct arena *a)
{
    struct json_object o = json_object_new(a);

    add_str(&o, STR("type"), STR("string"));
    return json_object_value(&o);
}

static struct json answer_ref(struct openapi_schemas *s, const struct operation *op,
                              const struct operation_target *t)
{
    if (op->answer == ANSWER_TEXT)
        return text_schema(s->arena);
    if (op->answer == ANSWER_EVENT)
        return openapi_schemas_named(s, STR(OPENAPI_META "WatchEvent"));
    if (op->answer == ANSWER_LIST)
        return openapi_schemas_list(s, t->kind);
    if (op->answer == ANSWER_DELETED &&
        (op->verb == VERB_DELETE_COLLECTION || !t->kind->delete_returns_object))
        return openapi_schemas_named(s, STR(OPENAPI_META "Status"));
    return object_ref(s, t);
}

static struct media_types consumes(const struct operation *op, const struct operation_target *t)
{
    if (op->body == BODY_PATCH)
        return is_custom(t) ? MEDIA(custom_patch_types) : MEDIA(patch_types);
    return is_custom(t) ? (struct media_types){ openapi_plain_types, 2 } : MEDIA(any_types);
}

static struct media_types produces(const struct operation *op, const struct operation_target *t)
{
    if (is_custom(t))
        return (struct media_types){ openapi_plain_types, 2 };
    if (op->answer == ANSWER_TEXT)
        return MEDIA(text_types);
    return op->answer == ANSWER_LIST || op->answer == ANSWER_EVENT ? MEDIA(list_types) : PLAIN;
}

/* {"application/json": {"schema": …}, …} */
static struct json contents(struct arena *a, struct media_types media, struct json ref)
{
    struct json_object o = json_object_new(a), schema = json_object_new(a);
    struct json value;

    json_add(&schema, STR("schema"), ref);
    value = json_object_value(&schema);
    for (size_t i = 0; i < media.n; i++)
        json_add(&o, media.list[i], value);
    return json_object_value(&o);
}

static const char *code_text(str code)
{
    static const char *const texts[] = { "OK", "Created", "Accepted" };

    return texts[code.p[2] - '0'];
}

static struct json responses(struct openapi_schemas *s, const str codes[3],
                             struct media_types media, struct json ref)
{
    struct json_object o = json_object_new(s->arena), refused = json_object_new(s->arena);

    for (size_t i = 0; i < 3 && codes[i].n > 0; i++) {
        struct json_object r = json_object_new(s->arena);

        add_str(&r, STR("description"), str_of(code_text(codes[i])));
        if (s->form == OPENAPI_V2)
            json_add(&r, STR("schema"), ref);
        else
            json_add(&r, STR("content"), contents(s->arena, media, ref));
        json_add(&o, codes[i], json_object_value(&r));
    }
    add_str(&refused, STR("description"), STR("Unauthorized"));
    json_add(&o, STR("401"), json_object_value(&refused));
    return json_object_value(&o);
}

/* v3: a requestBody. */
static void add_request_body(struct json_object *o, struct media_types media, struct json ref,
                             bool required)
{
    struct json_object body = json_object_new(o->arena);

    json_add(&body, STR("content"), contents(o->arena, media, ref));
    if (required)
        json_add(&body, STR("required"), json_true);
    json_add(o, STR("requestBody"), json_object_value(&body));
}

/* ---- operations ---- */

static void add_v2_media(struct json_object *o, struct media_types in, struct media_types out)
{
    const str https[] = { STR("https") };

    if (in.n > 0)
        json_add(o, STR("consumes"), strings(o->arena, in));
    json_add(o, STR("produces"), strings(o->arena, out));
    json_add(o, STR("schemes"), strings(o->arena, MEDIA(https)));
}

static void add_parameters(struct json_object *o, struct paths *p, const struct operation *op,
                           const struct operation_target *t, uint64_t mask)
{
    bool v2 = p->s->form == OPENAPI_V2;
    struct json body, all, ref;

    if (op->body != BODY_NONE) {
        ref = body_ref(p->s, op, t);
        if (v2)
            body = openapi_params_body(p->params, ref, op->body != BODY_DELETE);
        else
            add_request_body(o, consumes(op, t), ref, op->body != BODY_DELETE);
    }
    all = openapi_params_list(p->params, mask, v2 && op->body != BODY_NONE ? &body : NULL);
    if (all.n > 0)
        json_add(o, STR("parameters"), all);
}

/* A custom resource's scale is said to be of its own kind. */
static struct json operation_gvk(const struct paths *p, const struct operation_target *t)
{
    const struct subresource *sub = t->sub;

    if (sub && sub->kind.n > 0 && sub->version.n > 0 && !is_custom(t))
        return openapi_gvk(p->s->arena, sub->group, sub->version, sub->kind);
    return openapi_gvk(p->s->arena, p->group, p->version,
                       sub && sub->kind.n > 0 && !is_custom(t) ? sub->kind : t->kind->kind);
}

static void add_tail(struct json_object *o, struct paths *p, str action,
                     const struct operation_target *t)
{
    json_add(o, STR("tags"), p->tags);
    add_str(o, STR("x-kubernetes-action"), action);
    json_add(o, STR("x-kubernetes-group-version-kind"), operation_gvk(p, t));
}

/* `mask`: its own parameters, without those of the path. */
static struct json operation_value(struct paths *p, const struct operation *op,
                                   const struct operation_target *t, uint64_t mask)
{
    struct json_object o = json_object_new(p->s->arena);

    add_str(&o, STR("description"), operation_text(p, op, t));
    add_str(&o, STR("operationId"), operation_id(p, op, t));
    if (p->s->form == OPENAPI_V2)
        add_v2_media(&o, consumes(op, t), produces(op, t));
    add_parameters(&o, p, op, t, mask);
    json_add(&o, STR("responses"),
             responses(p->s, op->codes, produces(op, t), answer_ref(p->s, op, t)));
    add_tail(&o, p, op->action, t);
    return json_object_value(&o);
}

/* ---- paths ---- */

static const struct operation *operation_of(const struct operation *op,
                                            const struct operation_target *t)
{
    for (size_t i = 0; is_custom(t) && i < LEN(customs); i++)
        if (customs[i].verb == op->verb)
            return &customs[i];
    return op;
}

static bool fits(const struct operation *op, const struct operation_target *t, unsigned verbs,
                 enum place place)
{
    bool here = op->place == place || (t->sub && op->verb == VERB_CREATE && place == OBJECT);

    return here && (verbs & op->verb) && !(t->sub && op->verb == VERB_LIST);
}

/* A path with the operations that both `verbs` has and the path can have. */
static void add_path(struct paths *p, str path, const struct operation_target *t, unsigned verbs,
                     enum place place)
{
    const struct operation *ops[NOPERATIONS];
    struct json_object item = json_object_new(p->s->arena);
    bool name = place == OBJECT || place == WATCH_OBJECT;
    uint64_t common = UINT64_MAX;
    size_t n = 0;

    for (size_t i = 0; i < NOPERATIONS; i++)
        if (fits(&operations[i], t, verbs, place))
            ops[n++] = operation_of(&operations[i], t);
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        common &= openapi_params_of(ops[i]->sets);
    for (size_t i = 0; i < n; i++)
        json_add(&item, ops[i]->method,
                 operation_value(p, ops[i], t, openapi_params_of(ops[i]->sets) & ~common));
    common |= openapi_params_of(PARAM_PRETTY | (name ? PARAM_NAME : 0) |
                                (t->namespaced ? PARAM_NAMESPACE : 0));
    json_add(&item, STR("parameters"), openapi_params_list(p->params, common, NULL));
    json_add(p->out, path, json_object_value(&item));
}

/* ---- streams ---- */

static const struct stream *find_stream(const struct subresource *sub)
{
    for (size_t i = 0; str_ends(sub->kind, STR("Options")) && i < LEN(streams); i++)
        if (str_eq(streams[i].name, sub->name))
            return &streams[i];
    return NULL;
}

static struct json connect_value(struct paths *p, const struct operation_target *t, size_t method,
                                 const char *suffix)
{
    static const str codes[3] = { STR_INIT("200"), STR_INIT(""), STR_INIT("") };
    struct arena *a = p->s->arena;
    struct json_object o = json_object_new(a);

    add_str(&o, STR("description"),
            str_printf(a, "connect %.*s requests to %.*s of %.*s", STR_ARG(methods[method].upper),
                       STR_ARG(t->sub->name), STR_ARG(t->kind->kind)));
    add_str(&o, STR("operationId"),
            str_printf(a, "connect%.*s%.*s%s%.*s%.*s%s", STR_ARG(p->camel),
                       STR_ARG(methods[method].word), t->namespaced ? "Namespaced" : "",
                       STR_ARG(t->kind->kind), STR_ARG(sub_word(a, t)), suffix));
    if (p->s->form == OPENAPI_V2)
        add_v2_media(&o, MEDIA(any_types), MEDIA(any_types));
    json_add(&o, STR("responses"), responses(p->s, codes, MEDIA(any_types), text_schema(a)));
    add_tail(&o, p, STR("connect"), t);
    return json_object_value(&o);
}

static void add_stream(struct paths *p, str path, const struct operation_target *t,
                       const struct stream *s, const char *suffix)
{
    struct json_object item = json_object_new(p->s->arena);
    unsigned sets =
        s->sets | PARAM_NAME | (t->namespaced ? PARAM_NAMESPACE : 0) | (*suffix ? PARAM_PATH : 0);

    for (size_t i = 0; i < LEN(methods); i++)
        if (s->every || methods[i].common)
            json_add(&item, methods[i].method, connect_value(p, t, i, suffix));
    json_add(&item, STR("parameters"),
             openapi_params_list(p->params, openapi_params_of(sets), NULL));
    json_add(p->out, path, json_object_value(&item));
    if (s->every && !*suffix)
        add_stream(p, str_printf(p->s->arena, "%.*s/{path}", STR_ARG(path)), t, s, "WithPath");
}

/* What a container writes: text, in whatever type is asked for. */
static void add_log(struct paths *p, str path, const struct operation_target *t)
{
    static const struct operation op =
        OP(VERB_GET, OBJECT, "get", "get", "read", "read", "the specified", PARAM_LOG, BODY_NONE,
           ANSWER_TEXT, CODES_1);
    struct json_object item = json_object_new(p->s->arena);
    uint64_t common = openapi_params_of(PARAM_LOG | PARAM_PRETTY | PARAM_NAME | PARAM_NAMESPACE);

    json_add(&item, op.method, operation_value(p, &op, t, 0));
    json_add(&item, STR("parameters"), openapi_params_list(p->params, common, NULL));
    json_add(p->out, path, json_object_value(&item));
}

/* ---- kinds ---- */

static void add_sub(struct paths *p, str object, const struct operation_target *t)
{
    str path = str_printf(p->s->arena, "%.*s/%.*s", STR_ARG(object), STR_ARG(t->sub->name));
    const struct stream *s = find_stream(t->sub);

    if (s)
        add_stream(p, path, t, s, "");
    else if (str_is(t->sub->name, "log"))
        add_log(p, path, t);
    else
        add_path(p, path, t, t->sub->verbs, OBJECT);
}

/* Below /watch, which is deprecated, and which custom resources do not have in documents. */
static void add_watches(struct paths *p, const struct kind *k)
{
    struct arena *a = p->s->arena;
    struct operation_target t = { .kind = k, .everywhere = k->namespaced };
    str collection = str_printf(a, "%.*s/watch/%.*s", STR_ARG(p->base), STR_ARG(k->plural));

    if (is_custom(&t) || !(k->verbs & VERB_LIST))
        return;
    add_path(p, collection, &t, k->verbs, WATCH_COLLECTION);
    t.everywhere = false;
    t.namespaced = k->namespaced;
    if (k->namespaced) {
        collection = str_printf(a, "%.*s/watch/namespaces/{namespace}/%.*s", STR_ARG(p->base),
                                STR_ARG(k->plural));
        add_path(p, collection, &t, k->verbs, WATCH_COLLECTION);
    }
    if (k->verbs & VERB_GET)
        add_path(p, str_printf(a, "%.*s/{name}", STR_ARG(collection)), &t, k->verbs, WATCH_OBJECT);
}

static void add_kind(struct paths *p, const struct kind *k)
{
    struct arena *a = p->s->arena;
    struct operation_target t = { .kind = k, .everywhere = k->namespaced };
    str all = str_printf(a, "%.*s/%.*s", STR_ARG(p->base), STR_ARG(k->plural)), collection = all,
        object;

    if (k->namespaced) {
        add_path(p, all, &t, k->verbs & VERB_LIST, COLLECTION);
        collection =
            str_printf(a, "%.*s/namespaces/{namespace}/%.*s", STR_ARG(p->base), STR_ARG(k->plural));
    }
    t.everywhere = false;
    t.namespaced = k->namespaced;
    object = str_printf(a, "%.*s/{name}", STR_ARG(collection));
    add_path(p, collection, &t, k->verbs, COLLECTION);
    add_path(p, object, &t, k->verbs, OBJECT);
    for (size_t i = 0; i < k->nsubresources; i++) {
        t.sub = &k->subresources[i];
        add_sub(p, object, &t);
    }
    add_watches(p, k);
}

void openapi_paths_add_get(struct openapi_schemas *s, struct json_object *paths,
                           const struct openapi_get *g)
{
    static const str codes[3] = { STR_INIT("200"), STR_INIT(""), STR_INIT("") };
    struct json_object get = json_object_new(s->arena), item = json_object_new(s->arena);
    struct json ref = g->schema.n > 0 ? openapi_schemas_named(s, g->schema) : text_schema(s->arena);
    struct media_types out = { g->produces, g->nproduces };

    add_str(&get, STR("description"), g->text);
    add_str(&get, STR("operationId"), g->id);
    if (s->form == OPENAPI_V2)
        add_v2_media(&get, (struct media_types){ g->consumes, g->nconsumes }, out);
    json_add(&get, STR("responses"), responses(s, codes, out, ref));
    json_add(&get, STR("tags"), strings(s->arena, (struct media_types){ &g->tag, 1 }));
    json_add(&item, STR("get"), json_object_value(&get));
    json_add(paths, g->path, json_object_value(&item));
}

/* The list of resources itself, at the version's own path. */
static void add_discovery(struct paths *p, str tag)
{
    struct arena *a = p->s->arena;
    struct openapi_get g = { .path = str_printf(a, "%.*s/", STR_ARG(p->base)),
                             .tag = tag,
                             .id = str_printf(a, "get%.*sAPIResources", STR_ARG(p->camel)),
                             .text = STR("get available resources"),
                             .consumes = openapi_plain_types,
                             .produces = openapi_plain_types,
                             .nconsumes = OPENAPI_PLAIN_TYPES,
                             .nproduces = OPENAPI_PLAIN_TYPES,
                             .schema = STR(OPENAPI_META "APIResourceList") };

    openapi_paths_add_get(p->s, p->out, &g);
}

void openapi_paths_add(struct openapi_params *params, struct json_object *paths, str group,
                       str version)
{
    struct openapi_schemas *s = params->s;
    struct arena *a = s->arena;
    str lower = openapi_camel_case(a, group, false), upper_ = openapi_camel_case(a, group, true),
        v = openapi_camel_case(a, version, true),
        tag = str_printf(a, "%.*s_%.*s", STR_ARG(lower), STR_ARG(version));
    struct paths p = { .params = params, .s = s, .out = paths, .group = group, .version = version };
    const struct kind *const *kinds;
    size_t n = discovery_kinds(a, s->catalog, group, version, &kinds);

    p.base = group.n == 0 ? str_printf(a, "/api/%.*s", STR_ARG(version))
                          : str_printf(a, "/apis/%.*s/%.*s", STR_ARG(group), STR_ARG(version));
    p.camel = str_printf(a, "%.*s%.*s", STR_ARG(upper_), STR_ARG(v));
    p.tags = strings(a, (struct media_types){ &tag, 1 });
    /* k8s: custom resources are described without it. */
    if (n > 0 && !kinds[0]->schema_id)
        add_discovery(&p, tag);
    for (size_t i = 0; i < n; i++)
        add_kind(&p, kinds[i]);
}
