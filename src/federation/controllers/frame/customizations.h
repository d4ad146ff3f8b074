/* SPDX-License-Identifier: Apache-2.0 */
#ifndef FEDERATION_CONTROLLERS_FRAME_CUSTOMIZATIONS_H
#define FEDERATION_CONTROLLERS_FRAME_CUSTOMIZATIONS_H

/*
 * The ResourceInterpreterCustomizations of all instances, or of one, as they are now, and their
 * scripts by kind.  One informer; a kind's scripts are compiled when they are first asked for, and
 * again after they have changed.  What is compiled is forgotten when it gets too much.
 *
 * karmada: pkg/resourceinterpreter/customized/declarative/configmanager
 */

#include "client/client.h"
#include "federation/interp/scripts.h"

struct customizations;

/* instance: "*" for all, empty for the client's own.  Not on the client's loop, which runs. */
struct customizations *customizations_new(struct client *client, str instance);
/* Before the client; not on its loop, which still runs.  NULL is fine. */
void customizations_free(struct customizations *c);

/*
 * Waits until it knows all there were at the beginning: before that, an object could be taken for
 * something else.  -1 when that takes long; *st says so.  Not on the loop.
 */
int customizations_wait(struct customizations *c, struct status *st)
    __attribute__((warn_unused_result));

/*
 * The scripts for that object's kind in that instance ("root" is the empty one), held until the
 * arena goes; NULL: none.  c may be NULL.  Any thread.
 */
const struct scripts *customizations_of(struct customizations *c, struct arena *a, str instance,
                                        const struct json *object);

#endif
