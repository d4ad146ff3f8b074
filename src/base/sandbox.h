/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

/*
 * What a server gives up for ever, so that a fault in it stays small (docs/adr/0025-sandbox.md):
 *
 *     sandbox_drop     the user, all capabilities, new ones (no_new_privs), core dumps
 *     sandbox_enter    with Landlock: every file but its data and what it has to read, every TCP
 *                      port but its own
 *     sandbox_filter   the system calls that are not in a table (sandbox_calls.c)
 *
 * in this order; the first two before there is a second thread, the last once all is open.
 *
 * Each part is left out where the kernel has it not; strict fails instead.  Builds with a sanitizer
 * keep files and calls, which it needs for its reports.
 *
 * Root becomes the user that is named; else the owner of the data folder; else `kairship`, if there
 * is such a user; else it stays root, without capabilities.  A data folder of root's is given to
 * the user.
 */

#include <stddef.h>

#include "base/status.h"

/* What a process does beside serving. */
enum sandbox_needs {
    SANDBOX_CHILDREN = 1, /* it ends processes that it has started before */
    SANDBOX_STARTS = 2,   /* it starts processes of this program */
};

enum { SANDBOX_NO_PORT = -1, SANDBOX_ANY_PORT = -2 };

struct sandbox_options {
    const char *mode;         /* auto, off, strict */
    const char *user;         /* NAME, UID or UID:GID; may be NULL */
    const char *dir;          /* of its data, is there; NULL: it has none */
    const char *const *files; /* it reads them later, too, and those that take their place */
    size_t nfiles;            /* some may be NULL */
    const char *log;          /* a file elsewhere that it writes, with others beside it; or NULL */
    long port;                /* what it will listen on */
    unsigned needs;
};

/*
 * -1 where going on would be wrong: a user that is not there, a part that strict wants and the
 * kernel has not.  The last one logs what is in force.
 */
int sandbox_drop(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));
int sandbox_enter(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));
int sandbox_filter(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));

/* What is in force in this process.  Any thread. */
struct sandbox_state {
    int landlock; /* version of the kernel's, 0: not in force */
    int calls;    /* that are let through, 0: all */
};
struct sandbox_state sandbox_state(void);

/* The kernel's version of Landlock, 0: it has none. */
int sandbox_landlock_version(void);

#endif
