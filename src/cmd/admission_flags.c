/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/admission_flags.h"

#include <string.h>

#include "base/banned.h"
#include "cmd/text_file.h"

/* k8s: a plugin's path is relative to the folder of the file that names it */
static int read_beside(struct arena *a, void *arg, str path, str *out, struct status *st)
{
    const char *file = arg, *slash = strrchr(file, '/');

    if (path.p[0] == '/' || !slash)
        return text_file_read(a, str_z(a, path), out, st);
    return text_file_read(a, arena_printf(a, "%.*s/%.*s", (int)(slash - file), file, STR_ARG(path)),
                          out, st);
}

int admission_flags_load(struct admission_flags *o, struct arena *a, struct status *st)
{
    char *file;
    str text;

    if (!o->file)
        return 0;
    file = str_z(a, str_of(o->file));
    if (text_file_read(a, file, &text, st) < 0 ||
        admission_config_read(a, text, read_beside, file, &o->config, st) < 0)
        return status_wrap(st, "admission (%s)", o->file);
    return 0;
}
