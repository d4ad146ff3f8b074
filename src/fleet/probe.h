/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_PROBE_H
#define FLEET_PROBE_H

/*
 * One look at a member: does it answer, is it ready, which version, which APIs, how much room.
 *
 * Runs on the fleet's loop, one request after the other, so that any number of members can be
 * looked at while some of them hang.  Health has a short time limit, the whole look another; every
 * answer has a limit of size, and lists come in pages.  What could not be learned is left out of
 * the report, which says why.
 */

#include "fleet/member.h"

struct probe;

enum probe_health {
    PROBE_READY,
    PROBE_NOT_READY,   /* it answers, but not "ok" */
    PROBE_NOT_REACHED, /* it does not answer */
    PROBE_UNUSABLE,    /* what the Cluster says about the way to it cannot be used */
    PROBE_GONE,        /* there is no such Cluster */
};

struct probe_report {
    struct arena *arena; /* of all that follows: the receiver's */
    enum probe_health health;
    str why; /* in words, unless READY */
    /* Only if it is READY; a part that is NULL or empty could not be read. */
    str version;                    /* gitVersion */
    const struct json *enablements; /* status.apiEnablements */
    bool complete;                  /* all of them */
    const struct json *nodes;       /* status.nodeSummary */
    const struct json *resources;   /* status.resourceSummary */
    str trouble;                    /* what went wrong on the way, or empty */
};

struct probe_options {
    const struct json *models; /* spec.resourceModels, or NULL; kept until the end */
    int64_t health_ms;         /* 0: 5 s */
    int64_t total_ms;          /* 0: 20 s */
};

/* On the loop.  `done` is called once, later; the probe is gone then. */
struct probe *probe_start(struct fleet *f, const struct member_name *name,
                          const struct probe_options *o,
                          void (*done)(void *arg, struct probe_report *r), void *arg);
/* The same of one that is reached already. */
struct probe *probe_start_at(struct client *member, const struct probe_options *o,
                             void (*done)(void *arg, struct probe_report *r), void *arg);
void probe_cancel(struct probe *p); /* no callback comes after; NULL is fine */

/* A look that is waited for, from any thread but the loop's. */
struct probe_report probe_wait(struct client *member, const struct probe_options *o);

#endif
