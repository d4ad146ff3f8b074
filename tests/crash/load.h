/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CRASH_LOAD_H
#define CRASH_LOAD_H

/*
 * The mixed load: writers, each with one request in flight, several on each connection.  What each
 * does next follows from the seed, the cycle, its number, and what it knows by then.
 *
 * Most objects have one writer at a time, who may rely on what was answered last: none of its
 * requests may be refused.  Some are hot: all write them, and who is late is refused.  A few
 * requests are wrong on purpose, and some only read.
 */

#include "crash/world.h"

struct load;

struct load *load_new(struct world *w);
void load_free(struct load *l);

/* Every writer begins; each goes on while world.loaded. */
void load_start(struct load *l);

#endif
