/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/quantity.h"

#include "base/banned.h"

typedef unsigned __int128 u128;

enum {
    NANO = 9,
    EXPONENT_MAX = 1000, /* beyond, only the sign of the exponent matters */
    INT64_DIGITS = 18,   /* k8s: maxInt64Factors: that many digits always fit */
};

#define NANOS     ((u128)1000000000)
#define VALUE_MAX ((u128)INT64_MAX) /* what an overflow is clipped to */

/* The parts of a text as they stand. */
struct parts {
    bool negative;
    str whole, fraction; /* digits; leading zeros of the whole are left out */
    str suffix;
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t digits(str text, size_t from)
{
    while (from < text.n && is_digit(text.p[from]))
        from++;
    return from;
}

/* k8s: resource/quantity.go, parseQuantityString: no digits at all are a zero there, too. */
static bool split(str text, struct parts *out)
{
    size_t i = 0, end;

    if (text.n == 0)
        return false;
    out->negative = text.p[0] == '-';
    if (text.p[0] == '-' || text.p[0] == '+')
        i++;
    while (i < text.n && text.p[i] == '0')
        i++;
    end = digits(text, i);
    out->whole = str_sub(text, i, end - i);
    out->fraction = STR_NONE;
    i = end;
    if (i < text.n && text.p[i] == '.') {
        end = digits(text, i + 1);
        out->fraction = str_sub(text, i + 1, end - i - 1);
        i = end;
    }
    out->suffix = str_from(text, i);
    while (i < text.n && text.p[i] != '\0' && strchr("eEinumkKMGTP", text.p[i]))
        i++;
    if (i < text.n && (text.p[i] == '-' || text.p[i] == '+'))
        i++;
    return digits(text, i) == text.n;
}

static const struct suffix {
    str text;
    enum quantity_format format;
    int exponent; /* of 10, or of 2 for binary SI */
} suffixes[] = {
    { STR_INIT("n"), QUANTITY_DECIMAL_SI, -9 }, { STR_INIT("u"), QUANTITY_DECIMAL_SI, -6 },
    { STR_INIT("m"), QUANTITY_DECIMAL_SI, -3 }, { STR_INIT(""), QUANTITY_DECIMAL_SI, 0 },
    { STR_INIT("k"), QUANTITY_DECIMAL_SI, 3 },  { STR_INIT("M"), QUANTITY_DECIMAL_SI, 6 },
    { STR_INIT("G"), QUANTITY_DECIMAL_SI, 9 },  { STR_INIT("T"), QUANTITY_DECIMAL_SI, 12 },
    { STR_INIT("P"), QUANTITY_DECIMAL_SI, 15 }, { STR_INIT("E"), QUANTITY_DECIMAL_SI, 18 },
    { STR_INIT("Ki"), QUANTITY_BINARY_SI, 10 }, { STR_INIT("Mi"), QUANTITY_BINARY_SI, 20 },
    { STR_INIT("Gi"), QUANTITY_BINARY_SI, 30 }, { STR_INIT("Ti"), QUANTITY_BINARY_SI, 40 },
    { STR_INIT("Pi"), QUANTITY_BINARY_SI, 50 }, { STR_INIT("Ei"), QUANTITY_BINARY_SI, 60 },
};
enum { NSUFFIXES = sizeof(suffixes) / sizeof(*suffixes) };

static str suffix_of(enum quantity_format format, int exponent)
{
    for (size_t i = 0; i < NSUFFIXES; i++)
        if (suffixes[i].format == format && suffixes[i].exponent == exponent)
            return suffixes[i].text;
    return STR("");
}

static bool interpret(str text, struct suffix *out)
{
    int64_t e = 0;
    str number;

    for (size_t i = 0; i < NSUFFIXES; i++)
        if (str_eq(suffixes[i].text, text)) {
            *out = suffixes[i];
            return true;
        }
    if (text.p[0] != 'e' && text.p[0] != 'E')
        return false;
    number = str_from(text, text.n > 1 && text.p[1] == '+' ? 2 : 1);
    if (!str_to_i64(number, &e))
        return false;
    if (e > EXPONENT_MAX || e < -EXPONENT_MAX)
        e = e < 0 ? -EXPONENT_MAX : EXPONENT_MAX;
    *out = (struct suffix){ .format = QUANTITY_DECIMAL_EXPONENT, .exponent = (int)e };
    return true;
}

/* The digits as mantissa × 10^*exponent, at most `max` of them exact; *more: not all was. */
static u128 mantissa(const struct parts *p, unsigned max, int *exponent, bool *more)
{
    unsigned used = 0;
    u128 m = 0;

    *exponent = 0;
    *more = false;
    for (size_t i = 0; i < p->whole.n + p->fraction.n; i++) {
        bool whole = i < p->whole.n;
        char c = whole ? p->whole.p[i] : p->fraction.p[i - p->whole.n];

        if (used < max) {
            m = 10 * m + (u128)(c - '0');
            used += m != 0;
            *exponent -= !whole;
        } else {
            *exponent += whole && *exponent < EXPONENT_MAX;
            *more |= c != '0';
        }
    }
    return m;
}

/* m × 10^exponent, rounded up; false when it does not fit. */
static bool scale(u128 m, int exponent, bool more, u128 *out)
{
    for (; exponent > 0 && m != 0; exponent--)
        if (__builtin_mul_overflow(m, (u128)10, &m))
            return false;
    for (; exponent < 0 && m != 0; exponent++) {
        more |= m % 10 != 0;
        m /= 10;
    }
    *out = m + more;
    return *out <= (u128)1 << 126;
}

/* Binary suffixes are clipped to an int64, as Kubernetes does; decimal ones when they must be. */
static u128 nanos(const struct parts *p, const struct suffix *s)
{
    bool binary = s->format == QUANTITY_BINARY_SI, more;
    int e;
    u128 m = mantissa(p, binary ? 18 : 36, &e, &more), whole;

    if (!binary)
        return scale(m, e + s->exponent + NANO, more, &m) ? m : VALUE_MAX * NANOS;
    m <<= s->exponent;
    if (!scale(m, e, false, &whole) || whole > VALUE_MAX)
        return VALUE_MAX * NANOS;
    return scale(m, e + NANO, more, &m) ? m : VALUE_MAX * NANOS;
}

bool quantity_parse(str text, struct quantity *out)
{
    struct suffix s;
    struct parts p;
    u128 n;

    if (!split(text, &p) || !interpret(p.suffix, &s))
        return false;
    n = nanos(&p, &s);
    out->nanos = p.negative ? -(__int128)n : (__int128)n;
    out->format = s.format;
    return true;
}

static str print(struct arena *a, bool negative, u128 n, str suffix)
{
    char text[48], *p = text + sizeof(text);

    do {
        *--p = (char)('0' + (int)(n % 10));
        n /= 10;
    } while (n != 0);
    if (negative)
        *--p = '-';
    return str_printf(a, "%.*s%.*s", (int)(text + sizeof(text) - p), p, STR_ARG(suffix));
}

static str print_binary(struct arena *a, bool negative, u128 value)
{
    int exponent = 0;

    for (; exponent < 60 && value % 1024 == 0; exponent += 10)
        value /= 1024;
    return print(a, negative, value, suffix_of(QUANTITY_BINARY_SI, exponent));
}

/* The largest power of 1000 that leaves a whole number. */
static str print_decimal(struct arena *a, bool negative, u128 n, enum quantity_format format)
{
    int exponent = -NANO;
    str suffix;

    for (; n % 1000 == 0 && (format == QUANTITY_DECIMAL_EXPONENT || exponent < 18); exponent += 3)
        n /= 1000;
    if (format != QUANTITY_DECIMAL_EXPONENT)
        suffix = suffix_of(QUANTITY_DECIMAL_SI, exponent);
    else
        suffix = exponent ? str_printf(a, "e%d", exponent) : STR("");
    return print(a, negative, n, suffix);
}

str quantity_print(struct arena *a, const struct quantity *q)
{
    bool negative = q->nanos < 0;
    u128 n = negative ? -(u128)q->nanos : (u128)q->nanos;

    if (n == 0)
        return STR("0");
    /* k8s: CanonicalizeBytes: small or broken values are not shown in powers of two */
    if (q->format == QUANTITY_BINARY_SI && n >= 1024 * NANOS && n % NANOS == 0)
        return print_binary(a, negative, n / NANOS);
    if (q->format == QUANTITY_DECIMAL_EXPONENT)
        return print_decimal(a, negative, n, q->format);
    return print_decimal(a, negative, n, QUANTITY_DECIMAL_SI);
}

static bool ends_in_thousands(const struct parts *p)
{
    size_t all = p->whole.n + p->fraction.n;

    for (size_t i = all; i + 3 > all && i > 0; i--)
        if ((i > p->whole.n ? p->fraction.p[i - p->whole.n - 1] : p->whole.p[i - 1]) != '0')
            return false;
    return all >= 3;
}

/* k8s: ParseQuantity keeps the string where its fast path thinks that it is canonical. */
static bool keeps_text(const struct parts *p, const struct suffix *s)
{
    size_t n = p->whole.n;
    int exponent = s->exponent - (int)p->fraction.n;
    uint64_t low = 0;

    if (n == 0 || n + p->fraction.n > INT64_DIGITS)
        return false;
    if (s->format != QUANTITY_BINARY_SI)
        return exponent >= -NANO && exponent % 3 == 0 && !ends_in_thousands(p);
    if (p->fraction.n || (int)n > 14 - s->exponent * 3 / 10)
        return false;
    /* Its last three digits say whether a number is a multiple of eight. */
    return str_to_u64(str_from(p->whole, n > 3 ? n - 3 : 0), &low) && low % 8 != 0;
}

bool quantity_canonical(struct arena *a, str text, str *out)
{
    struct quantity q;
    struct suffix s;
    struct parts p;

    if (!split(text, &p) || !interpret(p.suffix, &s))
        return false;
    if (keeps_text(&p, &s)) {
        *out = text;
        return true;
    }
    if (!quantity_parse(text, &q))
        return false;
    *out = quantity_print(a, &q);
    return true;
}

int quantity_cmp(const struct quantity *a, const struct quantity *b)
{
    return (a->nanos > b->nanos) - (a->nanos < b->nanos);
}
