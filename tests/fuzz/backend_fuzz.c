/* SPDX-License-Identifier: Apache-2.0 */

/* What an aggregated API server may say of itself: it goes into the discovery of an instance. */

#include <assert.h>

#include "apiserver/discovery/discovery_merge.h"
#include "apiserver/outbound/backends.h"
#include "base/banned.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    scoped_arena a = arena_new();
    str text = { (const char *)data, n }, resources = STR_NONE;
    str openapi = backend_read_openapi(a, text, STR("g.io"), STR("v1"));
    struct aggregated_version one = { .group = STR("g.io"),
                                      .version = STR("v1"),
                                      .openapi = openapi };
    struct aggregated g = { .at = &one, .n = 1 };
    const struct json *doc, *list;
    struct status st;
    int rc;

    status_init(&st, a);
    assert(openapi.n == 0 || openapi.n == 16);
    if (backend_read_resources(a, text, STR("g.io"), STR("v1"), &resources, &st) < 0) {
        assert(st.reason == REASON_UNAVAILABLE && st.message.n);
        return 0;
    }
    one.resources = resources;
    rc = json_parse(a, STR("{\"kind\":\"APIGroupDiscoveryList\",\"items\":[]}"), NULL, &doc, &st);
    assert(rc == 0);
    doc = merge_groups(a, doc, &g);
    list = json_get(json_at(json_get(json_at(json_get(doc, STR("items")), 0), STR("versions")), 0),
                    STR("resources"));
    assert(json_is(list, JSON_ARRAY) && json_len(list) <= BACKEND_RESOURCES_MAX);
    json_for_each (r, list) {
        str name = json_get_str(r, "resource");

        assert(name.n && str_find(name, '/', 0) < 0 && json_get_str(r, "responseKind.kind").n);
        assert(json_is(json_get(r, STR("verbs")), JSON_ARRAY));
    }
    return 0;
}
