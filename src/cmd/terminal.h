/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_TERMINAL_H
#define CMD_TERMINAL_H

/* What this process has to do with a terminal. */

#include <stdbool.h>

/* Whether a Ctrl-C reaches us: there is a terminal, and we are its foreground. Before the sandbox,
 * which does not let us ask. */
bool terminal_stops_us(void);

#endif
