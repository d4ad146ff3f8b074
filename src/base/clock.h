/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

/*
 * Time as a parameter: who waits, backs off or stamps takes a clock, and tests hand in one that
 * stands still until it is moved.
 *
 *     struct clock c = { 0 };            a fake one, at 0 on both scales
 *     clock_advance(&c, 5000);
 *     workqueue_new(clock_real());       the machine's
 *
 * The monotonic scale (now) orders and measures, the wall scale stamps objects.  Any thread.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct clock {
    bool real;
    atomic_llong fake_now_ms, fake_wall_us; /* what a fake one shows */
};

struct clock *clock_real(void);

int64_t clock_ns(void);                 /* the machine's monotonic scale, to measure a moment */
int64_t clock_now_ms(struct clock *c);  /* monotonic; only differences mean something */
int64_t clock_wall_s(struct clock *c);  /* seconds since 1970 UTC */
int64_t clock_wall_us(struct clock *c); /* the same in microseconds */

/* Fake clocks only; a jump moves the wall scale alone, as an administrator would. */
void clock_advance(struct clock *c, int64_t ms);
void clock_jump(struct clock *c, int64_t wall_us);

/*
 * Points in time as text, RFC 3339 as Kubernetes writes and reads it.  metav1.Time has whole
 * seconds, metav1.MicroTime six digits behind them; both are UTC on the way out.
 *
 *     char text[TIME_TEXT_SIZE];
 *     time_format_seconds(text, clock_wall_s(c));     2026-01-02T15:04:05Z
 *     time_format_micro(text, clock_wall_us(c));      2026-01-02T15:04:05.000000Z
 */
enum { TIME_TEXT_SIZE = 28 }; /* the longer form and a NUL */

/* Length written; 0 and the empty string for a year outside of 0..9999, which has no such form. */
size_t time_format_seconds(char out[TIME_TEXT_SIZE], int64_t unix_s);
size_t time_format_micro(char out[TIME_TEXT_SIZE], int64_t unix_us);

/*
 * What Go's time.Parse reads by the layouts of metav1.Time and metav1.MicroTime: any offset, an
 * hour of one digit, a comma for the point.  Seconds may have a fraction, which is dropped (to the
 * earlier second); micro must have six digits.  False, and nothing written, on anything else.
 */
bool time_parse_seconds(str s, int64_t *unix_s);
bool time_parse_micro(str s, int64_t *unix_us);

#endif
