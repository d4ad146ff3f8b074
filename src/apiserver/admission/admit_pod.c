/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What a default kube-apiserver adds to pods: the account they run as and its token, the taints
 * they bear for a while, their priority.
 * k8s: plugin/pkg/admission/{serviceaccount,defaulttolerationseconds,priority,nodetaint}
 */

#include "apiserver/admission/admission.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/rand.h"
#include "object/meta/names.h"
#include "rest/lookup.h"

enum { TOKEN_SECONDS = 3607, TOLERATED_SECONDS = 300, PROJECTED_MODE = 420 };

#define TOKEN_PATH "/var/run/secrets/kubernetes.io/serviceaccount"

static str name_of(const struct admission *a, const struct json *obj)
{
    str name = json_get_str(obj, "metadata.name");

    return name.n ? name : a->req->name;
}

static int refuse(const struct admission *a, const struct json *obj, str why, struct status *st)
{
    return status_forbidden(st, STR_NONE, a->req->kind->plural, name_of(a, obj), "%.*s",
                            STR_ARG(why));
}

static void add_str(struct json_object *o, const char *name, str value)
{
    json_add(o, str_of(name), json_of_str(value));
}

/* ---- service accounts ---- */

static int find_account(const struct admission *a, const struct json *obj, str name,
                        const struct json **out, struct status *st)
{
    const struct rest_request *r = a->req;
    const struct kind *k = catalog_find(r->catalog, STR_NONE, STR("v1"), STR("serviceaccounts"));
    str faults[NAME_FAULTS];
    int found;

    if (name_faults(NAME_PATH, name, faults))
        return refuse(a, obj,
                      str_printf(r->arena,
                                 "error looking up service account %.*s/%.*s: invalid resource "
                                 "name \"%.*s\": [%.*s]",
                                 STR_ARG(r->namespace_), STR_ARG(name), STR_ARG(name),
                                 STR_ARG(faults[0])),
                      st);
    found = lookup_get(r->rest, r->arena, &r->instance, k, r->namespace_, name, out, st);
    if (found != 0)
        return found < 0 ? -1 : 0;
    return refuse(a, obj,
                  str_printf(r->arena,
                             "error looking up service account %.*s/%.*s: serviceaccount \"%.*s\" "
                             "not found",
                             STR_ARG(r->namespace_), STR_ARG(name), STR_ARG(name)),
                  st);
}

static bool wants_token(const struct json *pod, const struct json *account)
{
    const struct json *said = json_path(pod, "spec.automountServiceAccountToken");

    if (!said)
        said = json_get(account, STR("automountServiceAccountToken"));
    return !said || json_bool(said);
}

static struct json one_item(struct arena *a, const char *name, struct json v)
{
    struct json_object o = json_object_new(a);

    json_add(&o, str_of(name), v);
    return json_object_value(&o);
}

static struct json token_source(struct arena *a)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("expirationSeconds"), json_of_int(TOKEN_SECONDS));
    add_str(&o, "path", STR("token"));
    return one_item(a, "serviceAccountToken", json_object_value(&o));
}

static struct json ca_source(struct arena *a)
{
    struct json_array items = json_array_new(a);
    struct json_object item = json_object_new(a), o = json_object_new(a);

    add_str(&item, "key", STR("ca.crt"));
    add_str(&item, "path", STR("ca.crt"));
    json_push(&items, json_object_value(&item));
    json_add(&o, STR("items"), json_array_value(&items));
    add_str(&o, "name", STR("kube-root-ca.crt"));
    return one_item(a, "configMap", json_object_value(&o));
}

static struct json namespace_source(struct arena *a)
{
    struct json_array items = json_array_new(a);
    struct json_object item = json_object_new(a), ref = json_object_new(a);

    add_str(&ref, "apiVersion", STR("v1"));
    add_str(&ref, "fieldPath", STR("metadata.namespace"));
    json_add(&item, STR("fieldRef"), json_object_value(&ref));
    add_str(&item, "path", STR("namespace"));
    json_push(&items, json_object_value(&item));
    return one_item(a, "downwardAPI", one_item(a, "items", json_array_value(&items)));
}

static struct json token_volume(struct arena *a, str name)
{
    struct json_array sources = json_array_new(a);
    struct json_object projected = json_object_new(a), volume = json_object_new(a);

    json_push(&sources, token_source(a));
    json_push(&sources, ca_source(a));
    json_push(&sources, namespace_source(a));
    json_add(&projected, STR("defaultMode"), json_of_int(PROJECTED_MODE));
    json_add(&projected, STR("sources"), json_array_value(&sources));
    add_str(&volume, "name", name);
    json_add(&volume, STR("projected"), json_object_value(&projected));
    return json_object_value(&volume);
}

static struct json_array list_from(struct arena *a, const struct json *list)
{
    struct json_array out = json_array_new(a);

    json_for_each (v, list)
        json_push(&out, *v);
    return out;
}

static bool has_mount(const struct json *container)
{
    json_for_each (m, json_get(container, STR("volumeMounts")))
        if (str_is(json_get_str(m, "mountPath"), TOKEN_PATH))
            return true;
    return false;
}

/* The containers with the token mounted, where nothing is mounted there yet. */
static const struct json *mount_token(struct arena *a, const struct json *list, str volume,
                                      bool *mounted)
{
    struct json_array out = json_array_new(a);

    json_for_each (c, list) {
        struct json_object o = json_object_from(a, c), mount = json_object_new(a);
        struct json_array mounts = list_from(a, json_get(c, STR("volumeMounts")));

        if (!has_mount(c)) {
            add_str(&mount, "mountPath", STR(TOKEN_PATH));
            add_str(&mount, "name", volume);
            json_add(&mount, STR("readOnly"), json_true);
            json_push(&mounts, json_object_value(&mount));
            json_put(&o, STR("volumeMounts"), json_array_value(&mounts));
            *mounted = true;
        }
        json_push(&out, json_object_value(&o));
    }
    return json_array_done(&out);
}

static const struct json *with_token(struct arena *a, const struct json *pod)
{
    static const char *const lists[] = { "spec.initContainers", "spec.containers" };
    struct json_array volumes = list_from(a, json_path(pod, "spec.volumes"));
    char suffix[RAND_SUFFIX_LEN + 1];
    bool mounted = false;
    str name;

    rand_suffix(suffix);
    name = str_printf(a, "kube-api-access-%s", suffix);
    for (size_t i = 0; i < 2; i++)
        if (json_path(pod, lists[i]))
            pod = json_set(a, pod, lists[i],
                           mount_token(a, json_path(pod, lists[i]), name, &mounted));
    if (!mounted)
        return pod;
    json_push(&volumes, token_volume(a, name));
    return json_set(a, pod, "spec.volumes", json_array_done(&volumes));
}

static int account_mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    const struct json *pod = *obj, *account;
    str name = json_get_str(pod, "spec.serviceAccountName");

    if (a->req->subresource.n)
        return 0;
    if (name.n == 0)
        name = json_get_str(pod, "spec.serviceAccount");
    if (name.n == 0)
        name = STR("default");
    if (find_account(a, pod, name, &account, st) < 0)
        return -1;
    pod = json_set(arena, pod, "spec.serviceAccountName", json_box(arena, json_of_str(name)));
    pod = json_set(arena, pod, "spec.serviceAccount", json_box(arena, json_of_str(name)));
    if (wants_token(pod, account))
        pod = with_token(arena, pod);
    if (json_len(json_path(pod, "spec.imagePullSecrets")) == 0 &&
        json_len(json_get(account, STR("imagePullSecrets"))))
        pod = json_set(arena, pod, "spec.imagePullSecrets",
                       json_get(account, STR("imagePullSecrets")));
    *obj = pod;
    return 0;
}

const struct admission_plugin admit_service_account = {
    .name = "ServiceAccount",
    .group = "",
    .resource = "pods",
    .verbs = VERB_CREATE,
    .mutate = account_mutate,
};

/* ---- taints that are borne for a while ---- */

static bool tolerates(const struct json *list, const char *key)
{
    json_for_each (t, list) {
        str k = json_get_str(t, "key"), effect = json_get_str(t, "effect");

        if ((k.n == 0 || str_is(k, key)) && (effect.n == 0 || str_is(effect, "NoExecute")))
            return true;
    }
    return false;
}

static int tolerations_mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    static const char *const keys[] = { "node.kubernetes.io/not-ready",
                                        "node.kubernetes.io/unreachable" };
    struct arena *arena = a->req->arena;
    const struct json *had = json_path(*obj, "spec.tolerations");
    struct json_array all = list_from(arena, had);

    (void)st;
    if (a->req->subresource.n)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        struct json_object o = json_object_new(arena);

        if (tolerates(had, keys[i]))
            continue;
        add_str(&o, "key", str_of(keys[i]));
        add_str(&o, "operator", STR("Exists"));
        add_str(&o, "effect", STR("NoExecute"));
        json_add(&o, STR("tolerationSeconds"), json_of_int(TOLERATED_SECONDS));
        json_push(&all, json_object_value(&o));
    }
    if (all.n > json_len(had))
        *obj = json_set(arena, *obj, "spec.tolerations", json_array_done(&all));
    return 0;
}

const struct admission_plugin admit_tolerations = {
    .name = "DefaultTolerationSeconds",
    .group = "",
    .resource = "pods",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .mutate = tolerations_mutate,
};

/* ---- priority ---- */

static bool is_global(void *arg, const struct json *class)
{
    const struct json **found = arg;

    if (json_bool(json_get(class, STR("globalDefault"))))
        *found = class;
    return *found == NULL;
}

/* The class of that name; without a name the default one, or none. */
static int find_class(const struct admission *a, const struct json *pod, str name,
                      const struct json **out, struct status *st)
{
    const struct rest_request *r = a->req;
    const struct kind *k =
        catalog_find(r->catalog, STR("scheduling.k8s.io"), STR("v1"), STR("priorityclasses"));
    int found = 0;

    *out = NULL;
    if (k && name.n == 0)
        return lookup_each(r->rest, r->arena, &r->instance, k, STR_NONE, is_global, out, st);
    if (k)
        found = lookup_get(r->rest, r->arena, &r->instance, k, STR_NONE, name, out, st);
    if (found != 0 || name.n == 0)
        return found < 0 ? -1 : 0;
    return refuse(a, pod,
                  str_printf(r->arena, "no PriorityClass with name %.*s was found", STR_ARG(name)),
                  st);
}

/* What was found out at its creation stays with a pod whose writer does not tell. */
static const struct json *keep_priority(const struct admission *a, const struct json *obj)
{
    static const char *const paths[] = { "spec.priority", "spec.preemptionPolicy" };

    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const struct json *was = json_path(a->old, paths[i]);

        if (was && !json_path(obj, paths[i]))
            obj = json_set(a->req->arena, obj, paths[i], was);
    }
    return obj;
}

static int priority_mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    str name = json_get_str(*obj, "spec.priorityClassName"), preemption;
    const struct json *class, *said = json_path(*obj, "spec.priority"), *policy;
    struct json value;

    if (a->req->subresource.n)
        return 0;
    if (a->old) {
        *obj = keep_priority(a, *obj);
        return 0;
    }
    if (find_class(a, *obj, name, &class, st) < 0)
        return -1;
    value = json_of_int(json_int(json_get(class, STR("value")), 0));
    preemption = json_get_str(class, "preemptionPolicy");
    if (preemption.n == 0)
        preemption = STR("PreemptLowerPriority");
    if (said && json_int(said, 0) != value.i)
        return refuse(a, *obj,
                      str_printf(arena,
                                 "the integer value of priority (%lld) must not be provided in pod "
                                 "spec; priority admission controller computed %lld from the given "
                                 "PriorityClass name",
                                 (long long)json_int(said, 0), (long long)value.i),
                      st);
    if (class && name.n == 0)
        *obj = json_set(arena, *obj, "spec.priorityClassName", json_path(class, "metadata.name"));
    *obj = json_set(arena, *obj, "spec.priority", json_box(arena, value));
    policy = json_path(*obj, "spec.preemptionPolicy");
    if (policy && !str_eq(json_str(policy), preemption))
        return refuse(
            a, *obj,
            str_printf(arena,
                       "the string value of PreemptionPolicy (%.*s) must not be provided "
                       "in pod spec; priority admission controller computed %.*s from the "
                       "given PriorityClass name",
                       STR_ARG(json_str(policy)), STR_ARG(preemption)),
            st);
    *obj = json_set(arena, *obj, "spec.preemptionPolicy", json_box(arena, json_of_str(preemption)));
    return 0;
}

const struct admission_plugin admit_priority = {
    .name = "Priority",
    .group = "",
    .resource = "pods",
    .verbs = VERB_CREATE | VERB_UPDATE,
    .mutate = priority_mutate,
};

/* ---- new nodes are not ready until somebody has looked ---- */

static int node_mutate(const struct admission *a, const struct json **obj, struct status *st)
{
    struct arena *arena = a->req->arena;
    const struct json *had = json_path(*obj, "spec.taints");
    struct json_array all = list_from(arena, had);
    struct json_object taint = json_object_new(arena);

    (void)st;
    json_for_each (t, had)
        if (str_is(json_get_str(t, "key"), "node.kubernetes.io/not-ready") &&
            str_is(json_get_str(t, "effect"), "NoSchedule"))
            return 0;
    add_str(&taint, "effect", STR("NoSchedule"));
    add_str(&taint, "key", STR("node.kubernetes.io/not-ready"));
    json_push(&all, json_object_value(&taint));
    *obj = json_set(arena, *obj, "spec.taints", json_array_done(&all));
    return 0;
}

const struct admission_plugin admit_node_taint = {
    .name = "TaintNodesByCondition",
    .group = "",
    .resource = "nodes",
    .verbs = VERB_CREATE,
    .mutate = node_mutate,
};
