/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/workload.h"
#include "kinds/own/karmada.h"
#include "object/meta/quantity.h"

/* cluster.karmada.io.  karmada: pkg/apis/cluster/{mutation,validation}, pkg/registry/cluster */

/* ---- defaults ---- */

#define MAX_INT64 "9223372036854775807"

/* Where the default grades of nodes begin. */
static const struct {
    const char *cpu, *memory;
} grades[] = {
    { "0", "0" },      { "1", "4Gi" },    { "2", "16Gi" },   { "4", "32Gi" },  { "8", "64Gi" },
    { "16", "128Gi" }, { "32", "256Gi" }, { "64", "512Gi" }, { "128", "1Ti" },
};

static struct json range(struct arena *a, const char *name, const char *min, const char *max)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(str_of(name)));
    json_add(&o, STR("min"), json_of_str(str_of(min)));
    json_add(&o, STR("max"), json_of_str(str_of(max)));
    return json_object_value(&o);
}

static const struct json *default_models(struct arena *a)
{
    struct json_array models = json_array_new(a);

    for (size_t i = 0; i < GROUP_LEN(grades); i++) {
        bool last = i + 1 == GROUP_LEN(grades);
        struct json_object model = json_object_new(a);
        struct json_array ranges = json_array_new(a);

        json_push(&ranges, range(a, "cpu", grades[i].cpu, last ? MAX_INT64 : grades[i + 1].cpu));
        json_push(&ranges,
                  range(a, "memory", grades[i].memory, last ? MAX_INT64 : grades[i + 1].memory));
        json_add(&model, STR("grade"), json_of_int((int64_t)i));
        json_add(&model, STR("ranges"), json_array_value(&ranges));
        json_push(&models, json_object_value(&model));
    }
    return json_array_done(&models);
}

static int by_grade(const void *a, const void *b)
{
    int64_t x = json_int(json_get(a, STR("grade")), 0), y = json_int(json_get(b, STR("grade")), 0);

    return x < y ? -1 : x > y;
}

/* The model with one end of all its ranges set. */
static struct json with_end(struct arena *a, const struct json *model, const char *end,
                            const char *value)
{
    struct json text = json_of_str(str_of(value));
    struct json_array ranges = json_array_new(a);

    json_for_each (r, json_get(model, STR("ranges")))
        json_push(&ranges, *json_set(a, r, end, &text));
    return *json_set(a, model, "ranges", json_array_done(&ranges));
}

/* By grade; the first begins at zero and the last has no end. */
static const struct json *standard_models(struct arena *a, const struct json *models)
{
    size_t n = json_len(models);
    struct json *sorted = arena_array(a, struct json, n);

    for (size_t i = 0; i < n; i++)
        sorted[i] = models->items[i];
    qsort(sorted, n, sizeof(*sorted), by_grade);
    sorted[0] = with_end(a, &sorted[0], "min", "0");
    sorted[n - 1] = with_end(a, &sorted[n - 1], "max", MAX_INT64);
    return json_box(a, (struct json){ .type = JSON_ARRAY, .n = (uint32_t)n, .items = sorted });
}

static const struct json *with_time(const struct kind_context *c, const struct json *taint)
{
    char *now;

    if (!str_is(json_get_str(taint, "effect"), "NoExecute") || json_get(taint, STR("timeAdded")))
        return taint;
    now = arena_alloc(c->arena, TIME_TEXT_SIZE);
    return json_set(
        c->arena, taint, "timeAdded",
        json_box(c->arena, json_of_str((str){ now, time_format_seconds(now, c->now_s) })));
}

static const struct json *zone_to_zones(struct arena *a, const struct json *obj)
{
    const struct json *zone = json_path(obj, "spec.zone");
    struct json_array zones = json_array_new(a);

    if (!zone || json_len(json_path(obj, "spec.zones")))
        return obj;
    json_push(&zones, *zone);
    obj = json_set(a, obj, "spec.zones", json_array_done(&zones));
    return json_set(a, obj, "spec.zone", NULL);
}

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    const struct json *models = json_path(obj, "spec.resourceModels");

    obj = karmada_each(c, obj, "spec.taints", with_time);
    if (json_len(models))
        obj = json_set(c->arena, obj, "spec.resourceModels", standard_models(c->arena, models));
    return zone_to_zones(c->arena, obj);
}

static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    obj = check_reset(c, obj, "status");
    if (json_len(json_path(obj, "spec.resourceModels")))
        return obj;
    return json_set(c->arena, obj, "spec.resourceModels", default_models(c->arena));
}

/* ---- rules ---- */

static const char *const modes[] = { "Pull", "Push", NULL };

#define FORM "; desired format: hostname, hostname:port, IP or IP:port"

static void bad_part(struct status *st, const struct site *s, str part, const char *why)
{
    status_cause(st, CAUSE_INVALID, site_path(st->arena, s), check_quote(st->arena, part), "%s",
                 why);
}

/* The part of `*rest` up to the first of these bytes, which are not taken. */
static str take_until(str *rest, const char *stops)
{
    size_t n = 0;
    str part;

    while (n < rest->n && !strchr(stops, rest->p[n]))
        n++;
    part = str_sub(*rest, 0, n);
    *rest = str_from(*rest, n);
    return part;
}

static str scheme_of(str *url)
{
    ptrdiff_t at = str_find(*url, ':', 0);
    str scheme = STR_NONE;

    if (at > 0 && str_starts(str_from(*url, (size_t)at), STR("://"))) {
        scheme = str_sub(*url, 0, (size_t)at);
        *url = str_from(*url, (size_t)at + 3);
    }
    return scheme;
}

static void check_endpoint(struct status *st, const struct site *s)
{
    str rest = json_str(s->v), host = STR_NONE, user = STR_NONE;
    ptrdiff_t at;

    if (!s->v)
        return;
    if (scheme_of(&rest).n)
        host = take_until(&rest, "/?#");
    at = str_find(host, '@', 0);
    if (at >= 0) {
        user = str_sub(host, 0, (size_t)at);
        host = str_from(host, (size_t)at + 1);
    }
    if (host.n == 0)
        bad_part(st, s, host, "host must be provided" FORM);
    if (at >= 0)
        bad_part(st, s, user, "user information is not permitted in the URL");
    (void)take_until(&rest, "?#");
    at = str_find(rest, '#', 0);
    if (at >= 0 && (size_t)at + 1 < rest.n)
        bad_part(st, s, str_from(rest, (size_t)at + 1), "fragments are not permitted in the URL");
    if (rest.n > 1 && rest.p[0] == '?')
        bad_part(st, s, str_sub(rest, 1, (at < 0 ? rest.n : (size_t)at) - 1),
                 "query parameters are not permitted in the URL");
}

static void check_proxy(struct status *st, const struct site *s)
{
    str rest = json_str(s->v), scheme = scheme_of(&rest);

    if (s->v && !str_is(scheme, "http") && !str_is(scheme, "https") && !str_is(scheme, "socks5"))
        site_fault(st, s, CAUSE_INVALID,
                   "unsupported scheme \"%.*s\", must be http, https, or socks5", STR_ARG(scheme));
}

static void check_secret(struct status *st, const struct site *ref)
{
    struct site namespace_ = site_in(ref, "namespace"), name = site_in(ref, "name");

    if (!ref->v)
        return;
    (void)site_required(st, &namespace_);
    (void)site_required(st, &name);
}

static void check_label(struct status *st, const struct site *s)
{
    if (s->v)
        (void)label_value_check(st, site_path(st->arena, s), json_str(s->v));
}

static void check_places(struct status *st, const struct site *spec)
{
    struct site provider = site_in(spec, "provider"), region = site_in(spec, "region");
    struct site zone = site_in(spec, "zone"), zones = site_in(spec, "zones");

    check_label(st, &provider);
    check_label(st, &region);
    if (zone.v && zones.v)
        site_invalid(st, &zone, "Zone and Zones cannot co-exist");
    /* Karmada names the field so, and not the item. */
    site_each(z, &zones)
    {
        (void)label_value_check(st, STR("spec.Zones"), json_str(z.v));
    }
}

static void check_taints(struct status *st, const struct site *taints)
{
    static const char *const effects[] = { "NoSchedule", "NoExecute", NULL };
    struct map seen = { 0 };

    site_each(t, taints)
    {
        struct site key = site_in(&t, "key"), value = site_in(&t, "value");
        struct site effect = site_in(&t, "effect");
        str pair = str_printf(st->arena, "%.*s %.*s", STR_ARG(json_str(effect.v)),
                              STR_ARG(json_str(key.v)));

        (void)site_qualified(st, &key);
        check_label(st, &value);
        if (!site_required(st, &effect))
            site_enum(st, &effect, effects);
        if (site_seen(&seen, pair))
            site_fault(st, &t, CAUSE_DUPLICATE, "taints must be unique by key and effect pair");
    }
    map_release(&seen);
}

static struct quantity amount(const struct json *range, const char *end)
{
    struct quantity q = { 0 };

    (void)quantity_parse(json_get_str(range, end), &q);
    return q;
}

/* What is wrong with a grade after another (NULL: it is the first), or NULL. */
static const char *model_fault(const struct json *model, const struct json *before, bool last)
{
    const struct json *ranges = json_get(model, STR("ranges"));
    const struct json *earlier = json_get(before, STR("ranges"));
    struct quantity end = { 0 };

    (void)quantity_parse(STR(MAX_INT64), &end);
    if (before && check_same(json_get(model, STR("grade")), json_get(before, STR("grade"))))
        return "The grade of each models should not be the same";
    if (before && json_len(ranges) != json_len(earlier))
        return "The number of resource types should be the same";
    for (size_t i = 0; i < json_len(ranges); i++) {
        const struct json *r = json_at(ranges, i), *p = json_at(earlier, i);
        struct quantity min = amount(r, "min"), max = amount(r, "max"), joint = amount(p, "max");

        if (quantity_cmp(&max, &min) <= 0)
            return "The max value of each resource must be greater than the min value";
        if (!before && min.nanos)
            return "The min value of each resource in the first model should be 0";
        if (before && !str_eq(json_get_str(p, "name"), json_get_str(r, "name")))
            return "The resource types of each models should be the same";
        if (before && quantity_cmp(&joint, &min) != 0)
            return "Model intervals for resources must be contiguous and non-overlapping";
        if (last && quantity_cmp(&max, &end) != 0)
            return "The max value of each resource in the last model should be MaxInt64";
    }
    return NULL;
}

static void check_models(struct status *st, const struct site *models)
{
    size_t n = json_len(models->v);

    for (size_t i = 0; i < n; i++) {
        const char *why =
            model_fault(json_at(models->v, i), i ? json_at(models->v, i - 1) : NULL, i + 1 == n);

        if (why) {
            site_invalid(st, models, why);
            return;
        }
    }
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site mode = site_in(&spec, "syncMode"), endpoint = site_in(&spec, "apiEndpoint");
    struct site secret = site_in(&spec, "secretRef"), proxy = site_in(&spec, "proxyURL");
    struct site impersonator = site_in(&spec, "impersonatorSecretRef");
    struct site taints = site_in(&spec, "taints"), models = site_in(&spec, "resourceModels");

    if (c->create && c->name.n > KARMADA_CLUSTER_NAME_MAX)
        status_cause(st, CAUSE_INVALID, STR("metadata.name"), check_quote(st->arena, c->name),
                     "must be no more than %d characters", KARMADA_CLUSTER_NAME_MAX);
    (void)site_required(st, &mode);
    site_enum(st, &mode, modes);
    check_endpoint(st, &endpoint);
    check_secret(st, &secret);
    check_secret(st, &impersonator);
    check_proxy(st, &proxy);
    check_places(st, &spec);
    check_taints(st, &taints);
    check_models(st, &models);
}

/* ---- the kind ---- */

static str ready(const struct json *obj)
{
    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Ready"))
            return json_get_str(c, "status");
    return STR("Unknown");
}

static void cell_or_none(struct json_array *cells, str s)
{
    cell_text(cells, s.n ? s : STR("<none>"));
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    str zones = STR_NONE;

    json_for_each (z, json_path(obj, "spec.zones"))
        zones =
            str_printf(a, "%.*s%s%.*s", STR_ARG(zones), zones.n ? "," : "", STR_ARG(json_str(z)));
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "status.kubernetesVersion");
    cell_str(cells, obj, "spec.syncMode");
    cell_text(cells, ready(obj));
    cell_age(cells, obj, now_s);
    cell_or_none(cells, zones);
    cell_or_none(cells, json_get_str(obj, "spec.region"));
    cell_or_none(cells, json_get_str(obj, "spec.provider"));
    cell_str(cells, obj, "spec.apiEndpoint");
    cell_or_none(cells, json_get_str(obj, "spec.proxyURL"));
}

static const struct kind_ops ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = karmada_prepare_update,
    .validate = validate,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Version", "", 0, "Version of its API server."),
    COLUMN("Mode", "", 0, "Who carries changes."),
    COLUMN("Ready", "", 0, "Whether it takes workloads."),
    AGE_COLUMN,
    COLUMN("Zones", "", 1, "Zones of its nodes."),
    COLUMN("Region", "", 1, "Where it is."),
    COLUMN("Provider", "", 1, "Who runs it."),
    COLUMN("API-Endpoint", "", 1, "Address of its API server."),
    COLUMN("Proxy-URL", "", 1, "The proxy on the way to it."),
};

static const struct subresource subresources[] = {
    { .name = STR_INIT("proxy"),
      .verbs = VERB_CREATE | VERB_DELETE | VERB_GET | VERB_PATCH | VERB_UPDATE,
      .kind = STR_INIT("ClusterProxyOptions"),
      .group = STR_INIT("cluster.karmada.io"),
      .version = STR_INIT("v1alpha1") },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("Cluster", "clusters", "cluster"),
        KARMADA_KIND,
        .name_rule = NAME_LABEL,
        .unconditional_update = true,
        LIST(columns, columns),
        LIST(subresources, subresources),
        .ops = &ops,
    },
};

const struct group group_karmada_cluster = {
    .name = STR_INIT("cluster.karmada.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.karmada.cluster.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
