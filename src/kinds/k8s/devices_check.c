/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/k8s/devices_check.h"

#include "base/banned.h"
#include "kinds/frame/check.h"
#include "object/cel/cel.h"

enum {
    EXPRESSION_MAX = 10 * 1024,
    PARAMETERS_MAX = 10 * 1024,
    ID_MAX = 32,
    VALUE_MAX = 64,
    DRIVER_MAX = 63,
    POOL_MAX = 253,
};

void devices_check_count(struct status *st, struct site *list, int most)
{
    if (json_len(list->v) <= (size_t)most)
        return;
    site_fault(st, list, CAUSE_TOO_MANY, "must have at most %d items", most);
    list->v = NULL;
}

/* ---- expressions; k8s: dynamic-resource-allocation/cel/compile.go ---- */

void devices_check_expression(struct status *st, const struct site *expression)
{
    static const struct cel_type inner_attributes = { .kind = CEL_MAP,
                                                      .key = &cel_types[CEL_STRING],
                                                      .item = &cel_types[CEL_DYN] };
    static const struct cel_type inner_capacity = { .kind = CEL_MAP,
                                                    .key = &cel_types[CEL_STRING],
                                                    .item = &cel_types[CEL_QUANTITY] };
    static const struct cel_type attributes = { .kind = CEL_MAP,
                                                .key = &cel_types[CEL_STRING],
                                                .item = &inner_attributes };
    static const struct cel_type capacity = { .kind = CEL_MAP,
                                              .key = &cel_types[CEL_STRING],
                                              .item = &inner_capacity };
    static const struct cel_var fields[] = {
        { STR_INIT("driver"), &cel_types[CEL_STRING] },
        { STR_INIT("attributes"), &attributes },
        { STR_INIT("capacity"), &capacity },
    };
    static const struct cel_type device = {
        .kind = CEL_OBJECT, .name = STR_INIT("kubernetes.DRADevice"), .fields = fields, .nfields = 3
    };
    static const struct cel_var vars[] = { { STR_INIT("device"), &device } };
    const struct cel_program *p;
    str text = json_str(expression->v), why;

    if (text.n > EXPRESSION_MAX) {
        site_fault(st, expression, CAUSE_TOO_LONG, "may not be more than %d bytes", EXPRESSION_MAX);
        return;
    }
    p = cel_compile(st->arena, text, vars, 1, &why);
    if (!p)
        site_fault(st, expression, CAUSE_INVALID, "compilation failed: %.*s", STR_ARG(why));
    else if (cel_result(p)->kind != CEL_BOOL && cel_result(p)->kind != CEL_DYN)
        site_fault(st, expression, CAUSE_INVALID,
                   "must evaluate to bool or the unknown type, not %.*s",
                   STR_ARG(cel_type_text(st->arena, cel_result(p))));
}

/* ---- names ---- */

void devices_check_driver(struct status *st, const struct site *driver)
{
    str text = json_str(driver->v), faults[NAME_FAULTS];
    size_t n;

    if (site_required(st, driver))
        return;
    if (text.n > DRIVER_MAX)
        site_fault(st, driver, CAUSE_TOO_LONG, "may not be more than %d bytes", DRIVER_MAX);
    n = name_faults(NAME_SUBDOMAIN, str_lower(st->arena, text), faults);
    for (size_t i = 0; i < n; i++)
        site_fault(st, driver, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
}

void devices_check_pool(struct status *st, const struct site *pool)
{
    str rest = json_str(pool->v), part;
    bool more = true;

    if (site_required(st, pool))
        return;
    if (rest.n > POOL_MAX)
        site_fault(st, pool, CAUSE_TOO_LONG, "may not be more than %d bytes", POOL_MAX);
    for (size_t i = 0; more && i <= POOL_MAX; i++) {
        ptrdiff_t slash = str_find(rest, '/', 0);
        struct site shown = *pool;
        struct json text;

        more = slash >= 0;
        part = more ? str_sub(rest, 0, (size_t)slash) : rest;
        rest = more ? str_from(rest, (size_t)slash + 1) : STR_NONE;
        text = json_of_str(part);
        shown.v = &text;
        (void)site_name(st, &shown, NAME_SUBDOMAIN);
    }
}

void devices_check_opaque(struct status *st, const struct site *config)
{
    const struct json omitted = json_of_str(STR("<value omitted>"));
    struct site opaque = site_in(config, "opaque"), driver = site_in(&opaque, "driver");
    struct site parameters = site_in(&opaque, "parameters");

    if (!opaque.v) {
        site_missing(st, &opaque, "");
        return;
    }
    devices_check_driver(st, &driver);
    if (!parameters.v || json_is(parameters.v, JSON_NULL)) {
        site_missing(st, &parameters, "");
    } else if (json_text(st->arena, parameters.v).n > PARAMETERS_MAX) {
        site_fault(st, &parameters, CAUSE_TOO_LONG, "may not be more than %d bytes",
                   PARAMETERS_MAX);
    } else if (!json_is(parameters.v, JSON_OBJECT)) {
        parameters.v = &omitted;
        site_invalid(st, &parameters, "must be a valid JSON object");
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_identifier(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!is_letter(s.p[i]) && s.p[i] != '_' && (i == 0 || !is_digit(s.p[i])))
            return false;
    return s.n > 0;
}

static void check_identifier(struct status *st, struct site at, str id)
{
    struct json shown = json_of_str(id);

    at.v = &shown;
    if (id.n > ID_MAX)
        site_fault(st, &at, CAUSE_TOO_LONG, "may not be more than %d bytes", ID_MAX);
    if (!is_identifier(id))
        site_invalid(st, &at,
                     "a valid C identifier must start with alphabetic character or '_', followed "
                     "by a string of alphanumeric characters or '_' (e.g. 'my_name',  or "
                     "'MY_NAME',  or 'MyName', regex used for validation is "
                     "'[A-Za-z_][A-Za-z0-9_]*')");
}

void devices_check_qualified(struct status *st, const struct site *at, str name, bool full)
{
    ptrdiff_t slash = str_find(name, '/', 0);
    str domain = slash < 0 ? STR_NONE : str_sub(name, 0, (size_t)slash);
    str id = slash < 0 ? name : str_from(name, (size_t)slash + 1);
    struct json empty = json_of_str(STR_NONE), shown = json_of_str(domain);
    struct site part = *at;

    part.v = &empty;
    if (slash >= 0 && str_find(id, '/', 0) >= 0) /* k8s: more than one is not looked at */
        return;
    if (slash >= 0 && domain.n == 0)
        site_invalid(st, &part, "the domain must not be empty");
    part.v = &shown;
    if (domain.n)
        (void)site_name(st, &part, NAME_SUBDOMAIN);
    part.v = &empty;
    if (slash >= 0 && id.n == 0)
        site_invalid(st, &part, "the name must not be empty");
    else
        check_identifier(st, *at, id);
    if (full && slash < 0)
        site_invalid(st, at,
                     "a fully qualified name must be a domain and a name separated by a slash");
}

/* ---- versions ---- */

/* Identifiers with dots between them; numbers have no zeros in front where they are `counted`. */
static bool are_identifiers(str text, bool counted)
{
    str rest = text, part;
    bool more = true;

    while (more) {
        ptrdiff_t dot = str_find(rest, '.', 0);
        bool digits = true;

        more = dot >= 0;
        part = more ? str_sub(rest, 0, (size_t)dot) : rest;
        rest = more ? str_from(rest, (size_t)dot + 1) : STR_NONE;
        for (size_t i = 0; i < part.n; i++) {
            digits = digits && is_digit(part.p[i]);
            if (!is_digit(part.p[i]) && !is_letter(part.p[i]) && part.p[i] != '-')
                return false;
        }
        if (part.n == 0 || (counted && digits && part.n > 1 && part.p[0] == '0'))
            return false;
    }
    return true;
}

static bool is_core(str text)
{
    size_t dots = 0;

    for (size_t i = 0; i < text.n; i++) {
        dots += text.p[i] == '.';
        if (!is_digit(text.p[i]) && text.p[i] != '.')
            return false;
    }
    return dots == 2 && are_identifiers(text, true);
}

static bool is_version(str text)
{
    ptrdiff_t plus = str_find(text, '+', 0), dash;

    if (plus >= 0 && !are_identifiers(str_from(text, (size_t)plus + 1), false))
        return false;
    text = plus >= 0 ? str_sub(text, 0, (size_t)plus) : text;
    dash = str_find(text, '-', 0);
    if (dash >= 0 && !are_identifiers(str_from(text, (size_t)dash + 1), true))
        return false;
    return is_core(dash >= 0 ? str_sub(text, 0, (size_t)dash) : text);
}

void devices_check_version(struct status *st, const struct site *version)
{
    if (!is_version(json_str(version->v)))
        site_invalid(st, version, "must be a string compatible with semver.org spec 2.0.0");
    if (json_str(version->v).n > VALUE_MAX)
        site_fault(st, version, CAUSE_TOO_LONG, "may not be more than %d bytes", VALUE_MAX);
}
