/* SPDX-License-Identifier: Apache-2.0 */
#include "server/hook_review.h"

#include "base/banned.h"
#include "base/encode.h"

#define VERSION "admission.k8s.io/v1"

enum { QUESTION_MAX = 64 << 20 };

str review_question(struct arena *a, str uid, const struct json *request, const struct json *object,
                    const struct json *old)
{
    struct json_object r = json_object_new(a), o = json_object_new(a);
    scoped_buf b = { .max = QUESTION_MAX };

    json_add(&r, STR("uid"), json_of_str(uid));
    json_for_each_member (m, request)
        json_add(&r, m->name, m->value);
    json_add(&r, STR("object"), *object);
    json_add(&r, STR("oldObject"), *old);
    json_add(&o, STR("kind"), json_of_str(STR("AdmissionReview")));
    json_add(&o, STR("apiVersion"), json_of_str(STR(VERSION)));
    json_add(&o, STR("request"), json_object_value(&r));
    json_print(&b, json_object_done(&o));
    return str_dup(a, buf_str(&b));
}

static int read_patch(struct arena *a, const struct json *response, bool mutating,
                      struct review_answer *out, struct status *st)
{
    str type = json_get_str(response, "patchType"), text = json_get_str(response, "patch"), raw;

    if (!text.n && !type.n)
        return 0;
    if (!mutating)
        return status_set(st, REASON_INTERNAL, "validating webhook response contained a patch");
    if (!type.n)
        return status_set(st, REASON_INTERNAL,
                          "webhook returned response.patch but not response.patchType");
    if (!text.n)
        return status_set(st, REASON_INTERNAL,
                          "webhook returned response.patchType but not response.patch");
    if (!str_is(type, "JSONPatch"))
        return status_set(st, REASON_INTERNAL,
                          "webhook returned invalid response.patchType of "
                          "\"%.*s\"",
                          STR_ARG(str_sub(type, 0, 64)));
    if (!base64_decode(a, BASE64_GO, text, &raw) || raw.n > REVIEW_PATCH_MAX)
        return status_set(st, REASON_INTERNAL, "response.patch cannot be decoded");
    if (json_parse(a, raw, NULL, &out->patch, st) < 0)
        return status_set(st, REASON_INTERNAL, "response.patch is not JSON");
    if (!json_is(out->patch, JSON_ARRAY))
        return status_set(st, REASON_INTERNAL, "response.patch is not an array of operations");
    return 0;
}

int review_answer_read(struct arena *a, str text, str uid, bool mutating, struct review_answer *out,
                       struct status *st)
{
    const struct json *review, *response;
    str got;

    *out = (struct review_answer){ 0 };
    if (json_parse(a, text, NULL, &review, st) < 0)
        return status_set(st, REASON_INTERNAL, "the answer is not JSON");
    if (!str_is(json_get_str(review, "apiVersion"), VERSION) ||
        !str_is(json_get_str(review, "kind"), "AdmissionReview"))
        return status_set(st, REASON_INTERNAL,
                          "expected webhook response of " VERSION ", Kind=AdmissionReview, got "
                          "%.*s, Kind=%.*s",
                          STR_ARG(str_sub(json_get_str(review, "apiVersion"), 0, 128)),
                          STR_ARG(str_sub(json_get_str(review, "kind"), 0, 128)));
    response = json_get(review, STR("response"));
    if (!json_is(response, JSON_OBJECT))
        return status_set(st, REASON_INTERNAL, "webhook response was absent");
    got = json_get_str(response, "uid");
    if (!str_eq(got, uid))
        return status_set(st, REASON_INTERNAL, "expected response.uid=\"%.*s\", got \"%.*s\"",
                          STR_ARG(uid), STR_ARG(str_sub(got, 0, 64)));
    out->allowed = json_bool(json_get(response, STR("allowed")));
    out->status = json_get(response, STR("status"));
    out->warnings = json_get(response, STR("warnings"));
    out->notes = json_get(response, STR("auditAnnotations"));
    return read_patch(a, response, mutating, out, st);
}

/* k8s: apiserver/pkg/admission/plugin/webhook/errors/statuserror.go */
int review_refuse(struct status *st, str webhook, const struct json *status)
{
    str message = json_get_str(status, "message"), reason = json_get_str(status, "reason");
    int64_t code = json_int(json_get(status, STR("code")), 0);
    enum reason known = REASON_UNKNOWN;

    (void)status_parse_reason(reason, &known);
    if (!message.n)
        message = reason;
    if (message.n)
        (void)status_set(st, known, "admission webhook \"%.*s\" denied the request: %.*s",
                         STR_ARG(webhook), STR_ARG(message));
    else
        (void)status_set(st, known,
                         "admission webhook \"%.*s\" denied the request without explanation",
                         STR_ARG(webhook));
    st->code = code >= 400 && code < 600 ? (unsigned)code : 400;
    return -1;
}
