/* SPDX-License-Identifier: Apache-2.0 */

/* Instances of a running server in the index: what was acknowledged is found after waiting. */

#include "search/search.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "federation/controllers/frame/controller.h"
#include "search/search_index.h"
#include "server_rig.h"
#include "tap.h"

struct searched {
    struct rig rig;
    struct search *search;
    search_rights_fn *rights;
    char dir[32];
};

static uint64_t head(void *arg)
{
    return store_head(&((struct searched *)arg)->rig.host->wrap->store);
}

static bool served(void *arg, uint64_t revision)
{
    struct rig *r = &((struct searched *)arg)->rig;

    return server_local_watched(r->host->server, r->host->loop) >= revision;
}

static void start_search(struct searched *s)
{
    struct rig *r = &s->rig;

    s->search = search_new(&(struct search_options){ .dir = s->dir,
                                                     .clock = clock_real(),
                                                     .rights = s->rights,
                                                     .instances = true,
                                                     .head = head,
                                                     .served = served,
                                                     .store_arg = s },
                           &r->st);
    if (!s->search)
        exit(1);
    search_start(s->search, r->client, NULL);
}

static void stop_search(struct searched *s)
{
    search_stop(s->search);
    search_free(s->search);
}

static void open_all(struct searched *s)
{
    *s = (struct searched){ .dir = "/tmp/search_collect.XXXXXX" };
    if (!mkdtemp(s->dir))
        exit(1);
    rig_open(&s->rig);
    start_search(s);
}

static void close_all(struct searched *s)
{
    static const char *const names[] = { "search.db", "search.db-wal", "search.db-shm" };

    stop_search(s);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlink(arena_printf(s->rig.arena, "%s/%s", s->dir, names[i]));
    (void)rmdir(s->dir);
    rig_close(&s->rig);
}

/* Slow machines: longer than people would wait. */
static bool settled(struct searched *s)
{
    return search_wait(s->search, 20000);
}

static struct search_found find(struct searched *s, const char *cluster, const char *labels)
{
    str name = str_of(cluster);
    struct search_find f = { .clusters = &name,
                             .rights = &search_rights_all,
                             .nclusters = cluster ? 1 : 0,
                             .resource = STR("configmaps"),
                             .label_selector = str_of(labels),
                             .count = true };
    struct search_found out = { 0 };

    if (search_find(s->search, s->rig.arena, &f, &out, &s->rig.st) < 0)
        exit(1);
    return out;
}

/* How many there are, or -1 while the index cannot be read. */
static int find_quietly(struct searched *s, const char *labels)
{
    scoped_arena a = arena_new();
    str name = STR("k-one");
    struct search_find f = { .clusters = &name,
                             .rights = &search_rights_all,
                             .nclusters = 1,
                             .resource = STR("configmaps"),
                             .label_selector = str_of(labels) };
    struct search_found out = { 0 };
    struct status st;

    status_init(&st, a);
    return search_find(s->search, a, &f, &out, &st) < 0 ? -1 : (int)out.n;
}

static void new_instance(struct searched *s, const char *name)
{
    char *body = arena_printf(s->rig.arena,
                              "{\"kind\":\"Instance\",\"apiVersion\":\"tenancy.kairship.io/"
                              "v1alpha1\",\"metadata\":{\"name\":\"%s\"}}",
                              name);

    CHECK(ask_api(&s->rig, "POST", "/apis/tenancy.kairship.io/v1alpha1/instances", body, NULL) ==
          200);
}

static void make_map(struct searched *s, const char *instance, const char *name)
{
    char *path =
        arena_printf(s->rig.arena, "/clusters/%s/api/v1/namespaces/default/configmaps", instance);
    char *body = arena_printf(
        s->rig.arena, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%s\"}}}", name, name);

    CHECK(ask_api(&s->rig, "POST", path, body, NULL) == 200);
}

TEST(what_was_written_is_read)
{
    struct searched s;
    struct search_found f;

    open_all(&s);
    new_instance(&s, "one");
    new_instance(&s, "k-two");
    REQUIRE(settled(&s));
    for (int i = 0; i < 50; i++) {
        char *name = arena_printf(s.rig.arena, "m%d", i);

        make_map(&s, i % 2 ? "one" : "k-two", name);
        REQUIRE(settled(&s));
        CHECK(find(&s, i % 2 ? "k-one" : "k-two", arena_printf(s.rig.arena, "l=m%d", i)).n == 1);
    }
    f = find(&s, "k-one", "");
    CHECK(f.n == 25 && f.total == 25);
    CHECK(str_contains(f.items[0].json, STR("\"shadow.clusterpedia.io/cluster-name\":\"k-one\"")));
    CHECK(!str_contains(f.items[0].json, STR("kairship.io/instance")));
    CHECK(find(&s, NULL, "").n == 0); /* hidden */
    CHECK(ask_api(&s.rig, "DELETE", "/clusters/one/api/v1/namespaces/default/configmaps/m1", "",
                  NULL) == 200);
    REQUIRE(settled(&s));
    CHECK(find(&s, "k-one", "").total == 24);
    close_all(&s);
}

TEST(a_restart_of_search_sees_what_it_missed)
{
    struct searched s;

    open_all(&s);
    new_instance(&s, "one");
    make_map(&s, "one", "a");
    make_map(&s, "one", "b");
    REQUIRE(settled(&s));
    stop_search(&s);
    make_map(&s, "one", "c");
    CHECK(ask_api(&s.rig, "DELETE", "/clusters/one/api/v1/namespaces/default/configmaps/a", "",
                  NULL) == 200);
    start_search(&s);
    REQUIRE(settled(&s));
    CHECK(find(&s, "k-one", "l=c").n == 1);
    CHECK(find(&s, "k-one", "l=a").n == 0);
    CHECK(find(&s, "k-one", "").total == 2);
    close_all(&s);
}

/* Within ten seconds: it goes on where it was, and says so. */
static bool is_up_to_date(struct searched *s, const char *cluster)
{
    struct search_cluster c;

    for (int i = 0; i < 2000; i++) {
        search_cluster_state(s->search, s->rig.arena, str_of(cluster), &c);
        if (c.known && c.healthy)
            return true;
        (void)usleep(5000);
    }
    return false;
}

TEST(a_restart_does_not_make_instances_stale)
{
    struct searched s;

    open_all(&s);
    new_instance(&s, "one");
    REQUIRE(settled(&s));
    CHECK(is_up_to_date(&s, "k-one"));
    stop_search(&s);
    start_search(&s);
    CHECK(is_up_to_date(&s, "k-one"));
    new_instance(&s, "two");
    REQUIRE(settled(&s));
    CHECK(is_up_to_date(&s, "k-two"));
    close_all(&s);
}

#define CRDS "apis/apiextensions.k8s.io/v1/customresourcedefinitions"

static void make_crd(struct searched *s, const char *instance, const char *kind)
{
    char *path = arena_printf(s->rig.arena, "/clusters/%s/" CRDS, instance);
    char *body = arena_printf(
        s->rig.arena,
        "{\"metadata\":{\"name\":\"widgets.g.io\"},\"spec\":{\"group\":\"g.io\",\"scope\":"
        "\"Namespaced\",\"names\":{\"plural\":\"widgets\",\"kind\":\"%s\",\"shortNames\":[\"wg\"]},"
        "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
        "\"openAPIV3Schema\":{\"type\":\"object\"}}}]}}",
        kind);

    CHECK(ask_api(&s->rig, "POST", path, body, NULL) == 200);
}

static bool make_widget(struct searched *s, const char *instance, const char *kind,
                        const char *name)
{
    char *path = arena_printf(s->rig.arena, "/clusters/%s/apis/g.io/v1/namespaces/default/widgets",
                              instance);
    char *body = arena_printf(
        s->rig.arena, "{\"apiVersion\":\"g.io/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"}}",
        kind, name);

    for (int i = 0; i < 1000; i++) { /* until the CRD is established */
        if (ask_api(&s->rig, "POST", path, body, NULL) == 200)
            return true;
        (void)usleep(5000);
    }
    return false;
}

static struct search_found widgets(struct searched *s, const char *cluster)
{
    str name = str_of(cluster);
    struct search_find f = { .clusters = &name,
                             .rights = &search_rights_all,
                             .nclusters = cluster ? 1 : 0,
                             .show_virtual = true,
                             .group = STR("g.io"),
                             .resource = STR("widgets"),
                             .count = true };
    struct search_found out = { 0 };

    if (search_find(s->search, s->rig.arena, &f, &out, &s->rig.st) < 0)
        exit(1);
    return out;
}

/* The last of its kind takes the rows with it. */
static bool widgets_come_to(struct searched *s, size_t n)
{
    for (int i = 0; i < 1000; i++) {
        if (settled(s) && widgets(s, NULL).n == n)
            return true;
        (void)usleep(5000);
    }
    return false;
}

TEST(kinds_of_instances_come_and_go_with_their_crds)
{
    struct searched s;
    struct search_found f;

    open_all(&s);
    s.rig.own = client_new(server_local_transport(s.rig.host->server, s.rig.host->loop,
                                                  STR("system:kairship:crd-controller")));
    s.rig.controller = controller_start(&crd_controller, s.rig.own);
    new_instance(&s, "one");
    new_instance(&s, "two");
    make_crd(&s, "one", "Widget");
    REQUIRE(make_widget(&s, "one", "Widget", "a"));
    REQUIRE(settled(&s));
    f = widgets(&s, "k-one");
    REQUIRE(f.n == 1 && f.total == 1);
    CHECK(str_starts(f.items[0].json, STR("{\"kind\":\"Widget\",\"apiVersion\":\"g.io/v1\"")) ||
          str_contains(f.items[0].json, STR("\"kind\":\"Widget\"")));
    make_crd(&s, "two", "Widget");
    REQUIRE(make_widget(&s, "two", "Widget", "b"));
    REQUIRE(settled(&s));
    CHECK(widgets(&s, "k-two").n == 1);
    CHECK(widgets(&s, NULL).total == 2);

    stop_search(&s);
    REQUIRE(make_widget(&s, "two", "Widget", "c"));
    start_search(&s);
    REQUIRE(settled(&s));
    CHECK(widgets(&s, "k-two").n == 2);

    CHECK(ask_api(&s.rig, "DELETE", "/clusters/one/" CRDS "/widgets.g.io", "", NULL) == 200);
    CHECK(widgets_come_to(&s, 2));
    CHECK(ask_api(&s.rig, "DELETE", "/clusters/two/" CRDS "/widgets.g.io", "", NULL) == 200);
    CHECK(widgets_come_to(&s, 0));
    controller_stop(s.rig.controller);
    close_all(&s);
}

TEST(damage_while_it_runs_is_repaired)
{
    struct searched s;
    char rubbish[4096];
    int fd;

    open_all(&s);
    new_instance(&s, "one");
    make_map(&s, "one", "a");
    REQUIRE(settled(&s));
    CHECK(find(&s, "k-one", "l=a").n == 1);
    memset(rubbish, 'x', sizeof(rubbish));
    fd = open(arena_printf(s.rig.arena, "%s/search.db-wal", s.dir), O_WRONLY | O_TRUNC);
    REQUIRE(fd >= 0);
    (void)close(fd);
    fd = open(arena_printf(s.rig.arena, "%s/search.db", s.dir), O_WRONLY);
    REQUIRE(fd >= 0);
    for (int i = 0; i < 256; i++)
        CHECK(write(fd, rubbish, sizeof(rubbish)) == (ssize_t)sizeof(rubbish));
    (void)close(fd);
    make_map(&s, "one", "b");
    for (int i = 0; i < 2000 && find_quietly(&s, "l=b") != 1; i++)
        (void)usleep(5000);
    REQUIRE(settled(&s));
    CHECK(find(&s, "k-one", "l=a").n == 1);
    CHECK(find(&s, "k-one", "l=b").n == 1);
    close_all(&s);
}

/* A row that was collected for a cluster m1 of that uid. */
static void leave_row(struct searched *s, const char *uid)
{
    struct search_index_type t = { .version = STR("v1"),
                                   .resource = STR("configmaps"),
                                   .kind = STR("ConfigMap"),
                                   .namespaced = true };
    struct search_index_cluster m1 = { .name = STR("m1"), .uid = str_of(uid) };
    struct entry_kind kind = { .resource = STR("configmaps") };
    struct search_index *index = search_index_open(s->dir, &s->rig.st);
    struct search_index_batch *b;
    const struct json *map;

    REQUIRE(index);
    if (json_parse(s->rig.arena,
                   STR("{\"metadata\":{\"name\":\"old\",\"namespace\":\"d\",\"uid\":\"u\","
                       "\"resourceVersion\":\"7\"}}"),
                   NULL, &map, &s->rig.st) < 0)
        exit(1);
    t.id = search_index_type_put(index, &t);
    search_index_cluster_put(index, &m1);
    b = search_index_batch_new(index);
    search_index_put(b, t.id, STR("m1"), &kind, map);
    search_index_at(b, t.id, STR("m1"), STR("7"));
    search_index_submit(b, NULL, NULL);
    search_index_close(index);
}

/* Within ten seconds m1 has been looked at, and this many rows are there. */
static bool m1_has(struct searched *s, size_t n)
{
    struct search_cluster state = { .known = false };

    for (int i = 0; i < 2000; i++) {
        search_cluster_state(s->search, s->rig.arena, STR("m1"), &state);
        if (state.known && !str_contains(state.reason, STR("since the start")) &&
            find(s, "m1", "").n == n)
            return true;
        (void)usleep(5000);
    }
    return false;
}

TEST(a_cluster_has_no_rows_of_one_that_had_its_name)
{
    static const char path[] = "/apis/fleet.kairship.io/v1alpha1/clusters";
    const struct json *m1 = NULL;
    struct searched s;

    open_all(&s);
    stop_search(&s);
    CHECK(ask_api(
              &s.rig, "POST", path,
              "{\"metadata\":{\"name\":\"m1\"},\"spec\":{\"apiEndpoint\":\"https://127.0.0.1:1\"}}",
              &m1) == 200);
    leave_row(&s, str_z(s.rig.arena, json_get_str(m1, "metadata.uid")));
    start_search(&s);
    CHECK(m1_has(&s, 1)); /* it cannot be reached: what is known of it is shown */
    stop_search(&s);
    leave_row(&s, "of-another");
    start_search(&s);
    CHECK(m1_has(&s, 0));
    stop_search(&s);
    start_search(&s); /* and this one's uid was kept with that */
    CHECK(m1_has(&s, 0));
    close_all(&s);
}

/* ---- questions at the doors of instances ---- */

static sem_t gate; /* whoever asks waits here for what they may see */
static atomic_int given, refused;

static int gated_rights(void *arg, struct arena *a, const struct identity *who, str instance,
                        struct search_rights *out, struct status *st)
{
    (void)arg;
    (void)a;
    (void)who;
    (void)instance;
    (void)out;
    (void)st;
    while (sem_wait(&gate) < 0)
        ;
    return 0; /* nothing: 403 */
}

static void give(struct mount_call *c, const struct status *st)
{
    bool full = status_is(st, REASON_TOO_MANY_REQUESTS);

    arena_free(c->arena); /* with the call */
    (void)atomic_fetch_add(full ? &refused : &given, 1);
}

static const struct mount_ops gated_ops = { .fail = give };

struct asking {
    struct searched *s;
    const char *instance;
};

static void ask_gated(void *arg) /* on the loop */
{
    const struct asking *q = arg;
    struct mount m = search_mount(q->s->search);
    struct arena *a = arena_new();
    struct mount_call *c = arena_new_of(a, struct mount_call);

    *c = (struct mount_call){ .ops = &gated_ops,
                              .arena = a,
                              .loop = q->s->rig.host->loop,
                              .method = STR("GET"),
                              .path = STR("/apis/clusterpedia.io/v1beta1/resources/api/v1/pods"),

                              .instance = str_of(q->instance),
                              .who = { .user = STR("rob") } };
    m.serve(m.arg, c);
}

static void ask_at(struct searched *s, const char *instance)
{
    struct asking q = { s, instance };

    loop_call_wait(s->rig.host->loop, ask_gated, &q);
}

static bool come_to(int want)
{
    for (int i = 0; i < 2000 && given < want; i++)
        (void)usleep(5000);
    return given == want;
}

TEST(an_instance_leaves_places_for_others)
{
    enum { MAX = 16 };
    struct searched s = { .dir = "/tmp/search_collect.XXXXXX", .rights = gated_rights };

    (void)sem_init(&gate, 0, 0);
    REQUIRE(mkdtemp(s.dir));
    rig_open(&s.rig);
    start_search(&s);
    for (int i = 0; i < MAX + 5; i++)
        ask_at(&s, "one");
    CHECK(refused == 5);
    ask_at(&s, "two");
    CHECK(refused == 5);
    for (int i = 0; i < MAX + 1; i++)
        (void)sem_post(&gate);
    CHECK(come_to(MAX + 1));
    ask_at(&s, "one");
    (void)sem_post(&gate);
    CHECK(come_to(MAX + 2));
    CHECK(refused == 5);
    close_all(&s);
    (void)sem_destroy(&gate);
}

TEST(names_of_virtual_clusters)
{
    scoped_arena a = arena_new();

    CHECK(str_is(search_cluster_name(a, STR("x")), "k-x"));
    CHECK(str_is(search_cluster_name(a, STR("k-x")), "k-x"));
}
