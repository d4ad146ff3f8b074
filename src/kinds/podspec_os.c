/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/podspec_parts.h"

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
