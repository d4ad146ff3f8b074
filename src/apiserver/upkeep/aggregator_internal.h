/* SPDX-License-Identifier: Apache-2.0 */
#ifndef APISERVER_UPKEEP_AGGREGATOR_INTERNAL_H
#define APISERVER_UPKEEP_AGGREGATOR_INTERNAL_H

/* What the files of the aggregator share: the queue and the questions (aggregator.c), and what is
 * written (aggregator_status.c). */

#include "apiserver/outbound/apiservices.h"
#include "client/client.h"

#define AGGREGATOR_USER "system:kairship:aggregator"

/* What was found out of an APIService. */
struct finding {
    bool available, insecure;
    const char *reason;
    str message;
};

/* Its conditions, if they are others.  instance: its name, empty for root.  Blocks. */
int aggregator_tell(struct client *client, struct arena *a, str instance, str name,
                    const struct finding *f, struct status *st) __attribute__((warn_unused_result));

/* The ConfigMap with this data among its own.  Blocks. */
int aggregator_publish(struct client *client, struct arena *a, str instance, struct json data,
                       struct status *st) __attribute__((warn_unused_result));

#endif
