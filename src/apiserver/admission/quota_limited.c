/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/quota.h"
#include "base/banned.h"

/* k8s: apiserver/pkg/admission/plugin/resourcequota/controller.go CheckRequest */

static bool names_kind(const struct json *limited, const struct kind *k)
{
    return str_eq(json_get_str(limited, "resource"), k->plural) &&
           str_eq(json_get_str(limited, "apiGroup"), k->group);
}

static bool contains_one(str name, const struct json *parts)
{
    json_for_each (p, parts)
        if (str_contains(name, json_str(p)))
            return true;
    return false;
}

static bool is_limited(const struct json *limited, const struct kind *k, str name)
{
    json_for_each (l, limited)
        if (names_kind(l, k) && contains_one(name, json_get(l, STR("matchContains"))))
            return true;
    return false;
}

static bool is_covered(const struct json *quotas, const struct kind *k, const struct json *obj,
                       str name)
{
    json_for_each (q, quotas)
        if (quota_covers(q, k, obj, name))
            return true;
    return false;
}

/* The names that it uses, and that no quota limits. */
static str uncovered_names(struct arena *a, const struct kind *k, const struct json *limited,
                           const struct json *quotas, const struct json *obj)
{
    struct amounts use = quota_use_all(a, k, obj);
    scoped_buf b = { .max = 1 << 20 };

    for (size_t i = 0; i < use.n; i++) {
        str name = use.at[i].name;

        if (use.at[i].q.nanos > 0 && is_limited(limited, k, name) &&
            !is_covered(quotas, k, obj, name))
            buf_printf(&b, "%s%.*s", b.n ? "," : "", STR_ARG(name));
    }
    return str_dup(a, buf_str(&b));
}

static bool has_scope(const struct json *quota, const struct kind *k, const struct json *obj,
                      str scope)
{
    json_for_each (s, json_path(quota, "spec.scopes"))
        if (str_eq(json_str(s), scope) && quota_in_scope(k, obj, scope, STR("Exists"), NULL))
            return true;
    json_for_each (e, json_path(quota, "spec.scopeSelector.matchExpressions"))
        if (str_eq(json_get_str(e, "scopeName"), scope) &&
            quota_in_scope(k, obj, scope, json_get_str(e, "operator"), json_get(e, STR("values"))))
            return true;
    return false;
}

static bool scope_is_covered(const struct json *quotas, const struct kind *k,
                             const struct json *obj, str scope)
{
    json_for_each (q, quotas)
        if (has_scope(q, k, obj, scope))
            return true;
    return false;
}

/* Their names; nothing if there are none. */
static str uncovered_scopes(struct arena *a, const struct kind *k, const struct json *limited,
                            const struct json *quotas, const struct json *obj)
{
    scoped_buf b = { .max = 1 << 20 };

    json_for_each (l, limited)
        json_for_each (s, json_get(l, STR("matchScopes"))) {
            str scope = json_get_str(s, "scopeName"), op = json_get_str(s, "operator");
            const struct json *values = json_get(s, STR("values"));

            if (!quota_in_scope(k, obj, scope, op, values) ||
                scope_is_covered(quotas, k, obj, scope))
                continue;
            buf_printf(&b, "%s%.*s", b.n ? ", " : "", STR_ARG(scope));
        }
    return str_dup(a, buf_str(&b));
}

/* k8s: most kinds are looked at when they are made, and an update that asks for no more is not. */
static bool concerns(struct arena *a, const struct kind *k, const struct rest_change *change)
{
    struct amounts now, was, more;
    bool measured =
        k->group.n == 0 && (str_is(k->plural, "services") || str_is(k->plural, "pods") ||
                            str_is(k->plural, "persistentvolumeclaims"));

    if (!change->old)
        return true;
    if (!measured)
        return false;
    now = quota_use_all(a, k, change->obj);
    was = quota_use_all(a, k, change->old);
    more = amounts_add(a, &now, -1, &was);
    for (size_t i = 0; i < more.n; i++)
        if (more.at[i].q.nanos > 0)
            return true;
    return false;
}

int quota_check_limited(struct rest_request *req, const struct json *limited,
                        const struct json *quotas, const struct rest_change *change,
                        struct status *st)
{
    const struct kind *k = req->kind;
    struct arena *a = req->arena;
    str names, scopes;

    if (!json_len(limited) || !concerns(a, k, change))
        return 0;
    names = uncovered_names(a, k, limited, quotas, change->obj);
    if (names.n)
        return status_forbidden(st, k->group, k->plural, json_get_str(change->obj, "metadata.name"),
                                "insufficient quota to consume: %.*s", STR_ARG(names));
    scopes = uncovered_scopes(a, k, limited, quotas, change->obj);
    if (scopes.n)
        return status_set(st, REASON_UNKNOWN, "insufficient quota to match these scopes: %.*s",
                          STR_ARG(scopes));
    return 0;
}
