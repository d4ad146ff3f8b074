/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/site.h"
#include "object/meta/quantity.h"

#include <arpa/inet.h>

#include "base/banned.h"
#include "kinds/frame/check.h"

struct site site_root(const struct json *v)
{
    return (struct site){ .kind = SITE_ROOT, .v = v };
}

struct site site_in(const struct site *up, const char *name)
{
    return (struct site){
        .up = up, .kind = SITE_MEMBER, .name = name, .v = json_get(up->v, str_of(name))
    };
}

struct site site_word_in(const struct site *up, const char *name)
{
    static const struct json none = { .type = JSON_STRING };
    struct site s = site_in(up, name);

    if (!s.v)
        s.v = &none;
    return s;
}

struct site site_item(const struct site *up, size_t i)
{
    return (struct site){ .up = up, .kind = SITE_ITEM, .index = i, .v = json_at(up->v, i) };
}

struct site site_key(const struct site *up, str key, const struct json *v)
{
    return (struct site){ .up = up, .kind = SITE_KEY, .key = key, .v = v };
}

str site_path(struct arena *a, const struct site *s)
{
    str up;

    if (s->kind == SITE_ROOT)
        return STR("");
    up = site_path(a, s->up);
    if (s->kind == SITE_ITEM)
        return str_printf(a, "%.*s[%zu]", STR_ARG(up), s->index);
    if (s->kind == SITE_KEY)
        return str_printf(a, "%.*s[%.*s]", STR_ARG(up), STR_ARG(s->key));
    return str_printf(a, "%.*s%s%s", STR_ARG(up), up.n ? "." : "", s->name);
}

static bool shows_value(enum cause_type type)
{
    return type == CAUSE_INVALID || type == CAUSE_NOT_SUPPORTED || type == CAUSE_DUPLICATE ||
           type == CAUSE_NOT_FOUND;
}

/* What Go prints of a value that is not there: the zero of a string. */
static str value_text(struct arena *a, const struct site *s, enum cause_type type)
{
    if (type == CAUSE_TOO_MANY && json_is(s->v, JSON_ARRAY))
        return str_printf(a, "%zu", json_len(s->v));
    if (!shows_value(type))
        return STR_NONE;
    return s->v ? json_text(a, s->v) : STR("\"\"");
}

void site_fault(struct status *st, const struct site *s, enum cause_type type, const char *fmt, ...)
{
    va_list ap;
    char *why;

    va_start(ap, fmt);
    why = arena_vprintf(st->arena, fmt, ap);
    va_end(ap);
    status_cause(st, type, site_path(st->arena, s), value_text(st->arena, s, type), "%s", why);
}

void site_invalid(struct status *st, const struct site *s, const char *why)
{
    site_fault(st, s, CAUSE_INVALID, "%s", why);
}

void site_missing(struct status *st, const struct site *s, const char *why)
{
    site_fault(st, s, CAUSE_REQUIRED, "%s", why);
}

void site_forbidden(struct status *st, const struct site *s, const char *why)
{
    site_fault(st, s, CAUSE_FORBIDDEN, "%s", why);
}

void site_duplicate(struct status *st, const struct site *s)
{
    site_fault(st, s, CAUSE_DUPLICATE, "%s", "");
}

bool site_required(struct status *st, const struct site *s)
{
    if (json_str(s->v).n)
        return false;
    site_missing(st, s, "");
    return true;
}

void site_unsupported(struct status *st, const struct site *s, const char *const *words)
{
    str list = STR_NONE;

    for (; *words; words++)
        list = str_printf(st->arena, "%.*s%s\"%s\"", STR_ARG(list), list.n ? ", " : "", *words);
    site_fault(st, s, CAUSE_NOT_SUPPORTED, "supported values: %.*s", STR_ARG(list));
}

void site_enum(struct status *st, const struct site *s, const char *const *words)
{
    if (s->v && !str_is_any(json_str(s->v), words))
        site_unsupported(st, s, words);
}

void site_not_negative(struct status *st, const struct site *s)
{
    if (json_int(s->v, 0) < 0)
        site_invalid(st, s, "must be greater than or equal to 0");
}

void site_not_negative_quantity(struct status *st, const struct site *s)
{
    struct quantity q;

    if (s->v && quantity_parse(json_str(s->v), &q) && q.nanos < 0)
        site_invalid(st, s, "must be greater than or equal to 0");
}

void site_positive(struct status *st, const struct site *s)
{
    if (json_int(s->v, 1) <= 0)
        site_invalid(st, s, "must be greater than 0");
}

bool site_range(struct status *st, const struct site *s, int64_t low, int64_t high)
{
    int64_t n = json_int(s->v, low);

    if (n >= low && n <= high)
        return true;
    site_fault(st, s, CAUSE_INVALID, "must be between %lld and %lld, inclusive", (long long)low,
               (long long)high);
    return false;
}

void site_port(struct status *st, const struct site *s)
{
    (void)site_range(st, s, 1, 65535);
}

void site_service_port(struct status *st, const struct site *s)
{
    int64_t n = json_int(s->v, 1);

    if (n < 1 || n > 65535)
        site_invalid(st, s, "port is not valid: must be between 1 and 65535, inclusive");
}

/* k8s: apimachinery/pkg/util/validation IsValidPortName */
void site_port_name(struct status *st, const struct site *s)
{
    str name = json_str(s->v);
    bool charset = true, letter = false, doubled = false;

    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool alpha = c >= 'a' && c <= 'z';

        letter = letter || alpha;
        charset = charset && (alpha || (c >= '0' && c <= '9') || c == '-');
        doubled = doubled || (c == '-' && i && name.p[i - 1] == '-');
    }
    if (name.n > 15)
        site_invalid(st, s, "must be no more than 15 characters");
    if (!charset || name.n == 0)
        site_invalid(st, s,
                     "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)");
    if (!letter)
        site_invalid(st, s, "must contain at least one letter (a-z)");
    if (doubled)
        site_invalid(st, s, "must not contain consecutive hyphens");
    if (name.n && (name.p[0] == '-' || name.p[name.n - 1] == '-'))
        site_invalid(st, s, "must not begin or end with a hyphen");
}

void site_port_or_name(struct status *st, const struct site *s)
{
    if (json_is(s->v, JSON_INT))
        site_port(st, s);
    else
        site_port_name(st, s);
}

bool site_name(struct status *st, const struct site *s, enum name_rule rule)
{
    str faults[NAME_FAULTS];
    size_t n = name_faults(rule, json_str(s->v), faults);

    for (size_t i = 0; i < n; i++)
        site_fault(st, s, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
    return n == 0;
}

static bool is_path(str text)
{
    for (size_t i = 0; i < text.n; i++)
        if (str_find(STR("/-._~%!$&'()*+,;=:"), text.p[i], 0) < 0 &&
            !(text.p[i] >= '0' && text.p[i] <= '9') &&
            !((text.p[i] | 32) >= 'a' && (text.p[i] | 32) <= 'z'))
            return false;
    return true;
}

void site_domain_path(struct status *st, const struct site *s)
{
    str text = json_str(s->v), faults[NAME_FAULTS];
    ptrdiff_t slash = str_find(text, '/', 0);
    struct json part;
    struct site shown = *s;
    size_t n;

    if (site_required(st, s))
        return;
    if (slash <= 0 || (size_t)slash + 1 == text.n) {
        site_invalid(st, s, "must be a domain-prefixed path (such as \"acme.io/foo\")");
        return;
    }
    shown.v = &part;
    part = json_of_str(str_sub(text, 0, (size_t)slash));
    n = name_faults(NAME_SUBDOMAIN, json_str(&part), faults);
    for (size_t i = 0; i < n; i++)
        site_fault(st, &shown, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
    part = json_of_str(str_from(text, (size_t)slash + 1));
    if (!is_path(json_str(&part)))
        site_invalid(
            st, &shown,
            "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')");
}

bool site_qualified(struct status *st, const struct site *s)
{
    str faults[NAME_FAULTS];
    size_t n = qualified_name_faults(json_str(s->v), faults);

    for (size_t i = 0; i < n; i++)
        site_fault(st, s, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
    return n == 0;
}

void site_labels(struct status *st, const struct site *s)
{
    if (json_len(s->v))
        (void)labels_check(st, site_path(st->arena, s), s->v);
}

/* inet_pton takes no leading zeros, as Go. */
int site_ip_family(str ip)
{
    char text[INET6_ADDRSTRLEN];
    unsigned char raw[16];

    if (ip.n == 0 || ip.n >= sizeof(text))
        return 0;
    memcpy(text, ip.p, ip.n);
    text[ip.n] = 0;
    if (strlen(text) != ip.n)
        return 0;
    if (inet_pton(AF_INET, text, raw) == 1)
        return 4;
    return inet_pton(AF_INET6, text, raw) == 1 ? 6 : 0;
}

/* The address without zeros before its parts: what netutils.ParseIPSloppy overlooks. */
static str plain_ip(char out[INET6_ADDRSTRLEN], str ip)
{
    size_t n = 0;

    if (ip.n >= INET6_ADDRSTRLEN || str_find(ip, ':', 0) >= 0)
        return ip;
    for (size_t i = 0; i < ip.n; i++) {
        bool more = i + 1 < ip.n && ip.p[i + 1] >= '0' && ip.p[i + 1] <= '9';

        if (ip.p[i] != '0' || !more || (n && out[n - 1] != '.'))
            out[n++] = ip.p[i];
    }
    return (str){ out, n };
}

int site_ip_family_loose(str ip)
{
    char text[INET6_ADDRSTRLEN];

    return site_ip_family(plain_ip(text, ip));
}

str site_ip_plain(struct arena *a, str ip)
{
    char text[INET6_ADDRSTRLEN];

    return str_dup(a, plain_ip(text, ip));
}

/* k8s: IsValidIPForLegacyField */
void site_ip(struct status *st, const struct site *s)
{
    if (s->v && !site_ip_family_loose(json_str(s->v)))
        site_invalid(st, s, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)");
}

void site_immutable(struct status *st, const struct site *s, const struct json *old)
{
    if (!check_same(s->v, old))
        site_fault(
            st,
            &(struct site){
                .up = s->up, .name = s->name, .kind = s->kind, .v = s->v ? s->v : &json_null },
            CAUSE_INVALID, "field is immutable");
}

/* ---- label selectors ---- */

static void selector_term(struct status *st, const struct site *term)
{
    struct site key = site_in(term, "key"), op = site_in(term, "operator");
    struct site values = site_in(term, "values");
    str o = json_str(op.v);
    bool sets = str_is(o, "In") || str_is(o, "NotIn");

    if (sets && json_len(values.v) == 0)
        site_missing(st, &values, "must be specified when `operator` is 'In' or 'NotIn'");
    else if ((str_is(o, "Exists") || str_is(o, "DoesNotExist")) && json_len(values.v))
        site_forbidden(st, &values,
                       "may not be specified when `operator` is 'Exists' or "
                       "'DoesNotExist'");
    else if (!sets && !str_is(o, "Exists") && !str_is(o, "DoesNotExist"))
        site_invalid(st, &op, "not a valid selector operator");
    (void)site_qualified(st, &key);
    site_each(v, &values)
    {
        str faults[NAME_FAULTS];
        size_t n = label_value_faults(json_str(v.v), faults);

        for (size_t i = 0; i < n; i++)
            site_fault(st, &v, CAUSE_INVALID, "%.*s", STR_ARG(faults[i]));
    }
}

void site_selector(struct status *st, const struct site *s)
{
    struct site labels = site_in(s, "matchLabels"), terms = site_in(s, "matchExpressions");

    site_labels(st, &labels);
    site_each(term, &terms) selector_term(st, &term);
}

bool site_selector_empty(const struct json *selector)
{
    return json_len(json_get(selector, STR("matchLabels"))) == 0 &&
           json_len(json_get(selector, STR("matchExpressions"))) == 0;
}

static bool term_holds(const struct json *term, const struct json *labels)
{
    const struct json *have = json_get(labels, json_get_str(term, "key"));
    str op = json_get_str(term, "operator");
    bool in = false;

    if (str_is(op, "Exists"))
        return have != NULL;
    if (str_is(op, "DoesNotExist"))
        return have == NULL;
    json_for_each (v, json_get(term, STR("values")))
        in = in || (have && str_eq(json_str(v), json_str(have)));
    return str_is(op, "In") ? in : !in;
}

bool site_selector_matches(const struct json *selector, const struct json *labels)
{
    if (!selector)
        return false;
    json_for_each_member (m, json_get(selector, STR("matchLabels"))) {
        const struct json *have = json_get(labels, m->name);

        if (!have || !json_equal(have, &m->value))
            return false;
    }
    json_for_each (term, json_get(selector, STR("matchExpressions")))
        if (!term_holds(term, labels))
            return false;
    return true;
}

bool site_seen_any(struct map *seen, str s)
{
    return site_seen(seen, s.n ? s : STR("\xff")); /* no string of JSON is that */
}

bool site_seen(struct map *seen, str s)
{
    static char there;

    return s.n && map_put(seen, s, &there) != NULL;
}
