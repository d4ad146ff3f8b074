/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/syncer_flags.h"

#include "base/banned.h"

static bool is_one_word(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 0x7f)
            return false;
    return s.n > 0;
}

int syncer_flags_read(struct syncer_flags *f, struct status *st)
{
    str scheme = STR("https://"), server = str_of(f->server);

    if (!syncer_place_parse(str_of(f->mode), &f->place))
        return status_set(st, REASON_BAD_REQUEST, "--syncer-mode is push, pull or none, not \"%s\"",
                          f->mode);
    if (f->server && (!is_one_word(server) || !str_starts(server, scheme) || server.n == scheme.n))
        return status_set(st, REASON_BAD_REQUEST,
                          "--syncer-server is a URL such as https://kairship.example.com:6443, not "
                          "\"%s\"",
                          f->server);
    if (f->image && !is_one_word(str_of(f->image)))
        return status_set(st, REASON_BAD_REQUEST,
                          "--syncer-image is an image such as "
                          "registry.example.com/kairship:VERSION, not \"%s\"",
                          f->image);
    return 0;
}
