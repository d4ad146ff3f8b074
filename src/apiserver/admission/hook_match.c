/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/hook_match.h"

#include "base/banned.h"
#include "rest/lookup.h"

static const struct {
    const char *name;
    unsigned bits;
} operations[] = {
    { "CREATE", HOOK_CREATE },
    { "UPDATE", HOOK_UPDATE },
    { "DELETE", HOOK_DELETE },
    { "CONNECT", HOOK_CONNECT },
    { "*", HOOK_CREATE | HOOK_UPDATE | HOOK_DELETE | HOOK_CONNECT },
};

const char *hook_operation_name(enum hook_operation o)
{
    for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
        if (operations[i].bits == o)
            return operations[i].name;
    return "";
}

/* ---- reading ---- */

static struct hook_words words(struct arena *a, const struct json *list)
{
    str *at = arena_array(a, str, json_len(list) + 1);
    size_t n = 0;

    json_for_each (v, list)
        at[n++] = str_dup(a, json_str(v));
    return (struct hook_words){ at, n };
}

static struct hook_rule read_rule(struct arena *a, const struct json *tree)
{
    str scope = json_get_str(tree, "scope");
    struct hook_rule r = {
        .groups = words(a, json_get(tree, STR("apiGroups"))),
        .versions = words(a, json_get(tree, STR("apiVersions"))),
        .resources = words(a, json_get(tree, STR("resources"))),
        .names = words(a, json_get(tree, STR("resourceNames"))),
        .any_scope = !scope.n || str_is(scope, "*"),
        .namespaced = str_is(scope, "Namespaced"),
    };

    json_for_each (o, json_get(tree, STR("operations")))
        for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++)
            if (str_is(json_str(o), operations[i].name))
                r.operations |= operations[i].bits;
    return r;
}

static const struct hook_rule *read_rules(struct arena *a, const struct json *list, size_t *n)
{
    struct hook_rule *rules = arena_array(a, struct hook_rule, json_len(list) + 1);

    *n = 0;
    json_for_each (v, list)
        rules[(*n)++] = read_rule(a, v);
    return rules;
}

/* What validation let pass can be read; if not, it selects nothing. */
static void read_selector(struct arena *a, const struct json *tree, struct selector *out)
{
    static const struct selector_term never[] = { { .key = STR_INIT("-"), .op = SELECTOR_EXISTS } };
    struct status st;

    status_init(&st, a);
    *out = (struct selector){ 0 };
    if (tree && selector_of_tree(a, tree, out, &st) < 0)
        *out = (struct selector){ never, 1 };
}

void hook_match_read(struct arena *a, const struct json *tree, const char *rules,
                     struct hook_match *out)
{
    const struct json *copy = tree ? json_dup(a, tree) : NULL;
    const struct json *list = json_get(copy, str_of(rules));

    *out = (struct hook_match){ .all = json_len(list) == 0,
                                .exact = str_is(json_get_str(copy, "matchPolicy"), "Exact") };
    out->rules = read_rules(a, list, &out->nrules);
    out->excluded = read_rules(a, json_get(copy, STR("excludeResourceRules")), &out->nexcluded);
    read_selector(a, json_get(copy, STR("namespaceSelector")), &out->namespaces);
    read_selector(a, json_get(copy, STR("objectSelector")), &out->objects);
}

/* ---- writes ---- */

static str name_of(const struct rest_request *req, const struct json *obj, const struct json *old)
{
    str name = json_get_str(obj ? obj : old, "metadata.name");

    return name.n ? name : req->name;
}

struct hook_write hook_write_of(struct rest_request *req, const struct json *obj,
                                const struct json *old)
{
    return (struct hook_write){ .req = req,
                                .obj = obj,
                                .old = old,
                                .operation = !obj  ? HOOK_DELETE
                                             : old ? HOOK_UPDATE
                                                   : HOOK_CREATE,
                                .name = name_of(req, obj, old) };
}

static bool is_namespace(const struct rest_request *req)
{
    return !req->kind->group.n && str_is(req->kind->plural, "namespaces");
}

int hook_namespace(struct hook_write *w, const struct json **out, struct status *st)
{
    struct rest_request *req = w->req;
    const struct kind *k = catalog_find(req->catalog, STR_NONE, STR("v1"), STR("namespaces"));

    if (!w->namespace_known && is_namespace(req))
        w->namespace_ = w->obj ? w->obj : w->old;
    else if (!w->namespace_known && req->kind->namespaced && k &&
             lookup_get(req->rest, req->arena, &req->instance, k, STR_NONE, req->namespace_,
                        &w->namespace_, st) < 0)
        return -1;
    w->namespace_known = true;
    *out = w->namespace_;
    return 0;
}

bool hook_exempt(const struct rest_request *req)
{
    return str_is(req->kind->group, "admissionregistration.k8s.io") ||
           (str_is(req->kind->group, "iam.kairship.io") && str_is(req->kind->plural, "sessions"));
}

/* k8s: pkg/kubeapiserver/admission/exclusion/resources.go */
bool hook_is_review(const struct rest_request *req)
{
    return req->kind->transient && (str_is(req->kind->group, "authentication.k8s.io") ||
                                    str_is(req->kind->group, "authorization.k8s.io"));
}

/* ---- matching ---- */

static bool has(struct hook_words w, str word)
{
    for (size_t i = 0; i < w.n; i++)
        if (str_is(w.at[i], "*") || str_eq(w.at[i], word))
            return true;
    return false;
}

/* "pods", "pods/status", "pods/…*", "…*" (no subresource), "…*" over a slash (all of them). */
static bool has_resource(struct hook_words w, str plural, str subresource)
{
    for (size_t i = 0; i < w.n; i++) {
        ptrdiff_t slash = str_find(w.at[i], '/', 0);
        str name = slash < 0 ? w.at[i] : str_sub(w.at[i], 0, (size_t)slash);
        str sub = slash < 0 ? STR_NONE : str_from(w.at[i], (size_t)slash + 1);

        if ((str_is(name, "*") || str_eq(name, plural)) &&
            (str_is(sub, "*") || str_eq(sub, subresource)))
            return true;
    }
    return false;
}

static bool rule_matches(const struct hook_rule *r, const struct hook_write *w,
                         const struct kind *k)
{
    bool namespaced = k->namespaced;

    return (r->operations & w->operation) && (r->any_scope || r->namespaced == namespaced) &&
           has(r->groups, k->group) && has(r->versions, k->version) &&
           has_resource(r->resources, k->plural, w->req->subresource) &&
           (!r->names.n || has(r->names, w->name));
}

static bool any_rule(const struct hook_rule *rules, size_t n, const struct hook_write *w,
                     const struct kind *k)
{
    for (size_t i = 0; i < n; i++)
        if (rule_matches(&rules[i], w, k))
            return true;
    return false;
}

static bool same_thing(const struct kind *a, const struct kind *b)
{
    return a != b && a->type_id == b->type_id && !a->transient && !b->transient && !a->any &&
           !b->any;
}

/* The kind by which rules are about this write, first the one that was asked through; or NULL. */
static const struct kind *find_kind(const struct hook_rule *rules, size_t n, bool exact,
                                    const struct hook_write *w)
{
    const struct catalog *c = w->req->catalog;

    if (any_rule(rules, n, w, w->req->kind))
        return w->req->kind;
    if (exact || !n)
        return NULL;
    for (size_t i = 0; i < c->nkinds; i++)
        if (same_thing(c->kinds[i], w->req->kind) && any_rule(rules, n, w, c->kinds[i]) &&
            (!w->req->subresource.n || kind_subresource(c->kinds[i], w->req->subresource)))
            return c->kinds[i];
    return NULL;
}

static int namespace_matches(const struct hook_match *m, struct hook_write *w, struct status *st)
{
    const struct json *namespace_;

    if (!m->namespaces.nterms || (!w->req->kind->namespaced && !is_namespace(w->req)))
        return 1;
    if (hook_namespace(w, &namespace_, st) < 0)
        return -1;
    return selector_matches(&m->namespaces, json_path(namespace_, "metadata.labels"));
}

/* A Scale has no labels. */
static bool object_matches(const struct hook_match *m, const struct hook_write *w)
{
    const char *labels = rest_is_scale(w->req) ? "metadata.-" : "metadata.labels";

    return !m->objects.nterms ||
           (w->obj && selector_matches(&m->objects, json_path(w->obj, labels))) ||
           (w->old && selector_matches(&m->objects, json_path(w->old, labels)));
}

int hook_matches(const struct hook_match *m, struct hook_write *w, const struct kind **as,
                 struct status *st)
{
    int rc;

    *as = m->all ? w->req->kind : find_kind(m->rules, m->nrules, m->exact, w);
    if (!*as || find_kind(m->excluded, m->nexcluded, m->exact, w))
        return 0;
    rc = namespace_matches(m, w, st);
    return rc > 0 ? object_matches(m, w) : rc;
}
