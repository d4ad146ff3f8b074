/* SPDX-License-Identifier: Apache-2.0 */
#include "kinds/frame/conditions.h"

#include "base/banned.h"
#include "base/map.h"

enum { REASON_MAX = 1024, MESSAGE_MAX = 32 * 1024 };

/* `[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?` */
static bool is_reason(str s)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i], lower = (char)(c | 0x20);
        bool letter = lower >= 'a' && lower <= 'z', digit = c >= '0' && c <= '9';
        bool inner = i && i + 1 < s.n && (c == ',' || c == ':');

        if (!letter && !inner && !(i && (digit || c == '_')))
            return false;
    }
    return s.n > 0;
}

static void check_reason(struct status *st, const struct site *reason)
{
    if (!is_reason(json_str(reason->v)))
        site_invalid(st, reason,
                     "a condition reason must start with alphabetic character, optionally followed "
                     "by a string of alphanumeric characters or '_,:', and must end with an "
                     "alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  "
                     "or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is "
                     "'[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')");
    if (json_str(reason->v).n > REASON_MAX)
        site_fault(st, reason, CAUSE_TOO_LONG, "may not be more than %d bytes", REASON_MAX);
}

void conditions_check(struct status *st, const struct site *list)
{
    static const char *const states[] = { "False", "True", "Unknown", NULL };
    struct map seen = { 0 };

    site_each(c, list)
    {
        struct site type = site_word_in(&c, "type"), state = site_word_in(&c, "status");
        struct site time = site_in(&c, "lastTransitionTime"), reason = site_word_in(&c, "reason");
        struct site generation = site_in(&c, "observedGeneration");
        struct site message = site_in(&c, "message");

        if (site_seen_any(&seen, json_str(type.v)))
            site_duplicate(st, &type);
        (void)site_qualified(st, &type);
        if (json_str(state.v).n)
            site_enum(st, &state, states);
        else
            site_unsupported(st, &state, states);
        if (json_int(generation.v, 0) < 0)
            site_invalid(st, &generation, "must be greater than or equal to zero");
        if (json_str(time.v).n == 0)
            site_missing(st, &time, "");
        if (!site_required(st, &reason))
            check_reason(st, &reason);
        if (site_str(&c, "message").n > MESSAGE_MAX)
            site_fault(st, &message, CAUSE_TOO_LONG, "may not be more than %d bytes", MESSAGE_MAX);
    }
    map_release(&seen);
}
