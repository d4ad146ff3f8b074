/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: kube-aggregator/pkg/apis/apiregistration/validation, registry/apiservice */

enum { GROUP_PRIORITY_MAX = 20000, VERSION_PRIORITY_MAX = 1000 };

static const struct json *defaults(const struct kind_context *c, const struct json *obj)
{
    if (!json_path(obj, "spec.service"))
        return obj;
    return workload_put_missing(c->arena, obj, "spec.service.port", json_of_int(443));
}

/* What this server serves itself is available. */
static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    struct json_array conditions = json_array_new(c->arena);
    struct json_object local = json_object_new(c->arena);
    char *now = arena_alloc(c->arena, TIME_TEXT_SIZE);

    obj = check_reset(c, obj, "status");
    if (json_path(obj, "spec.service"))
        return obj;
    json_add(&local, STR("type"), json_of_str(STR("Available")));
    json_add(&local, STR("status"), json_of_str(STR("True")));
    json_add(&local, STR("lastTransitionTime"),
             json_of_str((str){ now, time_format_seconds(now, c->now_s) }));
    json_add(&local, STR("reason"), json_of_str(STR("Local")));
    json_add(&local, STR("message"), json_of_str(STR("Local APIServices are always available")));
    json_push(&conditions, json_object_value(&local));
    return json_set(c->arena, obj, "status.conditions", json_array_done(&conditions));
}

static size_t decoded_len(str base64)
{
    size_t n = base64.n;

    while (n > 0 && base64.p[n - 1] == '=')
        n--;
    return n * 3 / 4;
}

static void check_service(struct status *st, const struct site *spec)
{
    struct site service = site_in(spec, "service"), ca = site_in(spec, "caBundle");
    struct site name = site_in(&service, "name"), namespace_ = site_in(&service, "namespace");
    struct site port = site_in(&service, "port"), open = site_in(spec, "insecureSkipTLSVerify");

    if (!service.v) {
        if (json_str(ca.v).n)
            status_cause(st, CAUSE_INVALID, site_path(st->arena, &ca),
                         str_printf(st->arena, "\"%zu bytes\"", decoded_len(json_str(ca.v))),
                         "local APIServices may not have a caBundle");
        if (json_bool(open.v))
            site_invalid(st, &open, "local APIServices may not have insecureSkipTLSVerify");
        return;
    }
    (void)site_required(st, &namespace_);
    (void)site_required(st, &name);
    site_service_port(st, &port);
    if (json_bool(open.v) && json_str(ca.v).n)
        site_invalid(st, &open, "may not be true if caBundle is present");
}

static void check_priority(struct status *st, const struct site *priority, int most)
{
    if (json_int(priority->v, 0) <= 0 || json_int(priority->v, 0) > most)
        site_fault(st, priority, CAUSE_INVALID, "must be positive and less than %d", most);
}

static void check_status(struct status *st, const struct site *root)
{
    static const char *const states[] = { "True", "False", "Unknown", NULL };
    struct site status = site_in(root, "status"), conditions = site_in(&status, "conditions");
    static const struct json none = { .type = JSON_STRING };

    site_each(c, &conditions)
    {
        struct site state = site_in(&c, "status");

        state.v = state.v ? state.v : &none;
        if (!str_is_any(json_str(state.v), states))
            site_unsupported(st, &state, states);
    }
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site name = site_in(&meta, "name"), spec = site_in(&root, "spec");
    struct site group = site_in(&spec, "group"), version = site_in(&spec, "version");
    struct site of_group = site_in(&spec, "groupPriorityMinimum");
    struct site of_version = site_in(&spec, "versionPriority");
    str v = json_str(version.v);
    str want =
        str_printf(st->arena, "%.*s.%.*s", (int)v.n, v.n ? v.p : "", STR_ARG(json_str(group.v)));

    if (str_is(c->subresource, "status")) {
        check_status(st, &root);
        return;
    }
    if (!str_eq(json_str(name.v), want))
        site_fault(st, &name, CAUSE_INVALID, "must be `spec.version+\".\"+spec.group`: \"%.*s\"",
                   STR_ARG(want));
    if (json_str(group.v).n)
        (void)site_name(st, &group, NAME_SUBDOMAIN);
    else if (!str_is(v, "v1"))
        site_missing(st, &group, "only v1 may have an empty group and it better be legacy kube");
    (void)site_name(st, &version, NAME_LABEL_1035);
    check_priority(st, &of_group, GROUP_PRIORITY_MAX);
    check_priority(st, &of_version, VERSION_PRIORITY_MAX);
    check_service(st, &spec);
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *out)
{
    const struct json *service = json_path(obj, "spec.service");
    str available = STR("Unknown"), reason = STR_NONE;

    json_for_each (c, json_path(obj, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Available")) {
            available = json_get_str(c, "status");
            reason = json_get_str(c, "reason");
        }
    cell_str(out, obj, "metadata.name");
    cell_text(out, service ? str_printf(a, "%.*s/%.*s", STR_ARG(json_get_str(service, "namespace")),
                                        STR_ARG(json_get_str(service, "name")))
                           : STR("Local"));
    cell_text(out, str_is(available, "True") || reason.n == 0
                       ? available
                       : str_printf(a, "%.*s (%.*s)", STR_ARG(available), STR_ARG(reason)));
    cell_age(out, obj, now_s);
}

static const struct kind_ops ops = {
    .defaults = defaults,
    .prepare_create = prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = validate,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    COLUMN("Service", "", 0, "Who serves it."),
    COLUMN("Available", "", 0, "Whether it is there."),
    AGE_COLUMN,
};
static const str categories[] = { STR_INIT("api-extensions") };
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("APIService", "apiservices", "apiservice"),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .bare_finalizers = true,
        .name_rule = NAME_PATH,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, columns),
        .ops = &ops,
    },
};

const struct group group_apiregistration = {
    .name = STR_INIT("apiregistration.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
