/* SPDX-License-Identifier: Apache-2.0 */

/* Which clusters a clusterAffinity means, and which taints a placement tolerates. */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"
#include "object/meta/selector.h"

static int by_str(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

bool sched_names_have(const struct sched_names *names, str name)
{
    return names->n && bsearch(&name, names->v, names->n, sizeof(name), by_str);
}

struct sched_names sched_names_parse(struct arena *a, const struct json *list)
{
    str *v = arena_array(a, str, json_len(list));
    size_t n = 0;

    json_for_each (name, list)
        if (json_is(name, JSON_STRING))
            v[n++] = json_str(name);
    if (n)
        qsort(v, n, sizeof(*v), by_str);
    return (struct sched_names){ v, n };
}

enum field { FIELD_PROVIDER, FIELD_REGION, FIELD_ZONE, FIELD_UNKNOWN };

struct affinity_term {
    enum field field;
    enum selector_op op;
    struct sched_names values;
};

struct sched_affinity {
    bool never; /* it makes no sense */
    struct selector labels;
    const struct affinity_term *fields;
    size_t nfields;
    struct sched_names names, exclude;
};

static enum field field_of(str key)
{
    static const char *const fields[] = {
        [FIELD_PROVIDER] = "provider", [FIELD_REGION] = "region", [FIELD_ZONE] = "zone"
    };

    for (size_t i = 0; i < FIELD_UNKNOWN; i++)
        if (str_is(key, fields[i]))
            return (enum field)i;
    return FIELD_UNKNOWN;
}

static bool op_of(str word, enum selector_op *out)
{
    static const struct {
        const char *word;
        enum selector_op op;
    } ops[] = { { "In", SELECTOR_IN },
                { "NotIn", SELECTOR_NOT_IN },
                { "Exists", SELECTOR_EXISTS },
                { "DoesNotExist", SELECTOR_NOT_EXISTS } };

    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
        if (str_is(word, ops[i].word)) {
            *out = ops[i].op;
            return true;
        }
    return false;
}

static void parse_fields(struct arena *a, const struct json *list, struct sched_affinity *f)
{
    struct affinity_term *terms = arena_array(a, struct affinity_term, json_len(list));

    json_for_each (term, list) {
        struct affinity_term *t = &terms[f->nfields++];

        t->field = field_of(json_get_str(term, "key"));
        t->values = sched_names_parse(a, json_get(term, STR("values")));
        if (!op_of(json_get_str(term, "operator"), &t->op) || t->field == FIELD_UNKNOWN)
            f->never = true;
    }
    f->fields = terms;
}

const struct sched_affinity *sched_affinity_parse(struct arena *a, const struct json *tree)
{
    struct sched_affinity *f;
    const struct json *labels = json_get(tree, STR("labelSelector"));
    struct status st;

    if (!json_is(tree, JSON_OBJECT))
        return NULL;
    f = arena_new_of(a, struct sched_affinity);
    status_init(&st, a);
    if (json_is(labels, JSON_OBJECT) && selector_of_tree(a, labels, &f->labels, &st) < 0)
        f->never = true;
    parse_fields(a, json_path(tree, "fieldSelector.matchExpressions"), f);
    f->names = sched_names_parse(a, json_get(tree, STR("clusterNames")));
    f->exclude = sched_names_parse(a, json_get(tree, STR("exclude")));
    return f;
}

const struct sched_names *sched_affinity_names(const struct sched_affinity *f)
{
    bool names_only =
        f && !f->never && f->names.n && !f->labels.nterms && !f->nfields && !f->exclude.n;

    return names_only ? &f->names : NULL;
}

/* Zones are a list: In asks for one that both have, NotIn for none. */
static bool term_matches(const struct affinity_term *t, const struct sched_cluster *c)
{
    const str *have = t->field == FIELD_ZONE       ? c->zones
                      : t->field == FIELD_PROVIDER ? &c->provider
                                                   : &c->region;
    size_t n = t->field == FIELD_ZONE ? c->nzones : have->n > 0;
    bool shared = false;

    for (size_t i = 0; i < n; i++)
        shared |= sched_names_have(&t->values, have[i]);
    switch (t->op) {
    case SELECTOR_IN:
        return shared;
    case SELECTOR_NOT_IN:
        return !shared;
    case SELECTOR_EXISTS:
        return n > 0;
    case SELECTOR_NOT_EXISTS:
        return n == 0;
    case SELECTOR_GT:
    case SELECTOR_LT:
        break;
    }
    return false;
}

bool sched_affinity_matches(const struct sched_affinity *f, const struct sched_cluster *c)
{
    if (!f)
        return true;
    if (f->never || sched_names_have(&f->exclude, c->name))
        return false;
    if (f->names.n && !sched_names_have(&f->names, c->name))
        return false;
    if (f->labels.nterms && !selector_matches(&f->labels, c->labels))
        return false;
    for (size_t i = 0; i < f->nfields; i++)
        if (!term_matches(&f->fields[i], c))
            return false;
    return true;
}

static bool tolerates(const struct json *toleration, const struct sched_taint *t)
{
    str effect = json_get_str(toleration, "effect");
    str key = json_get_str(toleration, "key");
    str op = json_get_str(toleration, "operator");

    if (effect.n && !str_eq(effect, t->effect))
        return false;
    if (key.n && !str_eq(key, t->key))
        return false;
    if (str_is(op, "Exists"))
        return true;
    return key.n && (op.n == 0 || str_is(op, "Equal")) &&
           str_eq(json_get_str(toleration, "value"), t->value);
}

const struct sched_taint *sched_untolerated(const struct json *tolerations,
                                            const struct sched_cluster *c)
{
    for (size_t i = 0; i < c->ntaints; i++) {
        bool ok = false;

        json_for_each (toleration, tolerations)
            ok = ok || tolerates(toleration, &c->taints[i]);
        if (!ok)
            return &c->taints[i];
    }
    return NULL;
}

bool sched_matches(struct arena *a, const struct json *affinity, const struct sched_cluster *c)
{
    if (!json_is(affinity, JSON_OBJECT))
        return true;
    return sched_affinity_matches(sched_affinity_parse(a, affinity), c);
}
