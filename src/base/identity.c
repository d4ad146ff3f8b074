/* SPDX-License-Identifier: Apache-2.0 */
#include "base/identity.h"

#include "base/banned.h"

bool identity_in_group(const struct identity *who, const char *group)
{
    for (size_t i = 0; i < who->ngroups; i++)
        if (str_is(who->groups[i], group))
            return true;
    return false;
}
