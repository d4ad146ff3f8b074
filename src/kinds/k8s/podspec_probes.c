/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "kinds/k8s/podspec_internal.h"

/* ---- what a probe or a hook does ---- */

static void check_exec(struct status *st, const struct site *action, int64_t grace)
{
    struct site command = site_in(action, "command");

    (void)grace;
    if (json_len(command.v) == 0)
        site_missing(st, &command, "");
}

static bool header_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static void check_http(struct status *st, const struct site *action, int64_t grace)
{
    static const char *const schemes[] = { "HTTP", "HTTPS", NULL };
    struct site port = site_in(action, "port"), scheme = site_in(action, "scheme");
    struct site headers = site_in(action, "httpHeaders");

    (void)grace;
    site_port_or_name(st, &port);
    site_enum(st, &scheme, schemes);
    site_each(h, &headers)
    {
        struct site name = site_in(&h, "name"), shown = headers;
        str text = json_str(name.v);
        bool good = text.n > 0;

        for (size_t i = 0; i < text.n; i++)
            good = good && header_byte(text.p[i]);
        shown.v = name.v;
        if (!good)
            site_invalid(st, &shown,
                         "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. "
                         "'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')");
    }
}

static void check_port(struct status *st, const struct site *action, int64_t grace)
{
    struct site port = site_in(action, "port");

    (void)grace;
    site_port_or_name(st, &port);
}

static void check_sleep(struct status *st, const struct site *action, int64_t grace)
{
    const struct json *seconds = json_get(action->v, STR("seconds"));
    struct site shown = *action;
    int64_t n = json_int(seconds, 0);

    shown.v = seconds;
    if (n < 0 || n > grace)
        site_fault(st, &shown, CAUSE_INVALID,
                   "must be non-negative and less than terminationGracePeriodSeconds (%lld)",
                   (long long)grace);
}

static const struct {
    const char *name;
    void (*check)(struct status *st, const struct site *action, int64_t grace);
} handlers[] = {
    { "exec", check_exec }, { "httpGet", check_http }, { "tcpSocket", check_port },
    { "grpc", check_port }, { "sleep", check_sleep },
};

static void check_handler(struct status *st, const struct site *at, const struct json *spec)
{
    int64_t grace = json_int(json_get(spec, STR("terminationGracePeriodSeconds")), INT64_MAX);
    bool found = false;

    for (size_t i = 0; i < sizeof(handlers) / sizeof(*handlers); i++) {
        struct site action = site_in(at, handlers[i].name);

        if (!action.v)
            continue;
        if (found)
            site_forbidden(st, &action, "may not specify more than 1 handler type");
        else
            handlers[i].check(st, &action, grace);
        found = true;
    }
    if (!found)
        site_missing(st, at, "must specify a handler type");
}

/* ---- probes ---- */

static void check_probe(struct status *st, const struct site *probe, const struct json *spec,
                        bool readiness)
{
    static const char *const numbers[] = { "initialDelaySeconds", "timeoutSeconds", "periodSeconds",
                                           "successThreshold", "failureThreshold" };
    struct site grace = site_in(probe, "terminationGracePeriodSeconds");
    struct site success = site_in(probe, "successThreshold");

    if (!probe->v)
        return;
    check_handler(st, probe, spec);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
        struct site n = site_in(probe, numbers[i]);

        site_not_negative(st, &n);
    }
    site_positive(st, &grace);
    if (readiness && grace.v)
        site_invalid(st, &grace, "must not be set for readinessProbes");
    if (!readiness && json_int(success.v, 1) != 1)
        site_invalid(st, &success, "must be 1");
}

static void check_signal(struct status *st, const struct site *signal, const struct json *spec)
{
    if (signal->v && !json_path(spec, "os.name"))
        site_forbidden(st, signal, "may not be set for containers with empty `spec.os.name`");
}

void podspec_check_probes(struct status *st, const struct site *container, const struct json *spec)
{
    struct site lifecycle = site_in(container, "lifecycle");
    struct site start = site_in(&lifecycle, "postStart"), stop = site_in(&lifecycle, "preStop");
    struct site signal = site_in(&lifecycle, "stopSignal");
    struct site live = site_in(container, "livenessProbe");
    struct site ready = site_in(container, "readinessProbe");
    struct site startup = site_in(container, "startupProbe");

    if (start.v)
        check_handler(st, &start, spec);
    if (stop.v)
        check_handler(st, &stop, spec);
    check_signal(st, &signal, spec);
    check_probe(st, &live, spec, false);
    check_probe(st, &ready, spec, true);
    check_probe(st, &startup, spec, false);
}
