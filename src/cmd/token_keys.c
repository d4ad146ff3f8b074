/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/token_keys.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "apiserver/auth/keys.h"
#include "base/banned.h"
#include "cmd/key_file.h"
#include "http/sign.h"

struct names {
    struct arena *arena;
    str list[KEYS_MAX];
    size_t n;
};

static bool is_key_file(str name)
{
    return str_starts(name, STR("sa-")) &&
           (str_ends(name, STR(".key")) || str_ends(name, STR(".pub")));
}

static int by_rank(const void *a, const void *b)
{
    return str_cmp(*(const str *)b, *(const str *)a);
}

static int list_names(struct names *names, const char *pki, struct status *st)
{
    DIR *dir = opendir(pki);
    int rc = 0;

    if (!dir)
        return status_errno(st, errno, "cannot read the folder %s", pki);
    for (struct dirent *e; rc == 0 && (e = readdir(dir));) {
        if (!is_key_file(str_of(e->d_name)))
            continue;
        if (names->n == KEYS_MAX)
            rc = status_set(st, REASON_INVALID, "%s has more than %d keys for tokens", pki,
                            KEYS_MAX);
        else
            names->list[names->n++] = str_dup(names->arena, str_of(e->d_name));
    }
    (void)closedir(dir);
    if (names->n)
        qsort(names->list, names->n, sizeof(*names->list), by_rank);
    return rc;
}

/* sa-20260102T150405Z.key */
static int make_first(struct names *names, const char *pki, int64_t now_s, struct status *st)
{
    const char *path;
    secret key;

    names->list[names->n++] =
        str_printf(names->arena, "sa-%.*s.key", STR_ARG(key_file_time(names->arena, now_s)));
    path = arena_printf(names->arena, "%s/%.*s", pki, STR_ARG(names->list[0]));
    if (sign_key_make(names->arena, &key, st) < 0)
        return -1;
    return key_file_write(names->arena, path, key, st);
}

int token_keys_open(struct arena *a, const char *dir, int64_t now_s, const secret **out, size_t *n,
                    struct status *st)
{
    struct names names = { .arena = a };
    const char *pki = arena_printf(a, "%s/pki", dir);
    secret *keys = arena_array(a, secret, KEYS_MAX);

    if (list_names(&names, pki, st) < 0 || (names.n == 0 && make_first(&names, pki, now_s, st) < 0))
        return -1;
    for (size_t i = 0; i < names.n; i++)
        if (key_file_read(a, arena_printf(a, "%s/%.*s", pki, STR_ARG(names.list[i])), &keys[i],
                          st) < 0)
            return -1;
    *out = keys;
    *n = names.n;
    return 0;
}
