/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SERVER_ADMISSION_CONFIG_H
#define SERVER_ADMISSION_CONFIG_H

/*
 * AdmissionConfiguration (apiserver.config.k8s.io): what the operator says to plugins.  Two take a
 * configuration: EventRateLimit (server/event_rate.h) and ResourceQuota (server/quota.h).  Others
 * are refused, lest somebody believe that what stands there holds.
 *
 * k8s: apiserver/pkg/admission/config.go, plugin/pkg/admission/eventratelimit/apis,
 * apiserver/pkg/admission/plugin/resourcequota/apis
 */

#include "json/json.h"

enum {
    EVENT_LIMITS_MAX = 16,
    EVENT_CACHE_MAX = 1 << 20, /* buckets of a limit */
};

enum event_limit_type {
    EVENT_LIMIT_NAMESPACE,
    EVENT_LIMIT_SERVER,
    EVENT_LIMIT_SOURCE_AND_OBJECT,
    EVENT_LIMIT_USER
};

struct event_limit {
    enum event_limit_type type;
    int64_t qps, burst;
    size_t cache; /* how many keys are known at once */
};

struct admission_config {
    struct event_limit limits[EVENT_LIMITS_MAX];
    size_t nlimits;             /* 0: the defaults */
    const struct json *limited; /* LimitedResources, an array; NULL: none */
};

/* As in a configuration. */
const char *event_limit_name(enum event_limit_type type);

/* The text of the file that a plugin's `path` names. */
typedef int admission_file_fn(struct arena *a, void *arg, str path, str *out, struct status *st);

/* BAD_REQUEST or INVALID says what is wrong with it.  What it points to lives in the arena. */
int admission_config_read(struct arena *a, str text, admission_file_fn *file, void *arg,
                          struct admission_config *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
