/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/rest_fixture.h"

/* What kinds do with a delete that others do not; deletes of any kind are in rest_write_test.c. */

static const char *field_of(struct rig *r, const char *name, const char *path)
{
    return rig_field(r, rig_get(r, "", "things", "default", name), path);
}

static struct rig_call *delete_call(struct rig *r, const char *name, const char *options)
{
    return rig_call(r, VERB_DELETE, "", "things", "default", name, options);
}

static const char *delete_with(struct rig *r, const char *name, const char *options)
{
    return rig_answer(delete_call(r, name, options));
}

static bool is_warned(struct rig *r, const char *name, const char *options, const char *text)
{
    struct rig_call *c = delete_call(r, name, options);
    bool warned = false;

    rig_start(c);
    rig_wait(r);
    for (const struct rest_warning *w = c->req.warnings; w; w = w->next)
        warned = warned || str_is(w->text, text);
    rig_call_free(c);
    return warned;
}

TEST(a_kind_may_leave_its_dependents)
{
    struct rig *r = rig_new();
    struct kind *k = &r->kinds[RIG_THINGS];

    k->orphans = true;
    k->orphans_warning = STR("they stay");
    (void)rig_make(r, "a", "}}");
    CHECK(is_warned(r, "a", "", "they stay"));
    CHECK_STR(field_of(r, "a", "metadata.finalizers"), "[\"orphan\"]");
    (void)rig_make(r, "b", "}}");
    CHECK(!is_warned(r, "b", "{\"propagationPolicy\":\"Background\"}", "they stay"));
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "b", ""), "404 NotFound");
    /* What the object says of itself goes before. */
    (void)rig_make(r, "c", ",\"finalizers\":[\"foregroundDeletion\"]}}");
    CHECK_STR(delete_with(r, "c", ""), "200 c");
    CHECK_STR(field_of(r, "c", "metadata.finalizers"), "[\"foregroundDeletion\"]");
    (void)rig_make(r, "d", "}}");
    CHECK_STR(delete_with(r, "d", "{\"orphanDependents\":false}"), "200 Success");
    rig_free(r);
}

TEST(a_kind_may_know_no_dependents)
{
    struct rig *r = rig_new();

    r->kinds[RIG_THINGS].no_dependents = true;
    (void)rig_make(r, "a", "}}");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Foreground\"}"), "200 Success");
    (void)rig_make(r, "b", "}}");
    CHECK_STR(delete_with(r, "b", "{\"orphanDependents\":true}"), "200 Success");
    rig_free(r);
}

TEST(preconditions_fail_in_two_ways)
{
    static const char uid[] = "{\"preconditions\":{\"uid\":\"x\"}}",
                      rv[] = "{\"preconditions\":{\"resourceVersion\":\"1\"}}";
    struct rig *r = rig_new();
    const struct json *v;
    const char *is;

    (void)rig_make(r, "a", "}}");
    is = field_of(r, "a", "metadata.uid");
    v = rig_ask(delete_call(r, "a", uid), NULL);
    CHECK_STR(rig_field(r, v, "message"),
              arena_printf(r->arena,
                           "Operation cannot be fulfilled on Thing.example.com \"a\": the UID in "
                           "the precondition (x) does not match the UID in record (%s). The object "
                           "might have been deleted and then recreated",
                           is));
    r->kinds[RIG_THINGS].plain_conflicts = true;
    v = rig_ask(delete_call(r, "a", uid), NULL);
    CHECK_STR(rig_field(r, v, "message"),
              arena_printf(r->arena,
                           "Operation cannot be fulfilled on things.example.com \"a\": "
                           "Precondition failed: UID in precondition: x, UID in object meta: %s",
                           is));
    v = rig_ask(delete_call(r, "a", rv), NULL);
    CHECK_STR(rig_field(r, v, "message"),
              arena_printf(r->arena,
                           "Operation cannot be fulfilled on things.example.com \"a\": "
                           "Precondition failed: ResourceVersion in precondition: 1, "
                           "ResourceVersion in object meta: %s",
                           field_of(r, "a", "metadata.resourceVersion")));
    rig_free(r);
}

/* Half a minute, if nobody says less. */
static const struct json *give_time(const struct kind_context *c, const struct json *obj)
{
    struct json when = json_of_str(STR("2020-01-02T03:04:35Z")), grace = json_of_int(30);

    if (c->has_grace && c->grace_s == 0)
        return NULL;
    obj = json_set(c->arena, obj, "metadata.deletionTimestamp", &when);
    return json_set(c->arena, obj, "metadata.deletionGracePeriodSeconds", &grace);
}

static bool has_no_time(const struct json *obj)
{
    return json_int(json_path(obj, "metadata.deletionGracePeriodSeconds"), 0) == 0;
}

static struct rig *patient_new(void)
{
    static struct kind_ops ops;
    struct rig *r = rig_new();

    ops = *r->kinds[RIG_THINGS].ops;
    ops.begin_delete = give_time;
    ops.may_vanish = has_no_time;
    r->kinds[RIG_THINGS].ops = &ops;
    r->kinds[RIG_THINGS].delete_returns_object = true;
    return r;
}

TEST(what_may_be_given_time_is_marked_even_without)
{
    struct rig *r = patient_new();
    const struct json *v;

    (void)rig_make(r, "a", "}}");
    v = rig_ask(delete_call(r, "a", "{\"gracePeriodSeconds\":0,\"dryRun\":[\"All\"]}"), NULL);
    CHECK_STR(rig_field(r, v, "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(rig_field(r, v, "metadata.deletionGracePeriodSeconds"), "0");
    CHECK_STR(rig_field(r, v, "metadata.generation"), "2");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "1");
    v = rig_ask(delete_call(r, "a", "{\"gracePeriodSeconds\":0}"), NULL);
    CHECK_STR(rig_field(r, v, "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z");
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "a", ""), "404 NotFound");
    rig_free(r);
}

/* Else it would stay for ever: nobody asks again once its finalizers are gone. */
TEST(time_ends_with_a_delete_that_gives_none_though_finalizers_hold)
{
    struct rig *r = patient_new();
    const char *without = "{\"metadata\":{\"finalizers\":null}}";
    struct rig_call *c;

    (void)rig_make(r, "a", ",\"finalizers\":[\"example.com/x\"]}}");
    CHECK_STR(delete_with(r, "a", ""), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.deletionGracePeriodSeconds"), "30");
    CHECK_STR(delete_with(r, "a", "{\"gracePeriodSeconds\":0}"), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.deletionGracePeriodSeconds"), "0");
    CHECK_STR(field_of(r, "a", "metadata.deletionTimestamp"), "2020-01-02T03:04:05Z");
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a", without);
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(rig_do(r, VERB_GET, "", "things", "default", "a", ""), "404 NotFound");
    rig_free(r);
}

TEST(what_was_deleted_has_the_version_of_its_end)
{
    struct rig *r = patient_new();
    const struct json *v;
    const char *was;

    (void)rig_make(r, "a", "}}");
    was = field_of(r, "a", "metadata.resourceVersion");
    v = rig_ask(delete_call(r, "a", "{\"gracePeriodSeconds\":0,\"dryRun\":[\"All\"]}"), NULL);
    CHECK_STR(rig_field(r, v, "metadata.resourceVersion"), was);
    v = rig_ask(delete_call(r, "a", "{\"gracePeriodSeconds\":0}"), NULL);
    CHECK(atoll(rig_field(r, v, "metadata.resourceVersion")) > atoll(was));
    rig_free(r);
}

TEST(who_cascades_hears_that_it_is_not_yet_gone)
{
    struct rig *r = rig_new();

    (void)rig_make(r, "a", ",\"finalizers\":[\"example.com/x\"]}}");
    CHECK_STR(delete_with(r, "a", "{\"orphanDependents\":false}"), "202 a");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"Background\"}"), "200 a");
    (void)rig_make(r, "b", "}}");
    CHECK_STR(delete_with(r, "b", "{\"orphanDependents\":false}"), "200 Success");
    rig_free(r);
}

TEST(a_policy_that_is_empty_is_none)
{
    struct rig *r = rig_new();

    (void)rig_make(r, "a", "}}");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":\"\"}"), "422 Invalid");
    CHECK_STR(delete_with(r, "a", "{\"propagationPolicy\":null}"), "200 Success");
    rig_free(r);
}

TEST(time_that_is_left_stays)
{
    struct rig *r = patient_new();
    struct rig_call *c;

    (void)rig_make(r, "a", "}}");
    CHECK_STR(delete_with(r, "a", ""), "200 a");
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a",
                 "{\"metadata\":{\"deletionGracePeriodSeconds\":5}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "422 Invalid");
    c = rig_call(r, VERB_PATCH, "", "things", "default", "a",
                 "{\"metadata\":{\"deletionGracePeriodSeconds\":null,\"labels\":{\"l\":\"1\"}}}");
    c->req.patch_type = PATCH_MERGE;
    CHECK_STR(rig_answer(c), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.deletionGracePeriodSeconds"), "30");
    rig_free(r);
}

TEST(a_generation_may_come_late)
{
    struct rig *r = rig_new();

    r->kinds[RIG_THINGS].generation_late = true;
    (void)rig_make(r, "a", ",\"finalizers\":[\"example.com/x\"]}}");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "");
    CHECK_STR(delete_with(r, "a", ""), "200 a");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "");
    CHECK_STR(rig_do(r, VERB_UPDATE, "", "things", "default", "a",
                     "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Thing\",\"metadata\":{"
                     "\"name\":\"a\",\"finalizers\":[\"example.com/x\"]},\"spec\":{\"size\":9}}"),
              "200 a");
    CHECK_STR(field_of(r, "a", "metadata.generation"), "1");
    rig_free(r);
}
