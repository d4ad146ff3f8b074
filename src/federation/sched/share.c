/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "federation/sched/sched_internal.h"

bool sched_matches(struct arena *a, const struct json *affinity, const struct sched_cluster *c)
{
    if (!json_is(affinity, JSON_OBJECT))
        return true;
    return sched_affinity_matches(sched_affinity_parse(a, affinity), c);
}

void sched_divide_alike(struct arena *a, const struct json *targets, int64_t n, str uid,
                        int64_t *out)
{
    size_t count = json_len(targets);
    struct sched_share *s = arena_array(a, struct sched_share, count + 1);

    for (size_t i = 0; i < count; i++) {
        const struct json *t = json_at(targets, i);

        s[i] = (struct sched_share){ .name = json_get_str(t, "name"),
                                     .weight = json_int(json_get(t, STR("replicas")), 0) };
    }
    sched_webster(a, s, count, n, sched_ties_descend(uid));
    for (size_t i = 0; i < count; i++)
        out[i] = s[i].seats;
}
