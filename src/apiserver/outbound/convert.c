/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/outbound/convert.h"

#include "apiserver/call/internal.h"
#include "apiserver/outbound/callout.h"
#include "base/banned.h"
#include "base/encode.h"
#include "base/uuid.h"

#define VERSION "apiextensions.k8s.io/v1"

enum { TIMEOUT_MS = 30000 }; /* k8s: there is no setting for it */

struct converting {
    struct callout callout;
    struct arena *arena;            /* this is in: it may outlive who asked */
    struct rest_question *question; /* NULL: nobody waits any more */
    struct service_ref service;
    char uid[UUID_SIZE];
};

/* ---- the answer ---- */

static bool same(const struct json *a, const struct json *b, const char *path)
{
    return str_eq(json_get_str(a, path), json_get_str(b, path));
}

static int check_object(const struct json *got, const struct json *sent, str to, struct status *st)
{
    if (!json_is(got, JSON_OBJECT) || !str_eq(json_get_str(got, "apiVersion"), to) ||
        !same(got, sent, "kind"))
        return status_set(st, REASON_INTERNAL,
                          "expected converted objects of %.*s and of the kind that was sent",
                          STR_ARG(to));
    if (!same(got, sent, "metadata.name") || !same(got, sent, "metadata.namespace") ||
        !same(got, sent, "metadata.uid"))
        return status_set(st, REASON_INTERNAL,
                          "converted objects must keep name, namespace and UID");
    return 0;
}

/* All else of metadata is what was sent. */
static struct json restore(struct arena *a, const struct json *got, const struct json *sent)
{
    static const char *const free_[] = { "labels", "annotations" };
    struct json_object meta = json_object_from(a, json_get(sent, STR("metadata")));

    for (size_t i = 0; i < sizeof(free_) / sizeof(*free_); i++) {
        const struct json *v = json_get(json_get(got, STR("metadata")), str_of(free_[i]));

        json_remove(&meta, str_of(free_[i]));
        if (json_len(v))
            json_put(&meta, str_of(free_[i]), *v);
    }
    return *json_set(a, got, "metadata", json_object_done(&meta));
}

int conversion_read(struct arena *a, str text, str uid, const struct json *sent, str to,
                    const struct json **out, struct status *st)
{
    const struct json *review, *response, *list;
    struct json_array done = json_array_new(a);
    str message;
    size_t i = 0;

    if (json_parse(a, text, NULL, &review, st) < 0)
        return status_set(st, REASON_INTERNAL, "the answer is not JSON");
    response = json_get(review, STR("response"));
    if (!str_is(json_get_str(review, "apiVersion"), VERSION) ||
        !str_is(json_get_str(review, "kind"), "ConversionReview") ||
        !json_is(response, JSON_OBJECT))
        return status_set(st, REASON_INTERNAL,
                          "expected webhook response of " VERSION ", Kind=ConversionReview");
    if (!str_eq(json_get_str(response, "uid"), uid))
        return status_set(st, REASON_INTERNAL, "expected response.uid=\"%.*s\"", STR_ARG(uid));
    message = json_get_str(response, "result.message");
    if (!str_is(json_get_str(response, "result.status"), "Success"))
        return status_set(st, REASON_INTERNAL, "%.*s",
                          STR_ARG(message.n ? str_sub(message, 0, 4096)
                                            : STR("response.result.status was not Success")));
    list = json_get(response, STR("convertedObjects"));
    if (json_len(list) != json_len(sent))
        return status_set(st, REASON_INTERNAL, "returned %zu objects, expected %zu", json_len(list),
                          json_len(sent));
    json_for_each (v, list) {
        if (check_object(v, json_at(sent, i), to, st) < 0)
            return -1;
        json_push(&done, restore(a, v, json_at(sent, i++)));
    }
    *out = json_array_done(&done);
    return 0;
}

/* ---- the question ---- */

static void on_answer(struct callout *c, str reply, const struct status *why)
{
    struct converting *v = (struct converting *)(void *)c;
    struct rest_question *q = v->question;
    const struct json *out = NULL;
    struct status *st;
    struct arena *a;

    if (!q) {
        arena_free(v->arena);
        return;
    }
    a = q->req->arena;
    st = arena_new_of(a, struct status);
    status_init(st, a);
    if (why)
        (void)status_set(st, REASON_UNKNOWN, "%.*s", STR_ARG(callout_failure(a, c, why)));
    else if (conversion_read(a, str_dup(a, reply), (str){ v->uid, UUID_LEN }, q->objects, q->to,
                             &out, st) < 0)
        out = NULL;
    arena_free(v->arena);
    if (out) {
        q->done(q, out, NULL);
        return;
    }
    st->reason = REASON_UNKNOWN;
    (void)status_wrap(st, "conversion webhook for %.*s, Kind=%.*s failed", STR_ARG(q->from),
                      STR_ARG(q->kind->kind));
    q->done(q, NULL, st);
}

void server_convert_cancel(struct rest_question *q)
{
    struct converting *v = q->impl;

    v->question = NULL;
    callout_cancel(&v->callout);
}

static str question_text(struct arena *a, str uid, const struct rest_question *q)
{
    struct json_object r = json_object_new(a), o = json_object_new(a);
    scoped_buf b = { .max = CALLOUT_BODY_MAX };

    json_add(&r, STR("uid"), json_of_str(uid));
    json_add(&r, STR("desiredAPIVersion"), json_of_str(q->to));
    json_add(&r, STR("objects"), *q->objects);
    json_add(&o, STR("kind"), json_of_str(STR("ConversionReview")));
    json_add(&o, STR("apiVersion"), json_of_str(STR(VERSION)));
    json_add(&o, STR("request"), json_object_value(&r));
    json_print(&b, json_object_done(&o));
    return str_dup(a, buf_str(&b));
}

void server_convert(struct rest_question *q)
{
    struct rest_request *req = q->req;
    const struct json *client = q->kind->conversion;
    struct arena *a = arena_new();
    struct converting *v = arena_new_of(a, struct converting);
    int64_t left = req->deadline_ms ? req->deadline_ms - loop_now_ms(req->loop) : TIMEOUT_MS;
    const struct json *service = json_get(client, STR("service"));
    str pem = STR_NONE;

    (void)base64_decode(a, BASE64_GO, json_get_str(client, "caBundle"), &pem);
    v->arena = a;
    v->question = q;
    q->impl = v;
    uuid_v4(v->uid);
    v->callout = (struct callout){
        .url = service ? service_url(a, service) : str_dup(a, json_get_str(client, "url")),
        .ca_pem = pem,
        .body = question_text(a, (str){ v->uid, UUID_LEN }, q),
        .timeout_ms = left < TIMEOUT_MS ? left : TIMEOUT_MS,
        .done = on_answer,
    };
    if (service) {
        v->service = service_ref_read(a, &req->instance, service);
        v->callout.service = &v->service;
    }
    callout_start(req->admitter, req->loop, &v->callout);
}
