/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/workload.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "object/meta/selector.h"

const struct scale workload_scale = {
    .replicas = STR_INIT("spec.replicas"),
    .status_replicas = STR_INIT("status.replicas"),
    .selector = STR_INIT("spec.selector"),
};

const struct json *workload_prepare_create(const struct kind_context *c, const struct json *obj)
{
    return check_reset(c, obj, "status");
}

const struct json *workload_prepare_update(const struct kind_context *c, const struct json *obj,
                                           const struct json *old)
{
    if (str_is(c->subresource, "status"))
        return check_keep(c->arena, obj, old, "spec");
    return check_keep(c->arena, obj, old, "status");
}

void workload_check_pods(struct status *st, const struct site *spec)
{
    if (!workload_check_selector(st, spec, "deployment"))
        return;
    workload_check_template(st, spec);
    workload_check_endless(st, spec, "ReplicaSet");
}

void workload_check_counts(struct status *st, const struct site *at, const char *const *names)
{
    for (; *names; names++) {
        struct site n = site_in(at, *names);

        site_not_negative(st, &n);
    }
}

void workload_check_labels(struct status *st, const struct site *spec, const struct json *selector)
{
    struct site template = site_in(spec, "template"), meta = site_in(&template, "metadata");
    struct site labels = site_in(&meta, "labels");

    if (!site_selector_matches(selector, labels.v))
        site_invalid(st, &labels, "`selector` does not match template `labels`");
}

bool workload_check_selector(struct status *st, const struct site *spec, const char *what)
{
    struct site selector = site_in(spec, "selector");

    if (!selector.v) {
        if (!str_is(str_of(what), "daemonset")) /* k8s: it has no labels, and that is told */
            site_missing(st, &selector, "");
    } else {
        size_t faults = st->ncauses;

        site_selector(st, &selector);
        if (st->ncauses > faults) {
            if (!str_is(str_of(what), "daemonset"))
                site_invalid(st, &selector,
                             str_is(str_of(what), "statefulset") ? "" : "invalid label selector");
            return false;
        }
        if (site_selector_empty(selector.v))
            site_fault(st, &selector, CAUSE_INVALID, "empty selector is invalid for %s", what);
    }
    workload_check_labels(st, spec, selector.v);
    return true;
}

void workload_check_template(struct status *st, const struct site *spec)
{
    struct site template = site_in(spec, "template");

    podspec_check_template(st, &template);
}

void workload_check_endless(struct status *st, const struct site *spec, const char *what)
{
    static const char *const always[] = { "Always", NULL };
    struct site template = site_in(spec, "template"), pods = site_in(&template, "spec");
    struct site restart = site_in(&pods, "restartPolicy");
    struct site deadline = site_in(&pods, "activeDeadlineSeconds");

    site_enum(st, &restart, always);
    if (deadline.v)
        site_fault(st, &deadline, CAUSE_FORBIDDEN, "activeDeadlineSeconds in %s is not Supported",
                   what);
}

/* ---- numbers and percentages ---- */

/* The number of a percentage or a plain one; *percent says which. */
static int64_t number_of(const struct json *v, bool *percent)
{
    str s = json_str(v);
    uint64_t n = 0;

    int64_t plain;

    *percent = str_ends(s, STR("%")) && str_to_u64(str_sub(s, 0, s.n - 1), &n) && n <= INT32_MAX;
    if (!*percent && str_to_i64(s, &plain)) /* k8s: IntValue: a number in a text is one, too */
        return plain;
    return *percent ? (int64_t)n : json_int(v, 0);
}

void workload_check_part(struct status *st, const struct site *s)
{
    bool percent;

    (void)number_of(s->v, &percent);
    if (json_is(s->v, JSON_STRING) && !percent)
        site_invalid(st, s,
                     "a valid percent string must be a numeric string followed by an ending '%' "
                     "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')");
    else
        site_not_negative(st, s);
}

void workload_check_at_most_all(struct status *st, const struct site *s)
{
    bool percent;

    if (number_of(s->v, &percent) > 100 && percent)
        site_invalid(st, s, "must not be greater than 100%");
}

bool workload_is_zero(const struct site *s)
{
    bool percent;

    return number_of(s->v, &percent) == 0;
}

const struct json *workload_put_missing(struct arena *a, const struct json *obj, const char *path,
                                        struct json v)
{
    return json_path(obj, path) ? obj : json_set(a, obj, path, json_box(a, v));
}

const char *const workload_spec_counts[] = { "replicas", "minReadySeconds", "revisionHistoryLimit",
                                             "progressDeadlineSeconds", NULL };

void workload_check_available(struct status *st, const struct site *root, const char *first)
{
    static const char *const by_template[] = {
        "observedGeneration",  "replicas",          "updatedReplicas",
        "readyReplicas",       "availableReplicas", "unavailableReplicas",
        "terminatingReplicas", "collisionCount",    NULL
    };
    static const char *const by_labels[] = { "replicas",
                                             "fullyLabeledReplicas",
                                             "readyReplicas",
                                             "availableReplicas",
                                             "observedGeneration",
                                             "terminatingReplicas",
                                             NULL };
    const char *const parts[] = { first, "readyReplicas", "availableReplicas" };
    struct site status = site_in(root, "status"), available = site_in(&status, "availableReplicas");
    int64_t all = json_int(json_get(status.v, STR("replicas")), 0);
    struct json zero = json_of_int(0);

    workload_check_counts(st, &status,
                          str_is(str_of(first), "updatedReplicas") ? by_template : by_labels);
    for (size_t i = 0; i < GROUP_LEN(parts); i++) {
        struct site part = site_in(&status, parts[i]);

        part.v = part.v ? part.v : &zero;
        if (json_int(part.v, 0) > all)
            site_invalid(st, &part, "cannot be greater than status.replicas");
    }
    available.v = available.v ? available.v : &zero;
    if (json_int(available.v, 0) > json_int(json_get(status.v, STR("readyReplicas")), 0))
        site_invalid(st, &available, "cannot be greater than readyReplicas");
}

/* k8s: IsDecremented: none is less than any */
void workload_check_collisions(struct status *st, const struct site *root, const struct json *old)
{
    struct site status = site_in(root, "status"), count = site_in(&status, "collisionCount");
    const struct json *had = json_path(old, "status.collisionCount");
    struct json zero = json_of_int(0);

    if (!had || (count.v && json_int(count.v, 0) >= json_int(had, 0)))
        return;
    count.v = count.v ? count.v : &zero;
    site_invalid(st, &count, "cannot be decremented");
}

void workload_selector_stays(const struct kind_context *c, const struct json *obj,
                             const struct json *old, struct status *st)
{
    struct site root = site_root(obj);

    if (str_is(c->subresource, "status"))
        workload_check_collisions(st, &root, old);
    else
        check_immutable(st, "spec.selector", obj, old);
}

const struct json *workload_defaults(const struct kind_context *c, const struct json *obj)
{
    return podspec_default_template(c->arena, obj, "spec.template.spec");
}

/* ---- cells ---- */

void cell_int(struct json_array *cells, const struct json *obj, const char *path)
{
    json_push(cells, json_of_int(json_int(json_path(obj, path), 0)));
}

void cell_text(struct json_array *cells, str text)
{
    json_push(cells, json_of_str(text));
}

str cell_labels(struct arena *a, const struct json *labels)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each_member (m, labels)
        buf_printf(&b, "%s%.*s=%.*s", b.n ? "," : "", STR_ARG(m->name),
                   STR_ARG(json_str(&m->value)));
    return b.n ? str_dup(a, buf_str(&b)) : STR("<none>");
}

void cell_selector(struct json_array *cells, const struct json *selector)
{
    str text = selector_print(cells->arena, selector);

    cell_text(cells, text.n ? text : STR("<none>"));
}
