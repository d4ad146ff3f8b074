/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/frame/conditions.h"

#include "base/banned.h"
#include "base/clock.h"

const struct json *condition_set(struct arena *a, const struct json *all, const struct condition *c,
                                 int64_t now_s)
{
    const struct json *was = condition_find(all, c->type), *now;
    struct json_object o = json_object_new(a);
    struct json_array out = json_array_new(a);
    char text[TIME_TEXT_SIZE];
    str since = json_get_str(was, "lastTransitionTime");

    if (!str_is(json_get_str(was, "status"), c->status) || !since.n)
        since = str_dup(a, (str){ text, time_format_seconds(text, now_s) });
    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    json_add(&o, STR("status"), json_of_str(str_of(c->status)));
    if (c->severity)
        json_add(&o, STR("severity"), json_of_str(str_of(c->severity)));
    json_add(&o, STR("lastTransitionTime"), json_of_str(since));
    if (c->reason)
        json_add(&o, STR("reason"), json_of_str(str_of(c->reason)));
    if (c->message.n)
        json_add(&o, STR("message"), json_of_str(c->message));
    now = json_object_done(&o);
    if (was && json_equal(was, now))
        return all;
    json_for_each (old, all)
        json_push(&out, old == was ? *now : *old);
    if (!was)
        json_push(&out, *now);
    return json_array_done(&out);
}
