/* SPDX-License-Identifier: Apache-2.0 */
#include "client/in_cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/banned.h"
#include "json/json.h"

/* k8s: client-go/rest/config.go, InClusterConfig */
static const char host_name[] = "KUBERNETES_SERVICE_HOST", port_name[] = "KUBERNETES_SERVICE_PORT";

static const char *env(const char *name)
{
    const char *value = getenv(name);

    return value ? value : "";
}

const char *in_cluster_dir(void)
{
    const char *dir = env("KAIRSHIP_SERVICE_ACCOUNT_DIR");

    return *dir ? dir : IN_CLUSTER_DIR;
}

bool in_cluster(void)
{
    return *env(host_name) && *env(port_name);
}

/* Empty if there is none: then "default" is meant. */
static str own_namespace(struct arena *a, const char *dir)
{
    FILE *f = fopen(arena_printf(a, "%s/namespace", dir), "re");
    char line[256] = "";

    if (!f)
        return STR_NONE;
    if (!fgets(line, sizeof(line), f))
        line[0] = 0;
    (void)fclose(f);
    return str_dup(a, str_trim(str_of(line)));
}

static struct json entry(struct arena *a, const char *kind, const struct json *what)
{
    struct json_object o = json_object_new(a);

    json_add(&o, STR("name"), json_of_str(STR("in-cluster")));
    json_add(&o, str_of(kind), *what);
    return json_object_value(&o);
}

static const struct json *with_entry(struct arena *a, const struct json *v, const char *list,
                                     const char *kind, const struct json *what)
{
    struct json_array r = json_array_new(a);

    json_push(&r, entry(a, kind, what));
    return json_set(a, v, list, json_array_done(&r));
}

static const struct json *text(struct arena *a, str s)
{
    return json_box(a, json_of_str(s));
}

static const struct json *with_text(struct arena *a, const struct json *v, const char *name, str s)
{
    return json_set(a, v, name, text(a, s));
}

/* A kubeconfig that says the same, so that there is one place that understands them. */
static const struct json *as_kubeconfig(struct arena *a)
{
    const struct json *cluster = &json_empty_object, *user = &json_empty_object,
                      *context = &json_empty_object, *v = &json_empty_object;
    const char *host = env(host_name);
    bool v6 = strchr(host, ':') != NULL;

    cluster = with_text(
        a, cluster, "server",
        str_printf(a, "https://%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "", env(port_name)));
    cluster = with_text(a, cluster, "certificate-authority", STR("ca.crt"));
    user = with_text(a, user, "tokenFile", STR("token"));
    context = with_text(a, context, "cluster", STR("in-cluster"));
    context = with_text(a, context, "user", STR("in-cluster"));
    v = with_entry(a, v, "clusters", "cluster", cluster);
    v = with_entry(a, v, "users", "user", user);
    v = with_entry(a, v, "contexts", "context", context);
    return with_text(a, v, "current-context", STR("in-cluster"));
}

int in_cluster_config(struct arena *a, const char *dir, struct kubeconfig *out, struct status *st)
{
    if (!in_cluster())
        return status_set(st, REASON_NOT_FOUND,
                          "this is not a pod: %s and %s are not both in the environment", host_name,
                          port_name);
    if (kubeconfig_parse(a, secret_of(json_text(a, as_kubeconfig(a))), KUBECONFIG_PERSON,
                         str_of(dir), STR_NONE, out, st) < 0)
        return status_wrap(st, "in-cluster");
    out->namespace = own_namespace(a, dir);
    return 0;
}
