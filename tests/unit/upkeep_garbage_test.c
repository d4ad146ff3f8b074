/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/garbage.h"
#include "server_rig.h"

/* Garbage collection in a whole server, through the API. */

static void rig_init(struct rig *r)
{
    rig_open(r);
    garbage_start(r->host->server->garbage, r->host->loop);
}

static void rig_free(struct rig *r)
{
    garbage_stop(r->host->server->garbage);
    rig_close(r);
}

#define NS   "/api/v1/namespaces/default/"
#define MAPS NS "configmaps"

/* The uid of a ConfigMap that was just made; `more` is added to its metadata. */
static const char *make(struct rig *r, const char *prefix, const char *name, const char *more)
{
    const struct json *v = NULL;
    const char *body = arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"%s}}", name, more);

    CHECK(ask_api(r, "POST", arena_printf(r->arena, "%s" MAPS, prefix), body, &v) == 200);
    return str_z(r->arena, json_get_str(v, "metadata.uid"));
}

static const char *owner(struct rig *r, const char *name, const char *uid, const char *more)
{
    return arena_printf(
        r->arena,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"name\":\"%s\",\"uid\":\"%s\""
        "%s}",
        name, uid, more);
}

static const char *owned_by(struct rig *r, const char *one, const char *two)
{
    return arena_printf(r->arena, ",\"ownerReferences\":[%s%s%s]", one, two ? "," : "",
                        two ? two : "");
}

static int get(struct rig *r, const char *name)
{
    return ask_api(r, "GET", arena_printf(r->arena, MAPS "/%s", name), "", NULL);
}

static bool comes_to(struct rig *r, const char *name, int code)
{
    for (int i = 0; i < 1000; i++) {
        if (get(r, name) == code)
            return true;
        (void)usleep(5000);
    }
    return false;
}

static int drop(struct rig *r, const char *name, const char *policy)
{
    return ask_api(r, "DELETE", arena_printf(r->arena, MAPS "/%s", name),
                   arena_printf(r->arena,
                                "{\"kind\":\"DeleteOptions\",\"apiVersion\":\"v1\","
                                "\"propagationPolicy\":\"%s\"}",
                                policy),
                   NULL);
}

TEST(what_belongs_to_an_object_goes_with_it)
{
    struct rig r;
    const char *a, *b;

    rig_init(&r);
    a = make(&r, "", "a", "");
    b = make(&r, "", "b", owned_by(&r, owner(&r, "a", a, ""), NULL));
    (void)make(&r, "", "c", owned_by(&r, owner(&r, "b", b, ""), NULL));
    (void)make(&r, "", "free", "");
    CHECK(drop(&r, "a", "Background") == 200);
    CHECK(comes_to(&r, "b", 404));
    CHECK(comes_to(&r, "c", 404));
    CHECK(get(&r, "free") == 200);
    rig_free(&r);
}

TEST(endpoints_go_with_the_service_of_their_name)
{
    static const char *const body =
        "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"clusterIP\":\"None\"}}";
    struct rig r;
    int code = 200;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", NS "services", body, NULL) == 200);
    for (const char *name = "so"; *name; name++)
        CHECK(ask_api(&r, "POST", NS "endpoints",
                      arena_printf(r.arena, "{\"metadata\":{\"name\":\"%c\"}}", *name),
                      NULL) == 200);
    CHECK(ask_api(&r, "DELETE", NS "services/s", "", NULL) == 200);
    for (int i = 0; i < 1000 && code != 404; i++) {
        code = ask_api(&r, "GET", NS "endpoints/s", "", NULL);
        (void)usleep(5000);
    }
    CHECK(code == 404);
    CHECK(ask_api(&r, "GET", NS "endpoints/o", "", NULL) == 200);
    rig_free(&r);
}

TEST(who_has_another_owner_stays_and_loses_the_one)
{
    struct rig r;
    const struct json *v = NULL;
    const char *a, *b;

    rig_init(&r);
    a = make(&r, "", "a", "");
    b = make(&r, "", "b", "");
    (void)make(&r, "", "c", owned_by(&r, owner(&r, "a", a, ""), owner(&r, "b", b, "")));
    CHECK(drop(&r, "a", "Background") == 200);
    for (int i = 0; i < 1000; i++) {
        CHECK(ask_api(&r, "GET", MAPS "/c", "", &v) == 200);
        if (json_len(json_path(v, "metadata.ownerReferences")) == 1)
            break;
        (void)usleep(5000);
    }
    CHECK(str_is(json_get_str(json_at(json_path(v, "metadata.ownerReferences"), 0), "name"), "b"));
    CHECK(drop(&r, "b", "Background") == 200);
    CHECK(comes_to(&r, "c", 404));
    rig_free(&r);
}

TEST(foreground_waits_for_those_that_block)
{
    struct rig r;
    const struct json *v = NULL;
    const char *a;

    rig_init(&r);
    a = make(&r, "", "a", "");
    (void)make(&r, "", "held",
               arena_printf(r.arena, "%s,\"finalizers\":[\"example.com/x\"]",
                            owned_by(&r, owner(&r, "a", a, ",\"blockOwnerDeletion\":true"), NULL)));
    (void)make(&r, "", "quick", owned_by(&r, owner(&r, "a", a, ""), NULL));
    CHECK(drop(&r, "a", "Foreground") == 200);
    CHECK(comes_to(&r, "quick", 404));
    CHECK(ask_api(&r, "GET", MAPS "/a", "", &v) == 200);
    CHECK(json_path(v, "metadata.deletionTimestamp") != NULL);
    CHECK(ask_api(&r, "PATCH", MAPS "/held", "{\"metadata\":{\"finalizers\":null}}", NULL) == 200);
    CHECK(comes_to(&r, "held", 404));
    CHECK(comes_to(&r, "a", 404));
    rig_free(&r);
}

TEST(orphans_stay_without_the_owner)
{
    struct rig r;
    const struct json *v = NULL;
    const char *a;

    rig_init(&r);
    a = make(&r, "", "a", "");
    (void)make(&r, "", "b", owned_by(&r, owner(&r, "a", a, ""), NULL));
    CHECK(drop(&r, "a", "Orphan") == 200);
    CHECK(comes_to(&r, "a", 404));
    CHECK(ask_api(&r, "GET", MAPS "/b", "", &v) == 200);
    CHECK(json_len(json_path(v, "metadata.ownerReferences")) == 0);
    rig_free(&r);
}

TEST(an_owner_that_never_was_or_is_another_now_counts_as_gone)
{
    struct rig r;

    rig_init(&r);
    (void)make(&r, "", "a", "");
    (void)make(&r, "", "b",
               owned_by(&r, owner(&r, "a", "11111111-1111-1111-1111-111111111111", ""), NULL));
    (void)make(&r, "", "c",
               owned_by(&r, owner(&r, "nobody", "22222222-2222-2222-2222-222222222222", ""), NULL));
    CHECK(comes_to(&r, "b", 404));
    CHECK(comes_to(&r, "c", 404));
    CHECK(get(&r, "a") == 200);
    rig_free(&r);
}

TEST(what_a_dead_process_left_is_done_by_the_next)
{
    struct rig r;
    const char *a;

    rig_init(&r);
    garbage_stop(r.host->server->garbage);
    a = make(&r, "", "a", "");
    (void)make(&r, "", "b", owned_by(&r, owner(&r, "a", a, ""), NULL));
    CHECK(drop(&r, "a", "Background") == 200);
    CHECK(get(&r, "b") == 200);
    /* Its queue died with it: a new one knows nothing but what is stored. */
    epoch_enter();
    garbage_free(r.host->server->garbage);
    epoch_exit();
    r.host->server->garbage = garbage_new(r.host->server);
    garbage_start(r.host->server->garbage, r.host->loop);
    CHECK(comes_to(&r, "b", 404));
    rig_free(&r);
}

TEST(an_instance_is_collected_apart)
{
    struct rig r;
    const char *a;

    rig_init(&r);
    CHECK(ask_api(&r, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances",
                  "{\"metadata\":{\"name\":\"one\"}}", NULL) == 200);
    a = make(&r, "", "a", "");
    (void)make(&r, "", "b", owned_by(&r, owner(&r, "a", a, ""), NULL));
    (void)make(&r, "/clusters/one", "b", "");
    CHECK(drop(&r, "a", "Background") == 200);
    CHECK(comes_to(&r, "b", 404));
    CHECK(ask_api(&r, "GET", "/clusters/one" MAPS "/b", "", NULL) == 200);
    rig_free(&r);
}
