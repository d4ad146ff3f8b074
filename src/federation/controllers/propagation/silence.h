/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_PROPAGATION_SILENCE_H
#define FEDERATION_CONTROLLERS_PROPAGATION_SILENCE_H

/*
 * Which clusters are silent, of all instances: those whose condition Ready is there and not True,
 * since its last change.  The grace periods are those of that condition
 * (federation/controllers/members/cluster_status.c).
 *
 * An instance is read when it is first asked for, and again after one of its clusters has fallen
 * silent or spoken.  What is remembered can be lost at any time: it is a line for each silent
 * cluster, and a number for each cluster.  Any thread.
 */

#include "client/informer.h"

struct silence;

struct silence *silence_new(void);
void silence_free(struct silence *s); /* NULL is fine */

/*
 * This Cluster (NULL: it is gone) is as it is now.  True when what was said of the objects it has
 * may have to be said anew.
 */
bool silence_note(struct silence *s, const struct informer_key *k, const struct json *cluster);

/*
 * {"m3": "2026-01-01T00:00:00Z"}: the silent clusters of an instance (client_ref's form: root is
 * empty), since when.
 */
int silence_get(struct silence *s, struct client *client, struct arena *a, str instance,
                const struct json **out, struct status *st) __attribute__((warn_unused_result));

/* Since when it is silent; empty: it is not. */
str silence_since(const struct json *cluster);

#endif
