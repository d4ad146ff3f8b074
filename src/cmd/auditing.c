/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/auditing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/banned.h"

enum { DAY_S = 86400 };

bool auditing_check(const struct auditing *a)
{
    if (strcmp(a->log_mode, "batch") != 0 && strcmp(a->log_mode, "blocking") != 0) {
        (void)fprintf(stderr, "kairship: --audit-log-mode is batch or blocking\n");
        return false;
    }
    if (a->max_age < 0 || a->max_age > 36500 || a->max_backups < 0 || a->max_backups > 9999 ||
        a->max_size < 1 || a->max_size > 1 << 20) {
        (void)fprintf(stderr, "kairship: audit logs are kept for 0 to 36500 days, 0 to 9999 of "
                              "them, of 1 to 1048576 MB\n");
        return false;
    }
    return true;
}

/* Of the user's file; its bytes live in the arena. */
static int read_policy(struct arena *a, const char *path, str *out, struct status *st)
{
    struct file *f = file_open(file_real(), path, FILE_READ);
    char *text;
    ssize_t n;

    if (!f)
        return status_errno(st, errno, "cannot open the audit policy %s", path);
    text = arena_alloc(a, AUDIT_POLICY_MAX + 1);
    n = file_read(f, text, AUDIT_POLICY_MAX + 1, 0);
    file_close(f);
    if (n < 0)
        return status_errno(st, errno, "cannot read the audit policy %s", path);
    *out = (str){ text, (size_t)n };
    if (n == 0)
        return status_set(st, REASON_BAD_REQUEST, "the audit policy %s is empty", path);
    return 0;
}

static int default_path(struct arena *a, const char *data_dir, const char **out, struct status *st)
{
    const char *dir = arena_printf(a, "%s/audit", data_dir);

    if (file_mkdir(file_real(), dir) < 0)
        return status_errno(st, errno, "cannot make the folder %s", dir);
    *out = arena_printf(a, "%s/audit.log", dir);
    return 0;
}

const char *auditing_log_elsewhere(const struct auditing *a)
{
    const char *path = a->log_path;

    return path && *path && strcmp(path, "-") != 0 ? path : NULL;
}

struct audit *auditing_open(const struct auditing *o, const char *data_dir, struct clock *clock,
                            struct status *st)
{
    scoped_arena a = arena_new();
    struct audit_options options = {
        .log = { .path = o->log_path,
                 .max_bytes = (uint64_t)o->max_size << 20,
                 .max_backups = (unsigned)o->max_backups,
                 .max_age_s = (int64_t)o->max_age * DAY_S,
                 .clock = clock },
        .blocking = strcmp(o->log_mode, "blocking") == 0,
    };
    struct audit *out;

    if (o->policy_file && read_policy(a, o->policy_file, &options.policy, st) < 0)
        return NULL;
    if (!o->log_path && default_path(a, data_dir, &options.log.path, st) < 0)
        return NULL;
    if (o->log_path && !*o->log_path)
        options.log.path = NULL;
    out = audit_new(&options, st);
    if (!out && o->policy_file)
        (void)status_wrap(st, "audit (policy %s)", o->policy_file);
    return out;
}
