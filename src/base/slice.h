/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

/*
 * How long the calling thread runs at a time while others want its core.  Who has short slices is
 * let in sooner and gets no more of the core than before.  A thread inherits it from the one that
 * starts it: so it is set there, for the sandbox has no room for the call.  Before Linux 6.12 it
 * changes nothing.
 */

#include <stdint.h>

enum { SLICE_SHORT_NS = 100000 }; /* the shortest that the kernel knows */

/* 0: as long as the kernel thinks fit.  Nothing happens in a class of real time (chrt). */
void slice_set(uint64_t ns);

/* The calling thread has a third of what others have of a core that both want. */
void slice_background(void);

/*
 * Lets others have the core if this was not said for a while.  The kernel looks who is next every
 * few milliseconds only: long work that nobody waits for says it between its steps.
 */
void slice_share(void);

#endif
