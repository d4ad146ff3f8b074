/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_SANDBOX_H
#define BASE_SANDBOX_H

/*
 * The privileges that a server gives up for good, to contain an exploited bug
 * (docs/adr/0025-sandbox.md):
 *
 *     sandbox_drop     the user id of root, all capabilities, gaining new ones (no_new_privs),
 *                      core dumps
 *     sandbox_enter    with Landlock: all files but its data and those it must read, and binding
 *                      TCP ports but its own
 *     sandbox_filter   the system calls that are not in a table (sandbox_calls.c)
 *
 * Call them in this order: the first two before a second thread exists, the last when all files and
 * sockets are open.
 *
 * A part that the kernel does not support is skipped; in strict mode that is an error.  Builds with
 * a sanitizer keep files and system calls, which the sanitizer's reports need.
 *
 * A process of root becomes the given user; without one, the owner of the data folder if that is
 * not root; else the user `kairship` if it exists; else it stays root, without capabilities.  A
 * data folder that root owns is given to the new user.
 */

#include <stddef.h>

#include "base/status.h"

/* What a process does besides serving. */
enum sandbox_needs {
    SANDBOX_CHILDREN = 1, /* it ends processes that it started before */
    SANDBOX_STARTS = 2,   /* it starts processes of this program */
};

enum { SANDBOX_NO_PORT = -1, SANDBOX_ANY_PORT = -2 };

struct sandbox_options {
    const char *mode;         /* auto, off, strict */
    const char *user;         /* NAME, UID or UID:GID; may be NULL */
    const char *dir;          /* its data folder, which exists; NULL: it has none */
    const char *const *files; /* files that it reads also later, and files that replace them */
    size_t nfiles;            /* some may be NULL */
    const char *log;          /* a file outside dir that it writes, or NULL; with its folder */
    long port;                /* on which it will listen */
    unsigned needs;
};

/*
 * Return 0, or -1 when it would be wrong to continue: the user does not exist, or the kernel does
 * not support a part that strict mode requires.  The last function logs what is in force.
 */
int sandbox_drop(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));
int sandbox_enter(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));
int sandbox_filter(const struct sandbox_options *o, struct status *st)
    __attribute__((warn_unused_result));

/* The parts that are in force in this process.  Any thread. */
struct sandbox_state {
    int landlock; /* the kernel's version of Landlock; 0: not in force */
    int calls;    /* number of allowed system calls; 0: all */
};
struct sandbox_state sandbox_state(void);

/* Returns the kernel's version of Landlock, or 0 when it has none. */
int sandbox_landlock_version(void);

#endif
