/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/resources.h"
#include "kinds/k8s/groups.h"
#include "object/meta/quantity.h"

/* k8s: pkg/apis/core/v1/defaults.go SetDefaults_LimitRangeItem, validation.go ValidateLimitRange */

static const struct json *default_item(struct arena *a, const struct json *item)
{
    const struct json *limit = json_get(item, STR("default"));
    const struct json *request = json_get(item, STR("defaultRequest"));

    if (!str_is(json_get_str(item, "type"), "Container"))
        return item;
    limit = check_union(a, limit, json_get(item, STR("max")));
    request = check_union(a, check_union(a, request, limit), json_get(item, STR("min")));
    return json_set(a, json_set(a, item, "default", limit), "defaultRequest", request);
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    const struct json *limits = json_path(obj, "spec.limits");
    struct json_array out = json_array_new(c->arena);

    if (json_len(limits) == 0)
        return obj;
    json_for_each (item, limits) {
        json_push(&out, *default_item(c->arena, item));
    }
    return json_set(c->arena, obj, "spec.limits", json_array_done(&out));
}

enum bound { MIN, MAX, DEFAULT, REQUEST, RATIO, NBOUNDS };
static const char *const bounds[NBOUNDS] = { "min", "max", "default", "defaultRequest",
                                             "maxLimitRequestRatio" };

/* One resource of one item: what is said of it. */
struct limit {
    struct limit *next;
    struct status *st;
    str path, name; /* "spec.limits[0]", "cpu" */
    bool there[NBOUNDS];
    struct quantity q[NBOUNDS];
    str text[NBOUNDS];
};

/* The first may not be above the second; the fault is at `field` and shows the value of `shown`. */
static const struct {
    enum bound low, high, field, shown;
    const char *low_name, *high_name;
} orders[] = {
    { MIN, MAX, MIN, MIN, "min value", "max value" },
    { MIN, REQUEST, REQUEST, REQUEST, "min value", "default request value" },
    { REQUEST, MAX, REQUEST, REQUEST, "default request value", "max value" },
    { REQUEST, DEFAULT, REQUEST, REQUEST, "default request value", "default limit value" },
    { MIN, DEFAULT, DEFAULT, MIN, "min value", "default value" },
    { DEFAULT, MAX, DEFAULT, MAX, "default value", "max value" },
};

static str limit_field(const struct limit *l, enum bound b)
{
    return str_printf(l->st->arena, "%.*s.%s[%.*s]", STR_ARG(l->path), bounds[b], STR_ARG(l->name));
}

static void check_ratio(const struct limit *l)
{
    const struct quantity *q = l->q;
    const __int128 one = 1000000000;
    str shown = check_quote(l->st->arena, l->text[RATIO]);

    if (l->there[RATIO] && q[RATIO].nanos < one)
        status_cause(l->st, CAUSE_INVALID, limit_field(l, RATIO), shown,
                     "ratio %.*s is less than 1", STR_ARG(l->text[RATIO]));
    if (!l->there[RATIO] || !l->there[MIN] || !l->there[MAX])
        return;
    double limit = (double)q[MAX].nanos / (double)q[MIN].nanos;

    if ((double)q[RATIO].nanos / (double)one > limit)
        status_cause(l->st, CAUSE_INVALID, limit_field(l, RATIO), shown,
                     "ratio %.*s is greater than max/min = %f", STR_ARG(l->text[RATIO]), limit);
}

static void check_limit(const struct limit *l)
{
    for (size_t i = 0; i < GROUP_LEN(orders); i++) {
        enum bound low = orders[i].low, high = orders[i].high;

        if (!l->there[low] || !l->there[high] || quantity_cmp(&l->q[low], &l->q[high]) <= 0)
            continue;
        status_cause(l->st, CAUSE_INVALID, limit_field(l, orders[i].field),
                     check_quote(l->st->arena, l->text[orders[i].shown]),
                     "%s %.*s is greater than %s %.*s", orders[i].low_name, STR_ARG(l->text[low]),
                     orders[i].high_name, STR_ARG(l->text[high]));
    }
    check_ratio(l);
    if (l->there[DEFAULT] && l->there[REQUEST] && !resource_overcommits(l->name) &&
        quantity_cmp(&l->q[DEFAULT], &l->q[REQUEST]) != 0)
        status_cause(l->st, CAUSE_INVALID, limit_field(l, REQUEST),
                     check_quote(l->st->arena, l->text[REQUEST]),
                     "default value %.*s must equal to defaultRequest value %.*s in %.*s",
                     STR_ARG(l->text[DEFAULT]), STR_ARG(l->text[REQUEST]), STR_ARG(l->name));
}

static void check_type(struct status *st, str path, str type)
{
    static const char *const types[] = { "Pod", "Container", "PersistentVolumeClaim" };
    str field = str_printf(st->arena, "%.*s.type", STR_ARG(path));

    if (qualified_name_check(st, field, type) || str_find(type, '/', 0) >= 0)
        return;
    for (size_t i = 0; i < GROUP_LEN(types); i++)
        if (str_is(type, types[i]))
            return;
    status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, type),
                 "must be a standard limit type or fully qualified");
}

/* The resources of one item, in the order of their first mention. */
struct limits {
    struct map by_name;
    struct limit *first, **tail;
};

static struct limit *limit_of(struct limits *all, struct status *st, str path, str name)
{
    struct limit *l = map_get(&all->by_name, name);

    if (l)
        return l;
    l = arena_new_of(st->arena, struct limit);
    *l = (struct limit){ .st = st, .path = path, .name = name };
    (void)map_put(&all->by_name, name, l);
    *all->tail = l;
    all->tail = &l->next;
    return l;
}

/* Notes what one bound says of its resources, and checks their names. */
static void read_bound(struct status *st, str path, enum resource_use use, enum bound b,
                       const struct json *map, struct limits *all)
{
    json_for_each_member (m, map) {
        struct limit *l = limit_of(all, st, path, m->name);

        l->text[b] = json_str(&m->value);
        l->there[b] = quantity_parse(l->text[b], &l->q[b]);
        resource_check_name(st, use, limit_field(l, b), m->name);
    }
}

static void check_item(struct status *st, str path, const struct json *item)
{
    str type = json_get_str(item, "type");
    bool pod = str_is(type, "Pod");
    enum resource_use use = pod || str_is(type, "Container") ? RESOURCE_CONTAINER : RESOURCE_ANY;
    struct limits all = { .tail = &all.first };

    check_type(st, path, type);
    for (enum bound b = 0; b < NBOUNDS; b++) {
        const struct json *map = json_get(item, str_of(bounds[b]));

        if (pod && (b == DEFAULT || b == REQUEST) && json_len(map))
            status_cause(st, CAUSE_FORBIDDEN,
                         str_printf(st->arena, "%.*s.%s", STR_ARG(path), bounds[b]), STR_NONE,
                         "may not be specified when `type` is 'Pod'");
        else
            read_bound(st, path, use, b, map, &all);
    }
    for (const struct limit *l = all.first; l; l = l->next)
        check_limit(l);
    map_release(&all.by_name);
    if (str_is(type, "PersistentVolumeClaim") && !json_path(item, "min.storage") &&
        !json_path(item, "max.storage"))
        status_cause(st, CAUSE_REQUIRED, str_printf(st->arena, "%.*s.limits", STR_ARG(path)),
                     STR_NONE,
                     "either minimum or maximum storage value is required, but neither was "
                     "provided");
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct map types = { 0 };
    size_t i = 0;

    json_for_each (item, json_path(obj, "spec.limits")) {
        str path = str_printf(c->arena, "spec.limits[%zu]", i++);
        str type = json_get_str(item, "type");

        check_item(st, path, item);
        if (map_put(&types, type, (void *)(uintptr_t)item))
            status_cause(st, CAUSE_DUPLICATE, str_printf(c->arena, "%.*s.type", STR_ARG(path)),
                         check_quote(c->arena, type), "%s", "");
    }
    map_release(&types);
}

/* No cells: it is shown with name and time of creation. */
const struct kind_ops limitrange_ops = {
    .defaults = defaults,
    .validate = validate,
};
