/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/names.h"

#include "base/banned.h"

enum {
    SUBDOMAIN_MAX = 253,
    LABEL_MAX = 63,
    ANNOTATIONS_MAX = 256 << 10,
};

/* What a byte may be part of. */
enum { LOWER = 1, UPPER = 2, DIGIT = 4, DASH = 8, DOT = 16, UNDERSCORE = 32 };
enum {
    DNS = LOWER | DIGIT,
    ALNUM = LOWER | UPPER | DIGIT,
    INNER = ALNUM | DASH | DOT | UNDERSCORE, /* inside of label keys and values */
};

static const unsigned char classes[256] = {
    ['a' ... 'z'] = LOWER, ['A' ... 'Z'] = UPPER, ['0' ... '9'] = DIGIT,
    ['-'] = DASH,          ['.'] = DOT,           ['_'] = UNDERSCORE,
};

static bool is(char c, unsigned class)
{
    return classes[(unsigned char)c] & class;
}

/* One of `first`, then of `inner`, the last one of `last`. */
static bool shaped(str s, unsigned first, unsigned inner, unsigned last)
{
    if (s.n == 0 || !is(s.p[0], first) || !is(s.p[s.n - 1], last))
        return false;
    for (size_t i = 1; i + 1 < s.n; i++)
        if (!is(s.p[i], inner))
            return false;
    return true;
}

static bool is_label(str s)
{
    return shaped(s, DNS, DNS | DASH, DNS);
}

static bool is_subdomain(str s)
{
    str rest = s, part;

    if (s.n == 0)
        return false;
    while (str_split(&rest, '.', &part))
        if (!is_label(part))
            return false;
    return true;
}

static bool is_search(str s)
{
    str rest = s, part;

    if (s.n == 0)
        return false;
    while (str_split(&rest, '.', &part))
        if (!shaped(str_from(part, part.n && part.p[0] == '_'), DNS, DNS | DASH | UNDERSCORE, DNS))
            return false;
    return true;
}

static bool is_label_key_name(str s)
{
    return shaped(s, ALNUM, INNER, ALNUM);
}

#define LABEL_FMT        "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
#define LABEL_KEY_FMT    "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
#define WHERE_FMT(regex) "regex used for validation is '" regex "')"

#define SUBDOMAIN_TEXT                                                                    \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " \
    "'-' or '.', and must start and end with an alphanumeric character (e.g. "            \
    "'example.com', " WHERE_FMT(LABEL_FMT "(\\." LABEL_FMT ")*")
#define SEARCH_FMT "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
#define SEARCH_TEXT                                                                       \
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, " \
    "'_', '-' or '.', and must start and end with an alphanumeric character (e.g. "       \
    "'example.com', " WHERE_FMT(SEARCH_FMT "(\\." SEARCH_FMT ")*")
#define LABEL_TEXT                                                                      \
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or " \
    "'-', and must start and end with an alphanumeric character (e.g. 'my-name',  or "  \
    "'123-abc', " WHERE_FMT(LABEL_FMT)
#define LABEL_1035_TEXT                                                                  \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start " \
    "with an alphabetic character, and end with an alphanumeric character (e.g. "        \
    "'my-name',  or 'abc-123', " WHERE_FMT("[a-z]([-a-z0-9]*[a-z0-9])?")
#define LABEL_KEY_TEXT                                                                         \
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end "        \
    "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', " WHERE_FMT( \
        LABEL_KEY_FMT)
#define LABEL_VALUE_TEXT                                                                   \
    "a valid label must be an empty string or consist of alphanumeric characters, '-', "   \
    "'_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  " \
    "or 'my_value',  or '12345', " WHERE_FMT("(" LABEL_KEY_FMT ")?")

static size_t subdomain_faults(str name, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (name.n > SUBDOMAIN_MAX)
        faults[n++] = STR("must be no more than 253 characters");
    if (!is_subdomain(name))
        faults[n++] = STR(SUBDOMAIN_TEXT);
    return n;
}

static size_t search_faults(str name, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (name.n > SUBDOMAIN_MAX)
        faults[n++] = STR("must be no more than 253 characters");
    if (!is_search(name))
        faults[n++] = STR(SEARCH_TEXT);
    return n;
}

static size_t label_faults(str name, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (name.n > LABEL_MAX)
        faults[n++] = STR("must be no more than 63 characters");
    if (!is_label(name))
        faults[n++] = is_subdomain(name) ? STR("must not contain dots") : STR(LABEL_TEXT);
    return n;
}

static size_t label_1035_faults(str name, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (name.n > LABEL_MAX)
        faults[n++] = STR("must be no more than 63 characters");
    if (!shaped(name, LOWER, DNS | DASH, DNS))
        faults[n++] = STR(LABEL_1035_TEXT);
    return n;
}

static size_t path_prefix_faults(str name, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (str_find(name, '/', 0) >= 0)
        faults[n++] = STR("may not contain '/'");
    if (str_find(name, '%', 0) >= 0)
        faults[n++] = STR("may not contain '%'");
    if (str_find(name, '\0', 0) >= 0) /* ours: no tool shows such a name, and some end there */
        faults[n++] = STR("may not contain NUL");
    return n;
}

static size_t path_faults(str name, str faults[NAME_FAULTS])
{
    if (str_is(name, ".") || str_is(name, "..")) {
        faults[0] = name.n == 1 ? STR("may not be '.'") : STR("may not be '..'");
        return 1;
    }
    return path_prefix_faults(name, faults);
}

size_t name_faults(enum name_rule rule, str name, str faults[NAME_FAULTS])
{
    static size_t (*const rules[])(str name, str faults[NAME_FAULTS]) = {
        [NAME_SUBDOMAIN] = subdomain_faults,   [NAME_LABEL] = label_faults,
        [NAME_LABEL_1035] = label_1035_faults, [NAME_PATH] = path_faults,
        [NAME_SEARCH] = search_faults,
    };

    return rules[rule](name, faults);
}

size_t qualified_name_faults(str name, str faults[NAME_FAULTS])
{
    ptrdiff_t slash = str_find(name, '/', 0);
    str part = name;
    size_t n = 0;

    if (slash >= 0) {
        str prefix = str_sub(name, 0, (size_t)slash);

        part = str_from(name, (size_t)slash + 1);
        if (str_find(part, '/', 0) >= 0) {
            faults[0] = STR("a valid label key " LABEL_KEY_TEXT
                            " with an optional DNS subdomain prefix and '/' "
                            "(e.g. 'example.com/MyName')");
            return 1;
        }
        if (prefix.n == 0)
            faults[n++] = STR("prefix part must be non-empty");
        if (prefix.n > SUBDOMAIN_MAX)
            faults[n++] = STR("prefix part must be no more than 253 bytes");
        if (prefix.n && !is_subdomain(prefix))
            faults[n++] = STR("prefix part " SUBDOMAIN_TEXT);
    }
    if (part.n == 0)
        faults[n++] = STR("name part must be non-empty");
    if (part.n > LABEL_MAX)
        faults[n++] = STR("name part must be no more than 63 bytes");
    if (!is_label_key_name(part))
        faults[n++] = STR("name part " LABEL_KEY_TEXT);
    return n;
}

size_t label_value_faults(str value, str faults[NAME_FAULTS])
{
    size_t n = 0;

    if (value.n > LABEL_MAX)
        faults[n++] = STR("must be no more than 63 bytes");
    if (value.n && !is_label_key_name(value))
        faults[n++] = STR(LABEL_VALUE_TEXT);
    return n;
}

/* One cause for each fault of the value. */
static unsigned invalid(struct status *st, str field, str value, const str *faults, size_t n)
{
    struct json v = json_of_str(value);

    for (size_t i = 0; i < n && st->ncauses < STATUS_CAUSES_MAX; i++)
        status_cause(st, CAUSE_INVALID, field, json_text(st->arena, &v), "%.*s",
                     STR_ARG(faults[i]));
    return (unsigned)n;
}

unsigned name_check(struct status *st, enum name_rule rule, str field, str name)
{
    str faults[NAME_FAULTS];

    return invalid(st, field, name, faults, name_faults(rule, name, faults));
}

/*
 * k8s: api/validation/generic.go, maskTrailingDash: the last two bytes give way to an `a`, so that
 * what stood before the dash is not looked at.
 */
unsigned name_check_prefix(struct status *st, enum name_rule rule, str field, str prefix)
{
    str faults[NAME_FAULTS], masked = prefix;

    if (rule == NAME_PATH)
        return invalid(st, field, prefix, faults, path_prefix_faults(prefix, faults));
    if (prefix.n > 1 && str_ends(prefix, STR("-")))
        masked = str_concat(st->arena, str_sub(prefix, 0, prefix.n - 2), STR("a"), STR_NONE);
    return invalid(st, field, prefix, faults, name_faults(rule, masked, faults));
}

unsigned qualified_name_check(struct status *st, str field, str name)
{
    str faults[NAME_FAULTS];

    return invalid(st, field, name, faults, qualified_name_faults(name, faults));
}

unsigned label_value_check(struct status *st, str field, str value)
{
    str faults[NAME_FAULTS];

    return invalid(st, field, value, faults, label_value_faults(value, faults));
}

unsigned labels_check(struct status *st, str field, const struct json *labels)
{
    unsigned n = 0;

    json_for_each_member (m, labels) {
        n += qualified_name_check(st, field, m->name);
        n += label_value_check(st, field, json_str(&m->value));
    }
    return n;
}

/* Keys as of labels, but in any case; the values may be anything up to a size in all. */
unsigned annotations_check(struct status *st, str field, const struct json *annotations)
{
    str faults[NAME_FAULTS];
    size_t total = 0;
    unsigned n = 0;

    json_for_each_member (m, annotations) {
        total += m->name.n + json_str(&m->value).n;
        if (qualified_name_is_valid(m->name))
            continue;
        n += invalid(st, field, m->name, faults,
                     qualified_name_faults(str_lower(st->arena, m->name), faults));
    }
    if (total <= ANNOTATIONS_MAX)
        return n;
    status_cause(st, CAUSE_TOO_LONG, field, STR_NONE, "may not be more than %d bytes",
                 ANNOTATIONS_MAX);
    return n + 1;
}

bool name_is_valid(enum name_rule rule, str name)
{
    str faults[NAME_FAULTS];

    return name_faults(rule, name, faults) == 0;
}

bool qualified_name_is_valid(str name)
{
    str faults[NAME_FAULTS];

    return qualified_name_faults(name, faults) == 0;
}

bool label_value_is_valid(str value)
{
    str faults[NAME_FAULTS];

    return label_value_faults(value, faults) == 0;
}
