/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/podfiles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/encode.h"
#include "sim/objects.h"

enum { TOKEN_S = 86400 };

/* A name of an API object as the name of a file; false if it could be a way elsewhere. */
static bool is_file_name(str s)
{
    return s.n > 0 && s.n < 254 && !str_starts(s, STR("..")) && str_find(s, '/', 0) < 0 &&
           !memchr(s.p, '\0', s.n);
}

static int make_dir(const char *path, struct status *st)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return 0;
    return status_errno(st, errno, "cannot make the folder %s", path);
}

/* Replaces the file at once, so that who reads it meanwhile finds the old or the new. */
static int write_file(struct arena *a, const char *dir, str name, str text, struct status *st)
{
    const char *path = arena_printf(a, "%s/%.*s", dir, STR_ARG(name));
    const char *temporary = arena_printf(a, "%s/..%.*s", dir, STR_ARG(name));
    int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool good = fd >= 0;

    for (size_t at = 0; good && at < text.n;) {
        ssize_t n = write(fd, text.p + at, text.n - at);

        good = n > 0 || (n < 0 && errno == EINTR);
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        good = close(fd) == 0 && good;
    if (good && rename(temporary, path) == 0)
        return 0;
    return status_errno(st, errno, "cannot write %s", path);
}

/* ---- Secrets and ConfigMaps ---- */

static bool value_of(struct arena *a, const struct json *object, str key, bool is_secret, str *out)
{
    const struct json *v = json_get(json_get(object, STR("data")), key);

    if (v && is_secret)
        return base64_decode(a, BASE64_GO, json_str(v), out);
    if (v) {
        *out = json_str(v);
        return true;
    }
    v = json_get(json_get(object, STR("binaryData")), key);
    return v && base64_decode(a, BASE64_GO, json_str(v), out);
}

static int write_data(struct arena *a, const char *dir, const struct json *object, bool is_secret,
                      const struct json *items, struct status *st)
{
    static const char *const members[] = { "data", "binaryData" };
    str text;

    json_for_each (i, items) {
        str path = json_get_str(i, "path");

        if (is_file_name(path) && value_of(a, object, json_get_str(i, "key"), is_secret, &text) &&
            write_file(a, dir, path, text, st) < 0)
            return -1;
    }
    for (size_t m = 0; !items && m < 2; m++)
        json_for_each_member (e, json_get(object, str_of(members[m])))
            if (is_file_name(e->name) && value_of(a, object, e->name, is_secret, &text) &&
                write_file(a, dir, e->name, text, st) < 0)
                return -1;
    return 0;
}

static int write_volume(struct client *client, struct arena *a, const struct informer_key *k,
                        const struct json *volume, const char *dir, struct status *st)
{
    const struct json *source = json_get(volume, STR("secret")), *object;
    bool is_secret = source != NULL;
    struct client_ref ref;
    int found;

    if (!source)
        source = json_get(volume, STR("configMap"));
    if (!source)
        return 0; /* an empty folder is all that the others are */
    ref = obj_ref_named(k, "", is_secret ? "secrets" : "configmaps",
                        json_get_str(source, is_secret ? "secretName" : "name"));
    found = obj_get(client, a, &ref, &object, st);
    if (found < 0)
        return -1;
    if (!found)
        return json_bool(json_get(source, STR("optional")))
                   ? 0
                   : status_set(st, REASON_UNAVAILABLE,
                                "%.*s %.*s, which the pod mounts, is not "
                                "there",
                                STR_ARG(ref.resource), STR_ARG(ref.name));
    return write_data(a, dir, object, is_secret, json_get(source, STR("items")), st);
}

static const struct json *volume_named(const struct json *pod, str name)
{
    json_for_each (v, json_path(pod, "spec.volumes"))
        if (str_eq(json_get_str(v, "name"), name))
            return v;
    return NULL;
}

static int write_mounts(struct client *client, struct arena *a, const struct informer_key *k,
                        const struct json *pod, const struct json *container, struct podfiles *out,
                        struct status *st)
{
    const struct json *mounts = json_get(container, STR("volumeMounts"));
    const char *volumes = arena_printf(a, "%s/volumes", out->dir);

    out->mounts = arena_array(a, struct process_mount, json_len(mounts) + 1);
    if (make_dir(volumes, st) < 0)
        return -1;
    json_for_each (m, mounts) {
        str name = json_get_str(m, "name");
        const struct json *v = volume_named(pod, name);
        const char *dir = arena_printf(a, "%s/%.*s", volumes, STR_ARG(name));

        if (!v || !is_file_name(name))
            continue;
        if (json_get(v, STR("projected"))) /* the token's: admission has put it there */
            dir = arena_printf(a, "%s/serviceaccount", out->dir);
        else if (make_dir(dir, st) < 0 || write_volume(client, a, k, v, dir, st) < 0)
            return -1;
        out->mounts[out->nmounts++] =
            (struct process_mount){ json_get_str(m, "mountPath"), str_of(dir) };
    }
    return 0;
}

/* ---- who it is ---- */

static int write_account(const struct podfiles_options *o, struct client *client, struct arena *a,
                         const struct informer_key *k, const struct json *pod, const char *dir,
                         struct status *st)
{
    str account = json_get_str(pod, "spec.serviceAccountName");
    struct client_ref ref =
        obj_ref_named(k, "", "serviceaccounts", account.n ? account : STR("default"));
    const struct json *want = obj_of(a, "{\"kind\":\"TokenRequest\",\"apiVersion\":"
                                        "\"authentication.k8s.io/v1\",\"spec\":{\"boundObjectRef\":"
                                        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\"}}}"),
                      *got;

    want = obj_set_int(a, want, "spec.expirationSeconds", TOKEN_S);
    want = obj_set_str(a, want, "spec.boundObjectRef.name", k->name);
    want = obj_set_str(a, want, "spec.boundObjectRef.uid", obj_uid(pod));
    ref.subresource = STR("token");
    if (make_dir(dir, st) < 0 || obj_post(client, a, &ref, want, &got, st) < 0)
        return -1;
    if (write_file(a, dir, STR("token"), json_get_str(got, "status.token"), st) < 0 ||
        write_file(a, dir, STR("ca.crt"), o->ca_pem, st) < 0)
        return -1;
    return write_file(a, dir, STR("namespace"), k->namespace, st);
}

/* ---- environment ---- */

static const struct {
    const char *field, *path;
} fields[] = {
    { "metadata.name", "metadata.name" },
    { "metadata.namespace", "metadata.namespace" },
    { "metadata.uid", "metadata.uid" },
    { "spec.nodeName", "spec.nodeName" },
    { "status.podIP", "status.podIP" },
    { "status.hostIP", "status.hostIP" },
    { "spec.serviceAccountName", "spec.serviceAccountName" },
};

static int value_from(struct client *client, struct arena *a, const struct informer_key *k,
                      const struct json *pod, const struct json *from, str *out, struct status *st)
{
    const struct json *ref = json_get(from, STR("secretKeyRef")), *object;
    bool is_secret = ref != NULL;
    str field = json_get_str(from, "fieldRef.fieldPath");
    struct client_ref at;
    int found;

    for (size_t i = 0; field.n && i < sizeof(fields) / sizeof(*fields); i++)
        if (str_is(field, fields[i].field))
            *out = json_get_str(pod, fields[i].path);
    if (!ref)
        ref = json_get(from, STR("configMapKeyRef"));
    if (!ref)
        return 0;
    at = obj_ref_named(k, "", is_secret ? "secrets" : "configmaps", json_get_str(ref, "name"));
    found = obj_get(client, a, &at, &object, st);
    if (found > 0 && value_of(a, object, json_get_str(ref, "key"), is_secret, out))
        return 0;
    if (found >= 0 && !json_bool(json_get(ref, STR("optional"))))
        return status_set(st, REASON_UNAVAILABLE, "%.*s %.*s has no key %.*s for the environment",
                          STR_ARG(at.resource), STR_ARG(at.name),
                          STR_ARG(json_get_str(ref, "key")));
    return found < 0 ? -1 : 0;
}

static int make_env(struct client *client, struct arena *a, const struct informer_key *k,
                    const struct json *pod, const struct json *container, struct podfiles *out,
                    struct status *st)
{
    const struct json *env = json_get(container, STR("env"));

    out->env = arena_array(a, str, json_len(env) + 1);
    json_for_each (e, env) {
        str value = json_get_str(e, "value");
        const struct json *from = json_get(e, STR("valueFrom"));

        if (from && value_from(client, a, k, pod, from, &value, st) < 0)
            return -1;
        out->env[out->nenv++] =
            str_printf(a, "%.*s=%.*s", STR_ARG(json_get_str(e, "name")), STR_ARG(value));
    }
    return 0;
}

int podfiles_write(const struct podfiles_options *o, struct client *client, struct arena *a,
                   const struct informer_key *k, const struct json *pod,
                   const struct json *container, struct podfiles *out, struct status *st)
{
    const str steps[] = { STR_NONE, k->instance, k->namespace, k->name };
    const char *dir = o->dir;

    *out = (struct podfiles){ 0 };
    for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
        if (i)
            dir = arena_printf(a, "%s/%.*s", dir, STR_ARG(steps[i]));
        if ((i && !is_file_name(steps[i])) || make_dir(dir, st) < 0)
            return -1;
    }
    out->dir = dir;
    if (write_account(o, client, a, k, pod, arena_printf(a, "%s/serviceaccount", dir), st) < 0 ||
        write_mounts(client, a, k, pod, container, out, st) < 0)
        return -1;
    return make_env(client, a, k, pod, container, out, st);
}
