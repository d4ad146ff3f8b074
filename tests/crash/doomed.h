/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_DOOMED_H
#define CRASH_DOOMED_H

/*
 * Namespaces and instances that are made, filled and deleted while the server is killed: after the
 * restart each must be gone, with all that was in it, or be there as before.
 */

#include "crash/world.h"

struct dooms;

struct dooms *dooms_new(struct world *w);
void dooms_free(struct dooms *d);

/* One of each sort after the other, while world.loaded. */
void dooms_start(struct dooms *d);

/* After a restart: looks what has become of those of the last cycle, and sees to their end. */
void dooms_settle(struct dooms *d);

#endif
