/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/admissionregistration.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"

/* k8s: pkg/apis/admissionregistration/validation/validation.go */

enum { CONDITIONS_MAX = 64 };

/* ---- what webhooks and policies share ---- */

const struct cel_program *admission_check_expression(struct status *st,
                                                     const struct site *expression,
                                                     const struct cel_admission *scope,
                                                     enum cel_admission_result result)
{
    const struct cel_program *p = NULL;
    str why;

    if (str_trim(json_str(expression->v)).n == 0) {
        site_missing(st, expression, "");
        return NULL;
    }
    p = cel_admission_compile(st->arena, json_str(expression->v), scope, result, &why);
    if (!p)
        site_fault(st, expression, CAUSE_INVALID, "%.*s", STR_ARG(why));
    else if (cel_unmade(p).n)
        status_cause(st, CAUSE_INTERNAL, site_path(st->arena, expression), STR_NONE, "%.*s",
                     STR_ARG(cel_unmade(p)));
    return p;
}

void admission_check_conditions(struct status *st, const struct site *conditions,
                                const struct cel_admission *scope)
{
    struct map seen = { 0 };

    if (json_len(conditions->v) > CONDITIONS_MAX)
        status_cause(st, CAUSE_TOO_MANY, site_path(st->arena, conditions),
                     str_printf(st->arena, "%zu", json_len(conditions->v)),
                     "must have at most %d items", CONDITIONS_MAX);
    site_each(c, conditions)
    {
        struct site name = site_in(&c, "name"), expression = site_in(&c, "expression");

        (void)admission_check_expression(st, &expression, scope, ADMISSION_BOOL);
        if (site_required(st, &name))
            continue;
        (void)site_qualified(st, &name);
        if (site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
    }
    map_release(&seen);
}

/* A list of words: there are some, and * stands alone. */
static void check_words(struct status *st, const struct site *rule, const char *name,
                        const char *what, bool empty_allowed)
{
    struct site list = site_in(rule, name);
    bool all = false;

    if (json_len(list.v) == 0)
        site_missing(st, &list, "");
    site_each(word, &list)
    {
        all = all || str_is(json_str(word.v), "*");
        if (!empty_allowed && json_str(word.v).n == 0)
            site_missing(st, &word, "");
    }
    if (all && json_len(list.v) > 1)
        site_fault(st, &list, CAUSE_INVALID, "if '*' is present, must not specify other %s", what);
}

static bool has_word(const struct json *list, str word)
{
    json_for_each (v, list)
        if (str_eq(json_str(v), word))
            return true;
    return false;
}

/* Each says something that no other one says already.  k8s: validateResources */
static void check_overlap(struct status *st, const struct site *resources)
{
    bool plain = false;

    site_each(r, resources)
    {
        str text = json_str(r.v), name = text, sub = STR_NONE;
        ptrdiff_t slash = str_find(text, '/', 0);

        if (slash >= 0) {
            name = str_sub(text, 0, (size_t)slash);
            sub = str_from(text, (size_t)slash + 1);
        }
        plain = plain || (slash < 0 && !str_is(text, "*"));
        if (slash < 0 || str_is(text, "*/*"))
            continue;
        if (!str_is(sub, "*") &&
            has_word(resources->v, str_printf(st->arena, "%.*s/*", STR_ARG(name))))
            site_fault(st, &r, CAUSE_INVALID, "if '%.*s/*' is present, must not specify %.*s",
                       STR_ARG(name), STR_ARG(text));
        if (!str_is(name, "*") &&
            has_word(resources->v, str_printf(st->arena, "*/%.*s", STR_ARG(sub))))
            site_fault(st, &r, CAUSE_INVALID, "if '*/%.*s' is present, must not specify %.*s",
                       STR_ARG(sub), STR_ARG(text));
    }
    if (json_len(resources->v) > 1 && has_word(resources->v, STR("*/*")))
        site_invalid(st, resources, "if '*/*' is present, must not specify other resources");
    if (plain && has_word(resources->v, STR("*")))
        site_invalid(st, resources,
                     "if '*' is present, must not specify other resources without subresources");
}

static void check_resources(struct status *st, const struct site *resources)
{
    if (json_len(resources->v) == 0)
        site_missing(st, resources, "");
    site_each(r, resources)(void) site_required(st, &r);
    check_overlap(st, resources);
}

void admission_check_rule(struct status *st, const struct site *rule)
{
    static const char *const known[] = { "*", "CONNECT", "CREATE", "DELETE", "UPDATE", NULL };
    static const char *const scopes[] = { "*", "Cluster", "Namespaced", NULL };
    struct site operations = site_in(rule, "operations"), scope = site_in(rule, "scope");
    struct site resources = site_in(rule, "resources");

    check_words(st, rule, "operations", "operations", true);
    site_each(o, &operations) site_enum(st, &o, known);
    check_words(st, rule, "apiGroups", "API groups", true);
    check_words(st, rule, "apiVersions", "API versions", false);
    check_resources(st, &resources);
    site_enum(st, &scope, scopes);
}

/* ---- webhooks ---- */

static const struct cel_admission webhook_scope = { .policy = false };

/* k8s: IsFullyQualifiedName */
static void check_full_name(struct status *st, const struct site *name)
{
    str rest = json_str(name->v), part;
    size_t parts = 0;

    if (site_required(st, name) || !site_name(st, name, NAME_SUBDOMAIN))
        return;
    while (str_split(&rest, '.', &part))
        parts++;
    if (parts < 3)
        site_invalid(st, name, "should be a domain with at least three segments separated by dots");
}

#define FORM "; desired format: https://host[/path]"

struct url_parts {
    str scheme; /* without bytes: there is none; empty: it is missing */
    str user, host, query, fragment;
};

/* What is behind the first c, which is cut off with it. */
static str cut_behind(str *s, char c)
{
    ptrdiff_t at = str_find(*s, c, 0);
    str behind = at < 0 ? STR_NONE : str_from(*s, (size_t)at + 1);

    if (at >= 0)
        *s = str_sub(*s, 0, (size_t)at);
    return behind;
}

/* As Go's net/url cuts it. */
static struct url_parts url_parts_of(str text)
{
    struct url_parts u = { 0 };
    ptrdiff_t colon, at;

    u.fragment = cut_behind(&text, '#');
    u.query = cut_behind(&text, '?');
    colon = str_find(text, ':', 0);
    if (colon >= 0 && (str_find(text, '/', 0) < 0 || str_find(text, '/', 0) > colon)) {
        u.scheme = str_sub(text, 0, (size_t)colon);
        text = str_from(text, (size_t)colon + 1);
    }
    if (!str_starts(text, STR("//")))
        return u;
    text = str_from(text, 2);
    (void)cut_behind(&text, '/');
    at = str_find(text, '@', 0);
    if (at >= 0)
        u.user = str_sub(text, 0, (size_t)at);
    u.host = at >= 0 ? str_from(text, (size_t)at + 1) : text;
    return u;
}

static void url_fault(struct status *st, const struct site *url, str part, const char *why)
{
    status_cause(st, CAUSE_INVALID, site_path(st->arena, url), check_quote(st->arena, part), "%s",
                 why);
}

/* k8s: apiserver/pkg/util/webhook ValidateWebhookURL */
static void check_url(struct status *st, const struct site *url)
{
    struct url_parts u = url_parts_of(json_str(url->v));

    if (u.scheme.p && !u.scheme.n) {
        site_fault(st, url, CAUSE_REQUIRED,
                   "url must be a valid URL: parse %.*s: missing protocol scheme" FORM,
                   STR_ARG(check_quote(st->arena, json_str(url->v))));
        return;
    }
    if (!str_is(u.scheme, "https"))
        url_fault(st, url, u.scheme, "'https' is the only allowed URL scheme" FORM);
    if (!u.host.n)
        url_fault(st, url, STR_NONE, "host must be specified" FORM);
    if (u.user.n)
        url_fault(st, url, u.user, "user information is not permitted in the URL");
    if (u.fragment.n)
        url_fault(st, url, u.fragment, "fragments are not permitted in the URL");
    if (u.query.n)
        url_fault(st, url, u.query, "query parameters are not permitted in the URL");
}

/* k8s: apiserver/pkg/util/webhook ValidateWebhookService */
static void check_path(struct status *st, const struct site *path)
{
    str text = json_str(path->v), rest, part;

    if (!text.n || str_is(text, "/"))
        return;
    if (text.p[0] != '/')
        site_invalid(st, path, "must start with a '/'");
    rest = str_from(text, 1); /* k8s: whatever the first is */
    if (rest.n && rest.p[rest.n - 1] == '/')
        rest = str_sub(rest, 0, rest.n - 1);
    for (size_t i = 0; str_split(&rest, '/', &part); i++) {
        str faults[NAME_FAULTS];
        size_t n = part.n ? name_faults(NAME_SUBDOMAIN, part, faults) : 0;

        if (!part.n)
            site_fault(st, path, CAUSE_INVALID, "segment[%zu] may not be empty", i);
        for (size_t f = 0; f < n; f++)
            site_fault(st, path, CAUSE_INVALID, "segment[%zu]: %.*s", i, STR_ARG(faults[f]));
    }
}

static void check_service(struct status *st, const struct site *service)
{
    struct site name = site_in(service, "name"), namespace_ = site_in(service, "namespace");
    struct site path = site_in(service, "path"), port = site_in(service, "port");

    /* k8s: each is told where the other is missing */
    if (!json_str(namespace_.v).n)
        site_missing(st, &name, "");
    if (!json_str(name.v).n)
        site_missing(st, &namespace_, "");
    site_service_port(st, &port);
    check_path(st, &path);
}

static void check_client(struct status *st, const struct site *client)
{
    struct site url = site_in(client, "url"), service = site_in(client, "service");

    if (!url.v == !service.v)
        site_missing(st, client, "exactly one of url or service is required");
    else if (url.v)
        check_url(st, &url);
    else
        check_service(st, &service);
}

static void check_versions(struct status *st, const struct site *versions)
{
    struct map seen = { 0 };
    bool known = false;

    if (json_len(versions->v) == 0)
        site_missing(st, versions, "must specify one of v1, v1beta1");
    site_each(v, versions)
    {
        str version = json_str(v.v);

        if (site_seen(&seen, version))
            site_invalid(st, &v, "duplicate version");
        else if (site_name(st, &v, NAME_LABEL_1035))
            known = known || str_is(version, "v1") || str_is(version, "v1beta1");
    }
    map_release(&seen);
    if (json_len(versions->v) && !known)
        site_invalid(st, versions, "must include at least one of v1, v1beta1");
}

static void check_policies(struct status *st, const struct site *hook)
{
    static const char *const failures[] = { "Fail", "Ignore", NULL };
    static const char *const matches[] = { "Equivalent", "Exact", NULL };
    static const char *const effects[] = { "None", "NoneOnDryRun", NULL };
    static const char *const again[] = { "IfNeeded", "Never", NULL };
    struct site effect = site_in(hook, "sideEffects"), match = site_in(hook, "matchPolicy");
    struct site failure = site_in(hook, "failurePolicy");
    struct site reinvocation = site_in(hook, "reinvocationPolicy");
    struct site seconds = site_in(hook, "timeoutSeconds");

    site_enum(st, &failure, failures);
    site_enum(st, &match, matches);
    if (!effect.v)
        site_missing(st, &effect, "must specify one of None, NoneOnDryRun");
    else
        site_enum(st, &effect, effects);
    if (json_int(seconds.v, 1) < 1 || json_int(seconds.v, 1) > 30)
        site_invalid(st, &seconds, "the timeout value must be between 1 and 30 seconds");
    site_enum(st, &reinvocation, again);
}

static void check_webhook(struct status *st, const struct site *hook)
{
    struct site name = site_in(hook, "name"), rules = site_in(hook, "rules");
    struct site client = site_in(hook, "clientConfig");
    struct site versions = site_in(hook, "admissionReviewVersions");
    struct site namespaces = site_in(hook, "namespaceSelector");
    struct site objects = site_in(hook, "objectSelector");
    struct site conditions = site_in(hook, "matchConditions");

    check_full_name(st, &name);
    site_each(rule, &rules) admission_check_rule(st, &rule);
    check_policies(st, hook);
    site_selector(st, &namespaces);
    site_selector(st, &objects);
    check_client(st, &client);
    admission_check_conditions(st, &conditions, &webhook_scope);
    check_versions(st, &versions);
}

static void configuration_validate(const struct kind_context *c, const struct json *obj,
                                   struct status *st)
{
    struct site root = site_root(obj), hooks = site_in(&root, "webhooks");
    struct map seen = { 0 };

    (void)c;
    site_each(hook, &hooks)
    {
        struct site name = site_in(&hook, "name");

        check_webhook(st, &hook);
        if (json_str(name.v).n && site_seen(&seen, json_str(name.v)))
            site_duplicate(st, &name);
    }
    map_release(&seen);
}

static void configuration_cells(struct arena *a, const struct json *obj, int64_t now_s,
                                struct json_array *cells)
{
    (void)a;
    cell_str(cells, obj, "metadata.name");
    json_push(cells, json_of_int((int64_t)json_len(json_get(obj, STR("webhooks")))));
    cell_age(cells, obj, now_s);
}

const struct kind_ops webhook_configuration_ops = {
    .validate = configuration_validate,
    .cells = configuration_cells,
};

/* ---- the group ---- */

static const struct column hook_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Webhooks", "How many webhooks."),
    AGE_COLUMN,
};
static const struct column policy_columns[] = {
    NAME_COLUMN,
    COUNT_COLUMN("Validations", "How many expressions."),
    COLUMN("ParamKind", "", 0, "The kind of its parameters."),
    AGE_COLUMN,
};
static const struct column binding_columns[] = {
    NAME_COLUMN,
    COLUMN("PolicyName", "", 0, "The policy."),
    COLUMN("ParamRef", "", 0, "Its parameters."),
    AGE_COLUMN,
};
static const str categories[] = { STR_INIT("api-extensions") };
static const struct subresource status_only[] = {
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static struct kind kinds[] = {
    {
        KIND_NAMES("MutatingWebhookConfiguration", "mutatingwebhookconfigurations",
                   "mutatingwebhookconfiguration"),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .bare_finalizers = true,
        .generation = true,
        LIST(columns, hook_columns),
        .ops = &webhook_configuration_ops,
    },
    {
        KIND_NAMES("ValidatingAdmissionPolicy", "validatingadmissionpolicies",
                   "validatingadmissionpolicy"),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .bare_finalizers = true,
        .generation = true,
        .status_meta = STATUS_META_ALL,
        LIST(subresources, status_only),
        LIST(columns, policy_columns),
        .ops = &admission_policy_ops,
    },
    {
        KIND_NAMES("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings",
                   "validatingadmissionpolicybinding"),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .bare_finalizers = true,
        .generation = true,
        LIST(columns, binding_columns),
        .ops = &admission_binding_ops,
    },
    {
        KIND_NAMES("ValidatingWebhookConfiguration", "validatingwebhookconfigurations",
                   "validatingwebhookconfiguration"),
        LIST(categories, categories),
        .verbs = VERBS_ALL,
        .bare_finalizers = true,
        .generation = true,
        LIST(columns, hook_columns),
        .ops = &webhook_configuration_ops,
    },
};

const struct group group_admissionregistration = {
    .name = STR_INIT("admissionregistration.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.admissionregistration.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
