/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/amounts.h"

#include <stdlib.h>

#include "base/banned.h"

enum { TEXT_MAX = 1 << 20 };

/* An amount that some container names, before all are added up. */
enum part { PART_CONTAINER, PART_INIT, PART_SIDECAR, PART_WHOLE, PART_OVERHEAD };
struct term {
    struct amount amount;
    enum part part;
    size_t order;
};

static int by_name(const void *a, const void *b)
{
    const struct term *x = a, *y = b;
    int cmp = str_cmp(x->amount.name, y->amount.name);

    if (cmp)
        return cmp;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Writes the terms of one list; returns how many. */
static size_t put_terms(struct term *out, const struct json *list, enum part part, size_t order)
{
    size_t n = 0;

    json_for_each_member (m, list) {
        struct term *t = &out[n];

        if (!quantity_parse(json_str(&m->value), &t->amount.q))
            continue;
        t->amount.name = m->name;
        t->part = part;
        t->order = order;
        n++;
    }
    return n;
}

static __int128 larger(__int128 a, __int128 b)
{
    return a > b ? a : b;
}

/*
 * One name's terms in their order.  Sidecars run beside whatever comes after them; each other init
 * container runs alone with the sidecars before it.
 */
static struct amount fold(const struct term *t, size_t n)
{
    struct amount sum = t->amount;
    __int128 all = 0, sidecars = 0, init = 0, overhead = 0;
    const struct quantity *whole = NULL;

    for (size_t i = 0; i < n; i++) {
        __int128 q = t[i].amount.q.nanos;

        all += t[i].part == PART_CONTAINER ? q : 0;
        overhead += t[i].part == PART_OVERHEAD ? q : 0;
        sidecars += t[i].part == PART_SIDECAR ? q : 0;
        init = larger(init, sidecars + (t[i].part == PART_INIT ? q : 0));
        if (t[i].part == PART_WHOLE)
            whole = &t[i].amount.q;
    }
    if (whole)
        sum.q.format = whole->format;
    sum.q.nanos = (whole ? whole->nanos : larger(all + sidecars, init)) + overhead;
    return sum;
}

static struct amounts fold_all(struct arena *a, struct term *terms, size_t n)
{
    struct amounts out = { .at = arena_array(a, struct amount, n + 1) };

    if (n > 1)
        qsort(terms, n, sizeof(*terms), by_name);
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && str_eq(terms[end].amount.name, terms[i].amount.name); end++)
            ;
        out.at[out.n++] = fold(&terms[i], end - i);
    }
    return out;
}

struct amounts amounts_of(struct arena *a, const struct json *list)
{
    struct term *terms = arena_array(a, struct term, json_len(list) + 1);

    return fold_all(a, terms, put_terms(terms, list, PART_CONTAINER, 0));
}

static const struct json *resources(const struct json *container, const char *which)
{
    return json_get(json_get(container, STR("resources")), str_of(which));
}

static bool is_sidecar(const struct json *container)
{
    return str_is(json_get_str(container, "restartPolicy"), "Always");
}

bool amounts_of_whole_pod(str name)
{
    return str_is(name, "cpu") || str_is(name, "memory") || str_starts(name, STR("hugepages-"));
}

struct amounts amounts_of_spec(struct arena *a, const struct json *spec, const char *which,
                               unsigned parts)
{
    const struct json *containers = json_get(spec, STR("containers"));
    const struct json *inits = json_get(spec, STR("initContainers"));
    const struct json *overhead = json_get(spec, STR("overhead")), *whole = resources(spec, which);
    size_t max = 1 + json_len(overhead) + json_len(whole), n = 0, end;
    struct term *terms;

    json_for_each (c, containers)
        max += json_len(resources(c, which));
    json_for_each (c, inits)
        max += json_len(resources(c, which));
    terms = arena_array(a, struct term, max);
    json_for_each (c, containers)
        n += put_terms(&terms[n], resources(c, which), PART_CONTAINER, n);
    json_for_each (c, inits)
        n += put_terms(&terms[n], resources(c, which), is_sidecar(c) ? PART_SIDECAR : PART_INIT, n);
    end = n + (parts & AMOUNTS_WHOLE ? put_terms(&terms[n], whole, PART_WHOLE, n) : 0);
    for (size_t i = n; i < end; i++)
        if (amounts_of_whole_pod(terms[i].amount.name))
            terms[n++] = terms[i];
    if (parts & AMOUNTS_OVERHEAD)
        n += put_terms(&terms[n], overhead, PART_OVERHEAD, n);
    return fold_all(a, terms, n);
}

struct amounts amounts_of_pod(struct arena *a, const struct json *pod, const char *which)
{
    return amounts_of_spec(a, json_get(pod, STR("spec")), which, AMOUNTS_WHOLE | AMOUNTS_OVERHEAD);
}

void amounts_each_container(const struct json *pod, amounts_container_fn *fn, void *arg)
{
    json_for_each (c, json_path(pod, "spec.containers"))
        fn(arg, c);
    json_for_each (c, json_path(pod, "spec.initContainers"))
        fn(arg, c);
}

const struct json *amounts_json(struct arena *a, const struct amounts *m)
{
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < m->n; i++)
        json_add(&o, m->at[i].name, json_of_str(quantity_print(a, &m->at[i].q)));
    return json_object_done(&o);
}

struct amount *amounts_find(const struct amounts *m, str name)
{
    size_t low = 0, high = m->n;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int cmp = str_cmp(m->at[mid].name, name);

        if (cmp == 0)
            return &m->at[mid];
        if (cmp < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return NULL;
}

const struct quantity *amounts_get(const struct amounts *m, str name)
{
    const struct amount *found = amounts_find(m, name);

    return found ? &found->q : NULL;
}

struct amounts amounts_add(struct arena *a, const struct amounts *x, int sign,
                           const struct amounts *y)
{
    struct amounts out = { .at = arena_array(a, struct amount, x->n + y->n + 1) };
    size_t i = 0, j = 0;

    while (i < x->n || j < y->n) {
        int cmp = i == x->n ? 1 : j == y->n ? -1 : str_cmp(x->at[i].name, y->at[j].name);
        struct amount *to = &out.at[out.n++];

        if (cmp <= 0) {
            *to = x->at[i++];
        } else {
            *to = y->at[j];
            to->q.nanos = 0;
        }
        if (cmp < 0)
            continue;
        if (to->q.nanos == 0)
            to->q.format = y->at[j].q.format;
        to->q.nanos += sign * y->at[j++].q.nanos;
    }
    return out;
}

int64_t amounts_int_or_percent(const struct json *v, int64_t total, bool up, int64_t otherwise)
{
    str text = json_str(v);
    int64_t percent;

    if (json_is(v, JSON_INT))
        return v->i;
    if (!str_ends(text, STR("%")) || !str_to_i64(str_sub(text, 0, text.n - 1), &percent) ||
        percent < 0 || percent > 100000)
        return otherwise;
    total = total > INT32_MAX ? INT32_MAX : total;
    return (total * percent + (up ? 99 : 0)) / 100;
}

str amounts_text(struct arena *a, const struct amounts *m)
{
    scoped_buf b = { .max = TEXT_MAX };

    for (size_t i = 0; i < m->n; i++)
        buf_printf(&b, "%s%.*s=%.*s", i ? "," : "", STR_ARG(m->at[i].name),
                   STR_ARG(quantity_print(a, &m->at[i].q)));
    return str_dup(a, buf_str(&b));
}
