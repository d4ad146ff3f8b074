/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* What a rule over all containers of a pod is asked about each. */
typedef void visit_fn(void *arg, struct status *st, const struct site *container);

/* k8s: VisitContainersWithPath, in its order. */
static void visit(struct status *st, const struct site *spec, visit_fn *fn, void *arg)
{
    static const char *const lists[] = { "initContainers", "containers", "ephemeralContainers" };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++) {
        struct site list = site_in(spec, lists[i]);

        site_each(c, &list) fn(arg, st, &c);
    }
}

/* ---- processes of the host; k8s: validateWindowsHostProcessPod ---- */

struct processes {
    const struct json *pod; /* what the pod says */
    size_t all, of_host;
};

static void count_process(void *arg, struct status *st, const struct site *container)
{
    struct processes *p = arg;
    struct site context = site_in(container, "securityContext");
    struct site options = site_in(&context, "windowsOptions");
    struct site own = site_in(&options, "hostProcess");

    p->all++;
    if (p->pod && own.v && json_bool(p->pod) != json_bool(own.v))
        site_fault(st, &own, CAUSE_INVALID,
                   "pod hostProcess value must be identical if both are specified, was %s",
                   json_bool(p->pod) ? "true" : "false");
    p->of_host += own.v ? json_bool(own.v) : p->pod && json_bool(p->pod);
}

static void check_processes(struct status *st, const struct site *spec)
{
    struct processes p = { .pod =
                               json_path(spec->v, "securityContext.windowsOptions.hostProcess") };
    struct json empty = json_of_str(STR(""));
    struct site shown = *spec, network = site_in(spec, "hostNetwork");

    visit(st, spec, count_process, &p);
    if (p.of_host == 0)
        return;
    shown.v = &empty;
    if (p.of_host != p.all)
        site_invalid(st, &shown,
                     "If pod contains any hostProcess containers then all containers must be "
                     "HostProcess containers");
    if (json_bool(network.v))
        return;
    network.v = &json_false;
    site_invalid(st, &network,
                 "hostNetwork must be true if pod contains any hostProcess containers");
}

/* ---- users of its own; k8s: validateHostUsers ---- */

static void check_devices(void *arg, struct status *st, const struct site *container)
{
    struct site devices = site_in(container, "volumeDevices");

    (void)arg;
    if (json_len(devices.v))
        site_forbidden(st, &devices, "when `hostUsers` is false");
}

/* Some of these names are told as Go spells them. */
static void check_users(struct status *st, const struct site *spec)
{
    static const char *const shared[][2] = { { "hostNetwork", "hostNetwork" },
                                             { "hostPID", "HostPID" },
                                             { "hostIPC", "HostIPC" } };
    const struct json *users = json_get(spec->v, STR("hostUsers"));

    if (!users || json_bool(users))
        return;
    for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++) {
        struct site at = site_in(spec, shared[i][1]);

        if (json_bool(json_get(spec->v, str_of(shared[i][0]))))
            site_forbidden(st, &at, "when `hostUsers` is false");
    }
    visit(st, spec, check_devices, NULL);
}

/* ---- variables from files; k8s: validateFileKeyRefVolumes ---- */

static void check_files(void *arg, struct status *st, const struct site *container)
{
    static const struct json empty = { .type = JSON_STRING };
    struct site env = site_in(container, "env");

    site_each(var, &env)
    {
        struct site from = site_in(&var, "valueFrom"), ref = site_in(&from, "fileKeyRef");
        struct site name = site_in(&ref, "volumeName");
        const struct json *volume;

        if (!ref.v)
            continue;
        volume = map_get(arg, json_str(name.v));
        if (!name.v)
            name.v = &empty;
        if (!volume)
            site_fault(st, &name, CAUSE_NOT_FOUND, "%s", "");
        else if (!json_get(volume, STR("emptyDir")))
            site_invalid(st, &name, "referenced volume must be of type emptyDir");
    }
}

void podspec_check_host(struct status *st, const struct site *spec)
{
    struct map volumes = { 0 }; /* by name */

    check_processes(st, spec);
    check_users(st, spec);
    json_for_each (v, json_get(spec->v, STR("volumes")))
        (void)map_put(&volumes, json_get_str(v, "name"), (void *)(uintptr_t)v);
    visit(st, spec, check_files, &volumes);
    map_release(&volumes);
}
