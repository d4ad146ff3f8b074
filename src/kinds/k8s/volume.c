/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/frame/warn.h"
#include "kinds/k8s/groups.h"
#include "kinds/k8s/workload.h"
#include "object/meta/quantity.h"

/* k8s: pkg/registry/core/persistentvolume, persistentvolumeclaim */

static void check_modes(struct status *st, const struct site *spec, const char *why)
{
    static const char *const known[] = { "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce",
                                         "ReadWriteOncePod", NULL };
    struct site modes = site_in(spec, "accessModes");
    bool alone = false;

    if (json_len(modes.v) == 0)
        site_missing(st, &modes, why);
    json_for_each (m, modes.v) {
        struct site shown = modes;

        shown.v = m;
        site_enum(st, &shown, known);
        alone = alone || str_is(json_str(m), "ReadWriteOncePod");
    }
    if (alone && json_len(modes.v) > 1)
        site_forbidden(st, &modes, "may not use ReadWriteOncePod with other access modes");
}

static void check_words(struct status *st, const struct site *spec)
{
    static const char *const modes[] = { "Block", "Filesystem", NULL };
    static const char *const names[] = { "storageClassName", "volumeAttributesClassName" };
    struct site mode = site_in(spec, "volumeMode");

    site_enum(st, &mode, modes);
    for (size_t i = 0; i < GROUP_LEN(names); i++) {
        struct site name = site_in(spec, names[i]);

        if (json_str(name.v).n)
            (void)site_name(st, &name, NAME_SUBDOMAIN);
    }
}

static void check_positive(struct status *st, const struct site *size)
{
    struct quantity q;

    if (quantity_parse(json_str(size->v), &q) && q.nanos <= 0)
        site_invalid(st, size, "must be greater than zero");
}

/* k8s: validateBasicResource, which shows whole numbers */
static bool check_basic(struct status *st, const struct site *size)
{
    enum { NANO = 1000000000 };
    struct site shown = *size;
    struct quantity q;
    struct json whole;

    if (!quantity_parse(json_str(size->v), &q) || q.nanos >= 0)
        return true;
    whole = json_of_int((int64_t)((q.nanos - (NANO - 1)) / NANO));
    shown.v = &whole;
    site_invalid(st, &shown, "must be a valid resource quantity");
    return false;
}

/* ReadWriteOnce as RWO, and so on. */
static str modes_text(struct arena *a, const struct json *modes)
{
    static const char *const names[][2] = { { "ReadWriteOnce", "RWO" },
                                            { "ReadOnlyMany", "ROX" },
                                            { "ReadWriteMany", "RWX" },
                                            { "ReadWriteOncePod", "RWOP" } };
    scoped_buf b = { .max = 1 << 10 };

    for (size_t i = 0; i < GROUP_LEN(names); i++)
        json_for_each (m, modes)
            if (str_is(json_str(m), names[i][0])) {
                buf_printf(&b, "%s%s", b.n ? "," : "", names[i][1]);
                break;
            }
    return str_dup(a, buf_str(&b));
}

static str phase_text(const struct json *obj)
{
    return json_get_str(obj, "metadata.deletionTimestamp").n ? STR("Terminating")
                                                             : json_get_str(obj, "status.phase");
}

static str or_unset(str s)
{
    return s.n ? s : STR("<unset>");
}

/* ---- volumes ---- */

static void check_capacity(struct status *st, const struct site *spec)
{
    static const char *const known[] = { "storage", NULL };
    struct site capacity = site_in(spec, "capacity");

    if (json_len(capacity.v) == 0)
        site_missing(st, &capacity, "");
    if (!json_get(capacity.v, STR("storage")) || json_len(capacity.v) > 1)
        site_unsupported(st, &capacity, known);
    json_for_each_member (m, capacity.v) {
        struct site size = site_key(&capacity, m->name, &m->value);

        check_basic(st, &size);
        check_positive(st, &size);
    }
}

/* k8s: ValidatePersistentVolumeSpec: of what is attached in place it allows little */
static void check_inline(struct status *st, const struct site *spec)
{
    static const char *const refused[] = { "claimRef", "capacity" };
    struct site csi = site_in(spec, "csi");

    for (size_t i = 0; i < GROUP_LEN(refused); i++) {
        struct site part = site_in(spec, refused[i]);

        if (json_len(part.v) > 0 || (part.v && i == 0))
            site_forbidden(st, &part, "may not be specified in the context of inline volumes");
    }
    if (!csi.v)
        site_missing(st, &csi, "has to be specified in the context of inline volumes");
}

void volume_check_inline(struct status *st, const struct site *spec)
{
    struct site policy = site_in(spec, "persistentVolumeReclaimPolicy");
    struct site affinity = site_in(spec, "nodeAffinity"), class = site_in(spec, "storageClassName");
    struct site mode = site_in(spec, "volumeMode");

    check_inline(st, spec);
    check_modes(st, spec, "");
    if (json_str(policy.v).n && !str_is(json_str(policy.v), "Retain"))
        site_forbidden(st, &policy, "may only be Retain in the context of inline volumes");
    if (affinity.v)
        site_forbidden(st, &affinity, "may not be specified in the context of inline volumes");
    podspec_check_source(st, spec, true);
    if (site_has(spec, "local"))
        site_missing(st, &affinity, "Local volume requires node affinity");
    if (json_str(class.v).n)
        site_forbidden(st, &class, "may not be specified in the context of inline volumes");
    if (mode.v && !str_is(json_str(mode.v), "Filesystem"))
        site_forbidden(st, &mode,
                       "may not specify volumeMode other than Filesystem in the context of inline "
                       "volumes");
}

/* Whether a path is "/", however it is written; k8s: path.Clean */
static bool is_root(str path)
{
    str rest = path, part;
    int64_t depth = 0;

    if (!str_starts(path, STR("/")))
        return false;
    while (str_split(&rest, '/', &part)) {
        if (str_is(part, ".."))
            depth -= depth > 0;
        else
            depth += part.n > 0 && !str_is(part, ".");
    }
    return depth == 0;
}

static void volume_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    static const char *const policies[] = { "Delete", "Recycle", "Retain", NULL };
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site policy = site_in(&spec, "persistentVolumeReclaimPolicy");
    struct site affinity = site_in(&spec, "nodeAffinity"), nodes = site_in(&affinity, "required");
    struct site csi = site_in(&spec, "csi");
    struct site attributes = site_in(&spec, "volumeAttributesClassName");

    if (str_is(c->subresource, "status"))
        return;
    check_modes(st, &spec, "");
    check_capacity(st, &spec);
    site_enum(st, &policy, policies);
    if (affinity.v && !nodes.v)
        site_missing(st, &nodes, "must specify required node constraints");
    if (nodes.v)
        podspec_check_node_selector(st, &nodes);
    podspec_check_source(st, &spec, true);
    if (site_has(&spec, "local") && !affinity.v)
        site_missing(st, &affinity, "Local volume requires node affinity");
    if (is_root(json_str(json_path(spec.v, "hostPath.path"))) &&
        str_is(json_str(policy.v), "Recycle"))
        site_forbidden(st, &policy, "may not be 'recycle' for a hostPath mount of '/'");
    check_words(st, &spec);
    if (attributes.v && json_str(attributes.v).n == 0)
        site_missing(st, &attributes, "an empty string is disallowed");
    if (attributes.v && !csi.v)
        site_missing(st, &csi, "has to be specified when using volumeAttributesClassName");
}

#define EXPAND_SECRET "csi.controllerExpandSecretRef"
#define PHASE_TIME    "status.lastPhaseTransitionTime"

/* What is not part of where the volume is. */
static const char *const volume_fields[] = { "capacity",
                                             "accessModes",
                                             "claimRef",
                                             "persistentVolumeReclaimPolicy",
                                             "storageClassName",
                                             "mountOptions",
                                             "volumeMode",
                                             "nodeAffinity",
                                             "volumeAttributesClassName" };

/* Labels of zones that have another name now. */
static const struct {
    const char *beta, *now;
} renamed_labels[] = {
    { "beta.kubernetes.io/os", "kubernetes.io/os" },
    { "beta.kubernetes.io/arch", "kubernetes.io/arch" },
    { "failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone" },
    { "failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region" },
    { "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type" },
};

static struct json with_new_labels(struct arena *a, const struct json *v)
{
    struct json_object o = json_object_new(a);
    struct json_array list = json_array_new(a);

    if (json_is(v, JSON_ARRAY)) {
        json_for_each (item, v)
            json_push(&list, with_new_labels(a, item));
        return json_array_value(&list);
    }
    if (!json_is(v, JSON_OBJECT))
        return *v;
    json_for_each_member (m, v) {
        struct json value = with_new_labels(a, &m->value);

        for (size_t i = 0; str_is(m->name, "key") && i < GROUP_LEN(renamed_labels); i++)
            if (str_is(json_str(&value), renamed_labels[i].beta))
                value = json_of_str(str_of(renamed_labels[i].now));
        json_add(&o, m->name, value);
    }
    return json_object_value(&o);
}

/* Once it is said, only the names of labels may become those of now. */
static void check_affinity(const struct kind_context *c, const struct json *obj,
                           const struct json *was, struct status *st)
{
    struct site root = site_root(obj), affinity = site_in(&root, "nodeAffinity");
    const struct json *old = json_get(was, STR("nodeAffinity"));
    const struct json *now = json_path(obj, "spec.nodeAffinity");
    struct json before, after;

    if (!old)
        return;
    before = with_new_labels(c->arena, old);
    after = now ? with_new_labels(c->arena, now) : json_null;
    affinity.v = now;
    if (!json_equal(&after, &before))
        site_invalid(st, &affinity,
                     "field is immutable, except for updating from beta label to GA");
}

static void volume_update(const struct kind_context *c, const struct json *obj,
                          const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site source = site_in(&spec, "persistentvolumesource");
    struct site mode = { .up = &root,
                         .kind = SITE_MEMBER,
                         .name = "volumeMode",
                         .v = json_get(spec.v, STR("volumeMode")) };
    struct site class = site_in(&spec, "volumeAttributesClassName");
    const struct json *was = json_get(old, STR("spec")), *now = spec.v;
    struct site before = site_root(was);

    if (c->subresource.n)
        return;
    for (size_t i = 0; i < GROUP_LEN(volume_fields); i++)
        now = check_keep(c->arena, now, was, volume_fields[i]);
    if (json_get(was, STR("csi")) && !json_path(was, EXPAND_SECRET)) /* it may come later */
        now = json_set(c->arena, now, EXPAND_SECRET, NULL);
    if (!check_same(now, was))
        site_forbidden(st, &source, "spec.persistentvolumesource is immutable after creation");
    site_immutable(st, &mode, json_get(was, STR("volumeMode")));
    check_affinity(c, obj, was, st);
    if (site_has(&before, "volumeAttributesClassName") && !class.v)
        site_forbidden(st, &class, "update from non-nil value to nil is forbidden");
}

static void volume_cells(struct arena *a, const struct json *obj, int64_t now_s,
                         struct json_array *cells)
{
    const struct json *claim = json_path(obj, "spec.claimRef");
    str size = json_get_str(obj, "spec.capacity.storage");

    cell_str(cells, obj, "metadata.name");
    cell_text(cells, size.n ? size : STR("0"));
    cell_text(cells, modes_text(a, json_path(obj, "spec.accessModes")));
    cell_str(cells, obj, "spec.persistentVolumeReclaimPolicy");
    cell_text(cells, phase_text(obj));
    cell_text(cells, claim ? str_printf(a, "%.*s/%.*s", STR_ARG(json_get_str(claim, "namespace")),
                                        STR_ARG(json_get_str(claim, "name")))
                           : STR(""));
    cell_str(cells, obj, "spec.storageClassName");
    cell_text(cells, or_unset(json_get_str(obj, "spec.volumeAttributesClassName")));
    cell_str(cells, obj, "status.reason");
    cell_age(cells, obj, now_s);
    cell_text(cells, or_unset(json_get_str(obj, "spec.volumeMode")));
}

/* k8s: pkg/registry/core/persistentvolume/strategy.go */
static const struct json *stamped(const struct kind_context *c, const struct json *obj)
{
    char *now = arena_alloc(c->arena, TIME_TEXT_SIZE);
    struct json time = json_of_str((str){ now, time_format_seconds(now, c->now_s) });

    return json_set(c->arena, obj, PHASE_TIME, &time);
}

static const struct json *volume_create(const struct kind_context *c, const struct json *obj)
{
    return stamped(c, workload_prepare_create(c, obj));
}

static const struct json *volume_prepare_update(const struct kind_context *c,
                                                const struct json *obj, const struct json *old)
{
    const struct json *was = json_path(old, PHASE_TIME), *now;
    bool moved;

    obj = workload_prepare_update(c, obj, old);
    if (!str_is(c->subresource, "status"))
        return obj;
    now = json_path(obj, PHASE_TIME);
    moved = !str_eq(json_get_str(obj, "status.phase"), json_get_str(old, "status.phase"));
    if (moved && (!now || check_same(now, was)))
        return stamped(c, obj);
    return !now && was ? json_set(c->arena, obj, PHASE_TIME, was) : obj;
}

const struct kind_ops persistentvolume_ops = {
    .prepare_create = volume_create,
    .prepare_update = volume_prepare_update,
    .validate = volume_validate,
    .validate_update = volume_update,
    .warn = warn_volume,
    .cells = volume_cells,
};

/* ---- claims ---- */

/* What dataSource took before there was dataSourceRef. */
static bool is_old_source(const struct json *source)
{
    str group = json_get_str(source, "apiGroup"), kind = json_get_str(source, "kind");

    return (group.n == 0 && str_is(kind, "PersistentVolumeClaim")) ||
           (str_is(group, "snapshot.storage.k8s.io") && str_is(kind, "VolumeSnapshot"));
}

/*
 * dataSource and dataSourceRef say the same, where only one is given.  Other things in the older
 * one are forgotten, and so is a reference into another namespace, whose gate is closed.
 * k8s: pkg/api/persistentvolumeclaim/util.go
 */
static const struct json *claim_sources(struct arena *a, const struct json *obj,
                                        const struct json *old)
{
    const struct json *plain = json_path(obj, "spec.dataSource");
    const struct json *ref = json_path(obj, "spec.dataSourceRef");

    if (json_get_str(ref, "namespace").n && !json_path(old, "spec.dataSourceRef")) {
        obj = json_set(a, obj, "spec.dataSourceRef", NULL);
        ref = NULL;
    }
    if (plain && !ref && !json_path(old, "spec.dataSource") && !is_old_source(plain))
        return json_set(a, obj, "spec.dataSource", NULL);
    if (plain && !ref)
        return json_set(a, obj, "spec.dataSourceRef", plain);
    if (ref && !plain && !json_get_str(ref, "namespace").n)
        return json_set(a, obj, "spec.dataSource", ref);
    return obj;
}

static const struct json *claim_create(const struct kind_context *c, const struct json *obj)
{
    return claim_sources(c->arena, check_reset(c, obj, "status"), NULL);
}

static const struct json *claim_prepare_update(const struct kind_context *c, const struct json *obj,
                                               const struct json *old)
{
    obj = workload_prepare_update(c, obj, old);
    return c->subresource.n ? obj : claim_sources(c->arena, obj, old);
}

/* What a new volume is filled from; k8s: validateDataSource */
static void check_data_source(struct status *st, const struct site *source)
{
    struct site name = site_in(source, "name"), kind = site_in(source, "kind");
    struct site group = site_in(source, "apiGroup"), shown = *source;

    if (!source->v)
        return;
    shown.v = kind.v;
    (void)site_required(st, &name);
    (void)site_required(st, &kind);
    if (json_str(group.v).n)
        (void)site_name(st, &group, NAME_SUBDOMAIN);
    else if (!str_is(json_str(kind.v), "PersistentVolumeClaim"))
        site_invalid(st, &shown,
                     "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
}

static void check_sources_agree(struct status *st, const struct site *spec,
                                const struct json *source, const struct json *ref)
{
    static const char *const same[] = { "apiGroup", "kind", "name" };
    struct site shown = *spec;
    bool agree = true;

    shown.v = &json_empty_object; /* k8s: a path is shown, which has no form of its own */
    if (json_get_str(ref, "namespace").n) {
        site_invalid(st, &shown, "may not be specified when dataSourceRef.namespace is specified");
        return;
    }
    for (size_t i = 0; i < GROUP_LEN(same); i++)
        agree =
            agree && check_same(json_get(source, str_of(same[i])), json_get(ref, str_of(same[i])));
    if (!agree)
        site_invalid(st, &shown, "must match dataSourceRef");
}

void volume_check_claim(struct status *st, const struct site *spec)
{
    struct site selector = site_in(spec, "selector"), resources = site_in(spec, "resources");
    struct site source = site_in(spec, "dataSource"), ref = site_in(spec, "dataSourceRef");
    const struct json *size = json_path(spec->v, "resources.requests.storage");
    struct site storage = site_key(&resources, STR("storage"), size);

    check_modes(st, spec, "at least 1 access mode is required");
    site_selector(st, &selector);
    if (!size)
        site_missing(st, &storage, "");
    else
        check_positive(st, &storage);
    check_words(st, spec);
    check_data_source(st, &source);
    check_data_source(st, &ref);
    if (source.v && ref.v)
        check_sources_agree(st, spec, source.v, ref.v);
}

/* k8s: validatePersistentVolumeClaimResourceKey: what has no domain of its own is storage. */
static bool check_claim_key(struct status *st, const struct site *at, str key)
{
    static const char *const known[] = { "storage", NULL };
    struct json text = json_of_str(key);
    struct site shown = *at;

    shown.v = &text;
    if (!site_qualified(st, &shown))
        return false;
    if (str_is(key, known[0]) ||
        (str_find(key, '/', 0) >= 0 && !str_contains(key, STR("kubernetes.io/"))))
        return true;
    site_unsupported(st, &shown, known);
    return false;
}

static void check_claim_status(struct status *st, const struct site *status)
{
    static const char *const states[] = {
        "ControllerResizeInProgress", "ControllerResizeInfeasible", "NodeResizeInProgress",
        "NodeResizeInfeasible",       "NodeResizePending",          NULL
    };
    struct site capacity = site_in(status, "capacity");
    struct site resizes = site_in(status, "allocatedResourceStatuses");
    struct site given = site_in(status, "allocatedResources");

    json_for_each_member (m, capacity.v) {
        struct site size = site_key(&capacity, m->name, &m->value);

        (void)check_basic(st, &size);
    }
    json_for_each_member (m, resizes.v) {
        struct json key = json_of_str(m->name);
        struct site shown = resizes;
        size_t i = 0;

        (void)check_claim_key(st, &resizes, m->name);
        while (states[i] && !str_is(json_str(&m->value), states[i]))
            i++;
        shown.v = &key; /* k8s: of the resource, not of its state */
        if (!states[i])
            site_unsupported(st, &shown, states);
    }
    json_for_each_member (m, given.v) {
        struct site size = site_key(&given, m->name, &m->value);

        if (check_claim_key(st, &given, m->name))
            (void)check_basic(st, &size);
    }
}

static void claim_validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site status = site_in(&root, "status");

    if (str_is(c->subresource, "status"))
        check_claim_status(st, &status);
    else
        volume_check_claim(st, &spec);
}

/* What is not there is nothing. */
static bool is_less(const struct json *a, const struct json *b)
{
    struct quantity qa = { 0 }, qb = { 0 };

    return (!a || quantity_parse(json_str(a), &qa)) && (!b || quantity_parse(json_str(b), &qb)) &&
           quantity_cmp(&qa, &qb) < 0;
}

static void claim_update(const struct kind_context *c, const struct json *obj,
                         const struct json *old, struct status *st)
{
    struct site root = site_root(obj), spec = site_in(&root, "spec");
    struct site resources = site_in(&spec, "resources"), asked = site_in(&resources, "requests");
    struct site size = site_in(&asked, "storage");
    struct site mode = { .up = &root,
                         .kind = SITE_MEMBER,
                         .name = "volumeMode",
                         .v = json_get(spec.v, STR("volumeMode")) };
    const struct json *was = json_get(old, STR("spec")), *now = spec.v;
    const struct json *had = json_path(was, "resources.requests.storage");

    if (c->subresource.n)
        return;
    if (json_get_str(was, "volumeName").n == 0)
        now = check_keep(c->arena, now, was, "volumeName");
    if (!json_get(was, STR("storageClassName")))
        now = check_keep(c->arena, now, was, "storageClassName");
    if (str_is(json_get_str(old, "status.phase"), "Bound")) {
        now = check_keep(c->arena, now, was, "volumeAttributesClassName");
        if (had && asked.v)
            now = json_set(c->arena, now, "resources.requests.storage", had);
    }
    if (!check_same(now, was))
        site_forbidden(st, &spec,
                       "spec is immutable after creation except resources.requests and "
                       "volumeAttributesClassName for bound claims");
    if (is_less(size.v, had) && !is_less(json_path(old, "status.capacity.storage"), size.v))
        site_forbidden(st, &size, "field can not be less than status.capacity");
    site_immutable(st, &mode, json_get(was, STR("volumeMode")));
}

static void claim_cells(struct arena *a, const struct json *obj, int64_t now_s,
                        struct json_array *cells)
{
    bool bound = json_get_str(obj, "spec.volumeName").n > 0;
    str size = json_get_str(obj, "status.capacity.storage");

    cell_str(cells, obj, "metadata.name");
    cell_text(cells, phase_text(obj));
    cell_str(cells, obj, "spec.volumeName");
    cell_text(cells, bound ? (size.n ? size : STR("0")) : STR(""));
    cell_text(cells, bound ? modes_text(a, json_path(obj, "status.accessModes")) : STR(""));
    cell_str(cells, obj, "spec.storageClassName");
    cell_text(cells, or_unset(json_get_str(obj, "spec.volumeAttributesClassName")));
    cell_age(cells, obj, now_s);
    cell_text(cells, or_unset(json_get_str(obj, "spec.volumeMode")));
}

const struct kind_ops persistentvolumeclaim_ops = {
    .prepare_create = claim_create,
    .prepare_update = claim_prepare_update,
    .validate = claim_validate,
    .validate_update = claim_update,
    .warn = warn_volumeclaim,
    .cells = claim_cells,
};
