/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/aggregator_internal.h"
#include "base/banned.h"
#include "base/clock.h"

/* ---- conditions ---- */

struct condition {
    const char *type, *reason;
    bool is;
    str message;
};

static const struct json *find(const struct json *conditions, const char *type)
{
    json_for_each (c, conditions)
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

/* Its time changes only with its status. */
static struct json condition(struct arena *a, const struct json *was, const struct condition *c)
{
    str status = c->is ? STR("True") : STR("False");
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    str time = { now, time_format_seconds(now, clock_wall_s(clock_real())) };
    struct json_object o = json_object_new(a);

    if (was && str_eq(json_get_str(was, "status"), status))
        time = json_get_str(was, "lastTransitionTime");
    json_add(&o, STR("lastTransitionTime"), json_of_str(time));
    json_add(&o, STR("message"), json_of_str(c->message));
    json_add(&o, STR("reason"), json_of_str(str_of(c->reason)));
    json_add(&o, STR("status"), json_of_str(status));
    json_add(&o, STR("type"), json_of_str(str_of(c->type)));
    return json_object_value(&o);
}

static bool is_ours(const struct json *c)
{
    return str_is(json_get_str(c, "type"), "Available") ||
           str_is(json_get_str(c, "type"), "InsecureSkipTLSVerify");
}

static const struct json *conditions_of(struct arena *a, const struct json *was,
                                        const struct finding *f)
{
    struct condition available = { "Available", f->reason, f->available, f->message };
    struct condition insecure = { "InsecureSkipTLSVerify", "NotVerified", true,
                                  STR("nobody checks that it is this server which answers") };
    struct json_array all = json_array_new(a);

    json_for_each (c, was)
        if (!is_ours(c))
            json_push(&all, *c);
    json_push(&all, condition(a, find(was, available.type), &available));
    if (f->insecure)
        json_push(&all, condition(a, find(was, insecure.type), &insecure));
    return json_array_done(&all);
}

int aggregator_tell(struct client *client, struct arena *a, str instance, str name,
                    const struct finding *f, struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .group = STR("apiregistration.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("apiservices"),
                              .name = name };
    const struct json *obj, *was, *now;

    if (client_get(client, a, &ref, &obj, st) < 0)
        return -1;
    was = json_path(obj, "status.conditions");
    now = conditions_of(a, was, f);
    if (was && json_equal(was, now))
        return 0;
    ref.subresource = STR("status");
    return client_update(client, a, &ref, json_set(a, obj, "status.conditions", now), NULL, st);
}

/* ---- the ConfigMap ---- */

static const struct json *config_map(struct arena *a, struct json data)
{
    struct json_object o = json_object_new(a), meta = json_object_new(a);

    json_add(&meta, STR("name"), json_of_str(STR("extension-apiserver-authentication")));
    json_add(&meta, STR("namespace"), json_of_str(STR("kube-system")));
    json_add(&o, STR("kind"), json_of_str(STR("ConfigMap")));
    json_add(&o, STR("apiVersion"), json_of_str(STR("v1")));
    json_add(&o, STR("metadata"), json_object_value(&meta));
    json_add(&o, STR("data"), data);
    return json_object_done(&o);
}

int aggregator_publish(struct client *client, struct arena *a, str instance, struct json data,
                       struct status *st)
{
    struct client_ref ref = { .instance = instance,
                              .version = STR("v1"),
                              .resource = STR("configmaps"),
                              .namespace = STR("kube-system"),
                              .name = STR("extension-apiserver-authentication") };
    const struct json *obj;
    struct json_object all;

    if (client_get(client, a, &ref, &obj, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        ref.name = STR_NONE;
        return client_create(client, a, &ref, config_map(a, data), NULL, st);
    }
    all = json_object_from(a, json_get(obj, STR("data")));
    json_for_each_member (m, &data)
        json_put(&all, m->name, m->value);
    if (json_equal(json_object_done(&all), json_get(obj, STR("data"))))
        return 0;
    return client_update(client, a, &ref, json_set(a, obj, "data", json_object_done(&all)), NULL,
                         st);
}
