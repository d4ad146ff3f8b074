/* SPDX-License-Identifier: Apache-2.0 */

/* Service Core: events of an instance. */

#include "base/banned.h"
#include "base/clock.h"
#include "mgmt/resource.h"

/* Whoever wrote it, by the old API of events or by the new one. */
static const struct json *finish(struct resource_call *c, const struct json *obj,
                                 const struct json *message)
{
    static const char *const times[] = { "series.lastObservedTime", "lastTimestamp", "eventTime",
                                         "metadata.creationTimestamp" };
    const struct json *by = json_get(obj, STR("reportingComponent"));
    int64_t s = 0;

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
        if (time_parse_seconds(json_get_str(obj, times[i]), &s))
            break;
    if (!json_get_str(message, "source.component").n && by)
        message = json_set(c->arena, message, "source.component", by);
    return json_set(c->arena, message, "lastTimestamp", json_box(c->arena, json_of_int(s)));
}

const struct resource resource_events = {
    .ref = { .version = STR_INIT("v1"), .resource = STR_INIT("events") },
    .kind = "Event",
    .finish = finish,
};

static void and_field(struct resource_call *c, struct resource_filter *f, const char *path,
                      const char *from)
{
    str value = json_get_str(c->request, from);

    if (value.n)
        f->fields = str_printf(c->arena, "%.*s%s%s=%.*s", STR_ARG(f->fields),
                               f->fields.n ? "," : "", path, STR_ARG(value));
}

static bool about_name(const void *arg, const struct json *obj)
{
    return str_contains(json_get_str(obj, "involvedObject.name"), *(const str *)arg);
}

/* Names are of what the events are about. */
int events_list(struct resource_call *c, const struct json **response, struct status *st)
{
    const struct json *types = json_get(c->request, STR("type"));
    struct resource_filter f = { .arg = &c->name,
                                 .takes = c->name.n ? about_name : NULL,
                                 .name_is_other = true,
                                 .order = STR("created_at desc") };

    resource_check_word(c, "kind", st);
    resource_check_word(c, "kindName", st);
    if (status_invalid(st, STR_NONE, c->method->input->name, STR_NONE) < 0)
        return -1;
    and_field(c, &f, "involvedObject.kind", "kind");
    and_field(c, &f, "involvedObject.name", "kindName");
    if (json_len(types) == 1)
        f.fields = str_printf(c->arena, "%.*s%stype=%.*s", STR_ARG(f.fields), f.fields.n ? "," : "",
                              STR_ARG(json_str(json_at(types, 0))));
    return resource_list_filtered(c, &f, response, st);
}

struct kinds {
    struct arena *arena;
    struct json_array list;
};

static void take_kind(void *arg, const struct json *obj)
{
    struct kinds *k = arg;
    str kind = json_get_str(obj, "involvedObject.kind");

    for (uint32_t i = 0; i < k->list.n; i++)
        if (str_eq(json_str(&k->list.items[i]), kind))
            return;
    json_push(&k->list, json_of_str(str_dup(k->arena, kind)));
}

int events_kinds(struct resource_call *c, const struct json **response, struct status *st)
{
    struct kinds k = { c->arena, json_array_new(c->arena) };
    struct json_object o = json_object_new(c->arena);
    struct search_find f = resource_find(c, c->what);

    if (resource_scan(c, &f, take_kind, &k, st) < 0)
        return -1;
    json_add(&o, STR("data"), json_array_value(&k.list));
    *response = json_object_done(&o);
    return 0;
}
