/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_install.h"

#include <assert.h>

#include "base/banned.h"
#include "base/encode.h"
#include "http/sign.h"
#include "object/meta/karmada.h"

enum { NAME_MAX_LEN = 63, DIGITS = 8 };

/* A namespace's name has none. */
static str without_dots(struct arena *a, str name)
{
    char *z = str_z(a, name);

    for (char *p = z; *p; p++)
        if (*p == '.')
            *p = '-';
    return (str){ z, name.n };
}

static str name_with(struct arena *a, str prefix, str logical, str cluster, str uid)
{
    unsigned char hash[SHA224_SIZE];
    char digits[DIGITS];
    size_t room = NAME_MAX_LEN - prefix.n - 1 - DIGITS;
    str name,
        all = str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(logical), STR_ARG(cluster), STR_ARG(uid));

    sign_sha224(all, hash);
    hex_encode(digits, hash, DIGITS / 2);
    cluster = str_sub(cluster, 0, room);
    name = str_printf(a, "%.*s%.*s-%.*s", STR_ARG(prefix), STR_ARG(cluster), DIGITS, digits);
    return without_dots(a, name);
}

str syncer_install_name(struct arena *a, str logical, str cluster, str uid)
{
    return name_with(a, STR("kcp-syncer-"), logical, cluster, uid);
}

/* ---- objects as texts: names are put in as JSON strings ---- */

static const char *quoted(struct arena *a, str s)
{
    return str_z(a, json_text(a, json_box(a, json_of_str(s))));
}

static const struct json *parsed(struct arena *a, str text)
{
    const struct json *v = &json_null;
    struct status st;
    int rc;

    status_init(&st, a);
    rc = json_parse(a, text, NULL, &v, &st);
    assert(rc == 0); /* the text is ours */
    (void)rc;
    return v;
}

/* What the functions below fill in. */
struct names {
    struct arena *arena;
    str name;
    const char *quoted; /* the name */
    const char *labels;
};

static struct names names_of(struct arena *a, const struct syncer_install *i)
{
    str prefix = i->works ? STR("kairship-syncer-") : STR("kcp-syncer-");
    struct names n = { .arena = a, .name = name_with(a, prefix, i->logical, i->cluster, i->uid) };

    n.quoted = quoted(a, n.name);
    if (i->works) {
        n.labels = arena_printf(a,
                                "{\"app.kubernetes.io/name\":\"kairship-syncer\","
                                "\"kairship.io/instance\":%s,\"kairship.io/cluster\":%s}",
                                quoted(a, i->logical), quoted(a, i->cluster));
        return n;
    }
    /* kcp: a logical cluster's colons are no characters of labels */
    n.labels = arena_printf(a,
                            "{\"app.kubernetes.io/name\":\"kairship-syncer\","
                            "\"workload.kcp.io/logical-cluster\":%s,"
                            "\"workload.kcp.io/sync-target\":%s}",
                            quoted(a, i->logical), quoted(a, i->cluster));
    return n;
}

static struct syncer_object object(const struct names *n, const char *group, const char *resource,
                                   str namespace, const char *kind, const char *rest)
{
    bool core = !*group;
    str version = core ? STR("v1") : str_printf(n->arena, "%s/v1", group);
    str text = str_printf(
        n->arena,
        "{\"apiVersion\":%s,\"kind\":\"%s\",\"metadata\":{\"name\":%s,%s%s%s"
        "\"labels\":%s}%s}",
        quoted(n->arena, version), kind, n->quoted, namespace.n ? "\"namespace\":" : "",
        namespace.n ? quoted(n->arena, namespace) : "", namespace.n ? "," : "", n->labels, rest);

    return (struct syncer_object){ .ref = { .group = str_of(group),
                                            .version = STR("v1"),
                                            .resource = str_of(resource),
                                            .namespace = namespace,
                                            .name = n->name },
                                   .object = parsed(n->arena, text) };
}

#define RBAC "rbac.authorization.k8s.io"

static const char *bound(const struct names *n, const char *role_kind, str namespace)
{
    return arena_printf(n->arena,
                        ",\"roleRef\":{\"apiGroup\":\"" RBAC
                        "\",\"kind\":\"%s\",\"name\":%s},\"subjects\":[{\"kind\":"
                        "\"ServiceAccount\",\"name\":%s,\"namespace\":%s}]",
                        role_kind, n->quoted, n->quoted, quoted(n->arena, namespace));
}

static struct syncer_object binding(const struct names *n, str namespace)
{
    return object(n, RBAC, "clusterrolebindings", STR_NONE, "ClusterRoleBinding",
                  bound(n, "ClusterRole", namespace));
}

/* ---- rights ---- */

static void words(struct json_object *rule, const char *member, const char *list)
{
    struct json_array all = json_array_new(rule->arena);

    for (str rest = str_of(list), word; str_split(&rest, ' ', &word);)
        json_push(&all, json_of_str(word));
    json_add(rule, str_of(member), json_array_value(&all));
}

static void add_rule(struct json_array *rules, const char *verbs, str group, const char *resources,
                     str name)
{
    struct json_object o = json_object_new(rules->arena);
    struct json_array groups = json_array_new(rules->arena), names = json_array_new(rules->arena);

    words(&o, "verbs", verbs);
    json_push(&groups, json_of_str(group));
    json_add(&o, STR("apiGroups"), json_array_value(&groups));
    words(&o, "resources", resources);
    if (name.n) {
        json_push(&names, json_of_str(name));
        json_add(&o, STR("resourceNames"), json_array_value(&names));
    }
    json_push(rules, json_object_value(&o));
}

/* One rule a group; `suffix` of each resource ("/status"). */
static void add_types(struct json_array *rules, const struct syncer_types *t, const char *verbs,
                      const char *suffix)
{
    for (size_t i = 0, next; i < t->n; i = next) {
        str list = STR_NONE;

        for (next = i; next < t->n && str_eq(t->types[next].group, t->types[i].group); next++)
            list = str_printf(rules->arena, "%.*s%s%.*s%s", STR_ARG(list), list.n ? " " : "",
                              STR_ARG(t->types[next].resource), suffix);
        add_rule(rules, verbs, t->types[i].group, str_z(rules->arena, list), STR_NONE);
    }
}

static const char *rules_text(const struct names *n, struct json_array *rules)
{
    return arena_printf(n->arena, ",\"rules\":%s",
                        str_z(n->arena, json_text(n->arena, json_array_done(rules))));
}

static struct syncer_object role(const struct names *n, struct json_array *rules)
{
    return object(n, RBAC, "clusterroles", STR_NONE, "ClusterRole", rules_text(n, rules));
}

/* Works: as karmada's agent. */
static struct syncer_object member_role(const struct names *n, const struct syncer_install *i)
{
    struct json_array rules = json_array_new(n->arena);
    struct json_object paths = json_object_new(n->arena);

    if (!i->works) {
        add_rule(&rules, "get create patch", STR_NONE, "namespaces", STR_NONE);
        add_types(&rules, i->types, "get list watch create patch delete", "");
        return role(n, &rules);
    }
    add_rule(&rules, "*", STR("*"), "*", STR_NONE);
    words(&paths, "nonResourceURLs", "*");
    words(&paths, "verbs", "get");
    json_push(&rules, json_object_value(&paths));
    return role(n, &rules);
}

static struct syncer_object instance_role(const struct names *n, const struct syncer_install *i)
{
    struct json_array rules = json_array_new(n->arena);

    add_rule(&rules, "get", STR("workload.kcp.dev"), "clusters", i->cluster);
    add_rule(&rules, "update", STR("workload.kcp.dev"), "clusters/status", i->cluster);
    add_rule(&rules, "get list", STR("apiresource.kcp.dev"), "apiresourceimports", STR_NONE);
    add_rule(&rules, "create patch", STR_NONE, "events", STR_NONE);
    add_types(&rules, i->types, "get list watch", "");
    add_types(&rules, i->types, "update", "/status");
    return role(n, &rules);
}

/* ---- rights to Works ---- */

/* Its own Cluster, what the instance says of kinds, and events on what could not be applied. */
static struct syncer_object works_role(const struct names *n, const struct syncer_install *i)
{
    const str group = STR("cluster.karmada.io");
    struct json_array rules = json_array_new(n->arena);

    add_rule(&rules, "get", group, "clusters", i->cluster);
    add_rule(&rules, "update", group, "clusters/status", i->cluster);
    add_rule(&rules, "get list watch", STR("config.karmada.io"),
             "resourceinterpretercustomizations", STR_NONE);
    add_rule(&rules, "create patch", STR_NONE, "events", STR_NONE);
    return role(n, &rules);
}

/* patch: finalizers */
static struct syncer_object works_space_role(const struct names *n, str namespace)
{
    const str group = STR("work.karmada.io");
    struct json_array rules = json_array_new(n->arena);

    add_rule(&rules, "get list watch patch", group, "works", STR_NONE);
    add_rule(&rules, "patch", group, "works/status", STR_NONE);
    return object(n, RBAC, "roles", namespace, "Role", rules_text(n, &rules));
}

static struct syncer_object lease_role(const struct names *n, str namespace, str cluster)
{
    struct json_array rules = json_array_new(n->arena);

    add_rule(&rules, "get patch", STR("coordination.k8s.io"), "leases", cluster);
    return object(n, RBAC, "roles", namespace, "Role", rules_text(n, &rules));
}

static struct syncer_object space_binding(const struct names *n, str namespace, str home)
{
    return object(n, RBAC, "rolebindings", namespace, "RoleBinding", bound(n, "Role", home));
}

static const struct json *owned(struct arena *a, const struct json *object,
                                const struct syncer_install *i)
{
    return json_set(a, object, "metadata.ownerReferences",
                    parsed(a, str_printf(a,
                                         "[{\"apiVersion\":\"cluster.karmada.io/v1alpha1\","
                                         "\"kind\":\"Cluster\",\"name\":%s,\"uid\":%s}]",
                                         quoted(a, i->cluster), quoted(a, i->uid))));
}

/* ---- what runs it ---- */

/* Another kubeconfig is another pod: it is read once, at the start. */
static str fingerprint(struct arena *a, secret kubeconfig)
{
    unsigned char hash[SHA224_SIZE];
    char digits[2 * DIGITS];

    sign_sha224(secret_reveal(kubeconfig), hash);
    hex_encode(digits, hash, DIGITS);
    return str_dup(a, (str){ digits, sizeof(digits) });
}

static struct syncer_object deployment(const struct names *n, const struct syncer_install *i)
{
    struct arena *a = n->arena;
    const char *args =
        arena_printf(a,
                     "[\"syncer\",\"--from\",\"/kcp/kubeconfig\",\"--cluster\",%s,"
                     "\"--feeds\",\"%s\",\"--heartbeat\",\"%lld\"]",
                     quoted(a, i->cluster), i->works ? "works" : "labels", (long long)i->beat_s);

    return object(
        n, "apps", "deployments", n->name, "Deployment",
        arena_printf(
            a,
            ",\"spec\":{\"replicas\":1,\"strategy\":{\"type\":\"Recreate\"},\"selector\":{"
            "\"matchLabels\":{\"app\":%s}},\"template\":{\"metadata\":{\"labels\":{\"app\":%s},"
            "\"annotations\":{\"kairship.io/kubeconfig\":%s}},\"spec\":{\"serviceAccountName\":%s,"
            "\"containers\":[{\"name\":\"syncer\",\"image\":%s,\"args\":%s,\"resources\":{"
            "\"requests\":{\"cpu\":\"10m\",\"memory\":\"16Mi\"}},\"securityContext\":{"
            "\"allowPrivilegeEscalation\":false,\"readOnlyRootFilesystem\":true,\"runAsNonRoot\":"
            "true,\"runAsUser\":65532,\"capabilities\":{\"drop\":[\"ALL\"]},\"seccompProfile\":{"
            "\"type\":\"RuntimeDefault\"}},\"volumeMounts\":[{"
            "\"name\":\"kcp\",\"mountPath\":\"/kcp\",\"readOnly\":true}]}],\"volumes\":[{\"name\":"
            "\"kcp\",\"secret\":{\"secretName\":%s}}]}}}",
            n->quoted, n->quoted, quoted(a, fingerprint(a, i->kubeconfig)), n->quoted,
            quoted(a, i->image), args, n->quoted));
}

void syncer_install_member(struct arena *a, const struct syncer_install *i,
                           struct syncer_object out[SYNCER_OBJECTS])
{
    struct names n = names_of(a, i);
    str text = base64_encode(a, BASE64_STD, secret_reveal(i->kubeconfig));
    size_t at = 0;

    out[at++] = object(&n, "", "namespaces", STR_NONE, "Namespace", "");
    out[at++] = object(&n, "", "serviceaccounts", n.name, "ServiceAccount", "");
    out[at++] = member_role(&n, i);
    out[at++] = binding(&n, n.name);
    out[at++] = object(
        &n, "", "secrets", n.name, "Secret",
        arena_printf(a, ",\"type\":\"Opaque\",\"data\":{\"kubeconfig\":%s}", quoted(a, text)));
    out[at++] = deployment(&n, i);
    assert(at == SYNCER_OBJECTS);
}

/* Filled by the token controller. */
static struct syncer_object token_secret(const struct names *n, str namespace)
{
    struct arena *a = n->arena;
    struct syncer_object o = object(n, "", "secrets", namespace, "Secret",
                                    ",\"type\":\"kubernetes.io/service-account-token\"");

    o.object = json_set(
        a, o.object, "metadata.annotations",
        parsed(a, str_printf(a, "{\"kubernetes.io/service-account.name\":%s}", n->quoted)));
    return o;
}

void syncer_install_account(struct arena *a, const struct syncer_install *i,
                            struct syncer_object out[SYNCER_ACCOUNT_OBJECTS])
{
    struct names n = names_of(a, i);
    str home = STR(SYNCER_ACCOUNTS);
    size_t at = 0;

    out[at++] = object(&n, "", "serviceaccounts", home, "ServiceAccount", "");
    out[at++] = instance_role(&n, i);
    out[at++] = binding(&n, home);
    out[at++] = token_secret(&n, home);
    assert(at == SYNCER_ACCOUNT_OBJECTS);
}

void syncer_install_works_account(struct arena *a, const struct syncer_install *i,
                                  struct syncer_object out[SYNCER_WORKS_ACCOUNT_OBJECTS])
{
    struct names n = names_of(a, i);
    str home = STR(SYNCER_ACCOUNTS), works = karmada_execution_namespace(a, i->cluster);
    str leases = STR(SYNCER_LEASES);
    size_t at = 0;

    out[at++] = object(&n, "", "serviceaccounts", home, "ServiceAccount", "");
    out[at++] = works_role(&n, i);
    out[at++] = binding(&n, home);
    out[at++] = works_space_role(&n, works);
    out[at++] = space_binding(&n, works, home);
    out[at++] = lease_role(&n, leases, i->cluster);
    out[at++] = space_binding(&n, leases, home);
    out[at++] = token_secret(&n, home);
    assert(at == SYNCER_WORKS_ACCOUNT_OBJECTS);
    for (at = 0; at < SYNCER_WORKS_ACCOUNT_OBJECTS; at++)
        out[at].object = owned(a, out[at].object, i);
}
