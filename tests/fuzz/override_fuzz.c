/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/propagation/override.h"

#include <assert.h>

#include "base/banned.h"
#include "fuzz/fuzz.h"

/*
 * {"object": …, "policies": […], "cluster": …}: whatever they are, there is a manifest or a reason.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    scoped_arena a = arena_new();
    struct override_result r = { 0 };
    struct override_image image;
    const struct json *v, *object;
    struct status st;

    status_init(&st, a);
    (void)override_image_parse((str){ (const char *)data, size }, &image);
    if (size > 65536 || json_parse(a, (str){ (const char *)data, size }, NULL, &v, &st) < 0)
        return 0;
    object = json_get(v, STR("object"));
    if (!json_is(object, JSON_OBJECT))
        return 0;
    if (override_apply(a, object, json_get(v, STR("policies")),
                       sched_cluster_parse(a, json_get(v, STR("cluster"))), &r, &st) < 0)
        assert(st.message.n > 0);
    else
        assert(r.manifest);
    return 0;
}
