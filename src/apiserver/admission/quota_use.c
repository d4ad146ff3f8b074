/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/quota.h"
#include "base/banned.h"

/* k8s: pkg/quota/v1/evaluator/core, quota/v1/generic */

static bool is_core(const struct kind *k, const char *plural)
{
    return k->group.n == 0 && str_is(k->plural, plural);
}

/* ---- which names are about which kind ---- */

/* "count/deployments.apps" */
static bool counts(str name, const struct kind *k)
{
    str rest;

    if (!str_starts(name, STR("count/")))
        return false;
    rest = str_from(name, sizeof("count/") - 1);
    if (!str_starts(rest, k->plural))
        return false;
    rest = str_from(rest, k->plural.n);
    if (k->group.n == 0)
        return rest.n == 0;
    return rest.n && rest.p[0] == '.' && str_eq(str_from(rest, 1), k->group);
}

/* Several groups may share a kind's objects: events. */
static bool counts_any(str name, const struct kind *k)
{
    return counts(name, k) || (k->storage && k->storage != k && counts(name, k->storage));
}

static const char *const plain[] = { "configmaps",     "secrets",  "replicationcontrollers",
                                     "resourcequotas", "services", "persistentvolumeclaims" };

/* The old names of counts: those of the resources. */
static bool is_plain_count(str name, const struct kind *k)
{
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (str_is(name, plain[i]))
            return is_core(k, plain[i]);
    return false;
}

#define CLASS_SUFFIX ".storageclass.storage.k8s.io/"

static bool is_of_claims(str name)
{
    return str_is(name, "requests.storage") || str_contains(name, STR(CLASS_SUFFIX));
}

static bool is_of_pods(str name)
{
    static const char *const words[] = { "pods", "cpu", "memory", "ephemeral-storage" };
    static const char *const prefixes[] = { "requests.", "limits.", "hugepages-" };

    if (is_of_claims(name))
        return false;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
        if (str_is(name, words[i]))
            return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (str_starts(name, str_of(prefixes[i])))
            return true;
    return false;
}

#define DEVICES_SUFFIX ".deviceclass.resource.k8s.io/devices"

static bool is_device_claim(const struct kind *k)
{
    return str_is(k->group, "resource.k8s.io") && str_is(k->plural, "resourceclaims");
}

/* A name that takes more than counting to know. */
static bool measures(str name, const struct kind *k)
{
    if (is_core(k, "pods"))
        return is_of_pods(name);
    if (is_core(k, "services"))
        return str_is(name, "services.nodeports") || str_is(name, "services.loadbalancers");
    if (is_device_claim(k))
        return str_ends(name, STR(DEVICES_SUFFIX));
    return is_core(k, "persistentvolumeclaims") && is_of_claims(name);
}

static bool has_scopes(const struct json *quota)
{
    return json_len(json_path(quota, "spec.scopes")) ||
           json_len(json_path(quota, "spec.scopeSelector.matchExpressions"));
}

bool quota_only_counts(const struct json *quota, const struct kind *k)
{
    json_for_each_member (m, json_path(quota, "spec.hard"))
        if (measures(m->name, k))
            return false;
    return !has_scopes(quota);
}

/* Only pods and claims have scopes; a quota that has some is about nothing else. */
static bool can_be_in_scope(const struct kind *k)
{
    return is_core(k, "pods") || is_core(k, "persistentvolumeclaims");
}

bool quota_concerns(const struct json *quota, const struct kind *k)
{
    if (!k->namespaced || k->transient || (has_scopes(quota) && !can_be_in_scope(k)))
        return false;
    json_for_each_member (m, json_path(quota, "spec.hard"))
        if (counts_any(m->name, k) || is_plain_count(m->name, k) || measures(m->name, k))
            return true;
    return false;
}

/* ---- scopes ---- */

static void note_resources(void *arg, const struct json *container)
{
    bool *some = arg;
    struct quantity q;
    static const char *const lists[] = { "resources.requests", "resources.limits" };

    for (size_t i = 0; i < 2; i++)
        json_for_each_member (m, json_path(container, lists[i]))
            if ((str_is(m->name, "cpu") || str_is(m->name, "memory")) &&
                quantity_parse(json_str(&m->value), &q) && q.nanos != 0)
                *some = true;
}

static bool is_best_effort(const struct json *pod)
{
    bool some = false;

    amounts_each_container(pod, note_resources, &some);
    return !some;
}

static bool crosses(const struct json *term)
{
    return json_len(json_get(term, STR("namespaces"))) ||
           json_get(term, STR("namespaceSelector")) != NULL;
}

static bool crosses_namespaces(const struct json *pod)
{
    static const char *const kinds[] = { "spec.affinity.podAffinity",
                                         "spec.affinity.podAntiAffinity" };

    for (size_t i = 0; i < 2; i++) {
        const struct json *affinity = json_path(pod, kinds[i]);

        json_for_each (t, json_get(affinity, STR("requiredDuringSchedulingIgnoredDuringExecution")))
            if (crosses(t))
                return true;
        json_for_each (t,
                       json_get(affinity, STR("preferredDuringSchedulingIgnoredDuringExecution")))
            if (crosses(json_get(t, STR("podAffinityTerm"))))
                return true;
    }
    return false;
}

static bool in_values(const struct json *values, str s)
{
    json_for_each (v, values)
        if (str_eq(json_str(v), s))
            return true;
    return false;
}

static bool matches_class(str op, const struct json *values, str class)
{
    if (str_is(op, "Exists"))
        return class.n > 0;
    if (str_is(op, "DoesNotExist"))
        return class.n == 0;
    return in_values(values, class) == str_is(op, "In");
}

static bool pod_in_scope(const struct json *pod, str scope, str op, const struct json *values)
{
    bool terminating = json_path(pod, "spec.activeDeadlineSeconds") != NULL;

    if (str_is(scope, "Terminating"))
        return terminating;
    if (str_is(scope, "NotTerminating"))
        return !terminating;
    if (str_is(scope, "BestEffort"))
        return is_best_effort(pod);
    if (str_is(scope, "NotBestEffort"))
        return !is_best_effort(pod);
    if (str_is(scope, "CrossNamespacePodAffinity"))
        return crosses_namespaces(pod);
    return str_is(scope, "PriorityClass") &&
           matches_class(op, values, json_get_str(pod, "spec.priorityClassName"));
}

/* By the class that is asked for, the one it has, and the one it is on the way to: any counts. */
static bool claim_in_scope(const struct json *claim, str scope, str op, const struct json *values)
{
    static const char *const places[] = {
        "spec.volumeAttributesClassName", "status.currentVolumeAttributesClassName",
        "status.modifyVolumeStatus.targetVolumeAttributesClassName"
    };
    bool some = false;

    if (!str_is(scope, "VolumeAttributesClass"))
        return false;
    for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
        str class = json_get_str(claim, places[i]);

        if (class.n && matches_class(op, values, class))
            return true;
        some = some || class.n;
    }
    return !some && matches_class(op, values, STR_NONE);
}

typedef bool (*scope_fn)(const struct json *obj, str scope, str op, const struct json *values);

static bool in_scopes(const struct json *quota, const struct json *obj, scope_fn in_scope)
{
    json_for_each (s, json_path(quota, "spec.scopes"))
        if (!in_scope(obj, json_str(s), STR("Exists"), NULL))
            return false;
    json_for_each (e, json_path(quota, "spec.scopeSelector.matchExpressions"))
        if (!in_scope(obj, json_get_str(e, "scopeName"), json_get_str(e, "operator"),
                      json_get(e, STR("values"))))
            return false;
    return true;
}

/* ---- how much ---- */

/* An object, and what of it is asked for more than once. */
struct subject {
    const struct kind *kind;
    const struct json *obj;
    struct amounts requests, limits; /* of a pod */
    bool active;                     /* a pod that has not ended */
};

static bool take(const struct amounts *m, str name, struct quantity *out)
{
    const struct quantity *q = amounts_get(m, name);

    if (q)
        *out = *q;
    return q != NULL;
}

static bool of_pod(const struct subject *s, str name, struct quantity *out)
{
    if (!s->active)
        return false;
    if (str_is(name, "pods")) {
        *out = (struct quantity){ .nanos = 1000000000 };
        return true;
    }
    if (str_starts(name, STR("limits.")))
        return take(&s->limits, str_from(name, 7), out);
    if (str_starts(name, STR("requests.")))
        return take(&s->requests, str_from(name, 9), out);
    return take(&s->requests, name, out);
}

static int64_t node_ports(const struct json *service)
{
    const struct json *ports = json_path(service, "spec.ports");
    const struct json *allocate = json_path(service, "spec.allocateLoadBalancerNodePorts");
    str type = json_get_str(service, "spec.type");
    int64_t n = 0;

    if (str_is(type, "NodePort") || (str_is(type, "LoadBalancer") && (!allocate || allocate->b)))
        return (int64_t)json_len(ports);
    if (str_is(type, "LoadBalancer"))
        json_for_each (p, ports)
            n += json_int(json_get(p, STR("nodePort")), 0) != 0;
    return n;
}

static bool of_service(const struct subject *s, str name, struct quantity *out)
{
    int64_t n = str_is(name, "services.nodeports")
                    ? node_ports(s->obj)
                    : str_is(json_get_str(s->obj, "spec.type"), "LoadBalancer");

    *out = (struct quantity){ .nanos = (__int128)n * 1000000000 };
    return n > 0;
}

/* "requests.storage", or "gold.storageclass.storage.k8s.io/requests.storage" and the like */
static bool of_claim(const struct subject *s, str name, struct quantity *out)
{
    str class = json_get_str(s->obj, "spec.storageClassName"), rest = name;

    if (!str_is(name, "requests.storage")) {
        if (class.n == 0 || !str_starts(name, class) ||
            !str_starts(str_from(name, class.n), STR(CLASS_SUFFIX)))
            return false;
        rest = str_from(name, class.n + sizeof(CLASS_SUFFIX) - 1);
    }
    if (str_is(rest, "persistentvolumeclaims")) {
        *out = (struct quantity){ .nanos = 1000000000 };
        return true;
    }
    return str_is(rest, "requests.storage") &&
           quantity_parse(json_get_str(s->obj, "spec.resources.requests.storage"), out);
}

enum { DEVICES_MAX = 32 }; /* k8s: AllocationResultsMaxSize, the most that "All" can come to */

/* Of one way to ask for devices: how many of this class. */
static int64_t devices_asked(const struct json *ask, str class)
{
    if (!str_eq(json_get_str(ask, "deviceClassName"), class))
        return 0;
    if (str_is(json_get_str(ask, "allocationMode"), "All"))
        return DEVICES_MAX;
    return json_int(json_get(ask, STR("count")), 0);
}

/* "gpu.deviceclass.resource.k8s.io/devices"; of alternatives the worst counts. */
static bool of_device_claim(const struct subject *s, str name, struct quantity *out)
{
    str class = str_sub(name, 0, name.n - (sizeof(DEVICES_SUFFIX) - 1));
    int64_t all = 0;

    json_for_each (r, json_path(s->obj, "spec.devices.requests")) {
        int64_t most = devices_asked(json_get(r, STR("exactly")), class);

        json_for_each (alternative, json_get(r, STR("firstAvailable"))) {
            int64_t n = devices_asked(alternative, class);

            most = n > most ? n : most;
        }
        all += most;
    }
    *out = (struct quantity){ .nanos = (__int128)all * 1000000000 };
    return all > 0;
}

static bool use_of(const struct subject *s, str name, struct quantity *out)
{
    if (counts_any(name, s->kind) || is_plain_count(name, s->kind)) {
        *out = (struct quantity){ .nanos = 1000000000 };
        return true;
    }
    if (!measures(name, s->kind))
        return false;
    if (is_core(s->kind, "pods"))
        return of_pod(s, name, out);
    if (is_device_claim(s->kind))
        return of_device_claim(s, name, out);
    return is_core(s->kind, "services") ? of_service(s, name, out) : of_claim(s, name, out);
}

/* k8s: pods that have ended use nothing any more */
static bool is_active(const struct json *pod)
{
    str phase = json_get_str(pod, "status.phase");

    return !str_is(phase, "Failed") && !str_is(phase, "Succeeded");
}

struct amounts quota_use(struct arena *a, const struct json *quota, const struct kind *k,
                         const struct json *obj)
{
    const struct amounts hard = amounts_of(a, json_path(quota, "spec.hard"));
    struct amounts out = { .at = arena_array(a, struct amount, hard.n + 1) };
    struct subject s = { .kind = k, .obj = obj };

    if (!obj || !quota_concerns(quota, k))
        return out;
    if (is_core(k, "pods")) {
        if (!in_scopes(quota, obj, pod_in_scope))
            return out;
        s.active = is_active(obj);
        s.requests = amounts_of_pod(a, obj, "requests");
        s.limits = amounts_of_pod(a, obj, "limits");
    } else if (!in_scopes(quota, obj, claim_in_scope)) {
        return out;
    }
    for (size_t i = 0; i < hard.n; i++) {
        struct amount *to = &out.at[out.n];

        to->name = hard.at[i].name;
        out.n += use_of(&s, to->name, &to->q);
    }
    return out;
}

static const str zero = STR_INIT("0");

static void ask_for(struct json_object *hard, str name)
{
    json_put(hard, name, json_of_str(zero));
}

static void ask_for_all(struct json_object *hard, const char *prefix, const struct amounts *m)
{
    for (size_t i = 0; i < m->n; i++)
        ask_for(hard, str_printf(hard->arena, "%s%.*s", prefix, STR_ARG(m->at[i].name)));
}

/* k8s: extended resources are known by "requests." only */
static void ask_for_pod(struct json_object *hard, const struct json *pod)
{
    struct arena *a = hard->arena;
    struct amounts requests = amounts_of_pod(a, pod, "requests"), plain_names = { 0 };
    struct amounts limits = amounts_of_pod(a, pod, "limits");

    plain_names.at = arena_array(a, struct amount, requests.n + 1);
    for (size_t i = 0; i < requests.n; i++)
        if (str_find(requests.at[i].name, '/', 0) < 0)
            plain_names.at[plain_names.n++] = requests.at[i];
    ask_for(hard, STR("pods"));
    ask_for_all(hard, "", &plain_names);
    ask_for_all(hard, "requests.", &requests);
    for (size_t i = 0; i < limits.n; i++)
        if (is_of_pods(limits.at[i].name) && !str_starts(limits.at[i].name, STR("hugepages-")))
            ask_for(hard, str_printf(a, "limits.%.*s", STR_ARG(limits.at[i].name)));
}

static void ask_for_claim(struct json_object *hard, const struct json *claim)
{
    static const char *const what[] = { "requests.storage", "persistentvolumeclaims" };
    str class = json_get_str(claim, "spec.storageClassName");

    ask_for(hard, STR("requests.storage"));
    for (size_t i = 0; class.n && i < 2; i++)
        ask_for(hard, str_printf(hard->arena, "%.*s" CLASS_SUFFIX "%s", STR_ARG(class), what[i]));
}

static void ask_for_devices(struct json_object *hard, const struct json *claim)
{
    json_for_each (r, json_path(claim, "spec.devices.requests")) {
        str class = json_get_str(r, "exactly.deviceClassName");

        if (class.n)
            ask_for(hard, str_printf(hard->arena, "%.*s" DEVICES_SUFFIX, STR_ARG(class)));
        json_for_each (alternative, json_get(r, STR("firstAvailable")))
            ask_for(hard, str_printf(hard->arena, "%.*s" DEVICES_SUFFIX,
                                     STR_ARG(json_get_str(alternative, "deviceClassName"))));
    }
}

struct amounts quota_use_all(struct arena *a, const struct kind *k, const struct json *obj)
{
    struct json_object hard = json_object_new(a), spec = json_object_new(a),
                       quota = json_object_new(a);

    ask_for(&hard, str_printf(a, "count/%.*s%s%.*s", STR_ARG(k->plural), k->group.n ? "." : "",
                              STR_ARG(k->group)));
    for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
        if (is_core(k, plain[i]))
            ask_for(&hard, k->plural);
    if (is_core(k, "pods"))
        ask_for_pod(&hard, obj);
    else if (is_core(k, "persistentvolumeclaims"))
        ask_for_claim(&hard, obj);
    else if (is_device_claim(k))
        ask_for_devices(&hard, obj);
    else if (is_core(k, "services")) {
        ask_for(&hard, STR("services.nodeports"));
        ask_for(&hard, STR("services.loadbalancers"));
    }
    json_add(&spec, STR("hard"), json_object_value(&hard));
    json_add(&quota, STR("spec"), json_object_value(&spec));
    return quota_use(a, json_object_done(&quota), k, obj);
}

bool quota_in_scope(const struct kind *k, const struct json *obj, str scope, str op,
                    const struct json *values)
{
    if (is_core(k, "pods"))
        return pod_in_scope(obj, scope, op, values);
    return is_core(k, "persistentvolumeclaims") && claim_in_scope(obj, scope, op, values);
}

bool quota_covers(const struct json *quota, const struct kind *k, const struct json *obj, str name)
{
    if (!json_get(json_path(quota, "spec.hard"), name) || !quota_concerns(quota, k))
        return false;
    return in_scopes(quota, obj, is_core(k, "pods") ? pod_in_scope : claim_in_scope);
}

/* ---- what pods must say ---- */

struct missing {
    struct arena *arena;
    const char *list; /* "resources.limits" */
    str resource;
    struct buf names; /* of containers that do not say it */
};

static void note_missing(void *arg, const struct json *container)
{
    struct missing *m = arg;

    if (!json_get(json_path(container, m->list), m->resource))
        buf_printf(&m->names, "%s%.*s", m->names.n ? "," : "",
                   STR_ARG(json_get_str(container, "name")));
}

/* Whether the pod itself asks for something, so that its containers need not. */
static bool says_itself(const struct json *pod)
{
    static const char *const lists[] = { "spec.resources.requests", "spec.resources.limits" };

    for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
        json_for_each_member (m, json_path(pod, lists[i]))
            if (amounts_of_whole_pod(m->name))
                return true;
    return false;
}

str quota_missing(struct arena *a, const struct json *quota, const struct json *pod)
{
    static const struct {
        const char *name, *list, *resource;
    } required[] = {
        { "cpu", "resources.requests", "cpu" },
        { "limits.cpu", "resources.limits", "cpu" },
        { "limits.memory", "resources.limits", "memory" },
        { "memory", "resources.requests", "memory" },
        { "requests.cpu", "resources.requests", "cpu" },
        { "requests.memory", "resources.requests", "memory" },
    };
    scoped_buf out = { .max = 1 << 20 };

    if (!in_scopes(quota, pod, pod_in_scope) || says_itself(pod))
        return STR_NONE;
    for (size_t i = 0; i < sizeof(required) / sizeof(*required); i++) {
        struct missing m = { .arena = a,
                             .list = required[i].list,
                             .resource = str_of(required[i].resource) };

        if (!json_get(json_path(quota, "spec.hard"), str_of(required[i].name)))
            continue;
        buf_init(&m.names, 1 << 20);
        amounts_each_container(pod, note_missing, &m);
        if (m.names.n)
            buf_printf(&out, "%s%s for: %.*s", out.n ? "; " : "", required[i].name,
                       STR_ARG(buf_str(&m.names)));
        buf_release(&m.names);
    }
    return str_dup(a, buf_str(&out));
}
