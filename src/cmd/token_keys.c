/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/token_keys.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/mem.h"
#include "http/sign.h"
#include "server/keys.h"

enum { FILE_MAX = 64 << 10 };

struct names {
    struct arena *arena;
    str list[KEYS_MAX];
    size_t n;
};

struct wiped {
    char *p;
    size_t n;
};

static void wipe(void *arg)
{
    struct wiped *w = arg;

    mem_wipe(w->p, w->n);
}

static char *secret_room(struct arena *a, size_t n)
{
    struct wiped *w = arena_new_of(a, struct wiped);

    *w = (struct wiped){ arena_alloc(a, n), n };
    arena_defer(a, wipe, w);
    return w->p;
}

static int read_key(struct arena *a, const char *path, secret *out, struct status *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *p = secret_room(a, FILE_MAX);
    size_t n = 0;
    ssize_t got = -1;

    if (fd < 0)
        return status_errno(st, errno, "cannot open %s", path);
    while (n < FILE_MAX && (got = read(fd, p + n, FILE_MAX - n)) > 0)
        n += (size_t)got;
    if (got != 0)
        (void)status_errno(st, got < 0 ? errno : EFBIG, "cannot read %s", path);
    (void)close(fd);
    *out = secret_of((str){ p, n });
    return got == 0 ? 0 : -1;
}

static int write_key(const char *path, secret key, struct status *st)
{
    str text = secret_reveal(key);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : write(fd, text.p, text.n);
    int err = n >= 0 && (size_t)n != text.n ? EIO : errno;
    bool ok = n >= 0 && (size_t)n == text.n && fsync(fd) == 0;

    if (fd >= 0)
        (void)close(fd);
    if (ok)
        return 0;
    if (fd >= 0)
        (void)unlink(path); /* half a key would keep the next start from working */
    return status_errno(st, err, "cannot write %s", path);
}

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
    char text[TIME_TEXT_SIZE], digits[TIME_TEXT_SIZE] = "";
    size_t n = 0, len = time_format_seconds(text, now_s);
    const char *path;
    secret key;

    for (size_t i = 0; i < len; i++)
        if (text[i] != '-' && text[i] != ':')
            digits[n++] = text[i];
    names->list[names->n++] = str_printf(names->arena, "sa-%s.key", digits);
    path = arena_printf(names->arena, "%s/%.*s", pki, STR_ARG(names->list[0]));
    if (sign_key_make(names->arena, &key, st) < 0)
        return -1;
    return write_key(path, key, st);
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
        if (read_key(a, arena_printf(a, "%s/%.*s", pki, STR_ARG(names.list[i])), &keys[i], st) < 0)
            return -1;
    *out = keys;
    *n = names.n;
    return 0;
}
