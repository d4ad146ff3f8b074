/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/own/karmada.h"

/*
 * What the CRDs of Karmada, and those of kcp, ask of their fields.  The tables say what is required
 * and which words there are; numbers and lengths are here.  Types of Kubernetes inside of them are
 * not looked at: their own rules are not the CRD's.
 */

enum limit { MIN_ITEMS, MINIMUM, MAXIMUM, MAX_LENGTH };

static const struct {
    const char *type, *field;
    enum limit limit;
    int64_t n;
} limits[] = {
    { "PropagationSpec", "resourceSelectors", MIN_ITEMS, 1 },
    { "ClusterAffinityTerm", "affinityName", MAX_LENGTH, 32 },
    { "OverflowClusterAffinity", "affinityName", MAX_LENGTH, 32 },
    { "StaticClusterWeight", "weight", MINIMUM, 1 },
    { "ClusterTaintPolicySpec", "taints", MIN_ITEMS, 1 },
    { "WorkloadRebalancerSpec", "workloads", MIN_ITEMS, 1 },
    { "Component", "name", MAX_LENGTH, 32 },
    { "GracefulEvictionTask", "reason", MAX_LENGTH, 32 },
    { "GracefulEvictionTask", "message", MAX_LENGTH, 1024 },
    { "CronFederatedHPARule", "name", MAX_LENGTH, 32 },
    { "CronFederatedHPARule", "successfulHistoryLimit", MINIMUM, 1 },
    { "CronFederatedHPARule", "successfulHistoryLimit", MAXIMUM, 32 },
    { "CronFederatedHPARule", "failedHistoryLimit", MINIMUM, 0 },
    { "CronFederatedHPARule", "failedHistoryLimit", MAXIMUM, 32 },
};

static bool is_ours(const struct schema *s)
{
    return str_starts(s->name, STR("io.karmada.")) || str_starts(s->name, STR("dev.kcp."));
}

static str short_name(const struct schema *s)
{
    size_t at = s->name.n;

    while (at > 0 && s->name.p[at - 1] != '.')
        at--;
    return str_from(s->name, at);
}

/* k8s: kube-openapi/pkg/validation/errors */
static void check_limit(struct status *st, const struct site *s, enum limit limit, int64_t n)
{
    str path = site_path(st->arena, s);
    int64_t v = limit == MIN_ITEMS ? (int64_t)json_len(s->v) : json_int(s->v, n);
    str value = str_printf(st->arena, "%lld", (long long)v);

    if (limit == MAX_LENGTH && (int64_t)json_str(s->v).n > n)
        status_cause(st, CAUSE_TOO_LONG, path, STR_NONE, "may not be more than %lld bytes",
                     (long long)n);
    if (limit == MIN_ITEMS && v < n)
        status_cause(st, CAUSE_INVALID, path, value, "%.*s in body should have at least %lld items",
                     STR_ARG(path), (long long)n);
    if (limit == MINIMUM && v < n)
        status_cause(st, CAUSE_INVALID, path, value,
                     "%.*s in body should be greater than or equal to %lld", STR_ARG(path),
                     (long long)n);
    if (limit == MAXIMUM && v > n)
        status_cause(st, CAUSE_INVALID, path, value,
                     "%.*s in body should be less than or equal to %lld", STR_ARG(path),
                     (long long)n);
}

static bool is_among(str s, const struct schema_field *f)
{
    for (size_t i = 0; i < f->nenums; i++)
        if (str_eq(s, f->enums[i]))
            return true;
    return f->nenums == 0;
}

static void check_word(struct status *st, const struct site *s, const struct schema_field *f)
{
    str list = STR_NONE;

    if (is_among(json_str(s->v), f))
        return;
    for (size_t i = 0; i < f->nenums; i++)
        list = str_printf(st->arena, "%.*s%s\"%.*s\"", STR_ARG(list), i ? ", " : "",
                          STR_ARG(f->enums[i]));
    site_fault(st, s, CAUSE_NOT_SUPPORTED, "supported values: %.*s", STR_ARG(list));
}

static void check_object(struct status *st, const struct site *s, const struct schema *type);

static void check_field(struct status *st, const struct site *s, const struct schema *owner,
                        const struct schema_field *f)
{
    for (size_t i = 0; i < GROUP_LEN(limits); i++)
        if (str_is(f->name, limits[i].field) && str_is(short_name(owner), limits[i].type))
            check_limit(st, s, limits[i].limit, limits[i].n);
    if (f->type->type == SCHEMA_OBJECT) {
        check_object(st, s, f->type);
    } else if (f->type->type == SCHEMA_LIST) {
        site_each(item, s)
        {
            if (f->type->items->type == SCHEMA_OBJECT)
                check_object(st, &item, f->type->items);
            else
                check_word(st, &item, f);
        }
    } else {
        check_word(st, s, f);
    }
}

static void check_object(struct status *st, const struct site *s, const struct schema *type)
{
    if (!is_ours(type))
        return;
    for (size_t i = 0; i < type->nfields; i++) {
        const struct schema_field *f = &type->fields[i];
        struct site in = { .up = s, .kind = SITE_MEMBER, .v = json_get(s->v, f->name) };

        if (!in.v && (!f->required || f->presence == SCHEMA_ALWAYS))
            continue;
        in.name = str_z(st->arena, f->name);
        if (in.v)
            check_field(st, &in, type, f);
        else
            site_missing(st, &in, "");
    }
}

void karmada_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj);

    check_object(st, &root, c->kind->schema);
}
