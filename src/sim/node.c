/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Plays the kubelet of every node, whoever made it: ready from the start, with a Lease that is
 * renewed.  A node that has gone takes its pods with it.
 */

#include "apiserver/call/version.h"
#include "base/banned.h"
#include "sim/state.h"

enum {
    LEASE_MS = 20000, /* a kubelet renews every 10 s; this is a third of what the Lease says */
    LEASE_S = 60,
    WAITING_MAX = 10000,
};

str sim_node_address(struct arena *a, str instance, str node)
{
    uint64_t h = str_hash(node, str_hash(instance, 0, 0), 0);

    return str_printf(a, "172.%u.%u.%u", 16 + (unsigned)(h & 15), (unsigned)(h >> 8) & 255,
                      1 + (unsigned)(h >> 16) % 254);
}

static const struct json *capacity(const struct sim *s, struct arena *a, const struct json *have)
{
    const struct {
        const char *name, *value;
    } rows[] = { { "cpu", s->o.cpu }, { "memory", s->o.memory }, { "pods", s->o.pods } };
    struct json_object o = json_object_from(a, have ? have : &json_empty_object);

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (!json_get(have, str_of(rows[i].name)))
            json_add(&o, str_of(rows[i].name), json_of_str(str_of(rows[i].value)));
    return json_object_done(&o);
}

static struct json address(struct arena *a, const char *type, str value)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("type"), json_of_str(str_of(type)));
    json_add(&o, STR("address"), json_of_str(value));
    return json_object_value(&o);
}

static const struct json *addresses(struct arena *a, str instance, str node)
{
    struct json_array list = json_array_new(a);

    json_push(&list, address(a, "InternalIP", sim_node_address(a, instance, node)));
    json_push(&list, address(a, "Hostname", node));
    return json_array_done(&list);
}

static const struct json *conditions(struct arena *a, const struct json *old)
{
    static const struct obj_condition rows[] = {
        { "MemoryPressure", false, STR_INIT("KubeletHasSufficientMemory"),
          STR_INIT("kubelet has sufficient memory available"), false },
        { "DiskPressure", false, STR_INIT("KubeletHasNoDiskPressure"),
          STR_INIT("kubelet has no disk pressure"), false },
        { "PIDPressure", false, STR_INIT("KubeletHasSufficientPID"),
          STR_INIT("kubelet has sufficient PID available"), false },
        { "Ready", true, STR_INIT("KubeletReady"), STR_INIT("kubelet is posting ready status"),
          false },
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        old = obj_condition(a, old, &rows[i], sim_now_s());
    return old;
}

static const struct json *node_info(struct arena *a, const struct json *node)
{
    const struct json *v =
        obj_of(a, "{\"architecture\":\"amd64\",\"bootID\":\"\",\"containerRuntimeVersion\":"
                  "\"kairship://simulated\",\"kernelVersion\":\"simulated\",\"kubeProxyVersion\":"
                  "\"\",\"machineID\":\"\",\"operatingSystem\":\"linux\",\"osImage\":\"simulated\","
                  "\"systemUUID\":\"\"}");

    v = obj_set_str(a, v, "kubeletVersion", version_kubernetes());
    return obj_set_str(a, v, "machineID", obj_uid(node));
}

static const struct json *status_of(const struct sim *s, struct arena *a, str instance,
                                    const struct json *node)
{
    const struct json *v = json_path(node, "status"), *have;

    if (!v)
        v = &json_empty_object;
    have = json_get(v, STR("capacity"));
    v = json_set(a, v, "capacity", capacity(s, a, have));
    have = json_get(v, STR("allocatable"));
    v = json_set(a, v, "allocatable",
                 capacity(s, a, json_len(have) ? have : json_get(v, STR("capacity"))));
    if (!json_len(json_get(v, STR("addresses"))))
        v = json_set(a, v, "addresses", addresses(a, instance, obj_name(node)));
    if (!json_get_str(v, "nodeInfo.kubeletVersion").n)
        v = json_set(a, v, "nodeInfo", node_info(a, node));
    return json_set(a, v, "conditions", conditions(a, json_get(v, STR("conditions"))));
}

/*
 * A node begins with a taint that keeps pods away until it is ready; then it goes.
 * k8s: pkg/controller/nodelifecycle, TaintNodesByCondition
 */
static int take_taint(struct client *client, struct arena *a, const struct client_ref *ref,
                      const struct json **node, struct status *st)
{
    struct json_array kept = json_array_new(a);
    const struct json *taints = json_path(*node, "spec.taints");

    json_for_each (t, taints)
        if (!str_is(json_get_str(t, "key"), "node.kubernetes.io/not-ready"))
            json_push(&kept, *t);
    if (kept.n == json_len(taints))
        return 0;
    return client_update(client, a, ref,
                         json_set(a, *node, "spec.taints", kept.n ? json_array_done(&kept) : NULL),
                         node, st);
}

/* ---- its Lease ---- */

static const struct json *lease_spec(struct arena *a, const struct json *old, str node)
{
    char text[TIME_TEXT_SIZE];
    const struct json *now;

    (void)time_format_micro(text, clock_wall_us(clock_real()));
    now = obj_str(a, str_dup(a, str_of(text)));
    old = old ? old : &json_empty_object;
    old = obj_set_str(a, old, "holderIdentity", node);
    old = obj_set_int(a, old, "leaseDurationSeconds", LEASE_S);
    return json_set(a, old, "renewTime", now);
}

static int renew(struct client *client, struct arena *a, const struct informer_key *k,
                 const struct json *node, struct status *st)
{
    struct informer_key at = { k->instance, STR("kube-node-lease"), k->name };
    struct client_ref ref = obj_ref(&at, "coordination.k8s.io", "leases");
    const struct json *lease;
    int found = obj_get(client, a, &ref, &lease, st);

    if (found < 0)
        return -1;
    if (found)
        return client_update(
            client, a, &ref,
            json_set(a, lease, "spec", lease_spec(a, json_get(lease, STR("spec")), k->name)), NULL,
            st);
    lease = obj_owned(a, "coordination.k8s.io/v1", "Lease", node, "v1", "Node");
    lease = obj_set_str(a, lease, "metadata.name", k->name);
    lease = json_set(a, lease, "spec", lease_spec(a, NULL, k->name));
    return obj_create(client, a, &at, "coordination.k8s.io", "leases", lease, st);
}

/* ---- its pods ---- */

static int pods_of(struct client *client, struct arena *a, const struct informer_key *k,
                   const struct json **items, struct status *st)
{
    struct client_query q = { .field_selector =
                                  str_printf(a, "spec.nodeName=%.*s", STR_ARG(k->name)) };
    struct client_ref ref = obj_ref_named(k, "", "pods", STR_NONE);
    const struct json *list;

    if (client_list(client, a, &ref, &q, &list, st) < 0)
        return -1;
    *items = json_get(list, STR("items"));
    return 0;
}

/* k8s: pkg/controller/podgc, gcOrphaned */
static int take_away(struct sim *s, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct json *items;

    (void)usage_node(s->usage, k->instance, k->name, NULL);
    if (pods_of(client, a, k, &items, st) < 0)
        return -1;
    json_for_each (pod, items) {
        struct informer_key at = { k->instance, json_get_str(pod, "metadata.namespace"),
                                   obj_name(pod) };
        struct client_ref ref = obj_ref(&at, "", "pods");

        if (obj_delete(client, a, &ref, obj_uid(pod), 0, st) < 0)
            return -1;
    }
    return 0;
}

/* Those that were there before it was, and those that wait for one. */
static int wake_pods(struct sim *s, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    const struct json *items;
    struct informer_key *waiting;
    size_t n;

    waiting = usage_waiting(s->usage, a, k->instance, WAITING_MAX, &n);
    for (size_t i = 0; i < n; i++)
        sim_wake(s, SIM_PODS, &waiting[i]);
    if (pods_of(client, a, k, &items, st) < 0)
        return -1;
    json_for_each (pod, items) {
        struct informer_key at = { k->instance, json_get_str(pod, "metadata.namespace"),
                                   obj_name(pod) };

        if (!str_is(json_get_str(pod, "status.phase"), "Running"))
            sim_wake(s, SIM_PODS, &at);
    }
    return 0;
}

int sim_reconcile_node(struct sim *s, struct client *client, struct arena *a,
                       const struct informer_key *k, struct status *st)
{
    struct client_ref ref = obj_ref(k, "", "nodes");
    struct informer_key all = { .instance = k->instance };
    const struct json *node, *status;
    int found = obj_get(client, a, &ref, &node, st);

    if (found <= 0)
        return found < 0 ? -1 : take_away(s, client, a, k, st);
    if (obj_deleting(node))
        return 0;
    if (take_taint(client, a, &ref, &node, st) < 0)
        return -1;
    status = status_of(s, a, k->instance, node);
    if (obj_put_status(client, a, ref, node, status, st) < 0)
        return -1;
    if (usage_node(s->usage, k->instance, k->name, json_set(a, node, "status", status))) {
        sim_wake(s, SIM_DAEMONSETS, &all);
        if (wake_pods(s, client, a, k, st) < 0)
            return -1;
    }
    return renew(client, a, k, node, st) < 0 ? -1 : LEASE_MS;
}
