/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/instance.h"

#include "rest_fixture.h"
#include "store_wrap.h"

static const char *make(struct rig *r, const char *name)
{
    return rig_do(r, VERB_CREATE, "", "instances", "", "",
                  arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

static struct instance find(struct rig *r, const char *name)
{
    struct instance i = { 0 };
    struct status st;

    status_init(&st, r->arena);
    epoch_enter();
    if (instance_find(rest_instances(r->rest), r->arena, str_of(name), &i, &st) < 0)
        CHECK(status_is(&st, REASON_NOT_FOUND) && i.id == 0);
    epoch_exit();
    return i;
}

TEST(ids_are_not_given_twice_across_restarts)
{
    char dir[] = RIG_DIR;
    uint32_t last = 0;

    REQUIRE(mkdtemp(dir));
    for (int start = 0; start < 4; start++) {
        struct rig *r = rig_on(rig_engine(dir));

        for (int i = 0; i < 3; i++) {
            const char *name = arena_printf(r->arena, "i-%d-%d", start, i);
            uint32_t id;

            CHECK_STR(make(r, name), arena_printf(r->arena, "201 %s", name));
            id = find(r, name).id;
            CHECK(id > last && id >= INSTANCE_FIRST);
            last = id;
            /* The highest goes before the restart: only the counter remembers it. */
            if (i == 2)
                CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", name, ""), "200 Success");
        }
        if (start)
            CHECK(find(r, arena_printf(r->arena, "i-%d-0", start - 1)).id > 0);
        rig_free(r);
    }
    rig_remove(dir);
}

TEST(root_stays_the_same_across_restarts)
{
    char dir[] = RIG_DIR;
    char uid[64] = "", ns[64] = "";

    REQUIRE(mkdtemp(dir));
    for (int start = 0; start < 2; start++) {
        struct rig *r = rig_on(rig_engine(dir));
        struct instance root = find(r, "");
        const struct json *v = rig_get(r, "", "namespaces", "", "default");

        CHECK(root.id == INSTANCE_ROOT && root.name.n == 0);
        CHECK(start == 0 || str_is(root.uid, uid));
        CHECK(start == 0 || strcmp(ns, rig_field(r, v, "metadata.uid")) == 0);
        (void)snprintf(uid, sizeof(uid), "%.*s", STR_ARG(root.uid));
        (void)snprintf(ns, sizeof(ns), "%s", rig_field(r, v, "metadata.uid"));
        rig_free(r);
    }
    rig_remove(dir);
}

TEST(types_keep_their_ids_across_restarts)
{
    char dir[] = RIG_DIR;
    uint32_t ids[2][RIG_KINDS];

    REQUIRE(mkdtemp(dir));
    for (int start = 0; start < 2; start++) {
        struct rig *r = rig_on(rig_engine(dir));

        for (int i = 0; i < RIG_KINDS; i++)
            ids[start][i] = r->kinds[i].type_id;
        rig_free(r);
    }
    CHECK(memcmp(ids[0], ids[1], sizeof(ids[0])) == 0);
    CHECK(ids[0][0] >= TYPE_FIRST && ids[0][0] != ids[0][1] && ids[0][1] != ids[0][2]);
    rig_remove(dir);
}

TEST(many_ids_are_reserved_ahead)
{
    struct rig *r = rig_new();
    uint32_t last = 0, id;
    struct status st;

    status_init(&st, r->arena);
    for (int i = 0; i < 10000; i++) {
        REQUIRE(instance_new_id(rest_instances(r->rest), &id, &st) == 0);
        REQUIRE(id > last);
        last = id;
    }
    rig_free(r);
}

TEST(ids_that_cannot_be_reserved_are_not_given)
{
    struct wrap *w = wrap_new(model_open());
    struct rig *r = rig_on(&w->store);
    struct status st;
    uint32_t id, last = 0;
    int given = 0;

    status_init(&st, r->arena);
    wrap_hold(w);
    while (instance_new_id(rest_instances(r->rest), &id, &st) == 0) {
        last = id;
        given++;
    }
    CHECK(given > 1000);
    CHECK(status_is(&st, REASON_UNAVAILABLE) && st.retry_after_s == 1);
    status_reset(&st);
    CHECK(instance_new_id(rest_instances(r->rest), &id, &st) < 0);
    status_reset(&st);
    wrap_unhold(w);
    CHECK(instance_new_id(rest_instances(r->rest), &id, &st) == 0 && id == last + 1);
    rig_free(r);
}

static const char *name_at(struct rig *r, uint32_t id, uint64_t rev)
{
    str name = STR_NONE;
    struct status st;

    status_init(&st, r->arena);
    if (instance_name(rest_instances(r->rest), r->arena, id, rev, &name, &st) < 0)
        return status_reason(&st);
    return str_z(r->arena, name);
}

TEST(an_instance_is_known_by_name_and_id)
{
    struct rig *r = rig_new();
    struct instance i;
    uint64_t rev;

    CHECK_STR(make(r, "one"), "201 one");
    rev = store_head(r->store);
    i = find(r, "one");
    CHECK(i.id >= INSTANCE_FIRST && str_is(i.name, "one") && !i.terminating);
    CHECK(i.created_rev == rev && str_is(i.created, "2020-01-02T03:04:05Z"));
    CHECK_STR(name_at(r, i.id, 0), "one");
    CHECK_STR(name_at(r, INSTANCE_ROOT, 0), "root");
    CHECK_STR(name_at(r, 4711, 0), "NotFound");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "one", ""), "200 Success");
    CHECK_STR(name_at(r, i.id, 0), "NotFound");
    CHECK_STR(name_at(r, i.id, rev), "one");
    CHECK(find(r, "one").id == 0);
    rig_free(r);
}

TEST(a_new_instance_has_the_four_namespaces)
{
    struct rig *r = rig_new();
    const struct json *one, *two;
    int code;

    CHECK_STR(make(r, "one"), "201 one");
    clock_jump(&r->clock, 1577934300000000);
    CHECK_STR(make(r, "two"), "201 two");
    CHECK_STR(rig_do(r, VERB_LIST, "one", "namespaces", "", "", ""),
              "200 default kube-node-lease kube-public kube-system");
    one = rig_get(r, "one", "namespaces", "", "default");
    two = rig_ask(rig_call(r, VERB_GET, "two", "namespaces", "", "default", ""), &code);
    CHECK(code == 200);
    CHECK(strcmp(rig_field(r, one, "metadata.uid"), rig_field(r, two, "metadata.uid")) != 0);
    CHECK_STR(rig_field(r, one, "metadata.creationTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(rig_field(r, two, "metadata.creationTimestamp"), "2020-01-02T03:05:00Z");
    CHECK_STR(rig_field(r, two, "metadata.resourceVersion"),
              arena_printf(r->arena, "%llu", (unsigned long long)store_head(r->store)));
    rig_free(r);
}

TEST(the_first_write_makes_a_row_of_its_own)
{
    struct rig *r = rig_new();
    const struct json *before, *after;
    struct rig_call *c;
    uint64_t head;

    CHECK_STR(make(r, "one"), "201 one");
    before = rig_get(r, "one", "namespaces", "", "default");
    head = store_head(r->store);
    c = rig_call(r, VERB_PATCH, "one", "namespaces", "", "default",
                 "{\"metadata\":{\"labels\":{}}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 default");
    CHECK(store_head(r->store) == head); /* nothing changed, nothing is written */
    c = rig_call(r, VERB_PATCH, "one", "namespaces", "", "default",
                 "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    c->req.patch_type = PATCH_MERGE;
    after = rig_ask(c, NULL);
    CHECK(store_head(r->store) == head + 1);
    CHECK_STR(rig_field(r, after, "metadata.labels.l"), "1");
    CHECK_STR(rig_field(r, after, "metadata.uid"), rig_field(r, before, "metadata.uid"));
    CHECK_STR(rig_field(r, after, "metadata.creationTimestamp"),
              rig_field(r, before, "metadata.creationTimestamp"));
    CHECK(!json_path(rig_get(r, "", "namespaces", "", "default"), "metadata.labels.l"));
    rig_free(r);
}

TEST(a_deleted_default_is_hidden_and_can_be_made_again)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    const char *name = "kube-node-lease";

    CHECK_STR(make(r, "one"), "201 one");
    CHECK_STR(rig_do(r, VERB_DELETE, "one", "namespaces", "", name, ""), "200 Success");
    CHECK_STR(rig_do(r, VERB_GET, "one", "namespaces", "", name, ""), "404 NotFound");
    CHECK_STR(rig_do(r, VERB_LIST, "one", "namespaces", "", "", ""),
              "200 default kube-public kube-system");
    c = rig_call(r, VERB_LIST, "one", "namespaces", "", "", "");
    c->req.list.label_selector = STR("kubernetes.io/metadata.name=kube-node-lease");
    CHECK_STR(rig_answer(c), "200");
    CHECK_STR(rig_do(r, VERB_GET, "", "namespaces", "", name, ""), "200 kube-node-lease");
    CHECK_STR(rig_do(r, VERB_CREATE, "one", "namespaces", "", "",
                     "{\"metadata\":{\"name\":\"kube-node-lease\"}}"),
              "201 kube-node-lease");
    CHECK_STR(rig_do(r, VERB_CREATE, "one", "namespaces", "", "",
                     "{\"metadata\":{\"name\":\"kube-node-lease\"}}"),
              "409 AlreadyExists");
    CHECK_STR(rig_do(r, VERB_CREATE, "one", "namespaces", "", "",
                     "{\"metadata\":{\"name\":\"default\"}}"),
              "409 AlreadyExists");
    rig_free(r);
}

TEST(the_end_of_an_instance)
{
    struct rig *r = rig_new();
    struct rig_call *late;

    CHECK_STR(make(r, "one"), "201 one");
    CHECK_STR(
        rig_do(r, VERB_CREATE, "one", "things", "default", "", "{\"metadata\":{\"name\":\"a\"}}"),
        "201 a");
    late =
        rig_call(r, VERB_CREATE, "one", "things", "default", "", "{\"metadata\":{\"name\":\"b\"}}");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "one", ""), "200 Success");
    CHECK_STR(rig_do(r, VERB_LIST, "*", "things", "", "", ""), "200");
    /* Looked up before the end, it comes after it. */
    CHECK_STR(rig_answer(late), "404 NotFound");
    CHECK_STR(make(r, "one"), "201 one");
    CHECK_STR(rig_do(r, VERB_LIST, "one", "things", "", "", ""), "200");
    rig_free(r);
}

TEST(finalizers_hold_an_instance_which_takes_no_writes)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    static const char *const thing = "{\"metadata\":{\"name\":\"a\"}}";

    CHECK_STR(rig_do(r, VERB_CREATE, "", "instances", "", "",
                     "{\"metadata\":{\"name\":\"one\",\"finalizers\":[\"example.com/x\"]}}"),
              "201 one");
    CHECK_STR(rig_do(r, VERB_CREATE, "one", "things", "default", "", thing), "201 a");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "one", ""), "200 one");
    CHECK(find(r, "one").terminating);
    CHECK_STR(rig_do(r, VERB_GET, "one", "things", "default", "a", ""), "200 a");
    CHECK_STR(rig_do(r, VERB_DELETE, "one", "things", "default", "a", ""), "403 Forbidden");
    CHECK_STR(rig_do(r, VERB_UPDATE, "one", "things", "default", "a", thing), "403 Forbidden");
    CHECK_STR(rig_do(r, VERB_CREATE, "one", "things", "default", "", thing), "403 Forbidden");
    CHECK_STR(rig_do(r, VERB_DELETE_COLLECTION, "one", "things", "default", "", ""),
              "403 Forbidden");
    c = rig_call(r, VERB_PATCH, "", "instances", "", "one", "{\"metadata\":{\"finalizers\":null}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 one");
    CHECK(find(r, "one").id == 0);
    CHECK_STR(rig_do(r, VERB_LIST, "*", "things", "", "", ""), "200");
    rig_free(r);
}

TEST(the_annotation_of_the_instance_is_ours)
{
    struct rig *r = rig_new();
    const struct json *v;

    (void)rig_make(r, "a", ",\"annotations\":{\"kairship.io/instance\":\"evil\"}}}");
    v = rig_get(r, "", "things", "default", "a");
    CHECK(!json_path(v, "metadata.annotations"));
    (void)rig_do(r, VERB_UPDATE, "", "things", "default", "a",
                 "{\"metadata\":{\"name\":\"a\",\"annotations\":{\"kairship.io/instance\":\"evil\","
                 "\"b\":\"c\"}}}");
    v = rig_get(r, "", "things", "default", "a");
    CHECK(json_len(json_path(v, "metadata.annotations")) == 1);
    v = rig_ask(rig_call(r, VERB_LIST, "*", "things", "", "", ""), NULL);
    v = json_path(json_at(json_get(v, STR("items")), 0), "metadata.annotations");
    CHECK(json_len(v) == 2);
    CHECK_STR(str_z(r->arena, json_str(json_get(v, STR("kairship.io/instance")))), "root");
    rig_free(r);
}

TEST(types_get_numbers_for_ever_one_by_one_or_many_at_once)
{
    struct rig *r = rig_new();
    struct type_batch b = { .store = r->store, .arena = r->arena };
    uint32_t ids[100], again, one;
    struct status st;
    uint64_t head;

    status_init(&st, r->arena);
    CHECK(type_id(r->store, STR("g"), STR("r7"), &one, &st) == 0);
    head = store_head(r->store);
    for (size_t i = 0; i < 100; i++) {
        str plural = str_printf(r->arena, "r%zu", i);

        REQUIRE(type_batch_id(&b, STR("g"), plural, &ids[i], &st) == 0);
        for (size_t j = 0; j < i; j++)
            CHECK(ids[j] != ids[i]);
    }
    CHECK(ids[7] == one && store_head(r->store) == head);
    CHECK(type_batch_commit(&b, &st) == 0);
    CHECK(store_head(r->store) == head + 2);
    CHECK(type_id(r->store, STR("g"), STR("r99"), &again, &st) == 0 && again == ids[99]);
    CHECK(type_id(r->store, STR("g"), STR("other"), &again, &st) == 0 && again > ids[99]);
    rig_free(r);
}

/* Both would be indexed as k-x, and who may read one would read the other. */
TEST(two_instances_never_share_a_virtual_cluster)
{
    char dir[] = RIG_DIR;
    struct rig *r;

    REQUIRE(mkdtemp(dir));
    r = rig_on(rig_engine(dir));
    CHECK_STR(make(r, "x"), "201 x");
    CHECK_STR(make(r, "k-x"), "422 Invalid");
    CHECK_STR(make(r, "k-y"), "201 k-y");
    CHECK_STR(make(r, "y"), "422 Invalid");
    CHECK_STR(make(r, "k-k-y"), "201 k-k-y");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "x", ""), "200 Success");
    CHECK_STR(make(r, "k-x"), "201 k-x");
    rig_free(r);
    rig_remove(dir);
}
