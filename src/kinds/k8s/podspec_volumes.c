/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/podspec_internal.h"
#include "object/meta/quantity.h"

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
    if (str_starts(text, STR("..")) && !str_starts(text, STR("../")))
        site_invalid(st, path, "must not start with '..'");
}

/* What is projected is put into one folder; k8s tells the name of the source. */
struct projection {
    const struct site *volume;
    struct map paths;
};

static void check_twice(struct status *st, struct projection *p, str path, str name)
{
    struct json v = json_of_str(name);
    struct site shown;

    if (!p || path.n == 0 || !site_seen(&p->paths, path))
        return;
    shown = *p->volume;
    shown.v = &v;
    site_invalid(st, &shown, "conflicting duplicate paths");
}

static void check_keys(struct status *st, const struct site *source, struct projection *p)
{
    struct site items = site_in(source, "items");

    site_each(item, &items)
    {
        struct site key = site_in(&item, "key"), path = site_in(&item, "path");

        (void)site_required(st, &key);
        (void)site_required(st, &path);
        check_file(st, &path);
        check_mode(st, &item, "mode");
        check_twice(st, p, json_str(path.v), site_str(source, "name"));
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

static void check_facts(struct status *st, const struct site *at, struct projection *p)
{
    struct json resource = json_of_str(STR("resource"));
    struct site items = site_in(at, "items"), shown = *at;

    shown.v = &resource;

    site_each(item, &items)
    {
        struct site path = of_source(&item, "path"), field = of_source(&item, "fieldRef");
        struct site res = of_source(&item, "resourceFieldRef"), mode = of_source(&item, "mode");

        (void)site_required(st, &path);
        check_file(st, &path);
        check_mode_at(st, &mode);
        if (field.v) {
            podspec_check_field_ref(st, &field, pod_fields);
            if (res.v)
                site_invalid(st, &shown,
                             "fieldRef and resourceFieldRef can not be specified simultaneously");
        } else if (res.v) {
            podspec_check_resource_ref(st, &res, true);
        } else {
            site_missing(st, at, "one of fieldRef and resourceFieldRef is required");
        }
        check_twice(st, p, json_str(path.v), json_str(path.v));
    }
}

static void check_downward(struct status *st, const struct site *source)
{
    check_mode(st, source, "defaultMode");
    check_facts(st, source, NULL);
}

/* ---- projected ---- */

/* k8s tells its path as the volume's. */
static void check_token(struct status *st, const struct site *token, const struct site *volume)
{
    struct site seconds = site_in(token, "expirationSeconds"), path = site_in(token, "path");
    int64_t n = json_int(seconds.v, 3600);

    if (n < 600)
        site_invalid(st, &seconds, "may not specify a duration less than 10 minutes");
    if (n > (int64_t)1 << 32)
        site_invalid(st, &seconds, "may not specify a duration larger than 2^32 seconds");
    path.up = volume;
    if (!site_required(st, &path))
        check_file(st, &path);
}

static void check_projection(struct status *st, const struct site *source, struct projection *p)
{
    struct site secret = site_in(source, "secret"), config = site_in(source, "configMap");
    struct site facts = site_in(source, "downwardAPI");
    struct site token = site_in(source, "serviceAccountToken");
    const struct site *named[] = { &secret, &config };

    for (size_t i = 0; i < sizeof(named) / sizeof(*named); i++) {
        struct site name = site_in(named[i], "name");

        if (!named[i]->v)
            continue;
        (void)site_required(st, &name);
        check_keys(st, named[i], p);
    }
    if (facts.v)
        check_facts(st, &facts, p);
    if (token.v)
        check_token(st, &token, p->volume);
    if (json_len(source->v) > 1)
        site_forbidden(st, source, "may not specify more than 1 volume type per source");
}

static void check_projected(struct status *st, const struct site *source)
{
    struct site sources = site_in(source, "sources");
    struct projection p = { .volume = source };

    check_mode(st, source, "defaultMode");
    site_each(s, &sources) check_projection(st, &s, &p);
    map_release(&p.paths);
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

void podspec_check_template_meta(struct status *st, const struct site *template)
{
    static const char *const others[] = { "name",
                                          "generateName",
                                          "namespace",
                                          "selfLink",
                                          "uid",
                                          "resourceVersion",
                                          "generation",
                                          "creationTimestamp",
                                          "deletionTimestamp",
                                          "deletionGracePeriodSeconds",
                                          "ownerReferences",
                                          "finalizers",
                                          "managedFields" };
    struct site meta = site_in(template, "metadata"), labels = site_in(&meta, "labels");
    struct site annotations = site_in(&meta, "annotations");

    if (annotations.v)
        (void)annotations_check(st, site_path(st->arena, &annotations), annotations.v);
    site_labels(st, &labels);
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
        struct site at = site_in(&meta, others[i]);

        if (!at.v || json_is(at.v, JSON_NULL))
            continue;
        if (str_is(str_of(others[i]), "uid"))
            at.name = "uID"; /* k8s: Go's name with a small first letter */
        site_forbidden(st, &at, "cannot be set");
    }
}

static void check_image(struct status *st, const struct site *source)
{
    static const char *const pulls[] = { "Always", "IfNotPresent", "Never", NULL };
    struct site policy = site_in(source, "pullPolicy");

    site_enum(st, &policy, pulls);
}

static void check_claim(struct status *st, const struct site *source)
{
    struct site template = site_in(source, "volumeClaimTemplate");
    struct site spec = site_in(&template, "spec");

    if (!template.v) {
        site_missing(st, &template, "");
        return;
    }
    podspec_check_template_meta(st, &template);
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
    const char *told, *refused; /* where k8s says another name, or when it is one too many */
} sources[] = {
    { "emptyDir", POD, { NULL }, check_empty_dir, NULL, NULL },
    { "hostPath", BOTH, { "path" }, check_host_path, NULL, NULL },
    { "gitRepo", POD, { "repository" }, check_git, NULL, NULL },
    { "gcePersistentDisk", BOTH, { "pdName" }, podspec_check_disk, "persistentDisk", NULL },
    { "awsElasticBlockStore", BOTH, { "volumeID" }, podspec_check_disk, NULL, NULL },
    { "secret", POD, { "secretName" }, check_config, NULL, NULL },
    { "nfs", BOTH, { "server", "path" }, check_nfs, NULL, NULL },
    { "iscsi", POD, { "targetPortal", "iqn" }, podspec_check_iscsi, NULL, NULL },
    { "iscsi", PERSISTENT, { "targetPortal", "iqn" }, podspec_check_iscsi_volume, NULL, NULL },
    { "glusterfs", BOTH, { "endpoints", "path" }, NULL, NULL, NULL },
    { "flocker", BOTH, { NULL }, podspec_check_flocker, NULL, NULL },
    { "persistentVolumeClaim", POD, { "claimName" }, NULL, NULL, NULL },
    { "rbd", BOTH, { NULL }, podspec_check_rbd, NULL, NULL },
    { "cinder", POD, { "volumeID" }, podspec_check_cinder, NULL, NULL },
    { "cinder", PERSISTENT, { "volumeID" }, podspec_check_cinder_volume, NULL, NULL },
    { "cephfs", BOTH, { NULL }, podspec_check_monitors, NULL, "cephFS" },
    { "quobyte", BOTH, { NULL }, podspec_check_quobyte, NULL, NULL },
    { "downwardAPI", POD, { NULL }, check_downward, NULL, "downwarAPI" },
    { "fc", BOTH, { NULL }, podspec_check_fc, NULL, NULL },
    { "flexVolume", BOTH, { "driver" }, podspec_check_flex, NULL, NULL },
    { "configMap", POD, { "name" }, check_config, NULL, NULL },
    { "azureFile", BOTH, { "secretName", "shareName" }, podspec_check_azure_file, NULL, NULL },
    { "vsphereVolume", BOTH, { "volumePath" }, NULL, NULL, NULL },
    { "photonPersistentDisk", BOTH, { "pdID" }, NULL, NULL, NULL },
    { "portworxVolume", BOTH, { "volumeID" }, NULL, NULL, NULL },
    { "azureDisk", BOTH, { "diskName", "diskURI" }, podspec_check_azure, NULL, NULL },
    { "storageos", BOTH, { NULL }, podspec_check_storageos, NULL, NULL },
    { "projected", POD, { NULL }, check_projected, NULL, NULL },
    { "scaleIO", BOTH, { "gateway", "system", "volumeName" }, NULL, NULL, NULL },
    { "local", PERSISTENT, { "path" }, check_local, NULL, NULL },
    { "csi", POD, { NULL }, podspec_check_csi, NULL, NULL },
    { "csi", PERSISTENT, { NULL }, podspec_check_csi_volume, NULL, NULL },
    { "ephemeral", POD, { NULL }, check_claim, NULL, NULL },
    { "image", POD, { NULL }, check_image, NULL, NULL },
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
        if (found && sources[i].refused)
            source.name = sources[i].refused;
        else if (!found && sources[i].told)
            source.name = sources[i].told;
        if (found && !(persistent && sources[i].check == podspec_check_flex)) /* as in k8s */
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
