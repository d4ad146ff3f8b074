/* SPDX-License-Identifier: Apache-2.0 */
#include "rest_fixture.h"

static struct rig_call *watch(struct rig *r, const char *instance, const char *plural)
{
    return rig_call(r, VERB_WATCH, instance, plural, "", "", "");
}

static str at(struct rig *r, uint64_t rev)
{
    return str_printf(r->arena, "%llu", (unsigned long long)rev);
}

static struct rig_watch *started(struct rig_call *c)
{
    struct rig_watch *w = rig_watch(c);

    rig_watch_go(w);
    return w;
}

/* "ADDED a@5" with the head as the revision. */
static const char *says(struct rig *r, const char *what)
{
    return arena_printf(r->arena, "%s@%llu", what, (unsigned long long)store_head(r->store));
}

static void put_label(struct rig *r, const char *name, const char *value)
{
    struct rig_call *c =
        rig_call(r, VERB_PATCH, "", "things", "default", name,
                 arena_printf(r->arena, "{\"metadata\":{\"labels\":{\"l\":\"%s\"}}}", value));

    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), arena_printf(r->arena, "200 %s", name));
}

static void remove_thing(struct rig *r, const char *name)
{
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", name, ""), "200 Success");
}

TEST(what_is_there_comes_first_then_what_happens)
{
    struct rig *r = rig_new();
    struct rig_watch *w;

    (void)rig_make(r, "a", "}}");
    w = started(watch(r, "", "things"));
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED a"));
    (void)rig_make(r, "b", "}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED b"));
    put_label(r, "b", "1");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED b"));
    put_label(r, "b", "1"); /* no change, no event */
    remove_thing(r, "a");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED a"));
    CHECK(!w->ended);
    rig_watch_free(w);
    rig_free(r);
}

TEST(initial_events_end_with_a_bookmark)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    struct rig_watch *w;
    uint64_t a, b;

    (void)rig_make(r, "a", "}}");
    a = store_head(r->store);
    (void)rig_make(r, "b", "}}");
    b = store_head(r->store);
    (void)rig_do(r, VERB_CREATE, "", "namespaces", "", "", "{\"metadata\":{\"name\":\"n\"}}");
    c = watch(r, "", "things");
    c->req.list.send_initial_events = c->req.list.send_initial_events_given = true;
    c->req.list.allow_bookmarks = true;
    c->req.list.resource_version_match = STR("NotOlderThan");
    w = started(c);
    CHECK_STR(rig_sent(w, 3), arena_printf(r->arena, "ADDED a@%llu ADDED b@%llu BOOKMARK @%llu end",
                                           (unsigned long long)a, (unsigned long long)b,
                                           (unsigned long long)store_head(r->store)));
    (void)rig_make(r, "c", "}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED c"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(options_that_do_not_go_together)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things");

    c->req.list.send_initial_events = c->req.list.send_initial_events_given = true;
    CHECK_STR(rig_answer(c), "422 Invalid");
    c = watch(r, "", "things");
    c->req.list.resource_version_match = STR("NotOlderThan");
    CHECK_STR(rig_answer(c), "422 Invalid");
    c = watch(r, "", "things");
    c->req.list.resource_version = STR("x");
    CHECK_STR(rig_answer(c), "500 ");
    rig_free(r);
}

TEST(a_watch_goes_on_where_it_was)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    struct rig_watch *w;
    uint64_t from;

    (void)rig_make(r, "a", "}}");
    from = store_head(r->store);
    put_label(r, "a", "1");
    remove_thing(r, "a");
    (void)rig_make(r, "b", "}}");
    c = watch(r, "", "things");
    c->req.list.resource_version = at(r, from);
    w = started(c);
    CHECK_STR(rig_sent(w, 3),
              arena_printf(r->arena, "MODIFIED a@%llu DELETED a@%llu ADDED b@%llu",
                           (unsigned long long)from + 1, (unsigned long long)from + 2,
                           (unsigned long long)from + 3));
    rig_watch_free(w);
    rig_free(r);
}

TEST(without_initial_events_only_changes_come)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    struct rig_watch *w;

    (void)rig_make(r, "a", "}}");
    c = watch(r, "", "things");
    c->req.list.send_initial_events_given = true;
    c->req.list.resource_version_match = STR("NotOlderThan");
    c->req.list.allow_bookmarks = true;
    w = started(c);
    put_label(r, "a", "1");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED a"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_revision_too_old_is_an_event_and_the_end)
{
    struct rig *r = rig_new();
    struct rig_call *c;
    struct rig_watch *w;
    uint64_t old;

    (void)rig_make(r, "a", "}}");
    old = store_head(r->store);
    (void)rig_make(r, "b", "}}");
    store_compact(r->store, store_head(r->store));
    c = watch(r, "", "things");
    c->req.list.resource_version = at(r, old);
    w = started(c);
    CHECK_STR(rig_sent(w, 1), "ERROR Expired");
    CHECK(w->ended);
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_revision_ahead_is_waited_for)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things");
    struct rig_watch *w;

    c->req.list.resource_version = at(r, store_head(r->store) + 2);
    w = started(c);
    (void)rig_make(r, "a", "}}");
    (void)rig_make(r, "b", "}}");
    (void)rig_make(r, "c", "}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED c"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(with_a_selector_objects_come_and_go)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things");
    struct rig_watch *w;

    c->req.list.label_selector = STR("l=1");
    w = started(c);
    (void)rig_make(r, "a", "}}");
    put_label(r, "a", "1");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED a"));
    put_label(r, "a", "1\",\"m\":\"2");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED a"));
    put_label(r, "a", "2");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED a"));
    remove_thing(r, "a");
    CHECK_STR(rig_sent(w, 0), "");
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_watch_of_one_name_or_namespace)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things"), *d = watch(r, "", "things");
    struct rig_watch *w, *other;

    c->req.list.field_selector = STR("metadata.name=a");
    c->req.namespace_ = STR("default");
    d->req.namespace_ = STR("kube-public");
    w = started(c);
    other = started(d);
    (void)rig_make(r, "ab", "}}");
    (void)rig_make(r, "a", "}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED a"));
    CHECK_STR(rig_sent(other, 0), "");
    rig_watch_free(w);
    rig_watch_free(other);
    rig_free(r);
}

TEST(finalizers_are_a_change_then_the_end)
{
    struct rig *r = rig_new();
    struct rig_watch *w;
    struct rig_call *c;

    (void)rig_make(r, "a", ",\"finalizers\":[\"example.com/x\"]}}");
    w = started(watch(r, "", "things"));
    (void)rig_sent(w, 1);
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", "a", ""), "200 a");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED a"));
    CHECK_STR(rig_do(r, VERB_DELETE, "", "things", "default", "a", ""), "200 a");
    CHECK_STR(rig_sent(w, 0), ""); /* it is being deleted already */
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a",
                 "{\"metadata\":{\"finalizers\":null}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED a"));
    rig_watch_free(w);
    rig_free(r);
}

/* ---- templates ---- */

TEST(a_template_row_changes_and_goes_like_any_other)
{
    struct rig *r = rig_new();
    struct rig_watch *w;
    struct rig_call *c;

    w = started(watch(r, "", "namespaces"));
    (void)rig_sent(w, 4);
    c = rig_call(r, VERB_PATCH, "", "namespaces", "", "default",
                 "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 default");
    CHECK_STR(rig_sent(w, 1), says(r, "MODIFIED default"));
    CHECK_STR(rig_do(r, VERB_DELETE, "", "namespaces", "", "kube-public", ""), "200 Success");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED kube-public"));
    (void)rig_do(r, VERB_CREATE, "", "namespaces", "", "",
                 "{\"metadata\":{\"name\":\"kube-public\"}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED kube-public"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_template_row_that_stops_to_match_is_deleted)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "namespaces");
    struct rig_watch *w;

    c->req.list.label_selector = STR("kubernetes.io/metadata.name=default");
    w = started(c);
    (void)rig_sent(w, 1);
    c = rig_call(r, VERB_PATCH, "", "namespaces", "", "default",
                 "{\"metadata\":{\"labels\":null}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 default");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED default"));
    rig_watch_free(w);
    rig_free(r);
}

/* ---- instances ---- */

static void make_instance(struct rig *r, const char *name)
{
    (void)rig_do(r, VERB_CREATE, "", "instances", "", "",
                 arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}}", name));
}

static void make_in(struct rig *r, const char *instance, const char *name)
{
    CHECK_STR(rig_do(r, VERB_CREATE, instance, "things", "default", "",
                     arena_printf(r->arena, "{\"metadata\":{\"name\":\"%s\"}}", name)),
              arena_printf(r->arena, "201 %s", name));
}

TEST(a_watch_of_one_instance_does_not_see_another)
{
    struct rig *r = rig_new();
    struct rig_watch *one, *two, *root;

    make_instance(r, "one");
    make_instance(r, "two");
    one = started(watch(r, "one", "things"));
    two = started(watch(r, "two", "things"));
    root = started(watch(r, "", "things"));
    make_in(r, "one", "a");
    CHECK_STR(rig_sent(one, 1), says(r, "ADDED a"));
    CHECK_STR(rig_sent(two, 0), "");
    CHECK_STR(rig_sent(root, 0), "");
    rig_watch_free(one);
    rig_watch_free(two);
    rig_watch_free(root);
    rig_free(r);
}

TEST(a_wildcard_watch_sees_all_and_names_them)
{
    struct rig *r = rig_new();
    struct rig_watch *w;
    uint64_t head;

    make_instance(r, "one");
    make_in(r, "one", "a");
    w = rig_watch(watch(r, "*", "things"));
    w->instances = true;
    rig_watch_go(w);
    CHECK_STR(rig_sent(w, 1), arena_printf(r->arena, "%s of one", says(r, "ADDED a")));
    make_instance(r, "two");
    make_in(r, "two", "a");
    CHECK_STR(rig_sent(w, 1), arena_printf(r->arena, "%s of two", says(r, "ADDED a")));
    make_in(r, "", "b");
    CHECK_STR(rig_sent(w, 1), arena_printf(r->arena, "%s of root", says(r, "ADDED b")));
    make_in(r, "one", "b");
    make_in(r, "one", "c");
    (void)rig_sent(w, 2);
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "one", ""), "200 Success");
    head = store_head(r->store);
    /* All but the last with the revision before: who resumes in between misses none. */
    CHECK_STR(rig_sent(w, 3),
              arena_printf(r->arena,
                           "DELETED a@%llu of one DELETED b@%llu of one DELETED c@%llu of one",
                           (unsigned long long)head - 1, (unsigned long long)head - 1,
                           (unsigned long long)head));
    make_in(r, "two", "z");
    CHECK_STR(rig_sent(w, 1), arena_printf(r->arena, "%s of two", says(r, "ADDED z")));
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_wildcard_watch_can_leave_out_root)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "*", "things");
    struct rig_watch *w;

    make_instance(r, "one");
    make_in(r, "", "a");
    c->req.list.field_selector = STR("kairship.io/instance!=root");
    w = rig_watch(c);
    w->instances = true;
    rig_watch_go(w);
    CHECK_STR(rig_sent(w, 0), "");
    make_in(r, "", "b");
    make_in(r, "one", "b");
    CHECK_STR(rig_sent(w, 1), arena_printf(r->arena, "%s of one", says(r, "ADDED b")));
    rig_watch_free(w);
    rig_free(r);
}

TEST(untouched_template_rows_are_left_out_of_a_wildcard_watch)
{
    struct rig *r = rig_new();
    struct rig_watch *w = started(watch(r, "*", "namespaces"));
    struct rig_call *c;

    CHECK_STR(rig_sent(w, 0), "");
    make_instance(r, "one");
    CHECK_STR(rig_sent(w, 0), "");
    c = rig_call(r, VERB_PATCH, "one", "namespaces", "", "default",
                 "{\"metadata\":{\"labels\":{\"l\":\"1\"}}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 default");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED default"));
    CHECK_STR(rig_do(r, VERB_DELETE, "one", "namespaces", "", "kube-public", ""), "200 Success");
    CHECK_STR(rig_sent(w, 0), ""); /* it was never there for this one */
    CHECK_STR(rig_do(r, VERB_DELETE, "one", "namespaces", "", "default", ""), "200 Success");
    CHECK_STR(rig_sent(w, 1), says(r, "DELETED default"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(the_watches_of_an_instance_end_with_it)
{
    struct rig *r = rig_new();
    struct rig_watch *w, *other;

    make_instance(r, "one");
    make_instance(r, "two");
    w = started(watch(r, "one", "things"));
    other = started(watch(r, "two", "things"));
    CHECK_STR(rig_do(r, VERB_DELETE, "", "instances", "", "one", ""), "200 Success");
    CHECK_STR(rig_sent(w, 1), "ERROR Gone");
    CHECK(w->ended && !other->ended);
    rig_watch_free(w);
    rig_watch_free(other);
    rig_free(r);
}

/* ---- how it ends, and slow clients ---- */

static bool has_ended(void *arg)
{
    return ((struct rig_watch *)arg)->ended;
}

TEST(bookmarks_come_before_the_end_and_it_ends_in_time)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things");
    struct rig_watch *w;

    c->req.list.allow_bookmarks = true;
    c->req.list.timeout_s = 3;
    w = started(c);
    (void)rig_do(r, VERB_CREATE, "", "namespaces", "", "", "{\"metadata\":{\"name\":\"n\"}}");
    CHECK_STR(rig_sent(w, 1), says(r, "BOOKMARK ")); /* though nothing of its kind happened */
    CHECK(!w->ended);
    CHECK(rig_until(r, has_ended, w));
    CHECK_STR(rig_sent(w, 0), "");
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_very_long_timeout_is_no_trouble)
{
    struct rig *r = rig_new();
    struct rig_call *c = watch(r, "", "things");
    struct rig_watch *w;

    c->req.list.timeout_s = INT64_MAX;
    c->req.list.allow_bookmarks = true;
    w = started(c);
    (void)rig_make(r, "a", "}}");
    CHECK_STR(rig_sent(w, 1), says(r, "ADDED a"));
    rig_watch_free(w);
    rig_free(r);
}

TEST(initial_objects_wait_for_a_slow_client)
{
    struct rig *r = rig_new();
    struct rig_watch *w;

    (void)rig_make(r, "a", "}}");
    (void)rig_make(r, "b", "}}");
    w = rig_watch(watch(r, "", "things"));
    w->queued = 1 << 20;
    rig_watch_go(w);
    CHECK_STR(rig_sent(w, 0), "");
    (void)rig_make(r, "c", "}}"); /* after the snapshot: comes as an event */
    w->queued = 0;
    CHECK(strstr(rig_sent(w, 3), "ADDED c@") != NULL);
    rig_watch_free(w);
    rig_free(r);
}

TEST(many_initial_objects_come_in_order)
{
    struct rig *r = rig_new();
    struct rig_watch *w;
    const char *text;
    int n = 0;

    for (int i = 0; i < 1200; i++)
        (void)rig_make(r, arena_printf(r->arena, "t%04d", i), "}}");
    w = started(watch(r, "", "things"));
    text = rig_sent(w, 1200);
    for (; (text = strstr(text, "ADDED t")); text++)
        CHECK(strncmp(text, arena_printf(r->arena, "ADDED t%04d@", n++), 12) == 0);
    CHECK(n == 1200);
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_watch_may_be_stopped_from_inside_of_a_frame)
{
    struct rig *r = rig_new();
    struct rig_watch *w;

    for (int i = 0; i < 5; i++)
        (void)rig_make(r, arena_printf(r->arena, "a%d", i), "}}");
    w = rig_watch(watch(r, "", "things")); /* among the initial ones */
    w->stop_after = 2;
    rig_watch_go(w);
    (void)rig_make(r, "b", "}}");
    CHECK(strstr(rig_sent(w, 2), "a1@") != NULL);
    CHECK(!w->ended);
    rig_watch_free(w);
    w = rig_watch(watch(r, "", "things")); /* and among the live ones */
    w->stop_after = 7;
    rig_watch_go(w);
    (void)rig_make(r, "c", "}}");
    (void)rig_make(r, "d", "}}");
    CHECK(strstr(rig_sent(w, 7), "d@") == NULL);
    rig_watch_free(w);
    rig_free(r);
}

TEST(a_watch_stopped_before_it_starts_does_nothing)
{
    struct rig *r = rig_new();
    struct rig_watch *w = rig_watch(watch(r, "", "things"));

    rest_watch_stop(w->call->watch);
    rig_watch_go(w);
    (void)rig_make(r, "a", "}}");
    CHECK_STR(rig_sent(w, 0), "");
    rig_watch_free(w);
    rig_free(r);
}

/* ---- forms ---- */

TEST(watches_of_different_forms_get_their_own)
{
    struct rig *r = rig_new();
    struct rig_call *c[3];
    struct rig_watch *w[3];

    for (int i = 0; i < 3; i++) {
        c[i] = watch(r, "", "things");
        c[i]->req.form = (enum rest_form)i;
        w[i] = started(c[i]);
    }
    (void)rig_make(r, "a", "}}");
    CHECK_STR(rig_sent(w[FORM_OBJECT], 1), says(r, "ADDED a"));
    CHECK_STR(rig_sent(w[FORM_PARTIAL], 1), says(r, "ADDED a"));
    CHECK_STR(rig_sent(w[FORM_TABLE], 1), says(r, "ADDED ")); /* a table has no name */
    for (int i = 0; i < 3; i++)
        rig_watch_free(w[i]);
    rig_free(r);
}

static bool push_kind(struct rest_sink *s, struct bytes *frame)
{
    struct rig_watch *w = (struct rig_watch *)(void *)s;
    const struct json *v = rig_tree(w->call->rig, bytes_str(frame));

    w->frames++;
    buf_printf(&w->text, "%.*s", STR_ARG(json_get_str(v, "object.kind")));
    return true;
}

static bool push_text(struct rest_sink *s, struct bytes *frame)
{
    struct rig_watch *w = (struct rig_watch *)(void *)s;

    w->frames++;
    buf_str_append(&w->text, bytes_str(frame));
    return true;
}

static const char *bookmark(struct rig *r, const char *plural, enum rest_form form)
{
    struct rig_call *c = watch(r, "", plural);
    struct rig_watch *w;
    const char *text;

    c->req.form = form;
    c->req.list.send_initial_events = c->req.list.send_initial_events_given = true;
    c->req.list.allow_bookmarks = true;
    c->req.list.resource_version_match = STR("NotOlderThan");
    w = rig_watch(c);
    w->sink.push = push_text;
    rig_watch_go(w);
    text = rig_sent(w, 1);
    rig_watch_free(w);
    return text;
}

#define BOOKMARK(object) "{\"type\":\"BOOKMARK\",\"object\":{" object "}}\n"
#define BOOKMARK_META                                                       \
    "\"metadata\":{\"resourceVersion\":\"%llu\",\"annotations\":{\"k8s.io/" \
    "initial-events-end\":\"true\"}}"

TEST(a_bookmark_is_an_empty_object_of_its_kind)
{
    struct rig *r = rig_new();
    unsigned long long head = (unsigned long long)store_head(r->store);

    CHECK_STR(bookmark(r, "things", FORM_OBJECT),
              arena_printf(r->arena,
                           BOOKMARK("\"kind\":\"Thing\",\"apiVersion\":\"example.com/v1\"," //
                                    BOOKMARK_META),
                           head));
    CHECK_STR(bookmark(r, "things", FORM_PARTIAL),
              arena_printf(r->arena,
                           BOOKMARK("\"kind\":\"PartialObjectMetadata\","
                                    "\"apiVersion\":\"meta.k8s.io/v1\"," BOOKMARK_META),
                           head));
    /* client-go looks for the annotation in the object of the only row */
    CHECK(strstr(bookmark(r, "things", FORM_TABLE),
                 arena_printf(r->arena,
                              "\"rows\":[{\"cells\":[\"\",\"0001-01-01T00:00:00Z\"],\"object\":{"
                              "\"kind\":\"PartialObjectMetadata\","
                              "\"apiVersion\":\"meta.k8s.io/v1\"," BOOKMARK_META "}}]}}\n",
                              head)));
    rig_free(r);
}

static struct rig_watch *kinds_since(struct rig *r, uint64_t rev)
{
    struct rig_call *c = watch(r, "", "things");
    struct rig_watch *w;

    c->req.list.resource_version = at(r, rev);
    w = rig_watch(c);
    w->sink.push = push_kind;
    rig_watch_go(w);
    return w;
}

TEST(a_kind_where_another_was_gets_frames_of_its_own)
{
    struct rig *r = rig_new();
    struct kind *k = &r->kinds[RIG_THINGS];
    struct rig_watch *w;
    uint64_t from;

    k->serial = kind_serial();
    (void)rig_make(r, "a", "}}");
    from = store_head(r->store);
    put_label(r, "a", "1");
    w = kinds_since(r, from);
    CHECK_STR(rig_sent(w, 1), "Thing");
    rig_watch_free(w);
    k->type_prefix = STR("{\"kind\":\"Gizmo\",\"apiVersion\":\"example.com/v1\",");
    k->serial = kind_serial();
    w = kinds_since(r, from);
    CHECK_STR(rig_sent(w, 1), "Gizmo");
    rig_watch_free(w);
    rig_free(r);
}
