/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/pod_update.h"

#include "base/banned.h"
#include "base/map.h"
#include "kinds/frame/check.h"
#include "kinds/frame/site.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/podspec.h"

#define TERMS \
    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"

static const char *const lists[] = { "containers", "initContainers" };

static void *mark(const void *p)
{
    return (void *)(uintptr_t)p;
}

/* ---- annotations ---- */

static void check_note(struct status *st, const struct site *note, const char *armor,
                       const char *mirror)
{
    if (podspec_is_armor(note->key))
        site_forbidden(st, note, armor);
    if (str_is(note->key, PODSPEC_MIRROR))
        site_forbidden(st, note, mirror);
}

/* k8s: ValidatePodSpecificAnnotationUpdates */
void pod_check_annotations(struct status *st, const struct json *obj, const struct json *old)
{
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site notes = site_in(&meta, "annotations");
    const struct json *was = json_path(old, "metadata.annotations");
    struct map now = check_index(notes.v), had = check_index(was);

    json_for_each_member (m, was) {
        struct site note = site_key(&notes, m->name, &m->value);
        const struct json *v = map_get(&now, m->name);

        if (!v || !json_equal(v, &m->value))
            check_note(st, &note, "may not remove or update AppArmor annotations",
                       "may not remove or update mirror pod annotation");
    }
    json_for_each_member (m, notes.v) {
        struct site note = site_key(&notes, m->name, &m->value);

        if (!map_get(&had, m->name))
            check_note(st, &note, "may not add AppArmor annotations",
                       "may not add mirror pod annotation");
    }
    map_release(&now);
    map_release(&had);
    podspec_check_annotations(st, &notes, json_get(obj, STR("spec")));
}

/* ---- what may change ---- */

/* False when the rest is not worth a look. */
static bool check_images(struct status *st, const struct site *spec, const struct json *old)
{
    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        struct site list = site_in(spec, lists[i]);

        if (json_len(list.v) != json_len(json_get(old, str_of(lists[i])))) {
            site_forbidden(st, &list, "pod updates may not add or remove containers");
            return false;
        }
        site_each(container, &list)
        {
            struct site image = site_in(&container, "image");

            if (!site_required(st, &image) &&
                !str_eq(str_trim(json_str(image.v)), json_str(image.v)))
                site_invalid(st, &image, "must not have leading or trailing whitespace");
        }
    }
    return true;
}

static bool check_deadline(struct status *st, const struct site *spec, const struct json *old)
{
    struct site deadline = site_in(spec, "activeDeadlineSeconds");
    const struct json *was = json_get(old, STR("activeDeadlineSeconds"));

    if (!deadline.v && was) {
        deadline.v = &json_null;
        site_invalid(st, &deadline, "must not update from a positive integer to nil value");
        return true;
    }
    if (!site_range(st, &deadline, 0, INT32_MAX))
        return false;
    if (!was || json_int(was, 0) >= json_int(deadline.v, 0))
        return true;
    site_invalid(st, &deadline, "must be less than or equal to previous value");
    return false;
}

/* Of a toleration, what tells it from others. */
static str toleration_key(struct arena *a, const struct json *t)
{
    return str_printf(a, "%.*s\n%.*s\n%.*s\n%.*s", STR_ARG(json_get_str(t, "key")),
                      STR_ARG(json_get_str(t, "operator")), STR_ARG(json_get_str(t, "effect")),
                      STR_ARG(json_get_str(t, "value")));
}

static void check_tolerations(struct arena *a, struct status *st, const struct site *spec,
                              const struct json *old)
{
    struct site tolerations = site_in(spec, "tolerations");
    struct map now = { 0 };
    bool kept = true;

    json_for_each (t, tolerations.v)
        (void)map_put(&now, toleration_key(a, t), mark(t));
    json_for_each (t, json_get(old, STR("tolerations")))
        kept = kept && map_get(&now, toleration_key(a, t));
    map_release(&now);
    if (kept)
        podspec_check_tolerations(st, &tolerations);
    else
        site_forbidden(st, &tolerations,
                       "existing toleration can not be modified except its tolerationSeconds");
}

/* Of one that is there twice the last is told. */
static void check_gates(struct status *st, const struct site *spec, const struct json *old)
{
    struct site gates = site_in(spec, "schedulingGates");
    struct map last = { 0 };

    json_for_each (g, gates.v)
        (void)map_put(&last, json_get_str(g, "name"), mark(g));
    json_for_each (g, json_get(old, STR("schedulingGates")))
        (void)map_remove(&last, json_get_str(g, "name"));
    site_each(g, &gates)
    {
        struct site name = site_in(&g, "name");

        if (map_get(&last, json_str(name.v)) == g.v)
            site_fault(st, &name, CAUSE_FORBIDDEN,
                       "only deletion is allowed, but found new scheduling gate '%.*s'",
                       STR_ARG(json_str(name.v)));
    }
    map_release(&last);
}

/* ---- where a pod that waits may go: less and less ---- */

static void check_node_selector(struct status *st, const struct site *spec, const struct json *old)
{
    struct site selector = site_in(spec, "nodeSelector");
    struct map now = check_index(selector.v);
    bool kept = true;

    json_for_each_member (m, json_get(old, STR("nodeSelector"))) {
        const struct json *v = map_get(&now, m->name);

        kept = kept && v && json_equal(v, &m->value);
    }
    map_release(&now);
    if (!selector.v)
        selector.v = &json_null;
    if (!kept)
        site_invalid(st, &selector,
                     "only additions to spec.nodeSelector are allowed (no mutations or deletions)");
}

static bool begins_with(const struct json *now, const struct json *was)
{
    if (json_len(now) < json_len(was))
        return false;
    for (size_t i = 0; i < json_len(was); i++)
        if (!json_equal(json_at(now, i), json_at(was, i)))
            return false;
    return true;
}

static bool term_narrows(const struct json *now, const struct json *was)
{
    static const char *const parts[] = { "matchExpressions", "matchFields" };
    bool empty = true, more = false;

    for (size_t i = 0; i < GROUP_LEN(parts); i++) {
        const struct json *n = json_get(now, str_of(parts[i])),
                          *w = json_get(was, str_of(parts[i]));

        if (!begins_with(n, w))
            return false;
        empty = empty && json_len(w) == 0;
        more = more || json_len(n) > 0;
    }
    return !empty || !more;
}

static void check_terms(const struct kind_context *c, const struct json *obj,
                        const struct json *old, struct status *st)
{
    const struct json *now = json_path(obj, TERMS), *was = json_path(old, TERMS);

    if (json_len(was) == 0)
        return;
    if (json_len(now) != json_len(was)) {
        status_cause(st, CAUSE_INVALID, STR(TERMS), json_text(c->arena, now ? now : &json_null),
                     "no additions/deletions to non-empty NodeSelectorTerms list are allowed");
        return;
    }
    for (size_t i = 0; i < json_len(was); i++)
        if (!term_narrows(json_at(now, i), json_at(was, i)))
            status_cause(st, CAUSE_INVALID, str_printf(c->arena, "%s[%zu]", TERMS, i),
                         json_text(c->arena, json_at(now, i)),
                         "only additions are allowed (no mutations or deletions)");
}

/* The new spec with the old affinity to nodes, which was looked at. */
static const struct json *old_node_affinity(struct arena *a, const struct json *now,
                                            const struct json *was)
{
    const struct json *node = json_path(was, "affinity.nodeAffinity");

    if (check_same(json_path(now, "affinity.nodeAffinity"), node))
        return now;
    now = json_set(a, now, "affinity.nodeAffinity", node);
    if (!json_get(was, STR("affinity")) && json_len(json_get(now, STR("affinity"))) == 0)
        return json_set(a, now, "affinity", NULL);
    return now;
}

/* ---- the rest ---- */

static const struct json *old_images(struct arena *a, const struct json *now,
                                     const struct json *was)
{
    struct json_array out = json_array_new(a);

    for (size_t i = 0; i < json_len(now); i++) {
        struct json_object o = json_object_from(a, json_at(now, i));
        const struct json *image = json_get(json_at(was, i), STR("image"));

        json_put(&o, STR("image"), image ? *image : json_of_str(STR("")));
        json_push(&out, json_object_value(&o));
    }
    return json_array_done(&out);
}

/* The new spec with everything that may change put back; what differs then may not. */
static const struct json *put_back(struct arena *a, const struct json *now, const struct json *was)
{
    static const char *const free_[] = { "activeDeadlineSeconds", "tolerations",
                                         "schedulingGates" };
    static const char *const grace = "terminationGracePeriodSeconds";

    for (size_t i = 0; i < GROUP_LEN(lists); i++) {
        const struct json *list = json_get(now, str_of(lists[i]));

        if (list)
            now = json_set(a, now, lists[i], old_images(a, list, json_get(was, str_of(lists[i]))));
    }
    for (size_t i = 0; i < GROUP_LEN(free_); i++)
        now = check_keep(a, now, was, free_[i]);
    if (json_int(json_get(was, str_of(grace)), 0) < 0 &&
        json_int(json_get(now, str_of(grace)), 0) == 1)
        now = check_keep(a, now, was, grace);
    if (json_len(json_get(was, STR("schedulingGates"))) == 0)
        return now;
    return old_node_affinity(a, check_keep(a, now, was, "nodeSelector"), was);
}

void pod_check_update(const struct kind_context *c, const struct json *obj, const struct json *old,
                      struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    const struct json *was = json_get(old, STR("spec")), *now;

    pod_check_annotations(st, obj, old);
    if (!check_images(st, &spec, was) || !check_deadline(st, &spec, was))
        return;
    check_tolerations(c->arena, st, &spec, was);
    check_gates(st, &spec, was);
    if (json_equal(spec.v, was))
        return;
    if (json_len(json_get(was, STR("schedulingGates")))) {
        check_node_selector(st, &spec, was);
        check_terms(c, obj, old, st);
    }
    now = put_back(c->arena, spec.v, was);
    if (!json_equal(now, was))
        site_forbidden(st, &spec,
                       "pod updates may not change fields other than `spec.containers[*].image`,"
                       "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
                       "`spec.tolerations` (only additions to existing tolerations),"
                       "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was "
                       "previously negative)");
}
