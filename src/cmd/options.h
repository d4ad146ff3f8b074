/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

/*
 * Command lines as tables.  A subcommand lists its options, those that most people need first and
 * the others in named groups; --help prints the table in that order, in columns of 80.  Wrong usage
 * ends with exit status 2 and a hint.
 */

#include <stdbool.h>
#include <stddef.h>

enum option_type { OPTION_STRING, OPTION_NUMBER, OPTION_FLAG, OPTION_LIST, OPTION_GROUP };

struct option_list { /* the values of an option that may be repeated */
    const char *items[16];
    size_t n;
};

struct option_row {
    const char *name; /* "--data-dir" */
    enum option_type type;
    void *value;      /* const char **, long *, bool *, option_list *; holds the default */
    const char *arg;  /* "DIR" in the help; NULL for a flag */
    const char *help; /* whole sentences, which are wrapped */
};

/* A row that begins a group: --help prints the title above the rows that follow. */
#define OPTIONS_GROUP(title)                  \
    {                                         \
        title, OPTION_GROUP, NULL, NULL, NULL \
    }

struct command_help {
    const char *usage;    /* "kairship up [options]" */
    const char *summary;  /* sentences, which are wrapped */
    const char *examples; /* lines, each with its own newline */
};

/* The rows of a struct sandbox_options (base/sandbox.h), for processes that stay running. */
#define OPTIONS_SANDBOX(s)                                                                    \
    OPTIONS_GROUP("Privileges"),                                                              \
        { "--sandbox", OPTION_STRING, &(s)->mode, "MODE",                                     \
          "Restrict this process to the files, ports and system calls that it needs: auto "   \
          "(as far as the kernel supports it), strict (fail without that support) or off." }, \
    {                                                                                         \
        "--user", OPTION_STRING, &(s)->user, "NAME|UID:GID",                                  \
            "When started by root, run as this user. Without this option: as the owner of "   \
            "the data folder, else as kairship if that user exists."                          \
    }

/* The options of the log, for processes that stay running; options_parse() opens it. */
#define OPTIONS_LOG                                                                  \
    OPTIONS_GROUP("Logging"),                                                        \
        { "--log-level", OPTION_STRING, &options_log.level, "LEVEL",                 \
          "Log messages of this level and above: debug (every request), info, warn " \
          "or error." },                                                             \
    {                                                                                \
        "--log-format", OPTION_STRING, &options_log.format, "FORMAT",                \
            "Log as text, as json, or auto: text on a terminal, else json."          \
    }

extern struct options_log { /* a process has one log */
    const char *level, *format;
} options_log;

enum { OPTIONS_OK = -1, USAGE = 2 };

/*
 * Fills the values, and args with the words that are not options (at most max).  Returns
 * OPTIONS_OK, or the exit status with which the program must end: 0 after --help, USAGE after a
 * mistake.
 */
int options_parse(const struct command_help *help, const struct option_row *rows, size_t nrows,
                  int argc, char **argv, const char **args, size_t max, size_t *nargs);

#endif
