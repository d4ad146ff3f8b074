/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/flow/flow_gate.h"

#include <stdlib.h>
#include <string.h>

#include "tap.h"

/* Seats and queues, without a server: who gets the next one. */

static struct flow_ticket *last;
static unsigned grants;

static void granted(struct flow_ticket *t)
{
    last = t;
    grants++;
}

static struct flow_ticket ticket(uint32_t instance, uint64_t flow)
{
    return (struct flow_ticket){
        .instance = instance, .level = 1, .flow = flow, .bytes = 1, .granted = granted
    };
}

static const struct flow_limits wide = {
    .nominal = 1000, .max = 1000, .queues = 16, .hand = 2, .length = 100
};
static const struct flow_limits rejecting = { .nominal = 1000, .max = 1000 };

TEST(a_share_is_rounded_up_and_never_more_than_all)
{
    CHECK(flow_share(600, 30, 245) == 74);
    CHECK(flow_share(600, 0, 245) == 0);
    CHECK(flow_share(600, 1, 1) == 600);
    CHECK(flow_share(3, 1, 1000) == 1);
    CHECK(flow_share(600, 5, 0) == 0);
    CHECK(flow_share(600, INT32_MAX, (uint64_t)INT32_MAX + 1) == 600);
}

TEST(a_hand_has_no_card_twice)
{
    uint32_t hand[FLOW_HAND_MAX];

    for (uint64_t h = 0; h < 5000; h++) {
        flow_deal(h * 0x9e3779b97f4a7c15, 16, 6, hand);
        for (int i = 0; i < 6; i++) {
            CHECK(hand[i] < 16);
            for (int j = 0; j < i; j++)
                CHECK(hand[i] != hand[j]);
        }
    }
    flow_deal(12345, FLOW_HAND_MAX, FLOW_HAND_MAX, hand); /* the whole deck */
    for (uint32_t card = 0; card < FLOW_HAND_MAX; card++) {
        int n = 0;

        for (int i = 0; i < FLOW_HAND_MAX; i++)
            n += hand[i] == card;
        CHECK(n == 1);
    }
    flow_deal(0, 4, 3, hand); /* as Kubernetes' dealer does: always the lowest of those left */
    CHECK(hand[0] == 0 && hand[1] == 1 && hand[2] == 2);
    flow_deal(3 + 4 * 2, 4, 3, hand);
    CHECK(hand[0] == 3 && hand[1] == 2 && hand[2] == 0);
}

TEST(one_instance_has_half_and_leaves_room_for_the_next)
{
    struct flow_gate *g = flow_gate_new(12);
    struct flow_ticket t[24];
    struct flow_gate_stats s;
    unsigned n[3] = { 0 };

    for (uint32_t i = 0; i < 24; i++) {
        uint32_t who = i < 8 ? 0 : i < 16 ? 1 : 2; /* one after the other, eight each */

        t[i] = ticket(who, i);
        n[who] += flow_gate_enter(g, &rejecting, &t[i]) == FLOW_RUNS;
    }
    CHECK(n[0] == 6 && n[1] == 3 && n[2] == 2); /* as many as were free each time */
    for (int i = 0; i < 24; i++)
        if (t[i].state == FLOW_RUNS)
            flow_gate_leave(g, &t[i]);
    flow_gate_stats(g, &s);
    CHECK(s.running == 0 && s.waiting == 0 && s.bytes == 0);
    flow_gate_free(g);
}

TEST(seats_go_to_instances_in_turn)
{
    enum { LOUD = 40, QUIET = 4 };
    struct flow_gate *g = flow_gate_new(4);
    struct flow_ticket loud[LOUD], quiet[QUIET], *run = NULL;
    unsigned served[2] = { 0 };
    struct flow_limits l = wide;

    l.queues = 1; /* all in one queue */
    l.hand = 1;
    for (int i = 0; i < 4; i++) {
        loud[i] = ticket(1, 0);
        (void)flow_gate_enter(g, &l, &loud[i]);
    }
    CHECK(loud[1].state == FLOW_RUNS && loud[2].state == FLOW_WAITS && loud[3].state == FLOW_WAITS);
    for (int i = 0; i < QUIET; i++) {
        quiet[i] = ticket(2, 0);
        (void)flow_gate_enter(g, &l, &quiet[i]);
    }
    CHECK(quiet[0].state == FLOW_RUNS); /* though the loud one waits: there is room left for it */
    /* From now on each that leaves lets one in, of either in turn. */
    run = &quiet[0];
    for (int i = 0; i < 4; i++) {
        last = NULL;
        flow_gate_leave(g, run);
        if (!last)
            break;
        served[last->instance - 1]++;
        run = last;
    }
    CHECK(served[1] >= 1 && served[0] <= 2);
    for (int i = 0; i < 4; i++) {
        (void)flow_gate_cancel(g, &loud[i]);
        (void)flow_gate_cancel(g, &quiet[i]);
    }
    for (int i = 0; i < 4; i++) {
        if (loud[i].state == FLOW_RUNS)
            flow_gate_leave(g, &loud[i]);
        if (quiet[i].state == FLOW_RUNS)
            flow_gate_leave(g, &quiet[i]);
    }
    flow_gate_free(g);
}

TEST(flows_of_a_level_have_turns)
{
    enum { N = 30 };
    struct flow_gate *g = flow_gate_new(2); /* one seat for a single instance */
    struct flow_limits l = wide;
    struct flow_ticket busy = ticket(1, 0), loud[N], quiet;
    uint32_t a[FLOW_HAND_MAX], b[FLOW_HAND_MAX];
    uint64_t other = 1;
    unsigned before = 0;
    struct flow_ticket *run = &busy;

    l.hand = 1;
    flow_deal(0, l.queues, 1, a);
    for (flow_deal(other, l.queues, 1, b); a[0] == b[0]; flow_deal(++other, l.queues, 1, b))
        ;
    CHECK(flow_gate_enter(g, &l, &busy) == FLOW_RUNS);
    for (int i = 0; i < N; i++) {
        loud[i] = ticket(1, 0);
        CHECK(flow_gate_enter(g, &l, &loud[i]) == FLOW_WAITS);
    }
    quiet = ticket(1, other);
    CHECK(flow_gate_enter(g, &l, &quiet) == FLOW_WAITS);
    while (quiet.state != FLOW_RUNS) {
        flow_gate_leave(g, run);
        run = last;
        before++;
    }
    CHECK(before <= 2); /* behind one of the loud flow at most, not behind thirty */
    while (run) {
        last = NULL;
        flow_gate_leave(g, run);
        run = last;
    }
    flow_gate_free(g);
}

TEST(a_full_queue_sends_away_and_a_level_without_queues_does_at_once)
{
    struct flow_gate *g = flow_gate_new(2);
    struct flow_limits l = wide;
    struct flow_ticket a = ticket(1, 0), b = ticket(1, 0), c = ticket(1, 0), d = ticket(1, 0);

    l.queues = l.hand = l.length = 1;
    CHECK(flow_gate_enter(g, &l, &a) == FLOW_RUNS);
    CHECK(flow_gate_enter(g, &l, &b) == FLOW_WAITS);
    CHECK(flow_gate_enter(g, &l, &c) == FLOW_OUT);
    d.level = 2;
    CHECK(flow_gate_enter(g, &rejecting, &d) == FLOW_OUT);
    CHECK(flow_gate_cancel(g, &b) && !flow_gate_cancel(g, &b) && !flow_gate_cancel(g, &a));
    CHECK(flow_gate_enter(g, &l, &c) == FLOW_WAITS);
    last = NULL;
    flow_gate_leave(g, &a);
    CHECK(last == &c && c.state == FLOW_RUNS);
    flow_gate_leave(g, &c);
    flow_gate_free(g);
}

TEST(a_level_borrows_what_others_lend_and_no_more)
{
    struct flow_gate *g = flow_gate_new(100);
    struct flow_limits greedy = { .nominal = 4, .lendable = 2, .max = 100, .pool = 5 };
    struct flow_limits modest = { .nominal = 6, .lendable = 3, .max = 6, .pool = 5 };
    struct flow_limits closed = { .nominal = 0, .lendable = 0, .max = 0, .pool = 5 };
    struct flow_ticket t[20], m[20], one = ticket(1, 0);
    unsigned n = 0, k = 0;

    for (int i = 0; i < 20; i++) {
        t[i] = ticket(1, 0);
        n += flow_gate_enter(g, &greedy, &t[i]) == FLOW_RUNS;
    }
    CHECK(n == 7); /* its own two and the pool's five */
    for (int i = 0; i < 20; i++) {
        m[i] = ticket(1, 0);
        m[i].level = 2;
        k += flow_gate_enter(g, &modest, &m[i]) == FLOW_RUNS;
    }
    CHECK(k == 3); /* what it does not lend is its own */
    one.level = 3;
    CHECK(flow_gate_enter(g, &closed, &one) == FLOW_OUT);
    for (int i = 0; i < 20; i++)
        if (t[i].state == FLOW_RUNS)
            flow_gate_leave(g, &t[i]);
    for (int i = 3; i < 20; i++)
        k += flow_gate_enter(g, &modest, &m[i]) == FLOW_RUNS;
    CHECK(k == 6); /* and its limit holds however much is free */
    for (int i = 0; i < 20; i++)
        if (m[i].state == FLOW_RUNS)
            flow_gate_leave(g, &m[i]);
    flow_gate_free(g);
}

/* However many come, what waits is bounded, in number and in bytes. */
TEST(what_waits_is_bounded)
{
    enum { N = 1000, MIB = 1 << 20 };
    struct flow_gate *g = flow_gate_new(100);
    struct flow_limits l = { .nominal = 1, .max = 1, .queues = 1000, .hand = 8, .length = 1000000 };
    struct flow_ticket *t = calloc(N, sizeof(*t));
    struct flow_gate_stats s;
    unsigned runs = 0;

    for (uint64_t i = 0; i < N; i++) {
        t[i] = ticket(1, i);
        runs += flow_gate_enter(g, &l, &t[i]) == FLOW_RUNS;
    }
    flow_gate_stats(g, &s);
    CHECK(runs == 1 && s.running == 1 && s.waiting == 164);
    for (int i = 0; i < N; i++)
        (void)flow_gate_cancel(g, &t[i]);
    for (uint64_t i = 1; i < N; i++) {
        t[i] = ticket((uint32_t)i / 50, i);
        t[i].bytes = MIB;
        (void)flow_gate_enter(g, &l, &t[i]);
    }
    flow_gate_stats(g, &s);
    CHECK(s.bytes <= 64 * (size_t)MIB && s.bytes > 60 * (size_t)MIB);
    for (int i = 1; i < N; i++)
        (void)flow_gate_cancel(g, &t[i]);
    for (int i = 0; i < N; i++)
        if (t[i].state == FLOW_RUNS)
            flow_gate_leave(g, &t[i]);
    flow_gate_stats(g, &s);
    CHECK(s.running == 0 && s.waiting == 0 && s.bytes == 0);
    free(t);
    flow_gate_free(g);
}

/* Whatever happens, in whatever order: nobody is forgotten, and no seat is lost. */
TEST(at_random_nobody_is_forgotten)
{
    enum { N = 200, STEPS = 20000 };
    struct flow_gate *g = flow_gate_new(10);
    struct flow_limits l[2] = {
        { .nominal = 3, .lendable = 1, .max = 6, .pool = 2, .queues = 8, .hand = 3, .length = 5 },
        { .nominal = 2, .lendable = 1, .max = 10, .pool = 2 }
    };
    struct flow_ticket *t = calloc(N, sizeof(*t));
    struct flow_gate_stats s;
    uint64_t r = 88172645463325252;

    for (int i = 0; i < STEPS; i++) {
        struct flow_ticket *x;

        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        x = &t[r % N];
        if (x->state == FLOW_RUNS) {
            flow_gate_leave(g, x);
        } else if (x->state == FLOW_WAITS) {
            CHECK(flow_gate_cancel(g, x));
        } else {
            *x = ticket((uint32_t)(r >> 8) % 3, r >> 20);
            x->level = 1 + (r >> 16 & 1);
            (void)flow_gate_enter(g, &l[x->level - 1], x);
        }
        flow_gate_stats(g, &s);
        CHECK(s.running <= 10);
        CHECK(s.running > 0 || s.waiting == 0);
    }
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < N; i++)
            if (t[i].state == FLOW_RUNS) {
                flow_gate_leave(g, &t[i]);
                any = true;
            }
    }
    flow_gate_stats(g, &s);
    CHECK(s.running == 0 && s.waiting == 0);
    free(t);
    flow_gate_free(g);
}
