/* SPDX-License-Identifier: Apache-2.0 */
#include "base/banned.h"
#include "base/clock.h"
#include "kinds/frame/check.h"
#include "kinds/k8s/groups.h"
#include "rest/duration.h"

/*
 * k8s: pkg/registry/certificates/certificates/strategy.go, pkg/apis/certificates/validation.  What
 * is inside of the request and of the certificate is looked at by admission, which can read X.509.
 */

enum { SIGNER_MAX = 571, DOMAIN_MAX = 253, DURATION_MIN_S = 600 };

static const char *const usages[] = {
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
};

/* ---- what the server fills in, and what stays ---- */

static struct json strings(struct arena *a, const str *values, size_t n)
{
    struct json_array r = json_array_new(a);

    for (size_t i = 0; i < n; i++)
        json_push(&r, json_of_str(str_dup(a, values[i])));
    return json_array_value(&r);
}

static struct json extra_of(struct arena *a, const struct identity *who)
{
    struct json_object o = json_object_new(a);

    for (size_t i = 0; i < who->nextra; i++)
        json_put(&o, str_dup(a, who->extra[i].key),
                 strings(a, who->extra[i].values, who->extra[i].nvalues));
    return json_object_value(&o);
}

/* Who asks is what the server knows of them, never what they say. */
static const struct json *prepare_create(const struct kind_context *c, const struct json *obj)
{
    static const char *const names[] = { "username", "uid", "groups", "extra" };
    const struct identity *who = c->who;
    const struct json *spec = json_get(obj, STR("spec"));
    struct json_object o = json_object_from(c->arena, spec ? spec : &json_empty_object);

    for (size_t i = 0; i < GROUP_LEN(names); i++)
        json_remove(&o, str_of(names[i]));
    if (who && who->user.n)
        json_put(&o, STR("username"), json_of_str(str_dup(c->arena, who->user)));
    if (who && who->uid.n)
        json_put(&o, STR("uid"), json_of_str(str_dup(c->arena, who->uid)));
    if (who && who->ngroups)
        json_put(&o, STR("groups"), strings(c->arena, who->groups, who->ngroups));
    if (who && who->nextra)
        json_put(&o, STR("extra"), extra_of(c->arena, who));
    obj = json_set(c->arena, obj, "spec", json_object_done(&o));
    return json_set(c->arena, obj, "status", &json_empty_object);
}

static bool is_type(const struct json *condition, const char *type)
{
    return str_is(json_get_str(condition, "type"), type);
}

static size_t count_type(const struct json *conditions, const char *type)
{
    size_t n = 0;

    json_for_each (c, conditions)
        n += is_type(c, type);
    return n;
}

static const struct json *nth_of_type(const struct json *conditions, const char *type, size_t nth)
{
    json_for_each (c, conditions)
        if (is_type(c, type) && nth-- == 0)
            return c;
    return NULL;
}

/* The conditions of that type as they were, unless some were added or removed. */
static const struct json *preserve(struct arena *a, const struct json *now, const struct json *old,
                                   const char *type)
{
    struct json_array r = json_array_new(a);
    size_t i = 0;

    if (count_type(now, type) != count_type(old, type))
        return now;
    json_for_each (c, now)
        json_push(&r, is_type(c, type) ? *nth_of_type(old, type, i++) : *c);
    return json_array_done(&r);
}

static const struct json *transition_of(const struct json *old, const struct json *condition)
{
    json_for_each (c, old)
        if (str_eq(json_get_str(c, "type"), json_get_str(condition, "type")) &&
            str_eq(json_get_str(c, "status"), json_get_str(condition, "status")) &&
            json_get_str(c, "lastTransitionTime").n)
            return json_get(c, STR("lastTransitionTime"));
    return NULL;
}

static const struct json *with_times(const struct kind_context *c, const struct json *now,
                                     const struct json *old)
{
    struct json_array r = json_array_new(c->arena);
    char *text = arena_alloc(c->arena, TIME_TEXT_SIZE);
    struct json time = json_of_str((str){ text, time_format_seconds(text, c->now_s) });

    json_for_each (it, now) {
        struct json_object o = json_object_from(c->arena, it);
        const struct json *was = transition_of(old, it);

        if (!json_get_str(it, "lastUpdateTime").n)
            json_put(&o, STR("lastUpdateTime"), time);
        if (!json_get_str(it, "lastTransitionTime").n)
            json_put(&o, STR("lastTransitionTime"), was ? *was : time);
        json_push(&r, json_object_value(&o));
    }
    return json_array_done(&r);
}

/* Approvers decide and signers sign: each has an endpoint, and the main one is for metadata. */
static const struct json *prepare_update(const struct kind_context *c, const struct json *obj,
                                         const struct json *old)
{
    const struct json *was = json_path(old, "status.conditions"), *now;

    obj = check_keep(c->arena, obj, old, "spec");
    if (c->subresource.n == 0)
        return check_keep(c->arena, obj, old, "status");
    now = json_path(obj, "status.conditions");
    if (str_is(c->subresource, "status")) {
        now = preserve(c->arena, now, was, "Approved");
        now = preserve(c->arena, now, was, "Denied");
    } else {
        obj = json_set(c->arena, obj, "status.certificate", json_path(old, "status.certificate"));
    }
    if (json_len(now) == 0)
        return obj;
    return json_set(c->arena, obj, "status.conditions", with_times(c, now, was));
}

/* ---- rules ---- */

static bool is_usage(str word)
{
    for (size_t i = 0; i < GROUP_LEN(usages); i++)
        if (str_is(word, usages[i]))
            return true;
    return false;
}

static str usage_list(struct arena *a)
{
    str all = STR_NONE;

    for (size_t i = 0; i < GROUP_LEN(usages); i++)
        all = str_printf(a, "%.*s%s\"%s\"", STR_ARG(all), i ? ", " : "", usages[i]);
    return all;
}

static bool stands_before(const struct json *list, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (json_equal(json_at(list, j), json_at(list, i)))
            return true;
    return false;
}

static void check_usages(struct status *st, const struct json *list)
{
    struct arena *a = st->arena;

    if (json_len(list) == 0)
        status_cause(st, CAUSE_REQUIRED, STR("spec.usages"), STR_NONE, "%s", "");
    for (size_t i = 0; i < json_len(list) && st->ncauses < STATUS_CAUSES_MAX; i++) {
        str word = json_str(json_at(list, i)), field = str_printf(a, "spec.usages[%zu]", i);

        if (!is_usage(word))
            status_cause(st, CAUSE_NOT_SUPPORTED, field, check_quote(a, word),
                         "supported values: %.*s", STR_ARG(usage_list(a)));
        else if (stands_before(list, i))
            status_cause(st, CAUSE_DUPLICATE, field, check_quote(a, word), "%s", "");
    }
}

static void check_parts(struct status *st, str value, enum name_rule rule, size_t *n)
{
    str field = STR("spec.signerName"), faults[NAME_FAULTS];

    *n = 0;
    for (str rest = value, part; str_split(&rest, '.', &part); ++*n) {
        size_t count = name_faults(rule, part, faults);

        for (size_t i = 0; i < count; i++)
            status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, value),
                         "validating label \"%.*s\": %.*s", STR_ARG(part), STR_ARG(faults[i]));
    }
}

static void check_length(struct status *st, str value, int max)
{
    if (value.n > (size_t)max)
        status_cause(st, CAUSE_TOO_LONG, STR("spec.signerName"), STR_NONE,
                     "may not be more than %d bytes", max);
}

/* k8s: pkg/apis/core/validation ValidateSignerName */
static void check_signer(struct status *st, str name)
{
    str field = STR("spec.signerName"), rest = name, domain, path;
    ptrdiff_t slash = str_find(name, '/', 0);
    size_t n;

    if (name.n == 0) {
        status_cause(st, CAUSE_REQUIRED, field, STR_NONE, "%s", "");
        return;
    }
    (void)str_split(&rest, '/', &domain);
    path = slash < 0 ? STR_NONE : str_from(name, (size_t)slash + 1);
    if (slash < 0 || str_find(path, '/', 0) >= 0) {
        status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, name),
                     "must be a fully qualified domain and path of the form "
                     "'example.com/signer-name'");
        return;
    }
    check_length(st, domain, DOMAIN_MAX);
    check_parts(st, domain, NAME_LABEL, &n);
    if (n < 2)
        status_cause(st, CAUSE_INVALID, field, check_quote(st->arena, domain),
                     "should be a domain with at least two segments separated by dots");
    check_parts(st, path, NAME_SUBDOMAIN, &n);
    check_length(st, name, SIGNER_MAX);
}

static bool is_decision(str type)
{
    return str_is(type, "Approved") || str_is(type, "Denied") || str_is(type, "Failed");
}

static void check_condition_status(struct status *st, size_t i, str type, str value)
{
    str field = str_printf(st->arena, "status.conditions[%zu].status", i);

    if (value.n == 0)
        status_cause(st, CAUSE_REQUIRED, field, STR_NONE, "%s", "");
    else if (is_decision(type) && !str_is(value, "True"))
        status_cause(st, CAUSE_NOT_SUPPORTED, field, check_quote(st->arena, value),
                     "supported values: \"True\"");
    else if (!str_is(value, "True") && !str_is(value, "False") && !str_is(value, "Unknown"))
        status_cause(st, CAUSE_NOT_SUPPORTED, field, check_quote(st->arena, value),
                     "supported values: \"False\", \"True\", \"Unknown\"");
}

static void check_conditions(struct status *st, const struct json *list)
{
    bool approved = false, denied = false;

    for (size_t i = 0; i < json_len(list) && st->ncauses < STATUS_CAUSES_MAX; i++) {
        str type = json_get_str(json_at(list, i), "type");
        str field = str_printf(st->arena, "status.conditions[%zu].type", i);
        bool twice = false;

        if (type.n == 0)
            status_cause(st, CAUSE_REQUIRED, field, STR_NONE, "%s", "");
        check_condition_status(st, i, type, json_get_str(json_at(list, i), "status"));
        approved |= str_is(type, "Approved");
        denied |= str_is(type, "Denied");
        if (approved && denied && (str_is(type, "Approved") || str_is(type, "Denied")))
            status_cause(st, CAUSE_INVALID, STR("status.conditions"), check_quote(st->arena, type),
                         "Approved and Denied conditions are mutually exclusive");
        for (size_t j = 0; j < i && !twice; j++)
            twice = str_eq(type, json_get_str(json_at(list, j), "type"));
        if (twice)
            status_cause(st, CAUSE_DUPLICATE, field, check_quote(st->arena, type), "%s", "");
    }
}

static void validate(const struct kind_context *c, const struct json *obj, struct status *st)
{
    const struct json *seconds = json_path(obj, "spec.expirationSeconds");

    if (c->create) {
        check_usages(st, json_path(obj, "spec.usages"));
        check_signer(st, json_get_str(obj, "spec.signerName"));
        if (str_is(json_get_str(obj, "spec.signerName"), "kubernetes.io/legacy-unknown"))
            status_cause(st, CAUSE_INVALID, STR("spec.signerName"),
                         STR("\"kubernetes.io/legacy-unknown\""),
                         "the legacy signerName is not allowed via this API version");
        if (seconds && json_int(seconds, 0) < DURATION_MIN_S)
            status_cause(st, CAUSE_INVALID, STR("spec.expirationSeconds"),
                         json_text(c->arena, seconds),
                         "may not specify a duration less than 600 seconds (10 minutes)");
    }
    check_conditions(st, json_path(obj, "status.conditions"));
}

static void check_decision(struct status *st, const struct json *now, const struct json *old,
                           const char *type)
{
    size_t before = count_type(old, type), after = count_type(now, type);
    str field = STR("status.conditions");
    bool same = true;

    for (size_t i = 0; i < before && i < after; i++)
        same = same && json_equal(nth_of_type(now, type, i), nth_of_type(old, type, i));
    if (after > before)
        status_cause(st, CAUSE_FORBIDDEN, field, STR_NONE,
                     "updates may not add a condition of type \"%s\"", type);
    else if (after == before && !same)
        status_cause(st, CAUSE_FORBIDDEN, field, STR_NONE,
                     "updates may not modify a condition of type \"%s\"", type);
}

static void validate_update(const struct kind_context *c, const struct json *obj,
                            const struct json *old, struct status *st)
{
    static const char *const decisions[] = { "Approved", "Denied", "Failed" };
    const struct json *now = json_path(obj, "status.conditions");
    const struct json *was = json_path(old, "status.conditions");
    bool approval = str_is(c->subresource, "approval");
    str issued = json_get_str(old, "status.certificate");

    for (size_t i = 0; i < GROUP_LEN(decisions); i++)
        if (count_type(now, decisions[i]) < count_type(was, decisions[i]))
            status_cause(st, CAUSE_FORBIDDEN, STR("status.conditions"), STR_NONE,
                         "updates may not remove a condition of type \"%s\"", decisions[i]);
    if (!approval) {
        check_decision(st, now, was, "Approved");
        check_decision(st, now, was, "Denied");
    }
    if (issued.n && !str_eq(issued, json_get_str(obj, "status.certificate")))
        status_cause(st, CAUSE_FORBIDDEN, STR("status.certificate"), STR_NONE,
                     "updates may not modify existing certificate content");
}

/* ---- what kubectl shows ---- */

static str state_of(struct arena *a, const struct json *obj)
{
    const struct json *list = json_path(obj, "status.conditions");
    const char *state = count_type(list, "Denied")     ? "Denied"
                        : count_type(list, "Approved") ? "Approved"
                                                       : "Pending";

    return str_printf(a, "%s%s%s", state, count_type(list, "Failed") ? ",Failed" : "",
                      json_get_str(obj, "status.certificate").n ? ",Issued" : "");
}

static void cells(struct arena *a, const struct json *obj, int64_t now_s, struct json_array *cells)
{
    const struct json *seconds = json_path(obj, "spec.expirationSeconds");

    cell_str(cells, obj, "metadata.name");
    cell_age(cells, obj, now_s);
    cell_str(cells, obj, "spec.signerName");
    cell_str(cells, obj, "spec.username");
    json_push(cells, json_of_str(seconds ? duration_text(a, json_int(seconds, 0)) : STR("<none>")));
    json_push(cells, json_of_str(state_of(a, obj)));
}

static const struct kind_ops csr_ops = {
    .prepare_create = prepare_create,
    .prepare_update = prepare_update,
    .validate = validate,
    .validate_update = validate_update,
    .cells = cells,
};

static const struct column columns[] = {
    NAME_COLUMN,
    AGE_COLUMN,
    COLUMN("SignerName", "", 0, "Who shall sign."),
    COLUMN("Requestor", "", 0, "Who asks."),
    COLUMN("RequestedDuration", "", 0, "How long the certificate shall be good."),
    COLUMN("Condition", "", 0, "What was decided, and whether there is a certificate."),
};

static const str short_names[] = { STR_INIT("csr") };

static const struct subresource subresources[] = {
    { .name = STR_INIT("approval"), .verbs = VERBS_STATUS },
    { .name = STR_INIT("status"), .verbs = VERBS_STATUS },
};

static const struct field_label labels[] = {
    { .label = STR_INIT("spec.signerName"), .path = "spec.signerName" },
};

static struct kind kinds[] = {
    {
        .kind = STR_INIT("CertificateSigningRequest"),
        .plural = STR_INIT("certificatesigningrequests"),
        .singular = STR_INIT("certificatesigningrequest"),
        .owns_nothing = true,
        LIST(short_names, short_names),
        .verbs = VERBS_ALL,
        .name_rule = NAME_PATH,
        .unconditional_update = true,
        .kind_selectors = true,
        LIST(subresources, subresources),
        LIST(columns, columns),
        LIST(field_labels, labels),
        .ops = &csr_ops,
    },
};

const struct group group_certificates = {
    .name = STR_INIT("certificates.k8s.io"),
    .version = STR_INIT("v1"),
    .schemas = "io.k8s.api.certificates.v1",
    .kinds = kinds,
    .n = GROUP_LEN(kinds),
};
