/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/key_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/clock.h"
#include "base/file.h"

static int read_all(int fd, struct arena *a, secret *out)
{
    struct stat about;
    size_t n = 0, room;
    ssize_t got = 1;
    char *p;

    if (fstat(fd, &about) < 0)
        return -1;
    room = (size_t)about.st_size + 1; /* one more, to see its end */
    if (about.st_size > KEY_FILE_MAX) {
        errno = EFBIG;
        return -1;
    }
    p = secret_room(a, room);
    while (n < room && (got = read(fd, p + n, room - n)) > 0)
        n += (size_t)got;
    if (got > 0)
        errno = EFBIG; /* it grows while it is read */
    *out = secret_of((str){ p, n });
    return got == 0 ? 0 : -1;
}

int key_file_read(struct arena *a, const char *path, secret *out, struct status *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

    if (fd < 0)
        return status_errno(st, errno, "cannot open %s", path);
    rc = read_all(fd, a, out);
    if (rc < 0)
        (void)status_errno(st, errno, "cannot read %s", path);
    (void)close(fd);
    return rc;
}

static int write_all(int fd, str text)
{
    while (text.n) {
        ssize_t n = write(fd, text.p, text.n);

        if (n < 0)
            return -1;
        text = str_from(text, (size_t)n);
    }
    return fsync(fd);
}

int key_file_write(struct arena *a, const char *path, secret text, struct status *st)
{
    const char *temp = arena_printf(a, "%s.new", path);
    int fd = open(temp, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;
    bool ok = fd >= 0 && fchmod(fd, 0600) == 0 && write_all(fd, secret_reveal(text)) == 0 &&
              rename(temp, path) == 0 && file_sync_parent(file_real(), path) == 0;

    err = errno;
    if (fd >= 0)
        (void)close(fd);
    return ok ? 0 : status_errno(st, err, "cannot write %s", path);
}

str key_file_time(struct arena *a, int64_t now_s)
{
    char text[TIME_TEXT_SIZE], digits[TIME_TEXT_SIZE] = "";
    size_t n = 0, len = time_format_seconds(text, now_s);

    for (size_t i = 0; i < len; i++)
        if (text[i] != '-' && text[i] != ':')
            digits[n++] = text[i];
    return str_dup(a, (str){ digits, n });
}
