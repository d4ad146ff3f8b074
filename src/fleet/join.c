/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/join.h"

#include <time.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/encode.h"
#include "fleet/syncer_install.h"
#include "object/meta/karmada.h"

enum {
    TOKEN_WAIT_MS = 15000, /* for the member's token controller */
    POLL_MS = 50,
    POLL_SLOW_MS = 250,
    MANIFEST_MAX = 1 << 20,
};

#define SPACE        "karmada-cluster"
#define IMPERSONATOR "karmada-impersonator"
#define SYSTEM_LABEL "karmada.io/system"
#define JOINED       "joined.kairship.io/" /* … the instance's id: the name of its Cluster */

static void pause_ms(long ms)
{
    struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

    (void)nanosleep(&t, NULL);
}

/* ---- objects ---- */

static const struct {
    const char *group, *version, *resource, *kind;
} types[] = {
    { "", "v1", "namespaces", "Namespace" },
    { "", "v1", "serviceaccounts", "ServiceAccount" },
    { "", "v1", "secrets", "Secret" },
    { "rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole" },
    { "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding" },
    { "cluster.karmada.io", "v1alpha1", "clusters", "Cluster" },
};
enum join_type { NAMESPACE, ACCOUNT, SECRET, ROLE, BINDING, CLUSTER };

static struct client_ref ref_of(str instance, enum join_type t, str namespace, str name)
{
    return (struct client_ref){ .instance = instance,
                                .group = str_of(types[t].group),
                                .version = str_of(types[t].version),
                                .resource = str_of(types[t].resource),
                                .namespace = namespace,
                                .name = name };
}

/* Text with ' for ", and %.*s; of our own words and checked names only. */
static const struct json *tree(struct arena *a, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static const struct json *tree(struct arena *a, const char *fmt, ...)
{
    const struct json *v = &json_null;
    struct status st;
    va_list ap;
    char *text;

    va_start(ap, fmt);
    text = arena_vprintf(a, fmt, ap);
    va_end(ap);
    for (char *p = text; *p; p++)
        if (*p == '\'')
            *p = '"';
    status_init(&st, a);
    return json_parse(a, str_of(text), NULL, &v, &st) < 0 ? &json_null : v;
}

/* With kind, name and the label by which people know what is ours. */
static const struct json *named(struct arena *a, enum join_type t, str name,
                                const struct json *rest)
{
    struct json_object o = json_object_from(a, rest);
    const struct json *v;
    str version = types[t].group[0] ? str_printf(a, "%s/%s", types[t].group, types[t].version)
                                    : str_of(types[t].version);

    json_put(&o, STR("apiVersion"), json_of_str(version));
    json_put(&o, STR("kind"), json_of_str(str_of(types[t].kind)));
    v = json_set(a, json_object_done(&o), "metadata.name", json_box(a, json_of_str(name)));
    return v;
}

static const struct json *marked(struct arena *a, const struct json *v)
{
    struct json_object labels = json_object_new(a);

    json_add(&labels, STR(SYSTEM_LABEL), json_of_str(STR("true")));
    return json_set(a, v, "metadata.labels", json_object_done(&labels));
}

/* Made unless it is there. */
static int ensure(struct client *c, struct arena *a, const struct client_ref *ref,
                  const struct json *obj, struct status *st)
{
    struct client_ref at = *ref;

    at.name = STR_NONE;
    if (client_create(c, a, &at, obj, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return status_wrap(st, "make the %.*s \"%.*s\"", STR_ARG(json_get_str(obj, "kind")),
                           STR_ARG(ref->name));
    status_reset(st);
    return 0;
}

/* ---- in the member ---- */

/* Until the token controller has filled in the Secret; both in base64. */
static int poll_token(struct client *c, struct arena *a, const struct client_ref *ref,
                      secret *token, str *ca, struct status *st)
{
    int64_t end = clock_now_ms(clock_real()) + TOKEN_WAIT_MS;
    const struct json *obj;

    for (;;) {
        if (client_get(c, a, ref, &obj, st) < 0)
            return status_wrap(st, "read the token of \"%.*s\"", STR_ARG(ref->name));
        *token = secret_of(json_str(json_path(obj, "data.token")));
        *ca = json_str(json_get(json_get(obj, STR("data")), STR("ca.crt")));
        if (!secret_empty(*token))
            return 0;
        if (clock_now_ms(clock_real()) > end)
            return status_set(st, REASON_TIMEOUT,
                              "the cluster made no token for the service account %.*s/%.*s within "
                              "%d s; does its controller manager run?",
                              STR_ARG(ref->namespace), STR_ARG(ref->name), TOKEN_WAIT_MS / 1000);
        pause_ms(POLL_MS);
    }
}

/* A token that does not expire, which the member's token controller fills in. */
static int wait_token(struct client *c, struct arena *a, str account, secret *token, str *ca,
                      struct status *st)
{
    struct client_ref ref = ref_of(STR_NONE, SECRET, STR(SPACE), account);
    const struct json *obj = tree(a,
                                  "{'type':'kubernetes.io/service-account-token','metadata':{"
                                  "'annotations':{'kubernetes.io/service-account.name':'%.*s'}}}",
                                  STR_ARG(account));

    if (ensure(c, a, &ref, marked(a, named(a, SECRET, account, obj)), st) < 0)
        return -1;
    return poll_token(c, a, &ref, token, ca, st);
}

static const struct json *binding_of(struct arena *a, str namespace, str account, str role)
{
    return tree(a,
                "{'roleRef':{'apiGroup':'rbac.authorization.k8s.io','kind':'ClusterRole','name':'"
                "%.*s'},'subjects':[{'kind':'ServiceAccount','namespace':'%.*s','name':'%.*s'}]}",
                STR_ARG(role), STR_ARG(namespace), STR_ARG(account));
}

static int ensure_account(struct client *c, struct arena *a, str account, str role,
                          const struct json *rules, struct status *st)
{
    struct client_ref sa = ref_of(STR_NONE, ACCOUNT, STR(SPACE), account);
    struct client_ref cr = ref_of(STR_NONE, ROLE, STR_NONE, role);
    struct client_ref crb = ref_of(STR_NONE, BINDING, STR_NONE, role);
    const struct json *binding = binding_of(a, STR(SPACE), account, role);

    if (ensure(c, a, &sa, marked(a, named(a, ACCOUNT, account, &json_empty_object)), st) < 0 ||
        ensure(c, a, &cr, marked(a, named(a, ROLE, role, rules)), st) < 0)
        return -1;
    return ensure(c, a, &crb, marked(a, named(a, BINDING, role, binding)), st);
}

static const struct json *anybody(struct arena *a)
{
    return tree(a, "{'rules':[{'apiGroups':[''],'resources':['users','groups','serviceaccounts'],"
                   "'verbs':['impersonate']}]}");
}

/* The subjects of `has` and, if it is another, that of `want`. */
static const struct json *subjects_with(struct arena *a, const struct json *has,
                                        const struct json *want)
{
    const struct json *subject = json_at(json_get(want, STR("subjects")), 0);
    struct json_array all = json_array_new(a);

    json_for_each (s, json_get(has, STR("subjects"))) {
        if (str_eq(json_get_str(s, "name"), json_get_str(subject, "name")) &&
            str_eq(json_get_str(s, "namespace"), json_get_str(subject, "namespace")))
            return NULL;
        json_push(&all, *s);
    }
    json_push(&all, *subject);
    return json_array_done(&all);
}

int join_impersonator(struct client *member, struct arena *a, str namespace, struct status *st)
{
    struct client_ref role = ref_of(STR_NONE, ROLE, STR_NONE, STR(IMPERSONATOR));
    struct client_ref bound = ref_of(STR_NONE, BINDING, STR_NONE, STR(IMPERSONATOR));
    const struct json *want = binding_of(a, namespace, STR(IMPERSONATOR), STR(IMPERSONATOR));
    const struct json *found, *subjects;

    if (ensure(member, a, &role, marked(a, named(a, ROLE, STR(IMPERSONATOR), anybody(a))), st) <
            0 ||
        ensure(member, a, &bound, marked(a, named(a, BINDING, STR(IMPERSONATOR), want)), st) < 0 ||
        client_get(member, a, &bound, &found, st) < 0)
        return -1;
    subjects = subjects_with(a, found, want);
    return subjects ? client_update(member, a, &bound, json_set(a, found, "subjects", subjects),
                                    NULL, st)
                    : 0;
}

static str account_name(struct arena *a, str cluster)
{
    return str_printf(a, "karmada-%.*s", STR_ARG(cluster));
}

static str role_name(struct arena *a, str cluster)
{
    return str_printf(a, "karmada-controller-manager:karmada-%.*s", STR_ARG(cluster));
}

/* An instance is known by its namespace kube-system, as a cluster is. */
static int mark_of(const struct join *j, struct arena *a, str *out, struct status *st)
{
    struct client_ref home = ref_of(j->instance, NAMESPACE, STR_NONE, STR("kube-system"));
    const struct json *ns;

    if (client_get(j->control, a, &home, &ns, st) < 0)
        return status_wrap(st, "ask the instance who it is (namespace kube-system)");
    *out = str_printf(a, JOINED "%.*s", STR_ARG(json_get_str(ns, "metadata.uid")));
    return 0;
}

static int set_mark(const struct join *j, struct arena *a, bool there, struct status *st)
{
    struct client_ref ref = ref_of(STR_NONE, NAMESPACE, STR_NONE, STR(SPACE));
    struct json_object marks = json_object_new(a);
    str mark;

    if (mark_of(j, a, &mark, st) < 0)
        return -1;
    json_add(&marks, mark, there ? json_of_str(j->name) : json_null);
    return client_patch(
        j->member, a, &ref, CLIENT_PATCH_MERGE,
        json_set(a, &json_empty_object, "metadata.annotations", json_object_done(&marks)), NULL,
        st);
}

struct tokens {
    secret token, impersonator; /* base64, as Secrets have them */
    str ca;
};

static int prepare_member(const struct join *j, struct arena *a, struct tokens *out,
                          struct status *st)
{
    struct client_ref ns = ref_of(STR_NONE, NAMESPACE, STR_NONE, STR(SPACE));
    str account = account_name(a, j->name), ignored;
    const struct json *all =
        tree(a, "{'rules':[{'apiGroups':['*'],'resources':['*'],'verbs':['*']},"
                "{'nonResourceURLs':['*'],'verbs':['get']}]}");

    if (ensure(j->member, a, &ns, marked(a, named(a, NAMESPACE, STR(SPACE), &json_empty_object)),
               st) < 0 ||
        set_mark(j, a, true, st) < 0 ||
        ensure_account(j->member, a, account, role_name(a, j->name), all, st) < 0 ||
        ensure_account(j->member, a, STR(IMPERSONATOR), STR(IMPERSONATOR), anybody(a), st) < 0)
        return -1;
    if (wait_token(j->member, a, account, &out->token, &out->ca, st) < 0)
        return -1;
    return wait_token(j->member, a, STR(IMPERSONATOR), &out->impersonator, &ignored, st);
}

/* ---- in the instance ---- */

/* Whether it is there already, or may not be. */
static int check_joined(const struct join *j, struct arena *a, str id, struct status *st)
{
    struct client_ref ref = ref_of(j->instance, CLUSTER, STR_NONE, STR_NONE);
    const struct json *list;

    if (client_list(j->control, a, &ref, NULL, &list, st) < 0)
        return status_wrap(st, "list the clusters of the instance");
    json_for_each (c, json_get(list, STR("items"))) {
        str name = json_get_str(c, "metadata.name"), its = json_get_str(c, "spec.id");
        bool same = str_eq(its, id);

        if (same && !str_eq(name, j->name))
            return status_set(st, REASON_ALREADY_EXISTS,
                              "this cluster has joined already, as \"%.*s\"", STR_ARG(name));
        if (str_eq(name, j->name) && its.n && !same)
            return status_set(st, REASON_ALREADY_EXISTS,
                              "there is another cluster of the name \"%.*s\"", STR_ARG(name));
        if (str_eq(name, j->name) && str_is(json_get_str(c, "spec.syncMode"), "Pull"))
            return status_set(st, REASON_ALREADY_EXISTS,
                              "\"%.*s\" is a member in pull mode already", STR_ARG(name));
        if (str_eq(name, j->name) && json_path(c, "metadata.deletionTimestamp"))
            return status_set(st, REASON_CONFLICT,
                              "the cluster \"%.*s\" is being removed; wait until it is gone",
                              STR_ARG(name));
    }
    return 0;
}

static int put_secret(const struct join *j, struct arena *a, str name, const struct json *data,
                      struct status *st)
{
    struct client_ref ref = ref_of(j->instance, SECRET, STR(SPACE), name);
    const struct json *found;

    if (client_get(j->control, a, &ref, &found, st) == 0) {
        if (json_equal(json_get(found, STR("data")), data))
            return 0;
        found = json_set(a, found, "data", data);
        return client_update(j->control, a, &ref, found, NULL, st);
    }
    if (!status_is(st, REASON_NOT_FOUND))
        return status_wrap(st, "read the Secret \"%.*s\"", STR_ARG(name));
    status_reset(st);
    found = marked(a, named(a, SECRET, name, &json_empty_object));
    ref.name = STR_NONE;
    if (client_create(j->control, a, &ref, json_set(a, found, "data", data), NULL, st) < 0)
        return status_wrap(st, "make the Secret \"%.*s\"", STR_ARG(name));
    return 0;
}

static str impersonator_name(struct arena *a, str cluster)
{
    return str_printf(a, "%.*s-impersonator", STR_ARG(cluster));
}

/* Where the Secrets are.  The first write: an instance that takes none leaves no trace in a member.
 */
static int put_space(const struct join *j, struct arena *a, struct status *st)
{
    struct client_ref ns = ref_of(j->instance, NAMESPACE, STR_NONE, STR(SPACE));

    return ensure(j->control, a, &ns,
                  marked(a, named(a, NAMESPACE, STR(SPACE), &json_empty_object)), st);
}

static int put_secrets(const struct join *j, struct arena *a, const struct tokens *t,
                       struct status *st)
{
    struct json_object data = json_object_new(a), other = json_object_new(a);
    str ca = j->ca_pem.n ? base64_encode(a, BASE64_STD, j->ca_pem) : t->ca;

    json_add(&data, STR("caBundle"), json_of_str(ca));
    json_add(&data, STR("token"), json_of_str(secret_reveal(t->token)));
    json_add(&other, STR("token"), json_of_str(secret_reveal(t->impersonator)));
    if (put_secret(j, a, j->name, json_object_done(&data), st) < 0)
        return -1;
    return put_secret(j, a, impersonator_name(a, j->name), json_object_done(&other), st);
}

/* The Cluster, with what the person says of it. */
static const struct json *described(const struct join *j, struct arena *a, struct json_object *spec)
{
    const struct json *v;

    if (j->provider.n)
        json_add(spec, STR("provider"), json_of_str(j->provider));
    if (j->region.n)
        json_add(spec, STR("region"), json_of_str(j->region));
    if (json_len(j->zones))
        json_add(spec, STR("zones"), *j->zones);
    v = json_set(a, &json_empty_object, "spec", json_object_done(spec));
    v = named(a, CLUSTER, j->name, v);
    return json_len(j->labels) ? json_set(a, v, "metadata.labels", j->labels) : v;
}

static const struct json *cluster_of(const struct join *j, struct arena *a, str id)
{
    struct json_object spec = json_object_new(a), creds = json_object_new(a),
                       impersonator = json_object_new(a);

    json_add(&creds, STR("namespace"), json_of_str(STR(SPACE)));
    json_add(&creds, STR("name"), json_of_str(j->name));
    json_add(&impersonator, STR("namespace"), json_of_str(STR(SPACE)));
    json_add(&impersonator, STR("name"), json_of_str(impersonator_name(a, j->name)));
    json_add(&spec, STR("syncMode"), json_of_str(STR("Push")));
    json_add(&spec, STR("id"), json_of_str(id));
    json_add(&spec, STR("apiEndpoint"), json_of_str(j->server));
    json_add(&spec, STR("secretRef"), json_object_value(&creds));
    json_add(&spec, STR("impersonatorSecretRef"), json_object_value(&impersonator));
    return described(j, a, &spec);
}

static int put_cluster(const struct join *j, struct arena *a, str id, const struct json **out,
                       struct status *st)
{
    struct client_ref ref = ref_of(j->instance, CLUSTER, STR_NONE, STR_NONE);
    const struct json *wanted = cluster_of(j, a, id);

    if (client_create(j->control, a, &ref, wanted, out, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return status_wrap(st, "make the Cluster \"%.*s\"", STR_ARG(j->name));
    status_reset(st);
    ref.name = j->name;
    return client_patch(j->control, a, &ref, CLIENT_PATCH_MERGE, wanted, out, st);
}

/* So that they go with it. */
static int own_secrets(const struct join *j, struct arena *a, const struct json *cluster,
                       struct status *st)
{
    const str names[] = { j->name, impersonator_name(a, j->name) };
    const struct json *patch =
        tree(a,
             "{'metadata':{'ownerReferences':[{'apiVersion':'cluster.karmada.io/v1alpha1','kind':"
             "'Cluster','name':'%.*s','uid':'%.*s'}]}}",
             STR_ARG(j->name), STR_ARG(json_get_str(cluster, "metadata.uid")));

    for (size_t i = 0; i < 2; i++) {
        struct client_ref ref = ref_of(j->instance, SECRET, STR(SPACE), names[i]);

        if (client_patch(j->control, a, &ref, CLIENT_PATCH_MERGE, patch, NULL, st) < 0)
            return status_wrap(st, "bind the Secret \"%.*s\" to its Cluster", STR_ARG(names[i]));
    }
    return 0;
}

/* Names that our own texts are made of. */
static int check_name(str name, struct status *st)
{
    enum { NAME_MAX_LEN = 48 };
    bool good = name.n > 0 && name.n <= NAME_MAX_LEN;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];

        good = good && ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                        (c == '-' && i > 0 && i + 1 < name.n));
    }
    if (good)
        return 0;
    return status_set(st, REASON_INVALID,
                      "\"%.*s\" is no name of a cluster: at most %d of a-z, 0-9 and -, no - at the "
                      "ends",
                      STR_ARG(name), NAME_MAX_LEN);
}

int join_member(const struct join *j, struct arena *a, const struct json **cluster,
                struct status *st)
{
    struct client_ref home = ref_of(STR_NONE, NAMESPACE, STR_NONE, STR("kube-system"));
    const struct json *ns, *made;
    struct tokens tokens;
    str id;

    if (check_name(j->name, st) < 0)
        return -1;
    if (client_get(j->member, a, &home, &ns, st) < 0)
        return status_wrap(st, "ask the cluster who it is (namespace kube-system)");
    id = json_get_str(ns, "metadata.uid");
    if (!id.n)
        return status_set(st, REASON_INTERNAL, "the cluster's namespace kube-system has no uid");
    if (check_joined(j, a, id, st) < 0 || put_space(j, a, st) < 0 ||
        prepare_member(j, a, &tokens, st) < 0)
        return -1;
    if (put_secrets(j, a, &tokens, st) < 0 || put_cluster(j, a, id, &made, st) < 0 ||
        own_secrets(j, a, made, st) < 0)
        return -1;
    if (cluster)
        *cluster = made;
    return 0;
}

/* ---- pull mode ---- */

static int check_pull(const struct json *cluster, struct status *st)
{
    str name = json_get_str(cluster, "metadata.name");

    if (json_path(cluster, "metadata.deletionTimestamp"))
        return status_set(st, REASON_CONFLICT,
                          "the cluster \"%.*s\" is being removed; wait until it is gone",
                          STR_ARG(name));
    if (!str_is(json_get_str(cluster, "spec.syncMode"), "Pull"))
        return status_set(st, REASON_ALREADY_EXISTS,
                          "\"%.*s\" is a member in push mode already; take another name, or remove "
                          "it first",
                          STR_ARG(name));
    return 0;
}

/* One that is there already must be of pull mode. */
static int put_pull_cluster(const struct join *j, struct arena *a, const struct json **out,
                            struct status *st)
{
    struct client_ref ref = ref_of(j->instance, CLUSTER, STR_NONE, STR_NONE);
    struct json_object spec = json_object_new(a);
    const struct json *wanted;

    json_add(&spec, STR("syncMode"), json_of_str(STR("Pull")));
    wanted = described(j, a, &spec);
    if (client_create(j->control, a, &ref, wanted, out, st) == 0)
        return 0;
    if (!status_is(st, REASON_ALREADY_EXISTS))
        return status_wrap(st, "make the Cluster \"%.*s\"", STR_ARG(j->name));
    status_reset(st);
    ref.name = j->name;
    if (client_get(j->control, a, &ref, out, st) < 0 || check_pull(*out, st) < 0)
        return -1;
    return client_patch(j->control, a, &ref, CLIENT_PATCH_MERGE, wanted, out, st);
}

/* Made here, so that the syncer need not have the right to make any: a Lease speaks for its
 * Cluster. */
static int put_lease(const struct join *j, struct arena *a, const struct json *cluster,
                     struct status *st)
{
    struct client_ref ref = { .instance = j->instance,
                              .group = STR("coordination.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("leases"),
                              .namespace = STR(SPACE),
                              .name = j->name };

    return ensure(
        j->control, a, &ref,
        tree(a,
             "{'apiVersion':'coordination.k8s.io/v1','kind':'Lease','metadata':{'name':'%.*s',"
             "'ownerReferences':[{'apiVersion':'cluster.karmada.io/v1alpha1','kind':'Cluster',"
             "'name':'%.*s','uid':'%.*s'}]},'spec':{'holderIdentity':'%.*s'}}",
             STR_ARG(j->name), STR_ARG(j->name), STR_ARG(json_get_str(cluster, "metadata.uid")),
             STR_ARG(j->name)),
        st);
}

static int put_works_space(const struct join *j, struct arena *a, struct status *st)
{
    str name = karmada_execution_namespace(a, j->name);
    struct client_ref ns = ref_of(j->instance, NAMESPACE, STR_NONE, name);

    return ensure(j->control, a, &ns, named(a, NAMESPACE, name, &json_empty_object), st);
}

/* The account of the syncer, and its way to the instance. */
static int make_account(const struct join_pull *p, struct arena *a, struct syncer_install *i,
                        struct status *st)
{
    struct syncer_object all[SYNCER_WORKS_ACCOUNT_OBJECTS];
    struct kubeconfig k = { .context = p->logical,
                            .server = p->server,
                            .server_name = p->server_name,
                            .ca_pem = p->ca_pem };
    struct client_ref ref;
    str ignored, plain;

    syncer_install_works_account(a, i, all);
    for (size_t n = 0; n < SYNCER_WORKS_ACCOUNT_OBJECTS; n++) {
        ref = all[n].ref;
        ref.instance = p->join.instance;
        if (client_apply(p->join.control, a, &ref, STR("kairship-join"), all[n].object, NULL, st) <
            0)
            return status_wrap(st, "make the account of the syncer (%.*s %.*s)",
                               STR_ARG(ref.resource), STR_ARG(ref.name));
    }
    if (poll_token(p->join.control, a, &ref, &k.token, &ignored, st) < 0)
        return -1;
    if (!base64_decode(a, BASE64_GO, secret_reveal(k.token), &plain))
        return status_set(st, REASON_INTERNAL, "the token of the syncer is not base64");
    k.token = secret_of(plain);
    i->kubeconfig = kubeconfig_write(a, &k, 1);
    return 0;
}

static secret print_manifest(const struct join_pull *p, struct arena *a,
                             const struct syncer_install *i)
{
    struct syncer_object all[SYNCER_OBJECTS];
    scoped_buf b = { .max = MANIFEST_MAX, .wipe = true };

    syncer_install_member(a, i, all);
    buf_printf(&b,
               "# The syncer of the cluster %.*s of the instance %.*s, for kubectl apply -f - in "
               "that cluster.\n"
               "# The Secret holds a credential: pass this on as you would a password.\n",
               STR_ARG(p->join.name), STR_ARG(p->logical));
    for (size_t n = 0; n < SYNCER_OBJECTS; n++) {
        buf_lit(&b, "---\n");
        json_print_yaml(&b, all[n].object);
    }
    return secret_dup(a, secret_of(buf_str(&b)));
}

int join_pull(const struct join_pull *p, struct arena *a, secret *manifest, struct status *st)
{
    const struct join *j = &p->join;
    struct syncer_install i = { .logical = p->logical,
                                .cluster = j->name,
                                .image = p->image,
                                .beat_s = p->beat_s,
                                .works = true };
    const struct json *cluster;

    arena_wipe(a);
    if (check_name(j->name, st) < 0 || put_space(j, a, st) < 0 ||
        put_pull_cluster(j, a, &cluster, st) < 0 || put_works_space(j, a, st) < 0 ||
        put_lease(j, a, cluster, st) < 0)
        return -1;
    i.uid = json_get_str(cluster, "metadata.uid");
    if (make_account(p, a, &i, st) < 0)
        return -1;
    *manifest = print_manifest(p, a, &i);
    return 0;
}

/* ---- the way back ---- */

int join_leave(struct client *control, struct arena *a, str instance, str name, struct status *st)
{
    struct client_ref ref = ref_of(instance, CLUSTER, STR_NONE, name);
    const struct json *mark = tree(a, "{'metadata':{'annotations':{'" JOIN_CLEAN "':'true'}}}");

    if (client_patch(control, a, &ref, CLIENT_PATCH_MERGE, mark, NULL, st) < 0)
        return -1;
    return client_delete(control, a, &ref, NULL, st);
}

int join_gone(struct client *control, str instance, str name, int64_t wait_ms, struct status *st)
{
    struct client_ref ref = ref_of(instance, CLUSTER, STR_NONE, name);
    int64_t end = clock_now_ms(clock_real()) + wait_ms;

    for (;;) {
        scoped_arena once = arena_new();

        if (client_get(control, once, &ref, NULL, st) < 0) {
            if (!status_is(st, REASON_NOT_FOUND))
                return -1;
            status_reset(st);
            return 0;
        }
        if (clock_now_ms(clock_real()) >= end)
            return status_set(st, REASON_TIMEOUT, "the cluster \"%.*s\" is still being removed",
                              STR_ARG(name));
        pause_ms(POLL_SLOW_MS);
    }
}

/* Who else has joined it. */
struct others {
    bool any, same_name, us;
};

static int look_for_others(const struct join *j, struct arena *a, struct others *o,
                           struct status *st)
{
    struct client_ref ref = ref_of(STR_NONE, NAMESPACE, STR_NONE, STR(SPACE));
    const struct json *ns;
    str mark;

    if (mark_of(j, a, &mark, st) < 0 || client_get(j->member, a, &ref, &ns, st) < 0)
        return -1;
    json_for_each_member (m, json_path(ns, "metadata.annotations")) {
        if (!str_starts(m->name, STR(JOINED)))
            continue;
        if (str_eq(m->name, mark))
            o->us = true;
        else
            o->any = true;
        o->same_name |= !str_eq(m->name, mark) && str_eq(json_str(&m->value), j->name);
    }
    return 0;
}

/* It goes when the role does. */
static int hang(const struct join *j, struct arena *a, struct client_ref ref, str role, str uid,
                struct status *st)
{
    const struct json *patch =
        tree(a,
             "{'metadata':{'ownerReferences':[{'apiVersion':'rbac.authorization.k8s.io/v1','kind':"
             "'ClusterRole','name':'%.*s','uid':'%.*s'}]}}",
             STR_ARG(role), STR_ARG(uid));

    if (client_patch(j->member, a, &ref, CLIENT_PATCH_MERGE, patch, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

static int drop(const struct join *j, struct arena *a, struct client_ref ref, struct status *st)
{
    if (client_delete(j->member, a, &ref, NULL, st) == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return -1;
    status_reset(st);
    return 0;
}

/* The account is one of ours alone: without the role it can do nothing more. */
static int drop_account(const struct join *j, struct arena *a, bool all, struct status *st)
{
    str role = role_name(a, j->name), account = account_name(a, j->name), uid;
    struct client_ref ref = ref_of(STR_NONE, ROLE, STR_NONE, role);
    const struct json *found;

    if (client_get(j->member, a, &ref, &found, st) < 0)
        return -1;
    uid = json_get_str(found, "metadata.uid");
    if (hang(j, a, ref_of(STR_NONE, BINDING, STR_NONE, role), role, uid, st) < 0)
        return -1;
    if (all) {
        if (hang(j, a, ref_of(STR_NONE, NAMESPACE, STR_NONE, STR(SPACE)), role, uid, st) < 0 ||
            drop(j, a, ref_of(STR_NONE, BINDING, STR_NONE, STR(IMPERSONATOR)), st) < 0 ||
            drop(j, a, ref_of(STR_NONE, ROLE, STR_NONE, STR(IMPERSONATOR)), st) < 0)
            return -1;
    } else if (set_mark(j, a, false, st) < 0 ||
               hang(j, a, ref_of(STR_NONE, ACCOUNT, STR(SPACE), account), role, uid, st) < 0 ||
               hang(j, a, ref_of(STR_NONE, SECRET, STR(SPACE), account), role, uid, st) < 0) {
        return -1;
    }
    return drop(j, a, ref, st);
}

int join_clean(const struct join *j, bool marked, struct arena *a, struct status *st)
{
    struct others others = { 0 };
    int rc = look_for_others(j, a, &others, st);

    if (rc == 0 && marked && !others.us)
        return 0;
    if (rc == 0)
        rc = others.same_name ? set_mark(j, a, false, st) : drop_account(j, a, !others.any, st);
    if (rc == 0)
        return 0;
    if (!status_is(st, REASON_NOT_FOUND))
        return status_wrap(st, "clean up in the cluster");
    status_reset(st);
    return 0;
}
