/* SPDX-License-Identifier: Apache-2.0 */
#include "unit/kinds_fixture.h"

static struct fixture core(void)
{
    return fixture_new("", "v1", "events");
}

static struct fixture events(void)
{
    return fixture_new("events.k8s.io", "v1", "events");
}

#define TIME "\"2020-01-02T03:04:05.000006Z\""

/* A complete event of the newer form, with more members put in front. */
#define NEWER(more)                                                                            \
    "{" more "\"metadata\":{\"name\":\"e\",\"namespace\":\"ns\"},\"eventTime\":" TIME          \
    ",\"reportingController\":\"example.com/c\",\"reportingInstance\":\"i\",\"action\":\"A\"," \
    "\"reason\":\"R\",\"type\":\"Normal\",\"regarding\":{\"kind\":\"Pod\",\"name\":\"p\","     \
    "\"namespace\":\"ns\"},\"note\":\"n\"}"

TEST(an_event_lives_where_its_object_lives)
{
    struct fixture f = core();
    const char *wrong = "involvedObject.namespace: Invalid value: \"other\": does not match "
                        "event.namespace";

    CHECK_STR(fixture_create_faults(&f, "{\"involvedObject\":{\"namespace\":\"ns\"}}"), "");
    CHECK_STR(fixture_create_faults(&f, "{\"involvedObject\":{\"namespace\":\"other\"}}"), wrong);
    CHECK_STR(fixture_create_faults(&f, "{\"involvedObject\":{\"kind\":\"Namespace\"}}"),
              "involvedObject.namespace: Invalid value: \"\": does not match event.namespace");
    f.c.namespace_ = STR("default");
    CHECK_STR(fixture_create_faults(&f, "{\"involvedObject\":{\"kind\":\"Namespace\"}}"), "");
    fixture_release(&f);
}

TEST(an_event_with_event_time_must_be_complete)
{
    struct fixture f = core();

    CHECK_STR(fixture_create_faults(&f, "{\"eventTime\":" TIME
                                        ",\"reportingComponent\":\"c\",\"reportingInstance\":\"i\","
                                        "\"action\":\"A\",\"reason\":\"R\",\"involvedObject\":"
                                        "{\"namespace\":\"other\"}}"),
              "");
    CHECK(fixture_create_faults(&f, "{\"eventTime\":" TIME "}") != NULL);
    CHECK(strstr(fixture_create_faults(&f, "{\"eventTime\":" TIME "}"),
                 "reportingComponent: Required value; "));
    CHECK(strstr(fixture_create_faults(&f, "{\"eventTime\":" TIME "}"),
                 "reportingInstance: Required value; action: Required value; reason: Required "
                 "value"));
    f.c.namespace_ = STR("kube-system");
    CHECK(!strstr(fixture_create_faults(&f, "{\"eventTime\":" TIME "}"), "involvedObject"));
    fixture_release(&f);
}

TEST(texts_have_limits)
{
    struct fixture f = core();
    char *text = arena_alloc(f.c.arena, 1026);

    memset(text, 'x', 1025);
    CHECK_STR(fixture_create_faults(
                  &f, arena_printf(f.c.arena,
                                   "{\"eventTime\":" TIME
                                   ",\"reportingComponent\":\"c\",\"reportingInstance\":\"%.129s\","
                                   "\"action\":\"%.128s\",\"reason\":\"%.129s\",\"message\":\"%s\","
                                   "\"involvedObject\":{\"namespace\":\"ns\"}}",
                                   text, text, text, text)),
              "reportingInstance: Invalid value: \"\": can have at most 128 characters; "
              "reason: Invalid value: \"\": can have at most 128 characters; "
              "message: Invalid value: \"\": can have at most 1024 characters");
    fixture_release(&f);
}

TEST(the_newer_group_is_stricter)
{
    struct fixture f = events();

    CHECK_STR(fixture_create_faults(&f, NEWER("")), "");
    CHECK_STR(fixture_create_faults(&f, NEWER("\"series\":{\"count\":1},")),
              "series.count: Invalid value: \"\": should be at least 2; "
              "series.lastObservedTime: Required value");
    CHECK_STR(
        fixture_create_faults(&f, NEWER("\"deprecatedCount\":1,\"deprecatedSource\":{\"host\":"
                                        "\"h\"},\"deprecatedFirstTimestamp\":"
                                        "\"2020-01-01T00:00:00Z\",\"deprecatedLastTimestamp\":"
                                        "\"2020-01-01T00:00:00Z\",")),
        "firstTimestamp: Invalid value: \"\": needs to be unset; "
        "lastTimestamp: Invalid value: \"\": needs to be unset; "
        "count: Invalid value: \"\": needs to be unset; "
        "source: Invalid value: \"\": needs to be unset");
    CHECK_STR(fixture_create_faults(&f, "{\"regarding\":{\"namespace\":\"ns\"},\"type\":\"Odd\"}"),
              "eventTime: Required value; type: Invalid value: \"\": has invalid value: Odd");
    fixture_release(&f);
}

TEST(in_the_newer_group_only_the_series_changes)
{
    struct fixture f = events();
    const struct json *old = fixture_read(&f, NEWER(""));
    const struct json *more =
        fixture_read(&f, NEWER("\"series\":{\"count\":2,\"lastObservedTime\":" TIME "},"));
    const struct json *other =
        json_set(f.c.arena, old, "reportingController", json_box(f.c.arena, json_of_str(STR("d"))));

    CHECK_STR(fixture_faults(&f, old, old), "");
    CHECK_STR(fixture_faults(&f, more, old), "");
    CHECK_STR(fixture_faults(&f, other, old),
              "reportingController: Invalid value: \"d\": field is immutable");
    other = json_set(f.c.arena, old, "note", json_box(f.c.arena, json_of_str(STR("m"))));
    CHECK_STR(fixture_faults(&f, other, old), "message: Invalid value: \"m\": field is immutable");
    fixture_release(&f);
}

TEST(an_old_event_can_be_updated_through_the_newer_group)
{
    struct fixture f = events();
    const struct json *old = fixture_read(
        &f, "{\"regarding\":{\"namespace\":\"ns\"},\"deprecatedCount\":3,\"type\":\"Normal\"}");

    CHECK_STR(fixture_faults(&f, old, old), "");
    fixture_release(&f);
}

#define CORE_TEXT                                                                                  \
    "{\"kind\":\"Event\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"e\",\"namespace\":\"ns\"}" \
    ","                                                                                            \
    "\"action\":\"A\",\"count\":3,\"eventTime\":" TIME                                             \
    ",\"firstTimestamp\":\"2020-01-01T00:00:00Z\",\"involvedObject\":{\"kind\":\"Pod\"},"          \
    "\"lastTimestamp\":null,\"message\":\"m\",\"reportingComponent\":\"\",\"reportingInstance\":"  \
    "\"\",\"source\":{\"component\":\"c\"}}"

#define EVENTS_TEXT                                                                           \
    "{\"kind\":\"Event\",\"apiVersion\":\"events.k8s.io/v1\",\"metadata\":{\"name\":\"e\","   \
    "\"namespace\":\"ns\"},\"action\":\"A\",\"deprecatedCount\":3,"                           \
    "\"deprecatedFirstTimestamp\":\"2020-01-01T00:00:00Z\",\"deprecatedLastTimestamp\":null," \
    "\"deprecatedSource\":{\"component\":\"c\"},\"eventTime\":" TIME                          \
    ",\"note\":\"m\",\"regarding\":{\"kind\":\"Pod\"}}"

TEST(the_two_forms_say_the_same)
{
    struct fixture c = core(), e = events();
    const struct json *obj = fixture_read(&c, CORE_TEXT);

    CHECK_STR(fixture_print(&c, obj), CORE_TEXT);
    obj = e.kind->ops->from_stored(e.c.arena, obj);
    CHECK_STR(fixture_print(&e, obj), EVENTS_TEXT);
    CHECK_STR(fixture_print(&e, e.kind->ops->to_stored(e.c.arena, obj)), CORE_TEXT);
    fixture_release(&c);
    fixture_release(&e);
}

TEST(cells_of_an_event_of_the_older_form)
{
    struct fixture f = core();

    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":"
                                "\"Pod\",\"name\":\"p\",\"fieldPath\":\"spec\"},\"reason\":\"Why\","
                                "\"message\":\" text\\n\",\"type\":\"Normal\",\"count\":3,"
                                "\"source\":{\"component\":\"c\",\"host\":\"h\"}}"),
              "[\"<unknown>\",\"Normal\",\"Why\",\"pod/p\",\"spec\",\"c, h\",\"text\","
              "\"<unknown>\",3,\"e\"]");
    CHECK_STR(fixture_cells(&f, "{\"metadata\":{\"name\":\"e\"},\"involvedObject\":{\"kind\":"
                                "\"Pod\"},\"firstTimestamp\":\"2020-01-02T03:03:05Z\","
                                "\"lastTimestamp\":\"2020-01-02T03:04:00Z\"}"),
              "[\"5s\",\"\",\"\",\"pod\",\"\",\"\",\"\",\"60s\",1,\"e\"]");
    CHECK(f.kind->ncolumns == 10);
    fixture_release(&f);
}

TEST(cells_of_an_event_of_the_newer_form)
{
    struct fixture f = events();

    f.c.now_s += 60;
    CHECK_STR(fixture_cells(&f, NEWER("")),
              "[\"60s\",\"Normal\",\"R\",\"pod/p\",\"\",\"example.com/c, i\",\"n\",\"60s\",1,"
              "\"e\"]");
    CHECK_STR(fixture_cells(&f, NEWER("\"series\":{\"count\":9,\"lastObservedTime\":"
                                      "\"2020-01-02T03:05:00.000000Z\"},")),
              "[\"5s\",\"Normal\",\"R\",\"pod/p\",\"\",\"example.com/c, i\",\"n\",\"60s\",9,"
              "\"e\"]");
    fixture_release(&f);
}

TEST(field_labels_have_the_names_of_their_group_and_paths_of_the_store)
{
    struct fixture c = core(), e = events();

    CHECK(c.kind->nfield_labels == 11 && e.kind->nfield_labels == 10);
    for (size_t i = 0; i < e.kind->nfield_labels; i++)
        CHECK(!str_starts(str_of(e.kind->field_labels[i].path), STR("regarding")));
    CHECK(c.kind->kind_selectors && e.kind->kind_selectors);
    fixture_release(&c);
    fixture_release(&e);
}
