/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/check.h"
#include "kinds/podspec_parts.h"
#include "meta/quantity.h"

enum { REQUIRED_MAX = 4 };

static const char mode_text[] = "must be a number between 0 and 0777 (octal), both inclusive";

static void check_mode_at(struct status *st, const struct site *mode)
{
    int64_t n = json_int(mode->v, 0);

    if (n < 0 || n > 0777)
        site_invalid(st, mode, mode_text);
}

static void check_mode(struct status *st, const struct site *up, const char *name)
{
    struct site mode = site_in(up, name);

    check_mode_at(st, &mode);
}

void podspec_check_path(struct status *st, const struct site *path, bool relative)
{
    str text = json_str(path->v);

    if (relative && str_starts(text, STR("/")))
        site_invalid(st, path, "must be a relative path");
    for (str rest = text, part; str_split(&rest, '/', &part);)
        if (str_is(part, "..")) {
            site_invalid(st, path, "must not contain '..'");
            return;
        }
}

/* k8s: ValidateLocalNonReservedPath */
static void check_file(struct status *st, const struct site *path)
{
    str text = json_str(path->v);

    podspec_check_path(st, path, true);
    if (str_starts(text, STR("..")) && !str_starts(text, STR("../")) && !str_is(text, ".."))
        site_invalid(st, path, "must not start with '..'");
}

static void check_keys(struct status *st, const struct site *source, struct map *paths)
{
    struct site items = site_in(source, "items");

    site_each(item, &items)
    {
        struct site key = site_in(&item, "key"), path = site_in(&item, "path");

        (void)site_required(st, &key);
        (void)site_required(st, &path);
        check_file(st, &path);
        check_mode(st, &item, "mode");
        if (paths && site_seen(paths, json_str(path.v)))
            site_invalid(st, &path, "conflicting duplicate paths");
    }
}

static void check_config(struct status *st, const struct site *source)
{
    check_mode(st, source, "defaultMode");
    check_keys(st, source, NULL);
}

/* ---- facts about the pod ---- */

/* k8s: pkg/apis/core/pods, what a volume may show of the pod */
static const char *const pod_fields[] = { "metadata.annotations", "metadata.labels",
                                          "metadata.name",        "metadata.namespace",
                                          "metadata.uid",         NULL };

/* k8s names the source, not the item. */
static struct site of_source(const struct site *item, const char *name)
{
    struct site s = site_in(item, name);

    s.up = item->up->up;
    return s;
}

static void check_facts(struct status *st, const struct site *at, struct map *paths)
{
    struct site items = site_in(at, "items");

    site_each(item, &items)
    {
        struct site path = of_source(&item, "path"), field = of_source(&item, "fieldRef");
        struct site res = of_source(&item, "resourceFieldRef"), mode = of_source(&item, "mode");
        struct site shown = *at;

        shown.v = item.v;

        (void)site_required(st, &path);
        check_file(st, &path);
        check_mode_at(st, &mode);
        if (field.v && res.v)
            site_invalid(st, &shown,
                         "fieldRef and resourceFieldRef can not be specified "
                         "simultaneously");
        else if (field.v)
            podspec_check_field_ref(st, &field, pod_fields);
        else if (res.v)
            podspec_check_resource_ref(st, &res, true);
        else
            site_missing(st, at, "one of fieldRef and resourceFieldRef is required");
        if (paths && site_seen(paths, json_str(path.v)))
            site_invalid(st, &path, "conflicting duplicate paths");
    }
}

static void check_downward(struct status *st, const struct site *source)
{
    check_mode(st, source, "defaultMode");
    check_facts(st, source, NULL);
}

/* ---- projected ---- */

static void check_token(struct status *st, const struct site *token)
{
    struct site seconds = site_in(token, "expirationSeconds"), path = site_in(token, "path");
    int64_t n = json_int(seconds.v, 3600);

    if (n < 600)
        site_invalid(st, &seconds, "may not specify a duration less than 10 minutes");
    if (n > (int64_t)1 << 32)
        site_invalid(st, &seconds, "may not specify a duration larger than 2^32 seconds");
    if (!site_required(st, &path))
        check_file(st, &path);
}

static void check_bundle(struct status *st, const struct site *bundle)
{
    struct site path = site_in(bundle, "path");
    bool name = site_has(bundle, "name"), signer = site_has(bundle, "signerName");

    if (name && signer)
        site_invalid(st, bundle, "only one of name and signerName may be used");
    if (!name && !signer)
        site_missing(st, bundle, "either name or signerName must be specified");
    if (!site_required(st, &path))
        check_file(st, &path);
}

static void check_projection(struct status *st, const struct site *source, struct map *paths)
{
    struct site secret = site_in(source, "secret"), config = site_in(source, "configMap");
    struct site facts = site_in(source, "downwardAPI");
    struct site token = site_in(source, "serviceAccountToken");
    struct site bundle = site_in(source, "clusterTrustBundle");
    const struct site *named[] = { &secret, &config };

    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
        struct site name = site_in(named[i], "name");

        if (!named[i]->v)
            continue;
        (void)site_required(st, &name);
        check_keys(st, named[i], paths);
    }
    if (facts.v)
        check_facts(st, &facts, paths);
    if (token.v)
        check_token(st, &token);
    if (bundle.v)
        check_bundle(st, &bundle);
    if (json_len(source->v) > 1)
        site_forbidden(st, source, "may not specify more than 1 volume type");
}

static void check_projected(struct status *st, const struct site *source)
{
    struct site sources = site_in(source, "sources");
    struct map paths = { 0 };

    check_mode(st, source, "defaultMode");
    site_each(s, &sources) check_projection(st, &s, &paths);
    map_release(&paths);
}

/* ---- others that have rules ---- */

static void check_empty_dir(struct status *st, const struct site *source)
{
    struct site size = site_in(source, "sizeLimit");
    struct quantity q;

    if (size.v && quantity_parse(json_str(size.v), &q) && q.nanos < 0)
        site_forbidden(st, &size, "SizeLimit field must be a valid resource quantity");
}

static void check_host_path(struct status *st, const struct site *source)
{
    static const char *const types[] = {
        "",     "BlockDevice",  "CharDevice", "Directory", "DirectoryOrCreate",
        "File", "FileOrCreate", "Socket",     NULL
    };
    struct site path = site_in(source, "path"), type = site_in(source, "type");

    podspec_check_path(st, &path, false);
    site_enum(st, &type, types);
}

static void check_nfs(struct status *st, const struct site *source)
{
    struct site path = site_in(source, "path");

    if (!str_starts(json_str(path.v), STR("/")))
        site_invalid(st, &path, "must be an absolute path");
}

static void check_git(struct status *st, const struct site *source)
{
    struct site directory = site_in(source, "directory");

    podspec_check_path(st, &directory, true);
}

static void check_claim(struct status *st, const struct site *source)
{
    struct site template = site_in(source, "volumeClaimTemplate");
    struct site spec = site_in(&template, "spec");

    if (!template.v)
        site_missing(st, &template, "");
    else
        volume_check_claim(st, &spec);
}

static void check_local(struct status *st, const struct site *source)
{
    struct site path = site_in(source, "path");

    podspec_check_path(st, &path, false);
}

/* The sources, and which of their strings must not be empty.  k8s: validateVolumeSource,
 * ValidatePersistentVolumeSpec */
static const struct source {
    const char *name;
    enum { POD = 1, PERSISTENT = 2, BOTH = 3 } of;
    const char *required[REQUIRED_MAX];
    void (*check)(struct status *st, const struct site *source);
} sources[] = {
    { "emptyDir", POD, { NULL }, check_empty_dir },
    { "hostPath", BOTH, { "path" }, check_host_path },
    { "gitRepo", POD, { "repository" }, check_git },
    { "gcePersistentDisk", BOTH, { "pdName" }, NULL },
    { "awsElasticBlockStore", BOTH, { "volumeID" }, NULL },
    { "secret", POD, { "secretName" }, check_config },
    { "nfs", BOTH, { "server", "path" }, check_nfs },
    { "iscsi", BOTH, { "targetPortal", "iqn" }, NULL },
    { "glusterfs", BOTH, { "endpoints", "path" }, NULL },
    { "flocker", BOTH, { NULL }, NULL },
    { "persistentVolumeClaim", POD, { "claimName" }, NULL },
    { "rbd", BOTH, { "image" }, NULL },
    { "cinder", BOTH, { "volumeID" }, NULL },
    { "cephfs", BOTH, { NULL }, NULL },
    { "quobyte", BOTH, { "registry", "volume" }, NULL },
    { "downwardAPI", POD, { NULL }, check_downward },
    { "fc", BOTH, { NULL }, NULL },
    { "flexVolume", BOTH, { "driver" }, NULL },
    { "configMap", POD, { "name" }, check_config },
    { "azureFile", BOTH, { "secretName", "shareName" }, NULL },
    { "vsphereVolume", BOTH, { "volumePath" }, NULL },
    { "photonPersistentDisk", BOTH, { "pdID" }, NULL },
    { "portworxVolume", BOTH, { "volumeID" }, NULL },
    { "azureDisk", BOTH, { "diskName", "diskURI" }, NULL },
    { "storageos", BOTH, { NULL }, NULL },
    { "projected", POD, { NULL }, check_projected },
    { "scaleIO", BOTH, { "gateway", "system", "volumeName" }, NULL },
    { "csi", POD, { "driver" }, NULL },
    { "csi", PERSISTENT, { "driver", "volumeHandle" }, NULL },
    { "local", PERSISTENT, { "path" }, check_local },
    { "ephemeral", POD, { NULL }, check_claim },
    { "image", POD, { NULL }, NULL },
};

static void check_one(struct status *st, const struct source *s, const struct site *v)
{
    for (size_t i = 0; i < REQUIRED_MAX && s->required[i]; i++) {
        struct site field = site_in(v, s->required[i]);

        (void)site_required(st, &field);
    }
    if (s->check)
        s->check(st, v);
}

void podspec_check_source(struct status *st, const struct site *volume, bool persistent)
{
    unsigned of = persistent ? PERSISTENT : POD;
    bool found = false;

    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        struct site source = site_in(volume, sources[i].name);

        if (!source.v || !(sources[i].of & of))
            continue;
        if (found)
            site_forbidden(st, &source, "may not specify more than 1 volume type");
        else
            check_one(st, &sources[i], &source);
        found = true;
    }
    if (!found)
        site_missing(st, volume, "must specify a volume type");
}

void podspec_check_volumes(struct status *st, const struct site *volumes, struct map *names)
{
    site_each(v, volumes)
    {
        struct site name = site_in(&v, "name");
        unsigned before = st->ncauses;

        podspec_check_source(st, &v, false);
        if (!site_required(st, &name))
            (void)site_name(st, &name, NAME_LABEL);
        if (map_get(names, json_str(name.v)))
            site_duplicate(st, &name);
        if (st->ncauses == before)
            (void)map_put(names, json_str(name.v), (void *)(uintptr_t)v.v);
    }
}
