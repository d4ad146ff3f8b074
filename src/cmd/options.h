/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

/*
 * Command lines as tables: each subcommand lists its options, gets --help for free (examples
 * first), and wrong usage ends with exit status 2 and a hint.
 */

#include <stdbool.h>
#include <stddef.h>

enum option_type { OPTION_STRING, OPTION_NUMBER, OPTION_FLAG, OPTION_LIST };

struct option_list { /* of an option that may be repeated */
    const char *items[16];
    size_t n;
};

struct option_row {
    const char *name; /* "--data-dir" */
    enum option_type type;
    void *value;     /* const char **, long *, bool *, option_list *: holds the default */
    const char *arg; /* "DIR" in the help; NULL for a flag */
    const char *help;
};

struct command_help {
    const char *usage;    /* "kairship up [options]" */
    const char *summary;  /* one line */
    const char *examples; /* lines, each with its own newline */
};

/* The rows of a struct sandbox_options (base/sandbox.h), for whatever stays running. */
#define OPTIONS_SANDBOX(s)                                                                        \
    { "--sandbox", OPTION_STRING, &(s)->mode, "MODE",                                             \
      "what it shuts itself in with: auto (all that the kernel has), strict (all), off" },        \
    {                                                                                             \
        "--user", OPTION_STRING, &(s)->user, "NAME|UID:GID",                                      \
            "whom root becomes; else the owner of the data folder, else kairship if there is one" \
    }

/* What goes into the log, for whatever stays running; options_parse() sees to it. */
#define OPTIONS_LOG                                                                  \
    { "--log-level", OPTION_STRING, &options_log.level, "LEVEL",                     \
      "from which on lines are written: debug (every request), info, warn, error" }, \
    {                                                                                \
        "--log-format", OPTION_STRING, &options_log.format, "FORMAT",                \
            "text, json, or auto: text on a terminal, else json"                     \
    }

extern struct options_log { /* a process has one log */
    const char *level, *format;
} options_log;

enum { OPTIONS_OK = -1, USAGE = 2 };

/*
 * Fills the values; words that are no options go to args (at most max).  Returns OPTIONS_OK, or the
 * exit status at which the program ends: 0 after --help, USAGE after a mistake.
 */
int options_parse(const struct command_help *help, const struct option_row *rows, size_t nrows,
                  int argc, char **argv, const char **args, size_t max, size_t *nargs);

#endif
