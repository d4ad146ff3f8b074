/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/write.h"

#include <errno.h>

#include "rest_fixture.h"
#include "store_wrap.h"

static struct rig_call *patch(struct rig *r, const char *name, const char *body)
{
    struct rig_call *c = rig_call(r, VERB_PATCH, "", "things", "default", name, body);

    c->req.patch_type = PATCH_MERGE;
    return c;
}

static struct rig_call *update(struct rig *r, const char *name, const char *rest)
{
    return rig_call(r, VERB_UPDATE, "", "things", "default", name,
                    arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"%s", name, rest));
}

static const char *version_of(struct rig *r, const char *name)
{
    return rig_field(r, rig_get(r, "", "things", "default", name), "metadata.resourceVersion");
}

static const char *field_of(struct rig *r, const char *name, const char *path)
{
    return rig_field(r, rig_get(r, "", "things", "default", name), path);
}

/* ---- create ---- */

TEST(a_created_object_has_what_the_server_gives)
{
    struct rig *r = rig_new();
    const struct json *v;
    int code;

    v = rig_ask(rig_call(r, VERB_CREATE, "", "things", "default", "",
                         "{\"metadata\":{\"name\":\"a\",\"uid\":\"mine\",\"generation\":7,"
                         "\"creationTimestamp\":\"1999-01-01T00:00:00Z\",\"deletionTimestamp\":"
                         "\"1999-01-01T00:00:00Z\"},\"spec\":{\"color\":\"red\"}}"),
                &code);
    CHECK(code == 201);
    CHECK_STR(rig_field(r, v, "kind"), "Thing");
    CHECK_STR(rig_field(r, v, "apiVersion"), "example.com/v1");
    CHECK_STR(rig_field(r, v, "metadata.namespace"), "default");
    CHECK_STR(rig_field(r, v, "metadata.generation"), "1");
    CHECK_STR(rig_field(r, v, "metadata.creationTimestamp"), "2020-01-02T03:04:05Z");
    CHECK(strlen(rig_field(r, v, "metadata.uid")) == 36);
    CHECK(!json_path(v, "metadata.deletionTimestamp"));
    CHECK_STR(rig_field(r, v, "metadata.resourceVersion"),
              arena_printf(r->arena, "%llu", (unsigned long long)store_head(r->store)));
    CHECK_STR(rig_make(r, "a", "}}"), "409 AlreadyExists");
    rig_free(r);
}

TEST(creates_that_are_refused_change_nothing)
{
    struct rig *r = rig_new();
    uint64_t head = store_head(r->store);

    CHECK_STR(rig_make(r, "A_b", "}}"), "422 Invalid");
    CHECK_STR(rig_make(r, "a", ",\"resourceVersion\":\"3\"}}"), "500 ");
    CHECK_STR(rig_make(r, "a", ",\"namespace\":\"other\"}}"), "400 BadRequest");
    CHECK_STR(
        rig_do(r, VERB_CREATE, "", "things", "nowhere", "", "{\"metadata\":{\"name\":\"a\"}}"),
        "404 NotFound");
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", "{}"), "422 Invalid");
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", "{"), "400 BadRequest");
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", "[]"), "400 BadRequest");
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", "{\"kind\":\"Other\"}"),
              "400 BadRequest");
    CHECK(store_head(r->store) == head);
    rig_free(r);
}

TEST(generated_names)
{
    struct rig *r = rig_new();
    struct rig_call *c = rig_call(r, VERB_CREATE, "", "things", "default", "",
                                  "{\"metadata\":{\"generateName\":\"gen-\"}}");
    const struct json *v = rig_ask(c, NULL);
    const char *name = rig_field(r, v, "metadata.name");

    CHECK(strncmp(name, "gen-", 4) == 0 && strlen(name) == 9);
    CHECK(strspn(name + 4, "bcdfghjklmnpqrstvwxz2456789") == 5);
    (void)rig_make(r, "a", "}}");
    v = rig_ask(rig_call(r, VERB_CREATE, "", "things", "default", "",
                         "{\"metadata\":{\"name\":\"a\",\"generateName\":\"a\"}}"),
                NULL);
    CHECK_STR(rig_field(r, v, "message"),
              "things.example.com \"a\" already exists, the server was not able to generate a "
              "unique name for the object");
    CHECK_STR(rig_field(r, v, "details.retryAfterSeconds"), "1");
    rig_free(r);
}

/* ---- races ---- */

/* Another writes the same row just before, as often as *arg says. */
static void touch_row(struct wrap *w, struct store_txn *txn)
{
    int *times = w->arg;

    if (*times > 0) {
        --*times;
        wrap_touch(w, txn->ops[0].key);
    }
}

static void steal_name(struct wrap *w, struct store_txn *txn)
{
    int *times = w->arg;

    if (*times > 0) {
        --*times;
        wrap_write(w, txn->ops[0]);
    }
}

struct contested {
    struct wrap *wrap;
    struct rig *rig;
    int times;
};

static void contest(struct contested *c, void (*before)(struct wrap *w, struct store_txn *txn),
                    int times)
{
    c->times = times;
    c->wrap->arg = &c->times;
    c->wrap->before = before;
    c->wrap->commits = 0;
}

static void contested_init(struct contested *c)
{
    c->wrap = wrap_new(model_open());
    c->rig = rig_on(&c->wrap->store);
    CHECK_STR(rig_make(c->rig, "a", "}}"), "201 a");
}

TEST(a_lost_race_is_run_again)
{
    struct contested c;

    contested_init(&c);
    contest(&c, touch_row, 3);
    CHECK_STR(rig_answer(patch(c.rig, "a", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}")), "200 a");
    CHECK(c.wrap->commits == 4);
    contest(&c, touch_row, 20); /* many others */
    CHECK_STR(rig_answer(update(c.rig, "a", ",\"labels\":{\"m\":\"2\"}}}")), "200 a");
    CHECK(c.wrap->commits == 21);
    contest(&c, touch_row, 2);
    CHECK_STR(rig_do(c.rig, VERB_DELETE, "", "things", "default", "a", ""), "200 Success");
    rig_free(c.rig);
}

TEST(a_race_that_is_always_lost_is_a_conflict)
{
    struct contested c;
    int code;

    contested_init(&c);
    contest(&c, touch_row, 1 << 30);
    (void)rig_ask(patch(c.rig, "a", "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}"), &code);
    CHECK(code == 409 && c.wrap->commits == WRITE_TRIES);
    rig_free(c.rig);
}

TEST(who_names_a_version_is_told_of_the_conflict)
{
    struct contested c;
    const char *rv;
    const struct json *v;

    contested_init(&c);
    rv = version_of(c.rig, "a");
    contest(&c, touch_row, 1);
    v = rig_ask(update(c.rig, "a",
                       arena_printf(c.rig->arena,
                                    ",\"resourceVersion\":\"%s\"},"
                                    "\"spec\":{\"size\":1}}",
                                    rv)),
                NULL);
    CHECK_STR(rig_field(c.rig, v, "message"),
              "Operation cannot be fulfilled on things.example.com \"a\": the object has been "
              "modified; please apply your changes to the latest version and try again");
    CHECK(c.wrap->commits == 1);
    rv = version_of(c.rig, "a");
    contest(&c, touch_row, 1);
    CHECK_STR(rig_answer(patch(c.rig, "a",
                               arena_printf(c.rig->arena,
                                            "{\"metadata\":{\"resourceVersion\":\"%s\",\"labels\":"
                                            "{\"l\":\"1\"}}}",
                                            rv))),
              "409 Conflict");
    contest(&c, touch_row, 0);
    CHECK_STR(rig_answer(update(c.rig, "a", ",\"resourceVersion\":\"1\"}}")), "409 Conflict");
    CHECK_STR(rig_answer(update(c.rig, "a", ",\"resourceVersion\":\"x\"}}")), "500 ");
    rig_free(c.rig);
}

TEST(a_generated_name_that_is_taken_is_generated_again)
{
    struct contested c;
    static const char *const body = "{\"metadata\":{\"generateName\":\"gen-\"}}";
    int code;

    contested_init(&c);
    contest(&c, steal_name, 3);
    (void)rig_ask(rig_call(c.rig, VERB_CREATE, "", "things", "default", "", body), &code);
    CHECK(code == 201 && c.wrap->commits == 4);
    contest(&c, steal_name, 100);
    CHECK_STR(rig_do(c.rig, VERB_CREATE, "", "things", "default", "", body), "409 AlreadyExists");
    CHECK(c.wrap->commits == GENERATE_TRIES);
    contest(&c, steal_name, 1);
    CHECK_STR(rig_make(c.rig, "b", "}}"), "409 AlreadyExists");
    rig_free(c.rig);
}

static void touch_namespace(struct wrap *w, struct store_txn *txn)
{
    int *times = w->arg;

    if (*times > 0) {
        --*times;
        wrap_touch(w, txn->ops[txn->nops - 1].key);
    }
}

static void remove_namespace(struct wrap *w, struct store_txn *txn)
{
    struct store_op op = { .kind = STORE_DELETE, .key = txn->ops[txn->nops - 1].key };
    int *times = w->arg;

    if (*times > 0) {
        --*times;
        wrap_write(w, op);
    }
}

TEST(a_create_does_not_outlive_its_namespace)
{
    struct contested c;
    static const char *const body = "{\"metadata\":{\"name\":\"a\"}}";
    const struct json *v;

    contested_init(&c);
    (void)rig_do(c.rig, VERB_CREATE, "", "namespaces", "", "", "{\"metadata\":{\"name\":\"n\"}}");
    contest(&c, touch_namespace, 1);
    CHECK_STR(rig_do(c.rig, VERB_CREATE, "", "things", "n", "", body), "201 a");
    CHECK(c.wrap->commits == 2);
    CHECK_STR(rig_do(c.rig, VERB_DELETE, "", "things", "n", "a", ""), "200 Success");
    contest(&c, remove_namespace, 1);
    v = rig_ask(rig_call(c.rig, VERB_CREATE, "", "things", "n", "", body), NULL);
    CHECK_STR(rig_field(c.rig, v, "message"), "namespaces \"n\" not found");
    CHECK_STR(rig_do(c.rig, VERB_LIST, "", "things", "n", "", ""), "200");
    rig_free(c.rig);
}

static int warnings(const struct rig_call *c, const char *text)
{
    int n = 0;

    for (const struct rest_warning *w = c->req.warnings; w; w = w->next)
        n += str_is(w->text, text);
    return n;
}

TEST(warnings_come_once_however_often_it_is_tried)
{
    struct contested c;
    struct rig_call *call;

    contested_init(&c);
    contest(&c, touch_row, 3);
    call = patch(c.rig, "a", "{\"spec\":{\"color\":\"plaid\",\"size\":1,\"size\":2},\"bogus\":1}");
    rig_start(call);
    rig_wait(c.rig);
    CHECK(call->code == 200);
    CHECK(warnings(call, "plaid is out of fashion") == 1);
    CHECK(warnings(call, "duplicate field \"spec.size\"") == 1);
    CHECK(warnings(call, "unknown field \"bogus\"") == 1);
    rig_call_free(call);
    rig_free(c.rig);
}

TEST(faults_are_told_in_kubernetes_order)
{
    static const struct {
        enum rest_body type;
        const char *body, *says;
    } table[] = {
        /* As they stand; of what is unknown nothing else is told. */
        { BODY_JSON,
          "{\"metadata\":{\"name\":\"a\"},\"nah\":{\"x\":1,\"x\":2},"
          "\"spec\":{\"size\":1,\"size\":2},\"nope\":1,\"nope\":1}",
          "unknown field \"nah\", duplicate field \"spec.size\", unknown field \"nope\"" },
        { BODY_YAML,
          "metadata:\n  name: a\nspec:\n  size: 1\n  size: 2\n  z: 1\nnah: 1\n"
          "metadata:\n  name: b\n",
          "yaml: unmarshal errors:\n  line 5: key \"size\" already set in map\n  line 9: key "
          "\"metadata\" already set in map, unknown field \"nah\", unknown field \"spec.z\"" },
        { BODY_YAML, "{\"spec\":{\"size\":1,\n\"size\":2}}",
          "yaml: unmarshal errors:\n  line 2: key \"size\" already set in map" },
    };
    struct rig *r = rig_new();

    for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
        struct rig_call *c = rig_call(r, VERB_CREATE, "", "things", "default", "", table[i].body);
        const char *message;

        c->req.body_type = table[i].type;
        c->req.write.field_validation = FIELD_STRICT;
        message = rig_field(r, rig_ask(c, NULL), "message");
        REQUIRE(strstr(message, "strict decoding error: "));
        CHECK_STR(strstr(message, "strict decoding error: ") + strlen("strict decoding error: "),
                  table[i].says);
    }
    rig_free(r);
}

TEST(many_writers_of_one_object_all_get_through)
{
    enum { WRITERS = 60 };
    char dir[] = RIG_DIR;
    struct rig *r;
    struct rig_call *calls[WRITERS];

    REQUIRE(mkdtemp(dir));
    r = rig_on(rig_engine(dir));
    (void)rig_make(r, "a", "}}");
    for (int i = 0; i < WRITERS; i++) {
        calls[i] =
            patch(r, "a", arena_printf(r->arena, "{\"metadata\":{\"labels\":{\"l%d\":\"1\"}}}", i));
        rig_start(calls[i]);
    }
    rig_wait(r);
    for (int i = 0; i < WRITERS; i++) {
        CHECK(calls[i]->code == 200);
        rig_call_free(calls[i]);
    }
    CHECK(json_len(json_path(rig_get(r, "", "things", "default", "a"), "metadata.labels")) ==
          WRITERS);
    rig_free(r);
    rig_remove(dir);
}

/* ---- updates ---- */

TEST(an_update_keeps_what_is_the_servers)
{
    struct rig *r = rig_new();
    const struct json *before, *after;

    (void)rig_make(r, "a", "},\"spec\":{\"color\":\"red\"}}");
    before = rig_get(r, "", "things", "default", "a");
    after = rig_ask(update(r, "a",
                           ",\"generation\":9,\"creationTimestamp\":\"1999-01-01T00:00:00Z\","
                           "\"labels\":{\"l\":\"1\"}},\"spec\":{\"color\":\"red\"},\"status\":"
                           "{\"phase\":\"x\"}}"),
                    NULL);
    CHECK_STR(rig_field(r, after, "metadata.uid"), rig_field(r, before, "metadata.uid"));
    CHECK_STR(rig_field(r, after, "metadata.creationTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(rig_field(r, after, "metadata.generation"), "1");
    CHECK_STR(rig_field(r, after, "metadata.labels.l"), "1");
    CHECK(!json_path(after, "status.phase"));
    CHECK_STR(rig_answer(update(r, "a", ",\"uid\":\"other\"}}")), "409 Conflict");
    CHECK_STR(rig_answer(update(r, "b", "}}")), "404 NotFound");
    CHECK_STR(
        rig_do(r, VERB_UPDATE, "", "things", "default", "a", "{\"metadata\":{\"name\":\"b\"}}"),
        "400 BadRequest");
    CHECK_STR(rig_do(r, VERB_UPDATE, "", "things", "default", "a", "{}"), "400 BadRequest");
    /* only a delete begins a deletion */
    CHECK_STR(rig_field(r,
                        rig_ask(update(r, "a",
                                       ",\"deletionTimestamp\":\"1999-01-01T00:00:00Z\","
                                       "\"deletionGracePeriodSeconds\":5}}"),
                                NULL),
                        "message"),
              "Thing.example.com \"a\" is invalid: [metadata.deletionTimestamp: Invalid value: "
              "\"1999-01-01T00:00:00Z\": field is immutable, "
              "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable]");
    rig_free(r);
}

TEST(only_a_change_of_the_spec_counts)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    const char *rv;

    (void)rig_make(r, "a", "},\"spec\":{\"size\":1}}");
    rv = version_of(r, "a");
    CHECK_STR(rig_answer(update(r, "a", "},\"spec\":{\"size\":1}}")), "200 a");
    CHECK_STR(version_of(r, "a"), rv); /* nothing changed: nothing was written */
    CHECK_STR(rig_answer(update(r, "a", "},\"spec\":{\"size\":2}}")), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "2");
    c = update(r, "a", "},\"spec\":{\"size\":9},\"status\":{\"phase\":\"x\"}}");
    c->req.subresource = STR("status");
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "2");
    CHECK_STR(field_of(r, "a", "spec.size"), "2");
    CHECK_STR(field_of(r, "a", "status.phase"), "x");
    rig_free(r);
}

/* ---- deletes ---- */

static const char *delete_with(struct rig *r, const char *name, const char *options)
{
    return rig_do(r, VERB_DELETE, "", "things", "default", name, options);
}

TEST(an_object_with_finalizers_goes_in_two_steps)
{
    struct rig *r = rig_new();
    const char *rv;

    (void)rig_make(r, "a", ",\"finalizers\":[\"example.com/x\",\"example.com/y\"]}}");
    CHECK_STR(delete_with(r, "a", ""), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(field_of(r, "a", "metadata.deletionGracePeriodSeconds"), "0");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "2");
    rv = version_of(r, "a");
    clock_jump(&r->clock, 1577934300000000);
    CHECK_STR(delete_with(r, "a", ""), "200 a");
    CHECK_STR(version_of(r, "a"), rv);
    CHECK_STR(rig_make(r, "a", "}}"), "409 AlreadyExists");
    CHECK_STR(rig_answer(patch(r, "a", "{\"metadata\":{\"finalizers\":[\"example.com/z\"]}}")),
              "422 Invalid"); /* none may join */
    CHECK_STR(rig_answer(patch(r, "a", "{\"metadata\":{\"deletionTimestamp\":null}}")), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(rig_answer(patch(r, "a", "{\"metadata\":{\"finalizers\":[\"example.com/y\"]}}")),
              "200 a");
    CHECK_STR(rig_answer(update(r, "a", "}}")), "200 a");
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "a", ""), "404 NotFound");
    rig_free(r);
}

TEST(preconditions_of_a_delete)
{
    struct rig *r = rig_new();
    const char *uid, *rv;

    (void)rig_make(r, "a", "}}");
    uid = field_of(r, "a", "metadata.uid");
    rv = version_of(r, "a");
    CHECK_STR(delete_with(r, "a", "{\"preconditions\":{\"uid\":\"x\"}}"), "409 Conflict");
    CHECK_STR(delete_with(r, "a", "{\"preconditions\":{\"resourceVersion\":\"1\"}}"),
              "409 Conflict");
    CHECK_STR(delete_with(r, "a", "{\"preconditions\":{\"uid\":\"\"}}"), "409 Conflict");
    CHECK_STR(delete_with(r, "a", "{\"kind\":\"Other\"}"), "400 BadRequest");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Sideways\"}"), "422 Invalid");
    CHECK_STR(delete_with(r, "a",
                          arena_printf(r->arena,
                                       "{\"preconditions\":{\"uid\":\"%s\","
                                       "\"resourceVersion\":\"%s\"}}",
                                       uid, rv)),
              "200 Success");
    CHECK_STR(delete_with(r, "a", ""), "404 NotFound");
    rig_free(r);
}

TEST(propagation_is_a_finalizer)
{
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "}}");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Foreground\"}"), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.finalizers"), "[\"foregroundDeletion\"]");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Orphan\"}"), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.finalizers"), "[\"orphan\"]");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Background\"}"), "200 Success");
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "a", ""), "404 NotFound");
    rig_free(r);
}

/* ---- deletecollection ---- */

static struct rig_call *delete_all(struct rig *r)
{
    return rig_call(r, VERB_DELETE_COLLECTION, "", "things", "default", "", "");
}

static void make_many(struct rig *r, int n)
{
    for (int i = 0; i < n; i++)
        (void)rig_make(r, arena_printf(r->arena, "t%04d", i),
                       i % 2 ? ",\"labels\":{\"l\":\"1\"}}}" : "}}");
}

static size_t how_many(struct rig *r)
{
    const struct json *v = rig_ask(rig_call(r, VERB_LIST, "", "things", "", "", ""), NULL);

    return json_len(json_get(v, STR("items")));
}

TEST(a_collection_is_deleted_in_windows)
{
    struct wrap *w = wrap_new(model_open());
    struct rig *r = rig_on(&w->store);
    struct rig_call *c;

    make_many(r, 200);
    wrap_hold(w);
    c = delete_all(r);
    rig_start(c);
    for (int i = 0; i < 20; i++) /* some in each turn */
        rig_turn(r);
    CHECK(wrap_held(w) == 64 && !c->done);
    wrap_unhold(w);
    rig_wait(r);
    CHECK(c->code == 200);
    CHECK(json_len(json_get(rig_tree(r, c->text), STR("items"))) == 200);
    CHECK(how_many(r) == 0);
    rig_call_free(c);
    rig_free(r);
}

TEST(history_that_goes_meanwhile_does_not_end_a_collection)
{
    struct wrap *w = wrap_new(model_open());
    struct rig *r = rig_on(&w->store);
    struct rig_call *c;

    make_many(r, 200);
    wrap_hold(w);
    c = delete_all(r);
    rig_start(c);
    for (int i = 0; i < 20; i++)
        rig_turn(r);
    wrap_write(w, (struct store_op){
                      .kind = STORE_PUT, .key = { 9999, 1, STR("other") }, .value = STR("{}") });
    store_compact(&w->store, store_head(&w->store));
    wrap_unhold(w);
    rig_wait(r);
    CHECK(c->code == 200);
    CHECK(how_many(r) == 0);
    rig_call_free(c);
    rig_free(r);
}

TEST(a_collection_by_selector_page_by_page)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    str token = STR_NONE;
    size_t deleted = 0;
    int pages = 0;

    make_many(r, 100);
    do {
        const struct json *v;

        c = delete_all(r);
        c->req.list.label_selector = STR("l=1");
        c->req.list.limit = 15;
        c->req.list.continue_token = token;
        v = rig_ask(c, NULL);
        deleted += json_len(json_get(v, STR("items")));
        token = json_get_str(v, "metadata.continue");
        CHECK(how_many(r) == 100 - deleted);
    } while (token.n && ++pages < 10);
    CHECK(deleted == 50 && pages == 3);
    rig_free(r);
}

static void remove_row(struct wrap *w, struct store_txn *txn)
{
    struct store_op op = { .kind = STORE_DELETE, .key = txn->ops[0].key };
    int *times = w->arg;

    if (*times > 0) {
        --*times;
        wrap_write(w, op);
    }
}

TEST(what_is_gone_meanwhile_is_as_good_as_deleted)
{
    struct contested c;

    contested_init(&c);
    make_many(c.rig, 10);
    contest(&c, remove_row, 5);
    CHECK(strncmp(rig_answer(delete_all(c.rig)), "200", 3) == 0);
    CHECK(how_many(c.rig) == 0);
    rig_free(c.rig);
}

static void fail_one(struct wrap *w, struct store_txn *txn)
{
    int *times = w->arg;

    (void)txn;
    if (--*times == 0)
        w->fail = ENOSPC;
}

TEST(a_failure_is_the_answer_when_all_have_ended)
{
    struct contested c;

    contested_init(&c);
    make_many(c.rig, 150);
    contest(&c, fail_one, 10);
    CHECK_STR(rig_answer(delete_all(c.rig)), "503 ServiceUnavailable");
    CHECK(how_many(c.rig) > 50); /* no more were begun */
    rig_free(c.rig);
}

TEST(a_disk_that_is_full_refuses_writes_and_reads_go_on)
{
    struct contested c;
    const struct json *v;
    int code;

    contested_init(&c);
    contest(&c, fail_one, 1);
    v = rig_ask(rig_call(c.rig, VERB_CREATE, "", "things", "default", "",
                         "{\"metadata\":{\"name\":\"b\"}}"),
                &code);
    CHECK(code == 503);
    CHECK_STR(rig_field(c.rig, v, "details.retryAfterSeconds"), "1");
    CHECK_STR(rig_do(c.rig, VERB_GET, "", "things", "default", "a", ""), "200 a");
    CHECK_STR(rig_make(c.rig, "b", "}}"), "201 b");
    contest(&c, fail_one, 1);
    CHECK_STR(delete_with(c.rig, "b", ""), "503 ServiceUnavailable");
    CHECK_STR(rig_do(c.rig, VERB_GET, "", "things", "default", "b", ""), "200 b");
    rig_free(c.rig);
}

/* ---- dry runs ---- */

TEST(a_dry_run_writes_nothing)
{
    struct rig *r = rig_new();
    struct rig_call *calls[6];
    const char *const want[] = { "201 n", "201 one", "200 a", "200 a", "200 Success", "200 a" };
    uint64_t head;

    (void)rig_make(r, "a", "}}");
    head = store_head(r->store);
    calls[0] =
        rig_call(r, VERB_CREATE, "", "things", "default", "", "{\"metadata\":{\"name\":\"n\"}}");
    calls[1] =
        rig_call(r, VERB_CREATE, "", "instances", "", "", "{\"metadata\":{\"name\":\"one\"}}");
    calls[2] = update(r, "a", "},\"spec\":{\"size\":4}}");
    calls[3] = patch(r, "a", "{\"spec\":{\"size\":5}}");
    calls[4] = rig_call(r, VERB_DELETE, "", "things", "default", "a", "");
    calls[5] = delete_all(r);
    for (int i = 0; i < 6; i++) {
        calls[i]->req.write.dry_run = calls[i]->req.delete.dry_run = true;
        CHECK_STR(rig_answer(calls[i]), want[i]);
    }
    CHECK(store_head(r->store) == head);
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "a", ""), "200 a");
    rig_free(r);
}

TEST(a_dry_run_of_a_create_takes_a_version)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    for (int dry = 0; dry < 2; dry++) {
        c = rig_call(r, VERB_CREATE, "", "things", "default", "",
                     "{\"metadata\":{\"name\":\"a\",\"resourceVersion\":\"7\"}}");
        c->req.write.dry_run = dry;
        CHECK_STR(rig_field(r, rig_ask(c, NULL), "metadata.resourceVersion"), dry ? "7" : "");
    }
    rig_free(r);
}

TEST(a_dry_run_shows_what_would_be)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    const struct json *v;

    (void)rig_make(r, "a", "}}");
    c = rig_call(r, VERB_CREATE, "", "things", "default", "", "{\"metadata\":{\"name\":\"n\"}}");
    c->req.write.dry_run = true;
    v = rig_ask(c, NULL);
    CHECK(strlen(rig_field(r, v, "metadata.uid")) == 36);
    CHECK(!json_path(v, "metadata.resourceVersion"));
    c = patch(r, "a", "{\"spec\":{\"size\":5}}");
    c->req.write.dry_run = true;
    v = rig_ask(c, NULL);
    CHECK_STR(rig_field(r, v, "spec.size"), "5");
    CHECK_STR(rig_field(r, v, "metadata.resourceVersion"), version_of(r, "a"));
    c = rig_call(r, VERB_DELETE, "", "things", "default", "a", "{\"dryRun\":[\"All\"]}");
    CHECK_STR(rig_answer(c), "200 Success");
    c = rig_call(r, VERB_DELETE, "", "things", "default", "a", "{\"dryRun\":[\"Some\"]}");
    CHECK_STR(rig_answer(c), "422 Invalid");
    rig_free(r);
}

/* ---- what is large ---- */

static const char *large(struct rig *r, const char *head, const char *color, const char *tail)
{
    enum { N = 200 << 10 };
    char *x = arena_alloc(r->arena, N + 1);

    memset(x, 'x', N);
    return arena_printf(r->arena, "{%s\"spec\":{\"color\":\"%s%s\"}%s}", head, color, x, tail);
}

static bool checked_elsewhere(void)
{
    bool is = !pthread_equal(rig_checked_on, pthread_self());

    rig_checked_on = pthread_self();
    return is;
}

TEST(large_objects_are_read_and_checked_by_workers)
{
    struct rig *r;
    struct rig_call *c;
    const struct json *v;

    rig_workers = workers_new(2, 8);
    r = rig_new();
    rig_checked_on = pthread_self();
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "",
                     large(r, "\"metadata\":{\"name\":\"a\"},", "red", ",\"odd\":1")),
              "201 a");
    CHECK(checked_elsewhere());
    v = rig_ask(rig_call(r, VERB_CREATE, "", "things", "default", "",
                         large(r, "\"metadata\":{\"name\":\"b\"},", "octarine", "")),
                NULL);
    CHECK_STR(rig_field(r, v, "message"),
              "Thing.example.com \"b\" is invalid: spec.color: Invalid value: cannot be seen");
    CHECK(checked_elsewhere());
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", large(r, "", "red", "")),
              "422 Invalid");
    CHECK(checked_elsewhere());
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "", large(r, "", "red", "]")),
              "400 BadRequest");
    CHECK_STR(rig_answer(update(r, "a", large(r, "", "blue", "") + 1)), "400 BadRequest");
    CHECK(!checked_elsewhere());
    c = patch(r, "a", large(r, "", "green", ""));
    CHECK_STR(rig_answer(c), "200 a");
    CHECK(checked_elsewhere());
    c = patch(r, "a", "{\"spec\":{\"size\":3}}"); /* small, but what it changes is not */
    v = rig_ask(c, NULL);
    CHECK_STR(rig_field(r, v, "metadata.generation"), "3");
    CHECK(checked_elsewhere());
    CHECK_STR(rig_make(r, "small", "}}"), "201 small");
    CHECK(!checked_elsewhere());
    workers_free(rig_workers); /* they may still be waking the loop */
    rig_workers = NULL;
    rig_free(r);
}

TEST(large_objects_that_many_write_at_once)
{
    enum { N = 6 };
    struct rig_call *calls[N];
    struct rig *r;
    const struct json *v;

    rig_workers = workers_new(2, 2); /* the loop does what does not fit */
    r = rig_new();
    CHECK_STR(rig_do(r, VERB_CREATE, "", "things", "default", "",
                     large(r, "\"metadata\":{\"name\":\"a\"},", "red", "")),
              "201 a");
    for (int i = 0; i < N; i++)
        calls[i] =
            patch(r, "a", arena_printf(r->arena, "{\"metadata\":{\"labels\":{\"l%d\":\"x\"}}}", i));
    for (int i = 0; i < N; i++)
        rig_start(calls[i]);
    rig_wait(r);
    for (int i = 0; i < N; i++) {
        CHECK(calls[i]->code == 200);
        rig_call_free(calls[i]);
    }
    v = rig_ask(rig_call(r, VERB_GET, "", "things", "default", "a", ""), NULL);
    CHECK(json_len(json_path(v, "metadata.labels")) == N);
    workers_free(rig_workers); /* they may still be waking the loop */
    rig_workers = NULL;
    rig_free(r);
}
