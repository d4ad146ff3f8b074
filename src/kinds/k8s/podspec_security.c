/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/podspec_security.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/frame/words.h"

/* A pod that is looked at, and what a check says of it. */
struct look {
    struct arena *arena;
    const struct json *metadata, *spec;
    const struct json **containers; /* of init, others, ephemeral ones */
    size_t n;
    int minor;
    const char *reason; /* filled in, with the detail */
    str detail;
};

/* ---- who sets what ---- */

/* Whether a pod's spec or a container is bad; what it has may be noted as a bad value. */
typedef bool bad_fn(const struct look *l, const struct json *holder, struct words *values);

static bool forbid(struct look *l, const char *reason, str detail)
{
    l->reason = reason;
    l->detail = detail;
    return true;
}

static struct words words_of(const struct look *l)
{
    return (struct words){ .arena = l->arena };
}

static struct words bad_containers(const struct look *l, bad_fn *bad, struct words *values)
{
    struct words names = words_of(l);

    for (size_t i = 0; i < l->n; i++)
        if (bad(l, l->containers[i], values))
            words_add(&names, json_get_str(l->containers[i], "name"));
    return names;
}

static str containers_text(const struct words *names)
{
    str quoted = words_quoted(names);

    return str_concat(names->arena, str_of(plural(names->n, "container ", "containers ")), quoted,
                      STR_NONE);
}

/* `pod and containers "a", "b"`, or empty. */
static str bad_setters(const struct look *l, bad_fn *bad, struct words *values)
{
    bool pod = bad(l, l->spec, values);
    struct words names = bad_containers(l, bad, values);
    str text = names.n ? containers_text(&names) : STR_NONE;

    if (!pod)
        return text;
    return names.n ? str_concat(l->arena, STR("pod and "), text, STR_NONE) : STR("pod");
}

static const struct json *context(const struct json *holder, const char *path)
{
    return json_path(json_get(holder, STR("securityContext")), path);
}

static bool is_windows(const struct look *l)
{
    return str_is(json_get_str(l->spec, "os.name"), "windows");
}

static bool is_false(const struct json *v)
{
    return json_is(v, JSON_BOOL) && !v->b;
}

static bool has_own_users(const struct look *l)
{
    return is_false(json_get(l->spec, STR("hostUsers")));
}

/* One that is set to what is none of the words. */
static bool is_other(const struct json *v, const char *const *words, struct words *values)
{
    if (!v || str_is_any(json_str(v), words))
        return false;
    words_add(values, json_str(v));
    return true;
}

/* ---- baseline ---- */

static bool bad_app_armor(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "RuntimeDefault", "Localhost", NULL };
    const struct json *profile = context(holder, "appArmorProfile");

    (void)l;
    return json_is(profile, JSON_OBJECT) && is_other(json_get(profile, STR("type")), good, values);
}

static str annotation_text(struct arena *a, str key, str value)
{
    return str_printf(a, "%.*s=\"%.*s\"", STR_ARG(key), STR_ARG(value));
}

static bool check_app_armor(struct look *l)
{
    static const char prefix[] = "container.apparmor.security.beta.kubernetes.io/";
    struct words values = words_of(l), notes = words_of(l);
    str who = bad_setters(l, bad_app_armor, &values);

    words_sort(&values);
    json_for_each_member (m, json_get(l->metadata, STR("annotations"))) {
        str v = json_str(&m->value);

        if (str_starts(m->name, str_of(prefix)) && v.n && !str_is(v, "runtime/default") &&
            !str_starts(v, STR("localhost/")))
            words_add(&notes, annotation_text(l->arena, m->name, v));
    }
    words_sort(&notes);
    for (size_t i = 0; i < notes.n; i++)
        words_add(&values, notes.items[i]);
    if (notes.n)
        who = str_concat(l->arena, who, who.n ? STR(" and ") : STR_NONE,
                         str_of(plural(notes.n, "annotation", "annotations")));
    return who.n &&
           forbid(l, plural(values.n, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
                  str_concat(l->arena, who, STR(" must not set AppArmor profile type to "),
                             words_quoted(&values)));
}

static bool adds_other(const struct json *holder, const char *const *good, struct words *values)
{
    size_t before = values->n;

    json_for_each (c, context(holder, "capabilities.add"))
        (void)is_other(c, good, values);
    return values->n > before;
}

static str added_text(struct words *names, struct words *values)
{
    struct arena *a = names->arena;

    words_sort(values);
    return str_concat(a, containers_text(names),
                      str_concat(a, STR(" must not include "), words_quoted(values), STR_NONE),
                      STR(" in securityContext.capabilities.add"));
}

static bool bad_capability(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "AUDIT_WRITE", "CHOWN",  "DAC_OVERRIDE", "FOWNER",
                                        "FSETID",      "KILL",   "MKNOD",        "NET_BIND_SERVICE",
                                        "SETFCAP",     "SETGID", "SETPCAP",      "SETUID",
                                        "SYS_CHROOT",  NULL };

    (void)l;
    return adds_other(holder, good, values);
}

static bool check_capabilities(struct look *l)
{
    struct words values = words_of(l), names = bad_containers(l, bad_capability, &values);

    return names.n && forbid(l, "non-default capabilities", added_text(&names, &values));
}

static bool check_host_namespaces(struct look *l)
{
    static const char *const all[] = { "hostNetwork", "hostPID", "hostIPC" };
    struct words set = words_of(l);

    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        if (json_bool(json_get(l->spec, str_of(all[i]))))
            words_add(&set, str_concat(l->arena, str_of(all[i]), STR("=true"), STR_NONE));
    return set.n && forbid(l, "host namespaces", words_join(&set, ", "));
}

static bool check_host_path(struct look *l)
{
    struct words names = words_of(l);

    json_for_each (v, json_get(l->spec, STR("volumes")))
        if (json_is(json_get(v, STR("hostPath")), JSON_OBJECT))
            words_add(&names, json_get_str(v, "name"));
    return names.n && forbid(l, "hostPath volumes",
                             str_concat(l->arena, str_of(plural(names.n, "volume ", "volumes ")),
                                        words_quoted(&names), STR_NONE));
}

static bool bad_host_port(const struct look *l, const struct json *holder, struct words *values)
{
    size_t before = values->n;

    json_for_each (p, json_get(holder, STR("ports"))) {
        int64_t port = json_int(json_get(p, STR("hostPort")), 0);

        if (port)
            words_add(values, str_printf(l->arena, "%lld", (long long)port));
    }
    return values->n > before;
}

/* `container "a" uses <of what> …` */
static str uses_text(const struct look *l, str who, size_t n, const char *what, str values)
{
    str uses = str_of(plural(n, " uses ", " use "));

    return str_concat(l->arena, who, str_concat(l->arena, uses, str_of(what), STR(" ")), values);
}

static bool check_host_ports(struct look *l)
{
    struct words ports = words_of(l), names = bad_containers(l, bad_host_port, &ports);

    words_sort(&ports);
    return names.n &&
           forbid(l, "hostPort",
                  uses_text(l, containers_text(&names), names.n,
                            plural(ports.n, "hostPort", "hostPorts"), words_join(&ports, ", ")));
}

static bool bad_host(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const at[] = { "livenessProbe", "readinessProbe", "startupProbe",
                                      "lifecycle.postStart", "lifecycle.preStop" };
    static const char *const how[] = { "httpGet.host", "tcpSocket.host" };
    size_t before = values->n;

    (void)l;
    for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
        for (size_t k = 0; k < sizeof(how) / sizeof(*how); k++) {
            str host = json_get_str(json_path(holder, at[i]), how[k]);

            if (host.n)
                words_add(values, host);
        }
    return values->n > before;
}

static bool check_hosts(struct look *l)
{
    struct words hosts = words_of(l), names = bad_containers(l, bad_host, &hosts);

    words_sort(&names);
    words_sort(&hosts);
    return names.n &&
           forbid(l, "probe or lifecycle host",
                  uses_text(l, containers_text(&names), names.n,
                            plural(hosts.n, "probe or lifecycle host", "probe or lifecycle hosts"),
                            words_quoted(&hosts)));
}

static bool bad_privileged(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return json_bool(context(holder, "privileged"));
}

static bool check_privileged(struct look *l)
{
    struct words names = bad_containers(l, bad_privileged, NULL);

    return names.n &&
           forbid(l, "privileged",
                  str_concat(l->arena, containers_text(&names),
                             STR(" must not set securityContext.privileged=true"), STR_NONE));
}

static bool bad_proc(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "Default", NULL };

    (void)l;
    return is_other(context(holder, "procMount"), good, values);
}

static bool check_proc_always(struct look *l)
{
    struct words values = words_of(l), names = bad_containers(l, bad_proc, &values);

    words_sort(&values);
    return names.n && forbid(l, "procMount",
                             str_concat(l->arena, containers_text(&names),
                                        STR(" must not set securityContext.procMount to "),
                                        words_quoted(&values)));
}

static bool check_proc(struct look *l)
{
    return !(l->minor >= 35 && has_own_users(l)) && check_proc_always(l);
}

static bool bad_selinux_type(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "container_t", "container_init_t", "container_kvm_t",
                                        NULL };
    str type = json_str(context(holder, "seLinuxOptions.type"));

    if (!type.n || str_is_any(type, good) || (l->minor >= 31 && str_is(type, "container_engine_t")))
        return false;
    words_add(values, type);
    return true;
}

/* What is set that may not be at all. */
struct selinux {
    bool user, role;
};

static struct selinux selinux_of(const struct json *holder)
{
    return (struct selinux){ .user = json_str(context(holder, "seLinuxOptions.user")).n > 0,
                             .role = json_str(context(holder, "seLinuxOptions.role")).n > 0 };
}

static bool bad_selinux(const struct look *l, const struct json *holder, struct words *values)
{
    struct selinux set = selinux_of(holder);

    return bad_selinux_type(l, holder, values) || set.user || set.role;
}

static bool check_selinux(struct look *l)
{
    struct words types = words_of(l), all = words_of(l);
    str who = bad_setters(l, bad_selinux, &types);
    struct selinux set = selinux_of(l->spec);

    if (!who.n)
        return false;
    for (size_t i = 0; i < l->n; i++) {
        struct selinux own = selinux_of(l->containers[i]);

        set.user |= own.user;
        set.role |= own.role;
    }
    words_sort(&types);
    if (types.n)
        words_add(&all, str_concat(l->arena, str_of(plural(types.n, "type ", "types ")),
                                   words_quoted(&types), STR_NONE));
    if (set.user)
        words_add(&all, STR("user may not be set"));
    if (set.role)
        words_add(&all, STR("role may not be set"));
    return forbid(l, "seLinuxOptions",
                  str_concat(l->arena, who, STR(" set forbidden securityContext.seLinuxOptions: "),
                             words_join(&all, "; ")));
}

/* ---- seccomp, of both levels ---- */

static void look_at_seccomp_note(struct look *l, const struct map *notes, str key,
                                 struct words *bad)
{
    const struct json *v = map_get(notes, key);
    str s = json_str(v);

    if (v && !str_is(s, "runtime/default") && !str_is(s, "docker/default") &&
        !str_starts(s, STR("localhost/")))
        words_add(bad, annotation_text(l->arena, key, s));
}

static bool check_seccomp_notes(struct look *l)
{
    struct map notes = check_index(json_get(l->metadata, STR("annotations")));
    struct words bad = words_of(l);

    look_at_seccomp_note(l, &notes, STR("seccomp.security.alpha.kubernetes.io/pod"), &bad);
    for (size_t i = 0; i < l->n; i++)
        look_at_seccomp_note(l, &notes,
                             str_concat(l->arena,
                                        STR("container.seccomp.security.alpha.kubernetes.io/"),
                                        json_get_str(l->containers[i], "name"), STR_NONE),
                             &bad);
    map_release(&notes);
    words_sort(&bad);
    return bad.n &&
           forbid(
               l, "seccompProfile",
               str_concat(l->arena,
                          str_of(plural(bad.n, "forbidden annotation ", "forbidden annotations ")),
                          words_join(&bad, ", "), STR_NONE));
}

static bool bad_seccomp(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "RuntimeDefault", "Localhost", NULL };
    const struct json *profile = context(holder, "seccompProfile");

    (void)l;
    return json_is(profile, JSON_OBJECT) && is_other(json_get(profile, STR("type")), good, values);
}

static bool check_seccomp_set(struct look *l)
{
    struct words values = words_of(l);
    str who = bad_setters(l, bad_seccomp, &values);

    words_sort(&values);
    return who.n && forbid(l, "seccompProfile",
                           str_concat(l->arena, who,
                                      STR(" must not set securityContext.seccompProfile.type to "),
                                      words_quoted(&values)));
}

static bool check_seccomp(struct look *l)
{
    return l->minor < 19 ? check_seccomp_notes(l) : check_seccomp_set(l);
}

static bool lacks_seccomp(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return !json_is(context(holder, "seccompProfile"), JSON_OBJECT);
}

/* `pod or container "a" must set …`; a pod that sets it does so for those that do not. */
static bool forbid_lacking(struct look *l, bad_fn *lacks, bool pod, const char *reason, str what)
{
    struct words names = words_of(l);

    if (!pod)
        names = bad_containers(l, lacks, NULL);
    return names.n &&
           forbid(l, reason, str_concat(l->arena, STR("pod or "), containers_text(&names), what));
}

static bool check_seccomp_restricted(struct look *l)
{
    if (l->minor >= 25 && is_windows(l))
        return false;
    return check_seccomp_set(l) ||
           forbid_lacking(l, lacks_seccomp, !lacks_seccomp(l, l->spec, NULL), "seccompProfile",
                          STR(" must set securityContext.seccompProfile.type to "
                              "\"RuntimeDefault\" or \"Localhost\""));
}

/* ---- more of baseline ---- */

static bool check_sysctls(struct look *l)
{
    static const struct {
        const char *name;
        int since;
    } good[] = {
        { "kernel.shm_rmid_forced", 0 },
        { "net.ipv4.ip_local_port_range", 0 },
        { "net.ipv4.tcp_syncookies", 0 },
        { "net.ipv4.ping_group_range", 0 },
        { "net.ipv4.ip_unprivileged_port_start", 0 },
        { "net.ipv4.ip_local_reserved_ports", 27 },
        { "net.ipv4.tcp_keepalive_time", 29 },
        { "net.ipv4.tcp_fin_timeout", 29 },
        { "net.ipv4.tcp_keepalive_intvl", 29 },
        { "net.ipv4.tcp_keepalive_probes", 29 },
        { "net.ipv4.tcp_rmem", 32 },
        { "net.ipv4.tcp_wmem", 32 },
    };
    struct words bad = words_of(l);

    json_for_each (s, context(l->spec, "sysctls")) {
        str name = json_get_str(s, "name");
        size_t i = 0;

        while (i < sizeof(good) / sizeof(*good) &&
               !(str_is(name, good[i].name) && l->minor >= good[i].since))
            i++;
        if (i == sizeof(good) / sizeof(*good))
            words_add(&bad, name);
    }
    return bad.n && forbid(l, "forbidden sysctls", words_join(&bad, ", "));
}

static bool bad_host_process(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return json_bool(context(holder, "windowsOptions.hostProcess"));
}

static bool check_host_process(struct look *l)
{
    str who = bad_setters(l, bad_host_process, NULL);

    return who.n &&
           forbid(l, "hostProcess",
                  str_concat(l->arena, who,
                             STR(" must not set securityContext.windowsOptions.hostProcess=true"),
                             STR_NONE));
}

/* ---- restricted ---- */

static bool may_escalate(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return !is_false(context(holder, "allowPrivilegeEscalation"));
}

static bool check_escalation(struct look *l)
{
    struct words names = words_of(l);

    if (!(l->minor >= 25 && is_windows(l)))
        names = bad_containers(l, may_escalate, NULL);
    return names.n &&
           forbid(l, "allowPrivilegeEscalation != false",
                  str_concat(l->arena, containers_text(&names),
                             STR(" must set securityContext.allowPrivilegeEscalation=false"),
                             STR_NONE));
}

static bool keeps_some(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    json_for_each (c, context(holder, "capabilities.drop"))
        if (str_is(json_str(c), "ALL"))
            return false;
    return true;
}

static bool adds_more(const struct look *l, const struct json *holder, struct words *values)
{
    static const char *const good[] = { "NET_BIND_SERVICE", NULL };

    (void)l;
    return adds_other(holder, good, values);
}

static bool check_capabilities_restricted(struct look *l)
{
    struct words values = words_of(l), details = words_of(l), names;

    if (l->minor >= 25 && is_windows(l))
        return false;
    names = bad_containers(l, keeps_some, NULL);
    if (names.n)
        words_add(&details, str_concat(l->arena, containers_text(&names),
                                       STR(" must set securityContext.capabilities.drop=[\"ALL\"]"),
                                       STR_NONE));
    names = bad_containers(l, adds_more, &values);
    if (names.n)
        words_add(&details, added_text(&names, &values));
    return details.n && forbid(l, "unrestricted capabilities", words_join(&details, "; "));
}

/* The source of a volume that is not one of the good, or NULL. */
static const char *restricted_source(const struct json *volume)
{
    static const char *const good[] = { "configMap", "csi",       "downwardAPI",
                                        "emptyDir",  "ephemeral", "image",
                                        "projected", "secret",    "persistentVolumeClaim" };
    static const char *const bad[] = {
        "hostPath",
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "gitRepo",
        "nfs",
        "iscsi",
        "glusterfs",
        "rbd",
        "flexVolume",
        "cinder",
        "cephfs",
        "flocker",
        "fc",
        "azureFile",
        "vsphereVolume",
        "quobyte",
        "azureDisk",
        "photonPersistentDisk",
        "portworxVolume",
        "scaleIO",
        "storageos",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        if (json_is(json_get(volume, str_of(good[i])), JSON_OBJECT))
            return NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (json_is(json_get(volume, str_of(bad[i])), JSON_OBJECT))
            return bad[i];
    return "unknown";
}

static bool check_volumes(struct look *l)
{
    struct words names = words_of(l), types = words_of(l);
    str who;

    json_for_each (v, json_get(l->spec, STR("volumes"))) {
        const char *source = restricted_source(v);

        if (source) {
            words_add(&names, json_get_str(v, "name"));
            words_add(&types, str_of(source));
        }
    }
    if (!names.n)
        return false;
    words_sort(&types);
    who = str_concat(l->arena, str_of(plural(names.n, "volume ", "volumes ")), words_quoted(&names),
                     STR_NONE);
    return forbid(l, "restricted volume types",
                  uses_text(l, who, names.n,
                            plural(types.n, "restricted volume type", "restricted volume types"),
                            words_quoted(&types)));
}

static bool may_be_root(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return is_false(context(holder, "runAsNonRoot"));
}

static bool lacks_non_root(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return !json_is(context(holder, "runAsNonRoot"), JSON_BOOL);
}

static bool check_non_root(struct look *l)
{
    static const char reason[] = "runAsNonRoot != true";
    str who;

    if (l->minor >= 35 && has_own_users(l))
        return false;
    who = bad_setters(l, may_be_root, NULL);
    if (who.n)
        return forbid(l, reason,
                      str_concat(l->arena, who,
                                 STR(" must not set securityContext.runAsNonRoot=false"),
                                 STR_NONE));
    return forbid_lacking(l, lacks_non_root, json_bool(context(l->spec, "runAsNonRoot")), reason,
                          STR(" must set securityContext.runAsNonRoot=true"));
}

static bool runs_as_root(const struct look *l, const struct json *holder, struct words *values)
{
    (void)l, (void)values;
    return json_int(context(holder, "runAsUser"), 1) == 0;
}

static bool check_user(struct look *l)
{
    str who;

    if (l->minor >= 35 && has_own_users(l))
        return false;
    who = bad_setters(l, runs_as_root, NULL);
    return who.n && forbid(l, "runAsUser=0",
                           str_concat(l->arena, who, STR(" must not set runAsUser=0"), STR_NONE));
}

/* ---- all of them ---- */

enum { NEVER = 1000, NEWEST = 35 /* nothing has changed since */ };

/* In the order of what is told: of a level by name.  k8s: policy/registry.go */
static const struct check {
    const char *id;
    enum pod_level level;
    int since;
    int replaced; /* from here on, at restricted, by a check of that level */
    bool (*fn)(struct look *l);
} checks[] = {
    { "appArmorProfile", POD_BASELINE, 0, NEVER, check_app_armor },
    { "capabilities_baseline", POD_BASELINE, 0, 22, check_capabilities },
    { "hostNamespaces", POD_BASELINE, 0, NEVER, check_host_namespaces },
    { "hostPathVolumes", POD_BASELINE, 0, 0, check_host_path },
    { "hostPorts", POD_BASELINE, 0, NEVER, check_host_ports },
    { "hostProbesAndHostLifecycle", POD_BASELINE, 34, NEVER, check_hosts },
    { "privileged", POD_BASELINE, 0, NEVER, check_privileged },
    { "procMount", POD_BASELINE, 0, 35, check_proc },
    { "seLinuxOptions", POD_BASELINE, 0, NEVER, check_selinux },
    { "seccompProfile_baseline", POD_BASELINE, 0, 19, check_seccomp },
    { "sysctls", POD_BASELINE, 0, NEVER, check_sysctls },
    { "windowsHostProcess", POD_BASELINE, 0, NEVER, check_host_process },
    { "allowPrivilegeEscalation", POD_RESTRICTED, 8, NEVER, check_escalation },
    { "capabilities_restricted", POD_RESTRICTED, 22, NEVER, check_capabilities_restricted },
    { "procMount_restricted", POD_RESTRICTED, 35, NEVER, check_proc_always },
    { "restrictedVolumes", POD_RESTRICTED, 0, NEVER, check_volumes },
    { "runAsNonRoot", POD_RESTRICTED, 0, NEVER, check_non_root },
    { "runAsUser", POD_RESTRICTED, 23, NEVER, check_user },
    { "seccompProfile_restricted", POD_RESTRICTED, 19, NEVER, check_seccomp_restricted },
};

static bool applies(const struct check *c, struct pod_policy p, int minor)
{
    return c->level <= p.level && minor >= c->since &&
           !(p.level == POD_RESTRICTED && minor >= c->replaced);
}

static void look_at_containers(struct look *l)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    size_t n = 0;

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        n += json_len(json_get(l->spec, str_of(lists[i])));
    l->containers = arena_array(l->arena, const struct json *, n ? n : 1);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each (c, json_get(l->spec, str_of(lists[i])))
            l->containers[l->n++] = c;
}

bool podspec_forbidden(struct arena *a, struct pod_policy p, const struct json *metadata,
                       const struct json *spec, bool details, str *why)
{
    struct look l = { .arena = a, .metadata = metadata, .spec = spec, .minor = NEWEST };
    struct words all = words_of(&l);

    if (p.level == POD_PRIVILEGED)
        return false;
    if (p.minor != POD_VERSION_LATEST && p.minor < NEWEST)
        l.minor = (int)p.minor;
    look_at_containers(&l);
    for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); i++)
        if (applies(&checks[i], p, l.minor) && checks[i].fn(&l))
            words_add(&all, details ? str_concat(a, str_of(l.reason), STR(" ("),
                                                 str_concat(a, l.detail, STR(")"), STR_NONE))
                                    : str_of(l.reason));
    if (!all.n)
        return false;
    *why = words_join(&all, ", ");
    return true;
}
