/* SPDX-License-Identifier: Apache-2.0 */
#include "json/number.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum {
    DIGITS_SAFE = 15, /* so many digits survive decimal -> double -> decimal */
    DIGITS_MAX = 17,  /* so many tell all doubles apart */
};

/* A positive number as 0.d1d2d3… * 10^point. */
struct decimal {
    char digits[DIGITS_MAX + 1];
    int n, point;
};

bool number_parse(const char *z, double *out)
{
    double f = strtod(z, NULL);

    if (isinf(f))
        return false;
    *out = f;
    return true;
}

/* f rounded to n digits. */
static struct decimal round_to(double f, int n)
{
    struct decimal d = { .n = n };
    char text[NUMBER_TEXT_MAX]; /* d.ddde±xxx */
    char *e;

    (void)snprintf(text, sizeof(text), "%.*e", n - 1, f);
    e = strchr(text, 'e');
    assert(e);
    d.digits[0] = text[0];
    if (n > 1)
        memcpy(d.digits + 1, text + 2, (size_t)n - 1);
    d.point = (int)strtol(e + 1, NULL, 10) + 1;
    return d;
}

static double value_of(const struct decimal *d)
{
    char text[NUMBER_TEXT_MAX];

    (void)snprintf(text, sizeof(text), "0.%.*se%d", d->n, d->digits, d->point);
    return strtod(text, NULL);
}

/* The next larger number of as many digits. */
static void increment(struct decimal *d)
{
    int i = d->n - 1;

    while (i >= 0 && d->digits[i] == '9')
        d->digits[i--] = '0';
    if (i >= 0) {
        d->digits[i]++;
        return;
    }
    d->digits[0] = '1';
    d->point++;
}

static void strip_zeros(struct decimal *d)
{
    while (d->n > 1 && d->digits[d->n - 1] == '0')
        d->n--;
}

/*
 * Of the numbers with n digits the nearest is the one to try, except at powers of two: there the
 * doubles below lie closer than those above, and the next one up may read back where the nearest,
 * below, does not (2^-44).
 */
static struct decimal shortest(double f)
{
    int exponent;
    bool power_of_two = frexp(f, &exponent) == 0.5;
    struct decimal d;

    /* Subnormals have fewer digits than DIGITS_SAFE, and rounding to those would not find them. */
    for (int n = f < DBL_MIN ? 1 : DIGITS_SAFE; n < DIGITS_MAX; n++) {
        d = round_to(f, n);
        if (value_of(&d) == f)
            goto found;
        if (!power_of_two)
            continue;
        increment(&d);
        if (value_of(&d) == f)
            goto found;
    }
    d = round_to(f, DIGITS_MAX);
found:
    strip_zeros(&d);
    return d;
}

static struct decimal shortest_single(float f)
{
    struct decimal d;

    for (int n = 1; n <= 9; n++) {
        d = round_to((double)f, n);
        if ((float)value_of(&d) == f)
            break;
    }
    strip_zeros(&d);
    return d;
}

static char *put_zeros(char *to, int n)
{
    if (n <= 0)
        return to;
    memset(to, '0', (size_t)n);
    return to + n;
}

static char *put_digits(char *to, const struct decimal *d, int from, int n)
{
    if (n <= 0)
        return to;
    memcpy(to, d->digits + from, (size_t)n);
    return to + n;
}

static char *put_plain(char *to, const struct decimal *d)
{
    int whole = d->point < d->n ? d->point : d->n;

    if (d->point <= 0) {
        *to++ = '0';
        whole = 0;
    }
    to = put_digits(to, d, 0, whole);
    to = put_zeros(to, d->point - whole);
    if (whole == d->n)
        return to;
    *to++ = '.';
    to = put_zeros(to, -d->point);
    return put_digits(to, d, whole, d->n - whole);
}

static char *put_exponent(char *to, const struct decimal *d, int width)
{
    *to++ = d->digits[0];
    if (d->n > 1)
        *to++ = '.';
    to = put_digits(to, d, 1, d->n - 1);
    *to++ = 'e';
    return to + snprintf(to, 8, "%c%0*d", d->point < 1 ? '-' : '+', width, abs(d->point - 1));
}

size_t number_print(char text[NUMBER_TEXT_MAX], double f)
{
    struct decimal d;
    char *to = text;

    assert(isfinite(f));
    if (signbit(f)) {
        *to++ = '-';
        f = -f;
    }
    if (f == 0) {
        *to++ = '0';
        return (size_t)(to - text);
    }
    /* All digits, as the text will be read as an int64; from 2^53 on Go would write zeros here. */
    if (f < 0x1p63 && f == floor(f))
        return (size_t)(to - text) + (size_t)snprintf(to, 20, "%lld", (long long)f);
    d = shortest(f);
    to = f < 1e-6 || f >= 1e21 ? put_exponent(to, &d, 1) : put_plain(to, &d);
    return (size_t)(to - text);
}

size_t number_print_key(char text[NUMBER_TEXT_MAX], double f)
{
    float single = (float)fabs(f);
    struct decimal d;
    char *to = text;

    if (isnan(f) || isinf(single))
        return (size_t)snprintf(text, NUMBER_TEXT_MAX,
                                isnan(f) ? ".nan" : (f < 0 ? "-.inf" : ".inf"));
    if (signbit(f))
        *to++ = '-';
    if (single == 0) {
        *to++ = '0';
        return (size_t)(to - text);
    }
    d = shortest_single(single);
    to = d.point - 1 < -4 || d.point - 1 >= 6 ? put_exponent(to, &d, 2) : put_plain(to, &d);
    return (size_t)(to - text);
}
