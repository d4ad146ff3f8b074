/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/upkeep/upkeep_internal.h"
#include "rest/made.h"
#include "server_fixture.h"

/* Records go by age and by bytes, and who makes many pushes out only his own. */

enum { DAY_S = 86400, MAX_BYTES = 64 << 10 };

static const struct expiry_options of_records = {
    "audit.kairship.io", "v1alpha1", "records", "record-marks", 30 * DAY_S, MAX_BYTES, 17, 16
};

static const struct kind *records(void)
{
    return catalog_find(kinds_catalog_root(), STR("audit.kairship.io"), STR("v1alpha1"),
                        STR("records"));
}

/* The n-th record of a person, the later the n the newer. */
static void make(struct host *h, const char *person, int n)
{
    scoped_arena a = arena_new();
    const char *text = arena_printf(
        a,
        "{\"metadata\":{\"name\":\"%016llx-%016llx-%08x\"},\"spec\":{\"person\":\"%s\","
        "\"event\":\"Create-Instance\",\"verb\":\"create\",\"code\":403}}",
        (unsigned long long)(INT64_MAX - n), (unsigned long long)str_hash(str_of(person), 1, 2),
        (unsigned)n, person);
    const struct json *obj;
    struct status st;
    size_t made;

    status_init(&st, a);
    REQUIRE(json_parse(a, str_of(text), NULL, &obj, &st) == 0);
    CHECK(rest_make(h->server->rest, records(), &obj, 1, &made, &st) == 0 && made == 1);
}

struct found {
    uint64_t n, bytes;
};

static bool count(void *arg, const struct store_row *row)
{
    struct found *f = arg;

    f->n++;
    f->bytes += row->key.name.n + row->value.n;
    return true;
}

static struct found all(struct host *h)
{
    struct store_range range = { .type = records()->type_id, .instance = INSTANCE_ROOT };
    struct found f = { .n = 0 };
    struct status st;

    status_init(&st, h->arena);
    epoch_enter();
    CHECK(store_scan(h->server->store, &range, count, &f, &st) == 0);
    epoch_exit();
    return f;
}

static long of(struct host *h, const char *person)
{
    const struct json *list;
    struct status st;
    struct ask *a =
        ask(h, "GET",
            arena_printf(h->arena,
                         "/apis/audit.kairship.io/v1alpha1/records?fieldSelector=spec.person%%3D%s",
                         person));
    long n;

    CHECK_STR(answer(a), "200");
    status_init(&st, h->arena);
    CHECK(json_parse(h->arena, buf_str(&a->text), NULL, &list, &st) == 0);
    n = (long)json_len(json_path(list, "items"));
    ask_free(a);
    return n;
}

static void settle(struct expiry *x)
{
    while (expiry_run(x) < 1000)
        ;
}

TEST(the_oldest_of_who_has_most_go)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_records);
    long loud;

    for (int i = 0; i < 10; i++) /* the oldest of all */
        make(h, "quiet", i);
    for (int i = 10; i < 400; i++)
        make(h, "loud", i);
    make(h, "other", 400);
    CHECK(all(h).bytes > MAX_BYTES);
    settle(x);
    CHECK(all(h).bytes <= MAX_BYTES && all(h).bytes > MAX_BYTES / 2);
    CHECK(of(h, "quiet") == 10 && of(h, "other") == 1);
    loud = of(h, "loud");
    CHECK(loud > 50 && loud < 390);
    CHECK_STR(code_of(ask(h, "GET",
                          arena_printf(h->arena,
                                       "/apis/audit.kairship.io/v1alpha1/records/%016llx-%016llx"
                                       "-%08x",
                                       (unsigned long long)(INT64_MAX - 399),
                                       (unsigned long long)str_hash(STR("loud"), 1, 2), 399))),
              "200"); /* the newest stays */
    make(h, "quiet", 401);
    settle(x);
    CHECK(of(h, "quiet") == 11 && of(h, "loud") == loud);
    expiry_free(x);
    host_free(h);
}

TEST(they_go_when_they_are_old)
{
    struct host *h = host_new(0, 0);
    struct expiry *x = expiry_new(h->server, &of_records);

    make(h, "jane", 1);
    for (int day = 0; day < 35; day++) {
        settle(x);
        if (day == 25)
            CHECK(of(h, "jane") == 1);
        clock_jump(&h->clock, clock_wall_us(&h->clock) + (int64_t)DAY_S * 1000000);
    }
    settle(x);
    CHECK(of(h, "jane") == 0);
    expiry_free(x);
    host_free(h);
}

TEST(no_request_writes_one)
{
    static const char *const methods[] = { "POST", "PUT", "PATCH", "DELETE" };
    struct host *h = host_new(0, 0);

    for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++) {
        struct ask *a = ask(h, methods[i],
                            i ? "/apis/audit.kairship.io/v1alpha1/records/x"
                              : "/apis/audit.kairship.io/v1alpha1/records");

        CHECK_STR(code_of(ask_body(a, "{\"metadata\":{\"name\":\"x\"},\"spec\":{}}")),
                  "405 MethodNotAllowed");
    }
    CHECK_STR(code_of(ask(h, "DELETE", "/apis/audit.kairship.io/v1alpha1/records")),
              "405 MethodNotAllowed");
    CHECK_STR(make_instance(h, "one"), "201");
    CHECK_STR(code_of(ask(h, "GET", "/clusters/one/apis/audit.kairship.io/v1alpha1/records")),
              "404");
    host_free(h);
}
