/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/members/clusters.h"

#include "base/banned.h"

/* karmada: cmd/controller-manager/app/options; spec/kairship 1.3 */
const struct failover failover_default = {
    .success_ms = 30000,
    .failure_ms = 30000,
    .startup_ms = 60000,
    .grace_ms = 40000,
    .eviction_ms = 30000,
    .graceful_ms = 600000,
};

static void read_seconds(const struct json *from, const char *name, int64_t *ms)
{
    enum { YEAR_S = 366 * 86400 };
    int64_t s = json_int(json_get(from, str_of(name)), 0);

    if (s > 0)
        *ms = (s < YEAR_S ? s : YEAR_S) * 1000;
}

int failover_read(const struct clusters *c, struct client *client, struct arena *a, str instance,
                  struct failover *out, struct status *st)
{
    struct client_ref ref = { .group = STR("tenancy.kairship.io"),
                              .version = STR("v1alpha1"),
                              .resource = STR("instances"),
                              .name = instance };
    const struct json *object, *says;

    *out = c->failover ? *c->failover : failover_default;
    if (!instance.n)
        return 0;
    if (client_get(client, a, &ref, &object, st) < 0) {
        if (!status_is(st, REASON_NOT_FOUND))
            return -1;
        status_reset(st);
        return 0;
    }
    says = json_path(object, "spec.settings.failover");
    if (!says)
        return 0;
    out->enabled = json_bool(json_get(says, STR("enabled")));
    read_seconds(says, "clusterSuccessThreshold", &out->success_ms);
    read_seconds(says, "clusterFailureThreshold", &out->failure_ms);
    read_seconds(says, "clusterStartupGracePeriod", &out->startup_ms);
    read_seconds(says, "clusterMonitorGracePeriod", &out->grace_ms);
    read_seconds(says, "failoverEvictionTimeout", &out->eviction_ms);
    read_seconds(says, "gracefulEvictionTimeout", &out->graceful_ms);
    return 0;
}

/* Most instances say nothing of it, and cost nothing here. */
void clusters_map_settings(void *arg, struct controller *ctl, const struct informer_key *k,
                           const struct json *object, bool deleted)
{
    struct informer_key all = { .instance = k->name };

    (void)arg;
    if (!deleted && json_path(object, "spec.settings.failover"))
        controller_wake(ctl, &all);
}

int clusters_wake_all(struct client *client, struct arena *a, const struct informer_key *k,
                      struct controller *ctl, struct status *st)
{
    struct client_ref ref = clusters_ref(k);
    const struct json *list;

    if (client_list(client, a, &ref, NULL, &list, st) < 0)
        return -1;
    json_for_each (item, json_get(list, STR("items"))) {
        struct informer_key one = { .instance = k->instance,
                                    .name = json_get_str(item, "metadata.name") };

        controller_wake(ctl, &one);
    }
    return 0;
}

/* ---- time ---- */

struct clock *clusters_clock(const struct clusters *c)
{
    return c->clock ? c->clock : clock_real();
}

str clusters_now(const struct clusters *c, struct arena *a)
{
    char text[TIME_TEXT_SIZE];
    size_t n = time_format_seconds(text, clock_wall_s(clusters_clock(c)));

    return str_dup(a, (str){ text, n });
}

int64_t clusters_age_ms(const struct clusters *c, str time, int64_t otherwise)
{
    int64_t s;

    /* Times are whole seconds, cut off: counted from the next, so that nothing comes early. */
    if (!time_parse_seconds(time, &s))
        return otherwise;
    return clock_wall_us(clusters_clock(c)) / 1000 - (s + 1) * 1000;
}

/* ---- conditions ---- */

const struct json *clusters_condition(const struct json *object, str type)
{
    json_for_each (c, json_path(object, "status.conditions"))
        if (str_eq(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

const struct json *clusters_set_condition(struct arena *a, const struct json *conditions,
                                          const char *type, const char *status, str reason,
                                          str message, str now)
{
    struct json_array out = json_array_new(a);
    struct json_object c = json_object_new(a);
    str since = now;
    bool placed = false;

    json_for_each (old, conditions)
        if (str_is(json_get_str(old, "type"), type) && str_is(json_get_str(old, "status"), status))
            since = json_get_str(old, "lastTransitionTime");
    json_add(&c, STR("type"), json_of_str(str_of(type)));
    json_add(&c, STR("status"), json_of_str(str_of(status)));
    json_add(&c, STR("lastTransitionTime"), json_of_str(since));
    json_add(&c, STR("reason"), json_of_str(reason));
    json_add(&c, STR("message"), json_of_str(message));
    json_for_each (old, conditions) {
        bool same = str_is(json_get_str(old, "type"), type);

        json_push(&out, same ? json_object_value(&c) : *old);
        placed = placed || same;
    }
    if (!placed)
        json_push(&out, json_object_value(&c));
    return json_array_done(&out);
}

/* ---- taints ---- */

/* A taint by key and effect, or NULL. */
static const struct json *find_taint(const struct json *taints, str key, str effect)
{
    json_for_each (t, taints)
        if (str_eq(json_get_str(t, "key"), key) && str_eq(json_get_str(t, "effect"), effect))
            return t;
    return NULL;
}

const struct json *clusters_taint_add(struct arena *a, const struct json *taints, str key,
                                      str value, str effect, str now)
{
    struct json_array out = json_array_new(a);
    struct json_object t = json_object_new(a);

    if (find_taint(taints, key, effect))
        return taints;
    json_for_each (old, taints)
        json_push(&out, *old);
    json_add(&t, STR("key"), json_of_str(key));
    if (value.n)
        json_add(&t, STR("value"), json_of_str(value));
    json_add(&t, STR("effect"), json_of_str(effect));
    json_add(&t, STR("timeAdded"), json_of_str(now));
    json_push(&out, json_object_value(&t));
    return json_array_done(&out);
}

const struct json *clusters_taint_remove(struct arena *a, const struct json *taints, str key,
                                         str effect)
{
    struct json_array out = json_array_new(a);

    if (!find_taint(taints, key, effect))
        return taints;
    json_for_each (old, taints)
        if (!str_eq(json_get_str(old, "key"), key) || !str_eq(json_get_str(old, "effect"), effect))
            json_push(&out, *old);
    return json_array_done(&out);
}
