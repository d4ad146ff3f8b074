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

#include "base/str.h"

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

/* What the configuration says of the server of this machine, for subcommands that look for it. */
extern struct options_server {
    const char *data_dir;
} options_server;

enum { OPTIONS_OK = -1, USAGE = 2 };

/*
 * Fills the values, and args with the words that are not options (at most max).  What the command
 * line does not say comes from the environment and from files (cmd/config_file.h).  Returns
 * OPTIONS_OK, or the exit status with which the program must end: 0 after --help, USAGE after a
 * mistake.  argv[0] is the subcommand.
 */
int options_parse(const struct command_help *help, const struct option_row *rows, size_t nrows,
                  int argc, char **argv, const char **args, size_t max, size_t *nargs);

/* The option that every subcommand with options has beside those of its table: --config. */
enum { OPTIONS_COMMON = 2 };
extern const struct option_row options_common[OPTIONS_COMMON];

enum { OPTION_DEFAULT_MAX = 256 };
/* "(default: 30)"; empty where nothing is said about it. */
void option_default(const struct option_row *r, char out[OPTION_DEFAULT_MAX]);

/* Why a text is no value of an option of this type, or NULL. */
const char *option_wrong(enum option_type type, str text);

/* Stores a value that is none of the wrong ones; the text stays where it is.  False: too many. */
bool option_store(const struct option_row *r, const char *text);

/*
 * The options that options_parse() was told and the values of each, as a configuration file.  A
 * server keeps it in its data folder, for kairship doctor.
 */
str options_in_force(void);
#define OPTIONS_FILE "options.yaml"

/*
 * While fn is set, options_parse() does nothing but call it, and returns 0: for who wants to know
 * which options there are.  commands_visit() asks all subcommands.
 */
typedef void options_visit_fn(void *arg, const char *command, const struct command_help *help,
                              const struct option_row *rows, size_t n);
void options_visit(options_visit_fn *fn, void *arg);

#endif
