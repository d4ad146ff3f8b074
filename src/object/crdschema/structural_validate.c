/* SPDX-License-Identifier: Apache-2.0 */

/*
 * k8s: kube-openapi/pkg/validation/validate, apiextensions-apiserver/pkg/apiserver/validation.  The
 * order of checks and the choice of the alternative that is reported are theirs.
 *
 * With a result a check collects all faults; without one it only tells whether there are any, which
 * allocates nothing.  Alternatives are tried without first.
 */

#include "object/crdschema/structural.h"

#include <math.h>

#include "base/banned.h"

#include "object/crdschema/cel_rules.h"
#include "object/crdschema/structural_internal.h"
#include "json/scan.h"

enum {
    FAULTS_MAX = STATUS_CAUSES_MAX,
    STEPS_MAX = 20 * 1000 * 1000, /* values looked at, alternatives included */
};

struct fault {
    struct fault *next;
    enum cause_type type;
    str field, value;
    str message; /* tells faults apart */
    bool bare;   /* only the type and value are told */
};

struct result {
    struct fault *first, **end;
    size_t n;
    unsigned matched; /* checks that applied: the alternative with most is reported */
};

struct validator {
    struct arena *arena;
    str base;        /* before all fields; messages do not tell it */
    bool of_default; /* every format counts, and int-or-string says no type */
    size_t steps;
};

static bool check(struct validator *v, const struct schema *s, const struct json *value,
                  const struct json *old, const struct spot *at, struct result *res);

static void result_init(struct result *r)
{
    *r = (struct result){ .end = &r->first };
}

static void add(struct result *res, struct fault *f)
{
    for (const struct fault *o = res->first; o; o = o->next)
        if (str_eq(o->message, f->message))
            return;
    if (res->n == FAULTS_MAX)
        return;
    f->next = NULL;
    *res->end = f;
    res->end = &f->next;
    res->n++;
}

static void merge(struct result *res, struct result *from)
{
    struct fault *next;

    for (struct fault *f = from->first; f; f = next) {
        next = f->next;
        add(res, f);
    }
    res->matched += from->matched;
}

/* Forgets what was added since there were n. */
static void truncate_to(struct result *res, size_t n)
{
    res->end = &res->first;
    for (res->n = 0; res->n < n; res->n++)
        res->end = &(*res->end)->next;
    *res->end = NULL;
}

static str quote(struct arena *a, str s)
{
    struct json v = json_of_str(s);

    return json_text(a, &v);
}

static str field_of(const struct validator *v, str path)
{
    if (v->base.n && path.n)
        return str_printf(v->arena, "%.*s%s%.*s", STR_ARG(v->base), path.p[0] == '.' ? "" : ".",
                          STR_ARG(path));
    return path.n ? path : v->base.n ? v->base : STR("<nil>");
}

/* Always false, so that a check ends with it.  Bare: message only tells it from others. */
static bool put_own(struct validator *v, struct result *res, str path, enum cause_type type,
                    str value, str message, bool bare)
{
    struct fault *f;

    if (!res)
        return false;
    f = arena_new_of(v->arena, struct fault);
    f->message = message;
    f->type = type;
    f->field = field_of(v, path);
    f->value = value;
    f->bare = bare;
    add(res, f);
    return false;
}

static bool put(struct validator *v, struct result *res, const struct spot *at,
                enum cause_type type, str value, const char *what, bool bare)
{
    str path = spot_path(v->arena, at, false);

    return put_own(v, res, path, type, value,
                   str_printf(v->arena, "%.*s in body %s", STR_ARG(path), what), bare);
}

__attribute__((format(printf, 6, 7))) static bool fault(struct validator *v, struct result *res,
                                                        const struct spot *at, enum cause_type type,
                                                        str value, const char *fmt, ...)
{
    va_list ap;
    const char *what;

    va_start(ap, fmt);
    what = arena_vprintf(v->arena, fmt, ap);
    va_end(ap);
    return put(v, res, at, type, value, what, false);
}

/* One that names the place itself: Kubernetes gives it no field. */
static bool nowhere(struct validator *v, struct result *res, str message)
{
    return put_own(v, res, STR_NONE, CAUSE_INVALID, STR("\"\""), message, false);
}

static bool loose(struct validator *v, struct result *res, const struct spot *at, const char *what)
{
    return nowhere(
        v, res, str_printf(v->arena, "\"%.*s\" %s", STR_ARG(spot_path(v->arena, at, false)), what));
}

static unsigned type_of(const struct json *value)
{
    static const unsigned bits[] = {
        [JSON_BOOL] = RULE_BOOLEAN,  [JSON_INT] = RULE_INTEGER, [JSON_FLOAT] = RULE_NUMBER,
        [JSON_STRING] = RULE_STRING, [JSON_ARRAY] = RULE_ARRAY, [JSON_OBJECT] = RULE_OBJECT,
    };

    return bits[value->type];
}

static const char *type_name(unsigned types)
{
    static const char *const names[] = {
        "object", "array", "string", "integer", "number", "boolean"
    };

    if (types == (RULE_INTEGER | RULE_STRING))
        return "integer,string";
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (types == 1u << i)
            return names[i];
    return "null";
}

/* k8s: go-openapi/swag.IsFloat64AJSONInteger */
static bool is_integral(double f)
{
    double whole = trunc(f), off = fabs(f - whole);

    if (isnan(f) || isinf(f) || fabs(f) > 9007199254740991.0)
        return false;
    return f == whole || (whole != 0 && off / (fabs(f) + fabs(whole)) < 1e-9);
}

static bool wrong_type(struct validator *v, struct result *res, const struct spot *at, str wanted,
                       const char *is)
{
    return res && fault(v, res, at, CAUSE_TYPE_INVALID, quote(v->arena, str_of(is)),
                        "must be of type %.*s: \"%s\"", STR_ARG(wanted), is);
}

/* The format that tells what type a value has, or nothing. */
static str typing_format(const struct validator *v, const struct schema_rules *r)
{
    const struct schema_limits *l = r->limits;

    if (!l || !(v->of_default || l->format || str_is(l->format_text, "password")))
        return STR_NONE;
    return l->format_text;
}

/* k8s: kube-openapi/pkg/validation/validate/type.go: where there is a format it is the type, and
 * what is a string or an array fits it */
static bool check_type(struct validator *v, const struct schema_rules *r, const struct json *value,
                       const struct spot *at, struct result *res)
{
    unsigned is = type_of(value);
    str format;

    if (r->types == 0 || (v->of_default && r->int_or_string))
        return true;
    if (is & r->types || (value->type == JSON_NULL && r->nullable))
        return true;
    if (is == RULE_INTEGER && r->types & RULE_NUMBER)
        return true;
    if (is == RULE_NUMBER && r->types & RULE_INTEGER && is_integral(value->f))
        return true;
    format = value->type == JSON_NULL ? STR_NONE : typing_format(v, r);
    if (format.n && is & (RULE_STRING | RULE_ARRAY)) {
        if (!(r->types & (RULE_NUMBER | RULE_INTEGER)))
            return true;
    } else if (format.n) {
        const char *shown = is == RULE_INTEGER ? "int64" : is == RULE_NUMBER ? "float64" : "";

        return wrong_type(v, res, at, format, shown);
    }
    return wrong_type(v, res, at, str_of(type_name(r->types)), type_name(is));
}

static bool any_of(struct validator *v, const struct schema_logic *l, const struct json *value,
                   const struct json *old, const struct spot *at, struct result *res)
{
    struct result best = { 0 };

    for (size_t i = 0; i < l->nany_of; i++)
        if (check(v, l->any_of[i], value, old, at, NULL))
            return true;
    if (!res)
        return false;
    for (size_t i = 0; i < l->nany_of; i++) {
        struct result one;

        result_init(&one);
        (void)check(v, l->any_of[i], value, old, at, &one);
        if (i == 0 || one.matched > best.matched)
            best = one;
    }
    (void)loose(v, res, at, "must validate at least one schema (anyOf)");
    merge(res, &best);
    return false;
}

static bool one_of(struct validator *v, const struct schema_logic *l, const struct json *value,
                   const struct json *old, const struct spot *at, struct result *res)
{
    struct result best = { 0 };
    size_t valid = 0;

    for (size_t i = 0; i < l->none_of; i++)
        valid += check(v, l->one_of[i], value, old, at, NULL);
    if (valid == 1 || !res)
        return valid == 1;
    if (valid > 1)
        return loose(v, res, at,
                     arena_printf(v->arena,
                                  "must validate one and only one schema (oneOf). Found %zu valid "
                                  "alternatives",
                                  valid));
    for (size_t i = 0; i < l->none_of; i++) {
        struct result one;

        result_init(&one);
        (void)check(v, l->one_of[i], value, old, at, &one);
        if (i == 0 || one.matched > best.matched)
            best = one;
    }
    (void)loose(v, res, at, "must validate one and only one schema (oneOf). Found none valid");
    merge(res, &best);
    return false;
}

static bool all_of(struct validator *v, const struct schema_logic *l, const struct json *value,
                   const struct json *old, const struct spot *at, struct result *res)
{
    size_t valid = 0;

    for (size_t i = 0; i < l->nall_of; i++) {
        bool fine = check(v, l->all_of[i], value, old, at, res);

        valid += fine;
        if (!fine && !res)
            return false;
    }
    if (valid == l->nall_of)
        return true;
    return loose(v, res, at,
                 valid ? "must validate all the schemas (allOf)"
                       : "must validate all the schemas (allOf). None validated");
}

static bool check_logic(struct validator *v, const struct schema_logic *l, const struct json *value,
                        const struct json *old, const struct spot *at, struct result *res)
{
    bool ok = true;

    if (l->nany_of && !any_of(v, l, value, old, at, res))
        ok = false;
    if (l->none_of && (ok || res) && !one_of(v, l, value, old, at, res))
        ok = false;
    if (l->nall_of && (ok || res) && !all_of(v, l, value, old, at, res))
        ok = false;
    if (l->not_ && (ok || res) && check(v, l->not_, value, old, at, NULL))
        ok = loose(v, res, at, "must not validate the schema (not)");
    if (res)
        res->matched++;
    return ok;
}

static int64_t code_points(str s)
{
    int64_t n = 0;

    for (size_t i = 0; i < s.n; i++)
        n += (s.p[i] & 0xc0) != 0x80;
    return n;
}

/* The first of these is told alone. */
static bool check_text(struct validator *v, const struct schema_limits *l, str s,
                       const struct spot *at, struct result *res)
{
    int64_t n = l->min_length, bytes = (int64_t)s.n;
    enum pattern_result match = PATTERN_YES;

    /* A code point has one to four bytes: mostly they need not be counted. */
    if ((l->max_length >= 0 && bytes > l->max_length) || (bytes + 3) / 4 < l->min_length)
        n = code_points(s);

    if (l->max_length >= 0 && n > l->max_length)
        return res && put(v, res, at, CAUSE_TOO_LONG,
                          str_printf(v->arena, "may not be more than %lld byte%s",
                                     (long long)l->max_length, l->max_length == 1 ? "" : "s"),
                          "is too long", true);
    if (n < l->min_length)
        return res && fault(v, res, at, CAUSE_INVALID, quote(v->arena, s),
                            "should be at least %lld chars long", (long long)l->min_length);
    if (l->pattern)
        match = pattern_match(l->pattern, s);
    if (match == PATTERN_YES || !res)
        return match == PATTERN_YES;
    if (match == PATTERN_NO)
        return fault(v, res, at, CAUSE_INVALID, quote(v->arena, s), "should match '%.*s'",
                     STR_ARG(l->pattern_text));
    return fault(v, res, at, CAUSE_INVALID, STR_NONE, "is too long for the pattern '%.*s'",
                 STR_ARG(l->pattern_text));
}

static bool check_string(struct validator *v, const struct schema_limits *l, str s,
                         const struct spot *at, struct result *res)
{
    bool ok = check_text(v, l, s, at, res);

    if (l->format && (ok || res)) {
        if (!l->format(s))
            ok = res && fault(v, res, at, CAUSE_TYPE_INVALID, quote(v->arena, s),
                              "must be of type %.*s: %.*s", STR_ARG(l->format_text),
                              STR_ARG(quote(v->arena, s)));
        if (res)
            res->matched++;
    }
    return ok;
}

static str number_text(struct validator *v, double d)
{
    struct json n = json_of_float(d);

    return json_text(v->arena, &n);
}

static double bound(double d, bool whole)
{
    return whole && d > (double)INT64_MIN && d < (double)INT64_MAX ? (double)(int64_t)d : d;
}

static bool is_multiple(const struct json *value, double of)
{
    if (value->type == JSON_INT && of < (double)INT64_MAX)
        return value->i % (int64_t)of == 0;
    return is_integral(value->type == JSON_INT ? (double)value->i / of : value->f / of);
}

static bool check_multiple(struct validator *v, double of, const struct json *value, str text,
                           const struct spot *at, struct result *res)
{
    str factor, path;

    if (of > 0 && is_multiple(value, of))
        return true;
    if (!res)
        return false;
    factor = number_text(v, of);
    if (of > 0)
        return fault(v, res, at, CAUSE_INVALID, text, "should be a multiple of %.*s",
                     STR_ARG(factor));
    path = spot_path(v->arena, at, false);
    text = str_printf(v->arena, "factor MultipleOf declared for %.*s must be positive: %.*s",
                      STR_ARG(path), STR_ARG(factor));
    return put_own(v, res, path, CAUSE_INVALID, factor, text, false);
}

/* k8s: validate/values.go, MinimumNativeType: bounds of an integer lose their fraction */
static bool check_number(struct validator *v, const struct schema_limits *l,
                         const struct json *value, const struct spot *at, struct result *res)
{
    bool whole = value->type == JSON_INT;
    double d = whole ? (double)value->i : value->f;
    str text = STR_NONE;
    bool ok = true;

    if (res)
        text = json_text(v->arena, value);
    if (l->multiple_of)
        ok = check_multiple(v, bound(*l->multiple_of, whole), value, text, at, res);
    if (l->minimum) {
        double min = bound(*l->minimum, whole);

        if (l->exclusive_minimum ? d <= min : d < min)
            ok = res &&
                 fault(v, res, at, CAUSE_INVALID, text, "should be greater than %s%.*s",
                       l->exclusive_minimum ? "" : "or equal to ", STR_ARG(number_text(v, min)));
    }
    if (l->maximum) {
        double max = bound(*l->maximum, whole);

        if (l->exclusive_maximum ? d >= max : d > max)
            ok = res &&
                 fault(v, res, at, CAUSE_INVALID, text, "should be less than %s%.*s",
                       l->exclusive_maximum ? "" : "or equal to ", STR_ARG(number_text(v, max)));
    }
    return ok;
}

static bool has_doubles(const struct json *list, size_t *steps)
{
    for (uint32_t i = 1; i < list->n; i++)
        for (uint32_t j = 0; j < i && ++*steps < STEPS_MAX; j++)
            if (json_equal(&list->items[i], &list->items[j]))
                return true;
    return false;
}

static bool check_counts(struct validator *v, const struct schema_limits *l,
                         const struct json *value, const struct spot *at, struct result *res)
{
    bool list = value->type == JSON_ARRAY, ok = true;
    const char *what = list ? "items" : "properties";
    int64_t min = list ? l->min_items : l->min_properties;
    int64_t max = list ? l->max_items : l->max_properties;

    if (value->n < min)
        ok = res && fault(v, res, at, CAUSE_INVALID, str_printf(v->arena, "%u", value->n),
                          "should have at least %lld %s", (long long)min, what);
    if (max >= 0 && value->n > max)
        ok = res && put(v, res, at, CAUSE_TOO_MANY,
                        str_printf(v->arena, "%u: must have at most %lld item%s", value->n,
                                   (long long)max, max == 1 ? "" : "s"),
                        "has too many", true);
    if (list && l->unique_items && has_doubles(value, &v->steps))
        ok = res && fault(v, res, at, CAUSE_INVALID, STR("\"\""), "shouldn't contain duplicates");
    return ok;
}

/* k8s: validate/values.go, Enum: a number is made an integer where an integer is expected */
static bool is_meant(const struct json *e, const struct json *value)
{
    if (e->type == JSON_STRING)
        return value->type == JSON_STRING && scan_equal(json_str(e), json_str(value));
    if (e->type == JSON_INT && value->type == JSON_FLOAT)
        return bound(value->f, true) == (double)e->i;
    return json_equal(e, value);
}

static bool check_enum(struct validator *v, const struct json *enums, const struct json *value,
                       const struct spot *at, struct result *res)
{
    str list = STR_NONE;

    if (value->type != JSON_NULL)
        json_for_each (e, enums)
            if (is_meant(e, value))
                return true;
    if (!res)
        return false;
    json_for_each (e, enums) {
        str text = e->type == JSON_STRING ? json_str(e) : json_text(v->arena, e);

        list = str_printf(v->arena, "%.*s%s%.*s", STR_ARG(list), list.n ? ", " : "",
                          STR_ARG(quote(v->arena, text)));
    }
    return put(v, res, at, CAUSE_NOT_SUPPORTED,
               str_printf(v->arena, "%.*s: supported values: %.*s",
                          STR_ARG(json_text(v->arena, value)), STR_ARG(list)),
               str_z(v->arena, list), true);
}

/* The item of the old list with the same keys; only map lists relate theirs. */
static const struct json *old_item(const struct schema *s, const struct json *old,
                                   const struct json *item, size_t i, size_t *steps)
{
    if (!json_is(old, JSON_ARRAY) || s->list_type != SCHEMA_LIST_MAP || item->type != JSON_OBJECT)
        return NULL;
    for (size_t k = 0; k < old->n && ++*steps < STEPS_MAX; k++) {
        const struct json *o = &old->items[(i + k) % old->n]; /* most stay where they are */
        size_t same = 0;

        while (same < s->nlist_keys) {
            const struct json *a = json_get(o, s->list_keys[same]);
            const struct json *b = json_get(item, s->list_keys[same]);

            if (!json_equal(a ? a : &json_null, b ? b : &json_null))
                break;
            same++;
        }
        if (same == s->nlist_keys)
            return o;
    }
    return NULL;
}

/* What is said of strings and numbers. */
static bool check_scalar(struct validator *v, const struct schema_limits *l,
                         const struct json *value, const struct spot *at, struct result *res)
{
    if (value->type == JSON_STRING)
        return check_string(v, l, json_str(value), at, res);
    if (value->type == JSON_INT || value->type == JSON_FLOAT)
        return check_number(v, l, value, at, res);
    return true;
}

/* What most values that are no containers are; what is not is looked at again, by check(). */
static inline bool is_fine(struct validator *v, const struct schema_rules *r,
                           const struct json *value)
{
    unsigned is = type_of(value);

    if (is & r->fine)
        return true;
    if (r->logic || is & (RULE_OBJECT | RULE_ARRAY) || !(is & r->types))
        return false;
    return ++v->steps <= STEPS_MAX &&
           (!r->limits || check_scalar(v, r->limits, value, NULL, NULL)) &&
           (!r->enums || check_enum(v, r->enums, value, NULL, NULL));
}

static bool check_items(struct validator *v, const struct schema *s, const struct json *value,
                        const struct json *old, const struct spot *up, struct result *res)
{
    struct spot at = { .up = up, .kind = SPOT_INDEX };
    const struct schema *items = s->rules->items;
    bool ok = true;

    if (!items || items == &schema_nothing)
        return true;
    for (uint32_t i = 0; i < value->n && (ok || res); i++) {
        if (!res && is_fine(v, items->rules, &value->items[i]))
            continue;
        at.index = i;
        if (!check(v, items, &value->items[i], old_item(s, old, &value->items[i], i, &v->steps),
                   &at, res))
            ok = false;
    }
    return ok;
}

/* Most members stand where they stood. */
static const struct json *old_member(struct validator *v, const struct json *old, str name,
                                     size_t i)
{
    if (!json_is(old, JSON_OBJECT))
        return NULL;
    if (i < old->n && str_eq(old->members[i].name, name))
        return &old->members[i].value;
    v->steps += old->n / 16;
    return json_get(old, name);
}

/* What a member must obey, or NULL. */
static inline const struct schema *member_schema(const struct schema *s,
                                                 const struct schema_field *f, str name)
{
    if (!f)
        return s->rules->additional;
    if (!f->type->rules && s->rules->metadata && str_is(name, "metadata"))
        return s->rules->metadata;
    return f->type;
}

static bool check_required(struct validator *v, const struct schema_rules *r,
                           const struct json *value, struct spot *at, struct result *res)
{
    bool ok = true;

    for (size_t i = 0; i < r->nrequired && (ok || res); i++) {
        at->name = r->required[i];
        v->steps += value->n / 16;
        if (!json_get(value, at->name))
            ok = res && put(v, res, at, CAUSE_REQUIRED, STR_NONE, "is required", true);
    }
    return ok;
}

static bool check_members(struct validator *v, const struct schema *s, const struct json *value,
                          const struct json *old, const struct spot *up, struct result *res)
{
    const struct schema_rules *r = s->rules;
    struct schema_walk walk = schema_walk(s);
    struct spot at = { .up = up, .kind = SPOT_FIELD };
    size_t required = 0;
    bool ok = true;

    for (uint32_t i = 0; i < value->n && (ok || res); i++) {
        const struct json_member *m = &value->members[i];
        const struct schema_field *f = schema_walk_field(&walk, m->name);
        const struct schema *member = member_schema(s, f, m->name);

        required += f && f->required;
        if (!member || !member->rules || (!res && is_fine(v, member->rules, &m->value)))
            continue;
        /* k8s: of maps the dot is said in any case */
        at.name = f || up || !res ? m->name : str_printf(v->arena, ".%.*s", STR_ARG(m->name));
        if (!check(v, member, &m->value, old_member(v, old, m->name, i), &at, res))
            ok = false;
    }
    if (required < r->nrequired && (ok || res))
        ok = check_required(v, r, value, &at, res) && ok;
    return ok;
}

/* What is said of strings, numbers and arrays. */
static bool check_simple(struct validator *v, const struct schema *s, const struct json *value,
                         const struct json *old, const struct spot *at, struct result *res)
{
    const struct schema_limits *l = s->rules->limits;
    bool ok;

    if (value->type == JSON_ARRAY) {
        ok = check_items(v, s, value, old, at, res);
        return l && (ok || res) ? check_counts(v, l, value, at, res) && ok : ok;
    }
    return !l || check_scalar(v, l, value, at, res);
}

static bool check_object(struct validator *v, const struct schema *s, const struct json *value,
                         const struct json *old, const struct spot *at, struct result *res)
{
    const struct schema_limits *l = s->rules->limits;
    bool ok = !l || check_counts(v, l, value, at, res);

    return ok || res ? check_members(v, s, value, old, at, res) && ok : false;
}

static bool check_value(struct validator *v, const struct schema *s, const struct json *value,
                        const struct json *old, const struct spot *at, struct result *res)
{
    const struct schema_rules *r = s->rules;
    bool ok = check_type(v, r, value, at, res);

    if (res)
        res->matched += 1 + (r->types != 0);
    if (r->logic && value->type != JSON_NULL && (ok || res))
        ok &= check_logic(v, r->logic, value, old, at, res);
    if (ok || res)
        ok &= check_simple(v, s, value, old, at, res);
    if (r->enums && (ok || res))
        ok &= check_enum(v, r->enums, value, at, res);
    if (value->type == JSON_OBJECT && (ok || res))
        ok &= check_object(v, s, value, old, at, res);
    return ok;
}

/* A patched object has the very values of the old one where it does not change them. */
static bool is_shared(const struct json *a, const struct json *b)
{
    return a->type == b->type && a->n == b->n &&
           (a->type == JSON_BOOL ? a->b == b->b : a->i == b->i);
}

static bool check(struct validator *v, const struct schema *s, const struct json *value,
                  const struct json *old, const struct spot *at, struct result *res)
{
    size_t n = res ? res->n : 0;

    if (++v->steps > STEPS_MAX)
        return loose(v, res, NULL, "is too complex for its schema");
    if (!res && old && is_shared(value, old))
        return true; /* as below, without a look at it */
    if (check_value(v, s, value, old, at, res))
        return true;
    /* Ratcheting: what was wrong already may stay. */
    if (!old || !json_equal(value, old))
        return false;
    if (res)
        truncate_to(res, n);
    return true;
}

static void tell(struct status *st, const struct result *res)
{
    for (const struct fault *f = res->first; f; f = f->next) {
        if (f->bare)
            status_cause(st, f->type, f->field, f->value, "%s", "");
        else
            status_cause(st, f->type, f->field, f->value, "%.*s", STR_ARG(f->message));
    }
}

static void validate(const struct schema *s, str base, bool of_default, const struct json *value,
                     const struct json *old, struct status *st)
{
    struct validator v = { .arena = st->arena, .base = base, .of_default = of_default };
    struct result res;

    if (check(&v, s, value, old, NULL, NULL))
        return;
    v.steps = 0;
    result_init(&res);
    (void)check(&v, s, value, old, NULL, &res);
    tell(st, &res);
}

static void validate_lists(const struct schema *s, const struct json *obj, const struct json *old,
                           struct status *st)
{
    if (!s->rules->below_lists || structural_check_lists(st->arena, s, obj, NULL) == 0)
        return;
    if (!old || structural_check_lists(st->arena, s, old, NULL) == 0)
        (void)structural_check_lists(st->arena, s, obj, st);
}

/* k8s: pkg/registry/customresource/strategy.go, hasBlockingErr */
static bool is_blocked(const struct status *st)
{
    for (const struct cause *c = st->causes; c; c = c->next)
        if (c->type == CAUSE_NOT_SUPPORTED || c->type == CAUSE_REQUIRED ||
            c->type == CAUSE_TOO_LONG || c->type == CAUSE_TOO_MANY || c->type == CAUSE_TYPE_INVALID)
            return true;
    return false;
}

void structural_validate_values(const struct schema *s, const struct json *obj,
                                const struct json *old, enum structural_part part,
                                struct status *st)
{
    static const str status = STR_INIT("status");
    const struct schema_field *f = schema_field(s, status);
    const struct json *value = json_get(obj, status);

    if (part == STRUCTURAL_WHOLE)
        validate(s, STR_NONE, false, obj, old, st);
    else if (value && f && f->type->rules)
        validate(f->type, status, false, value, json_get(old, status), st);
}

void structural_validate_rest(const struct schema *s, const struct json *obj,
                              const struct json *old, enum structural_part part, struct status *st)
{
    if (part == STRUCTURAL_WHOLE && s->rules->below_embedded)
        structural_check_embedded(s, obj, NULL, st);
    validate_lists(s, obj, old, st);
    if (!s->rules->below_cel)
        return;
    if (is_blocked(st))
        status_cause(st, CAUSE_INVALID, STR("<nil>"), STR("null"),
                     "some validation rules were not checked because the object was invalid; "
                     "correct the existing errors to complete validation");
    else
        cel_rules_validate(s, obj, old, st);
}

void structural_validate_at(const struct schema *s, str path, const struct json *value,
                            struct status *st)
{
    struct spot at = { .kind = SPOT_FIELD, .name = path };

    unsigned before = st->ncauses;

    if (s->rules->below_embedded)
        structural_check_embedded(s, value, path.n ? &at : NULL, st);
    if (st->ncauses == before)
        validate(s, path, true, value, NULL, st);
    if (st->ncauses == before)
        cel_rules_validate_default(s, path, value, st);
}
