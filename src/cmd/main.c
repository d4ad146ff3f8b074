/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/banned.h"
#include "cmd/commands.h"
#include "cmd/config_file.h"
#include "cmd/manual.h"
#include "cmd/options.h"
#include "http/pki.h"

static void print_usage(FILE *to)
{
    (void)fprintf(to, "A multi-cluster control plane for Kubernetes.\n\n"
                      "Examples:\n"
                      "  kairship up\n"
                      "  kubectl --kubeconfig kairship-data/admin.kubeconfig get namespaces\n\n"
                      "Usage:\n  kairship COMMAND [options]\n");
    for (size_t i = 0; i < ncommands; i++)
        if (commands[i].name)
            (void)fprintf(to, "  %-20s %s\n", commands[i].name, commands[i].summary);
        else
            (void)fprintf(to, "\n%s:\n", commands[i].summary);
    (void)fprintf(to, "\nRun kairship COMMAND --help for examples and options of a command.\n\n"
                      "Options may also stand in " CONFIG_FILE ",\n"
                      "in ~/.config/kairship.yaml and in the environment: data-dir: DIR and\n"
                      "KAIRSHIP_DATA_DIR=DIR are --data-dir DIR.\n");
}

/* The command that a mistyped word most likely meant: one that shares its beginning. */
static const char *nearest(const char *word)
{
    const char *best = NULL;
    size_t most = 1;

    for (size_t i = 0; i < ncommands; i++) {
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

/* Not for people: what is installed beside the program (cmd/manual.h). */
static int write_manual(const char *dir)
{
    scoped_arena a = arena_new();
    struct status st;

    status_init(&st, a);
    if (manual_write(dir, &st) == 0)
        return 0;
    (void)fprintf(stderr, "kairship: %.*s\n", STR_ARG(st.message));
    return 1;
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
    if (argc == 3 && strcmp(argv[1], "--manual") == 0)
        return write_manual(argv[2]);
    pki_init();
    for (size_t i = 0; i < ncommands; i++)
        if (commands[i].name && strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    guess = nearest(argv[1]);
    (void)fprintf(stderr, "kairship: unknown command %s%s%s%s\nSee kairship --help.\n", argv[1],
                  guess ? "; did you mean " : "", guess ? guess : "", guess ? "?" : "");
    return USAGE;
}
