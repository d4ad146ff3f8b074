/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "apiserver/call/version.h"
#include "base/banned.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "http/pki.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary; /* of a row without a name: the title of the group that follows */
} commands[] = {
    { NULL, NULL, "Start" },
    { "up", cmd_up, "Run the API server and all controllers in one process" },
    { "kubeconfig", cmd_kubeconfig, "Issue a kubeconfig for one instance" },
    { "passwd", cmd_passwd, "Set the password of a user" },
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

enum { NCOMMANDS = sizeof(commands) / sizeof(*commands) };

int cmd_version(int argc, char **argv)
{
    static const struct command_help help = { "kairship version", "Print the version.",
                                              "  kairship version\n" };
    int rc = options_parse(&help, NULL, 0, argc, argv, NULL, 0, NULL);

    if (rc != OPTIONS_OK)
        return rc;
    printf("kairship %.*s (Kubernetes API %.*s)\n", STR_ARG(version_own()),
           STR_ARG(version_kubernetes()));
    return 0;
}

static void print_usage(FILE *to)
{
    (void)fprintf(to, "A multi-cluster control plane for Kubernetes.\n\n"
                      "Examples:\n"
                      "  kairship up\n"
                      "  kubectl --kubeconfig kairship-data/admin.kubeconfig get namespaces\n\n"
                      "Usage:\n  kairship COMMAND [options]\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (commands[i].name)
            (void)fprintf(to, "  %-20s %s\n", commands[i].name, commands[i].summary);
        else
            (void)fprintf(to, "\n%s:\n", commands[i].summary);
    (void)fprintf(to, "\nRun kairship COMMAND --help for examples and options of a command.\n");
}

/* The command that a mistyped word most likely meant: one that shares its beginning. */
static const char *nearest(const char *word)
{
    const char *best = NULL;
    size_t most = 1;

    for (size_t i = 0; i < NCOMMANDS; i++) {
        const char *name = commands[i].name ? commands[i].name : "";
        size_t same = 0;

        while (word[same] && word[same] == name[same])
            same++;
        if (same > most) {
            most = same;
            best = name;
        }
    }
    return best;
}

int main(int argc, char **argv)
{
    const char *guess;

    if (argc < 2) {
        print_usage(stderr);
        return USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_usage(stdout);
        return 0;
    }
    pki_init();
    for (size_t i = 0; i < NCOMMANDS; i++)
        if (commands[i].name && strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    guess = nearest(argv[1]);
    (void)fprintf(stderr, "kairship: unknown command %s%s%s%s\nSee kairship --help.\n", argv[1],
                  guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "");
    return USAGE;
}
