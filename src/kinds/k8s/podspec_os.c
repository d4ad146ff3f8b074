/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* What a pod that names its operating system cannot say; k8s: validateWindows, validateLinux. */

static const char *const of_pods[] = {
    "appArmorProfile",     "seLinuxOptions",
    "seccompProfile",      "fsGroup",
    "fsGroupChangePolicy", "sysctls",
    "runAsUser",           "runAsGroup",
    "supplementalGroups",  "supplementalGroupsPolicy",
    "seLinuxChangePolicy", NULL,
};
static const char *const of_spec[] = { "hostUsers", "hostPID", "hostIPC", "shareProcessNamespace",
                                       NULL };
static const char *const of_containers[] = {
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
    NULL,
};

static void refuse(struct status *st, const struct site *at, const char *const *names)
{
    for (; *names; names++) {
        struct site field = site_in(at, *names);

        if (field.v)
            site_forbidden(st, &field, "cannot be set for a windows pod");
    }
}

static void check_context(struct status *st, const struct site *at, bool windows,
                          const char *const *names)
{
    struct site context = site_in(at, "securityContext");
    struct site options = site_in(&context, "windowsOptions");

    if (windows)
        refuse(st, &context, names);
    else if (options.v)
        site_forbidden(st, &options, "windows options cannot be set for a linux pod");
}

void podspec_check_os(struct status *st, const struct site *spec)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };
    str os = json_get_str(spec->v, "os.name");
    bool windows = str_is(os, "windows");

    if (!windows && !str_is(os, "linux"))
        return;
    check_context(st, spec, windows, of_pods);
    if (windows && site_has(spec, "securityContext"))
        refuse(st, spec, of_spec);
    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct site list = site_in(spec, lists[i]);

        site_each(c, &list) check_context(st, &c, windows, of_containers);
    }
}

/* ---- windowsOptions; k8s: validateWindowsSecurityContextOptions ---- */

enum { SPEC_KIB_MAX = 64, DOMAIN_END = 256, USER_MAX = 104, NETBIOS_MAX = 15, LABEL_MAX = 63 };

static bool has_any(str s, const char *bytes)
{
    for (size_t i = 0; i < s.n; i++)
        if (strchr(bytes, s.p[i]) && s.p[i])
            return true;
    return false;
}

static bool is_netbios(str domain)
{
    return domain.n && domain.n <= NETBIOS_MAX && domain.p[0] != '.' &&
           !has_any(domain, "\\/:*?\"<>|");
}

/* Labels of letters, digits and dashes; case does not matter. */
static bool is_dns(str domain)
{
    for (str rest = domain, label; str_split(&rest, '.', &label);) {
        if (label.n == 0 || label.n > LABEL_MAX || !podspec_is_alnum(label.p[0]) ||
            !podspec_is_alnum(label.p[label.n - 1]))
            return false;
        for (size_t i = 0; i < label.n; i++)
            if (!podspec_is_alnum(label.p[i]) && label.p[i] != '-')
                return false;
    }
    return domain.n > 0;
}

static bool is_blank(str user)
{
    for (size_t i = 0; i < user.n; i++)
        if (user.p[i] != '.' && user.p[i] != ' ')
            return false;
    return user.n > 0;
}

static void check_user(struct status *st, const struct site *name)
{
    str all = json_str(name->v), user = all, domain = STR_NONE;
    ptrdiff_t slash = str_find(all, '\\', 0);

    if (all.n == 0) {
        site_invalid(st, name, "runAsUserName cannot be an empty string");
        return;
    }
    if (str_has_control(all)) {
        site_invalid(st, name, "runAsUserName cannot contain control characters");
        return;
    }
    if (slash >= 0 && str_find(all, '\\', (size_t)slash + 1) >= 0) {
        site_invalid(st, name, "runAsUserName cannot contain more than one backslash");
        return;
    }
    if (slash >= 0) {
        domain = str_sub(all, 0, (size_t)slash);
        user = str_from(all, (size_t)slash + 1);
    }
    if (domain.n >= DOMAIN_END)
        site_fault(st, name, CAUSE_INVALID,
                   "runAsUserName's Domain length must be under %d characters", DOMAIN_END);
    if (slash >= 0 && !is_netbios(domain) && !is_dns(domain))
        site_invalid(st, name,
                     "runAsUserName's Domain doesn't match the NetBios nor the DNS format");
    if (user.n == 0)
        site_invalid(st, name, "runAsUserName's User cannot be empty");
    else if (user.n > USER_MAX)
        site_fault(st, name, CAUSE_INVALID,
                   "runAsUserName's User length must not be longer than %d characters", USER_MAX);
    if (is_blank(user))
        site_invalid(st, name, "runAsUserName's User cannot contain only periods or spaces");
    if (has_any(user, "\"/\\:;|=,+*?<>@[]"))
        site_invalid(st, name,
                     "runAsUserName's User cannot contain the following characters: "
                     "\"/\\:;|=,+*?<>@[]");
}

void podspec_check_windows(struct status *st, const struct site *options)
{
    struct site name = site_in(options, "gmsaCredentialSpecName");
    struct site spec = site_in(options, "gmsaCredentialSpec");
    struct site user = site_in(options, "runAsUserName");

    if (name.v)
        (void)site_name(st, &name, NAME_SUBDOMAIN);
    if (spec.v && json_str(spec.v).n == 0)
        site_invalid(st, &spec, "gmsaCredentialSpec cannot be an empty string");
    else if (json_str(spec.v).n > SPEC_KIB_MAX * 1024)
        site_fault(st, &spec, CAUSE_INVALID, "gmsaCredentialSpec size must be under %d KiB",
                   SPEC_KIB_MAX);
    if (user.v)
        check_user(st, &user);
}
