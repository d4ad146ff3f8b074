/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one replica asks of a cluster: resources as Kubernetes' scheduler counts them, and on which
 * nodes it may run.  k8s: pkg/api/v1/resource PodRequests; karmada: pkg/util/helper/binding.go
 */

#include "federation/interp/interp_table.h"
#include "object/meta/quantity.h"

#include "base/banned.h"

enum { RESOURCES = 64 }; /* of one pod; what comes after is not counted */

struct nano_amounts {
    str names[RESOURCES];
    __int128 nanos[RESOURCES];
    size_t n;
};

static __int128 *amount(struct nano_amounts *s, str name)
{
    for (size_t i = 0; i < s->n; i++)
        if (str_eq(s->names[i], name))
            return &s->nanos[i];
    if (s->n == RESOURCES)
        return NULL;
    s->names[s->n] = name;
    s->nanos[s->n] = 0;
    return &s->nanos[s->n++];
}

static void plus(__int128 *sum, __int128 n)
{
    if (__builtin_add_overflow(*sum, n, sum))
        *sum = (__int128)(~(unsigned __int128)0 >> 1);
}

static void larger(__int128 *most, __int128 n)
{
    if (n > *most)
        *most = n;
}

static void take(struct nano_amounts *s, const struct json *list, void (*how)(__int128 *, __int128))
{
    json_for_each_member (m, list) {
        struct quantity q;
        __int128 *at;

        if (!quantity_parse(json_str(&m->value), &q) || q.nanos < 0)
            continue;
        at = amount(s, m->name);
        if (at)
            how(at, q.nanos);
    }
}

/* Its requests; a limit stands for a request that is not said. */
static const struct json *requests(struct arena *a, const struct json *container)
{
    const struct json *asked = json_path(container, "resources.requests");
    const struct json *limits = json_path(container, "resources.limits");
    struct json_object o;

    if (json_len(limits) == 0)
        return asked;
    o = json_object_from(a, json_is(asked, JSON_OBJECT) ? asked : &json_empty_object);
    json_for_each_member (m, limits)
        if (!json_get(asked, m->name))
            json_add(&o, m->name, m->value);
    return json_object_done(&o);
}

static void plus_all(struct nano_amounts *sum, const struct nano_amounts *more)
{
    for (size_t i = 0; i < more->n; i++) {
        __int128 *at = amount(sum, more->names[i]);

        if (at)
            plus(at, more->nanos[i]);
    }
}

/*
 * Init containers run one after the other, each beside the sidecars (restartPolicy Always) that
 * were started before it; those stay.
 */
static void take_init(struct arena *a, const struct json *pod, struct nano_amounts *sum)
{
    struct nano_amounts sidecars = { .n = 0 }, most = { .n = 0 };

    json_for_each (c, json_get(pod, STR("initContainers"))) {
        struct nano_amounts now = sidecars;

        take(&now, requests(a, c), plus);
        if (str_is(json_get_str(c, "restartPolicy"), "Always"))
            sidecars = now;
        for (size_t i = 0; i < now.n; i++) {
            __int128 *at = amount(&most, now.names[i]);

            if (at)
                larger(at, now.nanos[i]);
        }
    }
    plus_all(sum, &sidecars);
    for (size_t i = 0; i < most.n; i++) {
        __int128 *at = amount(sum, most.names[i]);

        if (at)
            larger(at, most.nanos[i]);
    }
}

static enum quantity_format format_of(str name)
{
    return str_is(name, "memory") || str_is(name, "ephemeral-storage") ||
                   str_starts(name, STR("hugepages-"))
               ? QUANTITY_BINARY_SI
               : QUANTITY_DECIMAL_SI;
}

static struct json resource_list(struct arena *a, const struct nano_amounts *s)
{
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < s->n; i++) {
        struct quantity q = { .nanos = s->nanos[i], .format = format_of(s->names[i]) };

        if (q.nanos > 0)
            json_add(&o, s->names[i], json_of_str(quantity_print(a, &q)));
    }
    return json_object_value(&o);
}

static struct json node_claim(struct arena *a, const struct json *pod)
{
    static const struct {
        const char *path, *name;
    } parts[] = {
        { "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution",
          "hardNodeAffinity" },
        { "nodeSelector", "nodeSelector" },
        { "tolerations", "tolerations" },
    };
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        const struct json *v = json_path(pod, parts[i].path);

        if (json_len(v))
            json_add(&o, str_of(parts[i].name), *v);
    }
    return json_object_value(&o);
}

const struct json *interp_requirements(struct arena *a, const struct json *pod)
{
    struct nano_amounts sum = { .n = 0 };
    struct json claim = node_claim(a, pod), list;
    struct json_object o = json_object_new(a);

    json_for_each (c, json_get(pod, STR("containers")))
        take(&sum, requests(a, c), plus);
    take_init(a, pod, &sum);
    take(&sum, json_get(pod, STR("overhead")), plus);
    list = resource_list(a, &sum);
    if (json_len(&claim))
        json_add(&o, STR("nodeClaim"), claim);
    if (json_len(&list))
        json_add(&o, STR("resourceRequest"), list);
    return o.n ? json_object_done(&o) : NULL;
}
