/* SPDX-License-Identifier: Apache-2.0 */

/*
 * How many replicas have room in a cluster, by what it says of itself.  Karmada's general estimator
 * (pkg/estimator/client/general.go).
 */

#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"
#include "object/meta/quantity.h"

enum { NODE_PODS = 110 }; /* that a node of a model takes */

static int by_name(const void *a, const void *b)
{
    return str_cmp(((const struct sched_amount *)a)->name, ((const struct sched_amount *)b)->name);
}

/* Away from zero to whole units (cpu: thousandths), as resource.Quantity's Value() does. */
static int64_t whole(const struct quantity *q, bool thousandths)
{
    const __int128 unit = thousandths ? 1000000 : 1000000000;
    __int128 n = q->nanos / unit;

    if (q->nanos % unit > 0)
        n++;
    if (q->nanos % unit < 0)
        n--;
    return n > INT64_MAX ? INT64_MAX : n < INT64_MIN ? INT64_MIN : (int64_t)n;
}

static bool parse_quantity(struct arena *a, const struct json *v, struct quantity *out)
{
    if (json_is(v, JSON_STRING))
        return quantity_parse(json_str(v), out);
    if (json_is(v, JSON_INT) || json_is(v, JSON_FLOAT))
        return quantity_parse(json_text(a, v), out);
    return false;
}

struct sched_amounts sched_amounts_parse(struct arena *a, const struct json *list)
{
    struct sched_amount *v = arena_array(a, struct sched_amount, json_len(list));
    size_t n = 0;

    json_for_each_member (m, list) {
        struct quantity q;

        if (parse_quantity(a, &m->value, &q))
            v[n++] = (struct sched_amount){ m->name, whole(&q, str_is(m->name, "cpu")) };
    }
    if (n)
        qsort(v, n, sizeof(*v), by_name);
    return (struct sched_amounts){ v, n };
}

static bool find(const struct sched_amounts *list, str name, int64_t *out)
{
    struct sched_amount key = { .name = name };
    const struct sched_amount *found =
        list->n ? bsearch(&key, list->v, list->n, sizeof(key), by_name) : NULL;

    if (found)
        *out = found->n;
    return found != NULL;
}

static int64_t fits_into(const struct sched_amounts *have, const struct sched_amounts *request,
                         int64_t most)
{
    for (size_t i = 0; i < request->n; i++) {
        int64_t n;

        if (request->v[i].n <= 0)
            continue;
        if (!find(have, request->v[i].name, &n) || n <= 0)
            return 0;
        if (n / request->v[i].n < most)
            most = n / request->v[i].n;
    }
    return most;
}

/* A model says nothing of resources that it does not name: then the sums decide. */
static bool modelled(const struct sched_cluster *c, const struct sched_amounts *request)
{
    int64_t unused;

    if (c->ngrades == 0)
        return false;
    for (size_t i = 0; i < request->n; i++)
        if (request->v[i].n > 0 && !find(&c->grades[0].min, request->v[i].name, &unused))
            return false;
    return true;
}

int64_t sched_room(const struct sched_cluster *c, const struct sched_amounts *request)
{
    int64_t pods = c->pods, sum = 0;

    if (!c->counted || pods <= 0)
        return 0;
    if (pods > SCHED_REPLICAS_MAX)
        pods = SCHED_REPLICAS_MAX;
    if (!request)
        return pods;
    if (!modelled(c, request))
        return fits_into(&c->free, request, pods);
    for (size_t i = 0; i < c->ngrades && sum < pods; i++) {
        int64_t each = fits_into(&c->grades[i].min, request, NODE_PODS);

        if (each && c->grades[i].count > (pods - sum) / each)
            return pods;
        sum += c->grades[i].count * each;
    }
    return sum < pods ? sum : pods;
}

static int64_t amount(const struct sched_amounts *list, str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->v[i].name, name))
            return list->v[i].n;
    return 0;
}

/* By the sums alone: a model does not say on which nodes the others will be. */
int64_t sched_room_left(const struct sched_cluster *c, const struct sched_amounts *request,
                        const struct sched_promise *promise, int64_t room)
{
    int64_t free;

    if (!promise || room <= 0)
        return room;
    if (c->pods - promise->pods < room)
        room = c->pods - promise->pods;
    for (size_t i = 0; request && i < request->n; i++) {
        if (request->v[i].n <= 0 || !find(&c->free, request->v[i].name, &free))
            continue;
        free -= amount(&promise->amounts, request->v[i].name);
        if (free / request->v[i].n < room)
            room = free / request->v[i].n;
    }
    return room < 0 ? 0 : room;
}
