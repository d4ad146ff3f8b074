/* SPDX-License-Identifier: Apache-2.0 */
#include "server/openapi.h"

#include "base/banned.h"
#include "server/discovery.h"
#include "server/openapi_paths.h"
#include "server/version.h"

static struct json info(struct arena *a)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("title"), json_of_str(STR("Kairship")));
    json_add(&o, STR("version"), json_of_str(version_kubernetes()));
    return json_object_value(&o);
}

const struct json *openapi_v2(struct arena *a, const struct catalog *c)
{
    struct json_object o = json_object_new(a), paths = json_object_new(a);
    struct openapi_schemas schemas;
    struct discovery_group *groups;
    size_t n = discovery_groups(a, c, &groups);

    openapi_schemas_init(&schemas, a, c, OPENAPI_V2);
    for (size_t i = 0; i < n; i++) {
        for (size_t v = 0; v < groups[i].nversions; v++)
            openapi_paths_add(&schemas, &paths, groups[i].name, groups[i].versions[v]);
    }
    /* Nothing refers to it, but kubectl explains the events of a watch by it. */
    (void)openapi_schemas_named(&schemas, STR(OPENAPI_META "WatchEvent"));
    json_add(&o, STR("swagger"), json_of_str(STR("2.0")));
    json_add(&o, STR("info"), info(a));
    json_add(&o, STR("paths"), json_object_value(&paths));
    json_add(&o, STR("definitions"), openapi_schemas_done(&schemas));
    openapi_schemas_release(&schemas);
    return json_object_done(&o);
}
