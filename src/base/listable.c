/* SPDX-License-Identifier: Apache-2.0 */
#include "base/listable.h"

#include "base/banned.h"

static const struct listable_rule everything = { .group = STR_INIT("*"),
                                                 .resource = STR_INIT("*") };
static const struct listable_rule but_secrets = { .group = STR_INIT("*"),
                                                  .resource = STR_INIT("*"),
                                                  .but_secrets = true };

const struct listable listable_everything = { &everything, 1 };
const struct listable listable_but_secrets = { &but_secrets, 1 };

static bool names(str said, str what)
{
    return str_is(said, "*") || str_eq(said, what);
}

bool listable_shows(const struct listable_rule *r, str group, str resource)
{
    if (r->but_secrets && str_empty(group) && str_is(resource, "secrets"))
        return false;
    return names(r->group, group) && names(r->resource, resource);
}
