/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/karmada.h"

#include "base/banned.h"

str karmada_execution_namespace(struct arena *a, str cluster)
{
    return str_printf(a, KARMADA_EXECUTION_PREFIX "%.*s", STR_ARG(cluster));
}

bool karmada_execution_cluster(str namespace, str *cluster)
{
    const str prefix = STR(KARMADA_EXECUTION_PREFIX);

    if (namespace.n == prefix.n || !str_starts(namespace, prefix))
        return false;
    *cluster = str_from(namespace, prefix.n);
    return true;
}

bool karmada_namespace_reserved(str namespace)
{
    return str_is(namespace, "karmada-system") || str_is(namespace, "karmada-cluster") ||
           str_starts(namespace, STR(KARMADA_EXECUTION_PREFIX));
}

/* A name as a part of another: ':' of RBAC's names is not allowed in most. */
static str part(struct arena *a, str s)
{
    char *p = str_z(a, s);

    for (size_t i = 0; i < s.n; i++) {
        if (p[i] == ':')
            p[i] = '.';
        else if (p[i] >= 'A' && p[i] <= 'Z')
            p[i] = (char)(p[i] - 'A' + 'a');
    }
    return (str){ p, s.n };
}

str karmada_binding_name(struct arena *a, str name, str kind)
{
    return part(a, str_printf(a, "%.*s-%.*s", STR_ARG(name), STR_ARG(kind)));
}

/* FNV-1a, and its decimal digits as letters that make no words. k8s: util/rand SafeEncodeString */
static str hash_name(struct arena *a, str s)
{
    static const char letters[] = "bcdfghjklmnpqrstvwxz2456789";
    uint32_t h = 2166136261U;
    str digits;
    char *p;

    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619U;
    digits = str_printf(a, "%u", h);
    p = str_z(a, digits);
    for (size_t i = 0; i < digits.n; i++)
        p[i] = letters[(unsigned char)p[i] % (sizeof(letters) - 1)];
    return (str){ p, digits.n };
}

/* karmada: pkg/util/names GenerateWorkName */
str karmada_work_name(struct arena *a, str namespace, str name, str kind)
{
    str plain = part(a, name);
    str whole = str_printf(a, "%.*s%s%.*s-%.*s", STR_ARG(namespace), namespace.n ? "-" : "",
                           STR_ARG(plain), STR_ARG(kind));
    str hash = hash_name(a, str_lower(a, whole));

    return str_printf(a, "%.*s-%.*s", STR_ARG(plain), STR_ARG(hash));
}

str karmada_depended_by(struct arena *a, str namespace, str name)
{
    str hash = hash_name(
        a, str_printf(a, "%.*s%s%.*s", STR_ARG(namespace), namespace.n ? "/" : "", STR_ARG(name)));

    return str_printf(a, KARMADA_DEPENDED_BY "%.*s", STR_ARG(hash));
}

str karmada_label(const struct json *object, const char *key)
{
    return json_str(json_get(json_path(object, "metadata.labels"), str_of(key)));
}

str karmada_annotation(const struct json *object, const char *key)
{
    return json_str(json_get(json_path(object, "metadata.annotations"), str_of(key)));
}
