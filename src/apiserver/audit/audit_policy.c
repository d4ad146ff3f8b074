/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_policy.h"

#include <assert.h>
#include <stdlib.h>

#include "apiserver/call/metrics.h"
#include "base/banned.h"
#include "base/mem.h"
#include "object/meta/names.h"

static const char *const levels[] = {
#define X(level) level,
    METRICS_AUDIT_LEVELS(X)
#undef X
};
static const char *const stages[] = { "RequestReceived", "ResponseStarted", "ResponseComplete",
                                      "Panic" };
enum { NLEVELS = sizeof(levels) / sizeof(*levels), NSTAGES = sizeof(stages) / sizeof(*stages) };
static_assert(NLEVELS == AUDIT_REQUEST_RESPONSE + 1, "a name for each level");

/* Those that most requests have; a rule has them as bits.  OTHER stands for all that are no row. */
static const char *const verbs[] = { "get",    "list",  "watch",  "create",
                                     "update", "patch", "delete", "deletecollection",
                                     "post",   "put" };
enum { OTHER = sizeof(verbs) / sizeof(*verbs), NVERBS };

struct strs {
    const str *at;
    size_t n;
};

struct group_resources {
    str group;
    struct strs resources, names;
};

struct rule {
    struct audit_decision decision;
    struct strs users, groups, verbs, namespaces, urls;
    const struct group_resources *resources;
    size_t nresources;
};

/* Rules that may match requests of one verb, in their order. */
struct candidates {
    const struct rule **at;
    size_t n;
};

struct audit_policy {
    struct arena *arena;
    struct rule *rules;
    size_t nrules;
    struct candidates of_paths[NVERBS], of_resources[NVERBS];
};

const char *audit_level_name(enum audit_level level)
{
    return levels[level];
}

const char *audit_stage_name(enum audit_stage stage)
{
    return stages[stage];
}

/* ---- asking ---- */

static bool has(const struct strs *list, str s)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->at[i], s))
            return true;
    return false;
}

static size_t verb_index(str verb)
{
    size_t i = 0;

    while (i < OTHER && !str_is(verb, verbs[i]))
        i++;
    return i;
}

static bool user_matches(const struct rule *r, const struct identity *who)
{
    if (r->users.n && (!who || !has(&r->users, who->user)))
        return false;
    if (!r->groups.n)
        return true;
    for (size_t i = 0; who && i < who->ngroups; i++)
        if (has(&r->groups, who->groups[i]))
            return true;
    return false;
}

/* "pods", "pods/log", "*", "pods/" and a star, "*" and "/scale" */
static bool resource_matches(str pattern, const struct reqinfo *info)
{
    ptrdiff_t slash = str_find(pattern, '/', 0);
    str resource, sub;

    if (slash < 0)
        return str_is(pattern, "*") || (!info->subresource.n && str_eq(pattern, info->resource));
    resource = str_sub(pattern, 0, (size_t)slash);
    sub = str_from(pattern, (size_t)slash + 1);
    if (str_is(sub, "*") && str_eq(resource, info->resource))
        return true; /* k8s: of the resource itself, too */
    return info->subresource.n && str_eq(sub, info->subresource) &&
           (str_is(resource, "*") || str_eq(resource, info->resource));
}

static bool group_matches(const struct group_resources *g, const struct reqinfo *info)
{
    if (!str_eq(g->group, info->group))
        return false;
    if (!g->resources.n)
        return true;
    if (g->names.n && !has(&g->names, info->name))
        return false;
    for (size_t i = 0; i < g->resources.n; i++)
        if (resource_matches(g->resources.at[i], info))
            return true;
    return false;
}

static bool object_matches(const struct rule *r, const struct reqinfo *info)
{
    if (r->namespaces.n && !has(&r->namespaces, info->namespace_))
        return false;
    for (size_t i = 0; i < r->nresources; i++)
        if (group_matches(&r->resources[i], info))
            return true;
    return r->nresources == 0;
}

static bool path_matches(const struct rule *r, str path)
{
    for (size_t i = 0; i < r->urls.n; i++) {
        str url = r->urls.at[i];

        if (str_eq(url, path))
            return true;
        if (str_ends(url, STR("*")) && str_starts(path, str_sub(url, 0, url.n - 1)))
            return true;
    }
    return r->urls.n == 0;
}

/* k8s: apiserver/pkg/audit/policy/checker.go ruleMatches */
struct audit_decision audit_policy_decide(const struct audit_policy *p, const struct identity *who,
                                          const struct reqinfo *info)
{
    size_t verb = verb_index(info->verb);
    const struct candidates *c = info->is_resource ? &p->of_resources[verb] : &p->of_paths[verb];

    for (size_t i = 0; i < c->n; i++) {
        const struct rule *r = c->at[i];

        if (verb == OTHER && r->verbs.n && !has(&r->verbs, info->verb))
            continue;
        if ((info->is_resource ? object_matches(r, info) : path_matches(r, info->path)) &&
            user_matches(r, who))
            return r->decision;
    }
    return (struct audit_decision){ .level = AUDIT_NONE };
}

/* ---- compiling ---- */

static bool may_have_verb(const struct rule *r, size_t verb)
{
    if (!r->verbs.n || verb == OTHER)
        return true;
    return has(&r->verbs, str_of(verbs[verb]));
}

/* What comes behind the last rule that wants something need not be looked at. */
static struct candidates find_candidates(struct audit_policy *p, size_t verb, bool resources)
{
    struct candidates c = { .at = arena_array(p->arena, const struct rule *, p->nrules + 1) };

    for (size_t i = 0; i < p->nrules; i++) {
        const struct rule *r = &p->rules[i];

        if (resources ? r->urls.n > 0 : r->nresources || r->namespaces.n)
            continue;
        if (may_have_verb(r, verb))
            c.at[c.n++] = r;
    }
    while (c.n && c.at[c.n - 1]->decision.level == AUDIT_NONE)
        c.n--;
    return c;
}

static void compile(struct audit_policy *p)
{
    for (size_t v = 0; v < NVERBS; v++) {
        p->of_resources[v] = find_candidates(p, v, true);
        p->of_paths[v] = find_candidates(p, v, false);
    }
}

/* ---- reading ---- */

struct reading {
    struct arena *arena; /* of what is said; the policy's own things live in: */
    struct arena *keep;
    struct status *st;
    str path; /* of what is read: "rules[2]" */
};

static str below(const struct reading *r, const char *field)
{
    return r->path.n ? str_printf(r->arena, "%.*s.%s", STR_ARG(r->path), field)
                     : str_dup(r->arena, str_of(field));
}

static struct reading item(const struct reading *r, const char *field, size_t i)
{
    struct reading out = *r;

    out.path = str_printf(r->arena, "%.*s[%zu]", STR_ARG(below(r, field)), i);
    return out;
}

static void wrong(const struct reading *r, str field, const struct json *v, const char *why)
{
    status_cause(r->st, CAUSE_INVALID, field, json_text(r->arena, v), "%s", why);
}

/* The value of a member that has that type, or NULL. */
static const struct json *member(const struct reading *r, const struct json *v, const char *name,
                                 enum json_type type)
{
    const struct json *m = json_get(v, str_of(name));

    if (!m || json_is(m, JSON_NULL))
        return NULL;
    if (json_is(m, type))
        return m;
    wrong(r, below(r, name), m,
          type == JSON_ARRAY    ? "must be a list"
          : type == JSON_STRING ? "must be a string"
          : type == JSON_BOOL   ? "must be true or false"
                                : "must be an object");
    return NULL;
}

static void check_names(const struct reading *r, const struct json *v, const char *const *known)
{
    json_for_each_member (m, v) {
        const char *const *k = known;

        while (*k && !str_is(m->name, *k))
            k++;
        if (!*k)
            status_cause(r->st, CAUSE_INVALID, below(r, str_z(r->arena, m->name)),
                         json_text(r->arena, &m->value), "there is no such field");
    }
}

static struct strs read_strings(const struct reading *r, const struct json *v, const char *name)
{
    const struct json *list = member(r, v, name, JSON_ARRAY);
    str *at = arena_array(r->keep, str, json_len(list) + 1);
    struct strs out = { .at = at };

    json_for_each (s, list) {
        if (json_is(s, JSON_STRING))
            at[out.n++] = str_dup(r->keep, json_str(s));
        else
            wrong(r, item(r, name, (size_t)(s - list->items)).path, s, "must be a string");
    }
    return out;
}

static unsigned read_stages(const struct reading *r, const struct json *v)
{
    struct strs names = read_strings(r, v, "omitStages");
    unsigned out = 0;

    for (size_t i = 0; i < names.n; i++) {
        unsigned s = 0;

        while (s < NSTAGES && !str_is(names.at[i], stages[s]))
            s++;
        if (s < NSTAGES)
            out |= 1U << s;
        else
            wrong(r, item(r, "omitStages", i).path, json_box(r->arena, json_of_str(names.at[i])),
                  "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic");
    }
    return out;
}

static enum audit_level read_level(const struct reading *r, const struct json *v)
{
    const struct json *level = member(r, v, "level", JSON_STRING);
    int i = 0;

    if (!json_str(level).n) {
        if (!json_get(v, STR("level")) || level)
            status_cause(r->st, CAUSE_REQUIRED, below(r, "level"), STR_NONE, "%s", "");
        return AUDIT_NONE;
    }
    while (i < NLEVELS && !str_is(json_str(level), levels[i]))
        i++;
    if (i < NLEVELS)
        return (enum audit_level)i;
    status_cause(r->st, CAUSE_NOT_SUPPORTED, below(r, "level"), json_text(r->arena, level),
                 "supported values: \"None\", \"Metadata\", \"Request\", \"RequestResponse\"");
    return AUDIT_NONE;
}

static void check_urls(const struct reading *r, const struct strs *urls)
{
    for (size_t i = 0; i < urls->n; i++) {
        str url = urls->at[i];
        const struct json *v = json_box(r->arena, json_of_str(url));
        ptrdiff_t star = str_find(url, '*', 0);

        if (str_is(url, "*"))
            continue;
        if (!str_starts(url, STR("/")))
            wrong(r, item(r, "nonResourceURLs", i).path, v,
                  "non-resource URL rules must begin with a '/' character");
        if (star >= 0 && (size_t)star + 1 < url.n)
            wrong(r, item(r, "nonResourceURLs", i).path, v,
                  "non-resource URL wildcards '*' must be the final character of the rule");
    }
}

static struct group_resources read_group(const struct reading *r, const struct json *v)
{
    static const char *const known[] = { "group", "resources", "resourceNames", NULL };
    struct group_resources g = { 0 };

    if (!json_is(v, JSON_OBJECT)) {
        wrong(r, r->path, v, "must be an object");
        return g;
    }
    check_names(r, v, known);
    g.group = str_dup(r->keep, json_str(member(r, v, "group", JSON_STRING)));
    g.resources = read_strings(r, v, "resources");
    g.names = read_strings(r, v, "resourceNames");
    if (g.group.n && !name_is_valid(NAME_SUBDOMAIN, g.group))
        wrong(r, below(r, "group"), json_get(v, STR("group")),
              "must be the name of an API group, without a version");
    if (g.names.n && !g.resources.n)
        wrong(r, below(r, "resourceNames"), json_get(v, STR("resourceNames")),
              "using resourceNames requires at least one resource");
    return g;
}

static void read_resources(const struct reading *r, const struct json *v, struct rule *rule)
{
    const struct json *list = member(r, v, "resources", JSON_ARRAY);
    struct group_resources *at = arena_array(r->keep, struct group_resources, json_len(list) + 1);

    json_for_each (g, list) {
        struct reading one = item(r, "resources", rule->nresources);

        at[rule->nresources++] = read_group(&one, g);
    }
    rule->resources = at;
}

static void read_rule(const struct reading *r, const struct json *v,
                      const struct audit_decision *all, struct rule *out)
{
    static const char *const known[] = {
        "level",           "users",      "userGroups",        "verbs", "resources", "namespaces",
        "nonResourceURLs", "omitStages", "omitManagedFields", NULL
    };
    const struct json *managed;

    if (!json_is(v, JSON_OBJECT)) {
        wrong(r, r->path, v, "must be an object");
        return;
    }
    check_names(r, v, known);
    managed = member(r, v, "omitManagedFields", JSON_BOOL);
    out->decision = (struct audit_decision){
        .level = read_level(r, v),
        .omitted = all->omitted | read_stages(r, v),
        .omit_managed_fields = managed ? json_bool(managed) : all->omit_managed_fields,
    };
    out->users = read_strings(r, v, "users");
    out->groups = read_strings(r, v, "userGroups");
    out->verbs = read_strings(r, v, "verbs");
    out->namespaces = read_strings(r, v, "namespaces");
    out->urls = read_strings(r, v, "nonResourceURLs");
    read_resources(r, v, out);
    check_urls(r, &out->urls);
    if (out->urls.n && (out->nresources || out->namespaces.n))
        wrong(r, below(r, "nonResourceURLs"), json_get(v, STR("nonResourceURLs")),
              "rules cannot apply to both regular resources and non-resource URLs");
}

static int read_policy(struct audit_policy *p, const struct reading *r, const struct json *v)
{
    static const char *const known[] = { "kind",       "apiVersion",        "metadata", "rules",
                                         "omitStages", "omitManagedFields", NULL };
    const struct json *rules;
    struct audit_decision all;

    if (!str_is(json_get_str(v, "kind"), "Policy") ||
        !str_is(json_get_str(v, "apiVersion"), "audit.k8s.io/v1"))
        return status_set(r->st, REASON_BAD_REQUEST,
                          "it is no Policy of audit.k8s.io/v1, which its kind and apiVersion say");
    check_names(r, v, known);
    rules = member(r, v, "rules", JSON_ARRAY);
    all = (struct audit_decision){ .omitted = read_stages(r, v),
                                   .omit_managed_fields =
                                       json_bool(member(r, v, "omitManagedFields", JSON_BOOL)) };
    if (!json_len(rules))
        status_cause(r->st, CAUSE_REQUIRED, STR("rules"), STR_NONE, "there must be at least one");
    if (json_len(rules) > AUDIT_RULES_MAX)
        return status_set(r->st, REASON_TOO_LARGE, "a policy has at most %d rules",
                          AUDIT_RULES_MAX);
    p->rules = arena_array(p->arena, struct rule, json_len(rules) + 1);
    json_for_each (rule, rules) {
        struct reading one = item(r, "rules", p->nrules);

        read_rule(&one, rule, &all, &p->rules[p->nrules++]);
    }
    return status_invalid(r->st, STR("audit.k8s.io"), STR("Policy"),
                          str_dup(r->arena, json_get_str(v, "metadata.name")));
}

struct audit_policy *audit_policy_new(str text, struct status *st)
{
    struct audit_policy *p = mem_zalloc(sizeof(*p));
    struct reading r = { .st = st, .arena = st->arena };
    const struct json *v;
    int rc = -1;

    r.keep = p->arena = arena_new_lasting();
    if (text.n > AUDIT_POLICY_MAX)
        (void)status_set(st, REASON_TOO_LARGE, "a policy has at most %d bytes", AUDIT_POLICY_MAX);
    else if (json_parse_yaml(r.arena, text, NULL, &v, st) == 0)
        rc = read_policy(p, &r, v);
    if (rc < 0) {
        audit_policy_free(p);
        return NULL;
    }
    compile(p);
    return p;
}

void audit_policy_free(struct audit_policy *p)
{
    if (!p)
        return;
    arena_free(p->arena);
    free(p);
}
