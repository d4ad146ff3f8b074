/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow_set.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"

#define GROUP    "flowcontrol.apiserver.k8s.io"
#define ACCOUNTS "system:serviceaccount:"

enum { SEED_LEVEL = 1, SEED_FLOW = 2, PERCENT = 100 };

/* ---- compiling ---- */

static struct flow_words read_words(struct arena *a, const struct json *list)
{
    str *at = arena_array(a, str, json_len(list) + 1);
    size_t n = 0;

    json_for_each (v, list)
        at[n++] = str_dup(a, json_str(v));
    return (struct flow_words){ at, n };
}

static struct flow_subject read_subject(struct arena *a, const struct json *v)
{
    str kind = json_get_str(v, "kind");
    struct flow_subject s = { .kind = FLOW_NOBODY };

    if (str_is(kind, "User")) {
        s.kind = FLOW_USER;
        s.name = json_get_str(v, "user.name");
    } else if (str_is(kind, "Group")) {
        s.kind = FLOW_GROUP;
        s.name = json_get_str(v, "group.name");
    } else if (str_is(kind, "ServiceAccount")) {
        s.kind = FLOW_ACCOUNT;
        s.name = json_get_str(v, "serviceAccount.name");
        s.namespace_ = json_get_str(v, "serviceAccount.namespace");
    }
    s.name = str_dup(a, s.name);
    s.namespace_ = str_dup(a, s.namespace_);
    return s;
}

static void read_rule(struct arena *a, const struct json *v, struct flow_rule *out)
{
    const struct json *subjects = json_get(v, STR("subjects"));
    const struct json *resources = json_get(v, STR("resourceRules"));
    const struct json *paths = json_get(v, STR("nonResourceRules"));
    struct flow_subject *s = arena_array(a, struct flow_subject, json_len(subjects) + 1);
    struct flow_resources *r = arena_array(a, struct flow_resources, json_len(resources) + 1);
    struct flow_paths *p = arena_array(a, struct flow_paths, json_len(paths) + 1);

    *out = (struct flow_rule){ .subjects = s, .resources = r, .paths = p };
    json_for_each (subject, subjects)
        s[out->nsubjects++] = read_subject(a, subject);
    json_for_each (rule, resources)
        r[out->nresources++] = (struct flow_resources){
            .verbs = read_words(a, json_get(rule, STR("verbs"))),
            .groups = read_words(a, json_get(rule, STR("apiGroups"))),
            .resources = read_words(a, json_get(rule, STR("resources"))),
            .namespaces = read_words(a, json_get(rule, STR("namespaces"))),
            .cluster = json_bool(json_get(rule, STR("clusterScope"))),
        };
    json_for_each (rule, paths)
        p[out->npaths++] = (struct flow_paths){
            .verbs = read_words(a, json_get(rule, STR("verbs"))),
            .paths = read_words(a, json_get(rule, STR("nonResourceURLs"))),
        };
}

static void read_schema(struct arena *a, const struct flow_row *row, struct flow_schema *out)
{
    const struct json *spec = json_get(row->tree, STR("spec")), *rules;
    str by = json_get_str(spec, "distinguisherMethod.type");
    struct flow_rule *at;

    rules = json_get(spec, STR("rules"));
    at = arena_array(a, struct flow_rule, json_len(rules) + 1);
    out->name = str_dup(a, row->name);
    out->hash = str_hash(row->name, SEED_FLOW, SEED_FLOW);
    out->precedence = json_int(json_get(spec, STR("matchingPrecedence")), 0);
    out->by = str_is(by, "ByUser")        ? FLOW_BY_USER
              : str_is(by, "ByNamespace") ? FLOW_BY_NAMESPACE
                                          : FLOW_BY_NOTHING;
    json_for_each (rule, rules)
        read_rule(a, rule, &at[out->nrules++]);
    out->rules = at;
}

static const struct json *kind_spec(const struct json *level)
{
    const struct json *spec = json_get(level, STR("spec"));

    return json_get(spec,
                    str_is(json_get_str(spec, "type"), "Exempt") ? STR("exempt") : STR("limited"));
}

static uint64_t number(const struct json *v, const char *member, int64_t otherwise)
{
    int64_t n = json_int(json_get(v, str_of(member)), otherwise);

    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : (uint64_t)n;
}

static unsigned percent(unsigned n, uint64_t of)
{
    return (unsigned)((n * of + PERCENT / 2) / PERCENT);
}

static unsigned metric_of(str name)
{
    static const char *const names[] = {
#define X(name) name,
        FLOW_LEVELS(X)
#undef X
    };
    unsigned i = 0;

    while (i < FLOW_NLEVELS - 1 && !str_is(name, names[i]))
        i++;
    return i;
}

static void read_level(struct arena *a, const struct flow_row *row, unsigned seats, uint64_t sum,
                       struct flow_level *out)
{
    const struct json *spec = kind_spec(row->tree);
    const struct json *borrow = json_get(spec, STR("borrowingLimitPercent"));
    const struct json *queuing = json_path(spec, "limitResponse.queuing");
    struct flow_limits *l = &out->limits;
    bool exempt = str_is(json_get_str(row->tree, "spec.type"), "Exempt");

    out->name = str_dup(a, row->name);
    out->id = str_hash(row->name, SEED_LEVEL, SEED_LEVEL);
    out->metric = metric_of(row->name);
    out->exempt = exempt;
    l->nominal = flow_share(seats, number(spec, "nominalConcurrencyShares", exempt ? 0 : 30), sum);
    l->lendable = percent(l->nominal, number(spec, "lendablePercent", 0));
    l->lendable = l->lendable < l->nominal ? l->lendable : l->nominal;
    l->max = seats;
    if (borrow && json_is(borrow, JSON_INT))
        l->max = l->nominal + percent(l->nominal, number(spec, "borrowingLimitPercent", 0));
    if (!str_is(json_get_str(spec, "limitResponse.type"), "Queue"))
        return;
    l->queues = (uint32_t)number(queuing, "queues", 64);
    l->hand = (uint32_t)number(queuing, "handSize", 8);
    l->length = (uint32_t)number(queuing, "queueLengthLimit", 50);
}

static struct flow_level *read_levels(struct arena *a, const struct flow_rows *rows, unsigned seats)
{
    struct flow_level *levels = arena_array(a, struct flow_level, rows->n + 1);
    uint64_t sum = 0;
    unsigned pool = 0;

    for (size_t i = 0; i < rows->n; i++) {
        bool exempt = str_is(json_get_str(rows->at[i].tree, "spec.type"), "Exempt");

        sum += number(kind_spec(rows->at[i].tree), "nominalConcurrencyShares", exempt ? 0 : 30);
    }
    for (size_t i = 0; i < rows->n; i++) {
        read_level(a, &rows->at[i], seats, sum, &levels[i]);
        pool += levels[i].limits.lendable;
    }
    for (size_t i = 0; i < rows->n; i++)
        levels[i].limits.pool = pool;
    return levels;
}

/* k8s: apihelpers.FlowSchemaSequence */
static int compare(const void *a, const void *b)
{
    const struct flow_schema *x = a, *y = b;

    if (x->precedence != y->precedence)
        return x->precedence < y->precedence ? -1 : 1;
    return str_cmp(x->name, y->name);
}

/* The same as the row has when it is read: rest/rows.c. */
static str uid_of(struct arena *a, const struct flow_row *row, const char *plural, str instance)
{
    char *uid;

    if (row->uid.n)
        return str_dup(a, row->uid);
    uid = arena_alloc(a, UUID_SIZE);
    (void)uuid_v5(uid, instance, str_printf(a, GROUP "/%s/%.*s", plural, STR_ARG(row->name)));
    return (str){ uid, UUID_LEN };
}

static const str *make_uids(struct arena *a, const struct flow_rows *schemas,
                            const struct flow_rows *levels, str instance)
{
    str *uids = arena_array(a, str, schemas->n + levels->n + 1);
    scoped_arena scratch = arena_new();

    if (!instance.n)
        return NULL;
    for (size_t i = 0; i < schemas->n; i++)
        uids[i] = str_dup(a, uid_of(scratch, &schemas->at[i], "flowschemas", instance));
    for (size_t i = 0; i < levels->n; i++)
        uids[schemas->n + i] =
            str_dup(a, uid_of(scratch, &levels->at[i], "prioritylevelconfigurations", instance));
    return uids;
}

struct flow_set *flow_set_new(const struct flow_rows *schemas, const struct flow_rows *levels,
                              unsigned seats, str instance_uid)
{
    struct flow_set *s = mem_zalloc(sizeof(*s));
    struct arena *a = s->arena = arena_new();
    struct flow_schema *at = arena_array(a, struct flow_schema, schemas->n + 1);
    const struct flow_level *known = read_levels(a, levels, seats);

    for (size_t i = 0; i < schemas->n; i++) {
        str name = json_get_str(schemas->at[i].tree, "spec.priorityLevelConfiguration.name");
        size_t l = 0;

        while (l < levels->n && !str_eq(levels->at[l].name, name))
            l++;
        if (l == levels->n)
            continue;
        at[s->nschemas] =
            (struct flow_schema){ .level = &known[l], .place = i, .level_place = schemas->n + l };
        read_schema(a, &schemas->at[i], &at[s->nschemas++]);
    }
    if (s->nschemas)
        qsort(at, s->nschemas, sizeof(*at), compare);
    s->schemas = at;
    s->uids = make_uids(a, schemas, levels, instance_uid);
    return s;
}

struct flow_set *flow_set_share(const struct flow_set *of, const struct flow_rows *schemas,
                                const struct flow_rows *levels, str instance_uid)
{
    struct flow_set *s = mem_zalloc(sizeof(*s));

    *s = (struct flow_set){ .arena = arena_new_lasting(),
                            .schemas = of->schemas,
                            .nschemas = of->nschemas };
    s->uids = make_uids(s->arena, schemas, levels, instance_uid);
    return s;
}

void flow_set_free(struct flow_set *s)
{
    if (!s)
        return;
    arena_free(s->arena);
    free(s);
}

/* ---- matching ---- */

/* k8s: containsString; validation sees to it that a wildcard is alone. */
static bool has_word(const struct flow_words *w, str word)
{
    for (size_t i = 0; i < w->n; i++)
        if (str_is(w->at[i], "*") || str_eq(w->at[i], word))
            return true;
    return false;
}

static bool is_account(str user, const struct flow_subject *s)
{
    str rest;

    if (!str_starts(user, STR(ACCOUNTS)))
        return false;
    rest = str_from(user, sizeof(ACCOUNTS) - 1);
    if (!str_starts(rest, s->namespace_) || rest.n == s->namespace_.n ||
        rest.p[s->namespace_.n] != ':')
        return false;
    return str_is(s->name, "*") || str_eq(str_from(rest, s->namespace_.n + 1), s->name);
}

static bool is_subject(const struct flow_subject *s, const struct identity *who)
{
    switch (s->kind) {
    case FLOW_USER:
        return str_is(s->name, "*") || str_eq(s->name, who->user);
    case FLOW_GROUP:
        if (str_is(s->name, "*"))
            return true;
        for (size_t i = 0; i < who->ngroups; i++)
            if (str_eq(who->groups[i], s->name))
                return true;
        return false;
    case FLOW_ACCOUNT:
        return is_account(who->user, s);
    case FLOW_NOBODY:
        break;
    }
    return false;
}

/* "pods", or "pods/status" for a subresource. */
static bool has_resource(const struct flow_words *w, const struct reqinfo *info)
{
    size_t n = info->resource.n;

    if (!info->subresource.n)
        return has_word(w, info->resource);
    for (size_t i = 0; i < w->n; i++)
        if (str_is(w->at[i], "*") ||
            (w->at[i].n == n + 1 + info->subresource.n && str_starts(w->at[i], info->resource) &&
             w->at[i].p[n] == '/' && str_ends(w->at[i], info->subresource)))
            return true;
    return false;
}

static bool has_path(const struct flow_words *w, str path)
{
    for (size_t i = 0; i < w->n; i++) {
        str prefix = w->at[i];

        if (str_is(prefix, "*") || str_eq(prefix, path))
            return true;
        if (str_ends(prefix, STR("*")))
            prefix.n--;
        if (str_ends(prefix, STR("/")))
            prefix.n--;
        if (str_starts(path, prefix) && path.n > prefix.n && path.p[prefix.n] == '/')
            return true;
    }
    return false;
}

static bool rule_matches(const struct flow_rule *r, const struct reqinfo *info)
{
    for (size_t i = 0; info->is_resource && i < r->nresources; i++) {
        const struct flow_resources *x = &r->resources[i];

        if (has_word(&x->verbs, info->verb) && has_resource(&x->resources, info) &&
            has_word(&x->groups, info->group) &&
            (info->namespace_.n ? has_word(&x->namespaces, info->namespace_) : x->cluster))
            return true;
    }
    for (size_t i = 0; !info->is_resource && i < r->npaths; i++)
        if (has_word(&r->paths[i].verbs, info->verb) && has_path(&r->paths[i].paths, info->path))
            return true;
    return false;
}

static bool has_subject(const struct flow_rule *r, const struct identity *who)
{
    for (size_t i = 0; i < r->nsubjects; i++)
        if (is_subject(&r->subjects[i], who))
            return true;
    return false;
}

const struct flow_schema *flow_set_match(const struct flow_set *s, const struct reqinfo *info,
                                         const struct identity *who)
{
    for (size_t i = 0; i < s->nschemas; i++)
        for (size_t r = 0; r < s->schemas[i].nrules; r++)
            if (has_subject(&s->schemas[i].rules[r], who) &&
                rule_matches(&s->schemas[i].rules[r], info))
                return &s->schemas[i];
    return s->nschemas ? &s->schemas[s->nschemas - 1] : NULL;
}

uint64_t flow_schema_hash(const struct flow_schema *s, const struct reqinfo *info,
                          const struct identity *who)
{
    if (s->by == FLOW_BY_NOTHING)
        return s->hash;
    return str_hash(s->by == FLOW_BY_USER ? who->user : info->namespace_, s->hash, SEED_FLOW);
}
