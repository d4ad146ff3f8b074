/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "rest/duration.h"

/*
 * Events are one store with two faces: core/v1, which is what is stored, and events.k8s.io/v1 with
 * other names for the same fields and stricter rules.
 * k8s: pkg/apis/core/validation/events.go, pkg/apis/events/v1/conversion.go
 */

/* ---- the two forms ---- */

static const struct {
    const char *core, *events;
} names[] = {
    { "involvedObject", "regarding" },
    { "message", "note" },
    { "source", "deprecatedSource" },
    { "firstTimestamp", "deprecatedFirstTimestamp" },
    { "lastTimestamp", "deprecatedLastTimestamp" },
    { "count", "deprecatedCount" },
    { "reportingComponent", "reportingController" },
};

static str rename_member(str name, bool to_core)
{
    for (size_t i = 0; i < GROUP_LEN(names); i++)
        if (str_is(name, to_core ? names[i].events : names[i].core))
            return str_of(to_core ? names[i].core : names[i].events);
    return name;
}

/* Renamed and decoded again: which zero values are written differs between the forms. */
static const struct json *convert(struct arena *a, const struct json *obj, const struct kind *to,
                                  bool to_core)
{
    struct json_object o = json_object_new(a);
    const struct json *out;
    struct status st;

    json_for_each_member (m, obj) {
        bool version = str_is(m->name, "apiVersion");

        json_add(&o, rename_member(m->name, to_core),
                 version ? json_of_str(to->api_version) : m->value);
    }
    status_init(&st, a);
    /* Cannot fail: renaming keeps what the other form has decoded. */
    if (schema_decode(a, to->schema, json_object_done(&o), NULL, &out, &st) < 0)
        assert(!"an event that fits one form and not the other");
    return out;
}

static struct kind kinds[1];

static const struct json *to_core(struct arena *a, const struct json *obj)
{
    return convert(a, obj, kinds[0].storage, true);
}

static const struct json *from_core(struct arena *a, const struct json *obj)
{
    return convert(a, obj, &kinds[0], false);
}

/* ---- rules for both; the fields have the names of core ---- */

static const struct {
    const char *path;
    size_t max;
    bool required;
} texts[] = {
    { "reportingInstance", 128, true },
    { "action", 128, true },
    { "reason", 128, true },
    { "message", 1024, false },
};

/* A time that is set: these fields are null when they are not. */
static bool has_time(const struct json *obj, const char *path)
{
    return json_get_str(obj, path).n > 0;
}

static void wrong_namespace(struct status *st, str namespace_)
{
    status_cause(st, CAUSE_INVALID, STR("involvedObject.namespace"),
                 check_quote(st->arena, namespace_), "does not match event.namespace");
}

/* Events of the older form: they have no eventTime. */
static void check_old(const struct json *obj, str ns, struct status *st)
{
    str about = json_get_str(obj, "involvedObject.namespace");

    if (about.n ? !str_eq(ns, about) : ns.n && !str_is(ns, "default"))
        wrong_namespace(st, about);
}

static void check_new(const struct json *obj, str ns, const char *controller, struct status *st)
{
    str about = json_get_str(obj, "involvedObject.namespace");
    str reporter = json_get_str(obj, "reportingComponent");

    if (about.n == 0 && !str_is(ns, "default") && !str_is(ns, "kube-system"))
        wrong_namespace(st, about);
    if (reporter.n == 0)
        status_cause(st, CAUSE_REQUIRED, str_of(controller), STR_NONE, "%s", "");
    (void)qualified_name_check(st, str_of(controller), reporter);
    for (size_t i = 0; i < GROUP_LEN(texts); i++) {
        str text = json_get_str(obj, texts[i].path);

        if (texts[i].required && text.n == 0)
            status_cause(st, CAUSE_REQUIRED, str_of(texts[i].path), STR_NONE, "%s", "");
        if (text.n > texts[i].max)
            status_cause(st, CAUSE_INVALID, str_of(texts[i].path), STR("\"\""),
                         "can have at most %zu characters", texts[i].max);
    }
}

static void check_both(const struct kind_context *c, const struct json *obj, const char *controller,
                       struct status *st)
{
    if (has_time(obj, "eventTime"))
        check_new(obj, c->namespace_, controller, st);
    else
        check_old(obj, c->namespace_, st);
}

static void core_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    check_both(c, obj, "reportingComponent", st);
}

/* ---- rules of events.k8s.io ---- */

static void check_series(const struct json *obj, struct status *st)
{
    const struct json *series = json_get(obj, STR("series"));

    if (!series)
        return;
    if (json_int(json_get(series, STR("count")), 0) < 2)
        status_cause(st, CAUSE_INVALID, STR("series.count"), STR("\"\""), "should be at least 2");
    if (!has_time(series, "lastObservedTime"))
        status_cause(st, CAUSE_REQUIRED, STR("series.lastObservedTime"), STR_NONE, "%s", "");
}

static void must_be_unset(struct status *st, const char *path, bool set)
{
    if (set)
        status_cause(st, CAUSE_INVALID, str_of(path), STR("\"\""), "needs to be unset");
}

static void check_create(const struct json *obj, struct status *st)
{
    str type = json_get_str(obj, "type");

    check_series(obj, st);
    if (!has_time(obj, "eventTime"))
        status_cause(st, CAUSE_REQUIRED, STR("eventTime"), STR_NONE, "%s", "");
    if (!str_is(type, "Normal") && !str_is(type, "Warning"))
        status_cause(st, CAUSE_INVALID, STR("type"), STR("\"\""), "has invalid value: %.*s",
                     STR_ARG(type));
    must_be_unset(st, "firstTimestamp", has_time(obj, "firstTimestamp"));
    must_be_unset(st, "lastTimestamp", has_time(obj, "lastTimestamp"));
    must_be_unset(st, "count", json_int(json_get(obj, STR("count")), 0) != 0);
    must_be_unset(st, "source",
                  json_get_str(obj, "source.component").n || json_get_str(obj, "source.host").n);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    obj = to_core(c->arena, obj);
    check_both(c, obj, "reportingController", st);
    if (c->create)
        check_create(obj, st);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    static const char *const fixed[] = {
        "involvedObject", "reason",         "message",
        "source",         "firstTimestamp", "lastTimestamp",
        "count",          "reason",         /* k8s: said twice */ "type",
        "eventTime",      "action",         "related",
    };
    const struct json *series;

    obj = to_core(c->arena, obj);
    old = to_core(c->arena, old);
    series = json_get(obj, STR("series"));
    if (!check_same(series, json_get(old, STR("series"))))
        check_series(obj, st);
    for (size_t i = 0; i < GROUP_LEN(fixed); i++)
        check_immutable(st, fixed[i], obj, old);
    if (!check_same(json_get(obj, STR("reportingComponent")),
                    json_get(old, STR("reportingComponent"))))
        status_cause(st, CAUSE_INVALID, STR("reportingController"),
                     check_quote(st->arena, json_get_str(obj, "reportingComponent")),
                     "field is immutable");
    check_immutable(st, "reportingInstance", obj, old);
}

/* ---- cells ---- */

/* The first of two that says something. */
static str either(const struct json *obj, const char *path, const char *otherwise)
{
    str s = json_get_str(obj, path);

    return s.n ? s : json_get_str(obj, otherwise);
}

/* The table is the same for both forms. */
static void core_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *cells)
{
    str about = json_get_str(obj, "involvedObject.name");
    str kind = str_lower(a, json_get_str(obj, "involvedObject.kind"));
    str source = either(obj, "source.component", "reportingComponent");
    str host = either(obj, "source.host", "reportingInstance");
    str first = duration_since(a, either(obj, "firstTimestamp", "eventTime"), now_s);
    str last = first;
    const struct json *series = json_get(obj, STR("series"));
    int64_t count = json_int(json_get(obj, STR("count")), 1);

    if (has_time(obj, "lastTimestamp"))
        last = duration_since(a, json_get_str(obj, "lastTimestamp"), now_s);
    if (series) {
        last = duration_since(a, json_get_str(series, "lastObservedTime"), now_s);
        count = json_int(json_get(series, STR("count")), 0);
    }
    if (about.n)
        kind = str_printf(a, "%.*s/%.*s", STR_ARG(kind), STR_ARG(about));
    if (host.n)
        source = str_printf(a, "%.*s, %.*s", STR_ARG(source), STR_ARG(host));

    json_push(cells, json_of_str(last));
    cell_str(cells, obj, "type");
    cell_str(cells, obj, "reason");
    json_push(cells, json_of_str(kind));
    cell_str(cells, obj, "involvedObject.fieldPath");
    json_push(cells, json_of_str(source));
    json_push(cells, json_of_str(str_trim(json_get_str(obj, "message"))));
    json_push(cells, json_of_str(first));
    json_push(cells, json_of_int(count));
    cell_str(cells, obj, "metadata.name");
}

static void events_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    core_cells(a, to_core(a, obj), now_s, cells);
}

const struct kind_ops event_core_ops = {
    .validate = core_validate,
    .cells = core_cells,
};

static const struct kind_ops event_ops = {
    .validate = validate,
    .validate_update = validate_update,
    .to_stored = to_core,
    .from_stored = from_core,
    .cells = events_cells,
};

/* ---- the kind of events.k8s.io ---- */

const struct column event_columns[EVENT_COLUMNS] = {
    COLUMN("Last Seen", "", 0, "How long ago it was seen last."),
    COLUMN("Type", "", 0, "Normal or Warning."),
    COLUMN("Reason", "", 0, "Why, in one word."),
    COLUMN("Object", "", 0, "The object it is about."),
    COLUMN("Subobject", "", 1, "The part of the object it is about."),
    COLUMN("Source", "", 1, "Who reports it, and from where."),
    COLUMN("Message", "", 0, "What happened."),
    COLUMN("First Seen", "", 1, "How long ago it was seen first."),
    COLUMN("Count", "", 1, "How often it was seen."),
    COLUMN("Name", "name", 1, "Name of the event."),
};

/* The paths are those of the stored form. */
static const struct field_label labels[] = {
    { .label = STR_INIT("regarding.kind"), .path = "involvedObject.kind" },
    { .label = STR_INIT("regarding.namespace"), .path = "involvedObject.namespace" },
    { .label = STR_INIT("regarding.name"), .path = "involvedObject.name" },
    { .label = STR_INIT("regarding.uid"), .path = "involvedObject.uid" },
    { .label = STR_INIT("regarding.apiVersion"), .path = "involvedObject.apiVersion" },
    { .label = STR_INIT("regarding.resourceVersion"), .path = "involvedObject.resourceVersion" },
    { .label = STR_INIT("regarding.fieldPath"), .path = "involvedObject.fieldPath" },
    { .label = STR_INIT("reason"), .path = "reason" },
    { .label = STR_INIT("reportingController"), .path = "reportingComponent" },
    { .label = STR_INIT("type"), .path = "type" },
};

static const str short_names[] = { STR_INIT("ev") };

static struct kind kinds[1] = {
    {
        .kind = STR_INIT("Event"),
        .plural = STR_INIT("events"),
        .singular = STR_INIT("event"),
        LIST(short_names, short_names),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .update_creates = true,
        .no_dependents = true,
        .unconditional_update = true,
        .kind_selectors = true,
        .columns = event_columns,
        .ncolumns = EVENT_COLUMNS,
        LIST(field_labels, labels),
        .ops = &event_ops,
    },
};

const struct group group_events = {
    .name = STR_INIT("events.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.events.v1",
    .stored = &group_core,
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
