/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/hook_review.h"

#include "base/banned.h"
#include "base/encode.h"

enum { QUESTION_MAX = 64 << 20 };

static const char *const versions[] = { [REVIEW_UNKNOWN] = "",
                                        [REVIEW_V1] = "admission.k8s.io/v1",
                                        [REVIEW_V1BETA1] = "admission.k8s.io/v1beta1" };

str review_question(struct arena *a, enum review_version version, str uid,
                    const struct json *request, const struct json *object, const struct json *old)
{
    struct json_object r = json_object_new(a), o = json_object_new(a);
    scoped_buf b = { .max = QUESTION_MAX };

    json_add(&r, STR("uid"), json_of_str(uid));
    json_for_each_member (m, request)
        json_add(&r, m->name, m->value);
    json_add(&r, STR("object"), *object);
    json_add(&r, STR("oldObject"), *old);
    json_add(&o, STR("kind"), json_of_str(STR("AdmissionReview")));
    json_add(&o, STR("apiVersion"), json_of_str(str_of(versions[version])));
    json_add(&o, STR("request"), json_object_value(&r));
    json_print(&b, json_object_done(&o));
    return str_dup(a, buf_str(&b));
}

static int read_patch(struct arena *a, const struct json *response, enum review_version version,
                      bool mutating, struct review_answer *out, struct status *st)
{
    str type = json_get_str(response, "patchType"), text = json_get_str(response, "patch"), raw;

    if (version == REVIEW_V1BETA1) /* there is one type only */
        type = text.n ? STR("JSONPatch") : STR_NONE;
    if (!text.n && !type.n)
        return 0;
    if (!mutating)
        return status_set(st, REASON_INTERNAL, "validating webhook may not return response.%s",
                          text.n ? "patch" : "patchType");
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

/* k8s: apiserver/pkg/admission/plugin/webhook/request/admissionreview.go VerifyAdmissionResponse */
static int check_answer(const struct json *review, enum review_version version, str uid,
                        struct status *st)
{
    str api_version = json_get_str(review, "apiVersion"), kind = json_get_str(review, "kind");
    str got = json_get_str(json_get(review, STR("response")), "uid");
    bool old = version == REVIEW_V1BETA1;

    if ((!str_is(api_version, versions[version]) || !str_is(kind, "AdmissionReview")) &&
        (!old || api_version.n))
        return status_set(st, REASON_INTERNAL,
                          "expected webhook response of %s, Kind=AdmissionReview, got "
                          "%.*s, Kind=%.*s",
                          versions[version], STR_ARG(str_sub(api_version, 0, 128)),
                          STR_ARG(str_sub(kind, 0, 128)));
    if (!json_is(json_get(review, STR("response")), JSON_OBJECT))
        return status_set(st, REASON_INTERNAL, "webhook response was absent");
    if (!old && !str_eq(got, uid))
        return status_set(st, REASON_INTERNAL, "expected response.uid=\"%.*s\", got \"%.*s\"",
                          STR_ARG(uid), STR_ARG(str_sub(got, 0, 64)));
    return 0;
}

int review_answer_read(struct arena *a, str text, enum review_version version, str uid,
                       bool mutating, struct review_answer *out, struct status *st)
{
    const struct json *review, *response;

    *out = (struct review_answer){ 0 };
    if (json_parse(a, text, NULL, &review, st) < 0)
        return status_set(st, REASON_INTERNAL, "failed to call webhook: the answer is not JSON");
    response = json_get(review, STR("response"));
    out->allowed = json_bool(json_get(response, STR("allowed")));
    out->status = json_get(response, STR("status"));
    out->warnings = json_get(response, STR("warnings"));
    out->notes = json_get(response, STR("auditAnnotations"));
    if (check_answer(review, version, uid, st) < 0 ||
        read_patch(a, response, version, mutating, out, st) < 0)
        return status_wrap(st, "received invalid webhook response");
    return 0;
}

/* k8s: apimachinery/pkg/api/errors NewGenericServerResponse */
int review_http_failure(int code, struct status *st)
{
    static const struct {
        int code;
        const char *text;
    } known[] = {
        { 400, "the server rejected our request for an unknown reason" },
        { 401, "the server has asked for the client to provide credentials" },
        { 403, "unknown" },
        { 404, "the server could not find the requested resource" },
        { 405, "the server does not allow this method on the requested resource" },
        { 406, "the server was unable to respond with a content type that the client supports" },
        { 409, "the server reported a conflict" },
        { 415, "the server was unable to respond with a content type that the client supports" },
        { 422, "the server rejected our request due to an error in our request" },
        { 429, "the server has received too many requests and has asked us to try again later" },
        { 503, "the server is currently unable to handle the request" },
        { 504, "the server was unable to return a response in the time allotted, but may still be "
               "processing the request" },
    };

    if (code < 400)
        return 0;
    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        if (known[i].code == code)
            return status_set(st, REASON_INTERNAL, "failed to call webhook: %s", known[i].text);
    if (code >= 500)
        return status_set(st, REASON_INTERNAL,
                          "failed to call webhook: an error on the server (\"unknown\") has "
                          "prevented the request from succeeding");
    return status_set(st, REASON_INTERNAL,
                      "failed to call webhook: the server responded with the status code %d but "
                      "did not return more information",
                      code);
}

static void refuse_details(struct status *st, const struct json *details)
{
    int64_t retry = json_int(json_get(details, STR("retryAfterSeconds")), 0);

    st->group = str_dup(st->arena, json_get_str(details, "group"));
    st->kind = str_dup(st->arena, json_get_str(details, "kind"));
    st->name = str_dup(st->arena, json_get_str(details, "name"));
    st->uid = str_dup(st->arena, json_get_str(details, "uid"));
    st->retry_after_s = retry > 0 && retry <= REVIEW_RETRY_MAX_S ? (unsigned)retry : 0;
    json_for_each (c, json_get(details, STR("causes")))
        status_cause(st, CAUSE_OTHER, json_get_str(c, "field"), STR_NONE, "%.*s",
                     STR_ARG(json_get_str(c, "message")));
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
    refuse_details(st, json_get(status, STR("details")));
    st->code = code >= 400 && code < 600 ? (unsigned)code : 400;
    return -1;
}
