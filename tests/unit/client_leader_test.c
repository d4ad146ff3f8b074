/* SPDX-License-Identifier: Apache-2.0 */
#include "client/leader.h"

#include "base/banned.h"
#include "client_fake.h"
#include "tap.h"

/* Two candidates before one server, whose only object is the Lease. */

struct candidate {
    struct lab *lab;
    struct fake fake;
    struct clock clock; /* its own machine's */
    struct client *client;
    struct leader *leader;
    bool down;              /* it cannot reach the server */
    bool hold;              /* what it asks now is answered later */
    struct http_call *held; /* that */
    int started, stopped, done;
    char seen[64]; /* whom it was told of last */
};

struct lab {
    struct loop *loop;
    struct arena *arena;
    const struct json *lease; /* NULL: there is none */
    int64_t rv;
    int puts;
    struct candidate c[2];
};

static const char not_found[] = "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"code\":404}",
                  exists[] = "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\",\"code\":409}",
                  conflict[] = "{\"kind\":\"Status\",\"reason\":\"Conflict\",\"code\":409}";

static void store(struct lab *lab, const struct json *v)
{
    str rv = str_printf(lab->arena, "%lld", (long long)++lab->rv);

    lab->lease =
        json_set(lab->arena, v, "metadata.resourceVersion", json_box(lab->arena, json_of_str(rv)));
}

static void answer(struct lab *lab, struct http_call *call)
{
    const struct json *v = NULL;
    struct status st;

    status_init(&st, lab->arena);
    if (call->body.n && json_parse(lab->arena, str_dup(lab->arena, call->body), NULL, &v, &st) < 0)
        abort();
    if (str_is(call->method, "POST") ? lab->lease != NULL : !lab->lease) {
        fake_reply(call, lab->lease ? 409 : 404, lab->lease ? exists : not_found);
        return;
    }
    if (str_is(call->method, "PUT")) {
        lab->puts++;
        if (!str_eq(json_get_str(v, "metadata.resourceVersion"),
                    json_get_str(lab->lease, "metadata.resourceVersion"))) {
            fake_reply(call, 409, conflict);
            return;
        }
    }
    if (v)
        store(lab, v);
    fake_reply(call, 200, str_z(lab->arena, json_text(lab->arena, lab->lease)));
}

static void serve(struct fake *f, struct http_call *call)
{
    struct candidate *c = f->arg;
    struct status st;

    CHECK(call->timeout_ms == 5000);
    if (c->down) {
        status_init(&st, c->lab->arena);
        (void)status_set(&st, REASON_UNAVAILABLE, "no route");
        fake_end(call, &st);
    } else if (c->hold) {
        c->held = call;
    } else {
        answer(c->lab, call);
    }
}

static void on_started(void *arg)
{
    struct candidate *c = arg;

    c->started++;
}

static void on_stopped(void *arg)
{
    struct candidate *c = arg;

    c->stopped++;
}

static void on_changed(void *arg, str holder)
{
    struct candidate *c = arg;

    (void)snprintf(c->seen, sizeof(c->seen), "%.*s", STR_ARG(holder));
}

static void on_done(void *arg)
{
    struct candidate *c = arg;

    c->done++;
}

static void lab_init(struct lab *lab)
{
    static const char *const names[] = { "one", "two" };

    *lab = (struct lab){ .loop = loop_new(), .arena = arena_new() };
    for (int i = 0; i < 2; i++) {
        struct candidate *c = &lab->c[i];
        struct leader_options o = { .clock = &c->clock,
                                    .namespace = STR("kube-system"),
                                    .name = STR("job"),
                                    .identity = str_of(names[i]),
                                    .started = on_started,
                                    .stopped = on_stopped,
                                    .changed = on_changed,
                                    .arg = c };

        c->lab = lab;
        c->fake.serve = serve;
        c->fake.arg = c;
        fake_init(&c->fake, lab->loop);
        o.client = c->client = client_new(&c->fake.base);
        c->leader = leader_new(&o);
        clock_advance(&c->clock, 1000000 * (i + 1)); /* machines were not started together … */
    }
    clock_jump(&lab->c[0].clock, 1700000000000000);
    clock_jump(&lab->c[1].clock, 1700000000000000 + 86400000000LL); /* … and disagree on the day */
}

static void lab_free(struct lab *lab)
{
    for (int i = 0; i < 2; i++) {
        leader_free(lab->c[i].leader);
        CHECK(lab->c[i].fake.open == 0);
        client_free(lab->c[i].client);
    }
    loop_free(lab->loop);
    arena_free(lab->arena);
}

static void stop_loop(void *arg)
{
    loop_stop(arg);
}

static void settle(struct lab *lab)
{
    for (int i = 0; i < 6; i++) { /* a request and what follows from it are a few turns */
        loop_call(lab->loop, stop_loop, lab->loop);
        loop_run(lab->loop);
    }
}

static bool leads(const struct candidate *c)
{
    return c->started > c->stopped;
}

/* Time goes by; at no moment are there two. */
static void pass(struct lab *lab, int64_t ms)
{
    for (; ms > 0; ms -= 100) {
        clock_advance(&lab->c[0].clock, 100);
        clock_advance(&lab->c[1].clock, 100);
        loop_skip_ms(lab->loop, 100);
        settle(lab);
        CHECK(!(leads(&lab->c[0]) && leads(&lab->c[1])));
        for (int i = 0; i < 2; i++)
            if (lab->c[i].leader)
                CHECK(leader_leads(lab->c[i].leader) == leads(&lab->c[i]));
    }
}

/* The first leads, the second waits. */
static void both(struct lab *lab)
{
    lab_init(lab);
    leader_start(lab->c[0].leader);
    settle(lab);
    leader_start(lab->c[1].leader);
    pass(lab, 3000);
    CHECK(leads(&lab->c[0]) && !leads(&lab->c[1]));
}

static int64_t number(const struct lab *lab, const char *path)
{
    return json_int(json_path(lab->lease, path), -1);
}

static const char *text(const struct lab *lab, const char *path)
{
    return str_z(lab->arena, json_get_str(lab->lease, path));
}

TEST(the_first_holds_it_and_renews)
{
    struct lab lab;

    both(&lab);
    CHECK_STR(text(&lab, "spec.holderIdentity"), "one");
    CHECK_STR(text(&lab, "spec.acquireTime"), "2023-11-14T22:13:20.000000Z");
    CHECK_STR(lab.c[1].seen, "one");
    CHECK(number(&lab, "spec.leaseDurationSeconds") == 15);
    CHECK(number(&lab, "spec.leaseTransitions") == 0);
    pass(&lab, 60000);
    CHECK(lab.c[0].started == 1 && !lab.c[0].stopped && !lab.c[1].started);
    CHECK(lab.puts >= 28 && lab.puts <= 32); /* one every two seconds */
    CHECK_STR(text(&lab, "spec.acquireTime"), "2023-11-14T22:13:20.000000Z");
    CHECK(strcmp(text(&lab, "spec.renewTime"), "2023-11-14T22:14:20") > 0);
    lab_free(&lab);
}

TEST(who_was_killed_is_followed_after_the_duration)
{
    struct lab lab;

    both(&lab);
    leader_free(lab.c[0].leader);
    lab.c[0].leader = NULL;
    lab.c[0].stopped++; /* it is dead */
    pass(&lab, 12900);  /* the last renewal was at most two seconds ago */
    CHECK(!lab.c[1].started);
    pass(&lab, 11000); /* it looks every 2 to 4.4: so long after the last, and once more */
    CHECK(leads(&lab.c[1]));
    CHECK_STR(text(&lab, "spec.holderIdentity"), "two");
    CHECK(number(&lab, "spec.leaseTransitions") == 1);
    lab_free(&lab);
}

TEST(who_cannot_reach_the_server_stops_before_the_next_starts)
{
    struct lab lab;
    int64_t alone = 0;

    both(&lab);
    lab.c[0].down = true;
    pass(&lab, 7900);
    CHECK(leads(&lab.c[0]));
    pass(&lab, 2200);
    CHECK(!leads(&lab.c[0]) && lab.c[0].stopped == 1);
    for (; alone < 20000 && !leads(&lab.c[1]); alone += 100)
        pass(&lab, 100);
    CHECK(alone >= 2900 && alone < 11000);
    lab.c[0].down = false;
    pass(&lab, 20000);
    CHECK(!leads(&lab.c[0]) && leads(&lab.c[1]));
    CHECK_STR(lab.c[0].seen, "two");
    lab_free(&lab);
}

TEST(a_short_outage_is_survived)
{
    struct lab lab;

    both(&lab);
    lab.c[0].down = true;
    pass(&lab, 6000);
    lab.c[0].down = false;
    pass(&lab, 30000);
    CHECK(lab.c[0].started == 1 && !lab.c[0].stopped && !lab.c[1].started);
    lab_free(&lab);
}

TEST(a_clean_stop_gives_it_back)
{
    struct lab lab;

    both(&lab);
    leader_stop(lab.c[0].leader, on_done, &lab.c[0]);
    CHECK(lab.c[0].stopped == 1 && !lab.c[0].done);
    settle(&lab);
    CHECK(lab.c[0].done == 1);
    CHECK_STR(text(&lab, "spec.holderIdentity"), "");
    CHECK(number(&lab, "spec.leaseDurationSeconds") == 1);
    pass(&lab, 4600); /* the longest between two looks of a candidate */
    CHECK(leads(&lab.c[1]));
    CHECK(number(&lab, "spec.leaseTransitions") == 1);
    leader_stop(lab.c[1].leader, on_done, &lab.c[1]);
    lab.c[1].down = true; /* nothing helps: it is over all the same */
    settle(&lab);
    CHECK(lab.c[1].done == 1 && lab.c[1].stopped == 1);
    lab_free(&lab);
}

/* Told to stop while a renewal is on its way: that one is given back, too. */
TEST(a_stop_waits_for_what_is_on_its_way)
{
    struct lab lab;

    both(&lab);
    lab.c[0].hold = true;
    pass(&lab, 2000);
    REQUIRE(lab.c[0].held);
    leader_stop(lab.c[0].leader, on_done, &lab.c[0]);
    settle(&lab);
    CHECK(!lab.c[0].done);
    lab.c[0].hold = false;
    answer(&lab, lab.c[0].held);
    settle(&lab);
    CHECK(lab.c[0].done == 1);
    CHECK_STR(text(&lab, "spec.holderIdentity"), "");
    lab_free(&lab);
}

TEST(one_who_never_led_stops_at_once)
{
    struct lab lab;

    both(&lab);
    leader_stop(lab.c[1].leader, on_done, &lab.c[1]);
    CHECK(!lab.c[1].done);
    pass(&lab, 100);
    CHECK(lab.c[1].done == 1 && !lab.c[1].stopped);
    CHECK_STR(text(&lab, "spec.holderIdentity"), "one");
    lab_free(&lab);
}

/* The server does what it is asked, but tells it too late. */
TEST(a_late_answer_does_not_make_a_leader)
{
    struct lab lab;

    lab_init(&lab);
    lab.c[0].hold = true;
    leader_start(lab.c[0].leader);
    settle(&lab);
    answer(&lab, lab.c[0].held); /* there is none: it asks for one */
    settle(&lab);
    pass(&lab, 10500);
    answer(&lab, lab.c[0].held);
    settle(&lab);
    CHECK_STR(text(&lab, "spec.holderIdentity"), "one");
    CHECK(!lab.c[0].started);
    lab.c[0].hold = false;
    pass(&lab, 5000); /* it is its own, and may be renewed */
    CHECK(leads(&lab.c[0]));
    CHECK(number(&lab, "spec.leaseTransitions") == 0);
    lab_free(&lab);
}

/* A renewal counts from when it was asked for, however late the answer is. */
TEST(the_deadline_counts_from_the_question)
{
    struct lab lab;

    both(&lab);
    lab.c[0].hold = true;
    pass(&lab, 2000);
    REQUIRE(lab.c[0].held);
    pass(&lab, 4000);
    answer(&lab, lab.c[0].held);
    lab.c[0].held = NULL;
    pass(&lab, 3900);
    CHECK(leads(&lab.c[0]));
    pass(&lab, 2100);
    CHECK(!leads(&lab.c[0]));
    if (lab.c[0].held)
        answer(&lab, lab.c[0].held);
    lab_free(&lab);
}

TEST(one_who_is_replaced_stops_at_once)
{
    struct lab lab;

    both(&lab);
    store(&lab, json_set(lab.arena, lab.lease, "spec.holderIdentity",
                         json_box(lab.arena, json_of_str(STR("someone")))));
    pass(&lab, 2100);
    CHECK(!leads(&lab.c[0]) && lab.c[0].stopped == 1);
    CHECK_STR(lab.c[0].seen, "someone");
    CHECK_STR(text(&lab, "spec.holderIdentity"), "someone");
    lab_free(&lab);
}

TEST(a_lease_that_was_deleted_or_touched_is_kept)
{
    struct lab lab;

    both(&lab);
    lab.lease = NULL;
    pass(&lab, 2100);
    store(&lab, json_set(lab.arena, lab.lease, "metadata.labels.a",
                         json_box(lab.arena, json_of_str(STR("b")))));
    pass(&lab, 10000);
    CHECK(lab.c[0].started == 1 && !lab.c[0].stopped && !lab.c[1].started);
    CHECK_STR(text(&lab, "metadata.labels.a"), "b");
    lab_free(&lab);
}
