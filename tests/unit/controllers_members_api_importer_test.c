/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/api_importer.h"

#include "federation/controllers/frame/controller.h"
#include "fleet_rig.h"

/* A member that lies: its Cluster says so, and nothing is imported. */

#define CLUSTERS "/clusters/demo/apis/workload.kcp.dev/v1alpha1/clusters"
#define IMPORTS  "/clusters/demo/apis/apiresource.kcp.dev/v1alpha1/apiresourceimports"

struct bench {
    struct fleet_rig fleet;
    struct fake fake;
    struct api_importer importer;
};

static void bench_open(struct bench *b, enum fake_mode mode)
{
    static const struct fleet_options small = { .egress = &rig_egress,
                                                .timeout_ms = 1000,
                                                .reply_max = 1 << 20 };
    struct rig *r = &b->fleet.rig;
    struct controller_spec spec = api_importer_controller;

    fleet_rig_open(&b->fleet, &small);
    fake_open(&b->fake);
    b->fake.left = 8 << 20;
    atomic_store(&b->fake.mode, (int)mode);
    api_importer_init(&b->importer);
    b->importer.fleet = b->fleet.fleet;
    spec.arg = &b->importer;
    r->own = client_new(server_local_transport(r->host->server, r->host->loop,
                                               STR("system:kairship:api-importer")));
    r->controller = controller_start(&spec, r->own);
}

static void bench_close(struct bench *b)
{
    controller_stop(b->fleet.rig.controller);
    api_importer_release(&b->importer);
    fleet_rig_close(&b->fleet);
    fake_close(&b->fake);
}

static void add_kcp_cluster(struct bench *b)
{
    struct arena *a = b->fleet.rig.arena;

    CHECK(ask_api(&b->fleet.rig, "POST", CLUSTERS,
                  arena_printf(a,
                               "{\"metadata\":{\"name\":\"east\"},\"spec\":{\"kubeconfig\":\"{"
                               "current-context: c, clusters: [{name: c, cluster: {server: "
                               "'https://%.*s', certificate-authority-data: '%.*s'}}], contexts: "
                               "[{name: c, context: {cluster: c, user: c}}], users: [{name: c, "
                               "user: {token: t}}]}\"}}",
                               STR_ARG(http_server_address(b->fake.http)),
                               STR_ARG(base64_encode(a, BASE64_STD, b->fake.ca.cert))),
                  NULL) == 200);
}

/* "True", or "False reason", of APIImporterReady. */
static const char *condition(struct bench *b)
{
    const struct json *v = NULL;

    (void)ask_api(&b->fleet.rig, "GET", CLUSTERS "/east", "", &v);
    json_for_each (c, json_path(v, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "APIImporterReady"))
            return arena_printf(b->fleet.rig.arena, "%.*s %.*s", STR_ARG(json_get_str(c, "status")),
                                STR_ARG(json_get_str(c, "reason")));
    return "-";
}

static bool comes(struct bench *b, const char *want)
{
    for (int i = 0; i < 800; i++) {
        if (strcmp(condition(b), want) == 0)
            return true;
        (void)usleep(10000);
    }
    printf("# got %s, want %s\n", condition(b), want);
    return false;
}

TEST(members_that_lie)
{
    static const struct {
        enum fake_mode mode;
        const char *want;
    } rows[] = {
        { FAKE_GARBAGE, "False ErrorPullingAPIs" },
        { FAKE_SICK, "False ErrorPullingAPIs" },
        { FAKE_HUGE, "False ErrorPullingAPIs" },
        { FAKE_REDIRECTS, "False ErrorPullingAPIs" },
        { FAKE_HEALTHY, "True " }, /* it has nothing that is wanted */
        { FAKE_ECHO, "True " },    /* documents of another kind */
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        const struct json *list = NULL;
        struct bench b;

        bench_open(&b, rows[i].mode);
        add_kcp_cluster(&b);
        if (!CHECK(comes(&b, rows[i].want)))
            printf("# row %zu\n", i);
        CHECK(ask_api(&b.fleet.rig, "GET", IMPORTS, "", &list) == 200);
        CHECK(json_len(json_get(list, STR("items"))) == 0);
        bench_close(&b);
    }
}
