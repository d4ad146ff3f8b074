/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/api_pull.h"

#include "base/banned.h"
#include "fleet/api_schema.h"

struct pull {
    struct client *member;
    struct arena *arena; /* of what is handed out */
    bool (*bare)(void *arg, str group, str version, str plural);
    void *arg;
    struct api_pull *out;
    struct status *st;
    /* The document of the last group, which is rarely the only one asked for. */
    struct arena *document_arena;
    const struct json *document;
    str document_path;
};

/* One version of a group of the member. */
struct group_version {
    struct arena *arena;
    str group, version;
    const struct json *resources; /* its APIResourceList's */
};

/* 1; 0: it has no such thing; -1: it does not answer as it should. */
static int ask(struct pull *p, struct arena *a, str path, const struct json **out)
{
    struct client_request req = { .method = STR("GET"), .path = path, .timeout_ms = API_PULL_MS };

    if (client_do(p->member, a, &req, out, p->st) == 0)
        return 1;
    if (!status_is(p->st, REASON_NOT_FOUND)) {
        (void)status_wrap(p->st, "GET %.*s", STR_ARG(path));
        p->st->message = str_dup(p->arena, p->st->message);
        return -1;
    }
    status_reset(p->st);
    return 0;
}

static void skip(struct pull *p, str type)
{
    struct api_pull *o = p->out;
    enum { ENOUGH = 2000 };

    if (o->nskipped < API_PULL_TYPES_MAX)
        o->skipped[o->nskipped++] = str_dup(p->arena, type);
    if (o->why.n < ENOUGH)
        o->why = str_printf(p->arena, "%.*s%s%.*s: %.*s", STR_ARG(o->why), o->why.n ? "; " : "",
                            STR_ARG(type), STR_ARG(p->st->message));
    status_reset(p->st);
}

/* ---- discovery ---- */

/* A word of a path: what a member says is not let out of its place. */
static bool is_word(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!(c >= 'a' && c <= 'z') && !(c >= '0' && c <= '9') && c != '.' && c != '-')
            return false;
    }
    return s.n <= 253;
}

static str version_path(struct arena *a, const struct group_version *v)
{
    return v->group.n ? str_printf(a, "apis/%.*s/%.*s", STR_ARG(v->group), STR_ARG(v->version))
                      : str_printf(a, "api/%.*s", STR_ARG(v->version));
}

static int find_version(struct pull *p, struct group_version *v)
{
    const struct json *doc;
    int found;

    v->version = STR("v1");
    if (v->group.n) {
        found = ask(p, v->arena, str_printf(v->arena, "/apis/%.*s", STR_ARG(v->group)), &doc);
        if (found <= 0)
            return found;
        v->version = json_get_str(doc, "preferredVersion.version");
    }
    if (!v->version.n || !is_word(v->version))
        return 0;
    found =
        ask(p, v->arena, str_printf(v->arena, "/%.*s", STR_ARG(version_path(v->arena, v))), &doc);
    if (found > 0)
        v->resources = json_get(doc, STR("resources"));
    return found;
}

static const struct json *find_resource(const struct group_version *v, str plural, const char *sub)
{
    str name = *sub ? str_printf(v->arena, "%.*s/%s", STR_ARG(plural), sub) : plural;

    json_for_each (r, v->resources)
        if (str_eq(json_get_str(r, "name"), name))
            return r;
    return NULL;
}

static bool has_verb(const struct json *resource, const char *verb)
{
    json_for_each (v, json_get(resource, STR("verbs")))
        if (str_is(json_str(v), verb))
            return true;
    return false;
}

/* ---- schemas ---- */

static bool holds(const struct json *object, const char *type)
{
    json_for_each (c, json_path(object, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return str_is(json_get_str(c, "status"), "True");
    return false;
}

static const struct json *crd_version(const struct json *crd, str version)
{
    json_for_each (v, json_path(crd, "spec.versions"))
        if (str_eq(json_get_str(v, "name"), version))
            return v;
    return NULL;
}

static const struct json *columns_of_crd(struct arena *a, const struct json *version)
{
    struct json_array all = json_array_new(a);

    json_for_each (c, json_get(version, STR("additionalPrinterColumns"))) {
        struct json_object o = json_object_new(a);

        json_add(&o, STR("name"), json_of_str(json_get_str(c, "name")));
        json_add(&o, STR("type"), json_of_str(json_get_str(c, "type")));
        json_add(&o, STR("format"), json_of_str(json_get_str(c, "format")));
        json_add(&o, STR("description"), json_of_str(json_get_str(c, "description")));
        json_add(&o, STR("priority"), json_of_int(json_int(json_get(c, STR("priority")), 0)));
        json_add(&o, STR("jsonPath"), json_of_str(json_get_str(c, "jsonPath")));
        json_push(&all, json_object_value(&o));
    }
    return json_array_done(&all);
}

/* 1: it is a CRD's; 0: there is none. */
static int schema_of_crd(struct pull *p, const struct group_version *v, str plural,
                         struct json_object *spec)
{
    const struct json *crd, *found, *schema;
    int rc;

    if (!v->group.n)
        return 0;
    rc = ask(p, v->arena,
             str_printf(v->arena,
                        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/%.*s.%.*s",
                        STR_ARG(plural), STR_ARG(v->group)),
             &crd);
    if (rc <= 0)
        return rc;
    found = crd_version(crd, v->version);
    schema = json_path(found, "schema.openAPIV3Schema");
    if (!schema || holds(crd, "NonStructuralSchema"))
        schema = api_schema_open(v->arena);
    json_put(spec, STR("openAPIV3Schema"), *schema);
    if (json_len(json_get(found, STR("additionalPrinterColumns"))))
        json_put(spec, STR("columnDefinitions"), *columns_of_crd(v->arena, found));
    return 1;
}

/* 1, and the document is at hand; of servers before 1.27 it is the one of all groups. */
static int find_document(struct pull *p, str path)
{
    int found;

    if (p->document && str_eq(p->document_path, path))
        return 1;
    arena_free(p->document_arena);
    p->document = NULL;
    p->document_arena = arena_new();
    p->document_path = str_dup(p->document_arena, path);
    found = ask(p, p->document_arena, p->document_path, &p->document);
    if (found <= 0)
        p->document = NULL;
    return found;
}

static int schema_of_model(struct pull *p, const struct group_version *v, str kind,
                           struct json_object *spec)
{
    const struct json *schema;
    int found = find_document(
        p, str_printf(v->arena, "/openapi/v3/%.*s", STR_ARG(version_path(v->arena, v))));

    if (!found)
        found = find_document(p, STR("/openapi/v2"));
    if (found < 0)
        return -1;
    if (!found) {
        (void)status_set(p->st, REASON_INVALID, "the member serves no OpenAPI document");
        return 0;
    }
    if (api_schema(v->arena, p->document, v->group, v->version, kind, &schema, p->st) < 0)
        return 0;
    json_put(spec, STR("openAPIV3Schema"), *schema);
    return 1;
}

/* Native types come without columns; these are what people look at. */
static const struct native_column {
    const char *group, *plural, *name, *type, *path;
} columns[] = {
    { "apps", "deployments", "Desired", "integer", ".spec.replicas" },
    { "apps", "deployments", "Ready", "integer", ".status.readyReplicas" },
    { "apps", "deployments", "Up-to-date", "integer", ".status.updatedReplicas" },
    { "apps", "deployments", "Available", "integer", ".status.availableReplicas" },
    { "apps", "statefulsets", "Desired", "integer", ".spec.replicas" },
    { "apps", "statefulsets", "Ready", "integer", ".status.readyReplicas" },
    { "apps", "replicasets", "Desired", "integer", ".spec.replicas" },
    { "apps", "replicasets", "Ready", "integer", ".status.readyReplicas" },
    { "apps", "daemonsets", "Desired", "integer", ".status.desiredNumberScheduled" },
    { "apps", "daemonsets", "Ready", "integer", ".status.numberReady" },
    { "batch", "jobs", "Completions", "integer", ".spec.completions" },
    { "batch", "jobs", "Succeeded", "integer", ".status.succeeded" },
};

static void push_column(struct json_array *all, const char *name, const char *type,
                        const char *path)
{
    struct json_object o = json_object_new(all->arena);

    json_add(&o, STR("name"), json_of_str(str_of(name)));
    json_add(&o, STR("type"), json_of_str(str_of(type)));
    json_add(&o, STR("format"), json_of_str(STR("")));
    json_add(&o, STR("description"), json_of_str(STR("")));
    json_add(&o, STR("priority"), json_of_int(0));
    json_add(&o, STR("jsonPath"), json_of_str(str_of(path)));
    json_push(all, json_object_value(&o));
}

static void add_columns(const struct group_version *v, str plural, struct json_object *spec)
{
    struct json_array all = json_array_new(v->arena);

    for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
        if (str_is(v->group, columns[i].group) && str_is(plural, columns[i].plural))
            push_column(&all, columns[i].name, columns[i].type, columns[i].path);
    if (!all.n)
        return;
    push_column(&all, "Age", "date", ".metadata.creationTimestamp");
    json_put(spec, STR("columnDefinitions"), json_array_value(&all));
}

/* ---- one type ---- */

static void add_names(const struct group_version *v, const struct json *r, struct json_object *spec)
{
    static const char *const subs[] = { "scale", "status", NULL };
    struct json_object gv = json_object_new(v->arena);
    struct json_array parts = json_array_new(v->arena);
    str plural = json_get_str(r, "name"), kind = json_get_str(r, "kind");
    str singular = json_get_str(r, "singularName");

    json_add(&gv, STR("group"), json_of_str(v->group));
    json_add(&gv, STR("version"), json_of_str(v->version));
    json_add(spec, STR("groupVersion"), json_object_value(&gv));
    json_add(spec, STR("scope"),
             json_of_str(json_bool(json_get(r, STR("namespaced"))) ? STR("Namespaced")
                                                                   : STR("Cluster")));
    json_add(spec, STR("plural"), json_of_str(plural));
    if (singular.n)
        json_add(spec, STR("singular"), json_of_str(singular));
    json_add(spec, STR("kind"), json_of_str(kind));
    json_add(spec, STR("listKind"), json_of_str(str_printf(v->arena, "%.*sList", STR_ARG(kind))));
    if (json_len(json_get(r, STR("shortNames"))))
        json_add(spec, STR("shortNames"), *json_get(r, STR("shortNames")));
    if (json_len(json_get(r, STR("categories"))))
        json_add(spec, STR("categories"), *json_get(r, STR("categories")));
    for (const char *const *s = subs; *s; s++) {
        struct json_object o = json_object_new(v->arena);

        if (!find_resource(v, plural, *s))
            continue;
        json_add(&o, STR("name"), json_of_str(str_of(*s)));
        json_push(&parts, json_object_value(&o));
    }
    if (parts.n)
        json_add(spec, STR("subResources"), json_array_value(&parts));
}

static int pull_type(struct pull *p, const struct group_version *v, const struct json *r)
{
    struct json_object spec = json_object_new(v->arena);
    str plural = json_get_str(r, "name"), kind = json_get_str(r, "kind");
    int found = 1;

    if (!plural.n || !kind.n || !is_word(plural) || p->out->n == API_PULL_TYPES_MAX)
        return 0;
    add_names(v, r, &spec);
    if (!p->bare(p->arg, v->group, v->version, plural)) {
        found = schema_of_crd(p, v, plural, &spec);
        if (!found) {
            add_columns(v, plural, &spec);
            found = schema_of_model(p, v, kind, &spec);
        }
        if (found < 0)
            return -1;
    }
    if (!found) {
        skip(p, plural);
        return 0;
    }
    p->out->specs[p->out->n++] = json_dup(p->arena, json_object_done(&spec));
    return 0;
}

static int pull_word(struct pull *p, str word)
{
    scoped_arena a = arena_new();
    struct group_version v = { .arena = a, .group = str_trim(word) };
    const struct json *r;
    str plural;
    int found;

    if (!v.group.n)
        return 0;
    (void)str_split(&v.group, '.', &plural);
    if (!is_word(v.group))
        return 0;
    found = find_version(p, &v);
    if (found <= 0)
        return found;
    if (!str_is(plural, "*")) {
        r = find_resource(&v, plural, "");
        return r ? pull_type(p, &v, r) : 0;
    }
    json_for_each (each, v.resources)
        if (str_find(json_get_str(each, "name"), '/', 0) < 0 && has_verb(each, "watch") &&
            pull_type(p, &v, each) < 0)
            return -1;
    return 0;
}

int api_pull(struct client *member, struct arena *a, str wanted,
             bool (*bare)(void *arg, str group, str version, str plural), void *arg,
             struct api_pull *out, struct status *st)
{
    struct pull p = {
        .member = member, .arena = a, .bare = bare, .arg = arg, .out = out, .st = st
    };
    int rc = 0;

    *out = (struct api_pull){ .specs = arena_array(a, const struct json *, API_PULL_TYPES_MAX),
                              .skipped = arena_array(a, str, API_PULL_TYPES_MAX) };
    for (str rest = wanted, word; rc == 0 && str_split(&rest, ',', &word);)
        rc = pull_word(&p, str_trim(word));
    arena_free(p.document_arena);
    return rc;
}
