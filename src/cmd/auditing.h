/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_AUDITING_H
#define CMD_AUDITING_H

/* The audit's part of the command line (server/audit.h). */

#include "cmd/options.h"
#include "server/audit.h"

struct auditing {
    const char *policy_file;             /* NULL: the default policy */
    const char *log_path;                /* NULL: audit/audit.log in the data folder; "": none */
    const char *log_mode;                /* "batch" or "blocking" */
    long max_age, max_backups, max_size; /* days, files, MB */
    const char *webhook_file;            /* a kubeconfig; NULL: no webhook */
    const char *webhook_mode;
    const char *max_wait, *backoff; /* durations as Go writes them */
    long batch, buffer;             /* events */
    long qps, burst;                /* batches */
    struct kubeconfig *webhook;     /* what the file says, after auditing_load */
};

#define AUDITING_DEFAULT                                                            \
    (struct auditing)                                                               \
    {                                                                               \
        .log_mode = "batch", .max_age = 30, .max_backups = 10, .max_size = 100,     \
        .webhook_mode = "batch", .max_wait = "30s", .backoff = "10s", .batch = 400, \
        .buffer = 10000, .qps = 10, .burst = 15,                                    \
    }

#define AUDITING_OPTIONS(a)                                                                        \
    { "--audit-policy-file", OPTION_STRING, &(a)->policy_file, "FILE",                             \
      "audit.k8s.io/v1 Policy; default: who writes, and who sees secrets" },                       \
        { "--audit-log-path", OPTION_STRING, &(a)->log_path, "FILE",                               \
          "- is stdout, empty is none; default: audit/audit.log in the data folder" },             \
        { "--audit-log-mode", OPTION_STRING, &(a)->log_mode, "MODE",                               \
          "when it takes no more: batch drops events, blocking refuses requests" },                \
        { "--audit-log-maxage", OPTION_NUMBER, &(a)->max_age, "DAYS",                              \
          "how long logs that were put aside are kept; 0: for ever" },                             \
        { "--audit-log-maxbackup", OPTION_NUMBER, &(a)->max_backups, "N",                          \
          "how many of them; 0: any number" },                                                     \
        { "--audit-log-maxsize", OPTION_NUMBER, &(a)->max_size, "MB", "when one is put aside" },   \
        { "--audit-webhook-config-file", OPTION_STRING, &(a)->webhook_file, "FILE",                \
          "a kubeconfig: its server gets the events, too, as audit.k8s.io/v1 EventLists" },        \
        { "--audit-webhook-mode", OPTION_STRING, &(a)->webhook_mode, "MODE",                       \
          "when they cannot be sent and the buffer is full: batch or blocking, as of the log" },   \
        { "--audit-webhook-batch-max-size", OPTION_NUMBER, &(a)->batch, "N", "events of a list" }, \
        { "--audit-webhook-batch-max-wait", OPTION_STRING, &(a)->max_wait, "DURATION",             \
          "when one that is not full is sent" },                                                   \
        { "--audit-webhook-batch-buffer-size", OPTION_NUMBER, &(a)->buffer, "N",                   \
          "events that wait at most" },                                                            \
        { "--audit-webhook-batch-throttle-qps", OPTION_NUMBER, &(a)->qps, "N",                     \
          "lists in a second; 0: any number" },                                                    \
        { "--audit-webhook-batch-throttle-burst", OPTION_NUMBER, &(a)->burst, "N",                 \
          "lists at once, after a pause" },                                                        \
    {                                                                                              \
        "--audit-webhook-initial-backoff", OPTION_STRING, &(a)->backoff, "DURATION",               \
            "before a list is sent again; each time half as long again"                            \
    }

/* False, and it was said on standard error, when they make no sense. */
bool auditing_check(const struct auditing *a);

/* The log, if it is a file that was named; else NULL. */
const char *auditing_log_elsewhere(const struct auditing *a);

/*
 * Before the process shuts itself in: reads the webhook's kubeconfig and the files that it names.
 * The one of these that is read again later, or NULL, is *token_file.
 */
int auditing_load(struct auditing *o, struct arena *a, const char **token_file, struct status *st)
    __attribute__((warn_unused_result));

/* NULL with a status. */
struct audit *auditing_open(const struct auditing *a, const char *data_dir, struct clock *clock,
                            struct status *st);

#endif
