/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A controller-manager that was stopped for a while and goes on does not know yet that another
 * leads.  It says with each write by which Lease of the root instance it writes, in the header
 * "kairship-lease: <namespace>/<name>/<holder>", and when that is another's the write is refused.
 */

#include "apiserver/call/internal.h"
#include "base/banned.h"
#include "rest/lookup.h"

static bool parse(str value, str *namespace_, str *name, str *holder)
{
    ptrdiff_t first = str_find(value, '/', 0);
    ptrdiff_t second = first < 0 ? -1 : str_find(value, '/', (size_t)first + 1);

    if (first <= 0 || second <= first + 1 || (size_t)second + 1 == value.n)
        return false;
    *namespace_ = str_sub(value, 0, (size_t)first);
    *name = str_sub(value, (size_t)first + 1, (size_t)(second - first - 1));
    *holder = str_from(value, (size_t)second + 1);
    return true;
}

/* -1: it must not write. */
static int check(struct call *c, str value, struct status *st)
{
    static const struct instance root = { .id = INSTANCE_ROOT };
    const struct kind *leases =
        catalog_find(kinds_catalog_root(), STR("coordination.k8s.io"), STR("v1"), STR("leases"));
    const struct json *lease = NULL;
    str namespace_, name, holder, now;
    int found;

    if (!parse(value, &namespace_, &name, &holder))
        return status_set(st, REASON_BAD_REQUEST,
                          "the header kairship-lease is <namespace>/<name>/<holder>");
    found = lookup_get(c->server->rest, c->arena, &root, leases, namespace_, name, &lease, st);
    if (found < 0)
        return -1;
    now = json_get_str(lease, "spec.holderIdentity");
    if (found > 0 && str_eq(now, holder))
        return 0;
    return status_set(
        st, REASON_CONFLICT,
        "the lease %.*s/%.*s is not held by \"%.*s\" but by \"%.*s\": who lost it may "
        "not write any more",
        STR_ARG(namespace_), STR_ARG(name), STR_ARG(holder), STR_ARG(now));
}

bool fence(struct call *c)
{
    str value = c->mutating ? call_header(c, "kairship-lease") : STR_NONE;
    struct status *st;

    if (!value.n)
        return true;
    st = call_status(c);
    if (check(c, value, st) == 0)
        return true;
    call_fail(c, st);
    return false;
}
