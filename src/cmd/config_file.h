/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_CONFIG_FILE_H
#define CMD_CONFIG_FILE_H

/*
 * Options that do not come from the command line (docs/configuration.md): of the environment, of
 * ~/.config/kairship.yaml and of CONFIG_FILE, or in the place of these two of the file that
 * --config or $KAIRSHIP_CONFIG names.  The first of them that has an option says all of its values.
 *
 * A key at the top of a file is an option of the server (`kairship up`), for every subcommand that
 * has it; a section, a key named after a subcommand, has options for that subcommand alone.  So one
 * file serves all subcommands, and no option gets a value that was written for another one of its
 * name (docs/adr/0034-configuration.md).
 *
 * Keys and types come from the tables of all subcommands, whichever is run: a mistake in a file is
 * found by the first that reads it.
 */

#include "base/arena.h"
#include "base/status.h"
#include "cmd/options.h"

#define CONFIG_FILE "/etc/kairship/kairship.yaml"

enum { CONFIG_ITEMS_MAX = 16 }; /* of a list */

/*
 * Fills the rows that are not `set`, and marks them; what they hold lives in the arena.  `file` is
 * that of --config, or NULL.  BAD_REQUEST with a message that names the file and the line.
 */
int config_fill(struct arena *a, const char *file, const char *command,
                const struct option_row *rows, size_t n, bool *set, struct status *st)
    __attribute__((warn_unused_result));

#endif
