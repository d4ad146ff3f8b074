/* SPDX-License-Identifier: Apache-2.0 */
#include "object/meta/api_version.h"

#include "base/banned.h"

struct parsed_version {
    uint64_t major, minor;
    int level; /* 3: v1; 2: v1beta1; 1: v1alpha1; 0: none of these */
};

static struct parsed_version version_of(str s)
{
    static const char *const words[] = { "", "alpha", "beta" };
    struct parsed_version v = { 0 };
    size_t at = 1;

    if (s.n < 2 || s.p[0] != 'v')
        return v;
    while (at < s.n && s.p[at] >= '0' && s.p[at] <= '9')
        at++;
    if (!str_to_u64(str_sub(s, 1, at - 1), &v.major))
        return v;
    s = str_from(s, at);
    v.level = s.n ? 0 : 3;
    for (int i = 1; i <= 2; i++)
        if (str_starts(s, str_of(words[i])) && str_to_u64(str_from(s, strlen(words[i])), &v.minor))
            v.level = i;
    return v;
}

static int cmp(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int api_version_cmp(str a, str b)
{
    struct parsed_version x = version_of(a), y = version_of(b);
    int c = cmp((uint64_t)x.level, (uint64_t)y.level);

    if (!c && !x.level)
        return -str_cmp(a, b);
    c = c ? c : cmp(x.major, y.major);
    return c ? c : cmp(x.minor, y.minor);
}
