/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/hook_review.h"
#include "apiserver/outbound/callout.h"
#include "apiserver/outbound/convert.h"
#include "tap.h"

/* What is asked of webhooks, and answers as they should be and as liars give them. */

#define REVIEW "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"response\":"

static int read_answer(struct arena *a, const char *text, bool mutating, struct review_answer *out,
                       struct status *st)
{
    status_init(st, a);
    return review_answer_read(a, str_of(text), REVIEW_V1, STR("u"), mutating, out, st);
}

TEST(urls_of_webhooks)
{
    static const struct {
        const char *url, *host, *port, *path;
    } good[] = {
        { "https://h.example.com", "h.example.com", "443", "/" },
        { "https://h:8443/a/b", "h", "8443", "/a/b" },
        { "https://[::1]:9/x", "::1", "9", "/x" },
        { "https://[fe80::1]", "fe80::1", "443", "/" },
    };
    static const char *const bad[] = { "http://h/",       "https://",       "https://u@h/",
                                       "https://h/?q",    "https://h/#f",   "https://h:0/",
                                       "https://h:65536", "https://[::1",   "https://h /",
                                       "https://h\r\n/",  "https://[::1]x", "a service" };
    scoped_arena a = arena_new();
    str host, port, path;

    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
        REQUIRE(callout_url(a, str_of(good[i].url), &host, &port, &path));
        CHECK(str_is(host, good[i].host) && str_is(port, good[i].port));
        CHECK(str_is(path, good[i].path));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (!CHECK(!callout_url(a, str_of(bad[i]), &host, &port, &path)))
            printf("# %s\n", bad[i]);
}

TEST(answers_that_are_none)
{
    static const char *const bad[] = {
        "",
        "null",
        "{}",
        "<html>",
        REVIEW "null}",
        REVIEW "{\"uid\":\"other\",\"allowed\":true}}",
        REVIEW "{\"allowed\":true}}",
        REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patch\":\"W10=\"}}",
        REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patchType\":\"JSONPatch\"}}",
        REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patchType\":\"Merge\",\"patch\":\"e30=\"}}",
        REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"e30=\"}}",
        REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patchType\":\"JSONPatch\",\"patch\":\"!!\"}}",
        "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\","
        "\"response\":{\"uid\":\"u\",\"allowed\":true}}",
    };
    scoped_arena a = arena_new();
    struct review_answer answer;
    struct status st;

    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        if (!CHECK(read_answer(a, bad[i], true, &answer, &st) < 0 && st.reason == REASON_INTERNAL))
            printf("# %s\n", bad[i]);
    CHECK(read_answer(a,
                      REVIEW "{\"uid\":\"u\",\"allowed\":true,\"patchType\":\"JSONPatch\","
                             "\"patch\":\"W10=\"}}",
                      false, &answer, &st) < 0);
}

TEST(refusals_in_the_words_of_the_webhook)
{
    scoped_arena a = arena_new();
    struct review_answer answer;
    struct status st;

    REQUIRE(read_answer(a,
                        REVIEW "{\"uid\":\"u\",\"allowed\":false,\"status\":{\"code\":403,"
                               "\"reason\":\"Forbidden\",\"message\":\"no\"}}}",
                        false, &answer, &st) == 0);
    CHECK(!answer.allowed);
    CHECK(review_refuse(&st, STR("w.example.com"), answer.status) < 0);
    CHECK(st.reason == REASON_FORBIDDEN && status_http(&st) == 403);
    CHECK(str_is(st.message, "admission webhook \"w.example.com\" denied the request: no"));

    REQUIRE(read_answer(a,
                        REVIEW "{\"uid\":\"u\",\"status\":{\"code\":422,\"details\":{\"kind\":"
                               "\"K\",\"causes\":[{\"field\":\"f\",\"message\":\"m\"}]}}}}",
                        false, &answer, &st) == 0);
    CHECK(review_refuse(&st, STR("w.example.com"), answer.status) < 0);
    CHECK(str_is(st.kind, "K") && st.ncauses == 1 && str_is(st.causes->field, "f") &&
          str_is(st.causes->message, "m"));

    /* No code, or one that is no refusal: 400, and no reason. */
    status_init(&st, a);
    CHECK(review_refuse(&st, STR("w.example.com"), NULL) < 0);
    CHECK(status_http(&st) == 400);
    CHECK_STR(status_reason(&st), "");
    CHECK(str_is(st.message,
                 "admission webhook \"w.example.com\" denied the request without explanation"));
    REQUIRE(read_answer(a, REVIEW "{\"uid\":\"u\",\"status\":{\"code\":200}}}", false, &answer,
                        &st) == 0);
    CHECK(!answer.allowed);
    CHECK(review_refuse(&st, STR("w.example.com"), answer.status) < 0);
    CHECK(status_http(&st) == 400);
}

#define BETA \
    "{\"apiVersion\":\"admission.k8s.io/v1beta1\",\"kind\":\"AdmissionReview\",\"response\":"

static int read_beta(struct arena *a, const char *text, struct review_answer *out,
                     struct status *st)
{
    status_init(st, a);
    return review_answer_read(a, str_of(text), REVIEW_V1BETA1, STR("u"), true, out, st);
}

/* k8s: neither what it is nor whose answer it is has to be said in the old version */
TEST(answers_in_the_old_version)
{
    scoped_arena a = arena_new();
    struct review_answer answer;
    struct status st;
    str question;

    CHECK(read_beta(a, BETA "{\"allowed\":true}}", &answer, &st) == 0 && answer.allowed);
    CHECK(read_beta(a, "{\"response\":{\"uid\":\"x\",\"allowed\":true}}", &answer, &st) == 0);
    CHECK(read_beta(a, BETA "{\"allowed\":true,\"patch\":\"W10=\"}}", &answer, &st) == 0);
    CHECK(answer.patch != NULL);
    CHECK(read_beta(a, BETA "null}", &answer, &st) < 0);
    CHECK(str_is(st.message, "received invalid webhook response: webhook response was absent"));
    CHECK(read_beta(a, REVIEW "{\"uid\":\"u\",\"allowed\":true}}", &answer, &st) < 0);
    CHECK(str_is(
        st.message,
        "received invalid webhook response: expected webhook response of admission.k8s.io/v1beta1, "
        "Kind=AdmissionReview, got admission.k8s.io/v1, Kind=AdmissionReview"));
    question =
        review_question(a, REVIEW_V1BETA1, STR("u"), &json_empty_object, &json_null, &json_null);
    CHECK(str_contains(question, STR("\"apiVersion\":\"admission.k8s.io/v1beta1\"")));
}

TEST(codes_that_are_no_answer)
{
    static const struct {
        int code;
        const char *says;
    } codes[] = {
        { 404, "the server could not find the requested resource" },
        { 500, "an error on the server (\"unknown\") has prevented the request from succeeding" },
        { 418, "the server responded with the status code 418 but did not return more "
               "information" },
    };
    scoped_arena a = arena_new();
    struct status st;

    for (size_t i = 0; i < sizeof(codes) / sizeof(*codes); i++) {
        status_init(&st, a);
        CHECK(review_http_failure(codes[i].code, &st) < 0);
        CHECK(str_contains(st.message, str_of(codes[i].says)));
    }
    CHECK(review_http_failure(0, &st) == 0 && review_http_failure(302, &st) == 0);
}

#define CONVERSION \
    "{\"apiVersion\":\"apiextensions.k8s.io/v1\",\"kind\":\"ConversionReview\",\"response\":"
#define SUCCESS "\"uid\":\"u\",\"result\":{\"status\":\"Success\"}"

TEST(conversions_keep_identities)
{
    static const char *const bad[] = {
        "[]",
        CONVERSION "{" SUCCESS "}}",
        CONVERSION "{" SUCCESS ",\"convertedObjects\":[null]}}",
        CONVERSION "{" SUCCESS ",\"convertedObjects\":[{\"apiVersion\":\"g/v1\",\"kind\":\"W\","
                   "\"metadata\":{\"name\":\"x\",\"uid\":\"1\"}}]}}",
        CONVERSION "{" SUCCESS ",\"convertedObjects\":[{\"apiVersion\":\"g/v2\",\"kind\":\"W\","
                   "\"metadata\":{\"name\":\"y\",\"uid\":\"1\"}}]}}",
        CONVERSION "{" SUCCESS ",\"convertedObjects\":[{\"apiVersion\":\"g/v2\",\"kind\":\"W\","
                   "\"metadata\":{\"name\":\"x\",\"uid\":\"2\"}}]}}",
    };
    static const char good[] = CONVERSION
        "{" SUCCESS ",\"convertedObjects\":[{\"apiVersion\":\"g/v2\",\"kind\":\"W\",\"metadata\":{"
        "\"name\":\"x\",\"uid\":\"1\",\"generation\":9,\"labels\":{\"a\":\"b\"}},\"spec\":{\"b\":1}"
        "}"
        "]}}";
    scoped_arena a = arena_new();
    const struct json *sent, *out;
    struct status st;

    status_init(&st, a);
    REQUIRE(json_parse(a,
                       STR("[{\"apiVersion\":\"g/v1\",\"kind\":\"W\",\"metadata\":{\"name\":\"x\","
                           "\"uid\":\"1\",\"generation\":3},\"spec\":{\"a\":1}}]"),
                       NULL, &sent, &st) == 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        status_init(&st, a);
        if (!CHECK(conversion_read(a, str_of(bad[i]), STR("u"), sent, STR("g/v2"), &out, &st) < 0))
            printf("# %s\n", bad[i]);
    }
    REQUIRE(conversion_read(a, str_of(good), STR("u"), sent, STR("g/v2"), &out, &st) == 0);
    CHECK(json_int(json_path(json_at(out, 0), "metadata.generation"), 0) == 3);
    CHECK(str_is(json_get_str(json_at(out, 0), "metadata.labels.a"), "b"));
    CHECK(json_int(json_path(json_at(out, 0), "spec.b"), 0) == 1);
}
