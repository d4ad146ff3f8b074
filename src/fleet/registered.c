/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/registered.h"

#include "base/banned.h"

#define DOMAIN "fleet.kairship.io/"

str registered_instance(str instance)
{
    return instance.n ? instance : STR("root");
}

str registered_selector(struct arena *a, str instance, str cluster)
{
    return str_printf(a, REGISTERED_JOINED "%.*s=%.*s", STR_ARG(registered_instance(instance)),
                      STR_ARG(cluster));
}

bool registered_in(const struct json *entry, str instance)
{
    json_for_each (i, json_path(entry, "status.instances"))
        if (str_eq(json_str(i), registered_instance(instance)))
            return true;
    return false;
}

static str grant_key(struct arena *a, str instance)
{
    return str_printf(a, REGISTERED_GRANTED "%.*s", STR_ARG(registered_instance(instance)));
}

static str grant_value(struct arena *a, str instance_uid, str cluster)
{
    return str_printf(a, "%.*s/%.*s", STR_ARG(cluster), STR_ARG(instance_uid));
}

const struct json *registered_grant(struct arena *a, str instance, str instance_uid,
                                    const str *cluster)
{
    struct json_object notes = json_object_new(a);

    json_add(&notes, grant_key(a, instance),
             cluster ? json_of_str(grant_value(a, instance_uid, *cluster)) : json_null);
    return json_set(a, &json_empty_object, "metadata.annotations", json_object_done(&notes));
}

bool registered_is_granted(struct arena *a, const struct json *entry, str instance,
                           str instance_uid, str cluster)
{
    const struct json *said =
        json_get(json_path(entry, "metadata.annotations"), grant_key(a, instance));

    return json_str(said).n && str_eq(json_str(said), grant_value(a, instance_uid, cluster));
}

struct json registered_labels(struct arena *a, const struct json *labels)
{
    struct json_object theirs = json_object_new(a);

    json_for_each_member (m, labels) {
        ptrdiff_t slash = str_find(m->name, '/', 0);

        if (!str_ends(str_sub(m->name, 0, (size_t)(slash + 1)), STR(DOMAIN)))
            json_add(&theirs, m->name, m->value);
    }
    return json_object_value(&theirs);
}
