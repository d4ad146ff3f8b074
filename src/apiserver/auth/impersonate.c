/* SPDX-License-Identifier: Apache-2.0 */

/* Acting for another.  k8s: apiserver/pkg/endpoints/filters/impersonation.go */

#include "apiserver/auth/impersonate.h"

#include "apiserver/auth/access_webhook.h"
#include "apiserver/auth/authn_cert.h"
#include "apiserver/auth/rbac_builtin.h"
#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "base/encode.h"
#include "object/meta/names.h"

#define EXTRA        "impersonate-extra-"
#define AUTHN_GROUP  "authentication.k8s.io"
#define ACCOUNT_USER "system:serviceaccount:"

/* k8s: apiserver/pkg/authentication/serviceaccount/util.go SplitUsername */
bool impersonation_account(str user, str *namespace_, str *name)
{
    str rest = str_from(user, sizeof(ACCOUNT_USER) - 1);
    ptrdiff_t colon = str_starts(user, STR(ACCOUNT_USER)) ? str_find(rest, ':', 0) : -1;

    if (colon < 0 || !name_is_valid(NAME_LABEL, str_sub(rest, 0, (size_t)colon)) ||
        !name_is_valid(NAME_SUBDOMAIN, str_from(rest, (size_t)colon + 1)))
        return false;
    *namespace_ = str_sub(rest, 0, (size_t)colon);
    *name = str_from(rest, (size_t)colon + 1);
    return true;
}

static bool has_group(const struct identity *who, size_t n, const char *group)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(who->groups[i], group))
            return true;
    return false;
}

/* Appends the groups that follow from the user, at most three, and returns how many. */
static size_t implied_groups(struct arena *a, const struct identity *who, size_t named, str *out)
{
    str namespace_, name;
    size_t n = 0;

    if (named == 0 && impersonation_account(who->user, &namespace_, &name)) {
        out[n++] = STR("system:serviceaccounts");
        out[n++] = str_printf(a, "system:serviceaccounts:%.*s", STR_ARG(namespace_));
    }
    if (has_group(who, named, "system:unauthenticated"))
        return n;
    if (str_is(who->user, "system:anonymous"))
        out[n++] = STR("system:unauthenticated");
    else if (!has_group(who, named, "system:authenticated"))
        out[n++] = STR("system:authenticated");
    return n;
}

/* The key behind the prefix, which is in small letters like all names of headers; escapes are
 * undone where they are whole. */
static str extra_key(struct arena *a, str header)
{
    str key = str_from(header, sizeof(EXTRA) - 1), plain;

    return percent_decode(a, PERCENT_PATH, key, &plain) ? plain : key;
}

/* The values of one key, in order; a key may be written in several ways. */
static struct identity_extra extra_of(struct arena *a, const struct http_header *headers, size_t n,
                                      str key)
{
    str *values = arena_array(a, str, n);
    struct identity_extra out = { .key = key, .values = values };

    for (size_t i = 0; i < n; i++)
        if (str_starts(headers[i].name, STR(EXTRA)) && str_eq(extra_key(a, headers[i].name), key))
            values[out.nvalues++] = headers[i].value;
    return out;
}

static void read_extra(struct arena *a, const struct http_header *headers, size_t n,
                       struct identity *out)
{
    struct identity_extra *extra = arena_array(a, struct identity_extra, n);

    for (size_t i = 0; i < n; i++) {
        bool seen = false;
        str key;

        if (!str_starts(headers[i].name, STR(EXTRA)))
            continue;
        key = extra_key(a, headers[i].name);
        for (size_t j = 0; j < out->nextra; j++)
            seen = seen || str_eq(extra[j].key, key);
        if (!seen)
            extra[out->nextra++] = extra_of(a, headers, n, key);
    }
    out->extra = extra;
}

int impersonation_read(struct arena *a, const struct http_header *headers, size_t n,
                       struct identity *out, size_t *named, struct status *st)
{
    struct identity who = { .user = STR_NONE };
    size_t asked = 0;
    str *groups;

    for (size_t i = 0; i < n; i++)
        asked += str_starts(headers[i].name, STR("impersonate-"));
    if (asked == 0)
        return 0;
    groups = arena_array(a, str, n + 3);
    who.groups = groups;
    for (size_t i = 0; i < n; i++) {
        if (str_is(headers[i].name, "impersonate-user") && !who.user.n)
            who.user = headers[i].value;
        else if (str_is(headers[i].name, "impersonate-uid") && !who.uid.n)
            who.uid = headers[i].value;
        else if (str_is(headers[i].name, "impersonate-group"))
            groups[who.ngroups++] = headers[i].value;
    }
    read_extra(a, headers, n, &who);
    if (!who.user.n && !who.uid.n && !who.ngroups && !who.nextra)
        return 0;
    if (!who.user.n)
        return status_set(st, REASON_BAD_REQUEST,
                          "requested groups, uid or extra without impersonating a user");
    *named = who.ngroups;
    who.ngroups += implied_groups(a, &who, who.ngroups, groups + who.ngroups);
    *out = who;
    return 1;
}

/* ---- rights ---- */

/* What the operator's webhook was asked, and said. */
struct said {
    struct access_webhook webhook; /* first */
    struct said *next;
    struct impersonation *of;
};

struct impersonation {
    struct call *call;
    struct identity who; /* whom they want to be */
    size_t named;
    struct access access; /* of one of the things asked for */
    struct said *said;
    bool waits;
};

static bool go(struct impersonation *q);

/* From the beginning: what was said is known now. */
static void webhook_said(struct access_webhook *w)
{
    struct impersonation *q = ((struct said *)(void *)w)->of;

    q->waits = false;
    if (go(q))
        call_continue(q->call);
}

static struct said *find(const struct impersonation *q)
{
    const struct access *x = &q->access;

    for (struct said *s = q->said; s; s = s->next)
        if (str_eq(s->webhook.access.group, x->group) &&
            str_eq(s->webhook.access.resource, x->resource) &&
            str_eq(s->webhook.access.subresource, x->subresource) &&
            str_eq(s->webhook.access.namespace_, x->namespace_) &&
            str_eq(s->webhook.access.name, x->name))
            return s;
    return NULL;
}

static struct said *ask(struct impersonation *q, str reason)
{
    struct said *s = arena_new_of(q->call->arena, struct said);

    *s = (struct said){
        .webhook = { .call = q->call, .access = q->access, .reason = reason, .done = webhook_said },
        .next = q->said,
        .of = q
    };
    q->said = s;
    q->waits = !access_webhook_ask(&s->webhook, STR("v1"));
    return s;
}

/* False: answered, or it will be asked again. */
static bool may(struct impersonation *q, str group, const char *resource, str subresource, str name)
{
    struct access *x = &q->access;
    struct call *c = q->call;
    struct said *s;
    str reason;

    x->group = group;
    x->resource = str_of(resource);
    x->subresource = subresource;
    x->name = name;
    if (access_allowed(c->server, c->arena, x, &reason))
        return true;
    if (c->no_instance || !access_webhook_knows(c->server, x)) {
        access_refuse(c, x, reason);
        return false;
    }
    s = find(q);
    if (!s)
        s = ask(q, reason);
    if (q->waits || s->webhook.allowed)
        return !q->waits;
    if (s->webhook.failed)
        call_fail(c, access_webhook_failure(&s->webhook));
    else
        access_refuse(c, x, s->webhook.reason);
    return false;
}

static bool may_be_user(struct impersonation *q, str user)
{
    str name;

    if (!impersonation_account(user, &q->access.namespace_, &name))
        return may(q, STR_NONE, "users", STR_NONE, user);
    if (!may(q, STR_NONE, "serviceaccounts", STR_NONE, name))
        return false;
    q->access.namespace_ = STR_NONE;
    return true;
}

/*
 * Returns whether the caller may impersonate a member of the group; else the call is answered.
 * Whatever the rules say, reserved groups (system:…) are for system:masters and for components of
 * this program, which pass on the identity of their own callers (DESIGN 4.14): so the right to
 * impersonate does not amount to all rights.
 */
static bool may_be_in_group(struct impersonation *q, str group)
{
    const struct identity *who = &q->call->who;

    if (str_starts(group, STR("system:")) && !who->rights &&
        !identity_in_group(who, "system:masters")) {
        q->access.group = q->access.subresource = STR_NONE;
        q->access.resource = STR("groups");
        q->access.name = group;
        access_refuse(q->call, &q->access, STR("groups of the system are for system:masters"));
        return false;
    }
    return may(q, STR_NONE, "groups", STR_NONE, group);
}

static bool may_have_extra(struct impersonation *q, const struct identity *who)
{
    for (size_t i = 0; i < who->nextra; i++)
        for (size_t j = 0; j < who->extra[i].nvalues; j++)
            if (!may(q, STR(AUTHN_GROUP), "userextras", who->extra[i].key, who->extra[i].values[j]))
                return false;
    return true;
}

static bool may_be(struct impersonation *q)
{
    static const struct instance template = { .id = INSTANCE_TEMPLATE };
    const struct identity *who = &q->who;
    struct call *c = q->call;

    q->access = (struct access){ .who = &c->who,
                                 .instance = c->no_instance ? &template : &c->rest.instance,
                                 .verb = STR("impersonate"),
                                 .is_resource = true };
    if (!may_be_user(q, who->user))
        return false;
    for (size_t i = 0; i < q->named; i++)
        if (!may_be_in_group(q, who->groups[i]))
            return false;
    if (!may_have_extra(q, who))
        return false;
    return who->uid.n == 0 || may(q, STR(AUTHN_GROUP), "uids", STR_NONE, who->uid);
}

/*
 * A controller-manager of its own process acts for its parts, each with its rights.  An admin of an
 * instance, who is of system:masters there, has no parts: theirs are not held to the instance's
 * limits.
 */
static bool is_platform_admin(const struct call *c)
{
    return c->peer && authn_cert_is_of_root(c->peer, c->server->root_uid) &&
           identity_in_group(&c->who, "system:masters");
}

static bool go(struct impersonation *q)
{
    struct call *c = q->call;

    if (!may_be(q))
        return false;
    if (is_platform_admin(c))
        q->who.rights = rbac_builtins_find(c->server->builtins, q->who.user);
    c->impersonator = c->who.user;
    c->who = q->who;
    return true;
}

bool impersonate(struct call *c)
{
    struct status *st = call_status(c);
    struct identity who;
    struct impersonation *q;
    size_t named;
    int asked = impersonation_read(c->arena, c->headers, c->nheaders, &who, &named, st);

    if (asked < 0)
        call_fail(c, st);
    if (asked <= 0)
        return asked == 0;
    if (c->no_instance && identity_in_group(&c->who, "system:masters")) {
        call_fail(c, c->no_instance);
        return false;
    }
    q = arena_new_of(c->arena, struct impersonation);
    *q = (struct impersonation){ .call = c, .who = who, .named = named };
    return go(q);
}
