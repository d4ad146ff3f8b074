/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_MANUAL_H
#define CMD_MANUAL_H

/*
 * What is installed beside the program, made from the same tables as --help: man pages and
 * completion for three shells.  `kairship --manual DIR` writes them, as they lie below a prefix's
 * share/ (meson.build).
 */

#include <stdio.h>

#include "base/status.h"
#include "cmd/options.h"

/*
 *     man/man1/kairship.1, kairship-up.1, …
 *     bash-completion/completions/kairship
 *     zsh/site-functions/_kairship
 *     fish/vendor_completions.d/kairship.fish
 */
int manual_write(const char *dir, struct status *st) __attribute__((warn_unused_result));

/* A file that is being made; -1 and a status when it cannot be. */
FILE *manual_open(struct arena *a, const char *dir, const char *name, struct status *st);
int manual_close(FILE *f, const char *name, struct status *st) __attribute__((warn_unused_result));

/* completion.c: the files of the three shells. */
int completion_write(struct arena *a, const char *dir, struct status *st)
    __attribute__((warn_unused_result));

#endif
