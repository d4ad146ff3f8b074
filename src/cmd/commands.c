/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/commands.h"

#include "base/banned.h"

const struct subcommand commands[] = {
    { NULL, NULL, "Start" },
    { "up", cmd_up, "Run the API server and all controllers in one process" },
    { "kubeconfig", cmd_kubeconfig, "Issue a kubeconfig for one instance" },
    { "passwd", cmd_passwd, "Set the password of a user" },
    { "login", cmd_login, "Log in with a name and a password" },
    { "logout", cmd_logout, "End the session of a kubeconfig's token" },
    { "version", cmd_version, "Print the version" },
    { NULL, NULL, "Member clusters" },
    { "join", cmd_join, "Make a cluster a member of an instance" },
    { "unjoin", cmd_unjoin, "Take a cluster out of an instance" },
    { "cordon", cmd_cordon, "Mark a cluster unschedulable" },
    { "uncordon", cmd_uncordon, "Mark a cluster schedulable again" },
    { "explain", cmd_explain, "Explain why clusters were assigned to a workload" },
    { NULL, NULL, "Operate" },
    { "doctor", cmd_doctor, "Check how secure a running server is" },
    { "backup", cmd_backup, "Write a copy of all data to a file, while the server runs" },
    { "restore", cmd_restore, "Create a data folder from a backup" },
    { "reencrypt", cmd_reencrypt, "Encrypt stored objects with the current key" },
    { "not-served", cmd_not_served, "Print what is accepted but not acted on" },
    { NULL, NULL, "Run as separate processes" },
    { "apiserver", cmd_apiserver, "Run the API server with the controllers it depends on" },
    { "controller-manager", cmd_controller_manager, "Run the other controllers" },
    { "syncer", cmd_syncer, "Synchronize one member cluster with an instance" },
    { NULL, NULL, "Test" },
    { "simulate", cmd_simulate, "Run simulated member clusters" },
};

const size_t ncommands = sizeof(commands) / sizeof(*commands);

void commands_visit(options_visit_fn *fn, void *arg)
{
    options_visit(fn, arg);
    for (size_t i = 0; i < ncommands; i++) {
        char name[64];
        char *argv[] = { name, NULL };

        if (!commands[i].name)
            continue;
        (void)snprintf(name, sizeof(name), "%s", commands[i].name);
        (void)commands[i].run(1, argv);
    }
    options_visit(NULL, NULL);
}
