/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* Volumes that storage systems have made; k8s: validateISCSIVolumeSource and its neighbours. */

enum {
    PARTITION_MAX = 255,
    LUN_MAX = 255,
    EUI_DIGITS = 16,
    NAA_DIGITS = 32,
    DRIVER_MAX = 63,
    TENANT_MAX = 64,
};

/* A member that is there has a name. */
static void check_secret(struct status *st, const struct site *source, const char *member)
{
    struct site secret = site_in(source, member), name = site_in(&secret, "name");

    if (secret.v)
        (void)site_required(st, &name);
}

void podspec_check_disk(struct status *st, const struct site *source)
{
    struct site partition = site_in(source, "partition");
    int64_t n = json_int(partition.v, 0);

    if (n < 0 || n > PARTITION_MAX)
        site_invalid(st, &partition, "must be between 1 and 255, inclusive");
}

void podspec_check_azure(struct status *st, const struct site *source)
{
    static const char *const caching[] = { "None", "ReadOnly", "ReadWrite", NULL };
    static const char *const disks[] = { "Dedicated", "Managed", "Shared", NULL };
    static const char *const managed[] = {
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/"
        "{disk-id}",
        NULL
    };
    static const char *const blob[] = {
        "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd", NULL
    };
    static const struct json empty = { .type = JSON_STRING };
    struct site mode = site_in(source, "cachingMode"), kind = site_in(source, "kind");
    struct site uri = site_in(source, "diskURI");
    bool is_managed = str_is(json_str(kind.v), "Managed");

    site_enum(st, &mode, caching);
    site_enum(st, &kind, disks);
    if (!uri.v)
        uri.v = &empty;
    if (kind.v &&
        !str_starts(json_str(uri.v), is_managed ? STR("/subscriptions/") : STR("https://")))
        site_unsupported(st, &uri, is_managed ? managed : blob);
}

void podspec_check_azure_file(struct status *st, const struct site *source)
{
    struct site space = site_in(source, "secretNamespace");

    if (space.v)
        (void)site_required(st, &space);
}

void podspec_check_monitors(struct status *st, const struct site *source)
{
    struct site monitors = site_in(source, "monitors");

    if (json_len(monitors.v) == 0)
        site_missing(st, &monitors, "");
}

void podspec_check_rbd(struct status *st, const struct site *source)
{
    struct site image = site_in(source, "image");

    podspec_check_monitors(st, source);
    (void)site_required(st, &image);
}

void podspec_check_cinder(struct status *st, const struct site *source)
{
    check_secret(st, source, "secretRef");
}

void podspec_check_cinder_volume(struct status *st, const struct site *source)
{
    struct site secret = site_in(source, "secretRef"), space = site_in(&secret, "namespace");

    check_secret(st, source, "secretRef");
    if (secret.v)
        (void)site_required(st, &space);
}

/* ---- csi ---- */

/* Names of drivers may be in capitals. */
static void check_driver(struct status *st, const struct site *driver)
{
    char low[DRIVER_MAX + 1];
    str name = json_str(driver->v);
    struct json small;
    struct site as = *driver;

    if (site_required(st, driver))
        return;
    if (name.n > DRIVER_MAX) {
        site_fault(st, driver, CAUSE_TOO_LONG, "may not be more than %d bytes", DRIVER_MAX);
        return;
    }
    for (size_t i = 0; i < name.n; i++)
        low[i] = (char)(name.p[i] >= 'A' && name.p[i] <= 'Z' ? name.p[i] | 0x20 : name.p[i]);
    small = json_of_str((str){ low, name.n });
    as.v = &small;
    if (!name_is_valid(NAME_SUBDOMAIN, json_str(&small))) {
        as.v = driver->v;
        (void)site_name(st, &as, NAME_SUBDOMAIN);
    }
}

void podspec_check_csi(struct status *st, const struct site *source)
{
    struct site driver = site_in(source, "driver"), at = site_in(source, "name");
    struct site secret = site_in(source, "nodePublishSecretRef"), name = site_in(&secret, "name");

    check_driver(st, &driver);
    if (!secret.v || site_required(st, &name))
        return;
    at.v = name.v; /* k8s leaves out the member */
    (void)site_name(st, &at, NAME_SUBDOMAIN);
}

void podspec_check_csi_volume(struct status *st, const struct site *source)
{
    static const char *const secrets[] = { "controllerPublishSecretRef",
                                           "controllerExpandSecretRef", "nodePublishSecretRef",
                                           "nodeExpandSecretRef" };
    struct site driver = site_in(source, "driver"), handle = site_in(source, "volumeHandle");

    check_driver(st, &driver);
    (void)site_required(st, &handle);
    for (size_t i = 0; i < sizeof(secrets) / sizeof(*secrets); i++) {
        struct site secret = site_in(source, secrets[i]), name = site_in(&secret, "name");
        struct site space = site_in(&secret, "namespace");

        if (!secret.v)
            continue;
        if (!site_required(st, &name))
            (void)site_name(st, &name, NAME_SUBDOMAIN);
        if (!site_required(st, &space))
            (void)site_name(st, &space, NAME_LABEL);
    }
}

/* ---- fc, flex, flocker ---- */

void podspec_check_fc(struct status *st, const struct site *source)
{
    struct site names = site_in(source, "targetWWNs"), ids = site_in(source, "wwids");
    struct site lun = site_in(source, "lun");

    if (json_len(names.v) == 0 && json_len(ids.v) == 0)
        site_missing(st, &names, "must specify either targetWWNs or wwids, but not both");
    if (json_len(names.v) && json_len(ids.v))
        site_invalid(st, &names, "targetWWNs and wwids can not be specified simultaneously");
    if (json_len(names.v) == 0)
        return;
    if (!lun.v)
        site_missing(st, &lun, "lun is required if targetWWNs is specified");
    else
        (void)site_range(st, &lun, 0, LUN_MAX);
}

static bool is_reserved(str key)
{
    static const char *const domains[] = { "kubernetes.io", "k8s.io" };
    ptrdiff_t slash = str_find(key, '/', 0);
    str space = slash < 0 ? key : str_sub(key, 0, (size_t)slash);

    for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++) {
        size_t n = strlen(domains[i]);

        if (space.n >= n && str_eq_nocase(str_from(space, space.n - n), str_of(domains[i])) &&
            (space.n == n || space.p[space.n - n - 1] == '.'))
            return true;
    }
    return false;
}

void podspec_check_flex(struct status *st, const struct site *source)
{
    struct site options = site_in(source, "options");

    json_for_each_member (m, options.v) {
        struct json key = json_of_str(m->name);
        struct site at = site_key(&options, m->name, &key);

        if (is_reserved(m->name))
            site_invalid(st, &at, "kubernetes.io and k8s.io namespaces are reserved");
    }
}

void podspec_check_flocker(struct status *st, const struct site *source)
{
    struct site name = site_in(source, "datasetName"), id = site_in(source, "datasetUUID");
    struct json resource = json_of_str(STR("resource"));
    struct site shown = *source;

    shown.v = &resource;
    if (json_str(name.v).n == 0 && json_str(id.v).n == 0)
        site_missing(st, source, "one of datasetName and datasetUUID is required");
    if (json_str(name.v).n && json_str(id.v).n)
        site_invalid(st, &shown, "datasetName and datasetUUID can not be specified simultaneously");
    if (str_find(json_str(name.v), '/', 0) >= 0)
        site_invalid(st, &name, "must not contain '/'");
}

/* ---- iscsi ---- */

static bool is_iqn(str name)
{
    static const char form[] = "iqn.dddd-dd.";
    size_t i = 0, from;

    for (; form[i]; i++)
        if (i >= name.n ||
            (form[i] == 'd' ? name.p[i] < '0' || name.p[i] > '9' : name.p[i] != form[i]))
            return false;
    for (from = i;
         i < name.n && (podspec_is_alnum(name.p[i]) || name.p[i] == '-' || name.p[i] == '.'); i++)
        ;
    if (i == from || i + 1 >= name.n || name.p[i] != ':')
        return false;
    for (i++; i < name.n; i++)
        if (str_find(STR(",;*&$| \t\n\f\r"), name.p[i], 0) >= 0)
            return false;
    return true;
}

static bool is_digits(str name, size_t n)
{
    for (size_t i = 4; i < name.n; i++)
        if (!podspec_is_alnum(name.p[i]))
            return false;
    return name.n == 4 + n;
}

static void check_initiator(struct status *st, const struct site *s, bool persistent)
{
    str name = json_str(s->v);
    bool iqn = str_starts(name, STR("iqn")), eui = str_starts(name, STR("eui"));

    if (!iqn && !eui && !str_starts(name, STR("naa")))
        site_invalid(st, s,
                     persistent ? "must be valid format"
                                : "must be valid format starting with iqn, eui, or naa");
    else if (iqn ? !is_iqn(name) : !is_digits(name, eui ? EUI_DIGITS : NAA_DIGITS))
        site_invalid(st, s, "must be valid format");
}

static void check_iscsi(struct status *st, const struct site *source, bool persistent)
{
    struct site iqn = site_in(source, "iqn"), lun = site_in(source, "lun");
    struct site secret = site_in(source, "secretRef"), at = site_in(source, "initiatorname");

    if (json_str(iqn.v).n)
        check_initiator(st, &iqn, persistent);
    (void)site_range(st, &lun, 0, LUN_MAX);
    if (!secret.v && (json_bool(json_get(source->v, STR("chapAuthDiscovery"))) ||
                      json_bool(json_get(source->v, STR("chapAuthSession")))))
        site_missing(st, &secret, "");
    at.v = json_get(source->v, STR("initiatorName"));
    if (at.v)
        check_initiator(st, &at, persistent);
}

void podspec_check_iscsi(struct status *st, const struct site *source)
{
    check_iscsi(st, source, false);
}

void podspec_check_iscsi_volume(struct status *st, const struct site *source)
{
    check_iscsi(st, source, true);
    check_secret(st, source, "secretRef");
}

/* ---- quobyte, storageos ---- */

/* k8s: net.SplitHostPort takes it */
static bool has_port(str pair)
{
    ptrdiff_t colon = str_find(pair, ':', 0), end;

    if (str_starts(pair, STR("["))) {
        end = str_find(pair, ']', 0);
        return end >= 0 && str_find(pair, '[', 1) < 0 &&
               str_starts(str_from(pair, (size_t)end + 1), STR(":")) &&
               str_find(pair, ':', (size_t)end + 2) < 0;
    }
    return colon >= 0 && str_find(pair, ':', (size_t)colon + 1) < 0 && str_find(pair, '[', 0) < 0 &&
           str_find(pair, ']', 0) < 0;
}

void podspec_check_quobyte(struct status *st, const struct site *source)
{
    static const char pairs[] = "must be a host:port pair or multiple pairs separated by commas";
    struct site registry = site_in(source, "registry"), tenant = site_in(source, "tenant");
    struct site volume = site_in(source, "volume");

    if (json_str(registry.v).n == 0)
        site_missing(st, &registry, pairs);
    else if (json_str(tenant.v).n > TENANT_MAX)
        site_missing(st, &tenant, "must be a UUID and may not exceed a length of 64 characters");
    else
        for (str rest = json_str(registry.v), pair; str_split(&rest, ',', &pair);)
            if (!has_port(pair))
                site_invalid(st, &registry, pairs);
    (void)site_required(st, &volume);
}

void podspec_check_storageos(struct status *st, const struct site *source)
{
    struct site name = site_in(source, "volumeName"), space = site_in(source, "volumeNamespace");

    if (!site_required(st, &name))
        (void)site_name(st, &name, NAME_LABEL);
    if (json_str(space.v).n)
        (void)site_name(st, &space, NAME_LABEL);
    check_secret(st, source, "secretRef");
}
