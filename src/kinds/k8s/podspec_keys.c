/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* Labels by which a pod is near, far or spread from others, with its own values; k8s:
 * pkg/registry/core/pod/strategy.go */

static void add_keys(struct arena *a, struct json_array *to, const struct json *keys,
                     const char *operator, const struct json * labels)
{
    json_for_each (key, keys) {
        const struct json *value = json_get(labels, json_str(key));
        struct json_object o = json_object_new(a);
        struct json_array values = json_array_new(a);

        if (!value)
            continue;
        json_push(&values, *value);
        json_add(&o, STR("key"), *key);
        json_add(&o, STR("operator"), json_of_str(str_of(operator)));
        json_add(&o, STR("values"), json_array_value(&values));
        json_push(to, json_object_value(&o));
    }
}

/* A term with what its keys mean in its selector; one without a selector matches nothing anyway. */
static const struct json *with_keys(struct arena *a, const struct json *term,
                                    const struct json *labels)
{
    const struct json *same = json_get(term, STR("matchLabelKeys"));
    const struct json *other = json_get(term, STR("mismatchLabelKeys"));
    const struct json *had = json_path(term, "labelSelector.matchExpressions");
    struct json_array all = json_array_new(a);

    if (!json_get(term, STR("labelSelector")) || (json_len(same) == 0 && json_len(other) == 0))
        return term;
    json_for_each (e, had)
        json_push(&all, *e);
    add_keys(a, &all, same, "In", labels);
    add_keys(a, &all, other, "NotIn", labels);
    if (all.n == json_len(had))
        return term;
    return json_set(a, term, "labelSelector.matchExpressions", json_array_done(&all));
}

static const struct json *each_term(struct arena *a, const struct json *pod, const char *path,
                                    const char *inside, const struct json *labels)
{
    const struct json *list = json_path(pod, path);
    struct json_array out = json_array_new(a);
    bool changed = false;

    json_for_each (v, list) {
        const struct json *term = inside ? json_get(v, str_of(inside)) : v;
        const struct json *now = with_keys(a, term, labels);

        changed = changed || now != term;
        json_push(&out, now == term ? *v : inside ? *json_set(a, v, inside, now) : *now);
    }
    return changed ? json_set(a, pod, path, json_array_done(&out)) : pod;
}

const struct json *podspec_apply_keys(struct arena *a, const struct json *pod)
{
    static const struct {
        const char *path, *inside;
    } lists[] = {
        { "spec.affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution",
          "podAffinityTerm" },
        { "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution", NULL },
        { "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution",
          "podAffinityTerm" },
        { "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution", NULL },
        { "spec.topologySpreadConstraints", NULL },
    };
    const struct json *labels = json_path(pod, "metadata.labels");

    for (size_t i = 0; labels && i < sizeof(lists) / sizeof(*lists); i++)
        pod = each_term(a, pod, lists[i].path, lists[i].inside, labels);
    return pod;
}

/* ---- rules; k8s: ValidateMatchLabelKeysAndMismatchLabelKeys ---- */

static bool has_text(const struct json *list, str text)
{
    json_for_each (v, list)
        if (str_eq(json_str(v), text))
            return true;
    return false;
}

static void check_list(struct status *st, const struct site *keys, const struct site *labels)
{
    if (json_len(keys->v) == 0)
        return;
    if (!labels->v) {
        site_forbidden(st, keys, "must not be specified when labelSelector is not set");
        return;
    }
    site_each(k, keys)(void) site_qualified(st, &k);
}

/* What the selector says of a key besides what was put there for it is shown at the item of the
 * key's number, of nothing. */
static void check_selector(struct status *st, const struct site *term, const struct site *labels,
                           const struct json *keys)
{
    const struct json *exact = json_get(labels->v, STR("matchLabels"));
    struct map seen = { 0 };

    json_for_each (e, json_get(labels->v, STR("matchExpressions"))) {
        str key = json_get_str(e, "key");
        bool again = site_seen(&seen, key) || json_get(exact, key);

        for (size_t i = 0; again && i < json_len(keys); i++) {
            struct site shown = site_item(term, i);

            shown.v = json_at(keys, i);
            if (str_eq(json_str(shown.v), key))
                site_invalid(st, &shown, "exists in both matchLabelKeys and labelSelector");
        }
    }
    map_release(&seen);
}

void podspec_check_keys(struct status *st, const struct site *term)
{
    struct site labels = site_in(term, "labelSelector"), same = site_in(term, "matchLabelKeys");
    struct site other = site_in(term, "mismatchLabelKeys");

    check_list(st, &same, &labels);
    check_list(st, &other, &labels);
    check_selector(st, term, &labels, same.v);
    site_each(k, &same)
    {
        if (has_text(other.v, json_str(k.v)))
            site_invalid(st, &k, "exists in both matchLabelKeys and mismatchLabelKeys");
    }
}
