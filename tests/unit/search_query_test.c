/* SPDX-License-Identifier: Apache-2.0 */
#include "search/query.h"

#include "base/banned.h"
#include "tap.h"

struct asked {
    struct arena *arena;
    struct query q;
    struct status st;
    int rc;
};

static struct asked ask(struct arena *a, const char *text)
{
    struct asked r = { .arena = a };

    status_init(&r.st, a);
    r.rc = query_parse(a, str_of(text), &r.q, &r.st);
    return r;
}

TEST(options_of_the_url)
{
    scoped_arena a = arena_new();
    struct asked r = ask(a, "clusters=c1,c2&namespaces=x&names=a,,b&limit=5&continue=10&"
                            "withContinue&withRemainingCount=0&orderby=name%20desc,cluster");

    REQUIRE(r.rc == 0);
    REQUIRE(r.q.clusters.n == 2);
    CHECK(str_is(r.q.clusters.p[1], "c2"));
    CHECK(r.q.namespaces.n == 1);
    CHECK(r.q.names.n == 2);
    CHECK(r.q.limit == 5);
    CHECK(r.q.offset == 10);
    CHECK(r.q.with_continue);
    CHECK(!r.q.with_remaining);
    REQUIRE(r.q.norders == 2);
    CHECK(r.q.orders[0].column == QUERY_NAME && r.q.orders[0].desc);
    CHECK(r.q.orders[1].column == QUERY_CLUSTER && !r.q.orders[1].desc);
}

TEST(search_labels)
{
    scoped_arena a = arena_new();
    struct asked r = ask(a, "clusters=c9&labelSelector=a%3Db,search.clusterpedia.io/clusters%3Dc1,"
                            "search.clusterpedia.io/orderby%20in%20(name_desc,cluster),"
                            "search.clusterpedia.io/size%3D3,search.clusterpedia.io/unknown%3D1,"
                            "internalstorage.clusterpedia.io/fuzzy-name%20in%20(web,api)");

    REQUIRE(r.rc == 0);
    CHECK(r.q.labels.nterms == 1);
    REQUIRE(r.q.clusters.n == 1);
    CHECK(str_is(r.q.clusters.p[0], "c9")); /* the URL wins */
    REQUIRE(r.q.norders == 2);
    CHECK(r.q.orders[0].column == QUERY_NAME && r.q.orders[0].desc); /* as it is written */
    CHECK(r.q.limit == 3);
    CHECK(r.q.fuzzy.n == 2);
    CHECK(ask(a, "labelSelector=search.clusterpedia.io/clusters%20notin%20(c1)").rc < 0);
    CHECK(ask(a, "labelSelector=search.clusterpedia.io/clusters").rc == 0);
}

TEST(what_is_wrong)
{
    static const struct {
        const char *query, *message;
    } rows[] = {
        { "limit=abc", "strconv.ParseInt: parsing \"abc\": invalid syntax" },
        { "labelSelector=search.clusterpedia.io/limit%3Dabc",
          "Invalid Query Limit: strconv.ParseInt: parsing \"abc\": invalid syntax" },
        { "labelSelector=search.clusterpedia.io/offset%3Dabc",
          "Invalid Query Offset(abc): strconv.ParseInt: parsing \"abc\": invalid syntax" },
        { "orderby=name%20asc", "Invalid Query OrderBy" },
        { "orderby=length(name)", "Invalid Query OrderBy" },
        { "since=2024-01-02&before=2024-01-01", "Invalid Query, Since is after Before" },
        { "since=123", "Invalid timestamp: only timestamps with string lengths of 10(as s) and "
                       "13(as ms) are supported" },
        { "ownerSeniority=x", "strconv.Atoi: parsing \"x\": invalid syntax" },
        { "ownerSeniority=-1", "Invalid Query OwnerSeniority: it must be between 0 and 8" },
        { "ownerSeniority=9", "Invalid Query OwnerSeniority: it must be between 0 and 8" },
        { "fieldSelector=spec.a,", "found \"\", expected: identifier after ','" },
        { "fieldSelector==1", "found \"=\", expected: !, identifier, or ''end of string" },
        { "fieldSelector=a[b].c=1",
          "unable to parse requirement: a[<index>] list index invalid. if b is a field, please "
          "use ['b'] or .'b'" },
        { "limit=%zz", "the query cannot be decoded" },
    };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct asked r = ask(a, rows[i].query);

        CHECK(r.rc < 0);
        CHECK(r.st.reason == REASON_BAD_REQUEST);
        CHECK_STR(str_z(a, r.st.message), rows[i].message);
    }
    CHECK(ask(a, "continue=abc").rc == 0); /* clients have words of their own */
}

TEST(times)
{
    static const char *const same[] = { "since=1704207845", "since=1704207845000",
                                        "since=2024-01-02T15:04:05Z",
                                        "since=2024-01-02%2015:04:05" };
    scoped_arena a = arena_new();

    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
        struct asked r = ask(a, same[i]);

        REQUIRE(r.rc == 0);
        CHECK(r.q.has_since && r.q.since == 1704207845);
    }
    CHECK(ask(a, "since=2024-01-02").q.since == 1704153600);
}

TEST(fields)
{
    scoped_arena a = arena_new();
    struct fields f;
    struct status st;

    status_init(&st, a);
    REQUIRE(fields_parse(a,
                         STR(".spec.replicas in (1, 2),metadata.annotations['a.io/b=,c']!=x/y:1,"
                             "!spec.paused,spec[\"q\"].r,a="),
                         &f, &st) == 0);
    REQUIRE(f.n == 5);
    CHECK(f.terms[0].npath == 2 && f.terms[0].op == SELECTOR_IN && f.terms[0].nvalues == 2);
    CHECK(f.terms[1].npath == 3 && f.terms[1].op == SELECTOR_NOT_IN);
    CHECK(str_is(f.terms[1].path[2], "a.io/b=,c"));
    CHECK(str_is(f.terms[1].values[0], "x/y:1"));
    CHECK(f.terms[2].op == SELECTOR_NOT_EXISTS);
    CHECK(f.terms[3].op == SELECTOR_EXISTS && f.terms[3].npath == 3);
    CHECK(f.terms[4].op == SELECTOR_IN && str_empty(f.terms[4].values[0]));
    CHECK(fields_parse(a, STR("a[0].b=c"), &f, &st) < 0);
    CHECK(st.reason == REASON_INVALID);
    status_reset(&st);
    CHECK(fields_parse(a, STR("a>1"), &f, &st) < 0);
    CHECK(st.reason == REASON_BAD_REQUEST);
}
