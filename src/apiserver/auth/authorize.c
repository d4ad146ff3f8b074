/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Authorization of a call, in this order: a component of this program has the rights of its row
 * (apiserver/auth/rbac_builtin.h); members of system:masters may do everything in the instance
 * where they were authenticated, and the platform admin's also over all instances; all other users
 * have the rights that RBAC grants, and those that the operator's webhook adds
 * (apiserver/auth/access_webhook.h).
 */

#include "apiserver/audit/audit.h"
#include "apiserver/auth/access_webhook.h"
#include "apiserver/auth/authz.h"
#include "apiserver/auth/people.h"
#include "apiserver/auth/rbac.h"
#include "apiserver/auth/rbac_rule.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/epoch.h"
#include "base/log.h"
#include "object/meta/selector.h"
#include "rest/lookup.h"

/* Returns whether the caller may learn that an instance does not exist.  To other callers it looks
 * like an instance in which they have no rights. */
static bool may_know(const struct identity *who)
{
    return who->rights || identity_in_group(who, "system:masters");
}

bool access_allowed(struct server *s, struct arena *a, const struct access *x, str *reason)
{
    if (reason)
        *reason = STR_NONE;
    if (x->who->rights) {
        struct rbac_query q = rbac_query_of(a, x);

        return rbac_role_allows(x->who->rights, &q);
    }
    if (identity_in_group(x->who, "system:masters"))
        return true;
    return x->instance->id != STORE_ALL && rbac_allowed(s->rbac, a, x, reason);
}

static int listable_in(struct server *s, struct arena *a, const struct identity *who,
                       const struct instance *i, struct listable *out, struct status *st)
{
    struct identity here = *who;

    if (identity_in_group(who, "system:masters")) {
        *out = listable_everything;
        return 0;
    }
    if (i->attached)
        return 0;
    people_entitle(s->people, a, i, &here);
    return rbac_listable(s->rbac, a, &here, i, out, st);
}

int access_listable(struct server *s, struct arena *a, const struct identity *who, str instance,
                    struct listable *out, struct status *st)
{
    struct instance i;
    bool ready;
    int rc;

    *out = (struct listable){ 0 };
    epoch_enter();
    rc = instance_find(rest_instances(s->rest), a, instance, &i, st);
    ready = rc < 0 || rbac_is_ready(s->rbac, a, i.id);
    epoch_exit();
    if (rc < 0 && !status_is(st, REASON_NOT_FOUND))
        return -1;
    if (rc < 0) {
        status_reset(st);
        return 0;
    }
    if (!ready)
        rbac_prepare(s->rbac, i.id);
    epoch_enter();
    rc = listable_in(s, a, who, &i, out, st);
    epoch_exit();
    return rc;
}

str access_denial(struct arena *a, const struct access *x)
{
    str sub = x->subresource.n ? str_printf(a, "/%.*s", STR_ARG(x->subresource)) : STR_NONE;
    str scope = x->namespace_.n ? str_printf(a, "in the namespace \"%.*s\"", STR_ARG(x->namespace_))
                                : STR("at the cluster scope");

    if (!x->is_resource)
        return str_printf(a, "User \"%.*s\" cannot %.*s path \"%.*s\"", STR_ARG(x->who->user),
                          STR_ARG(x->verb), STR_ARG(x->path));
    return str_printf(a,
                      "User \"%.*s\" cannot %.*s resource \"%.*s%.*s\" in API group \"%.*s\" %.*s",
                      STR_ARG(x->who->user), STR_ARG(x->verb), STR_ARG(x->resource), STR_ARG(sub),
                      STR_ARG(x->group), STR_ARG(scope));
}

/* The one value of this field that the request selects. */
static bool selected(const struct call *c, struct arena *a, const char *field, str *value)
{
    struct selector fields;
    struct status st;
    str text;

    if (c->info.name.n || !query_get(a, c->query, STR("fieldSelector"), &text))
        return false;
    status_init(&st, a);
    if (selector_parse_fields(a, text, &fields, &st) < 0)
        return false;
    for (size_t i = 0; i < fields.nterms; i++)
        if (str_is(fields.terms[i].key, field) && fields.terms[i].op == SELECTOR_IN &&
            fields.terms[i].nvalues == 1) {
            *value = fields.terms[i].values[0];
            return true;
        }
    return false;
}

/*
 * k8s: apiserver/pkg/endpoints/request/requestinfo.go: a list or watch that selects one name is
 * about that name
 */
static bool selected_name(const struct call *c, struct arena *a, str *name)
{
    return (str_is(c->info.verb, "list") || str_is(c->info.verb, "watch")) &&
           selected(c, a, "metadata.name", name);
}

static struct access access_of(const struct call *c, struct arena *a)
{
    static const struct instance template = { .id = INSTANCE_TEMPLATE };
    const struct reqinfo *i = &c->info;
    struct access x = {
        .who = &c->who,
        .instance = c->no_instance ? &template : &c->rest.instance,
        .verb = i->verb,
        .is_resource = i->is_resource,
        .group = i->group,
        .resource = i->resource,
        .subresource = i->subresource,
        .namespace_ = i->namespace_,
        .name = i->name,
        .path = i->path,
    };

    (void)selected_name(c, a, &x.name);
    return x;
}

static void note(const struct call *c, const struct access *x, bool allowed, str reason)
{
    log_debug("authorized", log_bool("allowed", allowed), log_str("user", c->who.user),
              log_str("impersonated_by", c->impersonator), log_str("verb", x->verb),
              log_str("group", x->group), log_str("resource", x->resource),
              log_str("subresource", x->subresource), log_str("namespace", x->namespace_),
              log_str("name", x->name), log_str("path", c->info.path),
              log_str("instance", c->info.instance), log_str("reason", reason),
              log_str("audit_id", c->audit_id));
}

void access_refuse(struct call *c, const struct access *x, str reason)
{
    struct status *st = call_status(c);
    str denial = access_denial(c->arena, x);

    if (reason.n)
        denial = str_printf(c->arena, "%.*s: %.*s", STR_ARG(denial), STR_ARG(reason));
    st->empty_details = true; /* of a path, which has none */
    if (x->is_resource)
        (void)status_forbidden(st, x->group, x->resource, x->name, "%.*s", STR_ARG(denial));
    else
        (void)status_forbidden(st, STR_NONE, STR_NONE, STR_NONE, "%.*s", STR_ARG(denial));
    call_fail(c, st);
}

static bool conclude(struct call *c, const struct access *x, bool allowed, str reason)
{
    if (log_enabled(LOG_DEBUG))
        note(c, x, allowed, reason);
    if (c->audit)
        audit_decided(c, allowed, reason);
    if (!allowed)
        access_refuse(c, x, reason);
    return allowed;
}

static void webhook_said(struct access_webhook *w)
{
    w->call->standing.by_webhook = w->allowed;
    if (w->failed)
        call_fail(w->call, access_webhook_failure(w));
    else if (conclude(w->call, &w->access, w->allowed, w->reason))
        call_continue(w->call);
}

/* False: it will be answered. */
static bool ask_webhook(struct call *c, const struct access *x, bool *allowed, str *reason)
{
    struct access_webhook *w;

    if (c->no_instance || !access_webhook_knows(c->server, x))
        return true;
    w = arena_new_of(c->arena, struct access_webhook);
    *w =
        (struct access_webhook){ .call = c, .access = *x, .reason = *reason, .done = webhook_said };
    if (!access_webhook_ask(w, c->info.version))
        return false;
    if (w->failed) {
        call_fail(c, access_webhook_failure(w));
        return false;
    }
    *allowed = c->standing.by_webhook = w->allowed;
    *reason = w->reason;
    return true;
}

/*
 * Who has logged in may see and end the sessions of their own name: one by its name, all of them by
 * the field selector spec.user.name.
 */
static bool is_own_session(const struct call *c, struct arena *a, const struct access *x)
{
    static const char *const verbs[] = {
        "get", "list", "watch", "delete", "deletecollection", NULL
    };
    const struct json *session;
    str user = STR_NONE;
    struct status st;

    if (!c->session.n || c->impersonator.n || x->subresource.n ||
        !str_is(x->resource, "sessions") || !str_is(x->group, "iam.kairship.io") ||
        !str_is_any(x->verb, verbs))
        return false;
    if (!c->info.name.n)
        return selected(c, a, "spec.user.name", &user) && str_eq(user, c->who.user);
    status_init(&st, a);
    return lookup_get(c->server->rest, a, x->instance,
                      catalog_find(kinds_catalog_root(), x->group, STR("v1alpha1"), x->resource),
                      STR_NONE, c->info.name, &session, &st) == 1 &&
           str_eq(json_get_str(session, "spec.user.name"), c->who.user);
}

bool access_again(struct call *c, struct arena *a, const struct identity *who)
{
    struct access x = access_of(c, a);

    x.who = who;
    return access_allowed(c->server, a, &x, NULL) || is_own_session(c, a, &x);
}

static bool decide(struct call *c)
{
    struct access x = access_of(c, c->arena);
    bool allowed, why = log_enabled(LOG_DEBUG) || c->audit;
    str reason = STR_NONE;

    if (c->no_instance && may_know(&c->who)) {
        call_fail(c, c->no_instance);
        return false;
    }
    allowed = access_allowed(c->server, c->arena, &x, why ? &reason : NULL);
    /* What does not exist has health and version like any other, and nothing else. */
    if (allowed && c->no_instance && !x.is_resource)
        c->no_instance = NULL;
    allowed = allowed && !c->no_instance;
    if (!allowed && !why)
        (void)access_allowed(c->server, c->arena, &x, &reason);
    if (!allowed && is_own_session(c, c->arena, &x)) {
        allowed = true;
        reason = STR("the session is the caller's own");
    }
    if (!allowed && !ask_webhook(c, &x, &allowed, &reason))
        return false;
    return conclude(c, &x, allowed, reason);
}

/* ---- waiting for the rules ---- */

struct preparation {
    struct worker_job job; /* first */
    struct call *call;
};

static void prepare(struct worker_job *job)
{
    struct call *c = ((struct preparation *)(void *)job)->call;

    rbac_prepare(c->server->rbac, c->rest.instance.id);
}

static void prepared(struct worker_job *job)
{
    struct call *c = ((struct preparation *)(void *)job)->call;

    if (decide(c))
        call_continue(c);
}

static bool must_wait(struct call *c)
{
    uint32_t id = c->rest.instance.id;

    return !c->no_instance && id != STORE_ALL && !may_know(&c->who) &&
           !rbac_is_ready(c->server->rbac, c->arena, id);
}

/* A mount authorizes its callers itself, in an instance that is there. */
static bool authorize_mount(struct call *c)
{
    struct access x = access_of(c, c->arena);

    if (!c->no_instance)
        return true;
    if (may_know(&c->who))
        call_fail(c, c->no_instance);
    else
        access_refuse(c, &x, STR_NONE);
    return false;
}

bool authorize(struct call *c)
{
    struct preparation *p;
    struct status *st;

    if (c->mount)
        return authorize_mount(c);
    if (!must_wait(c))
        return decide(c);
    p = arena_new_of(c->arena, struct preparation);
    *p = (struct preparation){ .job = { .run = prepare, .done = prepared }, .call = c };
    if (workers_submit(c->server->workers, &p->job))
        return false;
    st = call_status(c);
    st->retry_after_s = 1;
    (void)status_set(st, REASON_TOO_MANY_REQUESTS,
                     "too many rules are being read at this moment, try again");
    call_fail(c, st);
    return false;
}
