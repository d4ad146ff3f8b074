/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/buf.h"

enum { TEXT_FILE_MAX = 1 << 20 };

int text_file_find(struct arena *a, const char *path, str *out, struct status *st)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC), rc = 0;
    scoped_buf b = { .max = TEXT_FILE_MAX };

    if (fd < 0)
        return errno == ENOENT ? 0 : status_errno(st, errno, "cannot open %s", path);
    for (;;) {
        char *to = buf_reserve(&b, 4096);
        ssize_t n = to ? read(fd, to, 4096) : -1;

        if (n < 0)
            rc = status_errno(st, to ? errno : EFBIG, "cannot read %s", path);
        if (n <= 0)
            break;
        b.n += (size_t)n;
    }
    (void)close(fd);
    *out = str_dup(a, buf_str(&b));
    return rc < 0 ? -1 : 1;
}

int text_file_read(struct arena *a, const char *path, str *out, struct status *st)
{
    int found = text_file_find(a, path, out, st);

    if (found == 0)
        return status_set(st, REASON_NOT_FOUND, "there is no file %s", path);
    return found < 0 ? -1 : 0;
}
