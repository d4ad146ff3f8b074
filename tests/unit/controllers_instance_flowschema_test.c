/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/controller.h"
#include "server_rig.h"

/* The condition Dangling, kept against a whole server. */

#define FLOWS  "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"
#define LEVELS "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"

/* Its status and reason: comes to this within ten seconds. */
static bool comes_to(struct rig *r, const char *path, const char *want)
{
    for (int i = 0; i < 1000; i++) {
        const struct json *v = NULL;

        if (ask_api(r, "GET", path, "", &v) == 200)
            json_for_each (c, json_path(v, "status.conditions"))
                if (str_is(json_get_str(c, "type"), "Dangling") &&
                    str_is(str_printf(r->arena, "%.*s %.*s", STR_ARG(json_get_str(c, "status")),
                                      STR_ARG(json_get_str(c, "reason"))),
                           want))
                    return true;
        (void)usleep(10000);
    }
    return false;
}

TEST(a_schema_says_whether_its_level_is_there)
{
    struct rig r;

    rig_open(&r);
    r.own = client_new(
        server_local_transport(r.host->server, r.host->loop, STR("system:kairship:flowschema")));
    r.controller = controller_start(&flowschema_controller, r.own);
    CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"metadata\":{\"name\":\"t\"}}", NULL) == 200);
    CHECK(comes_to(&r, "/clusters/t" FLOWS "/system-nodes", "False Found"));
    CHECK(ask_api(&r, "POST", "/clusters/t" FLOWS,
                  "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityLevelConfiguration\":"
                  "{\"name\":\"x\"},\"matchingPrecedence\":77}}",
                  NULL) == 200);
    CHECK(comes_to(&r, "/clusters/t" FLOWS "/x", "True NotFound"));
    CHECK(ask_api(&r, "POST", "/clusters/t" LEVELS,
                  "{\"metadata\":{\"name\":\"x\"},\"spec\":{\"type\":\"Limited\",\"limited\":{"
                  "\"limitResponse\":{\"type\":\"Reject\"}}}}",
                  NULL) == 200);
    CHECK(comes_to(&r, "/clusters/t" FLOWS "/x", "False Found"));
    CHECK(ask_api(&r, "DELETE", "/clusters/t" LEVELS "/system", "", NULL) == 200);
    /* Nobody hears that a default one goes; it is seen with the next change. */
    CHECK(ask_api(&r, "DELETE", "/clusters/t" LEVELS "/x", "", NULL) == 200);
    CHECK(comes_to(&r, "/clusters/t" FLOWS "/x", "True NotFound"));
    CHECK(comes_to(&r, "/clusters/t" FLOWS "/system-nodes", "True NotFound"));
    CHECK(comes_to(&r, FLOWS "/system-nodes", "False Found")); /* of root, which has it */
    controller_stop(r.controller);
    rig_close(&r);
}
