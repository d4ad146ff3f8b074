/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The state of each instance: RUNNING while it can be used, else why not.
 *
 * One that we host is asked when its object changes: it cannot fail apart from the server.  One
 * that is attached is asked for its version and its health every few seconds.  Whether it is sick
 * (it says so itself: UNAVAILABLE) or we cannot tell (no way, no credentials: UNKNOWN) makes a
 * difference to whoever has to look after it.
 */

#include "federation/controllers/platform/status_sync.h"

#include "base/banned.h"
#include "base/clock.h"
#include "client/finalizer.h"
#include "federation/controllers/frame/controller.h"
#include "federation/controllers/frame/tenancy.h"

enum { PROBE_MS = 10000, TIMEOUT_MS = 5000, MESSAGE_MAX = 400 };

struct finding {
    const char *state, *reason;
    str message, kubernetes, karmada;
};

/* What a failure to ask says. */
static const struct {
    enum reason of;
    const char *state, *reason;
} failures[] = {
    { REASON_UNAUTHORIZED, "UNKNOWN", "Unauthorized" },
    { REASON_FORBIDDEN, "UNKNOWN", "Forbidden" },
    { REASON_INVALID, "UNKNOWN", "InvalidKubeconfig" },
    { REASON_BAD_REQUEST, "UNKNOWN", "InvalidKubeconfig" },
    { REASON_NOT_FOUND, "UNKNOWN", "NotRegistered" },
    { REASON_UNAVAILABLE, "UNKNOWN", "Unreachable" },
    { REASON_TIMEOUT, "UNKNOWN", "Unreachable" },
};

static struct finding failed(struct arena *a, const struct status *st)
{
    struct finding f = { .state = "UNAVAILABLE",
                         .reason = "NotReady",
                         .message = str_dup(a, str_sub(st->message, 0, MESSAGE_MAX)) };

    for (size_t i = 0; i < sizeof(failures) / sizeof(*failures); i++)
        if (status_is(st, failures[i].of)) {
            f.state = failures[i].state;
            f.reason = failures[i].reason;
        }
    return f;
}

/* Its version, and whether it says that it can work. */
static struct finding ask(struct client *client, struct arena *a, str prefix, struct status *st)
{
    struct client_request version = { .method = STR("GET"),
                                      .path = str_printf(a, "%.*s/version", STR_ARG(prefix)),
                                      .timeout_ms = TIMEOUT_MS };
    struct client_ref any = { .version = STR("v1"), .resource = STR("namespaces") };
    struct client_query one = { .limit = 1 };
    struct client_request list;
    const struct json *v;

    if (client_do(client, a, &version, &v, st) < 0)
        return failed(a, st);
    any.instance = str_from(prefix, prefix.n ? sizeof("/clusters/") - 1 : 0);
    list = client_request_list(a, &any, &one);
    list.timeout_ms = TIMEOUT_MS;
    if (client_do(client, a, &list, NULL, st) < 0)
        return failed(a, st);
    return (struct finding){ .state = "RUNNING",
                             .reason = "Ready",
                             .kubernetes = json_get_str(v, "gitVersion") };
}

static struct finding ask_attached(struct fleet *fleet, struct arena *a, str name,
                                   struct status *st)
{
    struct member_name which = { .cluster = virtual_cluster_name(a, name),
                                 .door = MEMBER_REGISTRY };
    struct member *m;
    struct finding f;

    if (fleet_member(fleet, a, &which, &m, st) < 0)
        return failed(a, st);
    f = ask(member_client(m), a, STR_NONE, st);
    member_unref(m);
    return f;
}

/* ---- the status ---- */

static const struct json *word(struct arena *a, str s)
{
    return s.n ? json_box(a, json_of_str(s)) : NULL;
}

static const struct json *condition(struct arena *a, const struct finding *f, int64_t now_s,
                                    const struct json *was)
{
    struct json_object c = json_object_new(a);
    const char *status = strcmp(f->state, "RUNNING") == 0   ? "True"
                         : strcmp(f->state, "UNKNOWN") == 0 ? "Unknown"
                                                            : "False";
    char *time = arena_alloc(a, TIME_TEXT_SIZE);
    str since = { time, time_format_seconds(time, now_s) };

    if (str_is(json_get_str(was, "status"), status))
        since = json_get_str(was, "lastTransitionTime");
    json_add(&c, STR("type"), json_of_str(STR("Ready")));
    json_add(&c, STR("status"), json_of_str(str_of(status)));
    json_add(&c, STR("reason"), json_of_str(str_of(f->reason)));
    json_add(&c, STR("message"), json_of_str(f->message));
    json_add(&c, STR("lastTransitionTime"), json_of_str(since));
    return json_object_done(&c);
}

static const struct json *ready_of(const struct json *instance)
{
    json_for_each (c, json_path(instance, "status.conditions"))
        if (str_is(json_get_str(c, "type"), "Ready"))
            return c;
    return NULL;
}

/* Others' conditions stay. */
static const struct json *conditions(struct arena *a, const struct json *instance,
                                     const struct json *ready)
{
    struct json_array list = json_array_new(a);

    json_for_each (c, json_path(instance, "status.conditions"))
        if (!str_is(json_get_str(c, "type"), "Ready"))
            json_push(&list, *c);
    json_push(&list, *ready);
    return json_box(a, json_array_value(&list));
}

static const struct json *with_finding(struct arena *a, const struct json *instance,
                                       const struct finding *f)
{
    const struct json *ready = condition(a, f, clock_wall_s(clock_real()), ready_of(instance));
    const struct json *v = instance;

    v = json_set(a, v, "status.state", word(a, str_of(f->state)));
    v = json_set(a, v, "status.reason", word(a, str_of(f->reason)));
    v = json_set(a, v, "status.message", word(a, f->message));
    if (f->kubernetes.n) /* else as it was when it could be asked */
        v = json_set(a, v, "status.kubernetesVersion", word(a, f->kubernetes));
    if (f->karmada.n)
        v = json_set(a, v, "status.karmadaVersion", word(a, f->karmada));
    v = json_set(a, v, "status.observedGeneration", json_path(instance, "metadata.generation"));
    return json_set(a, v, "status.conditions", conditions(a, instance, ready));
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct status_sync *s = arg;
    struct client_ref ref = instance_ref(k->name);
    const struct json *instance, *now;
    struct finding f;
    bool attached;

    if (client_get(client, a, &ref, &instance, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (is_deleting(instance))
        return 0; /* TERMINAL, as the server has said with the deletion */
    attached = json_path(instance, "spec.attach") != NULL;
    if (attached)
        f = ask_attached(s->fleet, a, k->name, st);
    else
        f = ask(client, a, str_printf(a, "/clusters/%.*s", STR_ARG(k->name)), st);
    if (!attached && str_is(json_get_str(instance, "spec.profile"), "karmada"))
        f.karmada = s->karmada_version;
    status_reset(st);
    now = with_finding(a, instance, &f);
    ref.subresource = STR("status");
    if (!json_equal(now, instance) && client_update(client, a, &ref, now, NULL, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    return attached ? (int)(s->probe_ms ? s->probe_ms : PROBE_MS) : 0;
}

const struct controller_spec status_sync_controller = {
    .name = "status-sync",
    .ref = INSTANCE_REF,
    .finalizer = "",
    .workers = 2, /* one that is attached may let us wait */
    .reconcile = reconcile,
};
