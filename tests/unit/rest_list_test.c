/* SPDX-License-Identifier: Apache-2.0 */
#include "base/encode.h"
#include "base/rand.h"
#include "rest/token.h"
#include "rest_fixture.h"

static const char *name_of(struct rig *r, int i)
{
    return arena_printf(r->arena, "t%04d", i);
}

static void fill(struct rig *r, int n)
{
    for (int i = 0; i < n; i++)
        CHECK_STR(rig_make(r, name_of(r, i), "}}"), arena_printf(r->arena, "201 t%04d", i));
}

static struct rig_call *list(struct rig *r, const char *instance, uint64_t limit, str token)
{
    struct rig_call *c = rig_call(r, VERB_LIST, instance, "things", "", "", "");

    c->req.list.limit = limit;
    c->req.list.continue_token = token;
    return c;
}

static str token_of(const struct json *page)
{
    return json_get_str(page, "metadata.continue");
}

static int64_t remaining(const struct json *page)
{
    return json_int(json_path(page, "metadata.remainingItemCount"), -1);
}

static size_t items(const struct json *page)
{
    return json_len(json_get(page, STR("items")));
}

static void delete_thing(struct rig *r, int i)
{
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", name_of(r, i), ""), "200 Success");
}

TEST(an_empty_list_has_items_and_a_version)
{
    struct rig *r = rig_new();
    struct rig_call *c = list(r, "", 0, STR_NONE);
    const struct json *v = rig_ask(c, NULL);

    CHECK(json_is(json_get(v, STR("items")), JSON_ARRAY) && items(v) == 0);
    CHECK(json_get_str(v, "metadata.resourceVersion").n > 0);
    CHECK_STR(rig_field(r, v, "kind"), "ThingList");
    rig_free(r);
}

TEST(any_state_comes_whole)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    fill(r, 3);
    c = list(r, "", 2, STR_NONE);
    c->req.list.resource_version = STR("0");
    CHECK(items(rig_ask(c, NULL)) == 3);
    rig_free(r);
}

TEST(pages_are_one_snapshot_while_writes_go_on)
{
    struct rig *r = rig_new();
    struct rand_seq rand = { 7 };
    str token = STR_NONE, rv = STR_NONE;
    int seen = 0, pages = 0;

    fill(r, 300);
    do {
        const struct json *page = rig_ask(list(r, "", 37, token), NULL);
        int n = 0;

        json_for_each (item, json_get(page, STR("items"))) {
            CHECK_STR(rig_field(r, item, "metadata.name"), name_of(r, seen));
            seen++;
            n++;
        }
        CHECK(n == (seen < 300 ? 37 : 300 % 37));
        CHECK(pages == 0 || str_eq(rv, json_get_str(page, "metadata.resourceVersion")));
        CHECK(remaining(page) == (seen < 300 ? 300 - seen : -1));
        rv = json_get_str(page, "metadata.resourceVersion");
        token = token_of(page);
        /* Before, behind and at the place where the next page begins. */
        delete_thing(r, pages * 3);
        delete_thing(r, 250 + pages);
        (void)rig_make(r, arena_printf(r->arena, "t%04dx", (int)rand_seq_below(&rand, 300)), "}}");
        pages++;
    } while (token.n && pages < 20);
    CHECK(seen == 300 && pages == 9);
    rig_free(r);
}

TEST(a_page_that_just_fits_has_no_next)
{
    struct rig *r = rig_new();
    const struct json *v;

    fill(r, 4);
    v = rig_ask(list(r, "", 4, STR_NONE), NULL);
    CHECK(items(v) == 4 && token_of(v).n == 0 && remaining(v) == -1);
    v = rig_ask(list(r, "", 3, STR_NONE), NULL);
    CHECK(items(v) == 3 && token_of(v).n > 0 && remaining(v) == 1);
    rig_free(r);
}

TEST(with_a_selector_nothing_is_counted)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    const struct json *v;

    for (int i = 0; i < 6; i++)
        (void)rig_make(r, name_of(r, i), ",\"labels\":{\"l\":\"1\"}}}");
    c = list(r, "", 2, STR_NONE);
    c->req.list.label_selector = STR("l=1");
    v = rig_ask(c, NULL);
    CHECK(items(v) == 2 && token_of(v).n > 0 && remaining(v) == -1);
    rig_free(r);
}

TEST(an_expired_token_brings_one_that_goes_on)
{
    struct rig *r = rig_new();
    const struct json *v;
    str token;
    int code;

    fill(r, 6);
    token = token_of(rig_ask(list(r, "", 2, STR_NONE), NULL));
    delete_thing(r, 3);
    store_compact(r->store, store_head(r->store));
    v = rig_ask(list(r, "", 2, token), &code);
    CHECK(code == 410);
    CHECK_STR(rig_field(r, v, "reason"), "Expired");
    token = token_of(v);
    REQUIRE(token.n > 0);
    v = rig_ask(list(r, "", 2, token), &code);
    CHECK_STR(rig_short(r, code, v),
              "200 t0002 t0004"); /* what is there now, behind the first page */
    v = rig_ask(list(r, "", 2, token_of(v)), &code);
    CHECK_STR(rig_short(r, code, v), "200 t0005");
    rig_free(r);
}

TEST(bad_tokens_are_bad_requests)
{
    struct rig *r = rig_new();
    struct token future = { .rev = 1u << 30, .instance = 1, .after = STR("default/a") };
    struct rig_call *c;

    fill(r, 2);
    CHECK_STR(rig_answer(list(r, "", 2, STR("rubbish"))), "400 BadRequest");
    CHECK_STR(rig_answer(list(r, "", 2, token_print(r->arena, &future))), "400 BadRequest");
    c = list(r, "", 1, token_of(rig_ask(list(r, "", 1, STR_NONE), NULL)));
    c->req.list.resource_version = STR("1");
    CHECK_STR(rig_answer(c), "400 BadRequest");
    rig_free(r);
}

static const char *list_at(struct rig *r, const char *rv, const char *match)
{
    struct rig_call *c = list(r, "", 0, STR_NONE);

    c->req.list.resource_version = str_of(rv);
    c->req.list.resource_version_match = str_of(match);
    return rig_answer(c);
}

TEST(a_list_at_a_revision)
{
    struct rig *r = rig_new();
    const char *two;

    fill(r, 2);
    two = arena_printf(r->arena, "%llu", (unsigned long long)store_head(r->store));
    fill(r, 0);
    CHECK_STR(rig_make(r, "later", "}}"), "201 later");
    CHECK_STR(list_at(r, two, "Exact"), "200 t0000 t0001");
    CHECK_STR(list_at(r, two, "NotOlderThan"), "200 later t0000 t0001");
    CHECK_STR(list_at(r, two, ""), "200 later t0000 t0001");
    CHECK_STR(list_at(r, "0", ""), "200 later t0000 t0001");
    CHECK_STR(list_at(r, "x", ""), "400 BadRequest");
    CHECK_STR(list_at(r, "0", "Exact"), "422 Invalid");
    CHECK_STR(list_at(r, "", "Exact"), "422 Invalid");
    CHECK_STR(list_at(r, two, "Never"), "422 Invalid");
    store_compact(r->store, store_head(r->store));
    CHECK_STR(list_at(r, two, "Exact"), "410 Expired");
    rig_free(r);
}

TEST(a_revision_that_comes_is_waited_for)
{
    struct rig *r = rig_new();
    struct rig_call *c = list(r, "", 0, STR_NONE);

    c->req.list.resource_version =
        str_printf(r->arena, "%llu", (unsigned long long)store_head(r->store) + 1);
    rig_start(c);
    rig_turn(r);
    CHECK(!c->done);
    r->open--; /* the make below is not to wait for it */
    CHECK_STR(rig_make(r, "a", "}}"), "201 a");
    r->open++;
    rig_wait(r);
    CHECK_STR(rig_short(r, c->code, rig_tree(r, c->text)), "200 a");
    rig_call_free(c);
    rig_free(r);
}

TEST(a_revision_that_does_not_come_is_too_large)
{
    struct rig *r = rig_new();
    struct rig_call *c = list(r, "", 0, STR_NONE);
    const struct json *v;
    int code;

    c->req.list.resource_version = STR("1000000");
    c->req.deadline_ms = loop_now_ms(r->loop) + 50;
    v = rig_ask(c, &code);
    CHECK(code == 504);
    CHECK_STR(rig_field(r, v, "message"),
              arena_printf(r->arena, "Timeout: Too large resource version: 1000000, current: %llu",
                           (unsigned long long)store_head(r->store)));
    CHECK_STR(rig_field(r, v, "details.retryAfterSeconds"), "1");
    rig_free(r);
}

static void make_instance(struct rig *r, const char *name)
{
    CHECK_STR(rig_do(r, VERB_CREATE, "", "instances", "", "",
                     arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)),
              arena_printf(r->arena, "201 %s", name));
}

static void make_in(struct rig *r, const char *instance, const char *name)
{
    CHECK_STR(
        rig_do(r, VERB_CREATE, instance, "things", "default", "",
               arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\",\"labels\":{\"l\":\"%s\"}}}",
                            name, instance)),
        arena_printf(r->arena, "201 %s", name));
}

static const char *where(struct rig *r, const struct json *page)
{
    scoped_buf b = { .max = 1 << 16 };

    json_for_each (item, json_get(page, STR("items"))) {
        const struct json *in =
            json_get(json_path(item, "metadata.annotations"), STR(OBJ_INSTANCE_ANNOTATION));

        buf_printf(&b, "%.*s/%.*s ", STR_ARG(json_str(in)),
                   STR_ARG(json_get_str(item, "metadata.name")));
    }
    return str_z(r->arena, buf_str(&b));
}

TEST(over_all_instances_pages_go_on_across_them)
{
    struct rig *r = rig_new();
    static const char *const in[] = { "one", "two", "three" };
    scoped_buf all = { .max = 1 << 16 };
    str token = STR_NONE;
    int pages = 0;

    for (int i = 0; i < 3; i++) {
        make_instance(r, in[i]);
        for (int n = 0; n < 5; n++)
            make_in(r, in[i], arena_printf(r->arena, "a%d", n));
    }
    make_in(r, "", "a0");
    do {
        const struct json *page = rig_ask(list(r, "*", 4, token), NULL);

        buf_printf(&all, "%s", where(r, page));
        token = token_of(page);
        pages++;
    } while (token.n && pages < 10);
    CHECK(pages == 4);
    CHECK_STR(str_z(r->arena, buf_str(&all)),
              "root/a0 one/a0 one/a1 one/a2 one/a3 one/a4 two/a0 two/a1 two/a2 two/a3 two/a4 "
              "three/a0 three/a1 three/a2 three/a3 three/a4 ");
    rig_free(r);
}

TEST(over_all_instances_by_label_and_by_name)
{
    struct rig *r = rig_new();
    struct rig_call *c;

    make_instance(r, "one");
    make_instance(r, "two");
    make_in(r, "one", "a");
    make_in(r, "two", "a");
    make_in(r, "two", "b");
    c = list(r, "*", 0, STR_NONE);
    c->req.list.label_selector = STR("l=two");
    CHECK_STR(where(r, rig_ask(c, NULL)), "two/a two/b ");
    c = list(r, "*", 0, STR_NONE);
    c->req.list.field_selector = STR("metadata.name=a");
    CHECK_STR(where(r, rig_ask(c, NULL)), "one/a two/a ");
    c = list(r, "*", 0, STR_NONE);
    c->req.namespace_ = STR("default");
    CHECK_STR(where(r, rig_ask(c, NULL)), "one/a two/a two/b ");
    c = list(r, "*", 0, STR_NONE);
    c->req.namespace_ = STR("other");
    CHECK_STR(where(r, rig_ask(c, NULL)), "");
    rig_free(r);
}

TEST(a_page_names_instances_that_have_gone_meanwhile)
{
    struct rig *r = rig_new();
    const struct json *page;

    make_instance(r, "one");
    make_instance(r, "two");
    make_in(r, "one", "a");
    make_in(r, "two", "b");
    page = rig_ask(list(r, "*", 1, STR_NONE), NULL);
    CHECK_STR(where(r, page), "one/a ");
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "two", ""), "200 Success");
    CHECK_STR(where(r, rig_ask(list(r, "*", 1, token_of(page)), NULL)), "two/b ");
    CHECK_STR(where(r, rig_ask(list(r, "*", 0, STR_NONE), NULL)), "one/a ");
    rig_free(r);
}

TEST(instances_do_not_see_each_other)
{
    struct rig *r = rig_new();

    make_instance(r, "one");
    make_instance(r, "two");
    make_in(r, "one", "a");
    make_in(r, "two", "b");
    make_in(r, "", "c");
    CHECK_STR(rig_answer(list(r, "one", 0, STR_NONE)), "200 a");
    CHECK_STR(rig_answer(list(r, "two", 0, STR_NONE)), "200 b");
    CHECK_STR(rig_answer(list(r, "", 0, STR_NONE)), "200 c");
    CHECK_STR(rig_do(r, VERB_GET, "one", "things", "default", "b", ""), "404 NotFound");
    CHECK_STR(rig_do(r, VERB_DELETE, "one", "things", "default", "b", ""), "404 NotFound");
    rig_free(r);
}

TEST(forms_of_a_list)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    const struct json *v;

    fill(r, 2);
    c = list(r, "", 0, STR_NONE);
    c->req.form = FORM_PARTIAL;
    v = rig_ask(c, NULL);
    CHECK_STR(rig_field(r, v, "kind"), "PartialObjectMetadataList");
    CHECK_STR(rig_field(r, json_at(json_get(v, STR("items")), 1), "kind"), "PartialObjectMetadata");
    c = list(r, "", 1, STR_NONE);
    c->req.form = FORM_TABLE;
    v = rig_ask(c, NULL);
    CHECK_STR(rig_field(r, v, "kind"), "Table");
    CHECK(json_len(json_get(v, STR("rows"))) == 1 && token_of(v).n > 0);
    rig_free(r);
}
