/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admission_config.h"

#include "apiserver/call/config_document.h"
#include "base/banned.h"

#define TYPE(name) "io.k8s.apiserver.config.v1." name

static const char table[] = "table io.k8s.apiserver.config.v1\n"
                            "root AdmissionConfiguration\n"
                            "  plugins - []AdmissionPluginConfiguration\n"
                            "type AdmissionPluginConfiguration\n"
                            "  name - string\n"
                            "  path - string\n"
                            "  configuration - any\n"
                            "root EventRateLimit\n"
                            "  limits - []Limit\n"
                            "type Limit\n"
                            "  type - string\n"
                            "  qps - int32\n"
                            "  burst - int32\n"
                            "  cacheSize - int32\n"
                            "root ResourceQuota\n"
                            "  limitedResources - []LimitedResource\n"
                            "type LimitedResource\n"
                            "  apiGroup - string\n"
                            "  resource - string\n"
                            "  matchContains - []string\n"
                            "  matchScopes - []ScopeRequirement\n"
                            "type ScopeRequirement\n"
                            "  scopeName - string\n"
                            "  operator - string\n"
                            "  values - []string\n";

/* k8s: eventratelimit/apis/eventratelimit/v1alpha1/defaults.go */
enum { CACHE_DEFAULT = 4096 };

static const char *const types[] = {
    [EVENT_LIMIT_NAMESPACE] = "Namespace",
    [EVENT_LIMIT_SERVER] = "Server",
    [EVENT_LIMIT_SOURCE_AND_OBJECT] = "SourceAndObject",
    [EVENT_LIMIT_USER] = "User",
};
enum { TYPES = sizeof(types) / sizeof(*types) };

const char *event_limit_name(enum event_limit_type type)
{
    return types[type];
}

struct config_identity {
    const char *api_version, *kind;
};

static int check_identity(const struct json *v, const struct config_identity *known, size_t n,
                          struct status *st)
{
    str api_version = json_get_str(v, "apiVersion"), kind = json_get_str(v, "kind");

    for (size_t i = 0; i < n; i++)
        if (str_is(api_version, known[i].api_version) && str_is(kind, known[i].kind))
            return 0;
    return status_set(st, REASON_BAD_REQUEST,
                      "it is a \"%.*s\" of \"%.*s\", and must be a %s of %s", STR_ARG(kind),
                      STR_ARG(api_version), known[0].kind, known[0].api_version);
}

/* ---- EventRateLimit ---- */

static void too_small(struct status *st, str at, const char *field, int64_t n, const char *why)
{
    status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.%s", STR_ARG(at), field),
                 str_printf(st->arena, "%lld", (long long)n), "%s", why);
}

/* k8s: eventratelimit/apis/eventratelimit/validation */
static void read_limit(const struct json *v, size_t i, struct event_limit *out, struct status *st)
{
    const struct json *cache = json_get(v, STR("cacheSize"));
    str at = str_printf(st->arena, "limits[%zu]", i), type = json_get_str(v, "type");
    int64_t n = json_int(cache, 0);
    unsigned t = 0;

    while (t < TYPES && !str_is(type, types[t]))
        t++;
    if (t == TYPES)
        status_cause(st, CAUSE_NOT_SUPPORTED, str_printf(st->arena, "%.*s.type", STR_ARG(at)),
                     str_printf(st->arena, "\"%.*s\"", STR_ARG(type)),
                     "supported values: \"Namespace\", \"Server\", \"SourceAndObject\", "
                     "\"User\"");
    *out = (struct event_limit){ .type = t < TYPES ? (enum event_limit_type)t : 0,
                                 .qps = json_int(json_get(v, STR("qps")), 0),
                                 .burst = json_int(json_get(v, STR("burst")), 0),
                                 .cache = n > 0 ? (size_t)n : CACHE_DEFAULT };
    if (out->burst <= 0)
        too_small(st, at, "burst", out->burst, "must be positive");
    if (out->qps <= 0)
        too_small(st, at, "qps", out->qps, "must be positive");
    if (n < 0)
        too_small(st, at, "cacheSize", n, "must not be negative");
    if (out->cache > EVENT_CACHE_MAX)
        status_cause(st, CAUSE_INVALID, str_printf(st->arena, "%.*s.cacheSize", STR_ARG(at)),
                     str_printf(st->arena, "%zu", out->cache), "must be less than or equal to %d",
                     EVENT_CACHE_MAX);
}

static void check_twice(const struct admission_config *c, struct status *st)
{
    const struct event_limit *last = &c->limits[c->nlimits];

    for (size_t i = 0; i < c->nlimits; i++)
        if (c->limits[i].type == last->type)
            status_cause(st, CAUSE_DUPLICATE, str_printf(st->arena, "limits[%zu].type", c->nlimits),
                         str_printf(st->arena, "\"%s\"", types[last->type]), "%s", "");
}

static int read_event_rate(struct arena *a, const struct json *v, struct admission_config *out,
                           struct status *st)
{
    static const struct config_identity known[] = {
        { "eventratelimit.admission.k8s.io/v1alpha1", "Configuration" },
    };
    const struct json *limits;

    if (check_identity(v, known, 1, st) < 0 ||
        config_decode(a, table, TYPE("EventRateLimit"), v, &v, st) < 0)
        return -1;
    limits = json_get(v, STR("limits"));
    if (json_len(limits) == 0)
        status_cause(st, CAUSE_INVALID, STR("limits"), STR("{}"), "must not be empty");
    if (json_len(limits) > EVENT_LIMITS_MAX)
        return status_set(st, REASON_BAD_REQUEST, "there are at most %d limits", EVENT_LIMITS_MAX);
    json_for_each (l, limits) {
        read_limit(l, out->nlimits, &out->limits[out->nlimits], st);
        check_twice(out, st);
        out->nlimits++;
    }
    return status_invalid(st, STR("eventratelimit.admission.k8s.io"), STR("Configuration"),
                          STR_NONE);
}

/* ---- ResourceQuota ---- */

static void check_limited(const struct json *v, size_t i, struct status *st)
{
    static const char *const operators[] = { "In", "NotIn", "Exists", "DoesNotExist", NULL };
    struct arena *a = st->arena;

    /* k8s: resourcequota/apis/resourcequota/validation */
    if (json_get_str(v, "resource").n == 0)
        status_cause(st, CAUSE_REQUIRED, str_printf(a, "limitedResources[%zu].resource", i),
                     STR_NONE, "%s", "");
    json_for_each (s, json_get(v, STR("matchScopes")))
        if (!str_is_any(json_get_str(s, "operator"), operators))
            status_cause(st, CAUSE_NOT_SUPPORTED,
                         str_printf(a, "limitedResources[%zu].matchScopes.operator", i),
                         json_text(a, json_get(s, STR("operator"))),
                         "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"");
}

static int read_quota(struct arena *a, const struct json *v, struct admission_config *out,
                      struct status *st)
{
    static const struct config_identity known[] = {
        { "apiserver.config.k8s.io/v1", "ResourceQuotaConfiguration" },
        { "resourcequota.admission.k8s.io/v1beta1", "Configuration" },
        { "resourcequota.admission.k8s.io/v1alpha1", "Configuration" },
    };
    size_t i = 0;

    if (check_identity(v, known, sizeof(known) / sizeof(*known), st) < 0 ||
        config_decode(a, table, TYPE("ResourceQuota"), v, &v, st) < 0)
        return -1;
    out->limited = json_get(v, STR("limitedResources"));
    json_for_each (l, out->limited)
        check_limited(l, i++, st);
    return status_invalid(st, STR("apiserver.config.k8s.io"), STR("ResourceQuotaConfiguration"),
                          STR_NONE);
}

/* ---- the document ---- */

static const struct {
    const char *name;
    int (*read)(struct arena *a, const struct json *v, struct admission_config *out,
                struct status *st);
} plugins[] = {
    { "EventRateLimit", read_event_rate },
    { "ResourceQuota", read_quota },
};
enum { PLUGINS = sizeof(plugins) / sizeof(*plugins) };

static int load(struct arena *a, const struct json *plugin, admission_file_fn *file, void *arg,
                const struct json **out, struct status *st)
{
    str path = json_get_str(plugin, "path"), text;

    *out = json_get(plugin, STR("configuration"));
    if (*out && path.n)
        return status_set(st, REASON_BAD_REQUEST, "it has a path and a configuration");
    if (path.n)
        return file(a, arg, path, &text, st) < 0 || config_parse(a, text, out, st) < 0 ? -1 : 0;
    if (!*out)
        return status_set(st, REASON_BAD_REQUEST, "it has neither a path nor a configuration");
    return 0;
}

static int read_plugin(struct arena *a, const struct json *v, admission_file_fn *file, void *arg,
                       struct admission_config *out, unsigned *seen, struct status *st)
{
    const struct json *config = NULL;
    str name = json_get_str(v, "name");
    unsigned i = 0;

    while (i < PLUGINS && !str_is(name, plugins[i].name))
        i++;
    if (i == PLUGINS)
        return status_set(st, REASON_BAD_REQUEST,
                          "there is no admission plugin \"%.*s\" that takes a configuration here: "
                          "EventRateLimit and ResourceQuota do",
                          STR_ARG(name));
    if (*seen >> i & 1)
        return status_set(st, REASON_BAD_REQUEST, "the plugin \"%.*s\" is there twice",
                          STR_ARG(name));
    *seen |= 1u << i;
    if (load(a, v, file, arg, &config, st) < 0 || plugins[i].read(a, config, out, st) < 0)
        return status_wrap(st, "plugin %s", plugins[i].name);
    return 0;
}

int admission_config_read(struct arena *a, str text, admission_file_fn *file, void *arg,
                          struct admission_config *out, struct status *st)
{
    static const struct config_identity known[] = {
        { "apiserver.config.k8s.io/v1", "AdmissionConfiguration" },
    };
    struct admission_config read = { 0 };
    const struct json *v;
    unsigned seen = 0;

    if (config_parse(a, text, &v, st) < 0 || check_identity(v, known, 1, st) < 0 ||
        config_decode(a, table, TYPE("AdmissionConfiguration"), v, &v, st) < 0)
        return -1;
    json_for_each (p, json_get(v, STR("plugins")))
        if (read_plugin(a, p, file, arg, &read, &seen, st) < 0)
            return -1;
    *out = read;
    return 0;
}
