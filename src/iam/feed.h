/* SPDX-License-Identifier: Apache-2.0 */
#ifndef IAM_FEED_H
#define IAM_FEED_H

/*
 * Keeps a permission cache as Global Management is: lists and watches its objects, and publishes
 * what changed a few milliseconds later, many changes at once.
 */

#include "client/client.h"
#include "iam/permissions.h"

struct feed;

/* On the client's loop from here on.  Published for the first time when all was listed. */
struct feed *feed_new(struct client *client, struct permissions *p);
void feed_free(struct feed *f);

#endif
