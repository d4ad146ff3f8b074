/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/options.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/log.h"

enum {
    WIDTH = 80,   /* of --help */
    HELP_AT = 30, /* the column of the descriptions */
    TEXT_MAX = 256,
};

struct options_log options_log = { "info", "auto" };

/* Prints the words of a text, from column *at on, in lines that begin at column `left`. */
static void print_words(const char *text, size_t left, size_t *at)
{
    for (const char *word = text + strspn(text, " \n"); *word; word += strspn(word, " \n")) {
        size_t n = strcspn(word, " \n");

        if (*at > left && *at + 1 + n > WIDTH) {
            printf("\n");
            *at = 0;
        }
        if (*at > left)
            *at += (size_t)printf(" ");
        *at += (size_t)printf("%*s%.*s", *at < left ? (int)(left - *at) : 0, "", (int)n, word);
        word += n;
    }
}

static void print_default(const struct option_row *r, size_t *at)
{
    char text[TEXT_MAX];
    const char *string = r->type == OPTION_STRING ? *(const char **)r->value : NULL;
    long number = r->type == OPTION_NUMBER ? *(long *)r->value : 0;

    if (string && *string)
        (void)snprintf(text, sizeof(text), "(default: %s)", string);
    else if (number)
        (void)snprintf(text, sizeof(text), "(default: %ld)", number);
    else
        return;
    print_words(text, HELP_AT, at);
}

static void print_row(const struct option_row *r)
{
    size_t at;

    if (r->type == OPTION_GROUP) {
        printf("\n%s:\n", r->name);
        return;
    }
    at = (size_t)printf("  %s%s%s", r->name, r->arg ? " " : "", r->arg ? r->arg : "");
    if (at + 2 > HELP_AT) {
        printf("\n");
        at = 0;
    }
    print_words(r->help, HELP_AT, &at);
    print_default(r, &at);
    printf("\n");
}

static void print_help(const struct command_help *help, const struct option_row *rows, size_t n)
{
    size_t at = 0;

    print_words(help->summary, 0, &at);
    printf("\n\nExamples:\n%s\nUsage:\n  %s\n", help->examples, help->usage);
    if (n && rows[0].type != OPTION_GROUP)
        printf("\nOptions:\n");
    for (size_t i = 0; i < n; i++)
        print_row(&rows[i]);
}

static int mistake(const struct command_help *help, const char *what, const char *word)
{
    (void)fprintf(stderr, "kairship: %s: %s\nUsage: %s\nSee --help for options and examples.\n",
                  what, word, help->usage);
    return USAGE;
}

static const struct option_row *find(const struct option_row *rows, size_t n, str name)
{
    for (size_t i = 0; i < n; i++)
        if (str_is(name, rows[i].name))
            return &rows[i];
    return NULL;
}

static bool store_value(const struct option_row *r, const char *text)
{
    int64_t number;

    if (r->type == OPTION_STRING) {
        *(const char **)r->value = text;
        return true;
    }
    if (r->type == OPTION_LIST) {
        struct option_list *list = r->value;

        if (list->n == sizeof(list->items) / sizeof(*list->items))
            return false;
        list->items[list->n++] = text;
        return true;
    }
    if (!str_to_i64(str_of(text), &number))
        return false;
    *(long *)r->value = number;
    return true;
}

/* One option; *i is at it, and is moved over its value.  "--a=v" and "--a v" are the same. */
static int parse_option(const struct command_help *help, const struct option_row *rows, size_t n,
                        char **argv, int argc, int *i)
{
    const char *word = argv[*i], *equals = strchr(word, '=');
    str name = equals ? (str){ word, (size_t)(equals - word) } : str_of(word);
    const struct option_row *r = find(rows, n, name);

    if (!r)
        return mistake(help, "unknown option", word);
    if (r->type == OPTION_FLAG) {
        if (equals && !str_is(str_of(equals + 1), "true") && !str_is(str_of(equals + 1), "false"))
            return mistake(help, "a flag takes no value but true or false", word);
        *(bool *)r->value = !equals || str_is(str_of(equals + 1), "true");
        return OPTIONS_OK;
    }
    if (!equals && *i + 1 >= argc)
        return mistake(help, "this option needs a value", word);
    if (!store_value(r, equals ? equals + 1 : argv[++*i]))
        return mistake(help,
                       r->type == OPTION_LIST ? "this option was repeated too often"
                                              : "this option needs a number",
                       word);
    return OPTIONS_OK;
}

static int open_log(const struct command_help *help)
{
    enum log_level level;
    enum log_form form = log_form_for(STDERR_FILENO);

    if (!log_parse_level(str_of(options_log.level), &level))
        return mistake(help, "--log-level is debug, info, warn or error", options_log.level);
    if (strcmp(options_log.format, "auto") != 0 &&
        !log_parse_form(str_of(options_log.format), &form))
        return mistake(help, "--log-format is text, json or auto", options_log.format);
    log_open(STDERR_FILENO, level, form);
    return OPTIONS_OK;
}

int options_parse(const struct command_help *help, const struct option_row *rows, size_t nrows,
                  int argc, char **argv, const char **args, size_t max, size_t *nargs)
{
    size_t n = 0;

    for (int i = 1; i < argc; i++) {
        int rc;

        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            print_help(help, rows, nrows);
            return 0;
        }
        if (argv[i][0] != '-') {
            if (n == max)
                return mistake(help, "unexpected argument", argv[i]);
            args[n++] = argv[i];
            continue;
        }
        rc = parse_option(help, rows, nrows, argv, argc, &i);
        if (rc != OPTIONS_OK)
            return rc;
    }
    if (nargs)
        *nargs = n;
    return open_log(help);
}
