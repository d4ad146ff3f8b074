/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/audit/audit_redact.h"

#include "base/banned.h"

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

struct redaction {
    struct arena *arena;
    bool secrets;    /* all of it is Secrets */
    bool configmaps; /* whose data may be seen */
    bool sensitive;
    bool omit_managed_fields;
};

static const char *const names[] = { "token",     "password", "kubeconfig",    "kubeConfigString",
                                     "tokenData", "keyData",  "clientKeyData", LAST_APPLIED };

static bool is_hidden_name(str name)
{
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static bool is_resource(const struct reqinfo *info, const char *group, const char *resource)
{
    return info->is_resource && str_is(info->group, group) && str_is(info->resource, resource);
}

bool audit_is_sensitive(const struct reqinfo *info)
{
    static const struct {
        const char *group, *resource;
    } rows[] = { { "", "secrets" },
                 { "authentication.k8s.io", "tokenreviews" },
                 { "iam.kairship.io", "logins" },
                 { "work.karmada.io", "works" },
                 { "workload.kcp.dev", "clusters" },
                 { "cluster.clusterpedia.io", "pediaclusters" } };

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (is_resource(info, rows[i].group, rows[i].resource))
            return true;
    if (info->is_resource &&
        !info->resource.n) /* it may be about Secrets: several objects at once */
        return true;
    return is_resource(info, "", "serviceaccounts") && str_is(info->subresource, "token");
}

/* "/spec/workload/manifests/0/data/x" leads to something that is hidden. */
static bool path_is_hidden(const struct redaction *r, str path)
{
    str part;

    for (str rest = path; str_split(&rest, '/', &part);)
        if (is_hidden_name(part) || str_is(part, "stringData") ||
            (str_is(part, "data") && !r->configmaps) ||
            str_ends(part, STR("last-applied-configuration")))
            return true;
    return r->secrets;
}

/* The keys of a map are seen, the values are not. */
static struct json hide(const struct redaction *r, const struct json *v)
{
    struct json_object o;

    if (!json_is(v, JSON_OBJECT))
        return json_is(v, JSON_NULL) ? *v : json_of_str(STR(AUDIT_REDACTED));
    o = json_object_new(r->arena);
    json_for_each_member (m, v)
        json_add(&o, m->name,
                 json_is(&m->value, JSON_NULL) ? m->value : json_of_str(STR(AUDIT_REDACTED)));
    return json_object_value(&o);
}

static struct json redact(const struct redaction *r, const struct json *v);

/* What a Secret has beside its data; anything else in one may be data with a typing error. */
static bool is_of_secret(str name)
{
    static const char *const known[] = { "kind", "apiVersion", "metadata", "type", "immutable" };

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (str_is(name, known[i]))
            return true;
    return false;
}

/* Of an object that is a Secret (of which only is_of_secret is seen), or an operation. */
static struct json redact_member(const struct redaction *r, const struct json_member *m,
                                 bool secret, bool operation)
{
    if (secret && !is_of_secret(m->name))
        return hide(r, &m->value);
    if (str_is(m->name, "stringData") || (r->secrets && str_is(m->name, "data")))
        return hide(r, &m->value);
    if (operation && str_is(m->name, "value"))
        return json_of_str(STR(AUDIT_REDACTED));
    /* Of a wrong type it is one all the same; but schemas have such names, too. */
    if (is_hidden_name(m->name) && (r->sensitive || !json_is(&m->value, JSON_OBJECT)))
        return hide(r, &m->value);
    return redact(r, &m->value);
}

static struct json redact_object(const struct redaction *r, const struct json *v, bool secret)
{
    struct json_object o = json_object_new(r->arena);
    str path = json_str(json_get(v, STR("path")));
    bool operation = path.n && json_get(v, STR("value")) && path_is_hidden(r, path);

    json_for_each_member (m, v) {
        if (r->omit_managed_fields && str_is(m->name, "managedFields"))
            continue;
        json_add(&o, m->name, redact_member(r, m, secret, operation));
    }
    return json_object_value(&o);
}

static struct json redact(const struct redaction *r, const struct json *v)
{
    struct json_array out;

    if (json_is(v, JSON_OBJECT))
        return redact_object(r, v, str_is(json_get_str(v, "kind"), "Secret"));
    if (!json_is(v, JSON_ARRAY))
        return *v;
    out = json_array_new(r->arena);
    json_for_each (item, v)
        json_push(&out, redact(r, item));
    return json_array_value(&out);
}

const struct json *audit_redact(struct arena *a, const struct json *v, const struct reqinfo *info,
                                bool omit_managed_fields)
{
    const struct redaction r = { .arena = a,
                                 .secrets = is_resource(info, "", "secrets"),
                                 .configmaps = is_resource(info, "", "configmaps"),
                                 .sensitive = audit_is_sensitive(info),
                                 .omit_managed_fields = omit_managed_fields };

    /* Patches, and bodies of careless clients, do not say what they are. */
    if (r.secrets && json_is(v, JSON_OBJECT) && !json_get(v, STR("kind")) &&
        !json_get(v, STR("items")) && !json_get(v, STR("rows")))
        return json_box(a, redact_object(&r, v, true));
    return json_box(a, redact(&r, v));
}
