/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_AUDIT_FLAGS_H
#define CMD_AUDIT_FLAGS_H

/* The audit's part of the command line (apiserver/audit/audit.h). */

#include "apiserver/audit/audit.h"
#include "cmd/options.h"

enum { AUDIT_DAY_S = 86400 };

struct audit_flags {
    const char *policy_file;             /* NULL: the default policy */
    const char *log_path;                /* NULL: audit/audit.log in the data folder; "": none */
    const char *log_mode;                /* "batch" or "blocking" */
    long max_age, max_backups, max_size; /* days, files, MB */
    long record_age, record_size;        /* days, MB */
    const char *webhook_file;            /* a kubeconfig; NULL: no webhook */
    const char *webhook_mode;
    const char *max_wait, *backoff; /* durations as Go writes them */
    long batch, buffer;             /* events */
    long qps, burst;                /* batches */
    struct kubeconfig *webhook;     /* what the file says, after audit_flags_load */
};

#define AUDITING_DEFAULT                                                                          \
    (struct audit_flags)                                                                          \
    {                                                                                             \
        .log_mode = "batch", .max_age = 30, .max_backups = 10, .max_size = 100, .record_age = 30, \
        .record_size = 64, .webhook_mode = "batch", .max_wait = "30s", .backoff = "10s",          \
        .batch = 400, .buffer = 10000, .qps = 10, .burst = 15,                                    \
    }

#define AUDITING_OPTIONS(a)                                                                        \
    OPTIONS_GROUP("Audit log"),                                                                    \
        { "--audit-policy-file", OPTION_STRING, &(a)->policy_file, "FILE",                         \
          "Record what this Policy (audit.k8s.io/v1) selects. Without this option: all writes, "   \
          "and all access to Secrets and tokens." },                                               \
        { "--audit-log-path", OPTION_STRING, &(a)->log_path, "FILE",                               \
          "Write events to this file; - is standard output, and an empty word disables the log. "  \
          "Without this option: audit/audit.log in the data folder." },                            \
        { "--audit-log-mode", OPTION_STRING, &(a)->log_mode, "MODE",                               \
          "When the buffer is full, batch drops events, and blocking refuses the requests that "   \
          "the policy selects." },                                                                 \
        { "--audit-log-maxage", OPTION_NUMBER, &(a)->max_age, "DAYS",                              \
          "Delete rotated logs after this many days; 0 keeps them for ever." },                    \
        { "--audit-log-maxbackup", OPTION_NUMBER, &(a)->max_backups, "N",                          \
          "Keep this many rotated logs; 0 keeps all of them." },                                   \
        { "--audit-log-maxsize", OPTION_NUMBER, &(a)->max_size, "MB",                              \
          "Rotate the log when it reaches this size." },                                           \
        { "--audit-record-maxage", OPTION_NUMBER, &(a)->record_age, "DAYS",                        \
          "Delete records of what people did (Record of audit.kairship.io) after this many days; " \
          "0 keeps them until there are too many." },                                              \
        { "--audit-record-maxsize", OPTION_NUMBER, &(a)->record_size, "MB",                        \
          "Delete the oldest records of those who have the most of them when all take more than "  \
          "this; 0 makes no records." },                                                           \
        OPTIONS_GROUP("Audit webhook"),                                                            \
        { "--audit-webhook-config-file", OPTION_STRING, &(a)->webhook_file, "FILE",                \
          "Also send events to the server of this kubeconfig, as EventLists (audit.k8s.io/v1)." }, \
        { "--audit-webhook-mode", OPTION_STRING, &(a)->webhook_mode, "MODE",                       \
          "When the buffer is full, batch drops events, and blocking refuses the requests that "   \
          "the policy selects." },                                                                 \
        { "--audit-webhook-batch-max-size", OPTION_NUMBER, &(a)->batch, "N",                       \
          "Send at most this many events in one list." },                                          \
        { "--audit-webhook-batch-max-wait", OPTION_STRING, &(a)->max_wait, "DURATION",             \
          "Send a list that is not full after this time." },                                       \
        { "--audit-webhook-batch-buffer-size", OPTION_NUMBER, &(a)->buffer, "N",                   \
          "Buffer at most this many events." },                                                    \
        { "--audit-webhook-batch-throttle-qps", OPTION_NUMBER, &(a)->qps, "N",                     \
          "Send at most this many lists a second; 0 sets no limit." },                             \
        { "--audit-webhook-batch-throttle-burst", OPTION_NUMBER, &(a)->burst, "N",                 \
          "Send at most this many lists at once after a pause." },                                 \
    {                                                                                              \
        "--audit-webhook-initial-backoff", OPTION_STRING, &(a)->backoff, "DURATION",               \
            "Wait this long before a list is sent again. The wait grows by half with each "        \
            "failure."                                                                             \
    }

/* False, and it was said on standard error, when they make no sense. */
bool audit_flags_check(const struct audit_flags *a);

/* The log, if it is a file that was named; else NULL. */
const char *audit_flags_log_elsewhere(const struct audit_flags *a);

/*
 * Before the process shuts itself in: reads the webhook's kubeconfig and the files that it names.
 * The one of these that is read again later, or NULL, is *token_file.
 */
int audit_flags_load(struct audit_flags *o, struct arena *a, const char **token_file,
                     struct status *st) __attribute__((warn_unused_result));

/* NULL with a status. */
struct audit *audit_flags_open(const struct audit_flags *a, const char *data_dir,
                               struct clock *clock, struct status *st);

#endif
