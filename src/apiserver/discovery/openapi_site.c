/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/discovery/openapi_site.h"

#include "base/banned.h"

static const str json_type[] = { STR_INIT("application/json") };
static const str keys_type[] = { STR_INIT("application/jwk-set+json") };

#define ALL  openapi_plain_types, openapi_plain_types, OPENAPI_PLAIN_TYPES, OPENAPI_PLAIN_TYPES
#define ONLY json_type, json_type, 1, 1

/* The path of a document is its name between slashes. */
static const struct openapi_get rows[] = {
    { STR_INIT("/.well-known/openid-configuration/"), STR_INIT("WellKnown"),
      STR_INIT("getServiceAccountIssuerOpenIDConfiguration"),
      STR_INIT("get who issues tokens of service accounts"), NULL, json_type, 0, 1, STR_INIT("") },
    { STR_INIT("/api/"), STR_INIT("core"), STR_INIT("getCoreAPIVersions"),
      STR_INIT("get available API versions"), ALL, STR_INIT(OPENAPI_META "APIVersions") },
    { STR_INIT("/apis/"), STR_INIT("apis"), STR_INIT("getAPIVersions"),
      STR_INIT("get available API versions"), ALL, STR_INIT(OPENAPI_META "APIGroupList") },
    { STR_INIT("/openid/v1/jwks/"), STR_INIT("openid"),
      STR_INIT("getServiceAccountIssuerOpenIDKeyset"),
      STR_INIT("get the keys that verify tokens of service accounts"), NULL, keys_type, 0, 1,
      STR_INIT("") },
    { STR_INIT("/version/"), STR_INIT("version"), STR_INIT("getCodeVersion"),
      STR_INIT("get the version information for this server"), ONLY,
      STR_INIT("io.k8s.apimachinery.pkg.version.Info") },
};
enum { NROWS = sizeof(rows) / sizeof(*rows) };

static str name_of(const struct openapi_get *g)
{
    return str_sub(g->path, 1, g->path.n - 2);
}

/* Groups of CRDs have no document. */
static bool is_native(const struct discovery_group *g)
{
    for (size_t i = 0; i < g->nkinds; i++)
        if (!g->kinds[i]->schema_id)
            return true;
    return false;
}

size_t openapi_site_names(struct arena *a, const struct discovery_group *groups, size_t ngroups,
                          const str **out)
{
    str *names = arena_array(a, str, NROWS + ngroups);
    size_t n = 0;

    for (size_t i = 0; i < NROWS; i++)
        names[n++] = name_of(&rows[i]);
    for (size_t i = 0; i < ngroups; i++)
        if (groups[i].name.n > 0 && is_native(&groups[i]))
            names[n++] = str_printf(a, "apis/%.*s", STR_ARG(groups[i].name));
    *out = names;
    return n;
}

/* "apis/apps" -> "apps", or nothing */
static str group_of(const struct catalog *c, str name)
{
    str apis = STR("apis/"), group;

    if (!str_starts(name, apis))
        return STR_NONE;
    group = str_from(name, apis.n);
    return group.n > 0 && discovery_is_native(c, group) ? group : STR_NONE;
}

static const struct openapi_get *find(str name)
{
    for (size_t i = 0; i < NROWS; i++)
        if (str_eq(name_of(&rows[i]), name))
            return &rows[i];
    return NULL;
}

bool openapi_site_has(const struct catalog *c, str name)
{
    return find(name) || group_of(c, name).n > 0;
}

bool openapi_site_add(struct openapi_schemas *s, struct json_object *paths, str name)
{
    const struct openapi_get *found = find(name);
    str group = group_of(s->catalog, name);
    struct arena *a = s->arena;
    struct openapi_get g;

    if (found) {
        openapi_paths_add_get(s, paths, found);
        return true;
    }
    if (group.n == 0)
        return false;
    g = (struct openapi_get){ .path = str_printf(a, "/%.*s/", STR_ARG(name)),
                              .tag = openapi_camel_case(a, group, false),
                              .text = STR("get information of a group"),
                              .consumes = openapi_plain_types,
                              .produces = openapi_plain_types,
                              .nconsumes = OPENAPI_PLAIN_TYPES,
                              .nproduces = OPENAPI_PLAIN_TYPES,
                              .schema = STR(OPENAPI_META "APIGroup") };
    g.id = str_printf(a, "get%.*sAPIGroup", STR_ARG(openapi_camel_case(a, group, true)));
    openapi_paths_add_get(s, paths, &g);
    return true;
}
