/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

/* k8s: pkg/registry/core/namespace: a namespace goes in two steps.  A delete makes it Terminating;
 * it is removed when who is named in spec.finalizers has cleaned up and left that list. */

#define NAME_LABEL_KEY "kubernetes.io/metadata.name"

static const struct json *with_phase(struct arena *a, const struct json *obj, str phase)
{
    return json_set(a, obj, "status.phase", json_box(a, json_of_str(phase)));
}

/* Selectors of policies rely on this label, so nobody can take it off. */
static const struct json *with_label(const struct kind_context *c, const struct json *obj)
{
    const struct json *labels = json_path(obj, "metadata.labels");
    str name = json_get_str(obj, "metadata.name");
    struct json_object o;

    if (name.n == 0)
        name = c->name; /* a generated one */
    if (name.n == 0 || str_eq(json_str(json_get(labels, STR(NAME_LABEL_KEY))), name))
        return obj;
    o = json_object_from(c->arena, labels ? labels : &json_empty_object);
    json_put(&o, STR(NAME_LABEL_KEY), json_of_str(name));
    return json_set(c->arena, obj, "metadata.labels", json_object_done(&o));
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    obj = with_label(c, obj);
    return json_get_str(obj, "status.phase").n ? obj : with_phase(c->arena, obj, STR("Active"));
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    const struct json *given = json_path(obj, "spec.finalizers");
    struct json_array finalizers = json_array_new(c->arena);
    bool there = false;

    json_for_each (f, given) {
        there = there || str_is(json_str(f), "kubernetes");
        json_push(&finalizers, *f);
    }
    if (!there)
        json_push(&finalizers, json_of_str(STR("kubernetes")));
    obj = json_set(c->arena, with_label(c, obj), "spec.finalizers", json_array_done(&finalizers));
    return with_phase(c->arena, json_set(c->arena, obj, "status", NULL), STR("Active"));
}

/* What each endpoint may not change. */
static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (!str_is(c->subresource, "finalize"))
        obj = check_keep(c->arena, obj, old, "spec");
    if (!str_is(c->subresource, "status"))
        obj = check_keep(c->arena, obj, old, "status");
    return obj;
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    size_t i = 0;

    json_for_each (f, json_path(obj, "spec.finalizers")) {
        /* k8s names the place in the list only on /finalize. */
        str field = c->subresource.n ? str_printf(c->arena, "spec.finalizers[%zu]", i)
                                     : STR("spec.finalizers");

        check_finalizer(st, field, json_str(f));
        i++;
    }
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    bool deleting = json_get_str(old, "metadata.deletionTimestamp").n > 0;
    const char *want = deleting ? "Terminating" : "Active";
    str phase = json_get_str(obj, "status.phase");

    if (str_is(c->subresource, "status") && !str_is(phase, want))
        status_cause(st, CAUSE_INVALID, STR("status.Phase"), check_quote(c->arena, phase),
                     "may only be '%s' if `deletionTimestamp` is %sempty", want,
                     deleting ? "not " : "");
}

/* k8s: the admission plugin NamespaceLifecycle */
static int check_delete(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const kept[] = { "default", "kube-system", "kube-public" };

    (void)obj;
    for (size_t i = 0; i < GROUP_LEN(kept); i++)
        if (str_is(c->name, kept[i]))
            return status_forbidden(st, STR(""), STR("namespaces"), c->name,
                                    "this namespace may not be deleted");
    return 0;
}

static bool may_vanish(const struct json *obj)
{
    return json_len(json_path(obj, "spec.finalizers")) == 0;
}

static const struct json *begin_delete(const struct kind_context *c, const struct json *obj)
{
    bool deleting = json_get_str(obj, "metadata.deletionTimestamp").n > 0;
    char now[TIME_TEXT_SIZE];

    if (deleting && may_vanish(obj))
        return NULL;
    if (!deleting) {
        (void)time_format_seconds(now, c->now_s);
        obj = json_set(c->arena, obj, "metadata.deletionTimestamp",
                       json_box(c->arena, json_of_str(str_dup(c->arena, str_of(now)))));
    }
    return with_phase(c->arena, obj, STR("Terminating"));
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "status.phase");
    cell_age(cells, obj, now_s);
}

const struct kind_ops namespace_ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .check_delete = check_delete,
    .begin_delete = begin_delete,
    .may_vanish = may_vanish,
    .cells = cells,
};
