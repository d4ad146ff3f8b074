/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/call/metrics.h"

#include <pthread.h>

#include "base/banned.h"
#include "tap.h"

static bool has_line(str text, const char *want)
{
    for (str rest = text, line; str_split(&rest, '\n', &line);) {
        if (str_is(line, want))
            return true;
    }
    printf("# no line %s\n", want);
    return false;
}

static str text_of(const struct metrics *m, struct arena *a, const struct metrics_input *in)
{
    scoped_buf b = { .max = 1 << 20 };

    metrics_print(m, &b, in);
    return str_dup(a, buf_str(&b));
}

static size_t count_series(str text)
{
    size_t n = 0;

    for (str rest = text, line; str_split(&rest, '\n', &line);)
        n += line.n > 0 && line.p[0] != '#';
    return n;
}

TEST(verbs_have_the_words_of_kubernetes)
{
    CHECK(metrics_verb_of(STR("create"), true) == METRICS_POST);
    CHECK(metrics_verb_of(STR("deletecollection"), true) == METRICS_DELETECOLLECTION);
    CHECK(metrics_verb_of(STR("watch"), true) == METRICS_WATCH);
    CHECK(metrics_verb_of(STR("get"), false) == METRICS_OTHER);
    CHECK(metrics_verb_of(STR(""), true) == METRICS_OTHER);
    CHECK(metrics_verb_of(STR("brew"), true) == METRICS_OTHER);
}

TEST(requests_are_counted_and_timed)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct metrics_input in = { .instances = 3 };
    str text;

    metrics_request(m, METRICS_GET, 200, 40);
    metrics_request(m, METRICS_GET, 200, 50);
    metrics_request(m, METRICS_GET, 404, 51);
    metrics_request(m, METRICS_POST, 201, 70LL * 1000 * 1000);
    metrics_request(m, METRICS_POST, 299, -5); /* a clock that jumped, a code we do not know */
    metrics_request(m, METRICS_WATCH, 200, 1000);
    text = text_of(m, a, &in);
    CHECK(has_line(text, "apiserver_request_total{verb=\"GET\",code=\"200\"} 2"));
    CHECK(has_line(text, "apiserver_request_total{verb=\"GET\",code=\"404\"} 1"));
    CHECK(has_line(text, "apiserver_request_total{verb=\"POST\",code=\"0\"} 1"));
    CHECK(has_line(text, "apiserver_request_total{verb=\"WATCH\",code=\"200\"} 1"));
    CHECK(has_line(text, "apiserver_request_duration_seconds_bucket{verb=\"GET\",le=\"5e-05\"} 2"));
    CHECK(
        has_line(text, "apiserver_request_duration_seconds_bucket{verb=\"GET\",le=\"0.0001\"} 3"));
    CHECK(has_line(text, "apiserver_request_duration_seconds_bucket{verb=\"POST\",le=\"60\"} 1"));
    CHECK(has_line(text, "apiserver_request_duration_seconds_bucket{verb=\"POST\",le=\"+Inf\"} 2"));
    CHECK(has_line(text, "apiserver_request_duration_seconds_count{verb=\"GET\"} 3"));
    CHECK(has_line(text, "apiserver_request_duration_seconds_sum{verb=\"GET\"} 0.000141"));
    CHECK(has_line(text, "kairship_instances 3"));
    metrics_free(m);
}

TEST(gauges_go_up_and_down)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct metrics_input in = { 0 };
    str text;

    metrics_longrunning(m, METRICS_WATCH, 1);
    metrics_longrunning(m, METRICS_WATCH, 1);
    metrics_longrunning(m, METRICS_WATCH, -1);
    metrics_inflight(m, true, 1);
    metrics_inflight(m, false, 1);
    metrics_inflight(m, false, -1);
    metrics_rejected(m, true);
    metrics_watch_events(m, 5, 700);
    text = text_of(m, a, &in);
    CHECK(has_line(text, "apiserver_longrunning_requests{verb=\"WATCH\"} 1"));
    CHECK(has_line(text, "apiserver_current_inflight_requests{request_kind=\"mutating\"} 1"));
    CHECK(has_line(text, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0"));
    CHECK(has_line(text, "apiserver_rejected_requests_total{request_kind=\"mutating\"} 1"));
    CHECK(has_line(text, "apiserver_watch_events_total 5"));
    CHECK(has_line(text, "kairship_watch_event_bytes_total 700"));
    metrics_free(m);
}

TEST(store_and_http_are_shown)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct store_stats store = { .head = 42, .bytes_disk = 4096, .read_only = true };
    struct http_stats http = { .connections_open = 7 };
    struct metrics_input in = { .store = &store, .http = &http };
    str text = text_of(m, a, &in);

    CHECK(has_line(text, "kairship_store_revision 42"));
    CHECK(has_line(text, "apiserver_storage_size_bytes 4096"));
    CHECK(has_line(text, "kairship_store_read_only 1"));
    CHECK(has_line(text, "kairship_http_connections_open 7"));
    metrics_free(m);
}

/* Every series is announced once, with its type, and the number does not depend on what runs. */
TEST(the_text_is_well_formed_and_bounded)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct metrics_input in = { 0 };
    size_t idle, busy;
    str text;

    idle = count_series(text_of(m, a, &in));
    for (int v = 0; v < METRICS_NVERBS; v++) {
        for (int code = 0; code < 1000; code++)
            metrics_request(m, (enum metrics_verb)v, code, code);
    }
    text = text_of(m, a, &in);
    busy = count_series(text);
    CHECK(idle > 0 && busy > idle && busy < 600);
    for (str rest = text, line; str_split(&rest, '\n', &line);) {
        ptrdiff_t blank = str_find(line, ' ', 0);

        CHECK(line.n == 0 || blank > 0);
        CHECK(line.n == 0 || line.p[0] != '#' || str_starts(line, STR("# HELP ")) ||
              str_starts(line, STR("# TYPE ")));
    }
    metrics_free(m);
}

enum { THREADS = 4, ROUNDS = 10000 };

static void *count_some(void *arg)
{
    for (int i = 0; i < ROUNDS; i++) {
        metrics_request(arg, METRICS_LIST, 200, 10);
        metrics_inflight(arg, false, i % 2 ? 1 : -1);
    }
    return NULL;
}

TEST(threads_lose_no_counts)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct metrics_input in = { 0 };
    pthread_t threads[THREADS];
    str text;

    for (int i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&threads[i], NULL, count_some, m) == 0);
    (void)text_of(m, a, &in); /* a scrape in between */
    for (int i = 0; i < THREADS; i++)
        (void)pthread_join(threads[i], NULL);
    text = text_of(m, a, &in);
    CHECK(has_line(text, "apiserver_request_total{verb=\"LIST\",code=\"200\"} 40000"));
    CHECK(has_line(text, "apiserver_current_inflight_requests{request_kind=\"readOnly\"} 0"));
    metrics_free(m);
}

TEST(certificates_say_how_long_they_are_good)
{
    scoped_arena a = arena_new();
    struct metrics *m = metrics_new();
    struct metrics_input in = { .ends = { .serving = 1500, .signer = 900 }, .now_s = 1000 };
    const char *name = "apiserver_client_certificate_expiration_seconds";
    str text;

    metrics_client_certificate(m, 1800);
    metrics_client_certificate(m, 1801);
    metrics_client_certificate(m, 40000000);
    text = text_of(m, a, &in);
    CHECK(has_line(text, arena_printf(a, "%s_bucket{le=\"0\"} 0", name)));
    CHECK(has_line(text, arena_printf(a, "%s_bucket{le=\"1800\"} 1", name)));
    CHECK(has_line(text, arena_printf(a, "%s_bucket{le=\"31104000\"} 2", name)));
    CHECK(has_line(text, arena_printf(a, "%s_bucket{le=\"+Inf\"} 3", name)));
    CHECK(has_line(text, arena_printf(a, "%s_sum 40003601", name)));
    CHECK(has_line(text, "kairship_certificate_expiration_seconds{certificate=\"serving\"} 500"));
    CHECK(has_line(text, "kairship_certificate_expiration_seconds{certificate=\"signer\"} -100"));
    CHECK(!str_contains(text, STR("certificate=\"ca\"")));
    metrics_free(m);
}
