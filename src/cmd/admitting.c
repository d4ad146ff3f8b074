/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/admitting.h"

#include <errno.h>
#include <string.h>

#include "base/banned.h"
#include "base/file.h"

static int read_text(struct arena *a, const char *path, str *out, struct status *st)
{
    struct file *f = file_open(file_real(), path, FILE_READ);
    char *text;
    ssize_t n;

    if (!f)
        return status_errno(st, errno, "cannot open %s", path);
    text = arena_alloc(a, ADMISSION_CONFIG_MAX + 1);
    n = file_read(f, text, ADMISSION_CONFIG_MAX + 1, 0);
    file_close(f);
    if (n < 0)
        return status_errno(st, errno, "cannot read %s", path);
    *out = (str){ text, (size_t)n };
    return 0;
}

/* k8s: a plugin's path is relative to the folder of the file that names it */
static int read_beside(struct arena *a, void *arg, str path, str *out, struct status *st)
{
    const char *file = arg, *slash = strrchr(file, '/');

    if (path.p[0] == '/' || !slash)
        return read_text(a, str_z(a, path), out, st);
    return read_text(a, arena_printf(a, "%.*s/%.*s", (int)(slash - file), file, STR_ARG(path)), out,
                     st);
}

int admitting_load(struct admitting *o, struct arena *a, struct status *st)
{
    char *file;
    str text;

    if (!o->file)
        return 0;
    file = str_z(a, str_of(o->file));
    if (read_text(a, file, &text, st) < 0 ||
        admission_config_read(a, text, read_beside, file, &o->config, st) < 0)
        return status_wrap(st, "admission (%s)", o->file);
    return 0;
}
