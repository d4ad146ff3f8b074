/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An instance with spec.suspended stands still: whoever writes in it, or through it in a member, is
 * refused.  What tells how things are goes on, and so does what lets people in to look; the
 * Instance itself is in root, where it can be released or deleted.  The program's own components go
 * on, too; what they write in the instance reaches no member (federation/controllers/members).
 */

#include "apiserver/call/internal.h"
#include "base/banned.h"

/* What is written all the same; "*": any. */
static const struct {
    const char *group, *resource, *subresource;
} goes_on[] = {
    { "*", "*", "status" },
    { "coordination.k8s.io", "leases", "" },
    { "", "events", "" },
    { "events.k8s.io", "events", "" },
    { "authentication.k8s.io", "*", "" }, /* reviews: nothing is stored */
    { "authorization.k8s.io", "*", "" },
    { "certificates.k8s.io", "certificatesigningrequests", "*" }, /* kubeconfigs */
    { "", "serviceaccounts", "token" },
};

static bool is(const char *pattern, str s)
{
    return strcmp(pattern, "*") == 0 || str_is(s, pattern);
}

static bool may_go_on(const struct reqinfo *i)
{
    for (size_t n = 0; n < sizeof(goes_on) / sizeof(*goes_on); n++)
        if (is(goes_on[n].group, i->group) && is(goes_on[n].resource, i->resource) &&
            is(goes_on[n].subresource, i->subresource))
            return true;
    return !i->is_resource;
}

/* A part of the program that does not do what people ask of it. */
static bool is_own(const struct identity *who)
{
    return who->rights && !str_is(who->user, "system:kairship:management");
}

/* What passes through an upgraded connection to a member (exec, attach) is not known. */
static bool may_write(struct call *c)
{
    return c->mutating || (str_is(c->info.subresource, "proxy") && call_header(c, "upgrade").n);
}

bool suspension(struct call *c)
{
    const struct instance *i = &c->rest.instance;
    struct status *st;

    if (!i->suspended || !may_write(c) || i->id == STORE_ALL || is_own(&c->who) ||
        may_go_on(&c->info))
        return true;
    st = call_status(c);
    (void)status_forbidden(st, c->info.group, c->info.resource, c->info.name,
                           "instance \"%.*s\" is suspended: nothing in it or in its members is "
                           "changed as long as spec.suspended of the Instance is true",
                           STR_ARG(i->name));
    call_fail(c, st);
    return false;
}
