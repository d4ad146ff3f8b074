/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_PROMPT_H
#define CMD_PROMPT_H

/*
 * What a person is asked for.  On a terminal the question is shown; else the answer is a line of
 * standard input all the same, without the question, for programs that write it there.
 */

#include "base/arena.h"
#include "base/secret.h"

bool prompt_on_terminal(void); /* is there somebody to ask? */

/* One line without its end; false: nothing came, or more than max bytes. */
bool prompt_line(struct arena *a, const char *question, size_t max, str *out);

/* The same, not shown while it is typed; the terminal is as it was when a signal ends the program.
 */
bool prompt_secret(struct arena *a, const char *question, size_t max, secret *out);

#endif
