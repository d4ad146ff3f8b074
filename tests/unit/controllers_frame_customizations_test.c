/* SPDX-License-Identifier: Apache-2.0 */

/* Scripts of instances as they come, change and go, against a whole server. */

#include "federation/controllers/frame/customizations.h"
#include "server_rig.h"

#define RICS "/apis/config.karmada.io/v1alpha1/resourceinterpretercustomizations"

static const char *const instances[] = { "one", "two" };

static const struct json *machine(struct arena *a)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("apiVersion"), json_of_str(STR("a/v1")));
    json_add(&o, STR("kind"), json_of_str(STR("Machine")));
    return json_object_done(&o);
}

/* How many replicas a Machine has there; 0: none that anybody knows of. */
static int64_t replicas(struct rig *r, struct customizations *c, const char *instance)
{
    scoped_arena a = arena_new();
    struct interp_replicas out = { 0 };
    struct status st;

    (void)r;
    status_init(&st, a);
    if (scripts_replicas(customizations_of(c, a, str_of(instance), machine(a)), a, machine(a), &out,
                         &st) < 0)
        return -1;
    return out.replicas;
}

static bool becomes(struct rig *r, struct customizations *c, const char *instance, int64_t want)
{
    for (int i = 0; i < 1000; i++) {
        if (replicas(r, c, instance) == want)
            return true;
        (void)usleep(10000);
    }
    return false;
}

static const char *body(struct rig *r, const char *name, const char *version, int n)
{
    return arena_printf(r->arena,
                        "{\"metadata\":{\"name\":\"%s\"},\"spec\":{\"target\":{\"apiVersion\":"
                        "\"%s\",\"kind\":\"Machine\"},\"customizations\":{\"replicaResource\":"
                        "{\"luaScript\":\"function GetReplicas() return %d end\"}}}}",
                        name, version, n);
}

static struct customizations *open_all(struct rig *r)
{
    struct customizations *c;

    rig_open(r);
    for (size_t i = 0; i < 2; i++)
        CHECK(ask_api(r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                      arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}}", instances[i]),
                      NULL) == 200);
    CHECK(ask_api(r, "POST", "/clusters/one" RICS, body(r, "before", "a/v1", 1), NULL) == 200);
    r->own = client_new(server_local_transport(r->host->server, r->host->loop,
                                               STR("system:kairship:customizations")));
    c = customizations_new(r->own, STR("*"));
    CHECK(customizations_wait(c, &r->st) == 0);
    return c;
}

TEST(scripts_are_those_of_the_moment)
{
    struct rig r;
    struct customizations *c = open_all(&r);

    /* Once it is ready it knows those that were there. */
    CHECK(replicas(&r, c, "one") == 1);
    CHECK(replicas(&r, c, "two") == 0);
    CHECK(ask_api(&r, "POST", "/clusters/two" RICS, body(&r, "x", "a/v1", 2), NULL) == 200);
    CHECK(becomes(&r, c, "two", 2));
    CHECK(ask_api(&r, "PATCH", "/clusters/two" RICS "/x", body(&r, "x", "a/v1", 3), NULL) == 200);
    CHECK(becomes(&r, c, "two", 3));
    CHECK(replicas(&r, c, "one") == 1);
    /* It is about another kind now. */
    CHECK(ask_api(&r, "PATCH", "/clusters/two" RICS "/x", body(&r, "x", "a/v2", 3), NULL) == 200);
    CHECK(becomes(&r, c, "two", 0));
    CHECK(ask_api(&r, "DELETE", "/clusters/one" RICS "/before", "", NULL) == 200);
    CHECK(becomes(&r, c, "one", 0));
    customizations_free(c);
    rig_close(&r);
}

/* Without the server's check, as where an older one stored them: the first by name wins. */
TEST(of_two_the_first_wins_and_the_other_stays)
{
    struct rig r;
    struct customizations *c = open_all(&r);

    CHECK(ask_api(&r, "POST", "/clusters/one" RICS, body(&r, "alpha", "a/v1", 7), NULL) == 200);
    CHECK(becomes(&r, c, "one", 7));
    CHECK(ask_api(&r, "DELETE", "/clusters/one" RICS "/alpha", "", NULL) == 200);
    CHECK(becomes(&r, c, "one", 1));
    customizations_free(c);
    rig_close(&r);
}

TEST(what_was_found_outlives_its_customization)
{
    struct rig r;
    struct customizations *c = open_all(&r);
    scoped_arena a = arena_new();
    const struct scripts *s = customizations_of(c, a, STR("one"), machine(a));
    struct interp_replicas out = { 0 };

    CHECK(ask_api(&r, "DELETE", "/clusters/one" RICS "/before", "", NULL) == 200);
    CHECK(becomes(&r, c, "one", 0));
    customizations_free(c);
    CHECK(scripts_replicas(s, a, machine(a), &out, &r.st) == 1);
    CHECK(out.replicas == 1);
    rig_close(&r);
}
