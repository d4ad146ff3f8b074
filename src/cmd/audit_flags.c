/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/audit_flags.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/banned.h"
#include "cmd/text_file.h"

enum { HOUR_MS = 3600 * 1000 };

static bool is_mode(const char *option, const char *mode)
{
    if (strcmp(mode, "batch") == 0 || strcmp(mode, "blocking") == 0)
        return true;
    (void)fprintf(stderr, "kairship: %s is batch or blocking\n", option);
    return false;
}

static bool is_duration(const char *option, const char *text)
{
    int64_t ms;

    if (parse_duration(str_of(text), &ms) && ms > 0 && ms <= HOUR_MS)
        return true;
    (void)fprintf(stderr, "kairship: %s is a time like 500ms, 30s or 2m, one hour at most\n",
                  option);
    return false;
}

static bool webhook_check(const struct audit_flags *a)
{
    if (a->batch < 1 || a->batch > a->buffer || a->buffer > 1000000 || a->qps < 0 ||
        a->qps > 100000 || a->burst < 1 || a->burst > 100000) {
        (void)fprintf(stderr, "kairship: the audit webhook gets 1 event or more at once, 1000000 "
                              "wait at most and not less than are sent at once, 0 to 100000 "
                              "lists are sent in a second and 1 to 100000 after a pause\n");
        return false;
    }
    return is_mode("--audit-webhook-mode", a->webhook_mode) &&
           is_duration("--audit-webhook-batch-max-wait", a->max_wait) &&
           is_duration("--audit-webhook-initial-backoff", a->backoff);
}

bool audit_flags_check(const struct audit_flags *a)
{
    if (!is_mode("--audit-log-mode", a->log_mode) || !webhook_check(a))
        return false;
    if (a->max_age < 0 || a->max_age > 36500 || a->max_backups < 0 || a->max_backups > 9999 ||
        a->max_size < 1 || a->max_size > 1 << 20) {
        (void)fprintf(stderr, "kairship: audit logs are kept for 0 to 36500 days, 0 to 9999 of "
                              "them, of 1 to 1048576 MB\n");
        return false;
    }
    if (a->record_age < 0 || a->record_age > 36500 || a->record_size < 0 ||
        a->record_size > 1 << 14) {
        (void)fprintf(stderr, "kairship: records are kept for 0 to 36500 days, 0 to 16384 MB\n");
        return false;
    }
    return true;
}

static int read_policy(struct arena *a, const char *path, str *out, struct status *st)
{
    if (text_file_read(a, path, out, st) < 0)
        return status_wrap(st, "audit policy");
    if (out->n == 0) /* which would be the default one */
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

const char *audit_flags_log_elsewhere(const struct audit_flags *a)
{
    const char *path = a->log_path;

    return path && *path && strcmp(path, "-") != 0 ? path : NULL;
}

int audit_flags_load(struct audit_flags *o, struct arena *a, const char **token_file,
                     struct status *st)
{
    struct kubeconfig *k;

    *token_file = NULL;
    if (!o->webhook_file)
        return 0;
    k = arena_new_of(a, struct kubeconfig);
    if (kubeconfig_load(a, o->webhook_file, STR_NONE, k, st) < 0 ||
        kubeconfig_check_lasting(k, st) < 0)
        return status_wrap(st, "audit webhook (%s)", o->webhook_file);
    if (k->token_file.n)
        *token_file = str_z(a, k->token_file);
    o->webhook = k;
    return 0;
}

static void set_webhook(const struct audit_flags *o, struct audit_options *out)
{
    struct audit_webhook_options *w = &out->webhook;

    *w = (struct audit_webhook_options){
        .config = o->webhook,
        .batch = { .max_size = (size_t)o->batch, .qps = o->qps, .burst = o->burst },
        .buffer = (size_t)o->buffer,
    };
    /* audit_flags_check has seen that they are some. */
    (void)parse_duration(str_of(o->max_wait), &w->batch.max_wait_ms);
    (void)parse_duration(str_of(o->backoff), &w->batch.pause_ms);
    out->webhook_blocking = strcmp(o->webhook_mode, "blocking") == 0;
}

struct audit *audit_flags_open(const struct audit_flags *o, const char *data_dir,
                               struct clock *clock, struct status *st)
{
    scoped_arena a = arena_new();
    struct audit_options options = {
        .log = { .path = o->log_path,
                 .max_bytes = (uint64_t)o->max_size << 20,
                 .max_backups = (unsigned)o->max_backups,
                 .max_age_s = (int64_t)o->max_age * AUDIT_DAY_S,
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
    set_webhook(o, &options);
    out = audit_new(&options, st);
    if (!out && o->policy_file)
        (void)status_wrap(st, "audit (policy %s)", o->policy_file);
    return out;
}
