/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/job_policy.h"
#include "base/banned.h"

/* k8s: pkg/apis/batch/validation */

enum { RULES_MAX = 20, CODES_MAX = 255, PATTERNS_MAX = 20, INDEXES_MAX = 64 * 1024 };

static void at_most(struct status *st, const struct site *list, int most)
{
    if (json_len(list->v) > (size_t)most)
        site_fault(st, list, CAUSE_TOO_MANY, "must have at most %d items", most);
}

/* A word that must be there, and one of a few. */
static void check_word(struct status *st, const struct site *s, const char *const *words)
{
    if (!site_required(st, s))
        site_enum(st, s, words);
}

/* ---- what failures of pods mean ---- */

static bool has_container(const struct site *spec, str name)
{
    static const char *const lists[] = { "template.spec.containers",
                                         "template.spec.initContainers" };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each (c, json_path(spec->v, lists[i]))
            if (str_eq(json_get_str(c, "name"), name))
                return true;
    return false;
}

static void check_values(struct status *st, const struct site *values, bool in)
{
    bool ordered = true;

    if (json_len(values->v) == 0)
        site_invalid(st, values, "at least one value is required");
    at_most(st, values, CODES_MAX);
    site_each(v, values)
    {
        int64_t n = json_int(v.v, 0);
        bool again = false;

        if (in && n == 0)
            site_invalid(st, &v, "must not be 0 for the In operator");
        for (size_t i = 0; !again && i < v.index && i < CODES_MAX; i++)
            again = json_int(json_at(values->v, i), 0) == n;
        if (again)
            site_duplicate(st, &v);
        if (v.index && json_int(json_at(values->v, v.index - 1), 0) > n)
            ordered = false;
    }
    if (!ordered)
        site_invalid(st, values, "must be ordered");
}

static void check_exit_codes(struct status *st, const struct site *spec, const struct site *codes)
{
    static const char *const operators[] = { "In", "NotIn", NULL };
    struct site op = site_in(codes, "operator"), values = site_in(codes, "values");
    struct site name = site_in(codes, "containerName");

    check_word(st, &op, operators);
    if (name.v && !has_container(spec, json_str(name.v)))
        site_invalid(st, &name,
                     "must be one of the container or initContainer names in the pod template");
    check_values(st, &values, str_is(json_str(op.v), "In"));
}

static void check_conditions(struct status *st, const struct site *conditions)
{
    static const char *const states[] = { "False", "True", "Unknown", NULL };

    at_most(st, conditions, PATTERNS_MAX);
    site_each(c, conditions)
    {
        struct site type = site_in(&c, "type"), state = site_in(&c, "status");

        (void)site_qualified(st, &type);
        check_word(st, &state, states);
    }
}

void job_check_failure_policy(struct status *st, const struct site *spec)
{
    static const char *const actions[] = { "Count", "FailIndex", "FailJob", "Ignore", NULL };
    struct site policy = site_in(spec, "podFailurePolicy"), rules = site_in(&policy, "rules");

    at_most(st, &rules, RULES_MAX);
    site_each(rule, &rules)
    {
        struct site action = site_in(&rule, "action"), codes = site_in(&rule, "onExitCodes");
        struct site conditions = site_in(&rule, "onPodConditions");
        bool some = json_len(conditions.v) > 0;

        check_word(st, &action, actions);
        if (str_is(json_str(action.v), "FailIndex") && !site_has(spec, "backoffLimitPerIndex"))
            site_invalid(st, &action, "requires the backoffLimitPerIndex to be set");
        if (codes.v)
            check_exit_codes(st, spec, &codes);
        check_conditions(st, &conditions);
        if (codes.v && some)
            status_cause(st, CAUSE_INVALID, site_path(st->arena, &rule), STR_NONE,
                         "specifying both OnExitCodes and OnPodConditions is not supported");
        if (!codes.v && !some)
            status_cause(st, CAUSE_INVALID, site_path(st->arena, &rule), STR_NONE,
                         "specifying one of OnExitCodes and OnPodConditions is required");
    }
}

/* ---- when it is done before all have succeeded ---- */

static str not_a_number(struct arena *a, str text)
{
    return str_printf(a, "cannot convert string to integer for index: \"%.*s\"", STR_ARG(text));
}

/* One of "3" and "3-5"; empty: nothing is wrong with it. */
str job_read_interval(struct arena *a, str text, int64_t completions, int64_t *from, int64_t *to)
{
    str rest = text, part, ends[2] = { STR_NONE, STR_NONE };
    int64_t *numbers[] = { from, to };
    size_t n = 0;

    while (n < 3 && str_split(&rest, '-', &part)) {
        if (n < 2)
            ends[n] = part;
        n++;
    }
    if (n > 2)
        return str_printf(a,
                          "the fragment \"%.*s\" violates the requirement that an index interval "
                          "can have at most two parts separated by '-'",
                          STR_ARG(text));
    for (size_t i = 0; i < n; i++) {
        if (!str_to_i64(ends[i], numbers[i]))
            return not_a_number(a, ends[i]);
        if (*numbers[i] >= completions)
            return str_printf(a, "too large index: \"%.*s\"", STR_ARG(ends[i]));
    }
    if (n == 1)
        *to = *from;
    else if (*from >= *to)
        return str_printf(a, "non-increasing order, previous: %lld, current: %lld",
                          (long long)*from, (long long)*to);
    return STR_NONE;
}

/* "0,3-5": how many they are; k8s: validateIndexesFormat */
str job_read_indexes(struct arena *a, str text, int64_t completions, int64_t *total)
{
    str rest = text, part, fault;
    int64_t last = -1, from = 0, to = 0;

    *total = 0;
    if (text.n == 0)
        return STR_NONE;
    while (str_split(&rest, ',', &part)) {
        fault = job_read_interval(a, part, completions, &from, &to);
        if (!fault.n && *total && last >= from)
            fault = str_printf(a, "non-increasing order, previous: %lld, current: %lld",
                               (long long)last, (long long)from);
        if (fault.n) {
            *total = 0;
            return fault;
        }
        *total += to - from + 1;
        last = to;
    }
    return STR_NONE;
}

static void check_success_rule(struct status *st, const struct site *rule, int64_t completions)
{
    struct site count = site_in(rule, "succeededCount");
    struct site indexes = site_in(rule, "succeededIndexes");
    int64_t total = 0;

    if (!count.v && !indexes.v)
        site_missing(st, rule,
                     "at least one of succeededCount or succeededIndexes must be "
                     "specified");
    if (indexes.v) {
        str fault = job_read_indexes(st->arena, json_str(indexes.v), completions, &total);

        if (json_str(indexes.v).n > INDEXES_MAX)
            site_fault(st, &indexes, CAUSE_TOO_LONG, "may not be more than %d bytes", INDEXES_MAX);
        if (fault.n)
            site_fault(st, &indexes, CAUSE_INVALID, "error parsing succeededIndexes: %.*s",
                       STR_ARG(fault));
    }
    site_not_negative(st, &count);
    if (json_int(count.v, 0) > completions)
        site_fault(st, &count, CAUSE_INVALID,
                   "must be less than or equal to %lld (the number of specified completions)",
                   (long long)completions);
    if (indexes.v && json_int(count.v, 0) > total)
        site_fault(st, &count, CAUSE_INVALID,
                   "must be less than or equal to %lld (the number of indexes in the specified "
                   "succeededIndexes field)",
                   (long long)total);
}

void job_check_success_policy(struct status *st, const struct site *spec)
{
    struct site policy = site_in(spec, "successPolicy"), rules = site_in(&policy, "rules");
    const struct json *completions = json_get(spec->v, STR("completions"));

    if (!policy.v)
        return;
    if (json_len(rules.v) == 0)
        site_missing(st, &rules,
                     "at least one rules must be specified when the successPolicy is specified");
    at_most(st, &rules, RULES_MAX);
    site_each(rule, &rules)
    {
        if (completions)
            check_success_rule(st, &rule, json_int(completions, 0));
    }
}
