/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"

/* k8s: pkg/apis/storage/validation, pkg/registry/storage */

enum { DRIVER_NAME_MAX = 63, NODE_ID_MAX = 256, PARAMETERS_MAX = 256 << 10 };

/* ---- common ---- */

static void check_driver(struct status *st, const struct site *name)
{
    str text = json_str(name->v), faults[NAME_FAULTS];
    size_t n = name_faults(NAME_SUBDOMAIN, str_lower(st->arena, text), faults);

    if (site_required(st, name))
        return;
    if (text.n > DRIVER_NAME_MAX)
        site_fault(st, name, CAUSE_TOO_LONG, "may not be more than %d bytes", DRIVER_NAME_MAX);
    for (size_t i = 0; i < n; i++)
        site_fault(st, name, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
}

static void check_parameters(struct status *st, const struct site *p)
{
    size_t size = 0;

    struct json none = json_of_str(STR_NONE);
    struct site shown = *p;

    shown.v = &none;
    json_for_each_member (m, p->v) {
        if (m->name.n == 0)
            site_invalid(st, &shown, "field can not be empty.");
        size += m->name.n + json_str(&m->value).n;
    }
    if (size > PARAMETERS_MAX)
        site_fault(st, p, CAUSE_TOO_LONG, "may not be more than %d bytes", PARAMETERS_MAX);
}

static void forbid_change(struct status *st, const struct json *obj, const struct json *old,
                          const char *member)
{
    if (!check_same(json_get(obj, str_of(member)), json_get(old, str_of(member))))
        status_cause(st, CAUSE_FORBIDDEN, str_of(member), STR_NONE, "updates to %s are forbidden.",
                     member);
}

/* ---- classes ---- */

static void check_set(struct status *st, const struct site *values)
{
    struct map seen = { 0 };

    site_each(v, values) if (site_seen(&seen, json_str(v.v))) site_duplicate(st, &v);
    map_release(&seen);
}

static void check_topologies(struct status *st, const struct site *list)
{
    struct json empty = json_of_str(STR_NONE);
    struct map seen = { 0 };

    site_each(term, list)
    {
        struct site all = site_in(&term, "matchLabelExpressions"), shown = all;
        struct map keys = { 0 };

        site_each(e, &all)
        {
            struct site key = site_in(&e, "key"), values = site_in(&e, "values");

            if (json_len(values.v) == 0)
                site_missing(st, &values, "");
            check_set(st, &values);
            (void)site_qualified(st, &key);
            if (site_seen(&keys, json_str(key.v)))
                site_duplicate(st, &key);
        }
        map_release(&keys);
        shown.v = &empty;
        /* k8s: one that says nothing is taken for those that are still to come. */
        if (json_len(all.v) == 0 || site_seen(&seen, json_text(st->arena, all.v)))
            site_duplicate(st, &shown);
    }
    map_release(&seen);
}

static void class_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const policies[] = { "Delete", "Retain", NULL };
    static const char *const modes[] = { "Immediate", "WaitForFirstConsumer", NULL };
    struct site root = site_root(obj), provisioner = site_in(&root, "provisioner");
    struct site policy = site_in(&root, "reclaimPolicy"),
                mode = site_in(&root, "volumeBindingMode");
    struct site parameters = site_in(&root, "parameters");
    struct site topologies = site_in(&root, "allowedTopologies");
    struct json lower;

    (void)c;
    if (!site_required(st, &provisioner)) {
        lower = json_of_str(str_lower(st->arena, json_str(provisioner.v)));
        provisioner.v = &lower;
        (void)site_qualified(st, &provisioner);
    }
    check_parameters(st, &parameters);
    if (json_str(policy.v).n) /* k8s: validateReclaimPolicy takes an empty one */
        site_enum(st, &policy, policies);
    site_enum(st, &mode, modes);
    check_topologies(st, &topologies);
}

static void class_update(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct status *st)
{
    (void)c;
    forbid_change(st, obj, old, "parameters");
    forbid_change(st, obj, old, "provisioner");
    forbid_change(st, obj, old, "reclaimPolicy");
    check_immutable(st, "volumeBindingMode", obj, old);
}

static bool is_default(const struct json *obj)
{
    const struct json *notes = json_path(obj, "metadata.annotations");

    return str_is(json_str(json_get(notes, STR("storageclass.kubernetes.io/is-default-class"))),
                  "true") ||
           str_is(
               json_str(json_get(notes, STR("storageclass.beta.kubernetes.io/is-default-class"))),
               "true");
}

static void class_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    cell_text(cells, str_printf(a, "%.*s%s", STR_ARG(json_get_str(obj, "metadata.name")),
                                is_default(obj) ? " (default)" : ""));
    cell_str(cells, obj, "provisioner");
    cell_str(cells, obj, "reclaimPolicy");
    cell_str(cells, obj, "volumeBindingMode");
    json_push(cells, json_of_bool(json_bool(json_get(obj, STR("allowVolumeExpansion")))));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops class_ops = {
    .validate = class_validate,
    .validate_update = class_update,
    .warn = warn_storageclass,
    .cells = class_cells,
};

/* ---- drivers ---- */

static void check_tokens(struct status *st, const struct site *tokens)
{
    struct map seen = { 0 };

    site_each(t, tokens)
    {
        struct site audience = site_in(&t, "audience"), seconds = site_in(&t, "expirationSeconds");

        if (site_seen(&seen, json_str(audience.v))) {
            site_duplicate(st, &audience);
            continue;
        }
        if (json_int(seconds.v, 600) < 600)
            site_invalid(st, &seconds, "may not specify a duration less than 10 minutes");
        if (json_int(seconds.v, 600) > INT64_C(1) << 32)
            site_invalid(st, &seconds, "may not specify a duration larger than 2^32 seconds");
    }
    map_release(&seen);
}

static void driver_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const policies[] = { "File", "None", "ReadWriteOnceWithFSType", NULL };
    static const char *const known[] = { "Persistent", "Ephemeral", NULL };
    struct site root = site_root(obj), meta = site_in(&root, "metadata");
    struct site name = site_in(&meta, "name"), spec = site_in(&root, "spec");
    struct site policy = site_in(&spec, "fsGroupPolicy");
    struct site modes = site_in(&spec, "volumeLifecycleModes");
    struct site tokens = site_in(&spec, "tokenRequests");
    struct site period = site_in(&spec, "nodeAllocatableUpdatePeriodSeconds");
    struct site secrets = site_in(&spec, "serviceAccountTokenInSecrets");

    (void)c;
    check_driver(st, &name);
    site_enum(st, &policy, policies);
    json_for_each (m, modes.v) {
        struct site shown = modes;

        shown.v = m;
        site_enum(st, &shown, known);
    }
    check_tokens(st, &tokens);
    if (json_int(period.v, 10) < 10)
        site_invalid(st, &period, "must be greater than or equal to 10 seconds");
    if (secrets.v && json_len(tokens.v) == 0)
        site_invalid(st, &secrets,
                     "serviceAccountTokenInSecrets is set but no tokenRequests are specified");
}

static void driver_update(const struct kind_context *c, const struct json *obj,
                          const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site attach = site_in(&spec, "attachRequired");

    (void)c;
    attach.name = "attachedRequired"; /* k8s: so called there */
    site_immutable(st, &attach, json_path(old, "spec.attachRequired"));
    check_immutable(st, "spec.volumeLifecycleModes", obj, old);
}

static str joined(struct arena *a, const struct json *list, const char *member, const char *none)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (v, list)
        buf_printf(&b, "%s%.*s", b.n ? "," : "",
                   STR_ARG(member ? json_get_str(v, member) : json_str(v)));
    return b.n ? str_dup(a, buf_str(&b)) : str_of(none);
}

static void cell_bool(struct json_array *cells, const struct json *obj, const char *path)
{
    json_push(cells, json_of_bool(json_bool(json_path(obj, path))));
}

static void driver_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    cell_str(cells, obj, "metadata.name");
    cell_bool(cells, obj, "spec.attachRequired");
    cell_bool(cells, obj, "spec.podInfoOnMount");
    cell_bool(cells, obj, "spec.storageCapacity");
    cell_text(cells, joined(a, json_path(obj, "spec.tokenRequests"), "audience", "<unset>"));
    cell_bool(cells, obj, "spec.requiresRepublish");
    cell_text(cells, joined(a, json_path(obj, "spec.volumeLifecycleModes"), NULL, "<none>"));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops driver_ops = {
    .validate = driver_validate,
    .validate_update = driver_update,
    .warn = warn_csidriver,
    .cells = driver_cells,
};

/* ---- drivers of nodes ---- */

static void check_keys(struct status *st, const struct site *keys)
{
    struct map seen = { 0 };

    site_each(k, keys)
    {
        struct site shown = *keys->up; /* k8s: of the driver that has them */

        shown.v = k.v;
        (void)site_required(st, &shown);
        if (site_seen(&seen, json_str(k.v)))
            site_duplicate(st, &shown);
        (void)site_qualified(st, &shown);
    }
    map_release(&seen);
}

static void node_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site drivers = site_in(&spec, "drivers");
    struct map seen = { 0 };

    (void)c;
    site_each(d, &drivers)
    {
        struct site name = site_in(&d, "name"), id = site_in(&d, "nodeID");
        struct site keys = site_in(&d, "topologyKeys"), room = site_in(&d, "allocatable");
        struct site count = site_in(&room, "count");

        check_driver(st, &name);
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
        if (!site_required(st, &id) && json_str(id.v).n > NODE_ID_MAX)
            site_fault(st, &id, CAUSE_INVALID, "must be %d characters or less", NODE_ID_MAX);
        site_not_negative(st, &count);
        check_keys(st, &keys);
    }
    map_release(&seen);
}

/* What a driver said of a node stays, but for how many volumes it takes there. */
static void node_update(const struct kind_context *c, const struct json *obj,
                        const struct json *old, struct status *st)
{
    struct arena *a = st->arena;
    struct map was = { 0 };

    (void)c;
    json_for_each (d, json_path(old, "spec.drivers"))
        (void)map_put(&was, json_get_str(d, "name"),
                      (void *)(uintptr_t)json_set(a, d, "allocatable", NULL));
    json_for_each (d, json_path(obj, "spec.drivers")) {
        const struct json *before = map_get(&was, json_get_str(d, "name"));
        const struct json *now = json_set(a, d, "allocatable", NULL);

        if (before && !check_same(now, before))
            status_cause(st, CAUSE_INVALID, STR("spec.drivers"), json_text(a, now),
                         "field is immutable");
    }
    map_release(&was);
}

static void node_cells(struct arena *a, const struct json *obj, int64_t now_s,
                       struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_int((int64_t)json_len(json_path(obj, "spec.drivers"))));
    cell_age(cells, obj, now_s);
}

static const struct kind_ops node_driver_ops = {
    .validate = node_validate,
    .validate_update = node_update,
    .cells = node_cells,
};

/* ---- capacity ---- */

static void capacity_validate(const struct kind_context *c, const struct json *obj,
                              struct status *st)
{
    struct site root = site_root(obj), class = site_in(&root, "storageClassName");
    struct site topology = site_in(&root, "nodeTopology"), size = site_in(&root, "capacity");
    const struct json empty = json_of_str(STR_NONE);

    (void)c;
    site_selector(st, &topology);
    class.v = class.v ? class.v : &empty;
    (void)site_name(st, &class, NAME_SUBDOMAIN);
    site_not_negative_quantity(st, &size);
}

static void capacity_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "nodeTopology", obj, old);
    check_immutable(st, "storageClassName", obj, old);
}

static const struct kind_ops capacity_ops = {
    .validate = capacity_validate,
    .validate_update = capacity_update,
    .warn = warn_capacity,
};

/* ---- attachments ---- */

/* k8s: maxVolumeErrorMessageSize; the other one is told */
enum { ATTACHMENT_MAX = 256 << 10, VOLUME_ERROR_MAX = 1024 };

static void check_volume_error(struct status *st, const struct site *status, const char *name)
{
    struct site error = site_in(status, name), message = site_in(&error, "message");
    struct site code = site_in(&error, "errorCode");

    if (json_str(message.v).n > VOLUME_ERROR_MAX)
        site_fault(st, &message, CAUSE_TOO_LONG, "may not be more than %d bytes", ATTACHMENT_MAX);
    if (code.v)
        (void)site_range(st, &code, 0, INT32_MAX);
}

static void check_attachment_status(struct status *st, const struct site *root)
{
    struct site status = site_in(root, "status"), meta = site_in(&status, "attachmentMetadata");
    size_t size = 0;

    json_for_each_member (m, meta.v)
        size += m->name.n + json_str(&m->value).n;
    if (size > ATTACHMENT_MAX)
        site_fault(st, &meta, CAUSE_TOO_LONG, "may not be more than %d bytes", ATTACHMENT_MAX);
    check_volume_error(st, &status, "attachError");
    check_volume_error(st, &status, "detachError");
}

static void attachment_validate(const struct kind_context *c, const struct json *obj,
                                struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site attacher = site_in(&spec, "attacher"), node = site_in(&spec, "nodeName");
    struct site source = site_in(&spec, "source");
    struct site volume = site_in(&source, "persistentVolumeName");
    struct site whole = site_in(&source, "inlineVolumeSpec");
    const struct json empty = json_of_str(STR_NONE);

    (void)site_required(st, &attacher);
    if (volume.v && whole.v)
        site_forbidden(st, &source,
                       "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (!volume.v && !whole.v)
        site_missing(st, &source,
                     "must specify exactly one of inlineVolumeSpec and persistentVolumeName");
    else if (volume.v && !json_str(volume.v).n)
        site_missing(st, &volume, "must specify non empty persistentVolumeName");
    else if (whole.v)
        volume_check_inline(st, &whole);
    node.v = node.v ? node.v : &empty;
    (void)site_name(st, &node, NAME_SUBDOMAIN);
    check_attachment_status(st, &root);
    if (!c->create)
        return;
    check_driver(st, &attacher); /* k8s: what only v1 looks at */
    if (volume.v)
        (void)site_name(st, &volume, NAME_SUBDOMAIN);
}

static void attachment_update(const struct kind_context *c, const struct json *obj,
                              const struct json *old, struct status *st)
{
    (void)c;
    check_immutable(st, "spec", obj, old);
}

static void attachment_cells(struct arena *a, const struct json *obj, int64_t now_s,
                             struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "spec.attacher");
    cell_str(cells, obj, "spec.source.persistentVolumeName");
    cell_str(cells, obj, "spec.nodeName");
    cell_bool(cells, obj, "status.attached");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops attachment_ops = {
    .prepare_create = workload_prepare_create,
    .prepare_update = workload_prepare_update,
    .validate = attachment_validate,
    .validate_update = attachment_update,
    .cells = attachment_cells,
};

/* ---- attributes ---- */

static void check_attributes(struct status *st, const struct json *obj)
{
    struct site root = site_root(obj), driver = site_in(&root, "driverName");
    struct site parameters = site_in(&root, "parameters");
    struct json lower;

    lower = json_of_str(str_lower(st->arena, json_str(driver.v)));
    if (!site_required(st, &driver)) {
        driver.v = &lower;
        (void)site_qualified(st, &driver);
    }
    check_parameters(st, &parameters);
    if (json_len(parameters.v) == 0)
        site_missing(st, &parameters, "must contain at least one key/value pair");
}

static void attributes_validate(const struct kind_context *c, const struct json *obj,
                                struct status *st)
{
    if (c->create)
        check_attributes(st, obj);
}

static void attributes_update(const struct kind_context *c, const struct json *obj,
                              const struct json *old, struct status *st)
{
    (void)c;
    forbid_change(st, obj, old, "driverName");
    forbid_change(st, obj, old, "parameters");
    check_attributes(st, obj); /* k8s: after these */
}

static void attributes_cells(struct arena *a, const struct json *obj, int64_t now_s,
                             struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    cell_str(cells, obj, "driverName");
    cell_age(cells, obj, now_s);
}

static const struct kind_ops attributes_ops = {
    .validate = attributes_validate,
    .validate_update = attributes_update,
    .cells = attributes_cells,
};

/* ---- the group ---- */

#define BOOL_COLUMN(title, text) COLUMN_OF("boolean", title, "", 0, text)

static const struct column driver_columns[] = {
    NAME_COLUMN,
    BOOL_COLUMN("AttachRequired", "Volumes must be attached first."),
    BOOL_COLUMN("PodInfoOnMount", "It wants to know the pod."),
    BOOL_COLUMN("StorageCapacity", "It reports its capacity."),
    COLUMN("TokenRequests", "", 0, "For whom it wants tokens."),
    BOOL_COLUMN("RequiresRepublish", "It wants to be called again."),
    COLUMN("Modes", "", 0, "Persistent, Ephemeral, or both."),
    AGE_COLUMN,
};
static const struct column node_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Drivers", "How many drivers it has."),
    AGE_COLUMN,
};
static const struct column class_columns[] = {
    NAME_COLUMN,
    COLUMN("Provisioner", "", 0, "Who makes the volumes."),
    COLUMN("ReclaimPolicy", "", 0, "What becomes of released ones."),
    COLUMN("VolumeBindingMode", "", 0, "When a claim gets its volume."),
    COLUMN("AllowVolumeExpansion", "", 0, "Volumes may grow."),
    AGE_COLUMN,
};
static const struct column attachment_columns[] = {
    NAME_COLUMN,
    COLUMN("Attacher", "name", 0, "The driver that does it."),
    COLUMN("PV", "", 0, "The volume."),
    COLUMN("Node", "", 0, "The node."),
    BOOL_COLUMN("Attached", "Whether it is."),
    AGE_COLUMN,
};
static const struct column attributes_columns[] = {
    NAME_COLUMN,
    COLUMN("DriverName", "", 0, "The driver that knows them."),
    AGE_COLUMN,
};

static const str class_short[] = { STR_INIT("sc") };
static const str attributes_short[] = { STR_INIT("vac") };
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("CSIDriver", "csidrivers", "csidriver"),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .generation = true,
        .generation_late = true,
        LIST(columns, driver_columns),
        .ops = &driver_ops,
    },
    {
        KIND_NAMES("CSINode", "csinodes", "csinode"),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        LIST(columns, node_columns),
        .ops = &node_driver_ops,
    },
    {
        KIND_NAMES("CSIStorageCapacity", "csistoragecapacities", "csistoragecapacity"),
        .namespaced = true,
        .verbs = VERBS_ALL,
        .ops = &capacity_ops,
    },
    {
        KIND_NAMES("StorageClass", "storageclasses", "storageclass"),
        LIST(short_names, class_short),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        LIST(columns, class_columns),
        .ops = &class_ops,
    },
    {
        KIND_NAMES("VolumeAttachment", "volumeattachments", "volumeattachment"),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, attachment_columns),
        .ops = &attachment_ops,
    },
    {
        KIND_NAMES("VolumeAttributesClass", "volumeattributesclasses", "volumeattributesclass"),
        LIST(short_names, attributes_short),
        .delete_returns_object = true,
        .verbs = VERBS_ALL,
        .unconditional_update = true,
        LIST(columns, attributes_columns),
        .ops = &attributes_ops,
    },
};

const struct group group_storage = {
    .name = STR_INIT("storage.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.storage.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
