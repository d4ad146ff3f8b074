/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_SIMULATE_CONTROL_H
#define CMD_SIMULATE_CONTROL_H

/*
 * How a running `kairship simulate` is told to give its members trouble: a socket in its folder, a
 * line in ("kill m1", "slow m1 200"), a text back ("ok", or "error: …").
 */

#include "sim/members.h"

/* DIR/control.sock, for this user alone; -1 with *st. */
int simulate_control_listen(const char *dir, struct status *st) __attribute__((warn_unused_result));

/* Takes what waits at the socket and does it.  Who is slow to say it is dropped. */
void simulate_control_serve(int fd, struct members *m);

/* The other side: says the words, prints the answer; an exit status. */
int simulate_control_say(const char *dir, const char *const *words, size_t n);

/* Whether the word is a command of it. */
bool simulate_control_knows(const char *word);

#endif
