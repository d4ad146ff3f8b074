/* SPDX-License-Identifier: Apache-2.0 */
#include "search/search_index.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "search/select.h"
#include "tap.h"

struct rig {
    struct arena *arena;
    struct search_index *search_index;
    struct status st;
    int64_t pods, hidden;
    char dir[32];
};

static const struct entry_kind pod = { STR_INIT(""), STR_INIT("pods") };

static void rig_start(struct rig *r)
{
    struct search_index_type t = {
        .version = STR("v1"), .resource = STR("pods"), .kind = STR("Pod"), .namespaced = true
    };

    r->search_index = search_index_open(r->dir, &r->st);
    if (!r->search_index)
        exit(1);
    r->pods = search_index_type_put(r->search_index, &t);
    t.hidden = true;
    r->hidden = search_index_type_put(r->search_index, &t);
}

static void rig_open(struct rig *r)
{
    *r = (struct rig){ .arena = arena_new(), .dir = "/tmp/search_depot.XXXXXX" };
    status_init(&r->st, r->arena);
    if (!mkdtemp(r->dir))
        exit(1);
    rig_start(r);
}

static void rig_close(struct rig *r)
{
    static const char *const names[] = { "search.db", "search.db-wal", "search.db-shm" };

    search_index_close(r->search_index);
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        (void)unlink(arena_printf(r->arena, "%s/%s", r->dir, names[i]));
    (void)rmdir(r->dir);
    arena_free(r->arena);
}

static void put(struct rig *r, struct search_index_batch *b, int64_t type, const char *cluster,
                const char *text)
{
    const struct json *v;

    if (json_parse(r->arena, str_of(text), NULL, &v, &r->st) < 0)
        exit(1);
    search_index_put(b, type, str_of(cluster), &pod, v);
}

static void release(void *arg)
{
    (void)sem_post(arg);
}

/* Until it is in. */
static void submit(struct search_index_batch *b)
{
    sem_t done;

    (void)sem_init(&done, 0, 0);
    search_index_submit(b, release, &done);
    while (sem_wait(&done) < 0)
        ;
    (void)sem_destroy(&done);
}

static char *pod_text(struct rig *r, const char *name, const char *label, const char *phase,
                      int version)
{
    return arena_printf(r->arena,
                        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"%s\","
                        "\"namespace\":\"d\",\"uid\":\"u-%s\",\"resourceVersion\":\"%d\","
                        "\"creationTimestamp\":\"2024-01-02T15:04:05Z\",\"labels\":{\"app\":"
                        "\"%s\"},\"managedFields\":[{}],\"annotations\":{\"a\\\"b\":\"c\","
                        "\"kubectl.kubernetes.io/last-applied-configuration\":\"secret\"}},"
                        "\"spec\":{\"nodeName\":\"n\",\"deep\":{\"x\":7,\"s\":\"q\\\"r\"}},"
                        "\"status\":{\"phase\":\"%s\"}}",
                        name, name, version, label, phase);
}

struct names {
    struct arena *arena;
    str all;
};

static bool add_name(void *arg, const struct select_row *row)
{
    struct names *n = arg;

    n->all = str_printf(n->arena, "%.*s%s%.*s/%.*s", STR_ARG(n->all), n->all.n ? " " : "",
                        STR_ARG(row->cluster), STR_ARG(row->name));
    return true;
}

static const char *find_as(struct rig *r, const char *query, const struct search_rights *rights,
                           uint64_t *count)
{
    struct search_index_type type = { .id = r->pods, .resource = STR("pods") };
    struct select_scope scope = {
        .types = &type, .ntypes = 1, .rights = rights, .hash = search_index_hash(r->search_index)
    };
    struct names n = { .arena = r->arena };
    struct search_index_reader *reader = search_index_reader_take(r->search_index, &r->st);
    struct query q;

    if (!reader || query_parse(r->arena, str_of(query), &q, &r->st) < 0 ||
        select_rows(reader, r->arena, &q, &scope, add_name, &n, &r->st) < 0 ||
        select_count(reader, r->arena, &q, &scope, count, &r->st) < 0)
        exit(1);
    search_index_reader_give(r->search_index, reader);
    return str_z(r->arena, n.all);
}

static const char *find(struct rig *r, const char *query)
{
    uint64_t count;

    return find_as(r, query, &search_rights_all, &count);
}

static void fill(struct rig *r)
{
    struct search_index_batch *b = search_index_batch_new(r->search_index);

    search_index_list_begin(b, r->pods, STR("c1"));
    put(r, b, r->pods, "c1", pod_text(r, "web-1", "web", "Running", 1));
    put(r, b, r->pods, "c1", pod_text(r, "web-2", "web", "Failed", 2));
    put(r, b, r->pods, "c1", pod_text(r, "api", "api", "Running", 3));
    search_index_list_end(b, r->pods, STR("c1"));
    search_index_at(b, r->pods, STR("c1"), STR("3"));
    put(r, b, r->pods, "c2", pod_text(r, "web-1", "web", "Running", 9));
    put(r, b, r->hidden, "k-x", pod_text(r, "web-9", "web", "Running", 9));
    submit(b);
}

TEST(entries_are_text_that_can_be_looked_into)
{
    scoped_arena a = arena_new();
    struct entry_hash h = { 1, 2 };
    const str phase[] = { STR("status"), STR("phase") },
              odd[] = { STR("spec"), STR("deep"), STR("s") };
    const str note[] = { STR("metadata"), STR("annotations"), STR("a\\\"b") };
    const str none[] = { STR("spec"), STR("nodeName"), STR("x") };
    const struct json *v;
    struct rig r = { .arena = a };
    struct entry e;
    struct status st;
    str value;

    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(pod_text(&r, "x", "y", "Z", 5)), NULL, &v, &st) == 0);
    REQUIRE(entry_make(a, &h, &pod, v, &e));
    CHECK(e.version == 5 && e.created == 1704207845 && e.uid != 0 && e.owner == 0);
    CHECK(!str_contains(e.text, STR("managedFields")));
    CHECK(!str_contains(e.text, STR("last-applied")));
    REQUIRE(entry_field_text(a, e.text, e.meta, phase, 2, &value));
    CHECK(str_is(value, "Z"));
    REQUIRE(entry_field_text(a, e.text, e.meta, odd, 3, &value));
    CHECK(str_is(value, "q\"r"));
    CHECK(entry_field(e.text, e.meta, note, 3, &value));
    CHECK(!entry_field(e.text, e.meta, none, 3, &value));
}

TEST(secrets_have_no_values)
{
    static const struct entry_kind hidden = { STR_INIT(""), STR_INIT("secrets") };
    scoped_arena a = arena_new();
    struct entry_hash h = { 1, 2 };
    const struct json *v;
    struct status st;
    struct entry e;

    status_init(&st, a);
    REQUIRE(json_parse(a,
                       STR("{\"metadata\":{\"name\":\"s\"},\"type\":\"Opaque\",\"data\":{\"k\":"
                           "\"aGlkZGVu\"},\"stringData\":{\"l\":\"hidden\"}}"),
                       NULL, &v, &st) == 0);
    REQUIRE(entry_make(a, &h, &hidden, v, &e));
    CHECK(!str_contains(e.text, STR("aGlkZGVu")) && !str_contains(e.text, STR("hidden")));
    CHECK(str_contains(e.text, STR("\"type\":\"Opaque\"")));
}

TEST(nor_are_credentials_that_stand_elsewhere)
{
    static const struct {
        struct entry_kind kind;
        const char *text;
    } rows[] = {
        { { STR_INIT("work.karmada.io"), STR_INIT("works") },
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"workload\":{\"manifests\":[{\"kind\":"
          "\"Secret\",\"data\":{\"k\":\"hidden\"}}]},\"seen\":1}}" },
        { { STR_INIT("workload.kcp.dev"), STR_INIT("clusters") },
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"kubeconfig\":\"hidden\",\"seen\":1}}" },
        { { STR_INIT("cluster.clusterpedia.io"), STR_INIT("pediaclusters") },
          "{\"metadata\":{\"name\":\"s\"},\"spec\":{\"kubeconfig\":\"hidden\",\"tokenData\":"
          "\"hidden\",\"keyData\":\"hidden\",\"seen\":1}}" },
    };
    struct entry_hash h = { 1, 2 };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        scoped_arena a = arena_new();
        const struct json *v;
        struct status st;
        struct entry e;

        status_init(&st, a);
        REQUIRE(json_parse(a, str_of(rows[i].text), NULL, &v, &st) == 0);
        REQUIRE(entry_make(a, &h, &rows[i].kind, v, &e));
        CHECK(!str_contains(e.text, STR("hidden")) && str_contains(e.text, STR("\"seen\":1")));
    }
}

TEST(what_is_put_is_found)
{
    struct rig r;

    rig_open(&r);
    fill(&r);
    CHECK_STR(find(&r, ""), "c1/api c1/web-1 c1/web-2 c2/web-1");
    CHECK_STR(find(&r, "clusters=c1&orderby=name%20desc"), "c1/web-2 c1/web-1 c1/api");
    CHECK_STR(find(&r, "labelSelector=app%3Dweb"), "c1/web-1 c1/web-2 c2/web-1");
    CHECK_STR(find(&r, "labelSelector=app!%3Dweb"), "c1/api");
    CHECK_STR(find(&r, "labelSelector=app"), "c1/api c1/web-1 c1/web-2 c2/web-1");
    CHECK_STR(find(&r, "labelSelector=!app"), "");
    CHECK_STR(find(&r, "labelSelector=app%20in%20(api,none)"), "c1/api");
    CHECK_STR(find(&r, "fieldSelector=status.phase%3DFailed"), "c1/web-2");
    CHECK_STR(find(&r, "fieldSelector=spec.deep.x%3D7,status.phase!%3DRunning"), "c1/web-2");
    CHECK_STR(find(&r, "fieldSelector=spec.none!%3D1&limit=1&continue=3"), "c2/web-1");
    CHECK_STR(find(&r, "labelSelector=internalstorage.clusterpedia.io/fuzzy-name%3Deb-2"),
              "c1/web-2");
    CHECK_STR(find(&r, "labelSelector=internalstorage.clusterpedia.io/fuzzy-name%3Dp"), "c1/api");
    CHECK_STR(find(&r, "names=web-1"), "c1/web-1 c2/web-1");
    rig_close(&r);
}

TEST(changes_and_deletions_are_followed)
{
    struct rig r;
    struct search_index_batch *b;
    uint64_t n;

    rig_open(&r);
    fill(&r);
    b = search_index_batch_new(r.search_index);
    put(&r, b, r.pods, "c1", pod_text(&r, "web-1", "new", "Running", 10));
    search_index_delete(b, r.pods, STR("c2"), STR("d"), STR("web-1"));
    submit(b);
    CHECK_STR(find(&r, "labelSelector=app%3Dnew"), "c1/web-1");
    CHECK_STR(find(&r, "labelSelector=app%3Dweb"), "c1/web-2");
    CHECK_STR(find_as(&r, "", &search_rights_all, &n), "c1/api c1/web-1 c1/web-2");
    CHECK(n == 3);
    /* A list without them: they are gone. */
    b = search_index_batch_new(r.search_index);
    search_index_list_begin(b, r.pods, STR("c1"));
    put(&r, b, r.pods, "c1", pod_text(&r, "web-2", "web", "Failed", 2));
    search_index_list_end(b, r.pods, STR("c1"));
    submit(b);
    CHECK_STR(find_as(&r, "", &search_rights_all, &n), "c1/web-2");
    CHECK(n == 1);
    CHECK_STR(find(&r, "labelSelector=internalstorage.clusterpedia.io/fuzzy-name%3Dapi"), "");
    b = search_index_batch_new(r.search_index);
    search_index_drop(b, 0, STR("c1"));
    submit(b);
    CHECK_STR(find_as(&r, "", &search_rights_all, &n), "");
    CHECK(n == 0);
    rig_close(&r);
}

/* Values are values: each of these would find everything, or end the table, if it were spliced. */
TEST(class_sql_splicing_values_stay_values)
{
    const struct search_grant mine = { STR("c2' OR '1'='1"), listable_everything };
    const struct listable_rule odd = { STR("d') OR 1=1 --"), STR("*"), STR("*"), false };
    const struct search_grant splices = { STR("c2"), { &odd, 1 } };
    const struct search_rights some = { .grants = &mine, .ngrants = 1 };
    const struct search_rights parts = { .grants = &splices, .ngrants = 1 };
    static const char *const bad[] = {
        "names=x'%20OR%20'1'%3D'1",
        "clusters=c1'%20OR%201%3D1%20--",
        "namespaces=d')%3BDROP%20TABLE%20objects%3B--",
        "labelSelector=internalstorage.clusterpedia.io/fuzzy-name%3Dx_y",
        "fieldSelector=status.phase%3D'%20OR%20'1'%3D'1",
        "fieldSelector=spec.deep['x'%3B--]%3D7",
        "whereSQL=1%3D1&names=none",
    };
    struct rig r;
    uint64_t n;

    rig_open(&r);
    fill(&r);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct query q;

        if (query_parse(r.arena, str_of(bad[i]), &q, &r.st) < 0) {
            status_reset(&r.st);
            continue;
        }
        CHECK_STR(find(&r, bad[i]), "");
    }
    CHECK_STR(find_as(&r, "", &some, &n), "");
    CHECK_STR(find_as(&r, "", &parts, &n), "");
    CHECK(n == 0);
    CHECK_STR(find(&r, ""), "c1/api c1/web-1 c1/web-2 c2/web-1");
    rig_close(&r);
}

TEST(rights_are_in_the_query)
{
    const struct search_grant mine = { STR("c2"), listable_everything };
    const struct search_rights some = { .grants = &mine, .ngrants = 1 };
    const struct search_rights none = { .ngrants = 0 };
    struct rig r;
    uint64_t n;

    rig_open(&r);
    fill(&r);
    CHECK_STR(find_as(&r, "", &some, &n), "c2/web-1");
    CHECK(n == 1);
    CHECK_STR(find_as(&r, "labelSelector=app%3Dweb", &some, &n), "c2/web-1");
    CHECK(n == 1);
    CHECK_STR(find_as(&r, "clusters=c1", &some, &n), "");
    CHECK(n == 0);
    CHECK_STR(find_as(&r, "", &none, &n), "");
    CHECK(n == 0);
    rig_close(&r);
}

TEST(deep_pages)
{
    struct rig r;
    struct search_index_batch *b;

    rig_open(&r);
    b = search_index_batch_new(r.search_index);
    for (int i = 0; i < 3000; i++) {
        char *text = arena_printf(r.arena,
                                  "{\"metadata\":{\"name\":\"p%04d\",\"namespace\":\"n%d\","
                                  "\"resourceVersion\":\"%d\"}}",
                                  i, i / 100, i + 1);

        put(&r, b, r.pods, "c1", text);
    }
    submit(b);
    CHECK_STR(find(&r, "limit=2&continue=100"), "c1/p0100 c1/p0101");
    CHECK_STR(find(&r, "limit=1&continue=2999"), "c1/p0999");
    CHECK_STR(find(&r, "limit=1&continue=1599"),
              "c1/p2299"); /* n10 follows n1; passed over by counts */
    CHECK_STR(find(&r, "limit=1&continue=3000"), "");
    CHECK_STR(find(&r, "limit=1&continue=2000&orderby=name"), "c1/p2000");
    rig_close(&r);
}

/* Against the same answer without steps: a label that all have is a condition. */
static void same_as_walked(struct rig *r, const char *order, unsigned offset)
{
    char *plain = arena_printf(r->arena, "orderby=%s&limit=3&continue=%u", order, offset);
    char *walked = arena_printf(r->arena, "%s&labelSelector=all", plain);

    CHECK_STR(find(r, plain), find(r, walked));
}

/* Every fifth is of a name that many have. */
static const char *name_of(struct rig *r, unsigned i)
{
    return i % 5 ? arena_printf(r->arena, "p%04u", i * 7919 % 3000) : "same";
}

TEST(deep_pages_in_the_order_of_names)
{
    static const char *const orders[] = { "name", "name%20desc", "name,cluster%20desc" };
    static const unsigned offsets[] = { 511, 512, 513, 1700, 2999, 4100, 5997, 6000 };
    struct search_index_batch *b;
    struct rig r;

    rig_open(&r);
    b = search_index_batch_new(r.search_index);
    for (unsigned i = 0; i < 6000; i++)
        put(&r, b, r.pods, i < 3000 ? "c1" : "c2",
            arena_printf(r.arena,
                         "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"n%u\",\"labels\":{"
                         "\"all\":\"\"},\"resourceVersion\":\"%u\"}}",
                         name_of(&r, i), i, i + 1));
    submit(b);
    for (unsigned round = 0; round < 3; round++) {
        for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
            for (size_t j = 0; j < sizeof(offsets) / sizeof(*offsets); j++)
                same_as_walked(&r, orders[i], offsets[j]);
        if (round == 0) {
            b = search_index_batch_new(r.search_index);
            for (unsigned i = 0; i < 2000; i++)
                search_index_delete(b, r.pods, STR("c1"), str_of(arena_printf(r.arena, "n%u", i)),
                                    str_of(name_of(&r, i)));
            submit(b);
        } else if (round == 1) { /* as the file has it */
            search_index_close(r.search_index);
            rig_start(&r);
        }
    }
    CHECK_STR(find(&r, "orderby=name&limit=1&continue=3999"), "c2/same");
    rig_close(&r);
}

TEST(a_list_of_all_hidden_clusters_leaves_those_alone_that_are_apart)
{
    struct rig r;
    struct search_index_batch *b;
    struct search_index_cluster c = { .name = STR("k-far"), .hidden = true, .apart = true };
    scoped_arena a = arena_new();
    size_t n;

    rig_open(&r);
    search_index_cluster_put(r.search_index, &c);
    c = (struct search_index_cluster){ .name = STR("k-near"), .hidden = true };
    search_index_cluster_put(r.search_index, &c);
    b = search_index_batch_new(r.search_index);
    search_index_list_begin(b, r.hidden, STR("k-far"));
    put(&r, b, r.hidden, "k-far", pod_text(&r, "p", "l", "Running", 1));
    search_index_list_end(b, r.hidden, STR("k-far"));
    search_index_at(b, r.hidden, STR("k-far"), STR("7"));
    put(&r, b, r.hidden, "k-near", pod_text(&r, "q", "l", "Running", 1));
    submit(b);
    (void)search_index_types_of(r.search_index, a, STR("k-near"), &n);
    CHECK(n == 0);
    b = search_index_batch_new(r.search_index);
    search_index_list_begin(b, r.hidden, STR_NONE);
    search_index_list_end(b, r.hidden, STR_NONE);
    submit(b);
    search_index_close(r.search_index);
    rig_start(&r);
    r.pods = r.hidden;
    CHECK_STR(find(&r, ""), "k-far/p");
    CHECK(search_index_cluster(r.search_index, a, STR("k-far"), &c) && c.hidden && c.apart);
    (void)search_index_types_of(r.search_index, a, STR("k-far"), &n);
    CHECK(n == 1);
    rig_close(&r);
}

TEST(a_restart_goes_on_and_damage_starts_anew)
{
    struct rig r;
    scoped_arena a = arena_new();
    int fd;

    rig_open(&r);
    fill(&r);
    search_index_close(r.search_index);
    rig_start(&r);
    CHECK_STR(find(&r, "labelSelector=app%3Dapi"), "c1/api");
    CHECK(str_is(search_index_synced(r.search_index, a, STR("c1"), r.pods), "3"));
    search_index_close(r.search_index);
    fd = open(arena_printf(a, "%s/search.db", r.dir), O_WRONLY | O_TRUNC);
    REQUIRE(fd >= 0);
    CHECK(write(fd, "rubbish and no database at all", 30) == 30);
    (void)close(fd);
    rig_start(&r);
    CHECK_STR(find(&r, ""), "");
    CHECK(str_empty(search_index_synced(r.search_index, a, STR("c1"), r.pods)));
    rig_close(&r);
}

/* Health that is not known is not told from an earlier run; instances are collected together. */
TEST(health_after_a_restart)
{
    struct search_index_cluster member = { .name = STR("c1"), .healthy = true },
                                instance = { .name = STR("k-x"), .hidden = true },
                                apart = { .name = STR("k-far"),
                                          .hidden = true,
                                          .apart = true,
                                          .healthy = true },
                                together = { .healthy = true, .hidden = true }, got, *all;
    struct rig r;
    size_t n;

    rig_open(&r);
    search_index_cluster_put(r.search_index, &member);
    search_index_cluster_put(r.search_index, &instance);
    search_index_cluster_put(r.search_index, &apart);
    REQUIRE(search_index_cluster(r.search_index, r.arena, instance.name, &got));
    CHECK(!got.healthy && got.reason.n);
    search_index_cluster_put(r.search_index, &together);
    REQUIRE(search_index_cluster(r.search_index, r.arena, instance.name, &got));
    CHECK(got.healthy && got.hidden);
    (void)search_index_unhealthy(r.search_index, r.arena, &n);
    CHECK(n == 0);
    submit(search_index_batch_new(r.search_index));

    search_index_close(r.search_index);
    rig_start(&r);
    all = search_index_unhealthy(r.search_index, r.arena, &n);
    CHECK(n == 2 && all[0].reason.n && all[1].reason.n);
    REQUIRE(search_index_cluster(r.search_index, r.arena, instance.name, &got));
    CHECK(!got.healthy && got.reason.n);
    search_index_cluster_put(r.search_index, &together);
    search_index_cluster_put(r.search_index, &member);
    REQUIRE(search_index_cluster(r.search_index, r.arena, instance.name, &got));
    CHECK(got.healthy);
    all = search_index_unhealthy(r.search_index, r.arena, &n);
    CHECK(n == 1 && str_is(all[0].name, "k-far"));
    {
        struct search_index_batch *b = search_index_batch_new(r.search_index);

        search_index_drop(b, 0, apart.name);
        submit(b);
    }
    (void)search_index_unhealthy(r.search_index, r.arena, &n);
    CHECK(n == 0);
    rig_close(&r);
}
