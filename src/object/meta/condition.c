/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/condition.h"

#include "base/banned.h"
#include "base/clock.h"

const struct json *condition_find(const struct json *all, const char *type)
{
    json_for_each (c, all)
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

bool condition_holds(const struct json *all, const char *type)
{
    return str_is(json_get_str(condition_find(all, type), "status"), "True");
}

bool object_is_ready(const struct json *object)
{
    return condition_holds(json_path(object, "status.conditions"), "Ready");
}

/* The time that the condition had, while what it tells of is the same; else now. */
static struct json since(struct arena *a, const struct json *was, const char *member, bool same,
                         int64_t now_s)
{
    str then = json_get_str(was, member);
    char text[TIME_TEXT_SIZE];
    size_t n = time_format_seconds(text, now_s);

    return json_of_str(same && then.n ? then : str_dup(a, (str){ text, n }));
}

static const struct json *changed(struct arena *a, const struct json *was,
                                  const struct condition *c, int64_t now_s)
{
    struct json_object o = json_object_new(a);
    bool same = str_is(json_get_str(was, "status"), c->status);
    bool as_told = same && str_is(json_get_str(was, "reason"), c->reason ? c->reason : "");

    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    json_add(&o, STR("status"), json_of_str(str_of(c->status)));
    if (c->severity)
        json_add(&o, STR("severity"), json_of_str(str_of(c->severity)));
    if (c->updates)
        json_add(&o, STR("lastUpdateTime"), since(a, was, "lastUpdateTime", as_told, now_s));
    json_add(&o, STR("lastTransitionTime"), since(a, was, "lastTransitionTime", same, now_s));
    if (c->reason)
        json_add(&o, STR("reason"), json_of_str(str_of(c->reason)));
    if (c->message.n)
        json_add(&o, STR("message"), json_of_str(c->message));
    return json_object_done(&o);
}

const struct json *condition_set(struct arena *a, const struct json *all, const struct condition *c,
                                 int64_t now_s)
{
    const struct json *was = condition_find(all, c->type), *now = changed(a, was, c, now_s);
    struct json_array out = json_array_new(a);

    if (was && json_equal(was, now))
        return all;
    json_for_each (old, all)
        json_push(&out, old == was ? *now : *old);
    if (!was)
        json_push(&out, *now);
    return json_array_done(&out);
}

const struct json *condition_remove(struct arena *a, const struct json *all, const char *type)
{
    struct json_array out = json_array_new(a);

    if (!condition_find(all, type))
        return all;
    json_for_each (c, all)
        if (!str_is(json_get_str(c, "type"), type))
            json_push(&out, *c);
    return json_array_done(&out);
}
