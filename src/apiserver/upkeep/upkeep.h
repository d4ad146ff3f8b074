/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_UPKEEP_H
#define APISERVER_UPKEEP_UPKEEP_H

/*
 * What has to be done now and then, or soon after something else: the use that quotas show, and the
 * end of old events and of logins.  One thread for all instances, with a queue of what to look at;
 * nothing is kept for those that have nothing to do.
 */

#include "rest/rest.h"

struct server;
struct upkeep;

struct upkeep_options {
    int64_t event_ttl_s; /* 0: events stay */
    /* The same of records of what people did (apiserver/audit/audit_records.h), and the bytes that
     * all of them may take; whose they are stands at this place in their names. */
    int64_t record_ttl_s;
    uint64_t record_bytes;
    size_t person_at, person_size;
};
struct upkeep *upkeep_new(struct server *s, const struct upkeep_options *o);
void upkeep_free(struct upkeep *u); /* after upkeep_stop */

/* While the loops run; not on one of them. */
void upkeep_start(struct upkeep *u, struct loop *l);
void upkeep_stop(struct upkeep *u);

/* Objects of the namespace went another way than by a request.  Any thread. */
void upkeep_recount(struct upkeep *u, uint32_t instance, str namespace_);

/* A write was committed.  On the request's loop; cheap. */
void upkeep_note(struct upkeep *u, const struct rest_request *req);

#endif
