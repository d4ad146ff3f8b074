/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* What variables and files of a container may show of its pod. */

/* ---- fields; k8s: validateObjectFieldSelector, pkg/apis/core/pods ---- */

static bool is_label(str text)
{
    static const char *const labels[] = {
        "metadata.annotations", "metadata.labels", "metadata.name",
        "metadata.namespace",   "metadata.uid",    "spec.nodeName",
        "spec.restartPolicy",   "spec.host",       "spec.serviceAccountName",
        "spec.schedulerName",   "status.phase",    "status.hostIP",
        "status.hostIPs",       "status.podIP",    "status.podIPs",
    };

    for (size_t i = 0; i < sizeof(labels) / sizeof(*labels); i++)
        if (str_is(text, labels[i]))
            return true;
    return false;
}

/* `path['key']`; k8s: fieldpath.SplitMaybeSubscriptedPath */
static bool split_subscript(str text, str *path, str *key)
{
    for (size_t i = 1; str_ends(text, STR("']")) && i + 3 < text.n; i++)
        if (text.p[i] == '[' && text.p[i + 1] == '\'') {
            *path = str_sub(text, 0, i);
            *key = str_sub(text, i + 2, text.n - i - 4);
            return true;
        }
    return false;
}

static void check_subscript(struct status *st, const struct site *ref, str path, str key)
{
    str faults[NAME_FAULTS];
    bool notes = str_is(path, "metadata.annotations");
    struct site shown = *ref;
    struct json text = json_of_str(notes ? str_lower(st->arena, key) : key);
    size_t n = qualified_name_faults(json_str(&text), faults);

    shown.v = &text;
    for (size_t i = 0; i < n; i++)
        site_fault(st, &shown, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
}

void podspec_check_field_ref(struct status *st, const struct site *ref, const char *const *fields)
{
    struct site path = site_in(ref, "fieldPath"), version = site_in(ref, "apiVersion");
    str text = json_str(path.v), v = json_str(version.v), before, key;

    if (site_required(st, &version) || site_required(st, &path))
        return;
    if (!str_is(v, "v1")) {
        site_fault(st, &path, CAUSE_INVALID,
                   "error converting fieldPath: unsupported pod version: %.*s", STR_ARG(v));
    } else if (split_subscript(text, &before, &key)) {
        if (str_is(before, "metadata.annotations") || str_is(before, "metadata.labels"))
            check_subscript(st, ref, before, key);
        else
            site_fault(st, &path, CAUSE_INVALID,
                       "error converting fieldPath: field label does not support subscript: %.*s",
                       STR_ARG(text));
    } else if (!is_label(text)) {
        site_fault(st, &path, CAUSE_INVALID,
                   "error converting fieldPath: field label not supported: %.*s", STR_ARG(text));
    } else if (!str_is(text, "spec.host")) {
        site_enum(st, &path, fields);
    }
}

/* ---- resources; k8s: validateContainerResourceFieldSelector ---- */

static const char *const of_bytes[] = { "1",   "1k",  "1M",  "1G",  "1T",  "1P",  "1E",
                                        "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei", NULL };
static const char *const of_cpu[] = { "1m", "1", NULL };

static void check_divisor(struct status *st, const struct site *ref, str resource)
{
    struct site divisor = site_in(ref, "divisor");
    struct json shown = json_of_str(resource);
    str text = json_str(divisor.v), what = resource;
    ptrdiff_t dot = str_find(what, '.', 0);
    bool cpu;

    what = dot < 0 ? STR_NONE : str_from(what, (size_t)dot + 1);
    cpu = str_is(what, "cpu");
    if (str_starts(what, STR("hugepages-")))
        what = STR("hugepages");
    else if (str_is(what, "ephemeral-storage"))
        what = STR("local ephemeral storage");
    else if (!cpu && !str_is(what, "memory"))
        return;
    if (text.n == 0 || str_is(text, "0") || str_is_any(text, cpu ? of_cpu : of_bytes))
        return;
    divisor.v = &shown;
    if (cpu)
        site_invalid(st, &divisor,
                     "only divisor's values 1m and 1 are supported with the cpu resource");
    else
        site_fault(st, &divisor, CAUSE_INVALID,
                   "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei "
                   "are supported with the %.*s resource",
                   STR_ARG(what));
}

void podspec_check_resource_ref(struct status *st, const struct site *ref, bool volume)
{
    static const char *const fields[] = { "limits.cpu",
                                          "limits.ephemeral-storage",
                                          "limits.memory",
                                          "requests.cpu",
                                          "requests.ephemeral-storage",
                                          "requests.memory",
                                          NULL };
    struct site container = site_in(ref, "containerName"), resource = site_in(ref, "resource");
    str text = json_str(resource.v);

    if (!(volume && site_required(st, &container)) && !site_required(st, &resource) &&
        !str_starts(text, STR("limits.hugepages-")) &&
        !str_starts(text, STR("requests.hugepages-")))
        site_enum(st, &resource, fields);
    check_divisor(st, ref, text);
}
