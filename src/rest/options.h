/* SPDX-License-Identifier: Apache-2.0 */
#ifndef REST_OPTIONS_H
#define REST_OPTIONS_H

/* The options of requests, as query and body give them (spec/apimachinery 2.5). */

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct list_options {
    str label_selector, field_selector;
    uint64_t limit; /* 0: none */
    str continue_token;
    str resource_version, resource_version_match; /* as sent; empty: not given */
    int64_t timeout_s;                            /* 0: not given */
    bool watch, allow_bookmarks;
    bool send_initial_events, send_initial_events_given;
};

enum field_validation { FIELD_WARN, FIELD_IGNORE, FIELD_STRICT };

struct write_options {
    bool dry_run;
    enum field_validation field_validation;
    str field_manager;
    bool manager_said; /* by the query, not by who it is */
    bool force, force_given;
};

enum propagation {
    PROPAGATION_DEFAULT,
    PROPAGATION_BACKGROUND,
    PROPAGATION_FOREGROUND,
    PROPAGATION_ORPHAN
};

struct delete_options {
    bool dry_run;
    enum propagation propagation;
    str precondition_uid, precondition_rv;
    bool has_uid, has_rv; /* they were said, be it as empty strings */
    bool has_grace;       /* gracePeriodSeconds was said: */
    int64_t grace_s;
    bool cascades; /* orphanDependents was said, and false */
    bool evicts;   /* it is an eviction's */
};

#endif
