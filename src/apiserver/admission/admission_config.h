/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_ADMISSION_ADMISSION_CONFIG_H
#define APISERVER_ADMISSION_ADMISSION_CONFIG_H

/*
 * AdmissionConfiguration (apiserver.config.k8s.io): the operator's configuration of plugins.  Two
 * plugins take one: EventRateLimit (apiserver/admission/event_rate.h) and ResourceQuota
 * (apiserver/admission/quota.h).  A configuration of any other plugin is refused, because it would
 * have no effect.
 *
 * k8s: apiserver/pkg/admission/config.go, plugin/pkg/admission/eventratelimit/apis,
 * apiserver/pkg/admission/plugin/resourcequota/apis
 */

#include "json/json.h"

enum {
    EVENT_LIMITS_MAX = 16,
    EVENT_CACHE_MAX = 1 << 20, /* buckets of one limit */
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
    size_t cache; /* how many keys are tracked at once */
};

struct admission_config {
    struct event_limit limits[EVENT_LIMITS_MAX];
    size_t nlimits;             /* 0: use the defaults */
    const struct json *limited; /* an array of LimitedResource, or NULL */
};

/* Returns the name of the type in a configuration. */
const char *event_limit_name(enum event_limit_type type);

/* Reads the file that the `path` of a plugin names. */
typedef int admission_file_fn(struct arena *a, void *arg, str path, str *out, struct status *st);

/* Reads a configuration, in the arena.  BAD_REQUEST or INVALID says what is wrong with it. */
int admission_config_read(struct arena *a, str text, admission_file_fn *file, void *arg,
                          struct admission_config *out, struct status *st)
    __attribute__((warn_unused_result));

#endif
