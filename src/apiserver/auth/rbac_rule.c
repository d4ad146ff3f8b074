/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/auth/rbac_rule.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/banned.h"
#include "base/mem.h"
#include "base/rand.h"

/* Names come from tenants: they must not know which of them collide. */
static uint64_t hash_keys[2];
static pthread_once_t hash_once = PTHREAD_ONCE_INIT;

static void hash_seed(void)
{
    rand_bytes(hash_keys, sizeof(hash_keys));
}

uint64_t rbac_hash(str s)
{
    (void)pthread_once(&hash_once, hash_seed);
    return str_hash(s, hash_keys[0], hash_keys[1]);
}

static struct rbac_name name_of(str s)
{
    return (struct rbac_name){ rbac_hash(s), s };
}

static uint64_t bit_of(uint64_t hash)
{
    return (uint64_t)1 << (hash & 63);
}

/* ---- one block each ---- */

/*
 * Things are laid into a block one behind the other.  It is done twice: first without a block, to
 * learn how large it must be.
 */
struct pack {
    char *p;
    size_t n;
};

static void *pack_take(struct pack *k, size_t n, size_t size)
{
    void *at = k->p ? k->p + k->n : NULL;

    k->n += (n * size + 7) & ~(size_t)7;
    return at;
}

static str pack_str(struct pack *k, str s)
{
    char *p = pack_take(k, s.n, 1);

    if (p && s.n)
        memcpy(p, s.p, s.n);
    return (str){ p, s.n };
}

static struct rbac_names pack_names(struct pack *k, const struct json *list)
{
    struct rbac_name *at = pack_take(k, json_len(list), sizeof(*at));
    struct rbac_names out = { .at = at };

    json_for_each (item, list) {
        str s = pack_str(k, json_str(item));

        if (at) {
            at[out.n] = name_of(s);
            out.mask |= bit_of(at[out.n].hash);
            out.all = out.all || str_is(s, "*");
        }
        out.n++;
    }
    if (out.all)
        out.mask = UINT64_MAX;
    return out;
}

static struct rbac_rule pack_rule(struct pack *k, const struct json *rule)
{
    return (struct rbac_rule){
        .verbs = pack_names(k, json_get(rule, STR("verbs"))),
        .groups = pack_names(k, json_get(rule, STR("apiGroups"))),
        .resources = pack_names(k, json_get(rule, STR("resources"))),
        .names = pack_names(k, json_get(rule, STR("resourceNames"))),
        .urls = pack_names(k, json_get(rule, STR("nonResourceURLs"))),
    };
}

struct source { /* of a block */
    str key;
    bool namespaced;
    uint64_t rev;
    const struct json *obj;
};

static str namespace_of(const struct source *from, str key)
{
    ptrdiff_t slash = from->namespaced ? str_find(key, '/', 0) : -1;

    return slash < 0 ? STR_NONE : str_sub(key, 0, (size_t)slash);
}

static struct rbac_row pack_row(struct pack *k, const struct source *from)
{
    str key = pack_str(k, from->key), namespace_;

    if (!k->p)
        return (struct rbac_row){ .bytes = 0 };
    namespace_ = namespace_of(from, key);
    return (struct rbac_row){ .refs = 1,
                              .hidden = !from->obj,
                              .rev = from->rev,
                              .key = key,
                              .namespace_ = namespace_,
                              .name = str_from(key, namespace_.n + from->namespaced) };
}

static void pack_role(struct pack *k, const struct source *from)
{
    const struct json *list = json_get(from->obj, STR("rules"));
    struct rbac_role *role = pack_take(k, 1, sizeof(*role));
    struct rbac_row row = pack_row(k, from);
    struct rbac_rule *rules = pack_take(k, json_len(list), sizeof(*rules));
    size_t n = 0;

    json_for_each (item, list) {
        struct rbac_rule rule = pack_rule(k, item);

        if (rules)
            rules[n] = rule;
        n++;
    }
    if (role)
        *role = (struct rbac_role){ .row = row, .rules = rules, .nrules = n };
}

static str pack_join(struct pack *k, str a, str b, char between, str c)
{
    char *p = pack_take(k, a.n + b.n + 1 + c.n, 1);

    if (p) {
        if (a.n)
            memcpy(p, a.p, a.n);
        if (b.n)
            memcpy(p + a.n, b.p, b.n);
        p[a.n + b.n] = between;
        if (c.n)
            memcpy(p + a.n + b.n + 1, c.p, c.n);
    }
    return (str){ p, a.n + b.n + 1 + c.n };
}

/* Compiles a subject; one of an unknown kind, or a service account without a namespace, matches no
 * one.  k8s: registry/rbac/validation/rule.go appliesToUser, describeSubject */
static struct rbac_subject pack_subject(struct pack *k, const struct json *subject, str namespace_)
{
    str kind = json_get_str(subject, "kind"), name = json_get_str(subject, "name");
    str home = json_get_str(subject, "namespace");
    struct rbac_subject out = { .group = str_is(kind, "Group"), .kind = pack_str(k, kind) };

    if (home.n == 0)
        home = namespace_;
    if (str_is(kind, "User") || str_is(kind, "Group")) {
        out.who = out.shown = pack_str(k, name);
    } else if (str_is(kind, "ServiceAccount") && home.n) {
        out.who = pack_join(k, STR("system:serviceaccount:"), home, ':', name);
        out.shown = pack_join(k, STR_NONE, name, '/', home);
    }
    if (k->p)
        out.hash = rbac_hash(out.who);
    return out;
}

static void pack_binding(struct pack *k, const struct source *from)
{
    const struct json *list = json_get(from->obj, STR("subjects"));
    struct rbac_binding *b = pack_take(k, 1, sizeof(*b));
    struct rbac_row row = pack_row(k, from);
    struct rbac_subject *subjects = pack_take(k, json_len(list), sizeof(*subjects));
    str role = pack_str(k, json_get_str(from->obj, "roleRef.name"));
    size_t n = 0;

    json_for_each (item, list) {
        struct rbac_subject s = pack_subject(k, item, namespace_of(from, from->key));

        if (subjects)
            subjects[n] = s;
        n++;
    }
    if (b)
        *b = (struct rbac_binding){ .row = row,
                                    .to_cluster_role = str_is(
                                        json_get_str(from->obj, "roleRef.kind"), "ClusterRole"),
                                    .role = role,
                                    .subjects = subjects,
                                    .nsubjects = n };
}

static struct rbac_row *block_of(const struct source *from,
                                 void (*fill)(struct pack *k, const struct source *from))
{
    struct pack k = { NULL, 0 };
    struct rbac_row *row;

    fill(&k, from);
    row = mem_alloc(k.n);
    k = (struct pack){ (char *)row, 0 };
    fill(&k, from);
    row->bytes = k.n;
    return row;
}

struct rbac_row *rbac_role_new(str key, bool namespaced, uint64_t rev, const struct json *obj)
{
    return block_of(&(struct source){ key, namespaced, rev, obj }, pack_role);
}

struct rbac_row *rbac_binding_new(str key, bool namespaced, uint64_t rev, const struct json *obj)
{
    return block_of(&(struct source){ key, namespaced, rev, obj }, pack_binding);
}

struct rbac_row *rbac_row_ref(struct rbac_row *r)
{
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void rbac_row_unref(struct rbac_row *r)
{
    if (r && atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) == 1)
        free(r);
}

/* ---- asking ---- */

static str join(struct arena *a, str first, str second)
{
    char *p = arena_alloc_raw(a, first.n + second.n + 1);

    if (first.n)
        memcpy(p, first.p, first.n);
    p[first.n] = '/';
    if (second.n)
        memcpy(p + first.n + 1, second.p, second.n);
    return (str){ p, first.n + second.n + 1 };
}

struct rbac_query rbac_query_of(struct arena *a, const struct access *x)
{
    struct rbac_query q = { .is_resource = x->is_resource, .verb = name_of(x->verb) };

    if (!x->is_resource) {
        q.path = x->path;
        return q;
    }
    q.group = name_of(x->group);
    q.name = x->name;
    if (x->subresource.n) {
        q.resource = name_of(join(a, x->resource, x->subresource));
        q.any = name_of(join(a, STR("*"), x->subresource));
    } else {
        q.resource = name_of(x->resource);
    }
    return q;
}

static bool has(const struct rbac_names *list, const struct rbac_name *name)
{
    if (list->all)
        return true;
    if (!(list->mask & bit_of(name->hash)))
        return false;
    for (size_t i = 0; i < list->n; i++)
        if (list->at[i].hash == name->hash && str_eq(list->at[i].s, name->s))
            return true;
    return false;
}

static bool has_name(const struct rbac_names *list, str name)
{
    if (list->n == 0)
        return true;
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->at[i].s, name))
            return true;
    return false;
}

bool rbac_url_matches(str pattern, str path)
{
    if (str_eq(pattern, path))
        return true;
    if (!str_ends(pattern, STR("*")))
        return false;
    while (str_ends(pattern, STR("*")))
        pattern.n--;
    return str_starts(path, pattern);
}

static bool has_url(const struct rbac_names *list, str path)
{
    for (size_t i = 0; i < list->n; i++)
        if (rbac_url_matches(list->at[i].s, path))
            return true;
    return false;
}

/* k8s: plugin/pkg/auth/authorizer/rbac/rbac.go RuleAllows */
static bool rule_allows(const struct rbac_rule *r, const struct rbac_query *q)
{
    if (!has(&r->verbs, &q->verb))
        return false;
    if (!q->is_resource)
        return has_url(&r->urls, q->path);
    if (!has(&r->groups, &q->group))
        return false;
    if (!has(&r->resources, &q->resource) && !(q->any.s.n && has(&r->resources, &q->any)))
        return false;
    return has_name(&r->names, q->name);
}

bool rbac_role_allows(const struct rbac_role *role, const struct rbac_query *q)
{
    for (size_t i = 0; i < role->nrules; i++)
        if (rule_allows(&role->rules[i], q))
            return true;
    return false;
}

static void add_names(struct arena *a, struct json_object *o, str member,
                      const struct rbac_names *list)
{
    struct json_array out = json_array_new(a);

    if (list->n == 0)
        return;
    for (size_t i = 0; i < list->n; i++)
        json_push(&out, json_of_str(str_dup(a, list->at[i].s)));
    json_add(o, member, json_array_value(&out));
}

struct json rbac_rule_json(struct arena *a, const struct rbac_rule *r)
{
    struct json_object o = json_object_new(a);

    add_names(a, &o, STR("verbs"), &r->verbs);
    add_names(a, &o, STR("apiGroups"), &r->groups);
    add_names(a, &o, STR("resources"), &r->resources);
    add_names(a, &o, STR("resourceNames"), &r->names);
    add_names(a, &o, STR("nonResourceURLs"), &r->urls);
    return json_object_value(&o);
}
