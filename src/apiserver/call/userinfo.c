/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/userinfo.h"

#include "base/banned.h"

static struct json strings(struct arena *a, const str *items, size_t n)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(items[i]));
    return json_array_value(&r);
}

const struct json *userinfo_json(struct arena *a, const struct identity *who)
{
    struct json_object o = json_object_new(a), extra = json_object_new(a);

    if (who->user.n)
        json_add(&o, STR("username"), json_of_str(who->user));
    if (who->uid.n)
        json_add(&o, STR("uid"), json_of_str(who->uid));
    if (who->ngroups)
        json_add(&o, STR("groups"), strings(a, who->groups, who->ngroups));
    for (size_t i = 0; i < who->nextra; i++)
        json_put(&extra, who->extra[i].key,
                 strings(a, who->extra[i].values, who->extra[i].nvalues));
    if (who->nextra)
        json_add(&o, STR("extra"), json_object_value(&extra));
    return json_object_done(&o);
}
