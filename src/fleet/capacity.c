/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/capacity.h"

#include <stdlib.h>

#include "base/banned.h"
#include "base/map.h"
#include "base/mem.h"
#include "object/meta/amounts.h"
#include "object/meta/condition.h"

struct node {
    str name;
    struct amounts free; /* allocatable less what its pods request */
};

struct capacity {
    struct arena *arena;
    const struct json *models;
    struct map nodes;
    int64_t total, ready;
    struct amounts allocatable, allocating, allocated;
};

struct capacity *capacity_new(const struct json *models)
{
    struct capacity *r = mem_zalloc(sizeof(*r));

    r->arena = arena_new();
    r->models = models;
    return r;
}

void capacity_free(struct capacity *r)
{
    if (!r)
        return;
    map_release(&r->nodes);
    arena_free(r->arena);
    free(r);
}

/* In place where all names are there, which is always but for the first few. */
static void add(struct capacity *r, struct amounts *to, int sign, const struct amounts *what)
{
    size_t known = 0;

    while (known < what->n && amounts_find(to, what->at[known].name))
        known++;
    if (known == what->n) {
        for (size_t i = 0; i < what->n; i++)
            amounts_find(to, what->at[i].name)->q.nanos += sign * what->at[i].q.nanos;
        return;
    }
    *to = amounts_add(r->arena, to, sign, what);
    for (size_t i = 0; i < to->n; i++) /* names point into a page */
        to->at[i].name = str_dup(r->arena, to->at[i].name);
}

void capacity_add_node(struct capacity *r, const struct json *node)
{
    str name = json_get_str(node, "metadata.name");
    struct amounts has;
    struct node *n;

    if (r->total == ROOM_NODES_MAX || !name.n || map_get(&r->nodes, name))
        return;
    n = arena_new_of(r->arena, struct node);
    n->name = str_dup(r->arena, name);
    has = amounts_of(r->arena, json_path(node, "status.allocatable"));
    add(r, &n->free, 1, &has);
    add(r, &r->allocatable, 1, &has);
    (void)map_put(&r->nodes, n->name, n);
    r->total++;
    r->ready += object_is_ready(node);
}

void capacity_add_pod(struct capacity *r, const struct json *pod)
{
    str phase = json_get_str(pod, "status.phase"), on = json_get_str(pod, "spec.nodeName");
    struct amount one = { STR("pods"), { .nanos = 1000000000 } };
    const struct amounts slot = { .at = &one, .n = 1 };
    struct amounts needs;
    scoped_arena a = arena_new();
    struct node *n;

    if (str_is(phase, "Succeeded") || str_is(phase, "Failed"))
        return;
    needs = amounts_of_pod(a, pod, "requests");
    needs = amounts_add(a, &needs, 1, &slot);
    add(r, on.n ? &r->allocated : &r->allocating, 1, &needs);
    n = on.n ? map_get(&r->nodes, on) : NULL;
    if (n)
        add(r, &n->free, -1, &needs);
}

/* ---- as status ---- */

const struct json *capacity_nodes(const struct capacity *r, struct arena *a)
{
    struct json_object o = json_object_new(a);

    if (r->total)
        json_add(&o, STR("totalNum"), json_of_int(r->total));
    if (r->ready)
        json_add(&o, STR("readyNum"), json_of_int(r->ready));
    return json_object_done(&o);
}

/* What is zero is left out, as in Karmada. */
static void add_list(struct arena *a, struct json_object *o, str name, const struct amounts *m)
{
    struct amounts some = { .at = arena_array(a, struct amount, m->n + 1) };

    for (size_t i = 0; i < m->n; i++)
        if (m->at[i].q.nanos > 0)
            some.at[some.n++] = m->at[i];
    if (some.n)
        json_add(o, name, *json_dup(a, amounts_json(a, &some)));
}

/* The last grade whose range for this resource begins at or below what is free. */
static size_t grade_of(const struct capacity *r, const struct node *n, str resource)
{
    const struct quantity zero = { 0 }, *have = amounts_get(&n->free, resource);
    size_t grade = 0;

    for (size_t g = 0; g < json_len(r->models); g++)
        json_for_each (range, json_get(json_at(r->models, g), STR("ranges"))) {
            struct quantity min;

            if (str_eq(json_get_str(range, "name"), resource) &&
                quantity_parse(json_get_str(range, "min"), &min) &&
                quantity_cmp(&min, have ? have : &zero) <= 0)
                grade = g;
        }
    return grade;
}

/*
 * karmada: pkg/modeling: a node is as good as its scarcest resource.  One without a pod slot left
 * takes nothing and counts nowhere (there it ends the count of all that follow: 6.4 of the spec).
 */
static void add_modelings(const struct capacity *r, struct arena *a, struct json_object *o)
{
    size_t grades = json_len(r->models), at = 0;
    int64_t *count = arena_array(a, int64_t, grades + 1);
    struct json_array list = json_array_new(a);
    void *v;
    str name;

    while (map_each(&r->nodes, &at, &name, &v)) {
        const struct node *n = v;
        const struct quantity *slots = amounts_get(&n->free, STR("pods"));
        size_t grade = grades;

        json_for_each (range, json_get(json_at(r->models, 0), STR("ranges"))) {
            size_t g = grade_of(r, n, json_get_str(range, "name"));

            grade = g < grade ? g : grade;
        }
        if (grade < grades && slots && slots->nanos > 0)
            count[grade]++;
    }
    for (size_t g = 0; g < grades; g++) {
        struct json_object m = json_object_new(a);

        json_add(&m, STR("grade"),
                 json_of_int(json_int(json_get(json_at(r->models, g), STR("grade")), 0)));
        json_add(&m, STR("count"), json_of_int(count[g]));
        json_push(&list, json_object_value(&m));
    }
    if (grades)
        json_add(o, STR("allocatableModelings"), json_array_value(&list));
}

const struct json *capacity_summary(const struct capacity *r, struct arena *a)
{
    struct json_object o = json_object_new(a);

    add_list(a, &o, STR("allocatable"), &r->allocatable);
    add_list(a, &o, STR("allocating"), &r->allocating);
    add_list(a, &o, STR("allocated"), &r->allocated);
    add_modelings(r, a, &o);
    return json_object_done(&o);
}
