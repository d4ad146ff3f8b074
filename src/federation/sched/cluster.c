/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "federation/sched/sched_internal.h"

/* Hashes here only tell things of one process apart; they need no secret. */
enum { HASH_K0 = 0x6b616972, HASH_K1 = 0x73686970 };

static uint64_t mix(uint64_t h, str s)
{
    return str_hash(s, HASH_K0 ^ h, HASH_K1);
}

uint64_t sched_api_hash(str api_version, str kind)
{
    return mix(mix(0, api_version), kind);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void parse_apis(struct arena *a, const struct json *list, struct sched_cluster *c)
{
    uint64_t *apis;
    size_t n = 0;

    json_for_each (group, list)
        n += json_len(json_get(group, STR("resources")));
    apis = arena_array(a, uint64_t, n);
    json_for_each (group, list) {
        str gv = json_get_str(group, "groupVersion");

        json_for_each (resource, json_get(group, STR("resources")))
            apis[c->napis++] = sched_api_hash(gv, json_get_str(resource, "kind"));
    }
    if (c->napis)
        qsort(apis, c->napis, sizeof(*apis), by_number);
    c->apis = apis;
}

static void parse_taints(struct arena *a, const struct json *list, struct sched_cluster *c)
{
    struct sched_taint *taints = arena_array(a, struct sched_taint, json_len(list));

    json_for_each (taint, list) {
        str effect = json_get_str(taint, "effect");

        if (str_is(effect, "NoSchedule") || str_is(effect, "NoExecute"))
            taints[c->ntaints++] = (struct sched_taint){ json_get_str(taint, "key"),
                                                         json_get_str(taint, "value"), effect };
    }
    c->taints = taints;
}

/* spec.zone is the old form of a single zone. */
static void parse_zones(struct arena *a, const struct json *spec, struct sched_cluster *c)
{
    const struct json *list = json_get(spec, STR("zones"));
    str *zones = arena_array(a, str, json_len(list) + 1);

    json_for_each (zone, list)
        if (json_str(zone).n)
            zones[c->nzones++] = json_str(zone);
    if (c->nzones == 0 && json_get_str(spec, "zone").n)
        zones[c->nzones++] = json_get_str(spec, "zone");
    c->zones = zones;
}

static int64_t amount_of(const struct sched_amounts *list, str name)
{
    for (size_t i = 0; i < list->n; i++)
        if (str_eq(list->v[i].name, name))
            return list->v[i].n;
    return 0;
}

static int64_t minus(int64_t a, int64_t b)
{
    int64_t d;

    return __builtin_sub_overflow(a, b, &d) ? INT64_MIN : d;
}

static void parse_summary(struct arena *a, const struct json *summary, struct sched_cluster *c)
{
    struct sched_amounts all, used, waiting;
    struct sched_amount *rest;

    if (!json_is(summary, JSON_OBJECT))
        return;
    c->counted = true;
    all = sched_amounts_parse(a, json_get(summary, STR("allocatable")));
    used = sched_amounts_parse(a, json_get(summary, STR("allocated")));
    waiting = sched_amounts_parse(a, json_get(summary, STR("allocating")));
    rest = arena_array(a, struct sched_amount, all.n);
    for (size_t i = 0; i < all.n; i++) {
        rest[i] = all.v[i];
        rest[i].n = minus(minus(rest[i].n, amount_of(&used, rest[i].name)),
                          amount_of(&waiting, rest[i].name));
    }
    c->free = (struct sched_amounts){ rest, all.n };
    c->pods = amount_of(&c->free, STR("pods"));
    c->waiting = amount_of(&waiting, STR("pods"));
    c->used = amount_of(&used, STR("pods")) + c->waiting;
}

static struct sched_amounts parse_model(struct arena *a, const struct json *model)
{
    const struct json *ranges = json_get(model, STR("ranges"));
    struct json_object o = json_object_new(a);

    json_for_each (range, ranges) {
        const struct json *min = json_get(range, STR("min"));

        if (json_get_str(range, "name").n && min)
            json_put(&o, json_get_str(range, "name"), *min);
    }
    return sched_amounts_parse(a, json_object_done(&o));
}

static int64_t count_of(const struct json *counts, int64_t grade)
{
    json_for_each (row, counts)
        if (json_int(json_get(row, STR("grade")), -1) == grade)
            return json_int(json_get(row, STR("count")), 0);
    return 0;
}

/* Without counts there is no model of the cluster, whatever spec.resourceModels says. */
static void parse_grades(struct arena *a, const struct json *models, const struct json *counts,
                         struct sched_cluster *c)
{
    struct sched_grade *grades;

    if (json_len(counts) == 0)
        return;
    grades = arena_array(a, struct sched_grade, json_len(models));
    json_for_each (model, models) {
        int64_t count = count_of(counts, json_int(json_get(model, STR("grade")), -1));

        grades[c->ngrades++] = (struct sched_grade){ count > 0 ? count : 0, parse_model(a, model) };
    }
    c->grades = grades;
}

static bool is_ready(const struct json *conditions)
{
    json_for_each (condition, conditions)
        if (str_is(json_get_str(condition, "type"), "Ready"))
            return str_is(json_get_str(condition, "status"), "True");
    return false;
}

static uint64_t fingerprint(const struct sched_cluster *c)
{
    scoped_buf b;
    uint64_t h = c->deleting;

    buf_init(&b, 1 << 20);
    json_print_canonical(&b, c->labels ? c->labels : &json_empty_object);
    h = mix(mix(mix(h, buf_str(&b)), c->provider), c->region);
    for (size_t i = 0; i < c->nzones; i++)
        h = mix(h, c->zones[i]);
    for (size_t i = 0; i < c->ntaints; i++)
        h = mix(mix(mix(h, c->taints[i].key), c->taints[i].value), c->taints[i].effect);
    return mix(h, (str){ (const char *)c->apis, c->napis * sizeof(*c->apis) });
}

const struct sched_cluster *sched_cluster_parse(struct arena *a, const struct json *cluster)
{
    struct sched_cluster *c = arena_new_of(a, struct sched_cluster);
    const struct json *spec = json_get(cluster, STR("spec"));
    const struct json *status = json_get(cluster, STR("status"));
    const struct json *summary = json_get(status, STR("resourceSummary"));

    c->name = json_get_str(cluster, "metadata.name");
    c->labels = json_path(cluster, "metadata.labels");
    if (!json_is(c->labels, JSON_OBJECT))
        c->labels = NULL;
    c->deleting = json_get_str(cluster, "metadata.deletionTimestamp").n > 0;
    c->provider = json_get_str(spec, "provider");
    c->region = json_get_str(spec, "region");
    c->ready = is_ready(json_get(status, STR("conditions")));
    parse_zones(a, spec, c);
    parse_taints(a, json_get(spec, STR("taints")), c);
    parse_apis(a, json_get(status, STR("apiEnablements")), c);
    parse_summary(a, summary, c);
    parse_grades(a, json_get(spec, STR("resourceModels")),
                 json_get(summary, STR("allocatableModelings")), c);
    c->fingerprint = fingerprint(c);
    return c;
}

const struct sched_cluster *sched_cluster_keep(struct arena *a, const struct json *cluster)
{
    static const char *const parts[] = {
        "metadata.name",
        "metadata.labels",
        "metadata.deletionTimestamp",
        "spec.provider",
        "spec.region",
        "spec.zone",
        "spec.zones",
        "spec.taints",
        "spec.resourceModels",
        "status.conditions",
        "status.resourceSummary",
    };
    scoped_arena scratch = arena_new();
    const struct sched_cluster *whole = sched_cluster_parse(scratch, cluster);
    const struct json *small = &json_empty_object;
    struct sched_cluster *kept = arena_new_of(a, struct sched_cluster);
    uint64_t *apis = arena_array(a, uint64_t, whole->napis);

    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        if (json_path(cluster, parts[i]))
            small = json_set(scratch, small, parts[i], json_path(cluster, parts[i]));
    *kept = *sched_cluster_parse(a, json_dup(a, small));
    if (whole->napis)
        memcpy(apis, whole->apis, whole->napis * sizeof(*apis));
    kept->apis = apis;
    kept->napis = whole->napis;
    kept->fingerprint = whole->fingerprint;
    return kept;
}
