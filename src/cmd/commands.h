/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_COMMANDS_H
#define CMD_COMMANDS_H

/*
 * The subcommands: each takes its words from its own name on, and returns an exit status.  The
 * first thing that each does is to call options_parse().
 */

#include <stddef.h>

#include "cmd/options.h"

struct subcommand {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* of a row without a name: the title of the group that follows */
};

extern const struct subcommand commands[];
extern const size_t ncommands;

/* Calls fn with the options of each subcommand, in the order of the table.  One thread. */
void commands_visit(options_visit_fn *fn, void *arg);

int cmd_up(int argc, char **argv);
int cmd_apiserver(int argc, char **argv);
int cmd_controller_manager(int argc, char **argv);
int cmd_backup(int argc, char **argv);
int cmd_join(int argc, char **argv);
int cmd_unjoin(int argc, char **argv);
int cmd_cordon(int argc, char **argv);
int cmd_uncordon(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_explain(int argc, char **argv);
int cmd_kubeconfig(int argc, char **argv);
int cmd_login(int argc, char **argv);
int cmd_logout(int argc, char **argv);
int cmd_not_served(int argc, char **argv);
int cmd_passwd(int argc, char **argv);
int cmd_reencrypt(int argc, char **argv);
int cmd_restore(int argc, char **argv);
int cmd_simulate(int argc, char **argv);
int cmd_syncer(int argc, char **argv);
int cmd_version(int argc, char **argv);

#endif
