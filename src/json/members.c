/* SPDX-License-Identifier: Apache-2.0 */
#include "json/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/banned.h"
#include "base/mem.h"
#include "json/order.h"
#include "json/scan.h"

enum { PAIRS_QUICKER = 4 }; /* so few are compared in less time than put in order */

#define REMOVED SIZE_MAX /* as the length of a name: no string is that long */

bool members_ascending(const struct json_member *m, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (str_cmp(m[i - 1].name, m[i].name) >= 0)
            return false;
    return true;
}

/* By name, then by place. */
static int compare(const void *a, const void *b)
{
    const struct json_member *x = *(const struct json_member *const *)a;
    const struct json_member *y = *(const struct json_member *const *)b;
    int c = str_cmp(x->name, y->name);

    if (c != 0)
        return c;
    return x < y ? -1 : x > y;
}

static void insertion_sort(const struct json_member **v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct json_member *m = v[i];
        size_t at = i;

        for (; at > 0 && str_cmp(v[at - 1]->name, m->name) > 0; at--)
            v[at] = v[at - 1];
        v[at] = m;
    }
}

const struct json_member **members_sorted(const struct json_member *m, size_t n,
                                          const struct json_member *few[MEMBERS_FEW])
{
    const struct json_member **v = few;

    if (n > MEMBERS_FEW)
        v = mem_realloc_n(NULL, n, sizeof(const struct json_member *));
    for (size_t i = 0; i < n; i++)
        v[i] = &m[i];
    if (n <= MEMBERS_FEW)
        insertion_sort(v, n);
    else if (!members_ascending(m, n))
        qsort(v, n, sizeof(const struct json_member *), compare);
    return v;
}

void members_sorted_free(const struct json_member **sorted, const struct json_member **few)
{
    if (sorted != few)
        free(sorted);
}

const struct json_member *members_search(const struct json_member *const *sorted, size_t n,
                                         str name)
{
    size_t from = 0;

    while (from < n) {
        size_t middle = from + (n - from) / 2;
        int c = str_cmp(sorted[middle]->name, name);

        if (c == 0)
            return sorted[middle];
        if (c < 0)
            from = middle + 1;
        else
            n = middle;
    }
    return NULL;
}

static size_t drop_removed(struct json_member *m, size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        if (m[i].name.n != REMOVED)
            m[kept++] = m[i];
    return kept;
}

static bool mark_few(struct json_member *m, size_t n, void (*dup)(void *, str), void *arg)
{
    bool found = false;

    for (size_t i = 1; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            if (!scan_equal(m[j].name, m[i].name))
                continue;
            m[j].name.n = REMOVED;
            found = true;
            dup(arg, m[i].name);
        }
    }
    return found;
}

static bool mark_many(struct json_member *m, size_t n, void (*dup)(void *, str), void *arg)
{
    const struct json_member **sorted = members_sorted(m, n, NULL);
    bool found = false;

    for (size_t i = 1; i < n; i++) {
        if (!str_eq(sorted[i - 1]->name, sorted[i]->name))
            continue;
        m[sorted[i - 1] - m].name.n = REMOVED;
        found = true;
        dup(arg, sorted[i]->name);
    }
    members_sorted_free(sorted, NULL);
    return found;
}

size_t members_unique(struct json_member *m, size_t n, void (*dup)(void *arg, str name), void *arg)
{
    bool found;

    if (n > PAIRS_QUICKER && members_ascending(m, n))
        return n;
    found = n <= MEMBERS_FEW ? mark_few(m, n, dup, arg) : mark_many(m, n, dup, arg);
    return found ? drop_removed(m, n) : n;
}

static int compare_values(const void *a, const void *b)
{
    return str_cmp(((const struct json_member *)a)->name, ((const struct json_member *)b)->name);
}

struct json json_by_name(struct arena *a, const struct json *object)
{
    struct json v = object ? *object : json_null;
    struct json_member *sorted;

    if (v.type != JSON_OBJECT || members_ascending(v.members, v.n))
        return v;
    sorted = arena_array(a, struct json_member, v.n);
    memcpy(sorted, v.members, v.n * sizeof(*sorted));
    qsort(sorted, v.n, sizeof(*sorted), compare_values);
    v.members = sorted;
    return v;
}
