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
};

#define AUDITING_DEFAULT                                                        \
    (struct auditing)                                                           \
    {                                                                           \
        .log_mode = "batch", .max_age = 30, .max_backups = 10, .max_size = 100, \
    }

#define AUDITING_OPTIONS(a)                                                                 \
    { "--audit-policy-file", OPTION_STRING, &(a)->policy_file, "FILE",                      \
      "audit.k8s.io/v1 Policy; default: who writes, and who sees secrets" },                \
        { "--audit-log-path", OPTION_STRING, &(a)->log_path, "FILE",                        \
          "- is stdout, empty is none; default: audit/audit.log in the data folder" },      \
        { "--audit-log-mode", OPTION_STRING, &(a)->log_mode, "MODE",                        \
          "when it takes no more: batch drops events, blocking refuses requests" },         \
        { "--audit-log-maxage", OPTION_NUMBER, &(a)->max_age, "DAYS",                       \
          "how long logs that were put aside are kept; 0: for ever" },                      \
        { "--audit-log-maxbackup", OPTION_NUMBER, &(a)->max_backups, "N",                   \
          "how many of them; 0: any number" },                                              \
    {                                                                                       \
        "--audit-log-maxsize", OPTION_NUMBER, &(a)->max_size, "MB", "when one is put aside" \
    }

/* False, and it was said on standard error, when they make no sense. */
bool auditing_check(const struct auditing *a);

/* The log, if it is a file that was named; else NULL. */
const char *auditing_log_elsewhere(const struct auditing *a);

/* NULL with a status. */
struct audit *auditing_open(const struct auditing *a, const char *data_dir, struct clock *clock,
                            struct status *st);

#endif
