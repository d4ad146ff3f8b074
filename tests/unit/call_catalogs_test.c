/* SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdatomic.h>

#include "apiserver/call/catalogs.h"
#include "kinds/kinds.h"
#include "rest/instance.h"
#include "server_fixture.h"

/* What instances serve while their CRDs come, change and go. */

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

enum { ASKERS = 3, ROUNDS = 80 };

static void request(struct host *h, const char *method, const char *path, const char *body,
                    const char *expected)
{
    struct ask *a = ask_body(ask(h, method, path), body);

    ask_header(a, "content-type",
               strcmp(method, "PATCH") == 0 ? "application/merge-patch+json" : "application/json");
    CHECK_STR(answer(a), expected);
    ask_free(a);
}

/* As the controller of CRDs does, which does not run here. */
static void establish(struct host *h, const char *instance, const char *plural, const char *kind)
{
    request(h, "PATCH",
            arena_printf(h->arena, "/clusters/%s" CRDS "/%s.g.io/status", instance, plural),
            arena_printf(h->arena,
                         "{\"status\":{\"acceptedNames\":{\"plural\":\"%s\",\"kind\":\"%s\"},"
                         "\"conditions\":[{\"type\":\"Established\",\"status\":\"True\","
                         "\"reason\":\"x\",\"message\":\"\"}]}}",
                         plural, kind),
            "200");
}

static const char *versions(struct host *h, unsigned maximum)
{
    return arena_printf(h->arena,
                        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,"
                        "\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{"
                        "\"n\":{\"type\":\"integer\",\"maximum\":%u}}}}}]",
                        maximum);
}

static void make_crd(struct host *h, const char *instance, const char *plural, const char *kind)
{
    request(
        h, "POST", arena_printf(h->arena, "/clusters/%s" CRDS, instance),
        arena_printf(h->arena,
                     "{\"metadata\":{\"name\":\"%s.g.io\"},\"spec\":{\"group\":\"g.io\","
                     "\"scope\":\"Namespaced\",\"names\":{\"plural\":\"%s\",\"kind\":\"%s\"},%s}}",
                     plural, plural, kind, versions(h, 1)),
        "201");
    establish(h, instance, plural, kind);
}

static void change_crd(struct host *h, const char *instance, const char *plural, unsigned maximum)
{
    request(h, "PATCH", arena_printf(h->arena, "/clusters/%s" CRDS "/%s.g.io", instance, plural),
            arena_printf(h->arena, "{\"spec\":{%s}}", versions(h, maximum)), "200");
}

/* It lives as long as the arena. */
static const struct catalog *catalog_of(struct host *h, struct arena *a, const char *instance)
{
    struct instance i;
    struct status st;

    status_init(&st, a);
    epoch_enter();
    CHECK(instance_find(rest_instances(h->server->rest), a, str_of(instance), &i, &st) == 0);
    epoch_exit();
    return catalogs_make(h->server->catalogs, a, &i);
}

static const struct kind *kind_of(const struct catalog *c, const char *plural)
{
    return catalog_find(c, STR("g.io"), STR("v1"), str_of(plural));
}

TEST(what_did_not_change_stays_and_equal_instances_share_it)
{
    struct host *h = host_new(0, 0);
    const struct catalog *c, *other;
    const struct kind *widgets;
    uint64_t serial;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(make_instance(h, "two"), "201");
    make_crd(h, "one", "widgets", "Widget");
    make_crd(h, "two", "widgets", "Widget");
    c = catalog_of(h, h->arena, "one");
    other = catalog_of(h, h->arena, "two");
    widgets = kind_of(c, "widgets");
    CHECK(widgets && widgets->serial);
    CHECK(c == other);

    make_crd(h, "one", "gizmos", "Gizmo");
    c = catalog_of(h, h->arena, "one");
    CHECK(c != other);
    CHECK(c->nkinds == other->nkinds + 1);
    CHECK(kind_of(c, "widgets") == widgets); /* neither read nor compiled again */
    CHECK(kind_of(c, "gizmos") != NULL);

    serial = widgets->serial;
    change_crd(h, "one", "widgets", 7);
    c = catalog_of(h, h->arena, "one");
    CHECK(kind_of(c, "widgets")->serial != serial);
    CHECK(kind_of(catalog_of(h, h->arena, "two"), "widgets") == widgets);
    host_free(h);
}

TEST(each_kind_of_a_catalog_is_found_in_it)
{
    struct host *h = host_new(0, 0);
    const struct catalog *c;

    CHECK_STR(make_instance(h, "one"), "201");
    make_crd(h, "one", "widgets", "Widget");
    c = catalog_of(h, h->arena, "one");
    for (size_t i = 0; i < c->nkinds; i++)
        CHECK(catalog_find(c, c->kinds[i]->group, c->kinds[i]->version, c->kinds[i]->plural) ==
              c->kinds[i]);
    host_free(h);
}

/* ---- many at once ---- */

struct asker {
    pthread_t thread;
    struct host *host;
    const char *instance;
    atomic_bool *over;
    unsigned long asked, odd;
};

static void *keep_asking(void *arg)
{
    struct asker *k = arg;

    while (!atomic_load(k->over)) {
        scoped_arena a = arena_new();
        const struct catalog *c = catalog_of(k->host, a, k->instance);

        for (size_t i = 0; i < c->nkinds; i++)
            k->odd += c->kinds[i]->kind.n == 0 || c->kinds[i]->schema == NULL;
        k->odd += c->nkinds < kinds_catalog_instance()->nkinds;
        k->asked++;
    }
    return NULL;
}

TEST(catalogs_are_whole_while_crds_change)
{
    struct host *h = host_new(0, 0);
    atomic_bool over = false;
    struct asker askers[ASKERS];
    const struct catalog *c;

    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(make_instance(h, "two"), "201");
    make_crd(h, "one", "widgets", "Widget");
    make_crd(h, "two", "widgets", "Widget");
    for (int i = 0; i < ASKERS; i++) {
        askers[i] = (struct asker){ .host = h, .instance = i % 2 ? "two" : "one", .over = &over };
        CHECK(pthread_create(&askers[i].thread, NULL, keep_asking, &askers[i]) == 0);
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        const char *plural = arena_printf(h->arena, "gizmos%u", i);

        change_crd(h, i % 2 ? "two" : "one", "widgets", i + 2);
        if (i % 8 == 0)
            make_crd(h, "one", plural, arena_printf(h->arena, "Gizmo%u", i));
        request(h, "GET", "/clusters/one/apis/g.io/v1/widgets", "", "200");
    }
    atomic_store(&over, true);
    for (int i = 0; i < ASKERS; i++) {
        CHECK(pthread_join(askers[i].thread, NULL) == 0);
        CHECK(askers[i].asked > 0);
        CHECK(askers[i].odd == 0);
    }
    c = catalog_of(h, h->arena, "one");
    CHECK(c->nkinds == kinds_catalog_instance()->nkinds + 1 + ROUNDS / 8);
    host_free(h);
}
