/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_security.h"

/* What labels choose.  k8s: pod-security-admission/api/helpers.go PolicyToEvaluate */

static const char *const levels[] = { "privileged", "baseline", "restricted" };

enum { LEVELS = sizeof(levels) / sizeof(*levels) };

static void fault(struct status *faults, str label, str value, const char *why)
{
    str field = str_concat(faults->arena, STR("metadata.labels["), label, STR("]"));
    const struct json shown = json_of_str(value);

    status_cause(faults, CAUSE_INVALID, field, json_text(faults->arena, &shown), "%s", why);
}

static bool to_level(str s, enum pod_level *out)
{
    size_t i = 0;

    while (i < LEVELS && !str_is(s, levels[i]))
        i++;
    if (i == LEVELS)
        return false;
    *out = (enum pod_level)i;
    return true;
}

/* latest, or v1.N without zeros before. */
static bool to_version(str s, int64_t *out)
{
    str digits = str_from(s, 3);

    if (str_is(s, "latest")) {
        *out = POD_VERSION_LATEST;
        return true;
    }
    if (!str_starts(s, STR("v1.")) || !digits.n || digits.p[0] == '-' ||
        (digits.n > 1 && digits.p[0] == '0'))
        return false;
    return str_to_i64(digits, out);
}

/* The level and the version of one mode; true if the level is there (*good: and says something). */
static bool read_mode(const struct json *labels, str level_label, str version_label,
                      enum pod_level otherwise, struct pod_policy *p, bool *good,
                      struct status *faults)
{
    const struct json *level = json_get(labels, level_label),
                      *version = json_get(labels, version_label);

    *p = (struct pod_policy){ .level = POD_PRIVILEGED, .minor = POD_VERSION_LATEST };
    *good = level && to_level(json_str(level), &p->level);
    if (level && !*good) {
        p->level = otherwise;
        fault(faults, level_label, json_str(level),
              "must be one of privileged, baseline, restricted");
    }
    if (version && !to_version(json_str(version), &p->minor))
        fault(faults, version_label, json_str(version), "must be \"latest\" or \"v1.x\"");
    return level;
}

#define MODE(name) STR(POD_SECURITY_LABELS name), STR(POD_SECURITY_LABELS name "-version")

struct pod_policies pod_policies_of(const struct json *labels, struct status *faults)
{
    struct pod_policies p;
    bool enforced, good;

    (void)read_mode(labels, MODE("enforce"), POD_RESTRICTED, &p.enforce, &enforced, faults);
    (void)read_mode(labels, MODE("audit"), POD_PRIVILEGED, &p.audit, &good, faults);
    if (!read_mode(labels, MODE("warn"), POD_PRIVILEGED, &p.warn, &good, faults) && enforced &&
        p.enforce.level > POD_PRIVILEGED) {
        p.warn.level = p.enforce.level;
        if (!json_get(labels, STR(POD_SECURITY_LABELS "warn-version")))
            p.warn.minor = p.enforce.minor;
    }
    return p;
}

bool pod_policy_equal(struct pod_policy a, struct pod_policy b)
{
    return a.level == b.level && a.minor == b.minor;
}

str pod_policy_text(struct arena *a, struct pod_policy p)
{
    if (p.minor == POD_VERSION_LATEST)
        return str_printf(a, "%s:latest", levels[p.level]);
    return str_printf(a, "%s:v1.%lld", levels[p.level], (long long)p.minor);
}
