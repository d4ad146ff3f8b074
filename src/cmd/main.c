/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "cmd/bench.h"
#include "cmd/commands.h"
#include "cmd/options.h"
#include "http/pki.h"
#include "server/version.h"

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    { "up", cmd_up, "run everything in one process" },
    { "apiserver", cmd_apiserver, "run the API server with the controllers it needs" },
    { "controller-manager", cmd_controller_manager,
      "run the controllers in a process of their own" },
    { "syncer", cmd_syncer, "keep one member cluster in step with an instance" },
    { "simulate", cmd_simulate, "run simulated member clusters" },
    { "bench", cmd_bench, "measure a server of the Kubernetes API" },
    { "join", cmd_join, "make a cluster a member of an instance" },
    { "unjoin", cmd_unjoin, "take a cluster out of an instance" },
    { "cordon", cmd_cordon, "let nothing new go to a cluster" },
    { "uncordon", cmd_uncordon, "let things go to a cluster again" },
    { "explain", cmd_explain, "say why each cluster got what it got of a workload" },
    { "doctor", cmd_doctor, "look whether a server is as safe as it should be" },
    { "passwd", cmd_passwd, "set the password of a user" },
    { "kubeconfig", cmd_kubeconfig, "issue a kubeconfig for one instance" },
    { "backup", cmd_backup, "copy a running server's data into a file" },
    { "restore", cmd_restore, "make a data folder of a backup" },
    { "reencrypt", cmd_reencrypt, "write sealed objects anew by the key that writes now" },
    { "version", cmd_version, "print the version" },
};

enum { NCOMMANDS = sizeof(commands) / sizeof(*commands) };

int cmd_version(int argc, char **argv)
{
    static const struct command_help help = { "kairship version", "Prints the version.",
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
    (void)fprintf(to, "Examples:\n"
                      "  kairship up\n"
                      "  kubectl --kubeconfig kairship-data/admin.kubeconfig get namespaces\n\n"
                      "A multi-cluster control plane for Kubernetes.\n\n"
                      "Usage:\n  kairship COMMAND [options]\n\nCommands:\n");
    for (size_t i = 0; i < NCOMMANDS; i++)
        (void)fprintf(to, "  %-20s %s\n", commands[i].name, commands[i].summary);
    (void)fprintf(to, "\nkairship COMMAND --help says more of each.\n");
}

/* The command that a mistyped word most likely meant: one that shares its beginning. */
static const char *nearest(const char *word)
{
    const char *best = NULL;
    size_t most = 1;

    for (size_t i = 0; i < NCOMMANDS; i++) {
        size_t same = 0;

        while (word[same] && word[same] == commands[i].name[same])
            same++;
        if (same > most) {
            most = same;
            best = commands[i].name;
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
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    guess = nearest(argv[1]);
    (void)fprintf(stderr, "kairship: unknown command %s%s%s%s\nSee kairship --help.\n", argv[1],
                  guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "");
    return USAGE;
}
