/* SPDX-License-Identifier: Apache-2.0 */
#include "apiserver/admission/admission.h"

#include "apiserver/admission/admit_policy.h"
#include "apiserver/admission/admit_webhook.h"
#include "apiserver/admission/quota.h"
#include "apiserver/admission/quota_gate.h"
#include "apiserver/admission/webhook_questions.h"
#include "apiserver/call/instance_limits.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"

/* In this order, as far as they are about the request; each is in admit_*.c. */
static const struct admission_plugin *const plugins[] = {
    &admit_apply,
    &admit_tolerations,
    &admit_service_account,
    &admit_priority,
    &admit_runtime_class,
    &admit_priority_class,
    &admit_storage_class,
    &admit_limit_range,
    &admit_in_use,
    &admit_node_taint,
    &admit_pod_security,
    &admit_service,
    &admit_external_ips,
    &admit_csr_request,
    &admit_csr_approval,
    &admit_csr_signing,
    &admit_rbac,
    &admit_kubeconfig,
    &admit_attach,
    &admit_registration,
    &admit_member,
    &admit_pedia_name,
    &admit_registered_name,
    &admit_protection,
    &admit_instance,
    &admit_uids,
    &admit_distributed,
    &admit_workspace,
    &admit_customization,
    /* Last: what others refuse costs nothing. */
    &admit_event_rate,
};
enum { PLUGINS = sizeof(plugins) / sizeof(*plugins) };
_Static_assert(PLUGINS <= 32, "a bit each");

static bool matches(const char *pattern, str s)
{
    return (pattern[0] == '*' && !pattern[1]) || str_is(s, pattern);
}

/* The bits of the named ones. */
static int find_all(str names, bool off, uint32_t *out, struct status *st)
{
    *out = 0;
    for (str name; names.n && str_split(&names, ',', &name);) {
        size_t i = 0;

        while (i < PLUGINS && !((plugins[i]->optional || !off) && str_is(name, plugins[i]->name)))
            i++;
        if (i == PLUGINS)
            return status_set(st, REASON_BAD_REQUEST,
                              "there is no admission plugin \"%.*s\" that may be turned %s",
                              STR_ARG(name), off ? "off" : "on");
        *out |= 1u << i;
    }
    return 0;
}

int admission_choose(str on, str off, uint32_t *out, struct status *st)
{
    uint32_t asked = 0, yes, no;

    for (size_t i = 0; i < PLUGINS; i++)
        asked |= plugins[i]->asked ? 1u << i : 0;
    if (find_all(on, false, &yes, st) < 0 || find_all(off, true, &no, st) < 0)
        return -1;
    if (yes & no)
        return status_set(st, REASON_BAD_REQUEST, "an admission plugin is turned on and off");
    *out = (asked & ~yes) | no;
    return 0;
}

bool admission_is_on(const struct server *s, const struct admission_plugin *p)
{
    size_t i = 0;

    while (i < PLUGINS && plugins[i] != p)
        i++;
    return i < PLUGINS && !(s->admission_off >> i & 1);
}

/* An apply or a PUT of what is not there yet is a create. */
static bool concerns(size_t plugin, const struct rest_request *req, const struct json *old)
{
    const struct admission_plugin *p = plugins[plugin];
    const struct server *s = req->admitter;
    enum verb verb = req->verb;

    if (verb == VERB_PATCH || verb == VERB_UPDATE)
        verb = old ? VERB_UPDATE : VERB_CREATE;
    if (verb == VERB_DELETE_COLLECTION)
        verb = VERB_DELETE;
    return (p->verbs & verb) && !(s->admission_off >> plugin & 1) &&
           matches(p->group, req->kind->group) && matches(p->resource, req->kind->plural);
}

static struct admission of(struct rest_request *req, const struct json *old)
{
    return (struct admission){ .server = req->admitter, .req = req, .old = old };
}

int admission_mutate(struct rest_request *req, const struct json **obj, const struct json *old,
                     struct status *st)
{
    struct admission a = of(req, old);

    for (size_t i = 0; i < PLUGINS; i++)
        if (plugins[i]->mutate && concerns(i, req, old) && plugins[i]->mutate(&a, obj, st) < 0)
            return -1;
    return 0;
}

/* What the instance's own policies and webhooks say. */
static int validate_hooks(struct rest_request *req, const struct json *obj, const struct json *old,
                          struct status *st)
{
    struct server *s = req->admitter;
    const struct hook_set *set = hooks_of(s->hooks, req->instance.id, st);
    struct hook_write w;
    int rc;

    if (!set)
        return -1;
    if (hook_set_is_empty(set) || hook_exempt(req) || webhook_questions_is_settled(req))
        return 0;
    if (webhook_questions_home(req))
        return REST_WAIT;
    if (!obj) { /* a delete: who mutates has a say, and nothing to change */
        rc = webhooks_mutate(s, set, req, &obj, old, st);
        if (rc)
            return rc;
    }
    w = hook_write_of(req, obj, old);
    rc = hook_is_review(req) ? 0 : policies_validate(s, set, &w, st);
    if (rc)
        return rc;
    return webhooks_validate(s, set, &w, st);
}

int admission_mutate_far(struct rest_request *req, const struct json **obj, const struct json *old,
                         struct status *st)
{
    struct server *s = req->admitter;
    const struct hook_set *set = hooks_of(s->hooks, req->instance.id, st);
    int rc;

    if (!set)
        return -1;
    if (!set->mutating.n || hook_exempt(req) || webhook_questions_is_settled(req))
        return 0;
    if (webhook_questions_home(req))
        return REST_WAIT;
    if (webhook_questions_check_time(req, st) < 0)
        return -1;
    rc = webhooks_mutate(s, set, req, obj, old, st);
    return webhook_questions_waits(req) ? REST_WAIT : rc;
}

static int validate_plugins(struct rest_request *req, const struct json *obj,
                            const struct json *old, struct status *st)
{
    struct admission a = of(req, old);

    for (size_t i = 0; i < PLUGINS; i++) {
        int rc =
            plugins[i]->validate && concerns(i, req, old) ? plugins[i]->validate(&a, obj, st) : 0;

        if (rc)
            return rc;
    }
    return 0;
}

int admission_validate(struct rest_request *req, const struct json *obj, const struct json *old,
                       struct status *st)
{
    int rc = webhook_questions_check_time(req, st);

    if (rc == 0)
        rc = validate_plugins(req, obj, old, st);
    if (rc == 0)
        rc = validate_hooks(req, obj, old, st);
    return webhook_questions_waits(req) ? REST_WAIT : rc;
}

int admission_validate_far(struct rest_request *req, const struct json *obj, const struct json *old,
                           struct status *st)
{
    int rc = webhook_questions_check_time(req, st);

    if (rc == 0)
        rc = validate_hooks(req, obj, old, st);
    return webhook_questions_waits(req) ? REST_WAIT : rc;
}

/* What was written since this try looked cannot be expected: it looks again. */
int admission_claim(struct rest_request *req, str stock, struct store_op *op, struct status *st)
{
    struct server *s = req->admitter;
    struct store_key key = { .type = TYPE_CLAIMS, .instance = req->instance.id, .name = stock };
    struct store_row row = { 0 };

    if (store_get(s->store, req->arena, key, 0, &row, st) < 0)
        return -1;
    *op = (struct store_op){ .kind = STORE_PUT,
                             .key = key,
                             .expect = row.rev > req->seen ? req->seen : row.rev };
    return 0;
}

int admission_charge(struct rest_request *req, const struct rest_change *change,
                     struct store_op ops[REST_CHARGES], struct status *st)
{
    struct server *s = req->admitter;
    int n, claims;

    if (limits_charge(s->limits, s->store, req, change, st) < 0)
        return -1;
    n = quota_charge(req, change, ops, st);
    if (n < 0 || n == REST_WAIT)
        return n;
    claims = service_claims(req, change, ops + n, st);
    if (claims == 0)
        claims = workspace_claims(req, change, ops + n, st);
    return claims < 0 ? -1 : n + claims;
}

void admission_charged(struct rest_request *req)
{
    struct server *s = req->admitter;

    quota_gates_leave(s->quota_gates, req);
}
