/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FLEET_REGISTERED_H
#define FLEET_REGISTERED_H

/*
 * What an entry of the registry (clusters.fleet.kairship.io) says about who has joined it.
 *
 * An id that a member claims proves nothing: whoever may write in an instance may put any id into a
 * Cluster there, or bring an API server that answers with it.  So a Cluster of an instance stands
 * for an entry only
 *   - if the entry was registered from it;
 *   - if it reaches the member in the same way, credentials included: then its instance has what
 *     the entry has;
 *   - if it was joined by name, by somebody who had the right to (mgmt_require_cluster), and still
 *     points to the same server.
 * The controller of the registry (controllers/platform/member_registry.c) decides that, and writes
 * down what it found as a label of the entry and in status.instances.  Everybody else goes by
 * these, never by an id.
 *
 * The name of the root instance is "root" here.
 */

#include "base/arena.h"
#include "json/json.h"

/* Labels: the id that its Clusters claim; and of each instance, the name of its Cluster. */
#define REGISTERED_ID     "fleet.kairship.io/id"
#define REGISTERED_JOINED "joined.fleet.kairship.io/"
/* Annotation of each instance that joined it by name: "<name of the Cluster>/<uid of the
 * instance>". */
#define REGISTERED_GRANTED "granted.fleet.kairship.io/"

/* "root" for the empty name. */
str registered_instance(str instance);

/* The label selector of the entry that a Cluster of an instance stands for. */
str registered_selector(struct arena *a, str instance, str cluster);

/* Whether status.instances has it. */
bool registered_in(const struct json *entry, str instance);

/* A merge patch of an entry: the instance may join it under this name; NULL in the place of the
 * name: no more. */
const struct json *registered_grant(struct arena *a, str instance, str instance_uid,
                                    const str *cluster);
/* Whether an entry says so. */
bool registered_is_granted(struct arena *a, const struct json *entry, str instance,
                           str instance_uid, str cluster);

/* Labels of an entry as people gave them: ours name instances that not everybody may know. */
struct json registered_labels(struct arena *a, const struct json *labels);

#endif
