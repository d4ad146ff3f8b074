/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/server/dispatch_check.h"

#include "apiserver/call/reqinfo.h"
#include "base/banned.h"

str route_path(struct arena *a, const struct kind *k, str namespace_)
{
    str group = k->group.n ? str_printf(a, "/apis/%.*s", STR_ARG(k->group)) : STR("/api");
    str in = k->namespaced && namespace_.n ? str_printf(a, "/namespaces/%.*s", STR_ARG(namespace_))
                                           : STR_NONE;

    return str_printf(a, "%.*s/%.*s%.*s/%.*s", STR_ARG(group), STR_ARG(k->version), STR_ARG(in),
                      STR_ARG(k->plural));
}

static bool is_about(const struct reqinfo *i, const struct kind *k, str name, str subresource)
{
    return i->is_resource && str_eq(i->group, k->group) && str_eq(i->version, k->version) &&
           str_eq(i->resource, k->plural) && str_eq(i->name, name) &&
           str_eq(i->subresource, subresource);
}

static int check_path(struct arena *a, const struct kind *k, str name, str subresource,
                      struct status *st)
{
    str path = route_path(a, k, STR("ns"));
    struct reqinfo info;

    if (name.n)
        path = str_printf(a, "%.*s/%.*s", STR_ARG(path), STR_ARG(name));
    if (subresource.n)
        path = str_printf(a, "%.*s/%.*s", STR_ARG(path), STR_ARG(subresource));
    if (reqinfo_parse(a, STR("GET"), path, STR_NONE, &info, st) < 0)
        return -1;
    if (!is_about(&info, k, name, subresource))
        return status_set(st, REASON_INTERNAL, "%.*s would be authorized as something else",
                          STR_ARG(path));
    return 0;
}

int kinds_check(struct arena *a, const struct catalog *c, struct status *st)
{
    for (size_t i = 0; i < c->nkinds; i++) {
        const struct kind *k = c->kinds[i];

        if (check_path(a, k, STR_NONE, STR_NONE, st) < 0 ||
            check_path(a, k, STR("x"), STR_NONE, st) < 0)
            return -1;
        for (size_t j = 0; j < k->nsubresources; j++)
            if (check_path(a, k, STR("x"), k->subresources[j].name, st) < 0)
                return -1;
    }
    return 0;
}

int dispatch_check(struct arena *a, const struct catalog *c, struct status *st)
{
    if (chain_check(st) < 0 || documents_check(a, st) < 0 || specials_check(c, st) < 0)
        return -1;
    return kinds_check(a, c, st);
}
