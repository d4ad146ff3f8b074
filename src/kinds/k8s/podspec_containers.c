/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/podspec.h"
#include "kinds/k8s/podspec_internal.h"

/* ---- ports ---- */

static void check_ports(struct status *st, const struct site *ports)
{
    static const char *const protocols[] = { "SCTP", "TCP", "UDP", NULL };
    struct map names = { 0 };

    site_each(p, ports)
    {
        struct site name = site_in(&p, "name"), port = site_in(&p, "containerPort");
        struct site host = site_in(&p, "hostPort"), protocol = site_in(&p, "protocol");
        unsigned before = st->ncauses;

        if (name.v)
            site_port_name(st, &name);
        if (st->ncauses == before && site_seen(&names, json_str(name.v)))
            site_duplicate(st, &name);
        if (json_int(port.v, 0) == 0)
            site_missing(st, &port, "");
        else
            site_port(st, &port);
        site_port(st, &host);
        site_enum(st, &protocol, protocols);
    }
    map_release(&names);
}

/* Within one container, or over all of them: whoever calls keeps `seen`. */
static void check_host_ports(struct status *st, const struct site *container, struct map *seen)
{
    struct site ports = site_in(container, "ports");

    site_each(p, &ports)
    {
        struct site host = site_in(&p, "hostPort");
        int64_t n = json_int(host.v, 0);
        str text;
        struct json v;

        if (n == 0)
            continue;
        text = str_printf(st->arena, "%.*s/%.*s/%lld", STR_ARG(site_str(&p, "protocol")),
                          STR_ARG(site_str(&p, "hostIP")), (long long)n);
        v = json_of_str(text);
        host.v = &v;
        if (site_seen(seen, text))
            site_duplicate(st, &host);
    }
}

/* ---- environment ---- */

/* k8s: IsRelaxedEnvVarName */
static void check_env_name(struct status *st, const struct site *name)
{
    str text = json_str(name->v);

    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] < 0x20 || text.p[i] > 0x7e || text.p[i] == '=') {
            site_invalid(st, name,
                         "a valid environment variable name must consist only of "
                         "printable ASCII characters other than '='");
            return;
        }
}

static void check_key_ref(struct status *st, const struct site *ref)
{
    struct site name = site_in(ref, "name"), key = site_in(ref, "key");

    (void)site_name(st, &name, NAME_SUBDOMAIN);
    if (!site_required(st, &key))
        check_data_key(st, site_path(st->arena, &key), json_str(key.v));
}

static void check_field_ref(struct status *st, const struct site *ref)
{
    static const char *const fields[] = { "metadata.name",
                                          "metadata.namespace",
                                          "metadata.uid",
                                          "spec.nodeName",
                                          "spec.serviceAccountName",
                                          "status.hostIP",
                                          "status.hostIPs",
                                          "status.podIP",
                                          "status.podIPs",
                                          NULL };

    podspec_check_field_ref(st, ref, fields);
}

static void check_resource_ref(struct status *st, const struct site *ref)
{
    podspec_check_resource_ref(st, ref, false);
}

static void check_file_ref(struct status *st, const struct site *ref)
{
    struct site key = site_in(ref, "key"), volume = site_in(ref, "volumeName");
    struct site path = site_in(ref, "path");

    if (!site_required(st, &key))
        check_env_name(st, &key);
    if (!site_required(st, &volume))
        (void)site_name(st, &volume, NAME_LABEL);
    if (!site_required(st, &path))
        podspec_check_path(st, &path, false);
}

static void check_value_from(struct status *st, const struct site *var, const struct site *from)
{
    static const struct {
        const char *name;
        void (*check)(struct status *st, const struct site *ref);
    } sources[] = {
        { "fieldRef", check_field_ref },      { "resourceFieldRef", check_resource_ref },
        { "configMapKeyRef", check_key_ref }, { "secretKeyRef", check_key_ref },
        { "fileKeyRef", check_file_ref },
    };
    struct json empty = json_of_str(STR(""));
    struct site shown = *from;
    size_t n = 0;

    shown.v = &empty;
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources); i++) {
        struct site ref = site_in(from, sources[i].name);

        if (!ref.v)
            continue;
        n++;
        sources[i].check(st, &ref);
    }
    if (n == 0)
        site_invalid(st, &shown,
                     "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
                     "`secretKeyRef` or `fileKeyRef`");
    else if (site_str(var, "value").n)
        site_invalid(st, &shown, "may not be specified when `value` is not empty");
    else if (n > 1)
        site_invalid(st, &shown, "may not have more than one field specified at a time");
}

static void check_env(struct status *st, const struct site *env)
{
    site_each(var, env)
    {
        struct site name = site_in(&var, "name"), from = site_in(&var, "valueFrom");

        if (!site_required(st, &name))
            check_env_name(st, &name);
        if (from.v)
            check_value_from(st, &var, &from);
    }
}

/* k8s names the list when the number of sources is wrong. */
static void check_env_from(struct status *st, const struct site *list)
{
    struct json empty = json_of_str(STR(""));
    struct site shown = *list;

    shown.v = &empty;
    site_each(from, list)
    {
        struct site prefix = site_in(&from, "prefix");
        struct site refs[] = { site_in(&from, "configMapRef"), site_in(&from, "secretRef") };

        check_env_name(st, &prefix);
        for (size_t i = 0; i < 2; i++) {
            struct site name = site_in(&refs[i], "name");

            if (refs[i].v && !site_required(st, &name))
                (void)site_name(st, &name, NAME_SUBDOMAIN);
        }
        if (!refs[0].v && !refs[1].v)
            site_invalid(st, &shown, "must specify one of: `configMapRef` or `secretRef`");
        else if (refs[0].v && refs[1].v)
            site_invalid(st, &shown, "may not have more than one field specified at a time");
    }
}

/* ---- mounts ---- */

static bool is_mounted(const struct json *list, const char *member, str value)
{
    json_for_each (v, list)
        if (str_eq(json_get_str(v, member), value))
            return true;
    return false;
}

/* k8s names the list, not the item. */
static struct site of_list(const struct site *item, const char *name)
{
    struct site s = site_in(item, name);

    s.up = item->up;
    return s;
}

static void check_propagation(struct status *st, const struct site *container,
                              const struct site *mount)
{
    static const char *const modes[] = { "Bidirectional", "HostToContainer", "None", NULL };
    static const char *const recursive[] = { "Disabled", "Enabled", "IfPossible", NULL };
    struct site mode = of_list(mount, "mountPropagation");
    struct site rro = of_list(mount, "recursiveReadOnly");

    site_enum(st, &mode, modes);
    if (str_is(json_str(mode.v), "Bidirectional") &&
        !json_bool(json_path(container->v, "securityContext.privileged")))
        site_forbidden(
            st, &mode,
            "Bidirectional mount propagation is available only to privileged containers");
    site_enum(st, &rro, recursive);
    if (!str_is(json_str(rro.v), "Enabled") && !str_is(json_str(rro.v), "IfPossible"))
        return;
    if (!json_bool(json_get(mount->v, STR("readOnly"))))
        site_forbidden(st, &rro, "may only be specified when readOnly is true");
    if (mode.v && !str_is(json_str(mode.v), "None"))
        site_forbidden(st, &rro,
                       "may only be specified when mountPropagation is None or not specified");
}

static void check_mount(struct status *st, const struct podspec_context *c,
                        const struct site *container, const struct site *mount, struct map *seen)
{
    const struct json *devices = json_get(container->v, STR("volumeDevices"));
    struct site name = site_in(mount, "name"), path = site_in(mount, "mountPath");
    struct site sub = of_list(mount, "subPath"), expr = of_list(mount, "subPathExpr");
    struct site own = site_in(mount, "subPathExpr");

    (void)site_required(st, &name);
    if (!map_get(&c->volumes, json_str(name.v)))
        site_fault(st, &name, CAUSE_NOT_FOUND, "%s", "");
    (void)site_required(st, &path);
    if (site_seen(seen, json_str(path.v)))
        site_invalid(st, &path, "must be unique");
    if (is_mounted(devices, "name", json_str(name.v)))
        site_invalid(st, &name, "must not already exist in volumeDevices");
    if (is_mounted(devices, "devicePath", json_str(path.v)))
        site_invalid(st, &path, "must not already exist as a path in volumeDevices");
    podspec_check_path(st, &sub, true);
    if (expr.v && json_str(sub.v).n)
        site_invalid(st, &own, "subPathExpr and subPath are mutually exclusive");
    podspec_check_path(st, &expr, true);
    check_propagation(st, container, mount);
}

static void check_device(struct status *st, const struct podspec_context *c,
                         const struct site *device, struct map *names, struct map *paths)
{
    const struct json *mounts = json_get(device->up->up->v, STR("volumeMounts"));
    struct site name = site_in(device, "name"), path = site_in(device, "devicePath");
    const struct json *volume = map_get(&c->volumes, json_str(name.v));

    (void)site_required(st, &name);
    if (site_seen(names, json_str(name.v)))
        site_invalid(st, &name, "must be unique");
    if (!volume)
        site_fault(st, &name, CAUSE_NOT_FOUND, "%s", "");
    else if (!json_get(volume, STR("persistentVolumeClaim")) && !json_get(volume, STR("ephemeral")))
        site_invalid(st, &name,
                     "can only use volume source type of PersistentVolumeClaim or Ephemeral for "
                     "block mode");
    (void)site_required(st, &path);
    if (site_seen(paths, json_str(path.v)))
        site_invalid(st, &path, "must be unique");
    if (is_mounted(mounts, "name", json_str(name.v)))
        site_invalid(st, &name, "must not already exist in volumeMounts");
    if (is_mounted(mounts, "mountPath", json_str(path.v)))
        site_invalid(st, &path, "must not already exist as a path in volumeMounts");
}

static void check_mounts(struct status *st, const struct podspec_context *c,
                         const struct site *container)
{
    struct site mounts = site_in(container, "volumeMounts");
    struct site devices = site_in(container, "volumeDevices");
    struct map paths = { 0 }, names = { 0 }, device_paths = { 0 };

    site_each(m, &mounts) check_mount(st, c, container, &m, &paths);
    site_each(d, &devices) check_device(st, c, &d, &names, &device_paths);
    map_release(&paths);
    map_release(&names);
    map_release(&device_paths);
}

/* ---- restarts ---- */

enum { RESTART_RULES_MAX = 20, EXIT_CODES_MAX = 255 };

/* A word that must be said: the empty one is wrong, too. */
static void given(struct site *s)
{
    static const struct json empty = { .type = JSON_STRING };

    if (!s->v)
        s->v = &empty;
}

static void check_restart(struct status *st, const struct site *container, bool init)
{
    static const char *const policies[] = { "Always", "Never", "OnFailure", NULL };
    static const char *const actions[] = { "Restart", NULL };
    static const char *const operators[] = { "In", "NotIn", NULL };
    struct site policy = site_in(container, "restartPolicy");
    struct site rules = site_in(container, "restartPolicyRules");

    if (!policy.v && json_len(rules.v))
        site_missing(st, &policy, "must specify restartPolicy when restart rules are used");
    if (init && !policy.v)
        return;
    if (init && str_is(json_str(policy.v), "Always")) {
        if (json_len(rules.v))
            site_forbidden(st, &rules,
                           "restartPolicyRules are not allowed for init containers with restart "
                           "policy Always");
        return;
    }
    site_enum(st, &policy, policies);
    if (json_len(rules.v) > RESTART_RULES_MAX)
        site_fault(st, &rules, CAUSE_TOO_LONG, "may not be more than %d bytes", RESTART_RULES_MAX);
    site_each(rule, &rules)
    {
        struct site action = site_in(&rule, "action"), codes = site_in(&rule, "exitCodes");
        struct site op = site_in(&codes, "operator"), values = site_in(&codes, "values");

        given(&action);
        site_enum(st, &action, actions);
        if (!codes.v) {
            site_missing(st, &codes, "must be specified");
            continue;
        }
        given(&op);
        site_enum(st, &op, operators);
        if (json_len(values.v) > EXIT_CODES_MAX)
            site_fault(st, &values, CAUSE_TOO_LONG, "may not be more than %d bytes",
                       EXIT_CODES_MAX);
    }
}

static void check_resize(struct status *st, const struct site *container, str pod_policy)
{
    static const char *const resources[] = { "cpu", "memory", NULL };
    static const char *const policies[] = { "NotRequired", "RestartContainer", NULL };
    struct site list = site_in(container, "resizePolicy");
    struct map seen = { 0 };

    site_each(p, &list)
    {
        struct site name = of_list(&p, "resourceName"), policy = of_list(&p, "restartPolicy");
        struct site again = p;

        name.kind = policy.kind = list.kind, name.name = policy.name = list.name;
        name.up = policy.up = container;
        again.v = name.v;
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &again);
        if (!site_required(st, &name))
            site_enum(st, &name, resources);
        if (!site_required(st, &policy))
            site_enum(st, &policy, policies);
        if (str_is(pod_policy, "Never") && !str_is(json_str(policy.v), "NotRequired"))
            site_invalid(st, &policy, "must be 'NotRequired' when `restartPolicy` is 'Never'");
    }
    map_release(&seen);
}

/* ---- containers ---- */

static void check_common(struct status *st, const struct podspec_context *c,
                         const struct site *container)
{
    static const char *const messages[] = { "File", "FallbackToLogsOnError", NULL };
    static const char *const pulls[] = { "Always", "IfNotPresent", "Never", NULL };
    struct site name = site_in(container, "name"), image = site_in(container, "image");
    struct site message = site_in(container, "terminationMessagePolicy");
    struct site ports = site_in(container, "ports"), env = site_in(container, "env");
    struct site from = site_in(container, "envFrom"), pull = site_in(container, "imagePullPolicy");
    struct site resources = site_in(container, "resources");
    str text = json_str(image.v);

    if (!site_required(st, &name))
        (void)site_name(st, &name, NAME_LABEL);
    (void)site_required(st, &image);
    site_enum(st, &message, messages);
    check_ports(st, &ports);
    check_env(st, &env);
    check_env_from(st, &from);
    check_mounts(st, c, container);
    site_enum(st, &pull, pulls);
    podspec_check_resources(st, &resources, &c->claims);
    check_resize(st, container, json_get_str(c->spec, "restartPolicy"));
    podspec_check_security(st, container, c->spec);
    if (c->pod && str_trim(text).n != text.n)
        site_invalid(st, &image, "must not have leading or trailing whitespace");
}

static void check_regular(struct status *st, const struct podspec_context *c,
                          const struct site *list, struct map *names)
{
    struct map host_ports = { 0 };

    if (json_len(list->v) == 0)
        site_missing(st, list, "");
    site_each(container, list)
    {
        struct site name = site_in(&container, "name");

        check_common(st, c, &container);
        if (site_seen(names, json_str(name.v)))
            site_duplicate(st, &name);
        podspec_check_probes(st, &container, c->spec);
        check_restart(st, &container, false);
    }
    site_each(container, list) check_host_ports(st, &container, &host_ports);
    map_release(&host_ports);
}

static void check_init(struct status *st, const struct podspec_context *c, const struct site *list,
                       struct map *names)
{
    static const char *const refused[] = { "lifecycle", "livenessProbe", "readinessProbe",
                                           "startupProbe" };

    site_each(container, list)
    {
        struct site name = site_in(&container, "name");
        bool sidecar = str_is(site_str(&container, "restartPolicy"), "Always");
        struct map host_ports = { 0 };

        check_common(st, c, &container);
        check_restart(st, &container, true);
        if (site_seen(names, json_str(name.v)))
            site_duplicate(st, &name);
        check_host_ports(st, &container, &host_ports);
        map_release(&host_ports);
        if (sidecar)
            podspec_check_probes(st, &container, c->spec);
        for (size_t i = 0; !sidecar && i < sizeof(refused) / sizeof(*refused); i++) {
            struct site field = site_in(&container, refused[i]);

            if (field.v)
                site_forbidden(st, &field,
                               "may not be set for init containers without restartPolicy=Always");
        }
    }
}

static void check_ephemeral_mounts(struct status *st, const struct site *container)
{
    struct site mounts = site_in(container, "volumeMounts");

    site_each(m, &mounts)
    {
        struct site paths[] = { site_in(&m, "subPath"), site_in(&m, "subPathExpr") };

        for (size_t i = 0; i < 2; i++)
            if (json_str(paths[i].v).n)
                site_forbidden(st, &paths[i], "cannot be set for an Ephemeral Container");
    }
}

static void check_ephemeral(struct status *st, const struct podspec_context *c,
                            const struct site *list, struct map *names)
{
    static const char *const refused[] = { "ports",          "resources",          "resizePolicy",
                                           "restartPolicy",  "restartPolicyRules", "livenessProbe",
                                           "readinessProbe", "startupProbe",       "lifecycle" };
    static const struct json none = { .type = JSON_STRING };
    size_t others = map_size(names);

    site_each(container, list)
    {
        struct site name = site_in(&container, "name");
        struct site target = site_in(&container, "targetContainerName");
        bool lost = json_str(target.v).n && (others == 0 || !map_get(names, json_str(target.v)));

        check_common(st, c, &container);
        name.v = name.v ? name.v : &none;
        if (site_seen_any(names, json_str(name.v)))
            site_duplicate(st, &name);
        if (lost)
            site_fault(st, &target, CAUSE_NOT_FOUND, "%s", "");
        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
            struct site field = site_in(&container, refused[i]);

            /* k8s: all are pointers and lists but resources */
            if (field.v && (json_len(field.v) || !str_is(str_of(refused[i]), "resources")))
                site_forbidden(st, &field, "cannot be set for an Ephemeral Container");
        }
        check_ephemeral_mounts(st, &container);
    }
}

void podspec_check_containers(struct status *st, const struct podspec_context *c,
                              const struct site *spec)
{
    struct site regular = site_in(spec, "containers"), init = site_in(spec, "initContainers");
    struct site ephemeral = site_in(spec, "ephemeralContainers");
    struct map names = { 0 };

    check_regular(st, c, &regular, &names);
    check_init(st, c, &init, &names);
    check_ephemeral(st, c, &ephemeral, &names);
    map_release(&names);
}
