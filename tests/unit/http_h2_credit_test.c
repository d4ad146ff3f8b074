/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "base/banned.h"
#include "http/h2_credit.h"
#include "tap.h"
#include "unit/http_h2lib.h"

struct session {
    struct buf fed;
    uint32_t owed[4]; /* by stream; 0: the connection's */
    size_t stop_at;   /* bytes fed after which it fails */
};

static bool feed(void *arg, const void *p, size_t n)
{
    struct session *s = arg;

    buf_append(&s->fed, p, n);
    return s->fed.n < s->stop_at;
}

static uint32_t pay(void *arg, int32_t id, uint32_t n)
{
    struct session *s = arg;
    uint32_t paid;

    if (id > 3)
        return 0;
    paid = n < s->owed[id] ? n : s->owed[id];
    s->owed[id] -= paid;
    return paid;
}

static const struct h2_credit_ops ops = { feed, pay };

static struct session session_new(void)
{
    struct session s = { .owed = { 1000, 100, 0, 7 }, .stop_at = SIZE_MAX };

    buf_init(&s.fed, 1 << 20);
    return s;
}

static void frames(struct buf *in, struct buf *want)
{
    char zeros[300] = { 0 };
    struct buf *both[] = { in, want };

    for (int i = 0; i < 2; i++) {
        buf_append(both[i], h2_preface, sizeof(h2_preface) - 1);
        h2_frame(both[i], SETTINGS, 0, 0, NULL, 0);
    }
    h2_u32_frame(in, WINDOW_UPDATE, 0, 0, 400); /* all of it is owed */
    h2_u32_frame(in, WINDOW_UPDATE, 0, 1, 130); /* some */
    h2_u32_frame(want, WINDOW_UPDATE, 0, 1, 30);
    h2_u32_frame(in, WINDOW_UPDATE, 0, 3, 7);
    for (int i = 0; i < 2; i++) {
        h2_frame(both[i], DATA, 0, 5, zeros, sizeof(zeros));
        h2_u32_frame(both[i], WINDOW_UPDATE, 0, 2, 50);   /* nothing */
        h2_u32_frame(both[i], WINDOW_UPDATE, 0, 1, 0);    /* wrong: not ours to judge */
        h2_frame(both[i], WINDOW_UPDATE, 0, 1, zeros, 5); /* as is this */
        h2_u32_frame(both[i], PING, 0, 0, 8);
    }
    h2_u32_frame(in, WINDOW_UPDATE, 0, 0, 0x80000000u | 601);
    h2_u32_frame(want, WINDOW_UPDATE, 0, 0, 1);
}

TEST(updates_pay_what_is_owed_wherever_they_are_cut)
{
    scoped_buf in, want;
    unsigned wrong = 0;

    buf_init(&in, 1 << 20);
    buf_init(&want, 1 << 20);
    frames(&in, &want);
    for (size_t step = 1; step <= in.n; step++) {
        struct session s = session_new();
        struct h2_credit c;
        bool ok = true;

        h2_credit_init(&c);
        for (size_t at = 0; at < in.n; at += step) {
            str part = str_sub(buf_str(&in), at, step);

            ok = ok && h2_credit_input(&c, part.p, part.n, &ops, &s);
        }
        if (!ok || !str_eq(buf_str(&s.fed), buf_str(&want)) || s.owed[0] || s.owed[1] || s.owed[3])
            wrong++;
        buf_release(&s.fed);
    }
    CHECK(want.n > 300 && wrong == 0);
}

TEST(a_failure_ends_it)
{
    scoped_buf in, want;
    unsigned wrong = 0;

    buf_init(&in, 1 << 20);
    buf_init(&want, 1 << 20);
    frames(&in, &want);
    for (size_t stop = 1; stop <= want.n; stop++) {
        struct session s = session_new();
        struct h2_credit c;

        s.stop_at = stop;
        h2_credit_init(&c);
        if (h2_credit_input(&c, in.p, in.n, &ops, &s))
            wrong++;
        buf_release(&s.fed);
    }
    CHECK(want.n > 300 && wrong == 0);
}
