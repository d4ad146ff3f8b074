/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/rollout.h"

#include "base/banned.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t sum_of_spec(const struct rollout_set *sets, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += sets[i].spec;
    return sum;
}

static int64_t sum_of_available(const struct rollout_set *sets, size_t n)
{
    int64_t sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += sets[i].available;
    return sum;
}

/* k8s: NewRSNewReplicas */
static int64_t grown(const struct rollout *r, const struct rollout_set *sets, size_t n)
{
    int64_t room = r->desired + r->max_surge - sum_of_spec(sets, n);

    if (sets[0].spec >= r->desired)
        return r->desired;
    return room <= 0 ? sets[0].spec : sets[0].spec + least(room, r->desired - sets[0].spec);
}

/* Those that are not available go first, and cost nothing. */
static int64_t drop_unhealthy(struct rollout_set *old, size_t n, int64_t most)
{
    int64_t dropped = 0;

    for (size_t i = 0; i < n && dropped < most; i++) {
        int64_t down = least(most - dropped, old[i].spec - old[i].available);

        if (down <= 0)
            continue;
        old[i].want = old[i].spec - down;
        dropped += down;
    }
    return dropped;
}

static void shrink_old(const struct rollout *r, struct rollout_set *sets, size_t n)
{
    int64_t least_available = r->desired - r->max_unavailable;
    int64_t most = sum_of_spec(sets, n) - least_available - (sets[0].spec - sets[0].available);
    int64_t spare = sum_of_available(sets, n) - least_available;

    if (most <= 0)
        return;
    most -= drop_unhealthy(sets + 1, n - 1, most);
    spare = least(spare, most);
    for (size_t i = 1; i < n && spare > 0; i++) {
        int64_t down = least(spare, sets[i].want);

        sets[i].want -= down;
        spare -= down;
    }
}

static bool changes(const struct rollout_set *sets, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (sets[i].want != sets[i].spec)
            return true;
    return false;
}

static void step_recreate(const struct rollout *r, struct rollout_set *sets, size_t n)
{
    int64_t left = 0;

    for (size_t i = 1; i < n; i++) {
        sets[i].want = 0;
        left += sets[i].spec + sets[i].replicas;
    }
    if (left == 0)
        sets[0].want = r->desired;
}

bool rollout_step(const struct rollout *r, struct rollout_set *sets, size_t n)
{
    int64_t others = sum_of_spec(sets + 1, n - 1);

    for (size_t i = 0; i < n; i++)
        sets[i].want = sets[i].spec;
    if (r->paused)
        sets[0].want = r->desired > others ? r->desired - others : 0;
    else if (r->recreate)
        step_recreate(r, sets, n);
    else
        sets[0].want = grown(r, sets, n);
    if (!changes(sets, n) && !r->paused && !r->recreate && others > 0)
        shrink_old(r, sets, n);
    return changes(sets, n);
}

bool rollout_is_complete(const struct rollout *r, const struct rollout_set *sets, size_t n)
{
    int64_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += sets[i].replicas;
    return sets[0].replicas == r->desired && sets[0].available == r->desired && all == r->desired;
}
