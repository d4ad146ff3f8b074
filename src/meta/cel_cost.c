/* SPDX-License-Identifier: Apache-2.0 */

/* What a call costs when it is made. */

#include "meta/cel_parts.h"

#include "base/banned.h"

uint64_t cel_mul(uint64_t a, uint64_t b)
{
    uint64_t out;

    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

uint64_t cel_add(uint64_t a, uint64_t b)
{
    uint64_t out;

    return __builtin_add_overflow(a, b, &out) ? UINT64_MAX : out;
}

/* k8s: apiserver/pkg/cel/library/cost.go */
enum { AUTHORIZER_COST = 350000 };

uint64_t cel_call_cost(char cost, uint64_t s0, uint64_t s1)
{
    switch (cost) {
    case 's':
        return cel_add(1, cel_tenth(s0));
    case 'p':
        return cel_add(1, cel_tenth(s1));
    case 'x':
        return cel_add(1, cel_mul(cel_tenth(s0), cel_tenth(s1)));
    case 'r':
        return cel_add(1, cel_mul(cel_tenth(s0), s1 / 4 + 1));
    case '+':
        return cel_add(1, cel_add(cel_tenth(s0), cel_tenth(s1)));
    case '=':
        return cel_add(1, cel_tenth(s0 < s1 ? s0 : s1));
    case 'i':
        return cel_add(1, s1);
    case 'l':
        return cel_add(1, s0);
    case 'q':
        return cel_add(1, cel_mul(s0, s1));
    case 'a':
        return AUTHORIZER_COST;
    default:
        return 1;
    }
}
