/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/syncer_install.h"

#include <assert.h>

#include "base/banned.h"
#include "base/encode.h"
#include "http/sign.h"

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

str syncer_install_name(struct arena *a, str logical, str cluster, str uid)
{
    unsigned char hash[SHA224_SIZE];
    char digits[DIGITS];
    str prefix = STR("kcp-syncer-");
    size_t room = NAME_MAX_LEN - prefix.n - 1 - DIGITS;
    str name,
        all = str_printf(a, "%.*s/%.*s/%.*s", STR_ARG(logical), STR_ARG(cluster), STR_ARG(uid));

    sign_sha224(all, hash);
    hex_encode(digits, hash, DIGITS / 2);
    cluster = str_sub(cluster, 0, room);
    name = str_printf(a, "%.*s%.*s-%.*s", STR_ARG(prefix), STR_ARG(cluster), DIGITS, digits);
    return without_dots(a, name);
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
    struct names n = { .arena = a, .name = syncer_install_name(a, i->logical, i->cluster, i->uid) };

    n.quoted = quoted(a, n.name);
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

static struct syncer_object binding(const struct names *n, str namespace)
{
    return object(n, RBAC, "clusterrolebindings", STR_NONE, "ClusterRoleBinding",
                  arena_printf(n->arena,
                               ",\"roleRef\":{\"apiGroup\":\"" RBAC
                               "\",\"kind\":\"ClusterRole\",\"name\":%s},\"subjects\":[{\"kind\":"
                               "\"ServiceAccount\",\"name\":%s,\"namespace\":%s}]",
                               n->quoted, n->quoted, quoted(n->arena, namespace)));
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

static struct syncer_object role(const struct names *n, struct json_array *rules)
{
    return object(n, RBAC, "clusterroles", STR_NONE, "ClusterRole",
                  arena_printf(n->arena, ",\"rules\":%s",
                               str_z(n->arena, json_text(n->arena, json_array_done(rules)))));
}

static struct syncer_object member_role(const struct names *n, const struct syncer_types *types)
{
    struct json_array rules = json_array_new(n->arena);

    add_rule(&rules, "get create patch", STR_NONE, "namespaces", STR_NONE);
    add_types(&rules, types, "get list watch create patch delete", "");
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
    const char *args = arena_printf(a,
                                    "[\"syncer\",\"--from\",\"/kcp/kubeconfig\",\"--cluster\",%s,"
                                    "\"--feeds\",\"labels\",\"--heartbeat\",\"%lld\"]",
                                    quoted(a, i->cluster), (long long)i->beat_s);

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
    out[at++] = member_role(&n, i->types);
    out[at++] = binding(&n, n.name);
    out[at++] = object(
        &n, "", "secrets", n.name, "Secret",
        arena_printf(a, ",\"type\":\"Opaque\",\"data\":{\"kubeconfig\":%s}", quoted(a, text)));
    out[at++] = deployment(&n, i);
    assert(at == SYNCER_OBJECTS);
}

void syncer_install_account(struct arena *a, const struct syncer_install *i,
                            struct syncer_object out[SYNCER_ACCOUNT_OBJECTS])
{
    struct names n = names_of(a, i);
    str home = STR(SYNCER_ACCOUNTS);
    const struct json *notes =
        parsed(a, str_printf(a, "{\"kubernetes.io/service-account.name\":%s}", n.quoted));
    size_t at = 0;

    out[at++] = object(&n, "", "serviceaccounts", home, "ServiceAccount", "");
    out[at++] = instance_role(&n, i);
    out[at++] = binding(&n, home);
    out[at] = object(&n, "", "secrets", home, "Secret",
                     ",\"type\":\"kubernetes.io/service-account-token\"");
    out[at].object = json_set(a, out[at].object, "metadata.annotations", notes);
    at++;
    assert(at == SYNCER_ACCOUNT_OBJECTS);
}
