/* SPDX-License-Identifier: Apache-2.0 */
#include "federation/controllers/instance/csr_signer.h"

#include "base/banned.h"
#include "base/encode.h"

/*
 * k8s: pkg/controller/certificates/signer and cleaner: what is decided stays for an hour, what
 * nobody decides for a day.
 */
enum { DECIDED_S = 3600, PENDING_S = 24 * 3600 };

static const struct json *condition_of(const struct json *csr, const char *type)
{
    json_for_each (c, json_path(csr, "status.conditions"))
        if (str_is(json_get_str(c, "type"), type))
            return c;
    return NULL;
}

static bool is_issued(const struct json *csr)
{
    return json_get_str(csr, "status.certificate").n > 0;
}

/* ---- the end ---- */

static int64_t time_of(const struct json *v, const char *path)
{
    int64_t s = 0;

    return time_parse_seconds(json_get_str(v, path), &s) ? s : 0;
}

/* When it goes, in seconds since 1970; 0: not before something else happens. */
static int64_t end_of(const struct json *csr)
{
    static const char *const ends[] = { "Denied", "Failed", "Approved" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
        const struct json *c = condition_of(csr, ends[i]);

        if (c && (!str_is(str_of(ends[i]), "Approved") || is_issued(csr)))
            return time_of(c, "lastUpdateTime") + DECIDED_S;
    }
    if (json_len(json_path(csr, "status.conditions")) == 0)
        return time_of(csr, "metadata.creationTimestamp") + PENDING_S;
    return 0;
}

static int remove_it(struct client *client, struct arena *a, const struct client_ref *ref,
                     const struct json *csr, struct status *st)
{
    const struct json *uid = json_path(csr, "metadata.uid");
    const struct json *options = json_set(a, &json_empty_object, "preconditions.uid", uid);

    if (client_delete(client, a, ref, options, st) < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    return 0;
}

/* ---- signing ---- */

static const struct json *with_failure(const struct csr_signer *by, struct arena *a,
                                       const struct json *csr, str why)
{
    struct json_array all = json_array_new(a);
    struct json_object o = json_object_new(a);
    char *now = arena_alloc(a, TIME_TEXT_SIZE);
    struct json time = json_of_str((str){ now, time_format_seconds(now, clock_wall_s(by->clock)) });

    json_for_each (c, json_path(csr, "status.conditions"))
        json_push(&all, *c);
    json_add(&o, STR("type"), json_of_str(STR("Failed")));
    json_add(&o, STR("status"), json_of_str(STR("True")));
    json_add(&o, STR("reason"), json_of_str(STR("SignerValidationFailure")));
    json_add(&o, STR("message"), json_of_str(why));
    json_add(&o, STR("lastUpdateTime"), time);
    json_add(&o, STR("lastTransitionTime"), time);
    json_push(&all, json_object_value(&o));
    return json_set(a, csr, "status.conditions", json_array_done(&all));
}

static int sign(const struct csr_signer *by, struct client *client, struct arena *a,
                const struct informer_key *k, const struct client_ref *ref, const struct json *csr,
                struct status *st)
{
    struct client_ref status = *ref;
    struct status why;
    str pem;
    int rc;

    status_init(&why, a);
    rc = by->sign(by->arg, a, k->instance, csr, &pem, &why);
    if (rc == 0)
        return 0;
    if (rc > 0) {
        struct json text = json_of_str(base64_encode(a, BASE64_STD, pem));

        csr = json_set(a, csr, "status.certificate", json_box(a, text));
    } else if (status_is(&why, REASON_INVALID)) {
        csr = with_failure(by, a, csr, why.message);
    } else {
        return status_set(st, why.reason, "%.*s", STR_ARG(why.message));
    }
    status.subresource = STR("status");
    return client_update(client, a, &status, csr, NULL, st);
}

static bool wants_signature(const struct json *csr)
{
    return condition_of(csr, "Approved") && !condition_of(csr, "Denied") &&
           !condition_of(csr, "Failed") && !is_issued(csr);
}

static int reconcile(void *arg, struct client *client, struct arena *a,
                     const struct informer_key *k, struct status *st)
{
    struct client_ref ref = { .instance = str_is(k->instance, "root") ? STR_NONE : k->instance,
                              .group = STR("certificates.k8s.io"),
                              .version = STR("v1"),
                              .resource = STR("certificatesigningrequests"),
                              .name = k->name };
    const struct csr_signer *by = arg;
    const struct json *csr;
    int64_t end, now = clock_wall_s(by->clock);

    if (client_get(client, a, &ref, &csr, st) < 0)
        return status_is(st, REASON_NOT_FOUND) ? 0 : -1;
    if (wants_signature(csr))
        return sign(by, client, a, k, &ref, csr, st); /* and is seen again when that is written */
    end = end_of(csr);
    if (end == 0)
        return 0;
    if (end <= now)
        return remove_it(client, a, &ref, csr, st);
    /* The times of conditions are the approver's to write: far away is looked at again. */
    return (int)(end - now > PENDING_S ? PENDING_S : end - now) * 1000;
}

const struct controller_spec csr_signer_controller = {
    .name = "csr-signer",
    .ref = { .instance = STR_INIT("*"),
             .group = STR_INIT("certificates.k8s.io"),
             .version = STR_INIT("v1"),
             .resource = STR_INIT("certificatesigningrequests") },
    .reconcile = reconcile,
};
