/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_EPOCH_H
#define BASE_EPOCH_H

/*
 * Safe reclamation for memory that readers use without locks: what a writer has unlinked is freed
 * only after every thread that might still see it has left its section.
 *
 * A section is short (a loop's turn, one request on a worker), nests, and must not be held while
 * sleeping: a reader that stays inside holds up all reclamation.
 */

#include <stddef.h>

void epoch_enter(void);
void epoch_exit(void);

/*
 * Calls fn(arg) once no section that was open at this moment is open any more; on the thread that
 * calls epoch_reclaim().  Any thread.
 */
void epoch_retire(void (*fn)(void *arg), void *arg);

/* Frees what can be freed now; the writer calls it now and then.  Returns how much is waiting. */
size_t epoch_reclaim(void);

/* Waits until all that is retired is freed: at the end of a program or test, outside of sections.
 */
void epoch_drain(void);

#endif
