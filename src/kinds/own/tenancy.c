/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/own/groups.h"
#include "object/meta/release.h"

/* Instances: served in the root instance only; their objects make the logical clusters. */

static const struct json *with_state(const struct kind_context *c, const struct json *obj,
                                     str state)
{
    return json_set(c->arena, obj, "status.state", json_box(c->arena, json_of_str(state)));
}

/* A hosted instance is there with its object; one that is attached has to be reached first. */
static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    struct json seen = json_of_int(json_int(json_path(obj, "metadata.generation"), 1));

    obj = json_set(c->arena, obj, "status", NULL);
    if (json_path(obj, "spec.attach"))
        return with_state(c, obj, STR("INPROCESS"));
    obj = with_state(c, obj, STR("RUNNING"));
    return json_set(c->arena, obj, "status.observedGeneration", &seen);
}

static const struct json *held(const struct kind_context *c, const struct json *obj)
{
    return with_state(c, obj, STR("TERMINAL"));
}

static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    if (str_is(c->subresource, "status"))
        return check_only_status(c->arena, obj, old);
    return check_keep(c->arena, obj, old, "status");
}

static const char *const profiles[] = { "karmada", "kubernetes", "minimal", NULL };
static const char *const releases[] = { "Destroy", "Orphan", NULL };
static const char *const states[] = { "INPROCESS",   "RUNNING", "TERMINAL",
                                      "UNAVAILABLE", "UNKNOWN", NULL };

static const struct {
    const char *path;
    const char *const *words;
} enums[] = {
    { "spec.profile", profiles },
    { "spec.release", releases },
    { "status.state", states },
};

#define SECRET_REF "spec.attach.kubeconfigSecretRef"

enum { ALIAS_MAX = 64, PERIOD_MAX_S = 86400 };

/*
 * What answers over all instances call the root instance, what all instances are made of, and a
 * word of the management API's paths (GET /instances/config).
 */
static const char *const reserved[] = { "root", "template", "config" };

static void check_name(struct status *st, str name)
{
    for (size_t i = 0; i < GROUP_LEN(reserved); i++)
        if (str_is(name, reserved[i]))
            status_cause(st, CAUSE_INVALID, STR("metadata.name"), check_quote(st->arena, name),
                         "is reserved");
}

/* All numbers of the settings are seconds, and none may be zero. */
static void check_seconds(struct status *st, const struct json *settings)
{
    json_for_each_member (group, settings) {
        json_for_each_member (m, &group->value) {
            if (json_is(&m->value, JSON_INT) && m->value.i <= 0)
                status_cause(st, CAUSE_INVALID,
                             str_printf(st->arena, "spec.settings.%.*s.%.*s", STR_ARG(group->name),
                                        STR_ARG(m->name)),
                             json_text(st->arena, &m->value), "must be greater than 0");
        }
    }
}

static void check_limits(struct status *st, const struct json *limits)
{
    json_for_each_member (m, limits) {
        if (json_int(&m->value, 0) < 0)
            status_cause(st, CAUSE_INVALID,
                         str_printf(st->arena, "spec.limits.%.*s", STR_ARG(m->name)),
                         json_text(st->arena, &m->value), "must be greater than or equal to 0");
    }
}

/* A word that is not understood must not wait until the instance is deleted. */
static void check_release(struct status *st, const struct json *obj)
{
    const struct json *notes = json_path(obj, "metadata.annotations");
    const struct json *said = json_get(notes, STR(RELEASE_ANNOTATION));

    if (said && release_of_word(json_str(said)) == RELEASE_UNSAID)
        status_cause(st, CAUSE_NOT_SUPPORTED, STR("metadata.annotations[" RELEASE_ANNOTATION "]"),
                     check_quote(st->arena, json_str(said)),
                     "supported values: \"Destroy\", \"Orphan\"");
}

static void check_alias(struct status *st, const struct json *obj, const struct json *old)
{
    str alias = json_get_str(obj, "spec.alias");
    size_t characters = 0;

    for (size_t i = 0; i < alias.n; i++)
        characters += ((unsigned char)alias.p[i] & 0xc0) != 0x80;
    if (characters > ALIAS_MAX && !str_eq(alias, json_get_str(old, "spec.alias")))
        status_cause(st, CAUSE_TOO_LONG, STR("spec.alias"), STR_NONE,
                     "may not be more than %d characters", ALIAS_MAX);
}

static void check_periods(struct status *st, const struct json *obj, const struct json *old)
{
    const struct json *settings = json_path(obj, "spec.settings");

    json_for_each_member (group, settings) {
        const struct json *was = json_get(json_path(old, "spec.settings"), group->name);

        json_for_each_member (m, &group->value)
            if (json_int(&m->value, 0) > PERIOD_MAX_S &&
                json_int(&m->value, 0) != json_int(json_get(was, m->name), 0))
                status_cause(st, CAUSE_INVALID,
                             str_printf(st->arena, "spec.settings.%.*s.%.*s", STR_ARG(group->name),
                                        STR_ARG(m->name)),
                             json_text(st->arena, &m->value), "must be at most %d, a day",
                             PERIOD_MAX_S);
    }
}

/* Limits that came later than the fields: a value that an older version stored may stay. */
static void check_new_values(struct status *st, const struct json *obj, const struct json *old)
{
    check_alias(st, obj, old);
    check_periods(st, obj, old);
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    if (c->create) {
        check_name(st, c->name);
        check_new_values(st, obj, NULL);
    }
    for (size_t i = 0; i < GROUP_LEN(enums); i++)
        check_enum(st, enums[i].path, obj, enums[i].words);
    if (json_path(obj, "spec.attach")) {
        check_required(st, SECRET_REF ".name", obj);
        check_required(st, SECRET_REF ".namespace", obj);
    }
    check_release(st, obj);
    check_limits(st, json_path(obj, "spec.limits"));
    check_seconds(st, json_path(obj, "spec.settings"));
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec.profile", obj, old);
    check_immutable(st, "spec.attach", obj, old);
    check_new_values(st, obj, old);
}

const struct json *tenancy_without_default(struct arena *a, const struct json *instance)
{
    if (release_of_word(json_get_str(instance, "spec.release")) != RELEASE_DESTROY)
        return instance;
    return json_set(a, instance, "spec.release", NULL);
}

const struct json *tenancy_without_suspension(struct arena *a, const struct json *instance)
{
    if (!json_path(instance, "spec.suspended"))
        return instance;
    return json_set(a, instance, "spec.suspended", NULL);
}

/* As a node that is cordoned is Ready,SchedulingDisabled. */
static void cell_state(struct arena *a, const struct json *obj, struct json_array *cells)
{
    if (json_bool(json_path(obj, "spec.suspended")))
        json_push(cells, json_of_str(str_printf(a, "%.*s,Suspended",
                                                STR_ARG(json_get_str(obj, "status.state")))));
    else
        cell_str(cells, obj, "status.state");
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    const struct json *clusters = json_path(obj, "status.summary.clusterSummary");
    long long ready = json_int(json_get(clusters, STR("readyNum")), 0);
    long long total = json_int(json_get(clusters, STR("totalNum")), 0);

    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.profile");
    cell_state(a, obj, cells);
    json_push(cells, json_of_str(str_printf(a, "%lld/%lld", ready, total)));
    cell_age(cells, obj, now_s);
    cell_str(cells, obj, "spec.alias");
    cell_str(cells, obj, "status.karmadaVersion");
}

static const struct kind_ops instance_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .held = held,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Profile", "", 0, "APIs that the instance serves."),
    COLUMN("State", "", 0, "State of the instance, and whether it is suspended."),
    COLUMN("Clusters", "", 0, "Member clusters: ready ones / all."),
    AGE_COLUMN,
    COLUMN("Alias", "", 1, "Display name of the instance."),
    COLUMN("Karmada", "", 1, "Version of the Karmada APIs."),
};

static const str short_names[] = { STR_INIT("inst") };
static const str categories[] = { STR_INIT("kairship") };

static const struct subresource subresources[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("Instance"),
        .plural = STR_INIT("instances"),
        .singular = STR_INIT("instance"),
        LIST(short_names, short_names),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        /* A part of paths and of other names: no dots, and nothing a path could mean otherwise. */
        .name_rule = NAME_LABEL,
        .generation = true,
        .unconditional_update = true,
        .json_only = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        .ops = &instance_ops,
    },
};

const struct group group_tenancy = {
    .name = STR_INIT("tenancy.kairship.io"),
    .version = STR_INIT("v1alpha1"),
    .schemas = "io.kairship.tenancy.v1alpha1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
