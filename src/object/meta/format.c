/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/format.h"

#include "base/banned.h"

#include "object/meta/format_net.h"
#include "object/meta/names.h"

enum { NAME_BYTES = 32 };

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r';
}

static bool all(str s, bool (*is)(char))
{
    for (size_t i = 0; i < s.n; i++)
        if (!is(s.p[i]))
            return false;
    return true;
}

static bool is_object_id(str s)
{
    return s.n == 24 && all(s, is_hex);
}

/* Decimal digits from `at`, n of them. */
static int number_at(str s, size_t at, size_t n)
{
    int v = 0;

    if (at + n > s.n)
        return -1;
    for (size_t i = at; i < at + n; i++) {
        if (!is_digit(s.p[i]))
            return -1;
        v = v * 10 + (s.p[i] - '0');
    }
    return v;
}

static bool is_date(str s)
{
    static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    int year = number_at(s, 0, 4), month = number_at(s, 5, 2), day = number_at(s, 8, 2);
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

    if (s.n != 10 || s.p[4] != '-' || s.p[7] != '-' || year < 0 || month < 1 || month > 12)
        return false;
    return day >= 1 && day <= days[month - 1] + (month == 2 && leap);
}

/* hh:mm:ss, perhaps a fraction behind any one character, then z or +hh:mm. */
static bool is_time(str s)
{
    int hour = number_at(s, 0, 2), minute = number_at(s, 3, 2), second = number_at(s, 6, 2);
    size_t i = 8;

    if (s.n < 9 || s.p[2] != ':' || s.p[5] != ':' || hour < 0 || minute < 0 || second < 0)
        return false;
    if (hour > 23 || minute > 59 || second > 59)
        return false;
    if (i + 1 < s.n && is_digit(s.p[i + 1]) && !(s.n - i == 6 && s.p[i + 3] == ':')) {
        for (i++; i < s.n && is_digit(s.p[i]);)
            i++;
    }
    s = str_from(s, i);
    if (s.n == 1)
        return s.p[0] == 'z' || s.p[0] == 'Z';
    return s.n == 6 && (s.p[0] == '+' || s.p[0] == '-') && number_at(s, 1, 2) >= 0 &&
           s.p[3] == ':' && number_at(s, 4, 2) >= 0;
}

static bool is_datetime(str s)
{
    size_t t = 0, end;

    while (t < s.n && s.p[t] != 't' && s.p[t] != 'T')
        t++;
    for (end = t + 1; end < s.n && s.p[end] != 't' && s.p[end] != 'T';)
        end++;
    return t < s.n && is_date(str_sub(s, 0, t)) && is_time(str_sub(s, t + 1, end - t - 1));
}

/* Units of time.ParseDuration, longest first. */
static size_t go_unit(str s)
{
    static const char *const units[] = {
        "ns", "us", "\xc2\xb5s", "\xce\xbcs", "ms", "s", "m", "h"
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
        if (str_starts(s, str_of(units[i])))
            return strlen(units[i]);
    return 0;
}

static bool is_go_duration(str s)
{
    if (s.n && (s.p[0] == '-' || s.p[0] == '+'))
        s = str_from(s, 1);
    if (str_is(s, "0"))
        return true;
    if (s.n == 0)
        return false;
    while (s.n) {
        size_t i = 0, digits = 0, unit;

        for (; i < s.n && (is_digit(s.p[i]) || s.p[i] == '.'); i++)
            digits += is_digit(s.p[i]);
        unit = go_unit(str_from(s, i));
        if (digits == 0 || i - digits > 1 || unit == 0)
            return false;
        s = str_from(s, i + unit);
    }
    return true;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c & 0x80);
}

/* Scala's: `3 days`, `1 hour`; any such number and unit in the text will do. */
static bool is_scala_unit(str word)
{
    static const char *const exact[] = { "ns", "us", "\xc2\xb5s", "ms", "s", "m",
                                         "h",  "hr", "d",         "w",  "wk" };
    static const char *const begins[] = { "nano", "micro", "milli", "sec",
                                          "min",  "hour",  "day",   "week" };

    for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++)
        if (str_eq_nocase(word, str_of(exact[i])))
            return true;
    for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
        if (str_eq_nocase(str_sub(word, 0, strlen(begins[i])), str_of(begins[i])))
            return true;
    return false;
}

static bool is_duration(str s)
{
    if (is_go_duration(s))
        return true;
    for (size_t i = 0; i < s.n; i++) {
        size_t from;

        if (!is_digit(s.p[i]))
            continue;
        while (i < s.n && is_digit(s.p[i]))
            i++;
        while (i < s.n && is_blank(s.p[i]))
            i++;
        for (from = i; i < s.n && is_letter(s.p[i]);)
            i++;
        if (i > from && is_scala_unit(str_sub(s, from, i - from)))
            return true;
    }
    return false;
}

/* 8-4-4-4-12 hexadecimal digits, each dash optional; the digits without dashes go to out. */
static bool uuid_digits(str s, char out[32])
{
    size_t n = 0, i = 0;

    for (; i < s.n; i++) {
        if (s.p[i] == '-' && i > 0 && s.p[i - 1] != '-' &&
            (n == 8 || n == 12 || n == 16 || n == 20))
            continue;
        if (!is_hex(s.p[i]) || n == 32)
            return false;
        out[n++] = s.p[i];
    }
    return n == 32;
}

static bool is_uuid(str s)
{
    char digits[32];

    return uuid_digits(s, digits);
}

static bool is_uuid_of(str s, char version)
{
    char digits[32];

    return uuid_digits(s, digits) && digits[12] == version &&
           (version == '3' || strchr("89abAB", digits[16]));
}

static bool is_uuid3(str s)
{
    return is_uuid_of(s, '3');
}

static bool is_uuid4(str s)
{
    return is_uuid_of(s, '4');
}

static bool is_uuid5(str s)
{
    return is_uuid_of(s, '5');
}

/* The characters that are not dropped, up to `max`; more than that gives 0. */
static size_t keep(str s, bool (*drop)(char), char *out, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < s.n; i++) {
        if (drop(s.p[i]))
            continue;
        if (n == max)
            return 0;
        out[n++] = s.p[i];
    }
    return n;
}

static bool is_blank_or_dash(char c)
{
    return is_blank(c) || c == '-';
}

static bool is_isbn10(str s)
{
    char d[13];
    size_t n = keep(s, is_blank_or_dash, d, sizeof(d));
    int sum = 0;

    if (n != 10)
        return false;
    for (int i = 0; i < 10; i++) {
        if (!is_digit(d[i]) && !(i == 9 && d[i] == 'X'))
            return false;
        sum += (i + 1) * (d[i] == 'X' ? 10 : d[i] - '0');
    }
    return sum % 11 == 0;
}

static bool is_isbn13(str s)
{
    char d[13];
    size_t n = keep(s, is_blank_or_dash, d, sizeof(d));
    int sum = 0;

    if (n != 13)
        return false;
    for (int i = 0; i < 13; i++) {
        if (!is_digit(d[i]))
            return false;
        sum += (i % 2 ? 3 : 1) * (d[i] - '0');
    }
    return sum % 10 == 0;
}

static bool is_isbn(str s)
{
    return is_isbn10(s) || is_isbn13(s);
}

static bool is_no_digit(char c)
{
    return !is_digit(c);
}

static bool luhn(const char *d, size_t n)
{
    int sum = 0;

    for (size_t i = 0; i < n; i++) {
        int v = d[n - 1 - i] - '0';

        if (i % 2)
            v = v * 2 > 9 ? v * 2 - 9 : v * 2;
        sum += v;
    }
    return sum % 10 == 0;
}

/* Number ranges of the card issuers, by their first four digits, and how many digits follow. */
static bool is_credit_card(str s)
{
    static const struct {
        int from, to;
        size_t n;
    } issuers[] = {
        { 4000, 4999, 13 }, { 4000, 4999, 16 }, { 5100, 5599, 16 }, { 2221, 2720, 16 },
        { 6011, 6011, 16 }, { 6500, 6599, 16 }, { 3400, 3499, 15 }, { 3700, 3799, 15 },
        { 3000, 3059, 14 }, { 3600, 3699, 14 }, { 3800, 3899, 14 }, { 2131, 2131, 15 },
        { 1800, 1800, 15 }, { 3500, 3599, 16 }, { 6200, 6299, 16 }, { 6700, 6799, 16 },
    };
    char d[16];
    size_t n = keep(s, is_no_digit, d, sizeof(d));
    int first = number_at((str){ d, n }, 0, 4);

    for (size_t i = 0; i < sizeof(issuers) / sizeof(*issuers); i++)
        if (n == issuers[i].n && first >= issuers[i].from && first <= issuers[i].to)
            return luhn(d, n);
    return false;
}

static bool is_ssn(str s)
{
    return s.n == 11 && number_at(s, 0, 3) >= 0 && (s.p[3] == '-' || s.p[3] == ' ') &&
           number_at(s, 4, 2) >= 0 && (s.p[6] == '-' || s.p[6] == ' ') && number_at(s, 7, 4) >= 0;
}

static bool is_hex_color(str s)
{
    if (s.n && s.p[0] == '#')
        s = str_from(s, 1);
    return (s.n == 3 || s.n == 6) && all(s, is_hex);
}

/* rgb(1, 2, 3) with numbers up to 255 that have no leading zeros. */
static bool is_rgb_color(str s)
{
    str part;
    unsigned n = 0;

    if (!str_starts(s, STR("rgb(")) || !str_ends(s, STR(")")))
        return false;
    s = str_sub(s, 4, s.n - 5);
    while (str_split(&s, ',', &part)) {
        uint64_t v;

        while (part.n && is_blank(part.p[0]))
            part = str_from(part, 1);
        while (part.n && is_blank(part.p[part.n - 1]))
            part.n--;
        if (part.n > 1 && part.p[0] == '0')
            return false;
        if (!str_to_u64(part, &v) || v > 255)
            return false;
        n++;
    }
    return n == 3;
}

static bool is_base64_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' || c == '/';
}

/* Padded, not empty. */
static bool is_base64(str s)
{
    size_t pad = str_ends(s, STR("==")) ? 2 : str_ends(s, STR("=")) ? 1 : 0;

    return s.n > 0 && s.n % 4 == 0 && all(str_sub(s, 0, s.n - pad), is_base64_char);
}

static bool is_short_name(str s)
{
    return name_is_valid(NAME_LABEL, s);
}

static bool is_long_name(str s)
{
    return name_is_valid(NAME_SUBDOMAIN, s);
}

static const struct {
    const char *name;
    format_check *check;
} formats[] = {
    { "bsonobjectid", is_object_id },
    { "byte", is_base64 },
    { "cidr", format_is_cidr },
    { "creditcard", is_credit_card },
    { "date", is_date },
    { "datetime", is_datetime },
    { "duration", is_duration },
    { "email", format_is_email },
    { "hexcolor", is_hex_color },
    { "hostname", format_is_hostname },
    { "ipv4", format_is_ipv4 },
    { "ipv6", format_is_ipv6 },
    { "isbn", is_isbn },
    { "isbn10", is_isbn10 },
    { "isbn13", is_isbn13 },
    { "k8slongname", is_long_name },
    { "k8sshortname", is_short_name },
    { "mac", format_is_mac },
    { "rgbcolor", is_rgb_color },
    { "ssn", is_ssn },
    { "uri", format_is_uri },
    { "uuid", is_uuid },
    { "uuid3", is_uuid3 },
    { "uuid4", is_uuid4 },
    { "uuid5", is_uuid5 },
};

format_check *format_find(str name)
{
    char plain[NAME_BYTES];
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < sizeof(plain); i++)
        if (name.p[i] != '-')
            plain[n++] = name.p[i];
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++)
        if (str_is((str){ plain, n }, formats[i].name))
            return formats[i].check;
    return NULL;
}
