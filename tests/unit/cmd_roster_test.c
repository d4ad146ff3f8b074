/* SPDX-License-Identifier: Apache-2.0 */

/* The registry is read when it has changed, and then at once. */

#include "cmd/roster.h"

#include "server_rig.h"
#include "tap.h"

#define CLUSTERS "/apis/fleet.kairship.io/v1alpha1/clusters"

struct rolls {
    struct rig rig;
    struct roster roster;
    const struct roster_cluster *clusters; /* of the last look */
};

/* "m1:demo,other k-x:demo", as it is now. */
static const char *look(struct rolls *r)
{
    struct arena *a = r->rig.arena;
    str out = STR_NONE;
    size_t n;

    if (!CHECK(roster_get(&r->roster, r->rig.client, a, &r->clusters, &n, &r->rig.st) == 0))
        return "";
    for (size_t i = 0; i < n; i++) {
        const struct roster_cluster *c = &r->clusters[i];

        out = str_printf(a, "%.*s%s%.*s%s", STR_ARG(out), i ? " " : "", STR_ARG(c->name),
                         c->member ? ":" : "*");
        for (size_t k = 0; k < c->ninstances; k++)
            out = str_printf(a, "%.*s%s%.*s", STR_ARG(out), k ? "," : "", STR_ARG(c->instances[k]));
    }
    return str_z(a, out);
}

static void joins(struct rolls *r, const char *name, const char *instances)
{
    const char *body = arena_printf(r->rig.arena, "{\"status\":{\"instances\":[%s]}}", instances);
    struct client_ref ref = { .group = STR("fleet.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("clusters"),
                              .name = str_of(name),
                              .subresource = STR("status") };
    const struct json *patch, *now;
    struct client_request req;

    REQUIRE(json_parse(r->rig.arena, str_of(body), NULL, &patch, &r->rig.st) == 0);
    req = client_request_patch(r->rig.arena, &ref, NULL, CLIENT_PATCH_MERGE, patch);
    CHECK(client_do(r->rig.client, r->rig.arena, &req, &now, &r->rig.st) == 0);
}

TEST(the_registry_as_it_is_now)
{
    const struct roster_cluster *before;
    struct rolls r;

    rig_open(&r.rig);
    roster_init(&r.roster, &r.rig.host->wrap->store);
    CHECK_STR(look(&r), "");
    CHECK(ask_api(&r.rig, "POST", CLUSTERS, "{\"metadata\":{\"name\":\"m1\"}}", NULL) == 200);
    CHECK(ask_api(&r.rig, "POST", CLUSTERS,
                  "{\"metadata\":{\"name\":\"k-x\"},\"spec\":{\"type\":\"Virtual\",\"instance\":"
                  "\"x\"}}",
                  NULL) == 200);
    CHECK_STR(look(&r), "m1:"); /* who stands for an instance and has joined none, is left out */
    for (int i = 0; i < 20; i++) {
        joins(&r, "m1", i % 2 ? "\"demo\"" : "\"demo\",\"other\"");
        CHECK_STR(look(&r), i % 2 ? "m1:demo" : "m1:demo,other");
    }
    before = r.clusters;
    CHECK_STR(look(&r), "m1:demo");
    CHECK(r.clusters == before); /* not read again */
    joins(&r, "k-x", "\"demo\"");
    CHECK_STR(look(&r), "k-x*demo m1:demo");
    CHECK(ask_api(&r.rig, "DELETE", CLUSTERS "/m1", "", NULL) == 200);
    CHECK_STR(look(&r), "k-x*demo");
    CHECK(str_is(before[0].name, "m1")); /* what was given lives on */
    roster_release(&r.roster);
    rig_close(&r.rig);
}
