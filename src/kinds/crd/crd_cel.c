/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Rules in CEL, when a CRD is written: whether they compile, and what they may cost.
 *
 * k8s: apiextensions-apiserver/pkg/apis/apiextensions/validation/validation.go, cel_validation.go
 */

#include "kinds/crd/crd.h"

#include "base/banned.h"
#include "kinds/frame/group.h"
#include "object/crdschema/cel_estimate.h"
#include "object/crdschema/cel_rules.h"
#include "object/crdschema/structural.h"

enum {
    RULE_ESTIMATE_MAX = 10000000,
    CRD_ESTIMATE_MAX = 100000000,
    DEAREST = 4,
};

struct dear {
    str path;
    uint64_t cost;
};

struct estimate {
    struct status *st;
    const struct map64 *faulty; /* nodes that have faults, or nodes in them */
    uint64_t total;
    struct dear dearest[DEAREST]; /* from the dearest down */
    size_t n;
};

/* Where a node stands: how often at most (0: no limit), and what has no old values above it. */
struct place {
    const struct crd_at *at;
    uint64_t cardinality;
    bool unlimited;
    const struct crd_at *uncorrelated; /* or NULL */
};

static void over_budget(struct status *st, const struct crd_at *at, const char *what, uint64_t cost,
                        uint64_t limit)
{
    double factor = (double)cost / (double)limit;
    const char *by = factor > 100   ? "more than 100x"
                     : factor < 1.5 ? arena_printf(st->arena, "%fx", factor)
                                    : arena_printf(st->arena, "%.1fx", factor);

    crd_fault(st, CAUSE_FORBIDDEN, at, NULL,
              "%s exceeds budget by factor of %s (try simplifying the rule, or adding maxItems, "
              "maxProperties, and maxLength where arrays, maps, and strings are declared)",
              what, by);
}

static void observe(struct estimate *e, const struct crd_at *at, uint64_t cost)
{
    size_t i;

    if (__builtin_add_overflow(e->total, cost, &e->total))
        e->total = UINT64_MAX;
    if (cost < CRD_ESTIMATE_MAX / 100)
        return;
    if (e->n < DEAREST)
        e->n++;
    else if (e->dearest[DEAREST - 1].cost >= cost)
        return;
    for (i = e->n - 1; i > 0 && e->dearest[i - 1].cost < cost; i--)
        e->dearest[i] = e->dearest[i - 1];
    e->dearest[i] = (struct dear){ crd_path(e->st->arena, at), cost };
}

static void check_cost(struct estimate *e, const struct crd_at *at, const char *what, uint64_t cost)
{
    if (cost > RULE_ESTIMATE_MAX)
        over_budget(e->st, at, what, cost, RULE_ESTIMATE_MAX);
    observe(e, at, cost);
}

static uint64_t times(uint64_t cost, uint64_t cardinality)
{
    uint64_t out;

    return __builtin_mul_overflow(cost, cardinality, &out) ? UINT64_MAX : out;
}

static void check_old(struct status *st, const struct crd_at *at, const struct place *p,
                      const struct cel_rule *r, const struct json *given)
{
    const struct json *optional = crd_get(given, "optionalOldSelf");

    if (r->uses_old && p->uncorrelated)
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "rule"), crd_get(given, "rule"),
                  "oldSelf cannot be used on the uncorrelatable portion of the schema within %.*s",
                  STR_ARG(crd_path(st->arena, p->uncorrelated)));
    if (!r->uses_old && optional)
        crd_fault(st, CAUSE_INVALID, CRD_AT(at, "optionalOldSelf"), optional,
                  "may not be set if oldSelf is not used in rule");
}

static void check_rule(struct estimate *e, const struct place *p, const struct crd_at *at,
                       const struct schema *s, const struct cel_rule *r, const struct json *given)
{
    uint64_t often = p->unlimited ? cel_cardinality(s) : p->cardinality;

    if (r->program)
        check_cost(e, CRD_AT(at, "rule"), "estimated rule cost",
                   times(cel_estimate(r->program), often));
    if (r->error.n)
        crd_fault(e->st, CAUSE_INVALID, CRD_AT(at, "rule"), crd_get(given, "rule"), "%.*s",
                  STR_ARG(r->error));
    if (r->message_error.n)
        crd_fault(e->st, CAUSE_INVALID, CRD_AT(at, "messageExpression"),
                  crd_get(given, "messageExpression"), "%.*s", STR_ARG(r->message_error));
    if (r->message_program)
        check_cost(e, CRD_AT(at, "messageExpression"), "estimated messageExpression cost",
                   cel_estimate(r->message_program));
    check_old(e->st, at, p, r, given);
}

static void check_rules(struct estimate *e, const struct place *p, const struct schema *s)
{
    const struct json *given = crd_get(s->rules->source, "x-kubernetes-validations");

    if (s->rules->cel && s->rules->cel->untyped) {
        status_cause(e->st, CAUSE_INTERNAL,
                     crd_path(e->st->arena, CRD_AT(p->at, "x-kubernetes-validations")), STR_NONE,
                     "internal error: failed to construct type information for "
                     "x-kubernetes-validations rules: %.*s",
                     STR_ARG(s->rules->cel->all[0].error));
        return;
    }
    for (size_t i = 0; s->rules->cel && i < s->rules->cel->n; i++) {
        const struct crd_at *at = CRD_AT_ITEM(p->at, "x-kubernetes-validations", i);
        const struct cel_rule *r = &s->rules->cel->all[i];

        check_rule(e, p, at, s, r, json_at(given, i));
    }
}

/* A place below, where there are at most `max` of each one here; -1: any number. */
static struct place child(const struct place *p, const struct crd_at *at, int64_t max, bool related)
{
    struct place out = *p;

    out.at = at;
    if (max < 0)
        out.unlimited = true;
    else
        out.cardinality = times(p->cardinality, (uint64_t)max);
    if (!related && !p->uncorrelated)
        out.uncorrelated = p->at;
    return out;
}

static void check(struct estimate *e, const struct place *p, const struct schema *s)
{
    const struct schema_rules *r = s->rules;
    const struct schema_limits *l = r ? r->limits : NULL;

    if (!r || !r->below_cel)
        return;
    if (r->items) {
        struct place at = child(p, CRD_AT(p->at, "items"), l ? l->max_items : -1,
                                s->list_type == SCHEMA_LIST_MAP);

        check(e, &at, r->items);
    }
    if (r->additional) {
        struct place at =
            child(p, CRD_AT(p->at, "additionalProperties"), l ? l->max_properties : -1, true);

        check(e, &at, r->additional);
    }
    for (size_t i = 0; i < s->nfields; i++) {
        struct place at = child(p, CRD_AT_MEMBER(p->at, "properties", s->fields[i].name), 1, true);

        check(e, &at, s->fields[i].type);
    }
    if (!map64_get(e->faulty, (uintptr_t)r->source))
        check_rules(e, p, s);
}

void crd_check_rules(struct status *st, const struct crd_at *at, const struct schema *s,
                     const struct map64 *faulty)
{
    struct place root = { .at = at, .cardinality = 1 };
    struct estimate e = { .st = st, .faulty = faulty };

    check(&e, &root, s);
    if (e.total <= CRD_ESTIMATE_MAX)
        return;
    for (size_t i = 0; i < e.n; i++)
        status_cause(st, CAUSE_FORBIDDEN, e.dearest[i].path, STR_NONE,
                     "contributed to estimated rule cost total exceeding cost limit for entire "
                     "OpenAPIv3 schema");
    over_budget(st, at,
                "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                e.total, CRD_ESTIMATE_MAX);
}
